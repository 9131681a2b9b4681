//! Experiments on a recorded tree, killed at random points: the watchdog, or one revert, puts the tree back.
//!
//! `SIDESTEP_KILLS` sets how many; `cargo xtask kill-toggles` runs a thousand and prints the table. Nothing is asserted about
//! time. Reverts that are killed at each of their steps: `crates/toggles/tests/all/engine.rs`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Kills when nobody says how many.
const KILLS: usize = 24;
/// A watchdog that needs longer has failed; a loaded machine gives it a turn within a second.
const PATIENCE: Duration = Duration::from_secs(30);

const THP: &str = "sys/kernel/mm/transparent_hugepage/enabled";
const FILES: [(&str, &str); 5] = [
    (THP, "always [madvise] never\n"),
    ("proc/sys/kernel/numa_balancing", "1\n"),
    ("proc/sys/kernel/random/boot_id", "this-boot\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet\n"),
];

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victims {
    Parent,
    ParentThenWatchdog,
    WatchdogThenParent,
}

struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in FILES {
            let path = folder.path().join("tree").join(path);
            fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
            fs::write(path, text).expect("a file");
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn sidestep(&self, command: &[&str]) -> Command {
        let mut sidestep = Command::new(env!("CARGO_BIN_EXE_sidestep"));
        sidestep.arg("toggles").args(command).arg("--state").arg(self.path("state"));
        sidestep.arg("--tree").arg(self.path("tree")).stdin(Stdio::null());
        sidestep
    }

    fn is_as_before(&self) -> bool {
        FILES.iter().all(|(path, text)| {
            fs::read_to_string(self.path("tree").join(path)).is_ok_and(|found| found == *text)
        })
    }

    fn has_journal(&self) -> bool {
        self.path("state/journal.json").exists()
    }

    fn is_mended(&self) -> bool {
        !self.has_journal() && self.is_as_before()
    }

    /// Waits until the tree is as before; `None` if that does not happen, or if the watchdog was killed as well and
    /// is gone.
    fn wait_mended(&self, since: Instant, victims: Victims, watchdog: Option<u32>) -> Option<Duration> {
        loop {
            if self.is_mended() {
                return Some(since.elapsed());
            }
            let is_gone = victims != Victims::Parent && watchdog.is_none_or(|pid| !is_running(pid));
            if since.elapsed() > PATIENCE || (is_gone && !self.is_mended()) {
                return None;
            }
            std::thread::yield_now();
        }
    }
}

fn is_running(pid: u32) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

fn kill(pid: u32) {
    let killed = Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
    // A watchdog may have ended by itself.
    killed.expect("every Linux has kill");
}

/// A small generator of choices, so that a run can be repeated: xorshift64 (Marsaglia, 2003).
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// What became of one kill.
#[derive(Debug)]
struct Outcome {
    victims: Victims,
    was_changed: bool,
    mended_by_watchdog: Option<Duration>,
    mended_by_revert: bool,
}

/// Starts a rehearsal, lets it speak some lines and spin some rounds, and kills.
fn kill_once(bench: &Bench, victims: Victims, choices: &mut Choices) -> Outcome {
    let switches = ["thp-system=madvise:never", "numa-balancing=on:off", "clocksource=tsc:hpet"];
    let mut trial = bench.sidestep(&["rehearse"]);
    let mut child: Child =
        trial.args(switches).stdout(Stdio::piped()).spawn().expect("sidestep can be started");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    for _ in 0..=choices.below(60) {
        lines.next().expect("it goes on until killed").expect("text");
    }
    for _ in 0..choices.below(1 << 20) {
        std::hint::spin_loop();
    }
    if victims == Victims::WatchdogThenParent
        && let Some(pid) = watchdog_of(child.id())
    {
        kill(pid);
    }
    let last_watchdog = watchdog_of(child.id());
    child.kill().expect("it runs until killed");
    let killed = Instant::now();
    let was_changed = !bench.is_as_before();
    if victims == Victims::ParentThenWatchdog
        && let Some(pid) = last_watchdog
    {
        kill(pid);
    }
    child.wait().expect("it was killed");
    lines.for_each(drop);
    let mended_by_watchdog = bench.wait_mended(killed, victims, last_watchdog);
    let mut mended_by_revert = false;
    if mended_by_watchdog.is_none() {
        let reverted = bench.sidestep(&["revert"]).output().expect("sidestep can be started");
        assert!(reverted.status.success(), "{victims:?}: {reverted:?}");
        mended_by_revert = true;
    }
    assert!(bench.is_mended(), "{victims:?}: not as before");
    Outcome { victims, was_changed, mended_by_watchdog, mended_by_revert }
}

/// The child of a process that is its watchdog.
fn watchdog_of(parent: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).find(|pid| is_running(*pid))
}

fn kills() -> usize {
    std::env::var("SIDESTEP_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS)
}

#[test]
fn a_killed_experiment_is_put_back_by_its_watchdog_or_by_one_revert() {
    let kills = kills();
    let mut choices = Choices(0x9e37_79b9_7f4a_7c15);
    let bench = Bench::new();
    let all = [Victims::Parent, Victims::ParentThenWatchdog, Victims::WatchdogThenParent];
    let outcomes: Vec<Outcome> =
        (0..kills).map(|round| kill_once(&bench, all[round % all.len()], &mut choices)).collect();
    for victims in all {
        println!("{}", table_row(victims, &outcomes));
    }
    let alone = outcomes.iter().filter(|outcome| outcome.victims == Victims::Parent);
    assert!(alone.clone().all(|outcome| !outcome.mended_by_revert), "a watchdog that lives needs no revert");
    assert!(outcomes.iter().any(|outcome| outcome.was_changed), "no kill met a changed tree");
}

fn table_row(victims: Victims, outcomes: &[Outcome]) -> String {
    let of: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.victims == victims).collect();
    let changed = of.iter().filter(|outcome| outcome.was_changed).count();
    let reverted = of.iter().filter(|outcome| outcome.mended_by_revert).count();
    let mut times: Vec<Duration> = of
        .iter()
        .filter(|outcome| outcome.was_changed)
        .filter_map(|outcome| outcome.mended_by_watchdog)
        .collect();
    times.sort();
    let quantile = |share: f64| {
        let index = ((times.len() as f64 * share).ceil() as usize).clamp(1, times.len().max(1)) - 1;
        times.get(index).map_or_else(|| "-".to_owned(), |time| format!("{:.1}", time.as_secs_f64() * 1e3))
    };
    let quantiles = [0.5, 0.9, 0.99, 1.0].map(quantile).join(" / ");
    let by_watchdog = of.len() - reverted;
    format!(
        "{:<19} {:>5} kills, {changed:>4} while switched, {by_watchdog:>4} needed no revert, {reverted:>4} one; \
         ms to mend p50/p90/p99/max {quantiles}",
        format!("{victims:?}"),
        of.len()
    )
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("a file of the tree")
}

#[test]
fn set_status_and_revert_say_what_they_do_and_leave_the_tree_as_it_was() {
    let bench = Bench::new();
    let run = |command: &[&str]| {
        let output = bench.sidestep(command).output().expect("sidestep can be started");
        let all = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(all).expect("text"))
    };
    let check = |command: &[&str], code: i32, expected: &str| {
        let (found, said) = run(command);
        assert!(found == Some(code) && said.contains(expected), "{command:?}: {found:?} {said}");
    };
    let thp = bench.path("tree").join(THP);
    check(&["status"], 0, "nothing is switched");
    check(&["set", "thp-system=never", "--dry-run"], 0, "write never, later put back madvise");
    check(&["set", "thp-system=sometimes"], 2, "choose among never, madvise, always");
    check(&["set", "thp-sistem=never"], 2, "did you mean thp-system?");
    check(&["set", "microcode=x"], 2, "never switched");
    assert_eq!(text(&thp), FILES[0].1);
    check(&["set", "thp-system=never", "numa-balancing=off"], 0, "madvise -> never");
    assert_eq!(text(&thp), "always madvise [never]\n");
    check(&["status"], 0, "never, was madvise");
    check(&["set", "thp-system=always"], 2, "was left switched");
    check(&["revert", "--dry-run"], 0, "write madvise in place of never");
    fs::write(bench.path("tree/proc/sys/kernel/numa_balancing"), "2\n").expect("a file of the tree");
    check(&["revert"], 4, "2 was written by somebody else and is left alone");
    assert_eq!(text(&thp), FILES[0].1);
    check(&["revert", "--force"], 0, "1 is back");
    check(&["revert"], 0, "nothing to put back");
    assert!(bench.is_mended());
    fs::write(bench.path("state/journal.json"), "rubbish").expect("a file");
    for command in [["status"], ["revert"], ["status"], ["revert"]] {
        check(&command, 4, "unknown what is switched: the journal is damaged");
    }
    check(&["revert", "--dry-run"], 4, "the journal is damaged");
    check(&["set", "thp-system=never"], 2, "sets it aside");
    check(&["revert", "--forget"], 0, "journal.json.damaged-1");
    check(&["set", "thp-system=never", "--for", "1s"], 0, "madvise is back");
    assert!(bench.is_mended());
    fs::write(bench.path("state/journal.json.new"), "half").expect("a file");
    check(&["set", "thp-system=madvise"], 0, "madvise already, nothing is written");
    check(&["set", "thp-system=madvise", "--for", "1h"], 0, "madvise already, nothing is written");
    check(&["status"], 0, "nothing is switched");
    check(&["set", "thp-system=madvise", "numa-balancing=off"], 0, "1 -> 0");
    assert!(!bench.path("state/journal.json.new").exists(), "what a kill left of a journal is gone");
    check(&["status"], 0, "numa-balancing=off is set");
    check(&["revert"], 0, "1 is back");
    check(&["set", "cpu-dma-latency=0"], 2, "cannot");
    assert!(bench.is_mended());
}

#[test]
fn what_is_back_after_a_refused_revert_is_not_named_as_switched() {
    let bench = Bench::new();
    let run = |command: &[&str]| {
        let output = bench.sidestep(command).output().expect("sidestep can be started");
        String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
    };
    run(&["set", "thp-system=never", "numa-balancing=off"]);
    fs::write(bench.path("tree/proc/sys/kernel/numa_balancing"), "2\n").expect("a file of the tree");
    run(&["revert"]);
    let status = run(&["status"]);
    assert!(
        status.starts_with("/proc/sys/kernel/numa_balancing is set since") && !status.contains("thp"),
        "{status}"
    );
    run(&["revert", "--force"]);
    assert!(bench.is_mended());
}

#[test]
fn an_experiment_that_is_stopped_ends_a_second_after_its_time() {
    let bench = Bench::new();
    let mut held = bench.sidestep(&["set", "thp-system=never", "--for", "2s"]);
    let mut child =
        held.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("sidestep can be started");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    lines.next().expect("it says what it holds").expect("text");
    let watchdog = watchdog_of(child.id()).expect("it watches");
    let stopped = Command::new("kill").args(["-STOP", &child.id().to_string()]).status();
    assert!(stopped.expect("every Linux has kill").success());
    let words = fs::read_to_string(format!("/proc/{watchdog}/cmdline")).expect("it runs");
    assert!(words.contains("--deadline-ms\x003000\0"), "{words:?}");
    let ended = child.wait().expect("it ends");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(9), "{ended}");
    assert!(bench.wait_mended(Instant::now(), Victims::Parent, Some(watchdog)).is_some());
}

#[test]
fn a_second_experiment_is_refused_while_one_runs() {
    let bench = Bench::new();
    let mut trial = bench.sidestep(&["set", "thp-system=never", "--for", "1h"]);
    let mut child =
        trial.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("sidestep can be started");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let first = lines.next().expect("it says what it holds").expect("text");
    assert!(first.contains("thp-system=never for 3600 s"), "{first}");
    let second = bench.sidestep(&["set", "numa-balancing=off"]).output().expect("sidestep can be started");
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(
        second.status.code() == Some(2)
            && said.contains("another experiment is running on this machine: process"),
        "{said}"
    );
    let reverted = bench.sidestep(&["revert"]).output().expect("sidestep can be started");
    assert_eq!(reverted.status.code(), Some(2));
    let ended = Command::new("kill").arg(child.id().to_string()).status().expect("every Linux has kill");
    assert!(ended.success());
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
    assert!(bench.is_mended());
}
