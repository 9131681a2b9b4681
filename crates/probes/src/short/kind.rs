//! Which short probes there are, and how to start one.

use std::hint::black_box;
use std::time::Instant;

use host::live::{PageRequest, TimeSource};
use kernels::{FloatOperands, MULTIPLIES_PER_ROUND, multiply_chain};

use super::round_trip::RoundTrip;
use super::windowed::{Low, Memory, Windowed, Work};
use super::{ShortProbe, ShortProbeError, chase};
use crate::sampler::Sampler;
use crate::timed_loop::{self, TimedLoop};

/// Long against two readings of the counter and of the thread's usage, about 1 us together, and short against the
/// interval at which a busy machine takes the CPU away; some hundred system calls, some thousand reads of the vDSO.
const WINDOW_NS: f64 = 60_000.0;

/// `CLOCK_MONOTONIC`, include/uapi/linux/time.h.
const CLOCK_MONOTONIC: i32 = 1;

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
    /// Whether its loop is in registers, or in a word or two of memory.
    fn is_of_the_core(self) -> bool {
        matches!(
            self,
            Self::StoreBypass
                | Self::PlainForwarding
                | Self::DenormalDivide
                | Self::FloatDivide
                | Self::MultiplyChain
        )
    }

    /// Starts the probe in the calling thread, which is pinned to the sampler's CPU.
    ///
    /// # Errors
    /// `DebugBuild`, `NoLoop`, or `Mapping` where there is no memory, or `Echo` without a second process.
    pub fn start(self, setup: &ShortSetup) -> Result<Box<dyn ShortProbe>, ShortProbeError> {
        if cfg!(debug_assertions) {
            return Err(ShortProbeError::DebugBuild);
        }
        if self.is_of_the_core() && !kernels::has_core_loops() {
            return Err(ShortProbeError::NoLoop);
        }
        let windowed = |timed| {
            let work = Work { timed, window_ns: WINDOW_NS, low: Low::Fastest };
            Ok(Windowed::start(self.name(), work, &setup.sampler))
        };
        let clock = |source: TimeSource| {
            windowed(TimedLoop::of_calls(move |count| _ = black_box(source.read_many(count))))
        };
        let chase = |block| {
            let chase = chase::chase(block, setup.pages, setup.seed, setup.until)?;
            let memory = Memory { block, asked: setup.pages, pages: chase.pages };
            Ok(Windowed::start(self.name(), chase.work, &setup.sampler).with_memory(memory))
        };
        let started: Result<Windowed, ShortProbeError> = match self {
            Self::StoreBypass => windowed(timed_loop::store_bypass()),
            Self::PlainForwarding => windowed(timed_loop::forwarding()),
            Self::DenormalDivide => windowed(timed_loop::float_divisions(FloatOperands::Denormal)),
            Self::FloatDivide => windowed(timed_loop::float_divisions(FloatOperands::Normal)),
            Self::MultiplyChain => {
                windowed(TimedLoop::new(MULTIPLIES_PER_ROUND, |rounds| _ = black_box(multiply_chain(rounds))))
            }
            Self::L1Chase => chase(chase::L1_BLOCK),
            Self::CacheChase => chase(chase::CACHE_BLOCK),
            Self::RandomChase => chase(chase::MEMORY_BLOCK),
            Self::PipeRoundTrip => return Ok(Box::new(RoundTrip::start(self.name(), &setup.sampler)?)),
            Self::VdsoClock => clock(TimeSource::Clock(CLOCK_MONOTONIC)),
            Self::ClockSystemCall => clock(TimeSource::SystemCall),
            Self::SystemCall => windowed(timed_loop::system_call()),
        };
        Ok(Box::new(started?))
    }
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
                assert!(matches!(started, Err(ShortProbeError::DebugBuild)), "{}", kind.name());
                continue;
            }
            let mut probe = started.unwrap_or_else(|error| panic!("{}: {error}", kind.name()));
            assert_eq!((probe.name(), probe.unit()), (kind.name(), "ns"));
            let sample = |probe: &mut Box<dyn ShortProbe>| match probe.sample() {
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
