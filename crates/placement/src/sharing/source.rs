//! Where samples come from: one trait, and the kernel's clock behind it.

use std::io;
use std::time::Duration;

use host::live::{Observation, PerfError, PerfSampler, threads_below};
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

    /// What it cannot see, one sentence each.
    fn blind_spots(&self) -> Vec<String>;
}

/// Registers sampled by the kernel's clock: no privilege, no counter, no change to the program.
#[derive(Debug)]
pub struct ClockRegisters {
    sampler: PerfSampler,
}

impl ClockRegisters {
    /// Of all that the calling thread starts from now on.
    ///
    /// # Errors
    /// The kernel forbids it.
    pub fn of_children(period: Duration) -> Result<Self, PerfError> {
        Ok(Self { sampler: PerfSampler::of_children(period)? })
    }

    /// Of a process that runs, and its descendants.
    ///
    /// # Errors
    /// The kernel forbids it, or the process is gone.
    pub fn of_process(pid: u32, period: Duration) -> Result<Self, PerfError> {
        Ok(Self { sampler: PerfSampler::of_threads(|| threads_below(pid), period)? })
    }
}

impl Source for ClockRegisters {
    fn kind(&self) -> SharingSource {
        SharingSource::ClockRegisters
    }

    fn wait(&mut self, patience: Duration) -> io::Result<()> {
        self.sampler.wait(patience)
    }

    fn drain(&mut self, take: &mut dyn FnMut(Observation)) {
        self.sampler.drain(take);
    }

    fn blind_spots(&self) -> Vec<String> {
        let mut spots = vec![
            "data that the kernel copies (pipes, sockets, files) is not seen: it samples user mode only".to_owned(),
            "each sample names the next instruction, so slow instructions are seen more often: shares are of time"
                .to_owned(),
        ];
        if self.sampler.unwatched > 0 {
            spots.push(format!("{} threads could not be watched", self.sampler.unwatched));
        }
        spots
    }
}
