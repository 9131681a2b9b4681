//! `cargo xtask sockets-evidence`: does `sidestep sockets` call equal CPUs equal on a busy machine, find 5 % that are put in, and
//! take a thief for what it is?

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use record::{SocketVerdict, Sockets};

use crate::cargo;
use crate::flags::Flags;
use crate::totals::Totals;

/// The rest of `cargo xtask sockets-evidence --help`.
pub const HELP: &str = "  --seconds N   of each run, default 6
  --equal N     runs with nothing put in, default 100
  --planted N   runs with 5 % more work on one CPU, default 20
  --thief N     runs beside a program that takes one CPU 30 % of the time, default 20
  --write DIR   also the document of each run as DIR/KIND-NUMBER.json

Prints a Markdown table. Build sidestep for release first; it needs two equal CPUs, 0 and 1. Fails if more than
2 of 100 equal runs or 1 of 20 runs beside the thief are called asymmetric, or if less than 19 of 20 planted ones are
among those whose A/A half-width is 1.5 % or less.
";

/// A difference can be told if the same CPU differs from itself by no more.
const AA_ENOUGH: f64 = 0.015;

/// What a kind of runs came to.
#[derive(Default)]
struct Tally {
    runs: usize,
    asymmetric: usize,
    alike: usize,
    inconclusive: usize,
    /// Runs whose latencies were quiet enough, and those of them that were called asymmetric.
    quiet: usize,
    quiet_asymmetric: usize,
    aa_half_widths: Vec<f64>,
}

/// `cargo xtask sockets-evidence`.
pub fn run(arguments: &[String]) -> anyhow::Result<Totals> {
    let flags = Flags::parse(arguments, &["--seconds", "--equal", "--planted", "--thief", "--write"], &[])?;
    let seconds = flags.count("--seconds", 6)?;
    println!(
        "| runs | asymmetric | alike | inconclusive | A/A <= 1.5 % | of those asymmetric | median A/A |\n|---|---|---|---|---|---|---|"
    );
    let mut totals = Totals::default();
    let written = flags.value("--write").map(Path::new);
    let runs = |kind: &'static str, inject| Runs { kind, seconds, inject, written };
    if let Some(equal) = runs("equal", None).tally(flags.count("--equal", 100)?)? {
        equal.print("equal");
        totals.add(verdict("equal CPUs called asymmetric", equal.asymmetric * 50 <= equal.runs));
    }
    if let Some(planted) = runs("planted", Some("1:slow=5")).tally(flags.count("--planted", 20)?)? {
        planted.print("5 % planted");
        totals.add(verdict("5 % missed", planted.quiet_asymmetric * 20 >= planted.quiet * 19));
    }
    let mut thief = Thief::start()?;
    let beside = runs("thief", None).tally(flags.count("--thief", 20)?);
    thief.0.kill().context("the thief is gone already")?;
    thief.0.wait().context("the thief is gone already")?;
    if let Some(beside) = beside? {
        beside.print("a thief");
        totals.add(verdict("a thief called an asymmetry", beside.asymmetric * 20 <= beside.runs));
    }
    print!("{}", totals.closing());
    Ok(totals)
}

fn verdict(what: &str, holds: bool) -> Totals {
    Totals::one(holds, format!("sockets-evidence: {what}"))
}

/// A program that works 6 ms of every 20 on CPU 1.
struct Thief(Child);

impl Thief {
    fn start() -> anyhow::Result<Self> {
        let program = "import time\nwhile True:\n    end = time.perf_counter() + 0.006\n    while time.perf_counter() < end: pass\n    time.sleep(0.014)";
        let child =
            Command::new("taskset").args(["-c", "1", "python3", "-c", program]).stdout(Stdio::null()).spawn();
        Ok(Self(child.context("cannot run taskset and python3, which make the thief")?))
    }
}

/// Runs of one kind.
struct Runs<'a> {
    kind: &'static str,
    seconds: usize,
    inject: Option<&'static str>,
    /// Where each document is kept.
    written: Option<&'a Path>,
}

impl Runs<'_> {
    /// `None` of no runs.
    fn tally(&self, runs: usize) -> anyhow::Result<Option<Tally>> {
        let mut tally = Tally::default();
        for number in 0..runs {
            let mut command = Command::new(cargo::target().join("release/sidestep"));
            command.args(["sockets", "--json", "--quiet", "--per", "cpu", "--cpus", "0,1", "--budget"]);
            command.arg(format!("{}s", self.seconds));
            if let Some(inject) = self.inject {
                command.args(["--inject", inject]);
            }
            let text = cargo::output(&mut command)?;
            if let Some(folder) = self.written {
                let path = folder.join(format!("{}-{number}.json", self.kind));
                fs::write(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
            }
            tally.add(&serde_json::from_str(&text).context("the document is not one of sockets")?);
        }
        Ok((runs > 0).then_some(tally))
    }
}

impl Tally {
    fn add(&mut self, sockets: &Sockets) {
        let is_asymmetric = sockets.verdict == SocketVerdict::Asymmetric;
        self.runs += 1;
        match sockets.verdict {
            SocketVerdict::Asymmetric => self.asymmetric += 1,
            SocketVerdict::Alike => self.alike += 1,
            SocketVerdict::Inconclusive => self.inconclusive += 1,
        }
        let latency = sockets.equality.iter().find(|of| of.quantity == "latency");
        if let Some(of) = latency {
            self.aa_half_widths.push(of.aa_half_width);
            if of.aa_half_width <= AA_ENOUGH {
                self.quiet += 1;
                self.quiet_asymmetric += usize::from(is_asymmetric);
            }
        }
    }

    fn print(&self, what: &str) {
        let median = stats::median(&self.aa_half_widths).unwrap_or(f64::NAN);
        println!(
            "| {} {what} | {} | {} | {} | {} | {} | {:.2} % |",
            self.runs,
            self.asymmetric,
            self.alike,
            self.inconclusive,
            self.quiet,
            self.quiet_asymmetric,
            median * 100.0
        );
    }
}
