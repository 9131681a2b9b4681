//! The kernel's message buffer.

/// `SYSLOG_ACTION_READ_ALL`: read all messages without removing them. Linux, include/linux/syslog.h.
const READ_ALL: libc::c_int = 3;
/// The largest buffer asked for; a kernel's default is 128 KiB to 1 MiB (`CONFIG_LOG_BUF_SHIFT`).
const BUFFER_BYTES: usize = 1 << 20;

/// The messages of this boot that are still there; `None` where they may not be read (`kernel.dmesg_restrict`).
pub fn kernel_messages() -> Option<String> {
    let mut buffer = vec![0_u8; BUFFER_BYTES];
    // SAFETY: the kernel writes at most BUFFER_BYTES bytes into the buffer, which is as long.
    let length = unsafe {
        libc::klogctl(
            READ_ALL,
            buffer.as_mut_ptr().cast(),
            libc::c_int::try_from(BUFFER_BYTES).expect("a megabyte is a small number"),
        )
    };
    let length = usize::try_from(length).ok()?;
    buffer.truncate(length);
    Some(String::from_utf8_lossy(&buffer).into_owned())
}
