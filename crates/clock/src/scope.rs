//! The scope of a mock that a thread is in, for whoever reads the time there.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Threads in a scope, each counted as often as it is in one: as long as there are none, nobody looks for his own.
static SCOPES: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The mock of the innermost scope of this thread; null outside. It needs no destructor, so that it is there as long as
    /// the thread is, for the destructors of others as well.
    pub(crate) static INNERMOST: Cell<*const AtomicU64> = const { Cell::new(std::ptr::null()) };
}

/// What the mock shows in whose scope this thread is, if it is in one.
#[inline(always)]
pub(crate) fn scoped_ns() -> Option<u64> {
    // What this thread has counted itself it sees without any order.
    if SCOPES.load(Ordering::Relaxed) == 0 { None } else { innermost_ns() }
}

#[cold]
fn innermost_ns() -> Option<u64> {
    // SAFETY: null, or the number in a mock that whoever called `scope` lends until the scope's end takes the pointer away.
    let ns = unsafe { INNERMOST.get().as_ref() };
    ns.map(|ns| ns.load(Ordering::SeqCst))
}

/// A scope, until dropped.
pub(crate) struct Entered {
    around: *const AtomicU64,
}

impl Entered {
    pub(crate) fn new(ns: &AtomicU64) -> Self {
        SCOPES.fetch_add(1, Ordering::Relaxed);
        Self { around: INNERMOST.replace(ns) }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        INNERMOST.set(self.around);
        SCOPES.fetch_sub(1, Ordering::Relaxed);
    }
}
