//! `cargo xtask ab-evidence`: does `sidestep ab` claim nothing from nothing, and see a planted 1 %, on a loaded machine?
//!
//! Each experiment runs a program that spins for a known number of rounds, as `sidestep ab` runs a user's program. The
//! same runs, taken as if all of A had come before all of B, show what running one after the other would have said.

use std::ffi::OsString;
use std::hint::black_box;

use experiments::ab::command_subject::{CommandSubject, HowToRun, Program};
use experiments::ab::outcome::Declared;
use experiments::ab::switcher::Switcher;
use experiments::ab::{Labels, Progress, Rules, Standing, Subject, outcome, run};
use host::live::snapshot;
use kernels::multiply_chain;
use record::{ExperimentOutcome, ExperimentRow, RawTrial};
use stats::{Comparison, Interval, Verdict, clopper_pearson};

use crate::cargo;
use crate::load;
use crate::table::head;
use crate::totals::Totals;

/// sidestep ab on a loaded machine: claims from nothing, and a planted 1 %
///
/// Prints two Markdown tables. Fails if more than 2 of 100 experiments with nothing to find claim something. With the defaults it
/// takes 25 minutes.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Experiments with nothing to find
    #[arg(long, default_value_t = 100)]
    experiments: usize,
    /// Budget of each in seconds
    #[arg(long, default_value_t = 8)]
    seconds: usize,
    /// Experiments with 1 % planted, 60 s at most each
    #[arg(long, default_value_t = 10)]
    planted: usize,
    /// Threads of load meanwhile
    #[arg(long, default_value_t = 4)]
    load: usize,
}

/// Budget of an experiment with something planted, in seconds. Source: the promise of METHODOLOGY.md.
const PLANTED_SECONDS: f64 = 60.0;
/// What is planted: 1 %.
const PLANTED_SHARE: f64 = 0.01;
/// Rounds that take about 20 ms at 3 GHz and 3 cycles per multiplication.
const ROUNDS: u64 = 312_500;
/// The largest share of experiments with nothing to find that may claim something.
const CLAIMS_MAX: f64 = 0.02;
/// Too narrow to be reached, so that every experiment takes its whole budget.
const NEVER: f64 = 1e-6;
/// Level of the tests and intervals.
const LEVEL: f64 = 0.95;

/// `cargo xtask spin ROUNDS`.
pub fn spin(rounds: u64) -> Totals {
    black_box(multiply_chain(rounds));
    Totals::default()
}

/// `cargo xtask ab-evidence`.
pub fn run_all(arguments: &Arguments) -> anyhow::Result<Totals> {
    if cfg!(debug_assertions) {
        return cargo::again_in_release();
    }
    load::beside(arguments.load, || show(arguments))
}

fn show(arguments: &Arguments) -> anyhow::Result<Totals> {
    let Arguments { experiments, seconds, planted, load } = *arguments;
    let nothing = Tally::of(experiments, seconds as f64, 0.0, 0.01)?;
    let average = snapshot().load_average.unwrap_or(f64::NAN);
    println!(
        "Load: {load} threads; load average at the end {average:.1}. A program that spins for about 20 ms.\n"
    );
    head(
        "planted | experiments | pairs, median | design | differs, wall time | differs, CPU time | half-width, CPU time, median",
    );
    nothing.print("nothing");
    if planted > 0 {
        Tally::of(planted, PLANTED_SECONDS, PLANTED_SHARE, 0.005)?.print("1 %");
    }
    let share = nothing.claims as f64 / experiments.max(1) as f64;
    let line = format!("ab-evidence: {} of {experiments} experiments claim something", nothing.claims);
    println!("\n{line} (verdict faster or slower in any row)");
    Ok(Totals::one(share <= CLAIMS_MAX, line))
}

/// Experiments of one kind.
#[derive(Debug, Default)]
struct Tally {
    experiments: usize,
    claims: usize,
    /// Raw intervals that exclude no change, interleaved: wall time, CPU time.
    interleaved: [usize; 2],
    /// The same of the same runs as if all of A had come before all of B.
    before_after: [usize; 2],
    pairs: Vec<f64>,
    half_widths: Vec<f64>,
    before_after_half_widths: Vec<f64>,
}

impl Tally {
    fn of(experiments: usize, seconds: f64, planted: f64, margin: f64) -> anyhow::Result<Self> {
        let mut tally = Self { experiments, ..Self::default() };
        for seed in 0..experiments {
            let found = experiment(seed as u64, seconds, planted, margin)?;
            eprintln!("{}/{experiments}: {}", seed + 1, found.sentence);
            tally.add(&found, planted > 0.0);
        }
        Ok(tally)
    }

    fn add(&mut self, found: &ExperimentOutcome, is_planted: bool) {
        let is_claim = |row: &ExperimentRow| matches!(row.row.verdict, Verdict::Faster | Verdict::Slower);
        self.claims += usize::from(!found.aa.contaminated && found.rows.iter().any(is_claim));
        self.pairs.push(found.pairs as f64);
        for (index, name) in ["wall time", "CPU time"].into_iter().enumerate() {
            let row = found.rows.iter().find(|row| row.row.name == name);
            let interval = row.and_then(|row| row.ratio_interval);
            self.interleaved[index] += usize::from(interval.is_some_and(|found| is_seen(found, is_planted)));
            let grouped = before_after(&found.raw, index, is_planted);
            self.before_after[index] += usize::from(grouped.is_some_and(|found| is_seen(found, is_planted)));
            if name == "CPU time" {
                self.half_widths.extend(interval.map(|found| 100.0 * found.half_width()));
                self.before_after_half_widths.extend(grouped.map(|found| 100.0 * found.half_width()));
            }
        }
    }

    fn print(&self, planted: &str) {
        let share = |count: usize| {
            let exact = clopper_pearson(count, self.experiments, LEVEL).unwrap_or_default();
            format!("{count} [{:.0} %, {:.0} %]", 100.0 * exact.low, 100.0 * exact.high)
        };
        let pairs = stats::median(&self.pairs).unwrap_or(f64::NAN);
        for (design, seen, widths) in [
            ("interleaved (`sidestep ab`)", self.interleaved, &self.half_widths),
            ("all of A, then all of B", self.before_after, &self.before_after_half_widths),
        ] {
            let [wall, cpu] = seen.map(share);
            let half_width = stats::median(widths).unwrap_or(f64::NAN);
            println!(
                "| {planted} | {} | {pairs:.0} | {design} | {wall} | {cpu} | {half_width:.2} % |",
                self.experiments
            );
        }
    }
}

/// With nothing planted every interval without 1 is a false alarm; else only one on the right side is a find.
fn is_seen(interval: Interval, is_planted: bool) -> bool {
    interval.low > 1.0 || (!is_planted && interval.high < 1.0)
}

/// The interval of the ratio from the same runs as if one state had come after the other: of the first half of them
/// those of A, of the second half those of B; with nothing planted all of them, as A and B are the same.
fn before_after(raw: &[RawTrial], row: usize, is_planted: bool) -> Option<Interval> {
    let proper: Vec<&RawTrial> = raw.iter().filter(|trial| !trial.twin).collect();
    let (first, second) = proper.split_at(proper.len() / 2);
    let values = |half: &[&RawTrial], state: &str| -> Vec<f64> {
        let of_state = half.iter().filter(|trial| !is_planted || trial.state == state);
        of_state.filter_map(|trial| trial.values.get(row).copied().flatten()).collect()
    };
    Comparison::of_groups(&values(first, "a"), &values(second, "b"))?.interval
}

fn experiment(seed: u64, seconds: f64, planted: f64, margin: f64) -> anyhow::Result<ExperimentOutcome> {
    let own = cargo::this_program()?;
    let program = |rounds: u64| {
        let rounds = OsString::from(rounds.to_string());
        Program::of(vec![own.clone().into_os_string(), OsString::from("spin"), rounds])
    };
    let slower = (ROUNDS as f64 * (1.0 + planted)).round() as u64;
    let programs = [program(ROUNDS), program(slower)];
    let mut subject = CommandSubject::new(programs, HowToRun::default(), None, Switcher::none(), None, seed);
    let rules = Rules { precision: NEVER, budget_s: seconds, pairs: None, seed };
    let course = run(&mut subject, &rules, &mut Unheard)?;
    let labels = Labels {
        called: "the program".to_owned(),
        a: "A".to_owned(),
        b: "B".to_owned(),
        ..Labels::default()
    };
    let declared = Declared { margin, precision: NEVER, seed };
    Ok(outcome(&course, &subject.rows(), &subject.guards(), &labels, &declared))
}

struct Unheard;

impl Progress for Unheard {
    fn standing(&mut self, _standing: &Standing) {}
}
