//! Where samples come from: one trait, and the kernel's clock behind it.

use std::io;
use std::time::Duration;

use host::live::{
    Observation, PerfError, PerfSampler, PerfWatch, WakesUnseen, threads_below, wake_tracepoint,
};
use record::SharingSource;

/// Takes samples of threads until it is dropped.
pub trait Source: Send {
    /// Which it is.
    fn kind(&self) -> SharingSource;

    /// Waits until there is something to take or the time is over.
    ///
    /// # Errors
    /// What the kernel said.
    fn wait(&mut self, patience: Duration) -> io::Result<()>;

    /// Takes what there is.
    fn drain(&mut self, take: &mut dyn FnMut(Observation));

    /// True if it tells of each wake, so that none is seen where there is none.
    fn sees_wakes(&self) -> bool;

    /// True if it tells of each time that a thread sleeps.
    fn sees_gaps(&self) -> bool;

    /// What it cannot see, one sentence each.
    fn blind_spots(&self) -> Vec<String>;
}

/// Registers sampled by the kernel's clock: no privilege, no counter, no change to the program. The kernel tells besides when
/// threads sleep, and the privileged also who wakes them.
#[derive(Debug)]
pub struct ClockRegisters {
    sampler: PerfSampler,
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

impl ClockRegisters {
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
            sampler: sampler(PerfWatch::Registers(period))?,
            switches: sampler(PerfWatch::Switches),
            wakes: wakes(),
        })
    }
}

impl Source for ClockRegisters {
    fn kind(&self) -> SharingSource {
        SharingSource::ClockRegisters
    }

    fn wait(&mut self, patience: Duration) -> io::Result<()> {
        let all = [Some(&self.sampler), self.switches.as_ref().ok(), self.wakes.as_ref().ok()];
        PerfSampler::wait(&all.into_iter().flatten().collect::<Vec<_>>(), patience)
    }

    fn drain(&mut self, take: &mut dyn FnMut(Observation)) {
        self.sampler.drain(&mut *take);
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

    fn sees_wakes(&self) -> bool {
        self.wakes.is_ok()
    }

    fn sees_gaps(&self) -> bool {
        self.switches.is_ok()
    }

    fn blind_spots(&self) -> Vec<String> {
        let mut spots = vec![
            "data that the kernel copies (pipes, sockets, files) is not seen: it samples user mode only".to_owned(),
            "each sample names the next instruction, so slow instructions are seen more often: shares are of time"
                .to_owned(),
        ];
        if let Err(error) = &self.wakes {
            spots.push(format!("who wakes whom is not seen: {error}"));
        }
        if let Err(error) = &self.switches {
            spots.push(format!("how long threads sleep is not seen: {error}"));
        }
        if self.sampler.unwatched > 0 {
            spots.push(format!("{} threads could not be watched", self.sampler.unwatched));
        }
        spots
    }
}
