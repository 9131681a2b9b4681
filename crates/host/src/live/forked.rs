//! A few numbers from a child that may be killed for what it does: a fork with a time limit.
//!
//! After a fork of a process with threads only async-signal-safe calls are allowed: the work given gets an array to fill
//! and nothing else, and must neither allocate nor lock. A child that does so all the same, and hangs, ends at its
//! time limit.

use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use super::child::{die_with_parent, reap};
use super::event::wait_for_any;

/// How a forked child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forked<const N: usize> {
    /// It has filled the array.
    Numbers([u64; N]),
    /// It was killed by this signal.
    Signal(i32),
    /// It was killed at its time limit.
    TimedOut,
    /// It ended without an answer.
    Silent,
}

/// Numbers that one write to a pipe holds whole: `PIPE_BUF` is 4096 bytes; pipe(7).
const NUMBERS_MAX: usize = 4096 / size_of::<u64>();

/// Runs `work` in a child and returns what it has filled in, or how it ended. `work` neither allocates, locks nor panics.
///
/// # Errors
/// What the kernel said: too many open files or processes, or too little memory.
pub fn in_forked_child<const N: usize>(work: fn(&mut [u64; N]), limit: Duration) -> io::Result<Forked<N>> {
    const { assert!(N <= NUMBERS_MAX, "more than one write to a pipe holds") };
    let (reader, writer) = io::pipe()?;
    // SAFETY: the child makes only async-signal-safe calls, by the contract of `work`, and leaves by _exit.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => answer(work, &writer),
        child => {
            drop(writer);
            let numbers = await_numbers(reader, Instant::now() + limit);
            Ok(bury(child, numbers))
        }
    }
}

/// The child's side.
fn answer<const N: usize>(work: fn(&mut [u64; N]), writer: &PipeWriter) -> ! {
    die_with_parent();
    // SAFETY: this prctl takes numbers only. Its end by a signal is a result and leaves no core file.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0 as libc::c_ulong) };
    // SAFETY: numbers only. The handlers of the parent's language runtime look for overflown stacks.
    unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
    let mut numbers = [0; N];
    work(&mut numbers);
    // SAFETY: writes from an array of ours, as many bytes as it has.
    unsafe { libc::write(writer.as_raw_fd(), numbers.as_ptr().cast(), size_of_val(&numbers)) };
    // SAFETY: ends this process and runs nothing of the parent's.
    unsafe { libc::_exit(0) }
}

/// What came before the deadline: all numbers, nothing in time, or the end of the pipe without them.
fn await_numbers<const N: usize>(mut reader: PipeReader, deadline: Instant) -> Forked<N> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if wait_for_any(&[reader.as_fd()], Some(left)).unwrap_or(false) {
            break;
        }
        if left.is_zero() {
            return Forked::TimedOut;
        }
    }
    let mut numbers = [0; N];
    for number in &mut numbers {
        let mut word = [0; size_of::<u64>()];
        if reader.read_exact(&mut word).is_err() {
            return Forked::Silent;
        }
        *number = u64::from_ne_bytes(word);
    }
    Forked::Numbers(numbers)
}

/// Ends the child, if it has not ended, and waits for it; its signal is reported if it said nothing else.
fn bury<const N: usize>(child: libc::pid_t, said: Forked<N>) -> Forked<N> {
    if said == Forked::TimedOut {
        // SAFETY: a signal to our own child, which nobody else waits for, so that its number is still its own.
        unsafe { libc::kill(child, libc::SIGKILL) };
    }
    let status = reap(child).map_or(0, |(status, _)| status);
    if said == Forked::Silent && libc::WIFSIGNALED(status) {
        return Forked::Signal(libc::WTERMSIG(status));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn numbers_come_back() {
        let count = |numbers: &mut [u64; 3]| *numbers = [7, 8, 9];
        assert_eq!(in_forked_child(count, LONG).expect("a child"), Forked::Numbers([7, 8, 9]));
    }

    #[test]
    fn a_signal_is_a_result() {
        // SAFETY: a signal to the child itself.
        let fail = |_: &mut [u64; 1]| _ = unsafe { libc::raise(libc::SIGBUS) };
        assert_eq!(in_forked_child(fail, LONG).expect("a child"), Forked::Signal(libc::SIGBUS));
    }

    #[test]
    fn a_child_that_hangs_ends_at_its_limit() {
        let hang = |_: &mut [u64; 1]| loop {
            std::hint::spin_loop();
        };
        let limit = Duration::from_millis(20);
        assert_eq!(in_forked_child(hang, limit).expect("a child"), Forked::TimedOut);
    }
}
