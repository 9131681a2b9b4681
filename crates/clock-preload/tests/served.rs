//! Programs under the preload library: this test program itself, started again with `LD_PRELOAD`.
//!
//! The counts are those of a quick test; `SIDESTEP_SERVED_ROUNDS` sets others, for the claim `clock-served` of `cargo evidence`.

use std::env;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use clock::BOUND_NS;

/// Names the role in which the program was started again.
const ROLE: &str = "SIDESTEP_SERVED_ROLE";

/// A kernel's clock by system call, which no library serves.
fn kernel_ns(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the call to fill.
    let status = unsafe { libc::syscall(libc::SYS_clock_gettime, id, &raw mut time) };
    assert!(status == 0, "this process is not confined");
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// A clock by the C library's function, which the preload library serves.
fn served_ns(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the call to fill.
    let status = unsafe { libc::clock_gettime(id, &raw mut time) };
    assert!(status == 0, "the clock exists");
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

fn rounds(quick: u64) -> u64 {
    env::var("SIDESTEP_SERVED_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(quick)
}

fn is_role(name: &str) -> bool {
    env::var(ROLE).is_ok_and(|role| role == name)
}

fn library() -> PathBuf {
    let name = "libsidestep_clock_preload.so";
    let program = env::current_exe().expect("a program knows itself");
    let folders = program.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join(name)).find(|path| path.exists());
    found.expect("cargo builds the library before its tests")
}

/// This program again, with the library, running the test of that name in its role.
fn preloaded(name: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("a program knows itself"));
    command.args(["--exact", name, "--nocapture"]).env(ROLE, name).env("SIDESTEP_CLOCK_REPORT", "1");
    command.env("LD_PRELOAD", library());
    command
}

/// Calls served, from the report.
fn served_count(output: &Output) -> u64 {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find_map(|line| line.strip_prefix("sidestep-clock: "));
    assert!(line.is_some_and(|line| line.contains(" in served-") && line.contains(" (")), "{text}");
    let count = line.and_then(|line| line.split(' ').next()?.parse().ok());
    count.unwrap_or_else(|| panic!("no report in {text}"))
}

/// Starts the program again in this role, and looks at how it ended; true if the caller is that program.
fn in_its_role(name: &str, calls: u64) -> bool {
    if is_role(name) {
        return true;
    }
    let output = preloaded(name).output().expect("the program starts again");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let served = served_count(&output);
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    if source.is_ok_and(|source| source.trim() == "tsc") {
        assert!(served > calls / 2, "{served} of {calls} calls served");
    } else {
        println!("skipped: the kernel does not trust the counter here, so {served} calls were served");
    }
    false
}

#[test]
fn served_clocks_are_the_kernels_within_the_bound() {
    if !in_its_role("served_clocks_are_the_kernels_within_the_bound", 40_000) {
        return;
    }
    let mut last = [0; 2];
    for _ in 0..rounds(20_000) {
        for (id, last) in [libc::CLOCK_MONOTONIC, libc::CLOCK_REALTIME].into_iter().zip(&mut last) {
            let (before, now, after) = (kernel_ns(id), served_ns(id), kernel_ns(id));
            assert!(before <= now + BOUND_NS && now <= after + BOUND_NS, "{id}: {before} {now} {after}");
            assert!(now >= *last, "{id}: {now} after {last}");
            *last = now;
        }
    }
}

#[test]
fn the_older_functions_give_the_same_time() {
    if !in_its_role("the_older_functions_give_the_same_time", 10_000) {
        return;
    }
    for _ in 0..5_000 {
        let before = kernel_ns(libc::CLOCK_REALTIME);
        let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: `time` is a valid timeval for the call to fill; no time zone is asked for.
        let status = unsafe { libc::gettimeofday(&raw mut time, std::ptr::null_mut()) };
        let mut seconds = 0;
        // SAFETY: the place is ours.
        let returned = unsafe { libc::time(&raw mut seconds) };
        let after = kernel_ns(libc::CLOCK_REALTIME);
        let ns = time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000;
        assert!(
            status == 0 && before <= ns + BOUND_NS + 1_000 && ns <= after + BOUND_NS,
            "{before} {ns} {after}"
        );
        let second = |ns: u64| (ns / 1_000_000_000).cast_signed();
        assert!(
            returned == seconds
                && second(before - BOUND_NS) <= seconds
                && seconds <= second(after + BOUND_NS)
        );
    }
}

#[test]
fn after_an_absolute_sleep_the_deadline_is_past() {
    let name = "after_an_absolute_sleep_the_deadline_is_past";
    if !in_its_role(name, 0) {
        return;
    }
    for round in 0..rounds(500) {
        // 0 to 200 us ahead; every tenth beyond a segment, every hundredth beyond what is continued.
        let ahead_ns = match round % 100 {
            99 => 25_000_000,
            place if place % 10 == 9 => 12_000_000,
            place => place * 2_000,
        };
        let deadline = served_ns(libc::CLOCK_MONOTONIC) + ahead_ns;
        let until = libc::timespec {
            tv_sec: (deadline / 1_000_000_000).cast_signed(),
            tv_nsec: (deadline % 1_000_000_000).cast_signed(),
        };
        let nothing = std::ptr::null_mut();
        // SAFETY: the deadline is a valid timespec.
        unsafe {
            libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const until, nothing)
        };
        let now = served_ns(libc::CLOCK_MONOTONIC);
        assert!(now + BOUND_NS >= deadline, "woken {} ns early", deadline - now);
    }
}

#[test]
fn two_processes_of_which_one_is_served_agree_on_the_order_of_messages() {
    let name = "two_processes_of_which_one_is_served_agree_on_the_order_of_messages";
    let exchange = rounds(2_000);
    if is_role(name) {
        let mut asked = [0_u8; 1];
        while std::io::stdin().read_exact(&mut asked).is_ok() {
            let ids = [libc::CLOCK_MONOTONIC, libc::CLOCK_REALTIME];
            let stamp = served_ns(ids[usize::from(asked[0])]);
            let mut answer = std::io::stderr();
            answer.write_all(&stamp.to_le_bytes()).expect("the parent listens");
        }
        return;
    }
    let mut command = preloaded(name);
    command.env_remove("SIDESTEP_CLOCK_REPORT");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts again");
    let (mut ask, mut listen) = (child.stdin.take().expect("piped"), child.stderr.take().expect("piped"));
    for round in 0..exchange {
        let which = (round % 2) as u8;
        let id = [libc::CLOCK_MONOTONIC, libc::CLOCK_REALTIME][usize::from(which)];
        let before = kernel_ns(id);
        ask.write_all(&[which]).expect("the child listens");
        let mut answer = [0; 8];
        listen.read_exact(&mut answer).expect("the child answers");
        let (stamp, after) = (u64::from_le_bytes(answer), kernel_ns(id));
        assert!(before <= stamp + BOUND_NS && stamp <= after + BOUND_NS, "{id}: {before} {stamp} {after}");
    }
    drop(ask);
    assert!(child.wait().expect("the child ends").success());
}

#[test]
fn a_child_of_a_fork_and_threads_are_served_as_well() {
    if !in_its_role("a_child_of_a_fork_and_threads_are_served_as_well", 40_000) {
        return;
    }
    let in_order = || {
        (0..10_000).fold((true, 0), |(so_far, last), _| {
            let now = served_ns(libc::CLOCK_MONOTONIC);
            (so_far && now >= last, now)
        })
    };
    let before = served_ns(libc::CLOCK_MONOTONIC);
    // SAFETY: the child reads clocks and leaves.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let (so_far, last) = in_order();
        let is_own = last <= kernel_ns(libc::CLOCK_MONOTONIC) + BOUND_NS && last >= before;
        // SAFETY: leaves without running what belongs to the parent.
        unsafe { libc::_exit(i32::from(!(so_far && is_own))) };
    }
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(in_order)).collect();
    assert!(threads.into_iter().all(|thread| thread.join().is_ok_and(|(so_far, _)| so_far)));
    let mut status = 0;
    // SAFETY: the status is ours.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert!(waited == pid && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
}
