//! The one engine of a process: made at first use, kept by a thread of its own, begun anew in the child of a fork.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::calibrator::Timing;
use crate::disruption::Disruption;
use crate::engine::{Engine, Instruments};
use crate::hardware::{Hardware, start_calibrator};
use crate::kernel_clock::{ClockError, KernelClock, Timescale};
use crate::platform::possible_cpu_count;
use crate::scope;
use crate::source::NoCounter;

/// What came of the making of the engine.
static ENGINE: OnceLock<Result<&'static Engine<Hardware>, NoCounter>> = OnceLock::new();

/// Whether somebody has begun to make it.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// The engine from before its calibrator starts, for those who may not wait for the cell above; null where there is none, or no
/// kernel's clock for it.
static KEPT: AtomicPtr<Engine<Hardware>> = AtomicPtr::new(std::ptr::null_mut());

/// Whether a calibrator runs.
static IS_KEPT: AtomicBool = AtomicBool::new(false);

/// The engine; whoever asks first makes it and starts its calibrator, and all others wait meanwhile.
pub(crate) fn engine() -> Result<&'static Engine<Hardware>, NoCounter> {
    HAS_BEGUN.store(true, Ordering::Release);
    *ENGINE.get_or_init(|| {
        let engine: &'static _ = Box::leak(Box::new(Engine::new(Hardware::new()?, possible_cpu_count())));
        if engine.instruments.kernel_ns().is_some() {
            KEPT.store(std::ptr::from_ref(engine).cast_mut(), Ordering::Release);
        }
        // SAFETY: the handler is a function of this program, and needs nothing that a child of a fork lacks.
        unsafe { libc::pthread_atfork(None, None, Some(reinitialise_child)) };
        if keep(engine) {
            return Ok(engine);
        }
        KEPT.store(std::ptr::null_mut(), Ordering::Release);
        Err(NoCounter::NoThread)
    })
}

#[inline(always)]
fn kept() -> Option<&'static Engine<Hardware>> {
    // SAFETY: the pointer is null or one that was leaked, which lives as long as the process.
    unsafe { KEPT.load(Ordering::Acquire).as_ref() }
}

/// Nanoseconds now, or what the mock shows in whose scope this thread is.
#[inline(always)]
pub(crate) fn now_ns() -> u64 {
    if let Some(ns) = scope::scoped_ns() {
        return ns;
    }
    match kept() {
        Some(engine) => engine.now_ns(),
        None => now_ns_at_first(),
    }
}

/// The same for the first reader, for those who come while it makes the engine, and where there is none.
///
/// Only the first waits. A signal handler that comes meanwhile, or the child of a fork, in which nobody goes on with the
/// making, gets the kernel's time.
#[cold]
#[inline(never)]
fn now_ns_at_first() -> u64 {
    let is_first = !HAS_BEGUN.swap(true, Ordering::AcqRel);
    let made = if is_first { Some(engine()) } else { ENGINE.get().copied() };
    if let Some(engine) = kept() {
        return engine.now_ns();
    }
    let kernel = match made {
        Some(Err(reason)) => KernelClock::without(reason),
        // It is unknown yet whether the counter, which the page of code reads, raises signals.
        _ => KernelClock::SystemCall,
    };
    let ns = kernel.read_ns(Timescale::MonotonicRaw);
    ns.unwrap_or_else(|| panic!("{}", ClockError::NoKernelClock))
}

/// Starts the calibrator, and tells whether it runs; without one, readers stay with the kernel's clock.
fn keep(engine: &'static Engine<Hardware>) -> bool {
    let is_kept = start_calibrator(engine, Timing::default()).is_ok();
    IS_KEPT.store(is_kept, Ordering::Release);
    is_kept
}

/// In the child of a fork no calibrator runs: its readers go to the kernel's clock, and a new calibrator starts.
///
/// A calibrator of the parent that was writing at that moment has left at most a half-written segment to which no reader is
/// sent. Children of raw system calls come without this: their segments end within a second, and they stay with the
/// kernel's clock.
extern "C" fn reinitialise_child() {
    let Some(engine) = kept() else { return };
    engine.disrupt(Disruption::Fork);
    if IS_KEPT.load(Ordering::Acquire) {
        keep(engine);
    }
}
