//! Signals that are waited for: a program that waits for all of them must not get ours.

use std::ffi::c_int;

use libc::{siginfo_t, sigset_t, timespec};

use crate::{next, state};

/// The signals that are left for the program.
///
/// # Safety
/// The set is null or valid.
unsafe fn without_ours(set: *const sigset_t) -> Option<sigset_t> {
    if !state::is_sampled() {
        return None;
    }
    // SAFETY: the caller's promise.
    let mut left = *unsafe { set.as_ref() }?;
    // SAFETY: the set is ours.
    unsafe { libc::sigdelset(&raw mut left, libc::SIGPROF) };
    Some(left)
}

/// The C library's `sigwait`, of all signals but ours.
///
/// # Safety
/// As for the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    let left = unsafe { without_ours(set) };
    // SAFETY: the caller's promise is the original's.
    unsafe { next::sigwait(left.as_ref().map_or(set, std::ptr::from_ref), signal) }
}

/// The C library's `sigwaitinfo`, of all signals but ours.
///
/// # Safety
/// As for the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { sigtimedwait(set, info, std::ptr::null()) }
}

/// The C library's `sigtimedwait`, of all signals but ours.
///
/// # Safety
/// As for the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigtimedwait(
    set: *const sigset_t,
    info: *mut siginfo_t,
    patience: *const timespec,
) -> c_int {
    // SAFETY: the caller's promise.
    let left = unsafe { without_ours(set) };
    // SAFETY: the caller's promise is the original's.
    unsafe { next::sigtimedwait(left.as_ref().map_or(set, std::ptr::from_ref), info, patience) }
}

/// The C library's `signalfd`, of all signals but ours.
///
/// # Safety
/// As for the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signalfd(file: c_int, set: *const sigset_t, flags: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let left = unsafe { without_ours(set) };
    // SAFETY: the caller's promise is the original's.
    unsafe { next::signalfd(file, left.as_ref().map_or(set, std::ptr::from_ref), flags) }
}
