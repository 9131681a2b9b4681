//! Counting without a locked instruction, where the architecture can.

use std::sync::atomic::AtomicU64;

/// Adds one. It is one instruction, so no interrupt can come between; without the bus lock a count may be lost only to a thread that
/// moved to another CPU between its stamp and this.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn add_one(count: &AtomicU64) {
    // SAFETY: adds one to a word that lives as long as the process.
    unsafe {
        std::arch::asm!("inc qword ptr [{}]", in(reg) count.as_ptr(), options(nostack));
    }
}

/// Adds one.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn add_one(count: &AtomicU64) {
    count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
}
