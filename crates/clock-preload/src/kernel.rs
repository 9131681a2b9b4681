//! The functions behind ours: what the C library would have done.

use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute;
use std::sync::atomic::{AtomicPtr, Ordering};

use clock::Counter;
use libc::{clockid_t, time_t, timespec, timeval};

const NS_PER_SECOND: u64 = 1_000_000_000;

type ClockGettime = unsafe extern "C" fn(clockid_t, *mut timespec) -> c_int;
type GetTimeOfDay = unsafe extern "C" fn(*mut timeval, *mut c_void) -> c_int;

/// A function of the next library, looked up at the first call. Two threads that look at once find the same.
struct Next {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Next {
    const fn new(name: &'static CStr) -> Self {
        Self { name, found: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Null where no library has it.
    #[inline]
    fn get(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if !found.is_null() {
            return found;
        }
        // SAFETY: the name is a C string. The lookup of a name that exists allocates nothing.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

static CLOCK_GETTIME: Next = Next::new(c"clock_gettime");
static GET_TIME_OF_DAY: Next = Next::new(c"gettimeofday");

/// The original, or the system call where there is none.
///
/// # Safety
/// As for the original.
pub(crate) unsafe fn clock_gettime(id: clockid_t, time: *mut timespec) -> c_int {
    let next = CLOCK_GETTIME.get();
    if next.is_null() {
        // SAFETY: the caller's promise.
        return unsafe { libc::syscall(libc::SYS_clock_gettime, id, time) as c_int };
    }
    // SAFETY: the C library's function of this name has this type.
    let next = unsafe { transmute::<*mut c_void, ClockGettime>(next) };
    // SAFETY: the caller's promise.
    unsafe { next(id, time) }
}

/// The original, or the system call where there is none.
///
/// # Safety
/// As for the original.
pub(crate) unsafe fn gettimeofday(time: *mut timeval, zone: *mut c_void) -> c_int {
    let next = GET_TIME_OF_DAY.get();
    if next.is_null() {
        // SAFETY: the caller's promise.
        return unsafe { libc::syscall(libc::SYS_gettimeofday, time, zone) as c_int };
    }
    // SAFETY: the C library's function of this name has this type.
    let next = unsafe { transmute::<*mut c_void, GetTimeOfDay>(next) };
    // SAFETY: the caller's promise.
    unsafe { next(time, zone) }
}

/// Nanoseconds of one of the kernel's clocks; `None` if it is refused, or before 1970.
pub(crate) fn ns(id: clockid_t) -> Option<u64> {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the call to fill.
    let status = unsafe { clock_gettime(id, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    (status == 0).then(|| seconds * NS_PER_SECOND + time.tv_nsec.unsigned_abs())
}

/// Seconds since 1970; -1 if the kernel refuses, as the original answers.
pub(crate) fn seconds() -> time_t {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the call to fill.
    let status = unsafe { clock_gettime(libc::CLOCK_REALTIME, &raw mut time) };
    if status == 0 { time.tv_sec } else { -1 }
}

/// Whether the kernel keeps time by the time-stamp counter. Reads its answer without allocating: the caller may stand
/// within the program's allocator.
pub(crate) fn clock_source_is_counter() -> bool {
    let path = c"/sys/devices/system/clocksource/clocksource0/current_clocksource";
    // SAFETY: the path is a C string.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return false;
    }
    let mut text = [0_u8; 32];
    // SAFETY: the buffer is as long as is said.
    let count = unsafe { libc::read(file, text.as_mut_ptr().cast(), text.len()) };
    // SAFETY: the file is ours.
    unsafe { libc::close(file) };
    usize::try_from(count).is_ok_and(|count| text[..count].trim_ascii() == Counter::CLOCK_SOURCE.as_bytes())
}
