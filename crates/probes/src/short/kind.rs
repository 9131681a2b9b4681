//! Which short probes there are, and how to start one.

use std::time::Instant;

use host::live::PageRequest;
use kernels::FloatOperands;

use super::round_trip::RoundTrip;
use super::windowed::{Memory, Windowed};
use super::{ShortProbe, ShortProbeError, chase, core_loops, kernel_calls};
use crate::sampler::Sampler;

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

/// One kind of short probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShortKind {
    /// A load that passes a store of late address: what Speculative Store Bypass Disable slows.
    StoreBypass,
    /// A store and a load of the same word at a known address. A control of store bypass on most CPUs; where the same
    /// switch also stops predictive store forwarding, as on AMD from Zen 3 on, it may move (AMD, "Security analysis of
    /// AMD Predictive Store Forwarding", 2021).
    PlainForwarding,
    /// Division of denormal floats, which Linux's workaround for FP-DSS on Zen 1 is named after.
    DenormalDivide,
    /// The same divisions of normal floats.
    FloatDivide,
    /// Multiplications in registers: a control that nothing but the frequency moves.
    MultiplyChain,
    /// Dependent loads in 8 KiB: a control in the first level of cache.
    L1Chase,
    /// Dependent loads at random in 8 MiB.
    CacheChase,
    /// Dependent loads at random in 256 MiB, which are slow in base pages: each walks the page tables.
    RandomChase,
    /// A byte to another process on the same CPU and back: two system calls and a switch of address space each way, on
    /// which the indirect-branch control puts a barrier.
    PipeRoundTrip,
    /// `clock_gettime(CLOCK_MONOTONIC)` as a program calls it: in user space where the clock source allows.
    VdsoClock,
    /// The same clock by system call, whatever the clock source.
    ClockSystemCall,
    /// `getppid`: into the kernel and back.
    SystemCall,
}

impl ShortKind {
    /// All kinds.
    pub const ALL: [Self; 12] = [
        Self::StoreBypass,
        Self::PlainForwarding,
        Self::DenormalDivide,
        Self::FloatDivide,
        Self::MultiplyChain,
        Self::L1Chase,
        Self::CacheChase,
        Self::RandomChase,
        Self::PipeRoundTrip,
        Self::VdsoClock,
        Self::ClockSystemCall,
        Self::SystemCall,
    ];

    /// What the user types.
    pub fn name(self) -> &'static str {
        match self {
            Self::StoreBypass => "store-bypass",
            Self::PlainForwarding => "plain-forwarding",
            Self::DenormalDivide => "denormal-divide",
            Self::FloatDivide => "float-divide",
            Self::MultiplyChain => "multiply-chain",
            Self::L1Chase => "l1-chase",
            Self::CacheChase => "cache-chase",
            Self::RandomChase => "random-chase",
            Self::PipeRoundTrip => "pipe-round-trip",
            Self::VdsoClock => "vdso-clock",
            Self::ClockSystemCall => "clock-system-call",
            Self::SystemCall => "system-call",
        }
    }

    /// The kind of a name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Starts the probe in the calling thread, which is pinned to the sampler's CPU.
    ///
    /// # Errors
    /// `DebugBuild`, or `Mapping` where there is no memory, or `Echo` without a second process.
    pub fn start(self, setup: &ShortSetup) -> Result<Box<dyn ShortProbe>, ShortProbeError> {
        if cfg!(debug_assertions) {
            return Err(ShortProbeError::DebugBuild);
        }
        let windowed = |work| Ok(Windowed::start(self.name(), work, &setup.sampler));
        let chase = |block| {
            let chase = chase::chase(block, setup.pages, setup.seed, setup.until)?;
            let memory = Memory { block, asked: setup.pages, pages: chase.pages };
            Ok(Windowed::start(self.name(), chase.work, &setup.sampler).with_memory(memory))
        };
        let started: Result<Windowed, ShortProbeError> = match self {
            Self::StoreBypass => windowed(core_loops::store_bypass()),
            Self::PlainForwarding => windowed(core_loops::plain_forwarding()),
            Self::DenormalDivide => windowed(core_loops::divisions(FloatOperands::Denormal)),
            Self::FloatDivide => windowed(core_loops::divisions(FloatOperands::Normal)),
            Self::MultiplyChain => windowed(core_loops::multiplies()),
            Self::L1Chase => chase(chase::L1_BLOCK),
            Self::CacheChase => chase(chase::CACHE_BLOCK),
            Self::RandomChase => chase(chase::MEMORY_BLOCK),
            Self::PipeRoundTrip => return Ok(Box::new(RoundTrip::start(self.name(), &setup.sampler)?)),
            Self::VdsoClock => windowed(kernel_calls::vdso_clock()),
            Self::ClockSystemCall => windowed(kernel_calls::clock_system_call()),
            Self::SystemCall => windowed(kernel_calls::system_call()),
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
            assert_eq!(ShortKind::by_name(kind.name()), Some(kind));
        }
        assert_eq!(ShortKind::by_name("no-such-probe"), None);
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
