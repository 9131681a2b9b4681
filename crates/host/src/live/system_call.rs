//! The cheapest system call, many times: what entering and leaving the kernel costs.

/// Asks for the parent's number `count` times (`getppid`, which no library answers from memory) and returns it.
#[inline]
pub fn ask_for_parent(count: u32) -> u32 {
    let mut parent = 0;
    for _ in 0..count {
        // SAFETY: the call takes no arguments and touches no memory of ours.
        parent = unsafe { libc::syscall(libc::SYS_getppid) };
    }
    parent as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_the_one_the_library_names() {
        assert_eq!(ask_for_parent(3), std::os::unix::process::parent_id());
        assert_eq!(ask_for_parent(0), 0);
    }
}
