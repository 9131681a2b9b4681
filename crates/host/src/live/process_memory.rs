//! The memory of another process, read.

use std::io;

use super::page_bytes;

/// Reads from an address on, up to the end of what is mapped; returns how many bytes were there.
///
/// # Errors
/// What the kernel said: nothing is mapped there (`EFAULT`), the process is gone (`ESRCH`) or another's (`EPERM`).
pub fn read_process_memory(pid: u32, address: u64, into: &mut [u8]) -> io::Result<usize> {
    // Where one transfer may end.
    let page_bytes = page_bytes() as u64;
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // A transfer is whole or not for each vector, so a vector ends with its page.
    let first = into.len().min((page_bytes - address % page_bytes) as usize);
    let remote = [(address, first), (address.wrapping_add(first as u64), into.len() - first)]
        .map(|(start, length)| libc::iovec { iov_base: start as *mut libc::c_void, iov_len: length });
    // SAFETY: `local` is ours to fill with as many bytes as it has; the kernel checks the other side.
    let count = unsafe { libc::process_vm_readv(pid, &raw const local, 1, remote.as_ptr(), 2, 0) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_memory_reads_as_it_is_and_nothing_is_nowhere() {
        let text = *b"to be read";
        let mut copy = [0; 10];
        let address = std::ptr::from_ref(&text) as u64;
        let own = std::process::id();
        assert_eq!(read_process_memory(own, address, &mut copy).expect("own memory"), 10);
        assert_eq!(copy, text);
        assert!(read_process_memory(own, 0, &mut copy).is_err());
        assert!(read_process_memory(own, u64::MAX - 4, &mut copy).is_err());
        assert!(read_process_memory(u32::MAX, address, &mut copy).is_err());
    }
}
