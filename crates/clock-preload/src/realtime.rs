//! How far `CLOCK_REALTIME` is ahead of `CLOCK_MONOTONIC`: a constant between two steps, in whole nanoseconds.
//!
//! Linux keeps both on one rate, so between steps the difference never changes. A step is seen by a timer that the kernel cancels
//! when the clock is set (`TFD_TIMER_CANCEL_ON_SET`), asked at every look; where there is no such timer, by readings that
//! the known difference does not allow.

use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU64, Ordering};

use crate::kernel;

/// Linux, include/uapi/linux/timerfd.h.
const CANCEL_ON_SET: libc::c_int = 1 << 1;
/// A deadline that never comes, and by which our timer is known: seconds since 1970.
const FAR_SECONDS: i64 = 4_102_444_801;
/// Descriptors from here on are rarely anybody's.
const HIGH_DESCRIPTOR: libc::c_int = 900;
/// Readings from which the difference is taken.
const READINGS: usize = 32;
/// Of which the shorter half counts.
const COUNTED: i64 = 16;
/// A difference this far from the known one is a step even if no timer reported it, in nanoseconds: more than readings of a
/// thread that was interrupted are averaged to, less than what anybody sets a clock by.
const STEP_NS: u64 = 2_000;

/// The difference, and what watches it.
#[derive(Debug)]
pub(crate) struct Realtime {
    ahead_ns: AtomicI64,
    /// -1: none.
    timer: AtomicI32,
    steps: AtomicU64,
}

impl Realtime {
    /// The difference as it is now; `None` if the kernel refuses its clocks.
    pub(crate) fn new() -> Option<Self> {
        let timer = AtomicI32::new(make_timer().unwrap_or(-1));
        Some(Self { ahead_ns: AtomicI64::new(measure()?), timer, steps: AtomicU64::new(0) })
    }

    /// Realtime less monotonic, in nanoseconds.
    #[inline]
    pub(crate) fn ahead_ns(&self) -> i64 {
        self.ahead_ns.load(Ordering::Relaxed)
    }

    /// Steps seen.
    pub(crate) fn step_count(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Looks for a step, and takes the new difference.
    pub(crate) fn look(&self) {
        let timer = self.timer.load(Ordering::Relaxed);
        let was_set = match ask(timer) {
            Answer::Set => true,
            Answer::Quiet => return,
            Answer::Lost => {
                self.timer.store(-1, Ordering::Relaxed);
                false
            }
        };
        let Some(ahead_ns) = measure() else { return };
        if was_set || ahead_ns.abs_diff(self.ahead_ns()) > STEP_NS {
            self.ahead_ns.store(ahead_ns, Ordering::Relaxed);
            self.steps.fetch_add(1, Ordering::Relaxed);
        }
        if was_set {
            arm(timer);
        }
    }

    /// In the child of a fork, which may be in another time namespace.
    pub(crate) fn begin_anew(&self) {
        if let Some(ahead_ns) = measure() {
            self.ahead_ns.store(ahead_ns, Ordering::Relaxed);
        }
    }
}

/// What the timer says.
enum Answer {
    /// The clock was set.
    Set,
    /// Nothing has happened.
    Quiet,
    /// There is no timer, or the program has closed it, and the number may be another file's by now.
    Lost,
}

fn ask(timer: libc::c_int) -> Answer {
    if timer < 0 {
        return Answer::Lost;
    }
    // SAFETY: plain numbers.
    let mut setting: libc::itimerspec = unsafe { std::mem::zeroed() };
    // Asking for the setting does no harm to a file that is not ours; reading would.
    // SAFETY: the setting is ours to fill.
    let status = unsafe { libc::timerfd_gettime(timer, &raw mut setting) };
    let now = kernel::seconds();
    // The time left to a deadline that only we set; a clock that was set moves it, which the read below then reports.
    if status != 0 || setting.it_value.tv_sec == 0 || setting.it_value.tv_sec.abs_diff(FAR_SECONDS - now) > 1
    {
        return Answer::Lost;
    }
    let mut count = 0_u64;
    // SAFETY: eight bytes of ours.
    let read = unsafe { libc::read(timer, (&raw mut count).cast(), size_of::<u64>()) };
    if read >= 0 {
        return Answer::Set;
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::ECANCELED) => Answer::Set,
        Some(libc::EAGAIN | libc::EINTR) => Answer::Quiet,
        _ => Answer::Lost,
    }
}

fn make_timer() -> Option<libc::c_int> {
    // SAFETY: makes a file of ours.
    let low = unsafe { libc::timerfd_create(libc::CLOCK_REALTIME, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) };
    if low < 0 {
        return None;
    }
    // Programs count on low numbers being free.
    // SAFETY: the file is ours.
    let high = unsafe { libc::fcntl(low, libc::F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR) };
    // SAFETY: the file is ours.
    unsafe { libc::close(low) };
    (high >= 0 && arm(high)).then_some(high)
}

fn arm(timer: libc::c_int) -> bool {
    let far = libc::timespec { tv_sec: FAR_SECONDS, tv_nsec: 0 };
    let setting = libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value: far };
    let flags = libc::TFD_TIMER_ABSTIME | CANCEL_ON_SET;
    // SAFETY: the setting is valid; the old one is not asked for.
    unsafe { libc::timerfd_settime(timer, flags, &raw const setting, std::ptr::null_mut()) == 0 }
}

/// Realtime between two readings of monotonic, many times: the mean of the shorter half, whose error is far below the
/// nanosecond to which it is rounded.
fn measure() -> Option<i64> {
    let mut readings = [(0_u64, 0_i64); READINGS];
    for reading in &mut readings {
        let before = kernel::ns(libc::CLOCK_MONOTONIC)?;
        let realtime = kernel::ns(libc::CLOCK_REALTIME)?;
        let after = kernel::ns(libc::CLOCK_MONOTONIC)?;
        let middle = before + (after - before) / 2;
        *reading = (after - before, realtime.wrapping_sub(middle).cast_signed());
    }
    readings.sort_unstable_by_key(|(width_ns, _)| *width_ns);
    let half = &readings[..READINGS / 2];
    let origin = half[0].1;
    let sum: i64 = half.iter().map(|(_, ahead_ns)| ahead_ns.wrapping_sub(origin)).sum();
    Some(origin + sum / COUNTED)
}
