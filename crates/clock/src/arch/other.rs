//! Other architectures: no counter is read, and the kernel's raw clock stands for it.

use crate::stamp::{Counter, Features};
use crate::stamp::{Stamp, StampMethod};

/// No clock source of the kernel is a counter that is read here.
pub(crate) const CLOCK_SOURCE: &str = "none";

/// Nothing is known.
pub(crate) fn features() -> Features {
    Features::default()
}

/// What stands behind a region's ends.
#[inline]
pub(crate) fn counter(_features: Features) -> Counter {
    Counter::MonotonicRaw
}

/// The clock orders itself.
pub(crate) fn hold_back_later() {}

/// Nanoseconds of the raw clock.
pub(crate) fn ticks() -> u64 {
    crate::monotonic_raw_ns()
}

/// Firmware says nothing of that clock.
pub(crate) fn stated_hz() -> Option<u32> {
    None
}

/// Nanoseconds of the raw clock.
pub(crate) fn ordered_ticks(_lfence_waits: bool) -> u64 {
    crate::monotonic_raw_ns()
}

/// Nanoseconds of the raw clock; there is no CPU number beside them.
pub(crate) fn closing() -> (u64, Option<u32>) {
    (crate::monotonic_raw_ns(), None)
}

/// There is no stamper here, and so none of what follows is called.
pub(crate) fn at_once() -> Stamp {
    Stamp { ticks: crate::monotonic_raw_ns(), cpu: 0 }
}

pub(crate) fn cpu_by(_method: StampMethod) -> u32 {
    0
}

pub(crate) fn segment_limit() -> Option<u32> {
    None
}

pub(crate) fn registered_cpu(_offset: isize) -> u32 {
    0
}

pub(crate) fn restartable(_offset: isize) -> Stamp {
    at_once()
}
