//! Samples by the kernel's clock.

use std::io;
use std::time::Duration;

use host::arch::no_decoder;
use host::live::{
    Observation, PerfError, PerfSampler, PerfWatch, WakesUnseen, threads_below, wake_tracepoint,
};
use record::{SharingOffer, SharingSource};

use crate::offered::{OF_CLOCK, OF_LIBRARY, OF_WAKES, offer};
use crate::source::{OF_USER_SAMPLES, Source};

/// Registers sampled by the kernel's clock: no privilege, no counter, no change to the program. The kernel tells besides when
/// threads sleep, and the privileged also who wakes them.
#[derive(Debug)]
pub struct ClockRegisters {
    sampler: PerfSampler,
    switches: Result<PerfSampler, PerfError>,
    wakes: Result<PerfSampler, WakesDenied>,
    /// Why no library in the program does it.
    no_library: &'static str,
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
        Self::of(period, "for where the kernel's clock is refused", PerfSampler::of_children)
    }

    /// Of a process that runs, and its descendants.
    ///
    /// # Errors
    /// The kernel forbids it, or the process is gone.
    pub fn of_process(pid: u32, period: Duration) -> Result<Self, PerfError> {
        let no_library = "a program takes it at its start only";
        Self::of(period, no_library, |watch| PerfSampler::of_threads(|| threads_below(pid), watch))
    }

    fn of(
        period: Duration,
        no_library: &'static str,
        sampler: impl Fn(PerfWatch) -> Result<PerfSampler, PerfError>,
    ) -> Result<Self, PerfError> {
        let wakes = || Ok(sampler(PerfWatch::Wakes(wake_tracepoint()?))?);
        Ok(Self {
            sampler: sampler(PerfWatch::Registers(period))?,
            switches: sampler(PerfWatch::Switches),
            wakes: wakes(),
            no_library,
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

    fn offers(&self) -> Vec<SharingOffer> {
        vec![
            offer(OF_CLOCK, no_decoder()),
            offer(OF_LIBRARY, Some(no_decoder().unwrap_or_else(|| self.no_library.to_owned()))),
            offer(OF_WAKES, self.wakes.as_ref().err().map(ToString::to_string)),
        ]
    }

    fn cost(&self) -> String {
        "an interrupt per sample; nothing is changed in the program".to_owned()
    }

    fn privilege(&self) -> String {
        "none at kernel.perf_event_paranoid 2 or below, unless a container's filter forbids perf_event_open; who wakes whom \
         is for root"
            .to_owned()
    }

    fn blind_spots(&self) -> Vec<String> {
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
        if self.sampler.unwatched > 0 {
            spots.push(format!("{} threads could not be watched", self.sampler.unwatched));
        }
        spots
    }
}
