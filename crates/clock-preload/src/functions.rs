//! The functions that take the place of the C library's.

use std::ffi::c_int;

use libc::{clockid_t, time_t, timespec, timeval};

use crate::{kernel, server};

const NS_PER_SECOND: u64 = 1_000_000_000;

/// The C library's `clock_gettime`, served.
///
/// # Safety
/// `time` points to a `timespec`, as for the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(id: clockid_t, time: *mut timespec) -> c_int {
    let ns = match id {
        libc::CLOCK_MONOTONIC => server::monotonic_ns(),
        libc::CLOCK_REALTIME => server::realtime_ns(),
        _ => None,
    };
    let Some(ns) = ns else {
        // SAFETY: the caller's promise is the original's.
        return unsafe { kernel::clock_gettime(id, time) };
    };
    let value =
        timespec { tv_sec: (ns / NS_PER_SECOND).cast_signed(), tv_nsec: (ns % NS_PER_SECOND).cast_signed() };
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
    let Some(ns) = ns else {
        // SAFETY: the caller's promise is the original's.
        return unsafe { kernel::gettimeofday(time, zone) };
    };
    let value = timeval {
        tv_sec: (ns / NS_PER_SECOND).cast_signed(),
        tv_usec: (ns % NS_PER_SECOND / 1_000).cast_signed(),
    };
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
        Some(ns) => (ns / NS_PER_SECOND).cast_signed(),
        None => kernel::seconds(),
    };
    if !seconds.is_null() {
        // SAFETY: the caller's promise, and it is not null.
        unsafe { seconds.write(value) };
    }
    value
}
