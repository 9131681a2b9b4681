//! The page of this machine: 4 KiB on x86; 4, 16 or 64 KiB on arm64, as the kernel was built.

use std::sync::LazyLock;

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
    #[test]
    fn a_page_is_what_the_kernel_told_this_process() {
        let machine = crate::describe(&crate::Root::live(), None);
        let told = machine.environment.page_bytes.map(|bytes| bytes.0 as usize);
        assert_eq!(told.unwrap_or(super::page_bytes()), super::page_bytes());
    }
}
