//! The functions that C calls. Each starts the clock if none has; none of them ever fails by more than its answer.

use std::sync::OnceLock;
use std::time::Duration;

use clock::{Clock, Source};

fn clock() -> Option<&'static Clock> {
    static CLOCK: OnceLock<Option<Clock>> = OnceLock::new();
    CLOCK.get_or_init(|| Clock::new().ok()).as_ref()
}

/// Starts the clock, which the other functions do as well. False if nothing in this process gives a time.
#[unsafe(no_mangle)]
pub extern "C" fn sidestep_clock_start() -> bool {
    clock().is_some()
}

/// Nanoseconds of CLOCK_MONOTONIC_RAW. Never less than what any thread was seen to read before. 0 if there is no clock.
#[unsafe(no_mangle)]
pub extern "C" fn sidestep_clock_now_ns() -> u64 {
    clock().map_or(0, |clock| clock.now().as_nanos())
}

/// Sleeps until times come from the counters, at most so many nanoseconds; whether they do.
#[unsafe(no_mangle)]
pub extern "C" fn sidestep_clock_wait(limit_ns: u64) -> bool {
    clock().is_some_and(|clock| clock.wait_for_counter(Duration::from_nanos(limit_ns)))
}

/// Bound on the distance of a time from the kernel's clock, in nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn sidestep_clock_uncertainty_ns() -> u64 {
    clock().map_or(u64::MAX, |clock| u64::try_from(clock.uncertainty().as_nanos()).unwrap_or(u64::MAX))
}

/// Two times that are further apart than this, in nanoseconds, were taken in that order, on whatever CPUs. UINT64_MAX while it
/// is not known.
#[unsafe(no_mangle)]
pub extern "C" fn sidestep_clock_boundary_ns() -> u64 {
    clock().map_or(u64::MAX, |clock| clock.ordered().boundary_ns)
}

/// Where times come from: 0 nowhere, 1 the counters, 2 the kernel's code in this process, 3 the system call.
#[unsafe(no_mangle)]
pub extern "C" fn sidestep_clock_source() -> i32 {
    match clock().map(Clock::source) {
        None | Some(Source::Mock) => 0,
        Some(Source::Counter) => 1,
        Some(Source::Vdso) => 2,
        Some(Source::SystemCall) => 3,
    }
}

/// How often the counters had to be calibrated anew.
#[unsafe(no_mangle)]
pub extern "C" fn sidestep_clock_generation() -> u64 {
    clock().map_or(0, Clock::generation)
}
