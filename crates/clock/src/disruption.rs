//! What can pull the ground from under a calibrated counter, and how it shows.

use crate::kernel_clock::{KernelClock, Timescale};
use crate::platform::{self, VmClock};

/// BOOTTIME minus MONOTONIC grows by the time asleep. Reading the two takes well under this; waking takes far longer.
const SLEEP_NS_LEAST: i64 = 1_000_000;

/// Why the clock went back to the kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disruption {
    /// The kernel changed its clock source.
    ClockSource,
    /// The machine slept.
    Suspend,
    /// A CPU came or went.
    HotPlug,
    /// The hypervisor says that it moved or restored this machine.
    VmClock,
    /// The counter and the kernel's clock parted at once: a written counter, a restored snapshot.
    Jump,
    /// Two CPUs show counters that what was believed of them excludes.
    Skew,
    /// The process forked; this is the child.
    Fork,
}

impl Disruption {
    /// Whether the counter may already have given times far ahead, which time then has to wait for.
    pub fn is_of_the_counter(self) -> bool {
        matches!(self, Self::Suspend | Self::VmClock | Self::Jump | Self::Skew)
    }
}

/// What is watched for a disruption.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemState {
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// The CPUs that are online, as the kernel writes them.
    pub online_cpus: Option<String>,
    /// Time that the machine has slept since boot, in nanoseconds.
    pub asleep_ns: i64,
    /// The hypervisor's disruption marker.
    pub vm_marker: Option<u64>,
}

impl SystemState {
    /// As they are now.
    pub fn look(kernel: KernelClock, vm_clock: Option<&VmClock>) -> Self {
        Self {
            clock_source: platform::clock_source(),
            online_cpus: platform::online_cpus(),
            asleep_ns: asleep_ns(kernel),
            vm_marker: vm_clock.and_then(VmClock::disruption_marker),
        }
    }

    /// Whether the kernel itself keeps time by the time-stamp counter, and so vouches for it on all CPUs.
    pub fn kernel_trusts_counter(&self) -> bool {
        self.clock_source.as_deref() == Some(crate::arch::CLOCK_SOURCE)
    }

    /// What has happened between `self` and `later`, the gravest first.
    pub fn disruption(&self, later: &Self) -> Option<Disruption> {
        if self.vm_marker != later.vm_marker {
            Some(Disruption::VmClock)
        } else if later.asleep_ns.saturating_sub(self.asleep_ns) >= SLEEP_NS_LEAST {
            Some(Disruption::Suspend)
        } else if self.clock_source != later.clock_source {
            Some(Disruption::ClockSource)
        } else if self.online_cpus != later.online_cpus {
            Some(Disruption::HotPlug)
        } else {
            None
        }
    }
}

/// BOOTTIME minus MONOTONIC, the least of a few tries: what comes between the two reads only adds.
fn asleep_ns(kernel: KernelClock) -> i64 {
    /// Two are rarely both interrupted.
    const TRIES: usize = 3;
    let difference = |_| {
        let monotonic = kernel.read_ns(Timescale::Monotonic)?;
        let boottime = kernel.read_ns(Timescale::Boottime)?;
        Some(boottime.wrapping_sub(monotonic).cast_signed())
    };
    (0..TRIES).filter_map(difference).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet() -> SystemState {
        SystemState {
            clock_source: Some(crate::arch::CLOCK_SOURCE.into()),
            online_cpus: Some("0-3".into()),
            asleep_ns: 5_000_000_000,
            vm_marker: Some(7),
        }
    }

    #[test]
    fn each_disruption_is_seen_and_noise_is_none() {
        for (later, expected) in [
            (quiet(), None),
            (SystemState { asleep_ns: 5_000_000_900, ..quiet() }, None),
            (SystemState { asleep_ns: 4_999_999_000, ..quiet() }, None),
            (SystemState { asleep_ns: 6_000_000_000, ..quiet() }, Some(Disruption::Suspend)),
            (SystemState { clock_source: Some("hpet".into()), ..quiet() }, Some(Disruption::ClockSource)),
            (SystemState { online_cpus: Some("0-2".into()), ..quiet() }, Some(Disruption::HotPlug)),
            (SystemState { vm_marker: Some(8), clock_source: None, ..quiet() }, Some(Disruption::VmClock)),
        ] {
            assert_eq!(quiet().disruption(&later), expected, "{later:?}");
        }
    }

    #[test]
    fn this_machine_did_not_sleep_between_two_looks() {
        let look = || SystemState::look(KernelClock::Vdso, None).asleep_ns;
        let (first, second) = (look(), look());
        assert!(second - first < SLEEP_NS_LEAST);
    }
}
