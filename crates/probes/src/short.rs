//! Short probes: one number from a millisecond or a few, for experiments that switch something between samples.
//!
//! | what | module |
//! |---|---|
//! | which there are, and how to start one | [`kind`] |
//! | a loop in windows, of which a low quantile counts | `windowed` |
//! | a load behind a store, and the loops that must not move | `core_loops` |
//! | dependent loads over a block | `chase` |
//! | into the kernel and back, or as far as the vDSO | `kernel_calls` |
//! | to another process and back | `round_trip` |
//!
//! A probe is started and sampled in one thread, pinned to the sampler's CPU. A setting made in that thread before a
//! sample holds for all of the sample. Samples of one probe may be compared with each other; the experiment decides the
//! order, pairs them and judges.

mod chase;
pub mod kind;
mod round_trip;
mod windowed;

use std::io;
use std::time::Instant;

use host::live::{MappingError, Pages};

pub use kind::{ShortKind, ShortSetup};

/// A probe whose sample takes 0.1 ms to a few milliseconds.
pub trait ShortProbe {
    /// What the user types: lower case, hyphens.
    fn name(&self) -> &'static str;

    /// Unit of a sample; less is better.
    fn unit(&self) -> &'static str;

    /// Takes one sample on the CPU of the calling thread.
    ///
    /// # Errors
    /// `Disturbed` if nothing undisturbed was seen.
    fn sample(&mut self) -> Result<f64, ShortProbeError>;

    /// The last sample in core cycles, for a loop of the core on a CPU whose multiplier is known.
    fn core_cycles(&self) -> Option<f64> {
        None
    }

    /// The pages that its memory was given, for a probe of memory.
    fn pages(&self) -> Option<Pages> {
        None
    }

    /// Maps and lays its memory anew, in an order of `seed`, and tells the pages; `None` for a probe without memory.
    ///
    /// The old memory is let go only then, so that no page is among the new. Touches every page in the calling thread.
    ///
    /// # Errors
    /// `Mapping` if there is no memory, or `until` came first; the old memory then stays.
    fn lay_anew(&mut self, _seed: u64, _until: Option<Instant>) -> Result<Option<Pages>, ShortProbeError> {
        Ok(None)
    }
}

impl ShortProbeError {
    /// True if laying memory was broken off at its end.
    pub fn is_broken_off(&self) -> bool {
        matches!(self, Self::Mapping(MappingError::BrokenOff { .. }))
    }
}

/// Why a short probe gives no number.
#[derive(Debug, thiserror::Error)]
pub enum ShortProbeError {
    /// Without optimisation the loops are not the loops.
    #[error(
        "this sidestep is a debug build, whose timings mean nothing; build it with cargo build --release"
    )]
    DebugBuild,
    /// The architecture lacks it.
    #[error("no loop for {}", std::env::consts::ARCH)]
    NoLoop,
    /// No memory.
    #[error(transparent)]
    Mapping(#[from] MappingError),
    /// The other process of a round trip is missing.
    #[error("cannot bounce a byte off a second process: {0}; raise the limit of processes (ulimit -u)")]
    Echo(io::Error),
    /// Every window was set aside.
    #[error(
        "{probe}: the CPU was taken away in each of {windows} windows; try again with less load, or another CPU"
    )]
    Disturbed {
        /// The probe.
        probe: &'static str,
        /// Windows taken.
        windows: usize,
    },
}
