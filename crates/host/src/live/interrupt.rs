//! Ctrl-C and SIGTERM as a flag that measuring loops look at between windows.

use std::io;
use std::mem;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::answer::done;

/// The signal that came first; 0 is none.
static PENDING: AtomicI32 = AtomicI32::new(0);

/// A signal that asks the program to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// `kill`.
    Terminate,
}

impl Signal {
    /// The exit code a shell expects: 128 plus the signal's number.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}

extern "C" fn remember(signal: libc::c_int) {
    // Only an atomic store: all else is forbidden in a handler. The first signal counts, and a second one
    // ends the program at once, as a user who presses Ctrl-C twice expects.
    if PENDING.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_err() {
        // SAFETY: _exit is async-signal-safe.
        unsafe { libc::_exit(128 + signal) };
    }
}

/// From now on SIGINT and SIGTERM set a flag that `pending_signal` reads.
///
/// # Errors
/// What the kernel said to sigaction.
pub fn install_handlers() -> io::Result<()> {
    [libc::SIGINT, libc::SIGTERM].into_iter().try_for_each(|signal| install(signal, remember))
}

/// The handler does only what is async-signal-safe.
fn install(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) -> io::Result<()> {
    // SAFETY: an all-zero sigaction is valid: no flags, empty mask.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = handler as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the action is valid, the handler is async-signal-safe, no old action is asked for.
    done(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) })
}

extern "C" fn do_nothing(_signal: libc::c_int) {}

/// From now on a write beyond the limit of file sizes (RLIMIT_FSIZE) fails with `EFBIG` instead of ending this program. It is
/// a handler, as programs that this one starts would inherit that the signal is ignored.
pub fn outlive_file_size_limit() {
    // A kernel that refuses leaves things as they were.
    let _ = install(libc::SIGXFSZ, do_nothing);
}

/// The signal that asked this program to end, if one came.
#[inline]
pub fn pending_signal() -> Option<Signal> {
    match PENDING.load(Ordering::Relaxed) {
        0 => None,
        libc::SIGTERM => Some(Signal::Terminate),
        _ => Some(Signal::Interrupt),
    }
}
