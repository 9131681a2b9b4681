//! `cargo xtask sockets-evidence`: does `sidestep sockets` call equal CPUs equal on a busy machine, find 5 % that are put in, and
//! take another program on one CPU for what it is?

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use record::{SocketVerdict, Sockets};

use crate::cargo;
use crate::table::head;
use crate::totals::Totals;

/// sidestep sockets on a busy machine: equal CPUs, 5 % put in, another program
///
/// Prints a Markdown table. Build sidestep for release first; it needs two equal CPUs, 0 and 1. Fails if more than 2 of 100 equal runs
/// or 1 of 20 runs beside another program are called asymmetric, or if less than 19 of 20 planted ones are among those whose A/A
/// half-width is 1.5 % or less.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Of each run
    #[arg(long, default_value_t = 6)]
    seconds: usize,
    /// Runs with nothing put in
    #[arg(long, default_value_t = 100)]
    equal: usize,
    /// Runs with 5 % more work on one CPU
    #[arg(long, default_value_t = 20)]
    planted: usize,
    /// Runs beside a program that takes one CPU 30 % of the time
    #[arg(long, default_value_t = 20)]
    beside: usize,
    /// Also keep the document of each run as DIR/KIND-NUMBER.json
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
}

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

/// A kind of runs: its name, what is planted, and what must hold of them.
type Kind = (&'static str, Option<&'static str>, &'static str, fn(&Tally) -> bool);

const KINDS: [Kind; 3] = [
    ("equal", None, "equal CPUs called asymmetric", |found| found.asymmetric * 50 <= found.runs),
    ("planted", Some("1:slow=5"), "5 % missed", |found| found.quiet_asymmetric * 20 >= found.quiet * 19),
    ("beside", None, "another program called an asymmetry", |found| found.asymmetric * 20 <= found.runs),
];

/// `cargo xtask sockets-evidence`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    head("runs | asymmetric | alike | inconclusive | A/A <= 1.5 % | of those asymmetric | median A/A");
    let mut totals = Totals::default();
    for ((kind, inject, wrong, holds), runs) in
        KINDS.into_iter().zip([arguments.equal, arguments.planted, arguments.beside])
    {
        let other = (kind == "beside" && runs > 0).then(Other::start).transpose()?;
        let mut tally = Tally::default();
        for number in 0..runs {
            let text = measured(arguments.seconds, inject)?;
            if let Some(folder) = &arguments.write {
                let path = folder.join(format!("{kind}-{number}.json"));
                fs::write(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
            }
            tally.add(&serde_json::from_str(&text).context("the document is not one of sockets")?);
        }
        drop(other);
        if runs > 0 {
            tally.print(kind);
            totals.add(Totals::one(holds(&tally), format!("sockets-evidence: {wrong}")));
        }
    }
    Ok(totals)
}

/// The document of one run.
fn measured(seconds: usize, inject: Option<&str>) -> anyhow::Result<String> {
    let mut command = Command::new(cargo::sidestep());
    command.args(["sockets", "--json", "--quiet", "--per", "cpu", "--cpus", "0,1"]);
    command.arg(format!("--budget={seconds}s")).args(inject.map(|inject| format!("--inject={inject}")));
    cargo::output(&mut command)
}

/// A program that works 6 ms of every 20 on CPU 1, until dropped.
struct Other(Child);

impl Other {
    fn start() -> anyhow::Result<Self> {
        let program = "import time\nwhile True:\n    end = time.perf_counter() + 0.006\n    while time.perf_counter() < end: pass\n    time.sleep(0.014)";
        let child =
            Command::new("taskset").args(["-c", "1", "python3", "-c", program]).stdout(Stdio::null()).spawn();
        Ok(Self(child.context("cannot run taskset and python3, which make the other program")?))
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // Both fail only if it is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
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
