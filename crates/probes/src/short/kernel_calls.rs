//! Calls that end in the kernel, or in its page in user space.

use std::hint::black_box;

use host::live::{TimeSource, ask_for_parent};

use super::windowed::{Low, Work};

/// Some hundred system calls, some thousand reads of the vDSO.
const WINDOW_NS: f64 = 60_000.0;

/// `CLOCK_MONOTONIC`, include/uapi/linux/time.h.
const CLOCK_MONOTONIC: i32 = 1;

/// The monotonic clock as a program asks for it.
pub(super) fn vdso_clock() -> Work {
    of_calls(|count| _ = black_box(TimeSource::Clock(CLOCK_MONOTONIC).read_many(count)))
}

/// The monotonic clock by system call.
pub(super) fn clock_system_call() -> Work {
    of_calls(|count| _ = black_box(TimeSource::SystemCall.read_many(count)))
}

/// The cheapest system call.
pub(super) fn system_call() -> Work {
    of_calls(|count| _ = black_box(ask_for_parent(count)))
}

fn of_calls(run: impl Fn(u32) + 'static) -> Work {
    let run = move |rounds| run(u32::try_from(rounds).unwrap_or(u32::MAX));
    Work { units_per_round: 1, window_ns: WINDOW_NS, low: Low::Fastest, run: Box::new(run) }
}
