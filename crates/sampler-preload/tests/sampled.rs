//! Programs under the library: this test program itself, started again with `LD_PRELOAD`.

use std::env;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering};

use sample_ring::{Entry, Event, SampleRing, StopReason};

/// Names the role in which the program was started again.
const ROLE: &str = "SIDESTEP_SAMPLED_ROLE";
/// CPU time between two samples; the kernel looks at most once per tick.
const PERIOD_NS: u64 = 1_000_000;
/// CPU time in which a thread meets several ticks, at 100 per second too.
const BURN_NS: u64 = 120_000_000;

fn library() -> PathBuf {
    let name = "libsidestep_sampler_preload.so";
    let program = env::current_exe().expect("a program knows itself");
    let folders = program.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join(name)).find(|path| path.exists());
    found.expect("cargo builds the library before its tests")
}

/// A ring in a file.
struct Shared {
    _folder: tempfile::TempDir,
    path: PathBuf,
    ring: &'static SampleRing,
}

impl Shared {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("ring");
        let bytes = size_of::<SampleRing>();
        let file = File::options().read(true).write(true).create_new(true).open(&path).expect("a new file");
        file.set_len(bytes as u64).expect("room");
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a place that the kernel chooses.
        let memory =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        assert!(memory != libc::MAP_FAILED, "there is memory");
        // SAFETY: mapped until this program ends, and nothing but atomic words.
        let ring = unsafe { &*memory.cast::<SampleRing>() };
        ring.open(PERIOD_NS);
        Self { _folder: folder, path, ring }
    }

    fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        self.ring.take(|words| entries.extend(Entry::from_words(words)));
        entries.sort_by_key(|entry| entry.time_ns);
        entries
    }
}

/// What the program did in its role: how it ended, and what it told.
fn run(name: &str) -> Option<(ExitStatus, Vec<Entry>)> {
    if env::var(ROLE).is_ok_and(|role| role == name) {
        return None;
    }
    let shared = Shared::new();
    let mut command = Command::new(env::current_exe().expect("a program knows itself"));
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(ROLE, name);
    command.env("LD_PRELOAD", library()).env("SIDESTEP_SAMPLE_RING", &shared.path);
    let output = command.output().expect("the program starts again");
    print!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Some((output.status, shared.entries()))
}

fn samples(entries: &[Entry]) -> impl Iterator<Item = (&Entry, &sample_ring::Sample)> {
    entries.iter().filter_map(|entry| match &entry.event {
        Event::Sample(sample) => Some((entry, sample)),
        _ => None,
    })
}

fn stops(entries: &[Entry]) -> Vec<StopReason> {
    let reason = |entry: &Entry| match entry.event {
        Event::Stopped(reason) => Some(reason),
        _ => None,
    };
    entries.iter().filter_map(reason).collect()
}

fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the call to fill.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Uses CPU time, nearly all of it outside of the kernel.
fn burn() {
    let begun = cpu_ns();
    let mut sum = 1_u64;
    while cpu_ns() - begun < BURN_NS {
        for round in 0..100_000_u64 {
            sum = std::hint::black_box(sum.wrapping_mul(round | 1));
        }
    }
}

fn no_action() -> libc::sigaction {
    // SAFETY: plain numbers.
    unsafe { std::mem::zeroed() }
}

#[test]
fn every_thread_is_sampled_with_registers_and_code_and_its_end_is_told() {
    let name = "every_thread_is_sampled_with_registers_and_code_and_its_end_is_told";
    let Some((status, entries)) = run(name) else {
        burn();
        for turn in 0..3 {
            let named = std::thread::Builder::new().name(format!("turn-{turn}"));
            named.spawn(burn).expect("a thread").join().expect("it ends");
        }
        return;
    };
    assert!(status.success());
    assert!(matches!(entries[0].event, Event::Loaded(_)), "{:?}", entries[0]);
    let ended: Vec<&Entry> = entries
        .iter()
        .filter(|entry| matches!(entry.event, Event::Ended(name) if name.starts_with(b"turn-")))
        .collect();
    assert_eq!(ended.len(), 3);
    for thread in ended {
        assert!(samples(&entries).any(|(entry, _)| entry.tid == thread.tid), "{thread:?}");
    }
    for (_, sample) in samples(&entries) {
        let (before, after) = sample.code_parts();
        let page_left = 4096 - sample.ip as usize % 4096;
        assert!(after.len() == page_left.min(64) && before.len() == (4096 - page_left).min(64));
        assert!(sample.registers[4] != 0, "a stack pointer");
    }
}

#[test]
fn children_of_forks_and_what_they_execute_are_sampled() {
    let name = "children_of_forks_and_what_they_execute_are_sampled";
    let Some((status, entries)) = run(name) else {
        // SAFETY: the child uses time and leaves.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            burn();
            let script = c"i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done";
            // SAFETY: C strings, and a null at the end.
            unsafe {
                libc::execlp(
                    c"sh".as_ptr(),
                    c"sh".as_ptr(),
                    c"-c".as_ptr(),
                    script.as_ptr(),
                    std::ptr::null::<libc::c_char>(),
                )
            };
            // SAFETY: only if that failed.
            unsafe { libc::_exit(1) };
        }
        let mut status = 0;
        // SAFETY: the status is ours.
        let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
        assert!(waited == pid && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
        return;
    };
    assert!(status.success());
    let forked = entries.iter().find(|entry| matches!(entry.event, Event::Forked(_))).expect("told");
    assert_eq!(forked.event, Event::Forked(entries[0].pid));
    let of_child: Vec<Entry> = entries.iter().filter(|entry| entry.pid == forked.pid).copied().collect();
    let begun = of_child.iter().position(|entry| matches!(entry.event, Event::Loaded(_))).expect("the shell");
    assert!(samples(&of_child[..begun]).next().is_some() && samples(&of_child[begun..]).next().is_some());
}

static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(_: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn a_program_that_handles_the_signal_has_it_alone_from_then_on() {
    let name = "a_program_that_handles_the_signal_has_it_alone_from_then_on";
    let Some((status, entries)) = run(name) else {
        burn();
        let mut before = no_action();
        let mut action = no_action();
        action.sa_sigaction = count as *const () as usize;
        // SAFETY: both are valid.
        unsafe { libc::sigaction(libc::SIGPROF, &raw const action, &raw mut before) };
        assert_eq!(before.sa_sigaction, libc::SIG_DFL, "ours is not shown");
        burn();
        assert_eq!(HANDLED.load(Ordering::Relaxed), 0, "ticks of ours are not the program's");
        // SAFETY: takes a number.
        unsafe { libc::raise(libc::SIGPROF) };
        assert_eq!(HANDLED.load(Ordering::Relaxed), 1);
        // SAFETY: only asks.
        unsafe { libc::sigaction(libc::SIGPROF, std::ptr::null(), &raw mut before) };
        assert_eq!(before.sa_sigaction, count as *const () as usize);
        std::thread::spawn(burn).join().expect("it ends");
        return;
    };
    assert!(status.success());
    assert_eq!(stops(&entries), [StopReason::OwnHandler]);
    let stopped = entries.iter().position(|entry| matches!(entry.event, Event::Stopped(_))).expect("told");
    assert!(samples(&entries[..stopped]).next().is_some());
    assert!(samples(&entries[stopped..]).next().is_none());
}

#[test]
fn a_program_that_profiles_itself_gets_its_own_ticks() {
    let name = "a_program_that_profiles_itself_gets_its_own_ticks";
    let Some((status, entries)) = run(name) else {
        // SAFETY: the handler only counts.
        let before = unsafe { libc::signal(libc::SIGPROF, count as *const () as usize) };
        assert_eq!(before, libc::SIG_DFL);
        let tick = libc::timeval { tv_sec: 0, tv_usec: 10_000 };
        let timer = libc::itimerval { it_interval: tick, it_value: tick };
        // SAFETY: the setting is valid; the old one is not asked for.
        unsafe { libc::setitimer(libc::ITIMER_PROF, &raw const timer, std::ptr::null_mut()) };
        burn();
        assert!(HANDLED.load(Ordering::Relaxed) > 0);
        return;
    };
    assert!(status.success());
    assert_eq!(stops(&entries), [StopReason::OwnHandler]);
}

#[test]
fn without_a_handler_the_signal_ends_the_program_as_ever() {
    let name = "without_a_handler_the_signal_ends_the_program_as_ever";
    let Some((status, entries)) = run(name) else {
        burn();
        // SAFETY: takes a number.
        unsafe { libc::raise(libc::SIGPROF) };
        return;
    };
    assert_eq!(status.signal(), Some(libc::SIGPROF));
    assert!(samples(&entries).next().is_some());
}

#[test]
fn who_waits_for_all_signals_does_not_get_ours() {
    let name = "who_waits_for_all_signals_does_not_get_ours";
    let Some((status, _)) = run(name) else {
        // SAFETY: plain numbers.
        let mut all = unsafe { std::mem::zeroed::<libc::sigset_t>() };
        // SAFETY: the set is ours.
        unsafe { libc::sigfillset(&raw mut all) };
        // SAFETY: the set is valid; the old one is not asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut()) };
        // Ours is pending by now.
        burn();
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: both are valid.
        let got = unsafe { libc::sigtimedwait(&raw const all, std::ptr::null_mut(), &raw const at_once) };
        assert_eq!(got, -1, "signal {got}");
        return;
    };
    assert!(status.success());
}

#[test]
fn threads_that_begin_with_all_signals_blocked_are_sampled_too() {
    let name = "threads_that_begin_with_all_signals_blocked_are_sampled_too";
    let Some((status, entries)) = run(name) else {
        // SAFETY: plain numbers.
        let mut all = unsafe { std::mem::zeroed::<libc::sigset_t>() };
        // SAFETY: the set is ours.
        unsafe { libc::sigfillset(&raw mut all) };
        // SAFETY: the set is valid; the old one is not asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut()) };
        std::thread::Builder::new()
            .name("blocked".to_owned())
            .spawn(burn)
            .expect("a thread")
            .join()
            .expect("it ends");
        return;
    };
    assert!(status.success());
    let is_blocked =
        |entry: &&Entry| matches!(entry.event, Event::Ended(name) if name.starts_with(b"blocked"));
    let thread = entries.iter().find(is_blocked).expect("its end is told");
    assert!(samples(&entries).any(|(entry, _)| entry.tid == thread.tid));
}

#[test]
fn a_closed_ring_and_one_that_is_too_short_are_left_alone() {
    let name = "a_closed_ring_and_one_that_is_too_short_are_left_alone";
    if env::var(ROLE).is_ok_and(|role| role == name) {
        burn();
        return;
    }
    let shared = Shared::new();
    let start = || {
        let mut command = Command::new(env::current_exe().expect("a program knows itself"));
        command.args(["--exact", name]).env(ROLE, name).env("LD_PRELOAD", library());
        command.env("SIDESTEP_SAMPLE_RING", &shared.path);
        command.output().expect("the program starts again").status
    };
    shared.ring.close();
    assert!(start().success());
    assert!(shared.entries().is_empty());
    File::options().write(true).open(&shared.path).and_then(|file| file.set_len(100)).expect("shorter");
    assert!(start().success());
}
