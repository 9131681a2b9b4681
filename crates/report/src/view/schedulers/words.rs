//! What a simulation of schedulers says, in words.

use models::scheduling::{GainRow, JoinedNumber, Policy, SchedulingSimulation};
use stats::Interval;
use stats::text::listed;

use crate::number::{self, signed_percent};
use crate::page::Statement;

/// A gain below this is none, in per cent: what a table shows as 0.
const NOTHING_PERCENT: f64 = 0.05;
/// A prediction that is off by less needs no sentence, in per cent.
const MISSED_PERCENT: f64 = 1.0;

/// Two gains, or one if they are the same.
pub(super) fn range([low, high]: [f64; 2]) -> String {
    let [first, last] = [low, high].map(signed_percent);
    if first == last { first } else { format!("{} to {last}", first.trim_end_matches(" %")) }
}

/// What the policies gain.
pub(super) fn answer(simulation: &SchedulingSimulation) -> Statement {
    let policy = simulation.scenario.policy.name();
    let best: Vec<String> =
        baselines(&simulation.rows).iter().filter_map(|baseline| most(&simulation.rows, baseline)).collect();
    if best.is_empty() {
        return Statement::plain(format!("{policy} gains nothing over the other placements."));
    }
    Statement::good(format!("{policy} gains at most {}.", listed(&best, "and")))
}

/// Where nothing is gained, and what ran.
pub(super) fn because(simulation: &SchedulingSimulation) -> Vec<Statement> {
    let mut said = Vec::new();
    if simulation.scenario.policy != Policy::Random {
        said.extend(without_gain(&simulation.rows));
    }
    said.extend(simulation.published.iter().filter_map(missed));
    let mut said: Vec<Statement> = said.into_iter().map(Statement::plain).collect();
    said.push(Statement::faint(scenario(simulation)));
    said
}

/// What ran.
fn scenario(simulation: &SchedulingSimulation) -> String {
    let scenario = simulation.scenario;
    let shared = if scenario.sharing <= 0.0 {
        "no shared data".to_owned()
    } else {
        format!("pairs that gain {} % from shared data", number::short(scenario.sharing * 100.0))
    };
    format!("Load: {}, {shared}.", scenario.pattern.name())
}

/// A gain that is beyond what the runs differ by, and seen in the table.
fn is_sure(percent: f64, interval: Interval) -> bool {
    !is_nothing(percent) && !interval.contains(0.0)
}

fn is_nothing(percent: f64) -> bool {
    percent.abs() < NOTHING_PERCENT
}

/// The numbers of threads with which random placement is as good or better.
fn without_gain(rows: &[GainRow]) -> Vec<String> {
    let counts = |holds: &dyn Fn(f64, Interval) -> bool| -> Vec<usize> {
        let those =
            rows.iter().filter(|row| holds(row.gain_over_random_percent, row.gain_over_random_interval));
        those.map(|row| row.threads).collect()
    };
    let all = [
        ("No gain over random placement with", counts(&|percent, _| is_nothing(percent))),
        (
            "No difference from random placement detected with",
            counts(&|percent, interval| !is_nothing(percent) && !is_sure(percent, interval)),
        ),
        (
            "Random placement is better with",
            counts(&|percent, interval| percent < 0.0 && is_sure(percent, interval)),
        ),
    ];
    let shown = all.into_iter().filter(|(_, counts)| !counts.is_empty());
    shown.map(|(words, counts)| format!("{words} {}.", threads(&counts))).collect()
}

/// What a row's policy is compared with.
struct Baseline {
    words: &'static str,
    gain: fn(&GainRow) -> (f64, Interval),
}

/// Random placement, and of the others those that differ: a kernel that fills CPUs in order is named once.
fn baselines(rows: &[GainRow]) -> Vec<Baseline> {
    let random = Baseline {
        words: "over random placement",
        gain: |row| (row.gain_over_random_percent, row.gain_over_random_interval),
    };
    let in_order = Baseline {
        words: "over in-order",
        gain: |row| (row.gain_over_in_order_percent, row.gain_over_in_order_interval),
    };
    let kernel_like = Baseline {
        words: "over kernel-like",
        gain: |row| (row.gain_over_kernel_like_percent, row.gain_over_kernel_like_interval),
    };
    let is_alike =
        |row: &GainRow| is_nothing(row.gain_over_in_order_percent - row.gain_over_kernel_like_percent);
    if rows.iter().all(is_alike) {
        return vec![random, Baseline { words: "over in-order and kernel-like", ..in_order }];
    }
    vec![random, in_order, kernel_like]
}

/// Where most is gained over a baseline, if anything is: of equals the first.
fn most(rows: &[GainRow], baseline: &Baseline) -> Option<String> {
    let gains = rows.iter().map(|row| (row.threads, (baseline.gain)(row)));
    let (count, (percent, interval)) =
        gains.reduce(|best, one| if one.1.0 > best.1.0 { one } else { best })?;
    (percent > 0.0 && is_sure(percent, interval)).then(|| {
        let gain = signed_percent(percent);
        let threads = number::count(count, "thread");
        format!("{} {} ({threads})", gain.trim_start_matches('+'), baseline.words)
    })
}

/// A published number that was not used, on a machine on which another one was: the only test of a fit.
fn missed(one: &JoinedNumber) -> Option<String> {
    let predicted = one.predicted_percent.filter(|_| !one.published.fitted)?;
    let [low, high] = one.published.gain_percent;
    let away = if predicted < low { predicted - low } else { (predicted - high).max(0.0) };
    (away.abs() >= MISSED_PERCENT).then(|| {
        format!(
            "{}: predicted {}, published {}; the model is {:.1} points off.",
            one.published.workload,
            signed_percent(predicted),
            range(one.published.gain_percent),
            away.abs()
        )
    })
}

/// `1, 7 and 8 threads`, `1 thread`, `5 to 24 threads`.
fn threads(counts: &[usize]) -> String {
    /// Fewer that follow each other are named one by one.
    const RUN_MIN: usize = 3;
    let noun = if counts == [1] { "thread" } else { "threads" };
    let runs = counts.chunk_by(|one, next| one + 1 == *next).flat_map(|run| match run {
        [first, .., last] if run.len() >= RUN_MIN => vec![format!("{first} to {last}")],
        few => few.iter().map(usize::to_string).collect(),
    });
    format!("{} {noun}", listed(&runs.collect::<Vec<_>>(), "and"))
}
