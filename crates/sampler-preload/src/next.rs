//! The functions behind ours: those of the C library.

use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{itimerval, pthread_attr_t, pthread_t, siginfo_t, sigset_t, timespec};

/// What a thread begins with; it may be left by `pthread_exit`, which unwinds.
pub(crate) type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

type PthreadCreate = unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, Start, *mut c_void) -> c_int;
type Sigaction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
type Signal = unsafe extern "C" fn(c_int, usize) -> usize;
type SetItimer = unsafe extern "C" fn(c_int, *const itimerval, *mut itimerval) -> c_int;
type Sigwait = unsafe extern "C" fn(*const sigset_t, *mut c_int) -> c_int;
type SigtimedWait = unsafe extern "C" fn(*const sigset_t, *mut siginfo_t, *const timespec) -> c_int;
type SignalFd = unsafe extern "C" fn(c_int, *const sigset_t, c_int) -> c_int;

/// A function of the next library, looked up at the first call. Two threads that look at once find the same.
struct Next {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Next {
    const fn new(name: &'static CStr) -> Self {
        Self { name, found: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// `None` where no library has it.
    fn get(&self) -> Option<*mut c_void> {
        let mut found = self.found.load(Ordering::Relaxed);
        if found.is_null() {
            // SAFETY: the name is a C string. The lookup of a name that exists allocates nothing.
            found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
            self.found.store(found, Ordering::Relaxed);
        }
        (!found.is_null()).then_some(found)
    }
}

static PTHREAD_CREATE: Next = Next::new(c"pthread_create");
static SIGACTION: Next = Next::new(c"sigaction");
static SIGNAL: Next = Next::new(c"signal");
static SYSV_SIGNAL: Next = Next::new(c"__sysv_signal");
static SETITIMER: Next = Next::new(c"setitimer");
static SIGWAIT: Next = Next::new(c"sigwait");
static SIGTIMEDWAIT: Next = Next::new(c"sigtimedwait");
static SIGNALFD: Next = Next::new(c"signalfd");

fn fail(error: c_int) -> c_int {
    // SAFETY: the C library gives every thread a place for it.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { *place = error };
    -1
}

/// The original.
///
/// # Safety
/// As for the original.
pub(crate) unsafe fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let Some(next) = PTHREAD_CREATE.get() else { return libc::EAGAIN };
    // SAFETY: the C library's function of this name has this type.
    let next = unsafe { transmute::<*mut c_void, PthreadCreate>(next) };
    // SAFETY: the caller's promise.
    unsafe { next(thread, attributes, start, argument) }
}

/// The original.
///
/// # Safety
/// As for the original.
pub(crate) unsafe fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let Some(next) = SIGACTION.get() else { return fail(libc::ENOSYS) };
    // SAFETY: the C library's function of this name has this type.
    let next = unsafe { transmute::<*mut c_void, Sigaction>(next) };
    // SAFETY: the caller's promise.
    unsafe { next(signal, new, old) }
}

/// The original, of either kind.
///
/// # Safety
/// As for the original.
pub(crate) unsafe fn signal(signal: c_int, handler: usize, is_sysv: bool) -> usize {
    let next = if is_sysv { &SYSV_SIGNAL } else { &SIGNAL };
    let Some(next) = next.get() else {
        fail(libc::ENOSYS);
        return libc::SIG_ERR;
    };
    // SAFETY: the C library's function of this name has this type.
    let next = unsafe { transmute::<*mut c_void, Signal>(next) };
    // SAFETY: the caller's promise.
    unsafe { next(signal, handler) }
}

/// The original.
///
/// # Safety
/// As for the original.
pub(crate) unsafe fn setitimer(which: c_int, new: *const itimerval, old: *mut itimerval) -> c_int {
    let Some(next) = SETITIMER.get() else { return fail(libc::ENOSYS) };
    // SAFETY: the C library's function of this name has this type.
    let next = unsafe { transmute::<*mut c_void, SetItimer>(next) };
    // SAFETY: the caller's promise.
    unsafe { next(which, new, old) }
}

/// The original.
///
/// # Safety
/// As for the original.
pub(crate) unsafe fn sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int {
    let Some(next) = SIGWAIT.get() else { return libc::ENOSYS };
    // SAFETY: the C library's function of this name has this type.
    let next = unsafe { transmute::<*mut c_void, Sigwait>(next) };
    // SAFETY: the caller's promise.
    unsafe { next(set, signal) }
}

/// The original; without a time it is `sigwaitinfo`.
///
/// # Safety
/// As for the original.
pub(crate) unsafe fn sigtimedwait(
    set: *const sigset_t,
    info: *mut siginfo_t,
    patience: *const timespec,
) -> c_int {
    let Some(next) = SIGTIMEDWAIT.get() else { return fail(libc::ENOSYS) };
    // SAFETY: the C library's function of this name has this type.
    let next = unsafe { transmute::<*mut c_void, SigtimedWait>(next) };
    // SAFETY: the caller's promise.
    unsafe { next(set, info, patience) }
}

/// The original.
///
/// # Safety
/// As for the original.
pub(crate) unsafe fn signalfd(file: c_int, set: *const sigset_t, flags: c_int) -> c_int {
    let Some(next) = SIGNALFD.get() else { return fail(libc::ENOSYS) };
    // SAFETY: the C library's function of this name has this type.
    let next = unsafe { transmute::<*mut c_void, SignalFd>(next) };
    // SAFETY: the caller's promise.
    unsafe { next(file, set, flags) }
}
