//! Samples by the kernel's clock.

use std::io;
use std::time::Duration;

use host::arch::no_decoder;
use host::live::{
    Observation, PerfError, PerfSampler, PerfWatch, WakesUnseen, threads_below, wake_tracepoint,
};

/// What nothing sees that interrupts the program's own code.
const OF_USER_SAMPLES: [&str; 2] = [
    "data that the kernel copies (pipes, sockets, files) is not seen: it samples user mode only",
    "each sample names the next instruction, so slow instructions are seen more often: shares are of time",
];

/// Registers sampled by the kernel's clock: no privilege, no counter, no change to the program. The kernel tells besides when
/// threads sleep, and the privileged also who wakes them.
#[derive(Debug)]
pub struct Samplers {
    registers: PerfSampler,
    switches: Result<PerfSampler, PerfError>,
    wakes: Result<PerfSampler, WakesDenied>,
}

/// Why wakes are not seen.
#[derive(Debug, thiserror::Error)]
enum WakesDenied {
    #[error(transparent)]
    Unseen(#[from] WakesUnseen),
    #[error(transparent)]
    Perf(#[from] PerfError),
}

impl Samplers {
    /// Of all that the calling thread starts from now on.
    ///
    /// # Errors
    /// The kernel forbids it.
    pub fn of_children(period: Duration) -> Result<Self, PerfError> {
        Self::of(period, PerfSampler::of_children)
    }

    /// Of a process that runs, and its descendants.
    ///
    /// # Errors
    /// The kernel forbids it, or the process is gone.
    pub fn of_process(pid: u32, period: Duration) -> Result<Self, PerfError> {
        Self::of(period, |watch| PerfSampler::of_threads(|| threads_below(pid), watch))
    }

    fn of(
        period: Duration,
        sampler: impl Fn(PerfWatch) -> Result<PerfSampler, PerfError>,
    ) -> Result<Self, PerfError> {
        let wakes = || Ok(sampler(PerfWatch::Wakes(wake_tracepoint()?))?);
        Ok(Self {
            registers: sampler(PerfWatch::Registers(period))?,
            switches: sampler(PerfWatch::Switches),
            wakes: wakes(),
        })
    }

    /// Waits until there is something to take or the time is over.
    pub(super) fn wait(&self, patience: Duration) -> io::Result<()> {
        let all = [Some(&self.registers), self.switches.as_ref().ok(), self.wakes.as_ref().ok()];
        PerfSampler::wait(&all.into_iter().flatten().collect::<Vec<_>>(), patience)
    }

    /// Takes what there is.
    pub(super) fn drain(&mut self, mut take: impl FnMut(Observation)) {
        self.registers.drain(&mut take);
        // These tell of beginnings and ends too, which the first has told already.
        let mut schedule = |observation: Observation| {
            if matches!(
                observation,
                Observation::Switched { .. } | Observation::Woke { .. } | Observation::LostSwitches(_)
            ) {
                take(observation);
            }
        };
        if let Ok(switches) = &mut self.switches {
            switches.drain(&mut schedule);
        }
        if let Ok(wakes) = &mut self.wakes {
            wakes.drain(&mut schedule);
        }
    }

    /// Why no wake is reported; `None` if each is.
    pub(super) fn wakes_refused(&self) -> Option<String> {
        self.wakes.as_ref().err().map(ToString::to_string)
    }

    /// True if each time that a thread sleeps is reported.
    pub(super) fn sees_gaps(&self) -> bool {
        self.switches.is_ok()
    }

    /// What is not seen, one sentence each.
    pub(super) fn blind_spots(&self) -> Vec<String> {
        let mut spots = match no_decoder() {
            Some(why) => vec![format!("which data threads share is not seen: {why}")],
            None => OF_USER_SAMPLES.map(str::to_owned).to_vec(),
        };
        if let Err(error) = &self.wakes {
            spots.push(format!("who wakes whom is not seen: {error}"));
        }
        if let Err(error) = &self.switches {
            spots.push(format!("how long threads sleep is not seen: {error}"));
        }
        if self.registers.unwatched > 0 {
            spots.push(format!("{} threads could not be watched", self.registers.unwatched));
        }
        spots
    }
}
