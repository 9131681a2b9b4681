//! A process that outlives its parent by as long as it takes to put the machine back.
//!
//! It is this program started anew, not a bare fork: after a fork of a process with threads only async-signal-safe
//! calls are allowed, and reading a journal, comparing and writing is far more than that. Starting anew costs a few
//! milliseconds once, before the first write. The parent holds one end of a pipe that is closed on exec, so no
//! program it starts can keep it open: when the pipe ends without a word, the parent is dead, whatever killed it.

use std::ffi::OsString;
use std::io::{self, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::live::event::wait_for_any;
use crate::live::process_tree::is_stopped;

/// This program, even if its file was replaced meanwhile.
const OWN_PROGRAM: &str = "/proc/self/exe";
/// What the watchdog says when it watches.
const READY: u8 = b'R';
/// What the parent says when all is put back.
const DISMISSED: u8 = b'D';
/// How long a parent that is past its deadline has to put things back, and a dismissed watchdog to end, before it is killed.
const GRACE: Duration = Duration::from_secs(2);
/// How often a dismissed watchdog is looked after.
const POLL: Duration = Duration::from_millis(1);

/// A running watchdog, seen from its parent.
#[derive(Debug)]
pub struct Watchdog {
    child: Child,
    lifeline: Option<PipeWriter>,
}

impl Watchdog {
    /// Starts this program with the arguments, which must lead to [`watch`], and waits until it watches.
    ///
    /// # Errors
    /// What the operating system said, or `UnexpectedEof` if it ended at once.
    pub fn start(arguments: &[OsString]) -> io::Result<Self> {
        let (reader, lifeline) = io::pipe()?;
        let mut command = Command::new(OWN_PROGRAM);
        command.args(arguments).current_dir("/");
        command.stdin(reader).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let mut word = [0];
        let said = child.stdout.take().map_or(Ok(()), |mut stdout| stdout.read_exact(&mut word));
        if let Err(error) = said.and(if word == [READY] { Ok(()) } else { Err(eof()) }) {
            drop(lifeline);
            // It ended, or ends now that its pipe is closed; an error leaves nothing to wait for.
            let _ = child.wait();
            return Err(error);
        }
        Ok(Self { child, lifeline: Some(lifeline) })
    }

    /// Tells it that all is put back, and waits for it to end.
    pub fn dismiss(mut self) {
        if let Some(mut lifeline) = self.lifeline.take() {
            // A watchdog that was killed cannot be dismissed, and need not be.
            let _ = lifeline.write_all(&[DISMISSED]);
        }
        // All is put back: one that was stopped by a signal reads no word, and has nothing left to do.
        let dismissed = Instant::now();
        while let Ok(None) = self.child.try_wait() {
            if dismissed.elapsed() >= GRACE {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(POLL);
        }
    }
}

fn eof() -> io::Error {
    io::Error::from(io::ErrorKind::UnexpectedEof)
}

/// How a watch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// The parent put everything back itself.
    Dismissed,
    /// The parent is gone without a word.
    Orphaned,
}

/// The watchdog's side: leaves the session, ignores what ends other programs, and waits for the end of its parent.
///
/// After `deadline` the parent is asked to end, and killed if it does not; at once if it is stopped, as then it reads nothing.
///
/// # Errors
/// What the operating system said.
pub fn watch(deadline: Duration) -> io::Result<Watch> {
    detach();
    // SAFETY: no arguments, cannot fail.
    let parent = unsafe { libc::getppid() };
    let mut stdout = io::stdout();
    stdout.write_all(&[READY])?;
    stdout.flush()?;
    let mut stages = [(deadline, libc::SIGTERM), (deadline + GRACE, libc::SIGKILL)].into_iter();
    let mut stage = stages.next();
    let started = Instant::now();
    loop {
        let left = stage.map(|(at, _)| at.saturating_sub(started.elapsed()));
        if wait_for_any(&[io::stdin().as_fd()], left)? {
            return Ok(if read_word()? == Some(DISMISSED) { Watch::Dismissed } else { Watch::Orphaned });
        }
        if let Some((at, signal)) = stage
            && started.elapsed() >= at
        {
            end_parent(parent, if is_stopped(parent.unsigned_abs()) { libc::SIGKILL } else { signal });
            stage = stages.next();
        }
    }
}

/// What the parent said; `None` at the end of the pipe.
fn read_word() -> io::Result<Option<u8>> {
    let mut word = [0];
    Ok((io::stdin().read(&mut word)? == 1).then_some(word[0]))
}

fn detach() {
    // SAFETY: no arguments; it fails only for the leader of a group, which a child is not.
    unsafe { libc::setsid() };
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE] {
        // SAFETY: ignoring a signal installs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Ends the parent if it is still ours: a number that another process got meanwhile is not our parent's.
fn end_parent(parent: libc::pid_t, signal: libc::c_int) {
    // SAFETY: no arguments, cannot fail.
    if unsafe { libc::getppid() } == parent {
        // SAFETY: a signal to a process touches no memory of ours.
        unsafe { libc::kill(parent, signal) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::process_start_ticks;

    #[test]
    fn a_watchdog_that_is_stopped_is_not_waited_for_without_end() {
        let mut child = Command::new("/bin/sh");
        let child = child.args(["-c", "kill -STOP $$"]).spawn().expect("a shell");
        let process = child.id();
        let (_reader, lifeline) = io::pipe().expect("a pipe");
        Watchdog { child, lifeline: Some(lifeline) }.dismiss();
        assert_eq!(process_start_ticks(process), None, "it is gone");
    }

    #[test]
    fn a_process_is_distinguished_from_its_successor_by_its_start() {
        let own = process_start_ticks(std::process::id()).expect("this process runs");
        assert!(own > 0);
        assert_eq!(process_start_ticks(u32::MAX), None);
    }
}
