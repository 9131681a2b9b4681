//! Samples by a library in the program, where the kernel's clock is forbidden.

use std::collections::BTreeMap;
use std::io;
use std::process::Command;
use std::time::Duration;

use host::live::{Observation, PreloadError, PreloadSampler, StopReason};
use record::{SharingOffer, SharingSource};

use crate::offered::{OF_CLOCK, OF_LIBRARY, OF_WAKES, offer};
use crate::source::{OF_USER_SAMPLES, Source};

/// Registers sampled in a signal handler of the program itself.
#[derive(Debug)]
pub struct SignalRegisters {
    sampler: PreloadSampler,
    /// Why the kernel's clock does not serve.
    denied: Option<String>,
}

impl SignalRegisters {
    /// Of commands that are given to [`Source::prepare`]; `denied` says why nothing better serves.
    ///
    /// # Errors
    /// There is no library, or no memory.
    pub fn new(period: Duration, denied: Option<String>) -> Result<Self, PreloadError> {
        Ok(Self { sampler: PreloadSampler::new(period)?, denied })
    }

    /// Takes no samples until [`Self::resume`].
    pub fn pause(&self) {
        self.sampler.pause();
    }

    /// Takes samples again, of threads that begin from now on.
    pub fn resume(&self) {
        self.sampler.resume();
    }

    /// What became of processes that are not sampled any more, one sentence for each reason.
    fn stops(&self) -> impl Iterator<Item = String> {
        let mut processes: BTreeMap<StopReason, Vec<String>> = BTreeMap::new();
        for (pid, reason) in &self.sampler.stopped {
            processes.entry(*reason).or_default().push(pid.to_string());
        }
        processes.into_iter().map(|(reason, pids)| {
            let why = match reason {
                StopReason::OwnHandler => "handles SIGPROF itself",
                StopReason::OwnTimer => "sets ITIMER_PROF itself",
                StopReason::HandlerReplaced => "has taken SIGPROF by a system call of its own",
            };
            format!("sampling ended in process {}, which {why}", pids.join(", "))
        })
    }
}

impl Source for SignalRegisters {
    fn kind(&self) -> SharingSource {
        SharingSource::SignalRegisters
    }

    fn prepare(&self, command: &mut Command) {
        self.sampler.prepare(command);
    }

    fn wait(&mut self, patience: Duration) -> io::Result<()> {
        // A signal handler wakes nobody: that would be a system call in the midst of the program.
        std::thread::sleep(patience);
        Ok(())
    }

    fn drain(&mut self, take: &mut dyn FnMut(Observation)) {
        self.sampler.drain(take);
    }

    fn sees_wakes(&self) -> bool {
        false
    }

    fn sees_gaps(&self) -> bool {
        false
    }

    fn offers(&self) -> Vec<SharingOffer> {
        let denied = self.denied.as_deref().unwrap_or("not asked for");
        let why = if self.denied.is_some() { "refused" } else { "not asked for (--source clock)" };
        vec![
            offer(OF_CLOCK, Some(denied.to_owned())),
            offer(OF_LIBRARY, None),
            offer(OF_WAKES, Some(format!("comes with the kernel's clock only, which is {why}"))),
        ]
    }

    fn cost(&self) -> String {
        "a signal per sample in the thread that is sampled, and a timer per thread; waits of the program may end with EINTR"
            .to_owned()
    }

    fn privilege(&self) -> String {
        "none; the program is started with LD_PRELOAD".to_owned()
    }

    fn blind_spots(&self) -> Vec<String> {
        let mut spots = OF_USER_SAMPLES.map(str::to_owned).to_vec();
        spots.extend([
            "there are no more samples per second than the kernel has ticks, 100 to 1000, and none of threads that live shorter"
                .to_owned(),
            "who wakes whom and how long threads sleep is not seen".to_owned(),
            "programs below it that are static or gain privileges, threads that come to block SIGPROF, and code of programs that have \
             ended are not seen"
                .to_owned(),
        ]);
        if let Some(denied) = &self.denied {
            spots.push(format!("a library in the program had to do it: {denied}"));
        }
        if self.sampler.programs == 0 {
            spots.push("no program took the library, so nothing was seen".to_owned());
        } else if self.sampler.samples == 0 {
            let in_kernel = self.sampler.in_kernel;
            spots.push(format!("no thread used a tick of CPU time outside of the kernel, {in_kernel} in it"));
        }
        spots.extend(self.stops());
        if self.sampler.unwatched() > 0 {
            spots.push(format!("{} threads were given no timer by the kernel", self.sampler.unwatched()));
        }
        spots
    }
}
