//! Where the kernel tells of wakes: the tracepoint `sched:sched_waking`, by its description in tracefs.

use std::ffi::CStr;
use std::io;
use std::thread;

use crate::Root;
use crate::answer::done;
use crate::live::start_thread;

/// Where tracefs is mounted, if it is.
const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// The first of them, which the kernel makes for it.
const MOUNT_POINT: &CStr = c"/sys/kernel/tracing";
/// TRACE_FLAG_HARDIRQ and TRACE_FLAG_SOFTIRQ, include/linux/trace_events.h: the thread that ran did not do it.
const IN_INTERRUPT: u8 = 0x08 | 0x10;

/// The tracepoint of this kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WakeTracepoint {
    /// Its number.
    pub(super) id: u64,
    /// Where the byte of flags stands in what it tells.
    pub(super) flags_offset: usize,
    /// Where the number of the woken thread stands, 4 bytes.
    pub(super) woken_offset: usize,
}

/// Why nobody sees who wakes whom.
#[derive(Debug, thiserror::Error)]
pub enum WakesUnseen {
    /// The description cannot be reached.
    #[error("tracefs is not mounted and cannot be ({0}); only root sees who wakes whom")]
    NoTracefs(io::Error),
    /// The description is not what it should be.
    #[error("the kernel's description of sched_waking lacks {0}")]
    Strange(&'static str),
}

impl WakeTracepoint {
    /// By the files `id` and `format`; what is missing otherwise.
    fn parse(id: &str, format: &str) -> Result<Self, WakesUnseen> {
        let id = id.trim().parse().map_err(|_| WakesUnseen::Strange("a number"))?;
        let flags_offset = offset(format, "common_flags", 1).ok_or(WakesUnseen::Strange("common_flags"))?;
        let woken_offset = offset(format, "pid", 4).ok_or(WakesUnseen::Strange("pid"))?;
        Ok(Self { id, flags_offset, woken_offset })
    }

    /// The woken thread, and whether an interrupt woke it; `None` if the bytes are too few.
    pub(super) fn read(self, bytes: &[u8]) -> Option<(u32, bool)> {
        let flags = *bytes.get(self.flags_offset)?;
        let woken = bytes.get(self.woken_offset..)?.first_chunk()?;
        Some((u32::from_ne_bytes(*woken), flags & IN_INTERRUPT != 0))
    }
}

/// The offset of a field of this name and size in lines like `field:pid_t pid; offset:24; size:4; signed:1;`.
fn offset(format: &str, name: &str, bytes: usize) -> Option<usize> {
    format.lines().find_map(|line| {
        let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
        if parts.next()?.rsplit(' ').next()? != name {
            return None;
        }
        let offset = parts.next()?.strip_prefix("offset:")?.parse().ok()?;
        (parts.next()?.strip_prefix("size:")?.parse() == Ok(bytes)).then_some(offset)
    })
}

/// Finds it. Where tracefs is not mounted it is mounted for one short-lived thread alone: nobody else sees it, and it is gone with
/// the thread.
///
/// # Errors
/// There is no such thing, or only root may look.
pub fn wake_tracepoint() -> Result<WakeTracepoint, WakesUnseen> {
    match read() {
        Err(WakesUnseen::NoTracefs(_)) => thread::scope(|scope| {
            let alone = || mount_for_this_thread().map_err(WakesUnseen::NoTracefs).and_then(|()| read());
            let alone = start_thread(scope, "a thread that mounts tracefs", alone);
            alone
                .map_err(|refused| WakesUnseen::NoTracefs(io::Error::other(refused)))?
                .join()
                .expect("reading two files does not panic")
        }),
        read => read,
    }
}

fn read() -> Result<WakeTracepoint, WakesUnseen> {
    let root = Root::live();
    let mut failure = io::Error::from(io::ErrorKind::NotFound);
    for folder in FOLDERS {
        let file = |name: &str| root.read(&format!("{folder}/events/sched/sched_waking/{name}"));
        match (file("id"), file("format")) {
            (Ok(id), Ok(format)) => return WakeTracepoint::parse(&id, &format),
            (Err(error), _) | (_, Err(error)) => failure = io::Error::other(error.to_string()),
        }
    }
    Err(WakesUnseen::NoTracefs(failure))
}

/// Gives the calling thread mounts of its own, and tracefs among them.
fn mount_for_this_thread() -> io::Result<()> {
    let nothing = std::ptr::null();
    // SAFETY: takes flags only; other threads keep their mounts, root and working directory.
    done(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    // SAFETY: strings that end with NUL; from here on what this thread mounts reaches nobody else.
    done(unsafe {
        libc::mount(nothing, c"/".as_ptr(), nothing, libc::MS_REC | libc::MS_PRIVATE, nothing.cast())
    })?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: as above.
    done(unsafe {
        libc::mount(c"tracefs".as_ptr(), MOUNT_POINT.as_ptr(), c"tracefs".as_ptr(), flags, nothing.cast())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of Linux 6.18 that matter, and one that must not be mistaken.
    const FORMAT: &str = "name: sched_waking\nID: 375\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n";

    #[test]
    fn a_description_is_read_and_a_strange_one_refused() {
        let found = WakeTracepoint::parse("375\n", FORMAT).expect("whole");
        assert_eq!(found, WakeTracepoint { id: 375, flags_offset: 2, woken_offset: 24 });
        assert!(WakeTracepoint::parse("many", FORMAT).is_err());
        let error =
            WakeTracepoint::parse("375", &FORMAT.replace("size:4;\tsigned:1;\n", "size:8;")).unwrap_err();
        assert!(error.to_string().ends_with("lacks pid"), "{error}");
        assert!(WakeTracepoint::parse("375", "").is_err());
    }

    #[test]
    fn what_it_tells_may_be_too_short() {
        let tracepoint = WakeTracepoint { id: 1, flags_offset: 2, woken_offset: 24 };
        let mut bytes = [0; 28];
        (bytes[2], bytes[24]) = (0x10, 5);
        assert_eq!(tracepoint.read(&bytes), Some((5, true)));
        assert_eq!(tracepoint.read(&bytes[..27]), None);
        assert_eq!(WakeTracepoint { woken_offset: usize::MAX, ..tracepoint }.read(&bytes), None);
    }

    #[test]
    fn the_mounts_of_others_stay_as_they_are() {
        let mounts = || Root::live().read("/proc/self/mounts").unwrap_or_default();
        let before = mounts();
        match wake_tracepoint() {
            Ok(found) => assert!(found.woken_offset > found.flags_offset),
            Err(error) => println!("skipped finding the tracepoint: {error}"),
        }
        assert_eq!(mounts(), before);
    }
}
