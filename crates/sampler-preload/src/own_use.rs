//! SIGPROF as the program sees it: as if nobody used it, until the program does.

use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};

use libc::{itimerval, siginfo_t, sigset_t};
use sample_ring::StopReason;

use crate::{handler, next, state};

type Handler = unsafe extern "C" fn(c_int);
type HandlerWithInfo = unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

/// What the program wants to be done; the kernel knows only our handler.
struct Wanted {
    handler: AtomicUsize,
    flags: AtomicI32,
    /// The kernel's 64 signals.
    mask: AtomicU64,
}

static WANTED: Wanted =
    Wanted { handler: AtomicUsize::new(libc::SIG_DFL), flags: AtomicI32::new(0), mask: AtomicU64::new(0) };

/// The first word of a set of signals, which is all that Linux has.
fn mask_of(set: &sigset_t) -> u64 {
    // SAFETY: a set has 128 bytes.
    unsafe { std::ptr::from_ref(set).cast::<u64>().read() }
}

/// Puts signals into an empty set.
pub(crate) fn set_mask(set: &mut sigset_t, mask: u64) {
    // SAFETY: a set has 128 bytes.
    unsafe { std::ptr::from_mut(set).cast::<u64>().write(mask) };
}

impl Wanted {
    /// Takes what the program wants now, and gives what it wanted before.
    fn replace(&self, new: Option<&libc::sigaction>) -> libc::sigaction {
        // SAFETY: plain numbers.
        let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
        before.sa_sigaction = self.handler.load(Ordering::Acquire);
        before.sa_flags = self.flags.load(Ordering::Relaxed);
        set_mask(&mut before.sa_mask, self.mask.load(Ordering::Relaxed));
        if let Some(new) = new {
            self.flags.store(new.sa_flags, Ordering::Relaxed);
            self.mask.store(mask_of(&new.sa_mask), Ordering::Relaxed);
            self.handler.store(new.sa_sigaction, Ordering::Release);
            if ![libc::SIG_DFL, libc::SIG_IGN].contains(&new.sa_sigaction) {
                state::stop(StopReason::OwnHandler);
                // Ours stays in front: what our timers have sent meanwhile is not the program's. It resets it itself.
                handler::install(new.sa_flags & !libc::SA_RESETHAND, mask_of(&new.sa_mask));
            }
        }
        before
    }
}

/// What the program has for SIGPROF before it is watched.
pub(crate) fn remember(action: &libc::sigaction) {
    WANTED.handler.store(action.sa_sigaction, Ordering::Release);
}

/// Does what the program wants to be done when SIGPROF comes from anybody but our timers.
///
/// # Safety
/// The arguments are those of a signal handler.
pub(crate) unsafe fn hand_over(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let handler = WANTED.handler.load(Ordering::Acquire);
    let flags = WANTED.flags.load(Ordering::Relaxed);
    if flags & libc::SA_RESETHAND != 0 {
        WANTED.handler.store(libc::SIG_DFL, Ordering::Release);
    }
    match handler {
        libc::SIG_IGN => {}
        libc::SIG_DFL => {
            // SAFETY: plain numbers, which are the default action.
            let default: libc::sigaction = unsafe { std::mem::zeroed() };
            // SAFETY: the action is valid; the old one is not asked for.
            unsafe { next::sigaction(signal, &raw const default, std::ptr::null_mut()) };
            // It is blocked until this handler returns, and then ends the program as it would have.
            // SAFETY: takes a number.
            unsafe { libc::raise(signal) };
        }
        handler if flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: the program said that it takes three arguments.
            let handler = unsafe { transmute::<usize, HandlerWithInfo>(handler) };
            // SAFETY: the caller's promise.
            unsafe { handler(signal, info, context) };
        }
        handler => {
            // SAFETY: the program said that it takes one argument.
            let handler = unsafe { transmute::<usize, Handler>(handler) };
            // SAFETY: the caller's promise.
            unsafe { handler(signal) };
        }
    }
}

/// The C library's `sigaction`; of SIGPROF the program sees its own half.
///
/// # Safety
/// As for the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    if signal != libc::SIGPROF || !state::is_ours() {
        // SAFETY: the caller's promise is the original's.
        return unsafe { next::sigaction(signal, new, old) };
    }
    // SAFETY: null or valid, by the caller's promise.
    let before = WANTED.replace(unsafe { new.as_ref() });
    if !old.is_null() {
        // SAFETY: the caller's promise, and it is not null.
        unsafe { old.write(before) };
    }
    0
}

/// The C library's `signal`.
///
/// # Safety
/// As for the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(signal: c_int, handler: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { set_signal(signal, handler, libc::SA_RESTART, false) }
}

/// The C library's `signal` of programs that are built for System V.
///
/// # Safety
/// As for the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sysv_signal(signal: c_int, handler: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { set_signal(signal, handler, libc::SA_RESETHAND | libc::SA_NODEFER, true) }
}

/// # Safety
/// As for `signal`.
unsafe fn set_signal(signal: c_int, handler: usize, flags: c_int, is_sysv: bool) -> usize {
    if signal != libc::SIGPROF || !state::is_ours() || handler == libc::SIG_ERR {
        // SAFETY: the caller's promise is the original's.
        return unsafe { next::signal(signal, handler, is_sysv) };
    }
    // SAFETY: plain numbers.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    WANTED.replace(Some(&action)).sa_sigaction
}

/// The C library's `setitimer`; a program that profiles itself is left alone.
///
/// # Safety
/// As for the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setitimer(which: c_int, new: *const itimerval, old: *mut itimerval) -> c_int {
    if which == libc::ITIMER_PROF && state::is_ours() {
        // SAFETY: null or valid, by the caller's promise.
        let is_set =
            unsafe { new.as_ref() }.is_some_and(|new| (new.it_value.tv_sec, new.it_value.tv_usec) != (0, 0));
        if is_set {
            state::stop(StopReason::OwnTimer);
        }
    }
    // SAFETY: the caller's promise is the original's.
    unsafe { next::setitimer(which, new, old) }
}
