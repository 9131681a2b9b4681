//! The clock against its peers on two real CPUs, and the preload library under real programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::cargo;
use crate::table::head;
use crate::totals::Totals;

/// The clock against its peers, and its preload library under real programs
///
/// A part that misses its target fails. The whole takes some minutes and keeps two CPUs busy.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Parts: cost, causality, faults, calibration (the benchmark of sidestep-clock), served (the tests of the preload library with
    /// 100,000 rounds each), clients (PostgreSQL's pg_test_timing, stress-ng --clock, fio --cpuclock-test, a Java and a Python loop, in
    /// turns with and without the library; what is not installed is skipped by name)
    #[arg(long, value_delimiter = ',', default_values = PARTS, value_parser = PARTS)]
    only: Vec<String>,
    /// Turns of each client
    #[arg(long, default_value_t = 12)]
    rounds: usize,
}

const PARTS: [&str; 6] = ["cost", "causality", "faults", "calibration", "served", "clients"];
/// Rounds of each test of the preload library. Source: the project's targets.
const SERVED_ROUNDS: &str = "100000";

/// `cargo xtask bench-clock`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    let mut totals = Totals::default();
    for part in &arguments.only {
        println!("\n== {part}");
        match part.as_str() {
            "served" => totals.add(served()?),
            "clients" => totals.add(clients(arguments.rounds)?),
            section => {
                let words = format!("bench --quiet --package=sidestep-clock --bench=clocks -- {section}");
                totals.add(verdict(cargo::succeeds(&mut cargo::cargo(&words))?, section));
            }
        }
    }
    Ok(totals)
}

fn verdict(passed: bool, name: &str) -> Totals {
    Totals::one(passed, format!("bench-clock: {name}: see above"))
}

fn served() -> anyhow::Result<Totals> {
    let mut command = cargo::cargo("test --quiet --release --package=sidestep-clock-preload --test=served");
    Ok(verdict(cargo::succeeds(command.env("SIDESTEP_SERVED_ROUNDS", SERVED_ROUNDS))?, "served"))
}

/// A program that reads the time, and the number it prints.
struct Client {
    name: &'static str,
    command: Vec<String>,
    /// What stands before the number: less is better.
    before_number: &'static str,
    /// Whether the number is only shown, and no gain promised: the time is a small part of it.
    is_only_shown: bool,
    /// What it says when a test of its own fails. That is counted and shown, with the library and without: fio reads the
    /// counter itself, without a fence.
    own_failure: Option<&'static str>,
}

/// One run of a client.
struct Turn {
    number: f64,
    /// Calls that the library served.
    served: u64,
    failed_its_test: bool,
}

/// Reads the time in a loop, and says what one took and how often it went back.
const PYTHON_LOOP: &str = "import time
n, last, back = 1_000_000, time.monotonic_ns(), 0
start, wall = last, time.time()
for _ in range(n):
    now, w = time.monotonic_ns(), time.time()
    back += (now < last) + (w < wall)
    last, wall = now, w
print('ns a turn:', (last - start) / n, 'backwards:', back)
";

/// The same in Java.
const JAVA_LOOP: &str = "public class TimeLoop { public static void main(String[] words) {
    long n = 10_000_000, last = System.nanoTime(), start = last, wall = System.currentTimeMillis(), back = 0;
    for (long i = 0; i < n; i++) {
        long now = System.nanoTime(), w = System.currentTimeMillis();
        if (now < last || w < wall) back++;
        last = now; wall = w;
    }
    System.out.println(\"ns a turn: \" + (last - start) / (double) n + \" backwards: \" + back);
} }
";

fn all_clients(folder: &Path) -> anyhow::Result<Vec<Client>> {
    let java = folder.join("TimeLoop.java");
    std::fs::write(&java, JAVA_LOOP).context("cannot write the Java loop")?;
    let words = |line: &[&str]| line.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let client = |name, command, before_number, is_only_shown| Client {
        name,
        command,
        before_number,
        is_only_shown,
        own_failure: None,
    };
    Ok(vec![
        client("pg_test_timing, per loop", words(&[&postgresql(), "-d", "1"]), "overhead: ", false),
        client("Python, per turn", words(&["python3", "-c", PYTHON_LOOP]), "ns a turn: ", true),
        client("Java, per turn", words(&["java", &java.to_string_lossy()]), "ns a turn: ", true),
        client(
            "stress-ng --clock, seconds",
            words(&["stress-ng", "--clock", "1", "--clock-ops", "5000"]),
            "completed in ",
            true,
        ),
        // What it holds the counter's rate to be, by the kernel's clock and by the one that is served.
        Client {
            own_failure: Some("cs: Failed"),
            ..client(
                "fio --cpuclock-test, ticks a ms",
                words(&["fio", "--cpuclock-test"]),
                "trimmed mean=",
                true,
            )
        },
    ])
}

/// Debian keeps this program in a folder per version.
fn postgresql() -> String {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut programs: Vec<PathBuf> =
        versions.map(|entry| entry.path().join("bin/pg_test_timing")).filter(|path| path.is_file()).collect();
    programs.sort();
    programs.pop().map_or("pg_test_timing".to_owned(), |path| path.to_string_lossy().into_owned())
}

fn clients(rounds: usize) -> anyhow::Result<Totals> {
    let mut build = cargo::cargo("build --quiet --release --package=sidestep-clock-preload");
    anyhow::ensure!(cargo::succeeds(&mut build)?, "the preload library does not build");
    let library = cargo::target().join("release/libsidestep_clock_preload.so");
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let mut totals = Totals::default();
    head(&format!("client, lower quartile of {rounds} turns | without | with | ratio | calls served, least"));
    for client in all_clients(folder.path())? {
        let is_there = Path::new(&client.command[0]).is_file() || cargo::find(&client.command[0]).is_some();
        if !is_there {
            totals.add(Totals::one_skipped(format!("{}: not installed", client.name)));
            continue;
        }
        let (mut without, mut with, mut served) = (Vec::new(), Vec::new(), u64::MAX);
        let mut failures = [0; 2];
        for _ in 0..rounds {
            let [plain, preloaded] = [turn(&client, None)?, turn(&client, Some(&library))?];
            failures[0] += usize::from(plain.failed_its_test);
            failures[1] += usize::from(preloaded.failed_its_test);
            without.push(plain.number);
            with.push(preloaded.number);
            served = served.min(preloaded.served);
        }
        let (plain, preloaded) = (lower_quartile(&mut without), lower_quartile(&mut with));
        let ratio = preloaded / plain;
        let name = match client.own_failure {
            Some(_) => {
                format!("{} (its own test failed {} and {} times)", client.name, failures[0], failures[1])
            }
            None => client.name.to_owned(),
        };
        println!("| {name} | {plain:.2} | {preloaded:.2} | {ratio:.3} | {served} |");
        totals.add(verdict(served > 0 && (client.is_only_shown || ratio < 1.0), client.name));
    }
    Ok(totals)
}

fn turn(client: &Client, library: Option<&Path>) -> anyhow::Result<Turn> {
    let mut command = Command::new(&client.command[0]);
    command.args(&client.command[1..]);
    if let Some(library) = library {
        command.env("LD_PRELOAD", library).env("SIDESTEP_CLOCK_REPORT", "1");
    }
    let output = command.output().with_context(|| format!("cannot start {}", client.command[0]))?;
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    let failed_its_test = client.own_failure.is_some_and(|words| text.contains(words));
    anyhow::ensure!(output.status.success() || failed_its_test, "{} failed: {text}", client.name);
    let went_back = number_after(&text, "backwards: ").is_some_and(|count| count != 0.0);
    anyhow::ensure!(!went_back, "{}: time went back: {text}", client.name);
    let number = number_after(&text, client.before_number);
    // A program may be several: a shell that starts the interpreter, a parent and its children.
    let reports = text.split("sidestep-clock: ").skip(1);
    let served = reports.filter_map(|report| report.split(' ').next()?.parse::<u64>().ok()).sum();
    let number = number.with_context(|| format!("{} printed no number: {text}", client.name))?;
    Ok(Turn { number, served, failed_its_test })
}

/// Noise of a shared machine only adds time.
fn lower_quartile(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 4).copied().unwrap_or(f64::NAN)
}

/// The number behind the first `label` that one stands behind.
fn number_after(text: &str, label: &str) -> Option<f64> {
    text.match_indices(label).find_map(|(start, _)| {
        let rest = &text[start + label.len()..];
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        rest[..end].parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_what_programs_print() {
        for (text, label, expected) in [
            ("Per loop time including overhead: 28.90 ns", "overhead: ", Some(28.9)),
            ("info: run completed in 2.39s", "completed in ", Some(2.39)),
            ("nothing", "overhead: ", None),
        ] {
            assert_eq!(number_after(text, label), expected, "{text}");
        }
    }
}
