//! A page of this process that is protected and written to, to know what that costs.

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

use super::WriteWatch;
use crate::answer::mapped;
use crate::live::page_bytes;

/// A page of its own.
#[derive(Debug)]
pub struct OwnPage(NonNull<u8>);

// SAFETY: it owns its page alone; nothing in it belongs to a thread.
unsafe impl Send for OwnPage {}

impl OwnPage {
    /// One that has been written to, as only such can be protected, and that `watch` may protect.
    ///
    /// # Errors
    /// There is no memory, or it cannot be watched.
    pub fn new(watch: &WriteWatch) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at a place that the kernel chooses.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), page_bytes(), access, kind, -1, 0) };
        let page = Self(mapped(base)?);
        page.write();
        watch.cover(page.address(), page_bytes() as u64)?;
        Ok(page)
    }

    /// Where it is.
    pub fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }

    /// Writes to it; waits for as long as nobody lets it through.
    fn write(&self) {
        // SAFETY: mapped as long as self, and nobody else's. Volatile, as the write itself is what matters.
        unsafe { self.0.as_ptr().write_volatile(1) };
    }

    /// Is protected and written to, and says when that began. Somebody else must let it through, and keep the watch alone: this gives its own
    /// hold away before it waits, so that nobody is left waiting if he ends.
    ///
    /// # Errors
    /// It cannot be protected.
    pub fn wait(&self, watch: Arc<WriteWatch>) -> io::Result<Instant> {
        let begun = Instant::now();
        watch.protect(self.address())?;
        drop(watch);
        self.write();
        Ok(begun)
    }
}

impl Drop for OwnPage {
    fn drop(&mut self) {
        // SAFETY: mapped by us with this length, and nothing borrows from it any more.
        unsafe { libc::munmap(self.0.as_ptr().cast(), page_bytes()) };
    }
}
