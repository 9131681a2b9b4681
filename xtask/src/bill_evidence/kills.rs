//! Bills killed at random moments and resumed: is every setting put back, and every run counted once?

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use stats::Random;

use crate::cargo;
use crate::totals::Totals;

/// A bill lives so long at most before it is killed: some runs, and moments of switching and writing.
const LIFE_MOST_S: f64 = 0.8;
/// The watchdog has this long to put back what a killed bill left.
const MENDED_WITHIN: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);
/// What is switched: two settings of the machine and two of the process.
const TOGGLES: &str = "thp-system,khugepaged,timer-slack,thp";
/// The machine's settings among them.
const FILES: [&str; 2] =
    ["/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag"];
/// Where root's bills are journalled.
const JOURNAL: &str = "/var/lib/sidestep/bill/bill.ndjson";

/// Kills so many bills.
pub(super) fn run(kills: usize) -> anyhow::Result<Totals> {
    if !cargo::is_root() {
        return Ok(Totals::one_skipped(
            "bill-evidence: only root can switch settings of the machine".to_owned(),
        ));
    }
    ensure!(!Path::new(JOURNAL).exists(), "a bill was interrupted here; end it with sidestep bill --resume");
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let log = folder.path().join("runs");
    let before = settings()?;
    let mut random = Random::new(1);
    let (mut lost, mut twice, mut bills, mut killed) = (0, 0, 0, 0);
    let (mut since_begun, mut most_counted) = (0, 0);
    while killed < kills {
        if !Path::new(JOURNAL).exists() {
            fs::write(&log, "")?;
            (bills, since_begun) = (bills + 1, 0);
        }
        let mut child = bill(&log)?;
        thread::sleep(Duration::from_secs_f64(LIFE_MOST_S * random.unit()));
        child.kill().context("cannot kill the bill")?;
        child.wait()?;
        (killed, since_begun) = (killed + 1, since_begun + 1);
        lost += usize::from(!is_mended(&before)?);
        let (counted, ran) = (counted(), fs::read_to_string(&log)?.lines().count());
        most_counted = most_counted.max(counted);
        // A run that a kill cut short, or that ended in the moment of a kill, is not counted; none is counted that did not run.
        twice += usize::from(counted > ran || ran > counted + since_begun);
    }
    let _ = fs::remove_file(JOURNAL);
    println!(
        "{killed} kills of {bills} bills: {lost} settings lost, {twice} times runs counted twice or lost"
    );
    let holds = lost == 0 && twice == 0 && most_counted > 0;
    Ok(Totals::one(
        holds,
        format!("bill-evidence: {lost} lost, {twice} miscounted, {most_counted} runs at most"),
    ))
}

/// A bill of a short program that writes a line for each run; the one that was killed goes on.
fn bill(log: &Path) -> anyhow::Result<Child> {
    let mut command = Command::new(sidestep());
    command.args(["bill", "--quiet"]).stdout(Stdio::null()).stderr(Stdio::null());
    if Path::new(JOURNAL).exists() {
        command.arg("--resume");
    } else {
        let program = format!("echo x >> {}", log.display());
        command.args(["--for", "10m", "--seed", "1", "--toggles", TOGGLES, "--", "sh", "-c", &program]);
    }
    command.spawn().context("cannot start target/release/sidestep; build it first")
}

fn sidestep() -> PathBuf {
    cargo::target().join("release/sidestep")
}

fn settings() -> anyhow::Result<Vec<String>> {
    FILES.iter().map(|file| fs::read_to_string(file).with_context(|| format!("cannot read {file}"))).collect()
}

fn is_mended(before: &[String]) -> anyhow::Result<bool> {
    let begun = Instant::now();
    while begun.elapsed() < MENDED_WITHIN {
        // The journal of the switches goes last.
        if settings()? == before && !Path::new("/var/lib/sidestep/journal.json").exists() {
            return Ok(true);
        }
        thread::sleep(LOOK);
    }
    Ok(false)
}

/// Runs in the journal; none before its first.
fn counted() -> usize {
    let Ok(text) = fs::read_to_string(JOURNAL) else { return 0 };
    // A line without an end is a run that a kill cut short.
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.filter(|line| line.contains("\"run\":")).count()
}
