//! Running a user's program once: how long it took, what the kernel charged it, how it ended.
//!
//! Starting costs what `posix_spawn` costs (vfork and exec, no copy of this process): the standard library takes that
//! way as long as nothing has to be done between fork and exec, so settings are made in the calling thread, which the
//! child inherits, and taken back once it runs. The end is waited for on a pidfd, so that a time limit and Ctrl-C need
//! no second thread and no polling.

use std::io;
use std::mem;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::ThreadError;
use super::event::wait_for_any;
use super::handover::Handover;
use super::handover::MemoryFile;
use super::interrupt::pending_signal;
use super::process_setting::{ProcessSetting, SettingError, SettingGuard, tunables_for};
use crate::answer::{done, number, owned};

/// Only the end of a program's complaints is kept, unless its output is searched.
const ERRORS_KEPT_BYTES: usize = 4096;
/// The most output that a metric is looked for in.
const OUTPUT_KEPT_BYTES: usize = 16 << 20;
/// So much more than what is kept may lie in memory before it is freed.
const FORGOTTEN_AT_ONCE_BYTES: usize = 1 << 20;
/// How often the end is looked for where the kernel has no pidfd (before Linux 5.3).
const POLL_WITHOUT_PIDFD: Duration = Duration::from_micros(200);
/// How often a signal for this process is looked for while the child runs.
const LOOK_FOR_SIGNAL: Duration = Duration::from_millis(100);

/// What becomes of what the child prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChildOutput {
    /// Standard output is thrown away; the end of standard error is kept.
    #[default]
    Discard,
    /// Both are kept: programs print their results on either.
    Capture,
    /// Both go to this process's standard error, so that its own standard output stays a document.
    Show,
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was killed, with all it started, at its time limit.
    TimedOut,
    /// It was killed, with all it started, as this process was asked to end.
    Interrupted,
}

/// One run of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildRun {
    /// How it ended.
    pub ending: Ending,
    /// From before it was started until its end was seen, in seconds.
    pub wall_s: f64,
    /// CPU time in user mode, its own and that of what it waited for, in seconds.
    pub user_s: f64,
    /// CPU time in the kernel, in seconds.
    pub system_s: f64,
    /// The most memory that one of its processes held at once, in bytes. Never below what this process holds: the
    /// kernel counts the memory that a process had before exec.
    pub max_resident_bytes: u64,
    /// Page faults, with and without disk access.
    pub page_faults: u64,
    /// Context switches, voluntary and not.
    pub context_switches: u64,
    /// True if something that it started still runs: what that does is in no number here.
    pub left_processes: bool,
    /// What it printed, if that was captured.
    pub output: Vec<u8>,
    /// What it said on standard error, or the end of it, unless that was shown.
    pub errors: Vec<u8>,
}

/// Why a child could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// It could not be started.
    #[error("cannot start {program}: {source}; check its name, PATH and permissions")]
    Start {
        program: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// There is no room for one more process.
    #[error(transparent)]
    NoTask(#[from] ThreadError),
    /// It was started and cannot be followed.
    #[error("cannot wait for {program}: {source}")]
    Wait {
        program: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// A setting was refused.
    #[error(transparent)]
    Setting(#[from] SettingError),
}

/// Looks at a child while it runs, given its number; says how long until it wants to look again.
pub type Observer<'a> = &'a mut dyn FnMut(u32) -> Duration;

/// Runs a program in a process group of its own, with an empty standard input, and waits for its end.
///
/// # Errors
/// A program that cannot be started, or a setting that the kernel refuses.
pub fn run_child(
    command: Command,
    settings: &[ProcessSetting],
    output: ChildOutput,
    limit: Option<Duration>,
) -> Result<ChildRun, ChildError> {
    observe_child(command, settings, output, limit, &mut |_| LOOK_FOR_SIGNAL)
}

/// The same, looking at it while it runs, once as soon as it is started.
///
/// # Errors
/// As for [`run_child`].
pub fn observe_child(
    command: Command,
    settings: &[ProcessSetting],
    output: ChildOutput,
    limit: Option<Duration>,
    observe: Observer<'_>,
) -> Result<ChildRun, ChildError> {
    observe_as(command, settings, output, limit, None, observe)
}

/// Runs this program's own helper, with a task and a place for what it makes of it. Where this process is asked to end, the helper is
/// asked too, and has `patience` to keep what it has.
///
/// # Errors
/// As for [`run_child`].
pub fn run_helper(
    command: Command,
    handover: &Handover,
    limit: Duration,
    patience: Duration,
    observe: Observer<'_>,
) -> Result<ChildRun, ChildError> {
    let helper = Helper { handover, patience };
    observe_as(command, &[], ChildOutput::Discard, Some(limit), Some(helper), observe)
}

/// From now on this process is killed when the thread that started it ends. Async-signal-safe.
pub(super) fn die_with_parent() {
    // SAFETY: this prctl takes numbers only.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
}

/// From now on this process is killed when the one that started it ends; at once if it has.
pub fn end_with(parent: u32) {
    die_with_parent();
    // A parent that ended before the line above sends no signal.
    if std::os::unix::process::parent_id() != parent {
        std::process::exit(libc::EXIT_FAILURE);
    }
}

/// How this program's own helper is run.
#[derive(Clone, Copy)]
struct Helper<'h> {
    handover: &'h Handover,
    patience: Duration,
}

fn observe_as(
    mut command: Command,
    settings: &[ProcessSetting],
    output: ChildOutput,
    limit: Option<Duration>,
    helper: Option<Helper<'_>>,
    observe: Observer<'_>,
) -> Result<ChildRun, ChildError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let start = |source: io::Error| match source.kind() {
        // EAGAIN of fork: no other step before the program runs gives it.
        io::ErrorKind::WouldBlock => ChildError::NoTask(ThreadError::new(&program, source)),
        _ => ChildError::Start { program: program.clone(), source },
    };
    let wait = |source| ChildError::Wait { program: program.clone(), source };
    command.stdin(Stdio::null()).process_group(0);
    let kept = Kept::new(&mut command, output).map_err(start)?;
    if let Some(helper) = helper {
        helper.handover.become_those_of(&mut command).map_err(start)?;
    }
    tunables_for(&mut command, settings);
    let (held, inherited): (Vec<ProcessSetting>, Vec<ProcessSetting>) = settings
        .iter()
        .filter(|setting| setting.fits_a_thread())
        .cloned()
        .partition(|setting| matches!(setting, ProcessSetting::WakeLatencyUs(_)));
    // A latency holds as long as somebody keeps its file open, so this process does until the child is done.
    let _held = SettingGuard::make(&held)?;
    let guard = SettingGuard::make(&inherited)?;
    let begun = Instant::now();
    let child = command.spawn().map_err(start)?;
    drop(guard);
    let pid = libc::pid_t::try_from(child.id()).expect("a process number fits");
    let mut look = |pid: u32| {
        kept.forget_all_but_the_end();
        observe(pid)
    };
    let forced = match wait_for_end(pid, begun, limit, &mut look) {
        Ok(forced) => forced,
        Err(error) => {
            kill_group(pid);
            // Reaped so that no dead process is left; what it used is of no interest any more.
            let _ = reap(pid);
            return Err(wait(error));
        }
    };
    if let (Some(Ending::Interrupted), Some(helper)) = (&forced, helper) {
        ask_to_end(pid, helper.patience);
    }
    if forced.is_some() {
        kill_group(pid);
    }
    let (status, usage) = reap(pid).map_err(wait)?;
    let wall_s = begun.elapsed().as_secs_f64();
    let ending = forced.unwrap_or_else(|| ending_of(status));
    Ok(ChildRun {
        ending,
        wall_s,
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
        // The kernel counts in KiB, getrusage(2).
        max_resident_bytes: usage.ru_maxrss.unsigned_abs() << 10,
        page_faults: usage.ru_minflt.unsigned_abs() + usage.ru_majflt.unsigned_abs(),
        context_switches: usage.ru_nvcsw.unsigned_abs() + usage.ru_nivcsw.unsigned_abs(),
        left_processes: is_group_alive(pid),
        output: kept.output.and_then(|file| file.end(OUTPUT_KEPT_BYTES).ok()).unwrap_or_default(),
        errors: kept.errors.and_then(|file| file.end(kept.errors_bytes_max).ok()).unwrap_or_default(),
    })
}

/// Where output is kept: memory without a name, so that no reader has to run beside the child.
struct Kept {
    output: Option<MemoryFile>,
    errors: Option<MemoryFile>,
    errors_bytes_max: usize,
}

impl Kept {
    fn new(command: &mut Command, output: ChildOutput) -> io::Result<Self> {
        if output == ChildOutput::Show {
            command.stdout(io::stderr().as_fd().try_clone_to_owned()?).stderr(Stdio::inherit());
            return Ok(Self { output: None, errors: None, errors_bytes_max: 0 });
        }
        let errors = MemoryFile::new()?;
        command.stderr(errors.shared()?);
        let kept = (output == ChildOutput::Capture).then(MemoryFile::new).transpose()?;
        match &kept {
            Some(file) => command.stdout(file.shared()?),
            None => command.stdout(Stdio::null()),
        };
        let errors_bytes_max = if kept.is_some() { OUTPUT_KEPT_BYTES } else { ERRORS_KEPT_BYTES };
        Ok(Self { output: kept, errors: Some(errors), errors_bytes_max })
    }

    /// Frees what will not be read: a program may print without end.
    fn forget_all_but_the_end(&self) {
        for (file, bytes_max) in [(&self.output, OUTPUT_KEPT_BYTES), (&self.errors, self.errors_bytes_max)] {
            if let Some(file) = file {
                file.forget_all_but(bytes_max + FORGOTTEN_AT_ONCE_BYTES);
            }
        }
    }
}

/// Waits until the child is dead but not yet reaped; `Some` if it has to be killed first.
fn wait_for_end(
    pid: libc::pid_t,
    begun: Instant,
    limit: Option<Duration>,
    observe: Observer<'_>,
) -> io::Result<Option<Ending>> {
    // SAFETY: pidfd_open(2) takes numbers only.
    let pidfd = owned(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as libc::c_int).ok();
    loop {
        let left = limit.map(|limit| limit.saturating_sub(begun.elapsed()));
        // Not reaped yet, so the number is still the child's.
        let patience = observe(pid.unsigned_abs()).min(LOOK_FOR_SIGNAL);
        let patience = left.map_or(patience, |left| left.min(patience));
        let is_over = match &pidfd {
            Some(pidfd) => wait_for_any(&[pidfd.as_fd()], Some(patience))?,
            None => is_dead_after(pid, patience.min(POLL_WITHOUT_PIDFD))?,
        };
        if is_over {
            return Ok(None);
        }
        if pending_signal().is_some() {
            return Ok(Some(Ending::Interrupted));
        }
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(Some(Ending::TimedOut));
        }
    }
}

/// True once the process is dead, for kernels without pidfd: looks, and pauses if it still runs.
fn is_dead_after(pid: libc::pid_t, pause: Duration) -> io::Result<bool> {
    // SAFETY: an all-zero siginfo is valid.
    let mut info: libc::siginfo_t = unsafe { mem::zeroed() };
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `info` is valid to fill; WNOWAIT leaves the child for `reap`.
    done(unsafe { libc::waitid(libc::P_PID, pid.unsigned_abs(), &raw mut info, flags) })?;
    // SAFETY: waitid filled the fields of a child, or left zero.
    let seen = unsafe { info.si_pid() };
    if seen == 0 {
        std::thread::sleep(pause);
    }
    Ok(seen != 0)
}

/// Asks the child to end and waits until it is dead, for so long at most.
fn ask_to_end(pid: libc::pid_t, patience: Duration) {
    // SAFETY: a signal touches no memory of ours. The child is not reaped yet, so the number is still its own.
    unsafe { libc::kill(pid, libc::SIGTERM) };
    let asked = Instant::now();
    // One that cannot be waited for is killed next.
    while asked.elapsed() < patience && !is_dead_after(pid, POLL_WITHOUT_PIDFD * 50).unwrap_or(true) {}
}

/// Kills the child and what it started and left in its group.
fn kill_group(pid: libc::pid_t) {
    // SAFETY: a signal touches no memory of ours. The child is not reaped yet, so the number is still its own.
    unsafe { libc::kill(-pid, libc::SIGKILL) };
}

/// Whether a process is left in the group of a child that is gone.
fn is_group_alive(pid: libc::pid_t) -> bool {
    // SAFETY: the signal 0 is sent to nobody. A group keeps its number from being given away as long as it has a member.
    unsafe { libc::kill(-pid, 0) == 0 }
}

/// Takes the dead child's status and what it used.
pub(super) fn reap(pid: libc::pid_t) -> io::Result<(libc::c_int, libc::rusage)> {
    let mut status = 0;
    // SAFETY: rusage is plain numbers, zero is valid.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    loop {
        // SAFETY: both are valid to fill.
        match number(unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            waited => return waited.map(|_| (status, usage)),
        }
    }
}

fn ending_of(status: libc::c_int) -> Ending {
    if libc::WIFEXITED(status) {
        Ending::Code(libc::WEXITSTATUS(status))
    } else {
        Ending::Signal(libc::WTERMSIG(status))
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 * 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn run(script: &str, output: ChildOutput, limit: Option<Duration>) -> ChildRun {
        run_child(shell(script), &[], output, limit).expect("sh is there")
    }

    #[test]
    fn ending_and_output_are_those_of_the_program() {
        let run = run("echo out; echo err >&2; exit 3", ChildOutput::Capture, None);
        assert_eq!(run.ending, Ending::Code(3));
        assert_eq!((run.output.as_slice(), run.errors.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert!(run.max_resident_bytes > 0 && run.page_faults > 0 && run.wall_s > 0.0, "{run:?}");
    }

    #[test]
    fn of_what_a_program_prints_the_end_is_kept_and_the_rest_freed() {
        let file = MemoryFile::new().expect("a memory file");
        let mut writer = std::fs::File::from(file.shared().expect("a second descriptor"));
        let line = vec![b'y'; 1 << 16];
        for _ in 0..64 {
            std::io::Write::write_all(&mut writer, &line).expect("memory is left");
        }
        std::io::Write::write_all(&mut writer, b"metric 5").expect("memory is left");
        file.forget_all_but(1 << 16);
        assert_eq!(file.bytes(), (64 << 16) + 8);
        assert_eq!(file.end(8).expect("readable"), b"metric 5");
        let blocks = std::os::unix::fs::MetadataExt::blocks(&writer.metadata().expect("it is open"));
        assert!(blocks * 512 <= 3 << 16, "{blocks} blocks are taken");
    }

    #[test]
    fn a_program_ended_by_a_signal_says_which() {
        assert_eq!(run("kill -9 $$", ChildOutput::Discard, None).ending, Ending::Signal(libc::SIGKILL));
    }

    #[test]
    fn at_its_limit_a_program_is_killed_with_all_it_started() {
        let run = run("sleep 600 & sleep 600", ChildOutput::Discard, Some(Duration::from_millis(50)));
        assert_eq!(run.ending, Ending::TimedOut);
    }

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let command = Command::new("/no/such/program");
        let error = run_child(command, &[], ChildOutput::Discard, None).expect_err("it does not exist");
        assert!(error.to_string().contains("/no/such/program"), "{error}");
    }

    #[test]
    fn a_program_inherits_its_settings_and_this_thread_does_not_keep_them() {
        let before = super::super::timer_slack_ns().expect("Linux has it");
        let settings =
            [ProcessSetting::TimerSlackNs(77_000), ProcessSetting::GlibcTunable("glibc.malloc.hugetlb", "1")];
        let command = shell("cat /proc/self/timerslack_ns; echo $GLIBC_TUNABLES");
        let run = run_child(command, &settings, ChildOutput::Capture, None).expect("sh is there");
        let text = String::from_utf8_lossy(&run.output).into_owned();
        assert!(text.contains("77000") && text.contains("glibc.malloc.hugetlb=1"), "{text}");
        assert_eq!(super::super::timer_slack_ns().expect("Linux has it"), before);
    }
}
