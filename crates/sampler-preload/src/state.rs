//! What the process is at: not watched, sampled, or not any more.

use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use sample_ring::{Entry, Event, SampleRing, StopReason};

const OFF: u8 = 0;
const SAMPLED: u8 = 1;
const STOPPED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(OFF);
static RING: AtomicPtr<SampleRing> = AtomicPtr::new(std::ptr::null_mut());

/// Samples go to this ring from now on.
pub(crate) fn begin(ring: &'static SampleRing) {
    RING.store(std::ptr::from_ref(ring).cast_mut(), Ordering::Release);
    STATE.store(SAMPLED, Ordering::Release);
}

/// The ring, if the process is or was sampled.
pub(crate) fn ring() -> Option<&'static SampleRing> {
    let ring = RING.load(Ordering::Acquire);
    // SAFETY: null, or from a reference that lives as long as the process.
    unsafe { ring.as_ref() }
}

/// True if SIGPROF is ours: the program is shown it as if it were not.
pub(crate) fn is_ours() -> bool {
    STATE.load(Ordering::Acquire) != OFF
}

/// True while samples are taken: until the program wants SIGPROF, or nobody reads any more.
pub(crate) fn is_sampled() -> bool {
    period_ns().is_some()
}

/// The CPU time between two samples of a thread in nanoseconds, while samples are taken.
pub(crate) fn period_ns() -> Option<u64> {
    (STATE.load(Ordering::Acquire) == SAMPLED).then(ring).flatten()?.period_ns()
}

/// Ends sampling in this process for good.
pub(crate) fn stop(reason: StopReason) {
    if STATE.compare_exchange(SAMPLED, STOPPED, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        tell(&Event::Stopped(reason));
    }
}

/// Writes of the calling thread what there is to tell.
pub(crate) fn tell(event: &Event) {
    let Some(ring) = ring() else { return };
    // SAFETY: takes nothing.
    let pid = unsafe { libc::getpid() }.unsigned_abs();
    // SAFETY: takes nothing.
    let tid = unsafe { libc::gettid() }.unsigned_abs();
    ring.put(&Entry { pid, tid, time_ns: time_ns(), event: *event }.to_words());
}

/// Nanoseconds of `CLOCK_MONOTONIC`: no system call where the kernel has a vDSO.
pub(crate) fn time_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the call to fill.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
