//! Anonymous memory with a page size asked for, and the page size really given; the page of this machine.
//!
//! What the kernel gave is read back from /proc/self/smaps: a request for huge pages is only a request.

use std::io;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::LazyLock;

use machine::Bytes;

use crate::Root;
use crate::answer::mapped;

/// Size of a huge page on x86-64 and of the transparent kind on most others.
const HUGE_BYTES: usize = 2 << 20;
/// Size of a gigantic page.
const GIGANTIC_BYTES: usize = 1 << 30;
/// Bits of the mmap flags that carry log2 of the huge page size. Linux, include/uapi/asm-generic/hugetlb_encode.h.
const HUGE_SHIFT: i32 = 26;

/// Which pages a mapping asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageRequest {
    /// The base page size only: transparent huge pages are refused by madvise.
    Base,
    /// Huge pages: from the reserved pool of 2 MiB pages if there is one, else transparent ones by madvise.
    Huge,
    /// 1 GiB pages, from the reserved pool only.
    Gigantic,
}

impl PageRequest {
    /// The size of the page asked for.
    pub fn page_bytes(self) -> Bytes {
        Bytes(match self {
            Self::Base => page_bytes(),
            Self::Huge => HUGE_BYTES,
            Self::Gigantic => GIGANTIC_BYTES,
        } as u64)
    }
}

/// What the kernel really gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pages {
    /// The page size of the larger part of the mapping.
    pub page_bytes: Bytes,
    /// Share of the mapping in pages of at least the size asked for, 0 to 1; 1 for base pages.
    pub share: f64,
}

/// Why there is no memory.
#[derive(Debug, thiserror::Error)]
pub enum MappingError {
    /// The kernel refused.
    #[error(
        "cannot map {bytes}: {source}; close other programs, raise the limit (ulimit -v), or narrow with --only"
    )]
    Refused {
        /// How much was asked for.
        bytes: Bytes,
        /// What the kernel said.
        source: io::Error,
    },
    /// The reserved pool is empty.
    #[error("no reserved {page} pages for {bytes}; reserve some in /sys/kernel/mm/hugepages as root")]
    NoPool {
        /// How much was asked for.
        bytes: Bytes,
        /// The page size.
        page: Bytes,
    },
    /// A mapping of nothing.
    #[error("cannot map 0 bytes")]
    Empty,
    /// It was to end before all pages were there.
    #[error("laying {bytes} was broken off at the end of the time; give more with --budget")]
    BrokenOff {
        /// How much was asked for.
        bytes: Bytes,
    },
}

/// Anonymous private memory, filled with zeros and touched, aligned to the page size asked for; unmapped on drop.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    mapped_bytes: usize,
    start: NonNull<u8>,
    bytes: usize,
    request: PageRequest,
}

// SAFETY: a Mapping owns its memory alone; nothing in it belongs to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps and touches `bytes` (rounded up to whole pages of the size asked for internally).
    ///
    /// # Errors
    /// `Refused` by the kernel, `NoPool` for gigantic pages without a pool, `Empty` for no bytes.
    pub fn new(bytes: usize, request: PageRequest) -> Result<Self, MappingError> {
        Self::new_while(bytes, request, &|| true)
    }

    /// The same, which asks every 2 MiB whether to go on: the kernel zeroes what is touched, which takes long on a busy CPU.
    ///
    /// # Errors
    /// As `new`, and `BrokenOff`.
    pub fn new_while(
        bytes: usize,
        request: PageRequest,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Self, MappingError> {
        if bytes == 0 {
            return Err(MappingError::Empty);
        }
        let mut mapping = match request {
            PageRequest::Base => Self::anonymous(bytes, request)?,
            PageRequest::Huge => match Self::from_pool(bytes, request) {
                Ok(mapping) => mapping,
                Err(_) => Self::anonymous(bytes, request)?,
            },
            PageRequest::Gigantic => Self::from_pool(bytes, request).map_err(|_| MappingError::NoPool {
                bytes: Bytes(bytes as u64),
                page: request.page_bytes(),
            })?,
        };
        if mapping.touch(goes_on) {
            Ok(mapping)
        } else {
            Err(MappingError::BrokenOff { bytes: Bytes(bytes as u64) })
        }
    }

    fn anonymous(bytes: usize, request: PageRequest) -> Result<Self, MappingError> {
        // Room to align the start to a huge page, so that all of the block can be in huge pages, and so that base
        // pages start at the same place modulo 2 MiB.
        let mapped_bytes = bytes.next_multiple_of(HUGE_BYTES) + HUGE_BYTES;
        let base = map(mapped_bytes, 0)
            .map_err(|source| MappingError::Refused { bytes: Bytes(bytes as u64), source })?;
        let offset = base.as_ptr().align_offset(HUGE_BYTES);
        // SAFETY: the offset is below HUGE_BYTES, which was mapped in addition.
        let start = unsafe { base.add(offset) };
        let advice = if request == PageRequest::Base { libc::MADV_NOHUGEPAGE } else { libc::MADV_HUGEPAGE };
        // A kernel without transparent huge pages refuses the advice: base pages are then all there is.
        // SAFETY: the range lies inside the mapping.
        let _ = unsafe { libc::madvise(start.as_ptr().cast(), bytes.next_multiple_of(HUGE_BYTES), advice) };
        Ok(Self { base, mapped_bytes, start, bytes, request })
    }

    fn from_pool(bytes: usize, request: PageRequest) -> io::Result<Self> {
        let page = request.page_bytes().0 as usize;
        let mapped_bytes = bytes.next_multiple_of(page);
        let log2 = i32::try_from(page.trailing_zeros()).unwrap_or(0);
        let base = map(mapped_bytes, libc::MAP_HUGETLB | log2 << HUGE_SHIFT)?;
        Ok(Self { base, mapped_bytes, start: base, bytes, request })
    }

    /// Writes one byte per base page so that all memory is there before anything is measured; false if that was broken off.
    fn touch(&mut self, goes_on: &dyn Fn() -> bool) -> bool {
        self.as_mut_slice().chunks_mut(HUGE_BYTES).all(|slice| {
            let goes_on = goes_on();
            for byte in slice.iter_mut().step_by(page_bytes()).filter(|_| goes_on) {
                // SAFETY: a plain byte of our own mapping; volatile, as writing zero to zero would be dropped.
                unsafe { ptr::write_volatile(byte, 0) };
            }
            goes_on
        })
    }

    /// The memory.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: `bytes` from `start` lie inside the mapping, are initialised (zero pages) and owned by self alone.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Never true: an empty mapping is refused.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// What was asked for.
    pub fn request(&self) -> PageRequest {
        self.request
    }

    /// What the kernel gave, read back from /proc/self/smaps. Without that file huge pages count as not given.
    pub fn pages(&self) -> Pages {
        let address = self.start.as_ptr() as usize;
        let given = Root::live()
            .read("/proc/self/smaps")
            .map_or(SmapsGiven::default(), |smaps| huge_bytes_at(&smaps, address, self.bytes));
        if self.request == PageRequest::Base {
            let share = 1.0 - (given.huge_bytes as f64 / self.bytes as f64).min(1.0);
            return Pages { page_bytes: Bytes(page_bytes() as u64), share };
        }
        let share = (given.huge_bytes as f64 / self.bytes.next_multiple_of(HUGE_BYTES) as f64).min(1.0);
        let page_bytes = match given.kernel_page_bytes {
            large if large >= HUGE_BYTES => large,
            _ if share > 0.5 => HUGE_BYTES,
            _ => page_bytes(),
        };
        Pages { page_bytes: Bytes(page_bytes as u64), share }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: base and length are those of mmap, and nothing borrows the memory any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.mapped_bytes) };
    }
}

fn map(bytes: usize, extra_flags: libc::c_int) -> io::Result<NonNull<u8>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | extra_flags;
    // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no memory of ours.
    let address =
        unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    mapped(address)
}

/// What smaps says about one mapping.
#[derive(Debug, Default, PartialEq, Eq)]
struct SmapsGiven {
    huge_bytes: usize,
    kernel_page_bytes: usize,
}

/// Sums `AnonHugePages` (or the whole area, for reserved pages) of the areas that hold the block.
fn huge_bytes_at(smaps: &str, start: usize, bytes: usize) -> SmapsGiven {
    let (mut given, mut area_bytes, mut inside) = (SmapsGiven::default(), 0, false);
    for line in smaps.lines() {
        if let Some((first, last)) = area_bounds(line) {
            area_bytes = last.min(start + bytes).saturating_sub(first.max(start));
            inside = area_bytes > 0;
        } else if inside && let Some((key, value)) = line.split_once(':') {
            let value_bytes =
                value.trim().trim_end_matches("kB").trim().parse::<usize>().map_or(0, |kib| kib << 10);
            match key {
                "AnonHugePages" => given.huge_bytes += value_bytes,
                "KernelPageSize" => {
                    given.kernel_page_bytes = given.kernel_page_bytes.max(value_bytes);
                    given.huge_bytes += if value_bytes >= HUGE_BYTES { area_bytes } else { 0 };
                }
                _ => {}
            }
        }
    }
    given
}

/// The bounds in a line such as `7f12a000-7f13b000 rw-p 00000000 00:00 0`; `None` for all other lines.
fn area_bounds(line: &str) -> Option<(usize, usize)> {
    let (first, last) = line.split_whitespace().next()?.split_once('-')?;
    Some((usize::from_str_radix(first, 16).ok()?, usize::from_str_radix(last, 16).ok()?))
}

/// The base page where the kernel does not say: that of x86, and the smallest elsewhere.
const SMALLEST_BYTES: usize = 4096;

/// Bytes of a base page.
static PAGE_BYTES: LazyLock<usize> = LazyLock::new(|| {
    // SAFETY: takes a number only.
    let said = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(said).ok().filter(|bytes| bytes.is_power_of_two()).unwrap_or(SMALLEST_BYTES)
});

/// Bytes of a base page of this machine.
pub fn page_bytes() -> usize {
    *PAGE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_pages_are_aligned_zeroed_and_writable() {
        let mut mapping = Mapping::new(3 << 20, PageRequest::Base).expect("3 MiB");
        assert_eq!(mapping.as_mut_slice().as_ptr() as usize % HUGE_BYTES, 0);
        assert!(mapping.as_mut_slice().iter().all(|&byte| byte == 0));
        mapping.as_mut_slice()[(3 << 20) - 1] = 7;
        assert_eq!(mapping.pages().page_bytes, Bytes(page_bytes() as u64));
    }

    #[test]
    fn touching_asks_every_2_mib_and_ends_when_it_is_asked_to() {
        let asked = std::cell::Cell::new(0);
        let goes_on = || {
            asked.set(asked.get() + 1);
            asked.get() < 3
        };
        let broken_off = Mapping::new_while(64 << 20, PageRequest::Base, &goes_on);
        assert!(matches!(broken_off, Err(MappingError::BrokenOff { bytes: Bytes(67_108_864) })));
        assert_eq!(asked.get(), 3);
    }

    #[test]
    fn huge_pages_report_what_was_given() {
        let mapping = Mapping::new(4 << 20, PageRequest::Huge).expect("4 MiB");
        let pages = mapping.pages();
        assert!((0.0..=1.0).contains(&pages.share));
        assert_eq!(pages.page_bytes == Bytes(HUGE_BYTES as u64), pages.share > 0.5);
    }

    #[test]
    fn smaps_counts_only_the_areas_of_the_block() {
        let smaps = "7f0000000000-7f0000400000 rw-p 00000000 00:00 0\nKernelPageSize: 4 kB\nAnonHugePages: 2048 kB\n\
                     7f0000400000-7f0000800000 rw-p 00000000 00:00 0\nKernelPageSize: 4 kB\nAnonHugePages: 4096 kB\n";
        assert_eq!(huge_bytes_at(smaps, 0x7f00_0000_0000, 4 << 20).huge_bytes, 2 << 20);
        assert_eq!(huge_bytes_at(smaps, 0x7f00_0020_0000, 4 << 20).huge_bytes, 6 << 20);
        assert_eq!(huge_bytes_at("garbage\nx: y\n", 0, 1), SmapsGiven::default());
    }

    #[test]
    fn more_memory_than_an_address_space_is_refused_with_advice() {
        let error = Mapping::new(1 << 60, PageRequest::Base).expect_err("an exbibyte");
        assert!(error.to_string().contains("ulimit"));
    }

    #[test]
    fn a_page_is_what_the_kernel_reported_this_process() {
        let machine = crate::describe(&crate::Root::live(), None);
        let described = machine.environment.page_bytes.map(|bytes| bytes.0 as usize);
        assert_eq!(described.unwrap_or(super::page_bytes()), super::page_bytes());
    }
}
