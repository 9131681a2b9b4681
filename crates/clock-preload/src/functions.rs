//! The functions that take the place of the C library's.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

use libc::{clockid_t, time_t, timespec, timeval};

use crate::{kernel, server};

const NS_PER_SECOND: u64 = 1_000_000_000;

/// The second that a clock was in when it was last asked: a division less in all calls but one a second.
struct Second(AtomicU64);

static MONOTONIC: Second = Second(AtomicU64::new(0));
static REALTIME: Second = Second(AtomicU64::new(0));

/// A time as C wants it.
#[derive(Clone, Copy)]
struct Parts {
    seconds: i64,
    ns: i64,
}

impl Second {
    #[inline(always)]
    fn split(&self, ns: u64) -> Parts {
        let second = self.0.load(Ordering::Relaxed);
        let rest = ns.wrapping_sub(second.wrapping_mul(NS_PER_SECOND));
        if rest < NS_PER_SECOND {
            return Parts { seconds: second.cast_signed(), ns: rest.cast_signed() };
        }
        self.divide(ns)
    }

    #[cold]
    #[inline(never)]
    fn divide(&self, ns: u64) -> Parts {
        let second = ns / NS_PER_SECOND;
        self.0.store(second, Ordering::Relaxed);
        Parts { seconds: second.cast_signed(), ns: (ns % NS_PER_SECOND).cast_signed() }
    }
}

/// The C library's `clock_gettime`, served.
///
/// # Safety
/// `time` points to a `timespec`, as for the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(id: clockid_t, time: *mut timespec) -> c_int {
    let parts = match id {
        libc::CLOCK_MONOTONIC => server::monotonic_ns().map(|ns| MONOTONIC.split(ns)),
        libc::CLOCK_REALTIME => server::realtime_ns().map(|ns| REALTIME.split(ns)),
        _ => None,
    };
    let Some(parts) = parts else {
        // SAFETY: the caller's promise is the original's.
        return unsafe { kernel::clock_gettime(id, time) };
    };
    let value = timespec { tv_sec: parts.seconds, tv_nsec: parts.ns };
    // SAFETY: the caller's promise.
    unsafe { time.write(value) };
    0
}

/// The C library's `gettimeofday`, served unless the time zone is asked for.
///
/// # Safety
/// `time` points to a `timeval` or is null, `zone` is null or points to a `struct timezone`, as for the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(time: *mut timeval, zone: *mut libc::c_void) -> c_int {
    let ns = if time.is_null() || !zone.is_null() { None } else { server::realtime_ns() };
    let Some(parts) = ns.map(|ns| REALTIME.split(ns)) else {
        // SAFETY: the caller's promise is the original's.
        return unsafe { kernel::gettimeofday(time, zone) };
    };
    let value = timeval { tv_sec: parts.seconds, tv_usec: parts.ns / 1_000 };
    // SAFETY: the caller's promise, and it is not null.
    unsafe { time.write(value) };
    0
}

/// The C library's `time`, served.
///
/// # Safety
/// `seconds` points to a `time_t` or is null, as for the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(seconds: *mut time_t) -> time_t {
    let value = match server::realtime_ns() {
        Some(ns) => REALTIME.split(ns).seconds,
        None => kernel::seconds(),
    };
    if !seconds.is_null() {
        // SAFETY: the caller's promise, and it is not null.
        unsafe { seconds.write(value) };
    }
    value
}
