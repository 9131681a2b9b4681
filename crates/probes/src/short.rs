//! Short probes: one number from a millisecond or a few, for experiments that switch something between samples.
//!
//! A probe is started and sampled in one thread, pinned to the sampler's CPU. A setting made in that thread before a
//! sample holds for all of the sample. Samples of one probe may be compared with each other; the experiment decides the
//! order, pairs them and judges. Most are loops in windows, of which a low quantile counts (`windowed`).
//!
//! The other process of a round trip is started anew for each sample, so that it has every setting that the sampling
//! thread has then: a control of a thread, such as that of indirect branches, puts its barrier on a switch only to or
//! from a process that has asked for it, and no process can switch it for another.

mod windowed;

use std::hint::black_box;
use std::io;
use std::time::Instant;

use clock::{TickRate, begin, end};
use host::live::{EchoProcess, MappingError, PageRequest, Pages, TimeSource, ask_for_parent};
use kernels::{
    FLOAT_DIVISIONS_PER_ROUND, FloatOperands, MULTIPLIES_PER_ROUND, float_divide_chain, multiply_chain,
};
use machine::Bytes;
use stats::quantile;

use self::windowed::{Low, Windowed, Work};
use crate::sampler::Sampler;
use crate::session::SessionError;
use crate::timed_loop::{self, TimedLoop};

/// Long against two readings of the counter and of the thread's usage, about 1 us together, and short against the
/// interval at which a busy machine takes the CPU away; some hundred system calls, some thousand reads of the vDSO.
const WINDOW_NS: f64 = 60_000.0;

/// `CLOCK_MONOTONIC`, include/uapi/linux/time.h.
const CLOCK_MONOTONIC: i32 = 1;

/// Half of the smallest first level that any x86-64 has had (16 KiB, AMD Bulldozer).
const L1_BLOCK: Bytes = Bytes(8 << 10);
/// Beyond the second level of most, inside the last level of most.
const CACHE_BLOCK: Bytes = Bytes(8 << 20);
/// Beyond most last levels, and beyond what second-level TLBs reach with base pages.
const MEMORY_BLOCK: Bytes = Bytes(256 << 20);

/// Round trips before anything is timed: the first touch pages that the two processes share until then.
const WARM_UP_TRIPS: usize = 60;
/// Round trips of a chunk, 0.1 to 0.3 ms.
const TRIPS_PER_CHUNK: usize = 20;
/// Chunks of a sample.
const CHUNKS: usize = 32;
/// Which chunk counts. On a guest of load 9 the mean of 4000 trips showed two equal halves differ by up to 27 %, this by
/// at most 1.1 %. Involuntary switches tell nothing here: the other process,
/// when woken, may cause one.
const CHUNK_QUANTILE: f64 = 0.25;

/// What a short probe needs to start.
#[derive(Debug, Clone)]
pub struct ShortSetup {
    /// Samples on the CPU that the calling thread is pinned to.
    pub sampler: Sampler,
    /// Pages asked for by the probes of memory. What they get may be less, and is in [`ShortProbe::pages`].
    pub pages: PageRequest,
    /// Fixes the order of random loads.
    pub seed: u64,
    /// When laying memory is broken off, where there is an end.
    pub until: Option<Instant>,
}

machine::named! {
    /// One kind of short probe.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum ShortKind {
        /// A load that passes a store of late address: what Speculative Store Bypass Disable slows.
        StoreBypass = "store-bypass",
        /// A store and a load of the same word at a known address. A control of store bypass on most CPUs; where the same
        /// switch also stops predictive store forwarding, as on AMD from Zen 3 on, it may move (AMD, "Security analysis of
        /// AMD Predictive Store Forwarding", 2021).
        PlainForwarding = "plain-forwarding",
        /// Division of denormal floats, which Linux's workaround for FP-DSS on Zen 1 is named after.
        DenormalDivide = "denormal-divide",
        /// The same divisions of normal floats.
        FloatDivide = "float-divide",
        /// Multiplications in registers: a control that nothing but the frequency moves.
        MultiplyChain = "multiply-chain",
        /// Dependent loads in 8 KiB: a control in the first level of cache.
        L1Chase = "l1-chase",
        /// Dependent loads at random in 8 MiB.
        CacheChase = "cache-chase",
        /// Dependent loads at random in 256 MiB, which are slow in base pages: each walks the page tables.
        RandomChase = "random-chase",
        /// A byte to another process on the same CPU and back: two system calls and a switch of address space each way, on
        /// which the indirect-branch control puts a barrier.
        PipeRoundTrip = "pipe-round-trip",
        /// `clock_gettime(CLOCK_MONOTONIC)` as a program calls it: in user space where the clock source allows.
        VdsoClock = "vdso-clock",
        /// The same clock by system call, whatever the clock source.
        ClockSystemCall = "clock-system-call",
        /// `getppid`: into the kernel and back.
        SystemCall = "system-call",
    }
}

impl ShortKind {
    /// Starts the probe in the calling thread, which is pinned to the sampler's CPU.
    ///
    /// # Errors
    /// `Session` of a debug build, or `Mapping` where there is no memory, or `Echo` without a second process.
    pub fn start(self, setup: &ShortSetup) -> Result<ShortProbe, ShortProbeError> {
        if cfg!(debug_assertions) {
            return Err(SessionError::DebugBuild.into());
        }
        let way = match self {
            Self::StoreBypass => setup.windowed(timed_loop::store_bypass()),
            Self::PlainForwarding => setup.windowed(timed_loop::forwarding()),
            Self::DenormalDivide => setup.windowed(divisions(FloatOperands::Denormal)),
            Self::FloatDivide => setup.windowed(divisions(FloatOperands::Normal)),
            Self::MultiplyChain => setup.windowed(TimedLoop::new(MULTIPLIES_PER_ROUND, |rounds| {
                _ = black_box(multiply_chain(rounds));
            })),
            Self::L1Chase => setup.chase(L1_BLOCK)?,
            Self::CacheChase => setup.chase(CACHE_BLOCK)?,
            Self::RandomChase => setup.chase(MEMORY_BLOCK)?,
            Self::PipeRoundTrip => setup.round_trip().map_err(ShortProbeError::Echo)?,
            Self::VdsoClock => setup.clock(TimeSource::Clock(CLOCK_MONOTONIC)),
            Self::ClockSystemCall => setup.clock(TimeSource::SystemCall),
            Self::SystemCall => setup.windowed(calls(|count| _ = black_box(ask_for_parent(count)))),
        };
        Ok(ShortProbe { name: self.name(), way })
    }
}

impl ShortSetup {
    fn windowed(&self, timed: TimedLoop<'static>) -> Way {
        let work = Work { timed, window_ns: WINDOW_NS, low: Low::Fastest };
        Way::Windows(Box::new(Windowed::start(work, &self.sampler)))
    }

    fn clock(&self, source: TimeSource) -> Way {
        self.windowed(calls(move |count| _ = black_box(source.read_many(count))))
    }

    fn chase(&self, block: Bytes) -> Result<Way, ShortProbeError> {
        let of_l1 = block == L1_BLOCK;
        let chased = Windowed::chase(block, of_l1, self.pages, self.seed, self.until, &self.sampler)?;
        Ok(Way::Windows(Box::new(chased)))
    }

    /// Sees that a second process can be had.
    fn round_trip(&self) -> io::Result<Way> {
        EchoProcess::start()?.round_trip()?;
        Ok(Way::RoundTrip(self.sampler.rate))
    }
}

/// A function of the kernel or of the vDSO, which is called so many times.
fn calls(run: impl Fn(u32) + 'static) -> TimedLoop<'static> {
    TimedLoop::new(1, move |rounds| run(u32::try_from(rounds).unwrap_or(u32::MAX)))
}

fn divisions(operands: FloatOperands) -> TimedLoop<'static> {
    TimedLoop::new(FLOAT_DIVISIONS_PER_ROUND, move |rounds| {
        _ = black_box(float_divide_chain(operands, rounds));
    })
}

/// A probe whose sample takes 0.1 ms to a few milliseconds.
pub struct ShortProbe {
    name: &'static str,
    way: Way,
}

/// How it samples.
enum Way {
    /// A loop in windows.
    Windows(Box<Windowed>),
    /// A byte to another process on the same CPU and back, over two pipes, with the counter of this rate.
    RoundTrip(TickRate),
}

impl ShortProbe {
    /// Unit of a sample; less is better.
    pub const UNIT: &'static str = "ns";

    /// What the user types: lower case, hyphens.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Takes one sample on the CPU of the calling thread.
    ///
    /// # Errors
    /// `Disturbed` if nothing undisturbed was seen, `Echo` without the second process.
    pub fn sample(&mut self) -> Result<f64, ShortProbeError> {
        match &mut self.way {
            Way::Windows(windowed) => {
                windowed.sample().map_err(|windows| ShortProbeError::Disturbed { probe: self.name, windows })
            }
            Way::RoundTrip(rate) => round_trip_ns(*rate).map_err(ShortProbeError::Echo),
        }
    }

    /// The pages that its memory was given, for a probe of memory.
    pub fn pages(&self) -> Option<Pages> {
        match &self.way {
            Way::Windows(windowed) => windowed.pages(),
            Way::RoundTrip(_) => None,
        }
    }

    /// Maps and lays its memory anew, in an order of `seed`, and tells the pages; `None` for a probe without memory.
    ///
    /// The old memory is let go only then, so that no page is among the new. Touches every page in the calling thread.
    ///
    /// # Errors
    /// `Mapping` if there is no memory, or `until` came first; the old memory then stays.
    pub fn lay_anew(&mut self, seed: u64, until: Option<Instant>) -> Result<Option<Pages>, ShortProbeError> {
        match &mut self.way {
            Way::Windows(windowed) => Ok(windowed.lay_anew(seed, until)?),
            Way::RoundTrip(_) => Ok(None),
        }
    }
}

fn round_trip_ns(rate: TickRate) -> io::Result<f64> {
    let mut echo = EchoProcess::start()?;
    let mut trips = |count: usize| (0..count).try_for_each(|_| echo.round_trip());
    trips(WARM_UP_TRIPS)?;
    let mut chunks = [0.0; CHUNKS];
    for chunk in &mut chunks {
        let start = begin();
        trips(TRIPS_PER_CHUNK)?;
        *chunk = rate.nanoseconds(end().wrapping_sub(start)) / TRIPS_PER_CHUNK as f64;
    }
    Ok(quantile(&chunks, CHUNK_QUANTILE).expect("there are chunks, all finite"))
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
    #[error(transparent)]
    Session(#[from] SessionError),
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

#[cfg(test)]
mod tests {
    use clock::TickRate;
    use host::live::{Pinned, allowed_cpus};

    use super::*;
    use crate::control::ControlLoops;

    #[test]
    fn every_kind_is_found_by_its_name_alone() {
        for kind in ShortKind::ALL {
            assert_eq!(ShortKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(ShortKind::from_name("no-such-probe"), None);
    }

    #[test]
    fn every_kind_gives_positive_samples_in_a_release_build_and_none_in_a_debug_build() {
        let cpu = allowed_cpus().first().expect("a CPU");
        let _pinned = Pinned::to(cpu).expect("an allowed CPU");
        let rate = TickRate::calibrate(2_000_000).expect("a counter that counts");
        let sampler = Sampler::new(cpu, rate, ControlLoops { cycles_per_multiply: Some(3.0) });
        let setup = ShortSetup { sampler, pages: PageRequest::Base, seed: 5, until: None };
        for kind in ShortKind::ALL {
            let started = kind.start(&setup);
            if cfg!(debug_assertions) {
                assert!(matches!(started, Err(ShortProbeError::Session(_))), "{}", kind.name());
                continue;
            }
            let mut probe = started.unwrap_or_else(|error| panic!("{}: {error}", kind.name()));
            assert_eq!(probe.name(), kind.name());
            let sample = |probe: &mut ShortProbe| match probe.sample() {
                Ok(ns) => assert!(ns > 0.0 && ns.is_finite(), "{}: {ns}", kind.name()),
                Err(ShortProbeError::Disturbed { .. }) => {}
                Err(error) => panic!("{}: {error}", kind.name()),
            };
            sample(&mut probe);
            let has_memory = probe.pages().is_some();
            let laid = probe.lay_anew(6, None).unwrap_or_else(|error| panic!("{}: {error}", kind.name()));
            assert_eq!(laid.is_some(), has_memory, "{}", kind.name());
            sample(&mut probe);
        }
    }
}
