//! A timer on the CPU time of the calling thread, for as long as the thread lives.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{itimerspec, pthread_key_t, timespec};
use sample_ring::{Event, NAME_BYTES};

use crate::state;

/// The upper half of what our timers send with the signal; "side".
const MARK: u64 = 0x7369_6465;
/// SIGEV_THREAD_ID: the signal goes to one thread; include/uapi/asm-generic/siginfo.h.
const TO_THREAD: c_int = 4;
const NO_TIME: timespec = timespec { tv_sec: 0, tv_nsec: 0 };

/// `struct sigevent` as the kernel has it; include/uapi/asm-generic/siginfo.h.
#[repr(C)]
struct SignalEvent {
    value: u64,
    signal: c_int,
    notify: c_int,
    thread: c_int,
    rest: [c_int; 11],
}

/// `siginfo_t` of a timer's signal; include/uapi/asm-generic/siginfo.h.
#[repr(C)]
pub(crate) struct TimerInfo {
    signal: c_int,
    error: c_int,
    code: c_int,
    padding: c_int,
    timer: c_int,
    overrun: c_int,
    value: u64,
}

impl TimerInfo {
    /// The thread and the timer, if one of ours sent it.
    pub(crate) fn of_ours(&self) -> Option<(u32, c_int)> {
        let is_ours = self.code == libc::SI_TIMER && self.value >> 32 == MARK;
        is_ours.then_some((self.value as u32, self.timer))
    }
}

/// The number of the key under which each thread has its timer, and 1 more; 0 before there is one.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Makes the key; before that no thread can have a timer.
pub(crate) fn make_key() -> bool {
    let mut key: pthread_key_t = 0;
    // SAFETY: the key is ours to fill; the destructor is a function of this library, which is never unloaded.
    let made = unsafe { libc::pthread_key_create(&raw mut key, Some(end)) } == 0;
    if made {
        KEY.store(key + 1, Ordering::Release);
    }
    made
}

/// Gives the calling thread a timer; without one it counts as not watched. Whoever began the thread may have blocked all signals in
/// it, as liblzma does: ours gets through, as there would be no sample otherwise.
pub(crate) fn begin() {
    let Some(period_ns) = state::period_ns() else { return };
    unblock();
    let Some(key) = KEY.load(Ordering::Acquire).checked_sub(1) else { return };
    let made = make(period_ns);
    // Timers count from 0, and a value of null is not handed to the destructor. The child of a fork has its parent's value, of
    // a timer that it has not.
    let value = made.map_or(0, |timer| timer as usize + 1) as *const c_void;
    // SAFETY: the key was made. It fails only where memory ends; the timer then ends with the process.
    unsafe { libc::pthread_setspecific(key, value) };
    if let (None, Some(ring)) = (made, state::ring()) {
        ring.count_unwatched();
    }
}

fn unblock() {
    // SAFETY: plain numbers, and no signal in it.
    let mut ours: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is ours.
    unsafe { libc::sigaddset(&raw mut ours, libc::SIGPROF) };
    // SAFETY: the set is valid; the old one is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const ours, std::ptr::null_mut()) };
}

fn make(period_ns: u64) -> Option<c_int> {
    // SAFETY: takes nothing.
    let thread = unsafe { libc::gettid() };
    let event = SignalEvent {
        value: MARK << 32 | u64::from(thread.unsigned_abs()),
        signal: libc::SIGPROF,
        notify: TO_THREAD,
        thread,
        rest: [0; 11],
    };
    let mut timer: c_int = -1;
    // The C library's function has other numbers for timers, which the signal does not tell.
    // SAFETY: the event is valid, and the number ours to fill.
    let made = unsafe {
        libc::syscall(libc::SYS_timer_create, libc::CLOCK_THREAD_CPUTIME_ID, &raw const event, &raw mut timer)
    };
    let period = timespec {
        tv_sec: (period_ns / 1_000_000_000).cast_signed(),
        tv_nsec: (period_ns % 1_000_000_000).cast_signed(),
    };
    (made == 0 && set(timer, period)).then_some(timer)
}

fn set(timer: c_int, period: timespec) -> bool {
    let setting = itimerspec { it_interval: period, it_value: period };
    let nothing = std::ptr::null_mut::<itimerspec>();
    // SAFETY: the setting is valid; the old one is not asked for.
    unsafe { libc::syscall(libc::SYS_timer_settime, timer, 0, &raw const setting, nothing) == 0 }
}

/// Lets a timer tick no more; a system call that signal handlers may make.
pub(crate) fn stop(timer: c_int) {
    set(timer, NO_TIME);
}

/// Run by the C library when a thread with a timer ends.
unsafe extern "C" fn end(value: *mut c_void) {
    let timer = value as usize - 1;
    // SAFETY: takes a number; nobody but this thread deletes it.
    unsafe { libc::syscall(libc::SYS_timer_delete, timer) };
    state::tell(&Event::Ended(name()));
}

/// What the calling thread is called.
pub(crate) fn name() -> [u8; NAME_BYTES] {
    let mut name = [0; NAME_BYTES];
    // SAFETY: the buffer has the 16 bytes that the call writes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}
