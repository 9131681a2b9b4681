//! The ring that the kernel writes records into and we take them out of.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use machine::CpuId;

use crate::answer::{done, mapped};
use crate::live::page_bytes;

/// Offset of `data_head` in `struct perf_event_mmap_page`, include/uapi/linux/perf_event.h; `data_tail` follows it.
const HEAD_OFFSET: usize = 1024;
const TAIL_OFFSET: usize = 1032;
/// PERF_EVENT_IOC_SET_OUTPUT, `_IO('$', 5)`.
const SET_OUTPUT: libc::c_ulong = 0x2405;

/// An event and the memory it writes to; unmapped and closed on drop.
#[derive(Debug)]
pub(super) struct Ring {
    event: OwnedFd,
    cpu: CpuId,
    base: NonNull<u8>,
    data_bytes: usize,
    /// What is handed to the reader: the ring's content without its seam.
    straight: Vec<u8>,
}

// SAFETY: a Ring owns its mapping alone; nothing in it belongs to a thread.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps a ring of `data_bytes`, a power of two of pages, behind a first page that tells how far the kernel has written and we
    /// have read; or of half as much until the kernel allows it.
    pub(super) fn new(event: OwnedFd, cpu: CpuId, data_bytes: usize) -> io::Result<Self> {
        assert!(data_bytes.is_power_of_two() && data_bytes >= page_bytes(), "the kernel takes nothing else");
        let mut data_bytes = data_bytes;
        let base = loop {
            let bytes = page_bytes() + data_bytes;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: a new mapping at a place that the kernel chooses.
            let base = unsafe {
                libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, event.as_raw_fd(), 0)
            };
            match mapped(base) {
                Err(error) if error.raw_os_error() == Some(libc::EPERM) && data_bytes > page_bytes() => {
                    data_bytes /= 2;
                }
                base => break base?,
            }
        };
        Ok(Self { event, cpu, base, data_bytes, straight: Vec::with_capacity(data_bytes) })
    }

    /// The CPU whose records it holds.
    pub(super) fn cpu(&self) -> CpuId {
        self.cpu
    }

    /// Lets another event of the same CPU write here too.
    pub(super) fn take_records_of(&self, event: &OwnedFd) -> io::Result<()> {
        // SAFETY: both are open events; the call takes numbers only.
        done(unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT, self.event.as_raw_fd()) })
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the offset lies in the first page.
        let place = unsafe { self.base.add(offset) };
        // SAFETY: an aligned word of a mapping that lives as long as self, which others change only as a whole.
        unsafe { AtomicU64::from_ptr(place.as_ptr().cast()) }
    }

    /// Copies what the kernel has written and we have not taken; the number is the new tail.
    fn unread(&self, into: &mut Vec<u8>) -> u64 {
        // The kernel writes the head after the records (smp_wmb in kernel/events/ring_buffer.c): acquire pairs with that.
        let head = self.position(HEAD_OFFSET).load(Ordering::Acquire);
        let tail = self.position(TAIL_OFFSET).load(Ordering::Relaxed);
        let count = usize::try_from(head.wrapping_sub(tail)).unwrap_or(0).min(self.data_bytes);
        let start = (tail % self.data_bytes as u64) as usize;
        let first = count.min(self.data_bytes - start);
        into.clear();
        for (offset, length) in [(start, first), (0, count - first)] {
            // SAFETY: offset + length is at most the data's length, behind the first page.
            let place = unsafe { self.base.add(page_bytes() + offset) };
            // SAFETY: mapped memory, which the kernel does not write to before the tail moves.
            into.extend_from_slice(unsafe { std::slice::from_raw_parts(place.as_ptr(), length) });
        }
        head
    }

    /// Shows what is unread, and leaves it.
    pub(super) fn look(&self, show: impl FnOnce(&[u8])) {
        let mut bytes = Vec::new();
        self.unread(&mut bytes);
        show(&bytes);
    }

    /// Hands over what is unread, and makes room.
    pub(super) fn drain(&mut self, take: impl FnOnce(&[u8])) {
        let mut bytes = std::mem::take(&mut self.straight);
        let head = self.unread(&mut bytes);
        // Release: what was copied was read before the kernel may write there.
        self.position(TAIL_OFFSET).store(head, Ordering::Release);
        take(&bytes);
        self.straight = bytes;
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: mapped by us with this length, and nothing borrows from it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), page_bytes() + self.data_bytes) };
    }
}
