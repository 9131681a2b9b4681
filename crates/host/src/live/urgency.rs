//! A thread that others wait for is to be run at once.

use std::io;

use crate::answer::done;

/// Lets the calling thread run before all threads of the usual kind: real time at the least urgent priority (`SCHED_FIFO`, sched(7)). It must
/// sleep nearly always. What it starts is of the usual kind again.
///
/// # Errors
/// That is for root (CAP_SYS_NICE), or for whom RLIMIT_RTPRIO allows it.
pub fn run_at_once() -> io::Result<()> {
    // SAFETY: numbers only, with zero for those that are not named.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: takes a number.
    parameters.sched_priority = unsafe { libc::sched_get_priority_min(libc::SCHED_FIFO) };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: of the calling thread; the parameters are valid.
    done(unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) })
}
