//! What a simulation of schedulers says, in words.

use models::FITTED;
use models::memory::HOST;
use models::scheduling::{
    Gain, GainRow, JoinedNumber, LevelDescription, Packing, Policy, PolicyGain, PolicyRow, SchedulingMachine,
    SchedulingSimulation,
};
use stats::Interval;

use crate::escape::plain;
use crate::number;

/// How a source of a number begins that is a guess.
const ASSUMED: &str = "assumed";
/// The same of one that was measured.
const MEASURED: &str = "measured";
/// The same of one that stands for nothing, as it should have been measured and was not.
const NOT_MEASURED: &str = "not measured";
/// The same of one that nobody knows.
const UNKNOWN: &str = "unknown";
/// A gain below this is none, in per cent: what the table shows as 0.0.
const NOTHING_PERCENT: f64 = 0.05;

/// A gain with its sign and one decimal.
pub(super) fn signed(percent: f64) -> String {
    if percent.abs() < NOTHING_PERCENT { "0 %".to_owned() } else { format!("{percent:+.1} %") }
}

/// Two gains, or one if they are the same.
pub(super) fn range([low, high]: [f64; 2]) -> String {
    let [first, last] = [low, high].map(signed);
    if first == last { first } else { format!("{} to {last}", first.trim_end_matches(" %")) }
}

/// The published gain.
pub(super) fn published(one: &JoinedNumber) -> String {
    range(one.published.gain_percent)
}

/// What ran.
pub(super) fn scenario(simulation: &SchedulingSimulation) -> String {
    let scenario = simulation.scenario;
    let (pattern, class) = (scenario.pattern.name(), scenario.class.name());
    let placed = match &simulation.packing {
        Some(packing) => format!("{} against {}", in_one(packing), IN_TWO),
        None => {
            scenario.policy.map_or("all policies".to_owned(), |policy| format!("policy {}", policy.name()))
        }
    };
    let shared = match scenario.sharing {
        [_, high] if high <= 0.0 => "no shared data".to_owned(),
        [low, high] if low < high => {
            format!("pairs that gain {} to {} %", number::short(low * 100.0), number::short(high * 100.0))
        }
        [share, _] => format!("pairs that gain {} %", number::short(share * 100.0)),
    };
    format!("{placed}, load {pattern} ({class}), {shared}, seed {}", scenario.seed)
}

/// Where something is gained, what the numbers stand on.
pub(super) fn sentences(simulation: &SchedulingSimulation) -> Vec<String> {
    let mut said = Vec::new();
    if !simulation.rows.is_empty() {
        said.extend(gains(&simulation.rows, simulation.scenario.policy));
    }
    said.extend(extremes(&simulation.policies));
    said.extend(grouping(simulation));
    said.extend(simulation.packing.iter().flat_map(|found| packing(found, &simulation.machine)));
    said.extend(simulation.published.iter().filter_map(held_out));
    said.push(grounds(simulation));
    said
}

/// A gain that is beyond what the runs differ by, and seen in the table.
fn is_sure(percent: f64, interval: Interval) -> bool {
    percent.abs() >= NOTHING_PERCENT && !interval.contains(0.0)
}

fn gains(rows: &[GainRow], policy: Option<Policy>) -> Vec<String> {
    let best = baselines(rows).iter().filter_map(|baseline| most(rows, baseline)).collect::<Vec<_>>();
    let mut said = Vec::new();
    if !best.is_empty() {
        said.push(format!("Most is gained {}.", listed(&best, "and")));
    }
    if policy == Some(Policy::Random) {
        return said;
    }
    let over_random = |holds: &dyn Fn(f64, Interval) -> bool| -> Vec<usize> {
        let those =
            rows.iter().filter(|row| holds(row.gain_over_random_percent, row.gain_over_random_interval));
        those.map(|row| row.threads).collect()
    };
    for (words, counts) in [
        ("Nothing is gained over random placement with", over_random(&|percent, _| is_nothing(percent))),
        (
            "No gain over random placement can be told from none with",
            over_random(&|percent, interval| !is_nothing(percent) && !is_sure(percent, interval)),
        ),
        (
            "Random placement is better with",
            over_random(&|percent, interval| percent < 0.0 && is_sure(percent, interval)),
        ),
    ] {
        if !counts.is_empty() {
            said.push(format!("{words} {}.", threads(&counts)));
        }
    }
    said
}

fn is_nothing(percent: f64) -> bool {
    percent.abs() < NOTHING_PERCENT
}

/// What a row's policy is compared with.
struct Baseline {
    words: &'static str,
    gain: fn(&GainRow) -> (f64, Interval),
}

/// Random placement, and of the others those that differ: a kernel that fills CPUs in order is told once.
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
        let both = Baseline { words: "over in-order and kernel-like alike", ..in_order };
        return vec![random, both];
    }
    vec![random, in_order, kernel_like]
}

/// Where most is gained over a baseline, if anything is: of equals the first.
fn most(rows: &[GainRow], baseline: &Baseline) -> Option<String> {
    let gains = rows.iter().map(|row| (row.threads, (baseline.gain)(row)));
    let (count, (percent, interval)) =
        gains.reduce(|best, one| if one.1.0 > best.1.0 { one } else { best })?;
    (percent > 0.0 && is_sure(percent, interval))
        .then(|| format!("{} with {} ({})", baseline.words, number::count(count, "thread"), signed(percent)))
}

/// Where a policy gains most over random placement, and where one loses most; all that do the same are named.
fn extremes(rows: &[PolicyRow]) -> Vec<String> {
    let all = rows.iter().flat_map(|row| row.policies.iter().map(|one| (row.threads, one)));
    let told = |words: &str, sign: f64| {
        // Of equals the first.
        let (threads, most) = all.clone().reduce(|best, one| {
            let is_more = sign * one.1.over_random.percent > sign * best.1.over_random.percent;
            if is_more { one } else { best }
        })?;
        let Gain { percent, interval } = most.over_random;
        let is_as_much =
            |one: &(usize, &PolicyGain)| one.0 == threads && is_nothing(one.1.over_random.percent - percent);
        let names: Vec<String> =
            all.clone().filter(is_as_much).map(|one| one.1.policy.name().to_owned()).collect();
        (sign * percent > 0.0 && is_sure(percent, interval)).then(|| {
            format!(
                "{words} random placement with {}, by {}: {}.",
                number::count(threads, "thread"),
                listed(&names, "and"),
                signed(percent)
            )
        })
    };
    [told("Most is gained over", 1.0), told("Most is lost against", -1.0)].into_iter().flatten().collect()
}

/// What a process is, or why the column of a policy is that of another.
fn grouping(simulation: &SchedulingSimulation) -> Option<String> {
    let is_shown =
        !simulation.policies.is_empty() || simulation.scenario.policy == Some(Policy::ProcessGrouping);
    let said = match simulation.machine.last_level() {
        Some(level) => format!(
            "process-grouping takes each pair of threads for a process, and keeps it in one {}.",
            plain(&level.name)
        ),
        None => "One last-level cache serves all CPUs, so that process-grouping does what kernel-like does."
            .to_owned(),
    };
    (is_shown && simulation.packing.is_none()).then_some(said)
}

/// The placement that packing is compared with.
pub(super) const IN_TWO: &str = "partners in two";

/// The placement that packs.
pub(super) fn in_one(packing: &Packing) -> String {
    format!("partners in one {}", plain(&packing.level))
}

fn packing(packing: &Packing, machine: &SchedulingMachine) -> Vec<String> {
    let with_turbo = packing.points.iter().map(|point| point.gain_of_packing_percent);
    let without_turbo = packing.points.iter().map(|point| point.gain_of_packing_without_turbo_percent);
    let threads = number::count(packing.threads, "thread");
    let level = plain(&packing.level);
    if with_turbo.chain(without_turbo).all(|percent| percent.abs() < NOTHING_PERCENT) {
        return vec![format!(
            "With {threads}, packing partners into one {level} and spreading them over two are the same here."
        )];
    }
    let low = packing.points.first().map_or(0.0, |point| point.sharing_percent);
    let from = |percent: Option<f64>| match percent {
        None => "nowhere in this range".to_owned(),
        Some(percent) if percent > low => format!("from a gain of {} % per thread", number::short(percent)),
        Some(_) if low > 0.0 => "all over this range".to_owned(),
        Some(_) => "from any gain".to_owned(),
    };
    let without = if machine.has_turbo() {
        format!("; without turbo {}", from(packing.break_even_without_turbo_percent))
    } else {
        String::new()
    };
    let pays = format!(
        "With {threads}, packing partners into one {level} beats spreading them over two {}{without}.",
        from(packing.break_even_percent)
    );
    [Some(pays), further(packing, machine)].into_iter().flatten().collect()
}

/// What smaller units would bring.
fn further(packing: &Packing, machine: &SchedulingMachine) -> Option<String> {
    let share = |level: &LevelDescription| level.shares_data.as_ref().map_or(0.0, |share| share.value);
    let index = machine.level_of(&packing.level)?;
    let (smaller, own) = (&machine.level[..index], share(&machine.level[index]));
    let names = |levels: &[&LevelDescription]| {
        listed(&levels.iter().map(|level| plain(&level.name)).collect::<Vec<_>>(), "or")
    };
    let (nearer, alike): (Vec<_>, Vec<_>) = smaller.iter().partition(|level| share(level) > own);
    match (nearer.as_slice(), alike.as_slice()) {
        ([], []) => None,
        ([], alike) => Some(format!(
            "Partners in one {} have no more of the shared data in reach than in one {}.",
            names(alike),
            plain(&packing.level)
        )),
        (nearer, _) => Some(format!(
            "Partners in one {} have more of the shared data in reach; that is not compared here.",
            names(nearer)
        )),
    }
}

/// A published number that was not used, on a machine on which another one was: the only test of a fit.
fn held_out(one: &JoinedNumber) -> Option<String> {
    /// Differences below this do not need a sentence.
    const TOLD_PERCENT: f64 = 1.0;
    let predicted = one.predicted_percent.filter(|_| !one.published.fitted)?;
    let [low, high] = one.published.gain_percent;
    let away = if predicted < low { predicted - low } else { (predicted - high).max(0.0) };
    (away.abs() >= TOLD_PERCENT).then(|| {
        format!(
            "{}: predicted {}, published {}; the model is {:.1} points off.",
            one.published.workload,
            signed(predicted),
            published(one),
            away.abs()
        )
    })
}

/// How the machine came to be one of numbers.
pub(super) fn origin(simulation: &SchedulingSimulation) -> &'static str {
    if measured(simulation).is_empty() { "on paper" } else { "as it was measured" }
}

/// What of the machine was measured, each kind of number once.
fn measured(simulation: &SchedulingSimulation) -> Vec<String> {
    let mut kinds: Vec<String> = Vec::new();
    for (name, .., source) in simulation.machine.numbers() {
        let kind = name.rsplit('.').next().unwrap_or(&name).to_owned();
        if source.starts_with(MEASURED) && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

fn grounds(simulation: &SchedulingSimulation) -> String {
    let numbers = simulation.machine.numbers();
    let of = |word: &str| -> Vec<String> {
        let those = numbers.iter().filter(|(.., source)| source.starts_with(word));
        those.map(|(name, ..)| name.clone()).collect()
    };
    let said = |verb: &str, names: Vec<String>| match names.as_slice() {
        [] => String::new(),
        names => format!("; {verb}: {}", names.join(", ")),
    };
    let (fitted, assumed) = (said("fitted", of(FITTED)), said("assumed", of(ASSUMED)));
    let unknown = said("not known", [of(NOT_MEASURED), of(UNKNOWN)].concat());
    let gaps = format!("{fitted}{assumed}{unknown}");
    let sources = if simulation.machine.name == HOST {
        "--json gives each number's source."
    } else {
        "The machine file gives the reasons."
    };
    match measured(simulation).as_slice() {
        [] => format!("On paper, not measured{gaps}. {sources}"),
        measured => {
            format!(
                "Simulated from what was measured of these CPUs: {}{gaps}. {sources}",
                measured.join(", ")
            )
        }
    }
}

/// `1, 7 and 8 threads`, `1 thread`, `5 to 24 threads`.
fn threads(counts: &[usize]) -> String {
    /// Fewer that follow each other are told one by one.
    const RUN_MIN: usize = 3;
    let noun = if counts == [1] { "thread" } else { "threads" };
    let runs = counts.chunk_by(|one, next| one + 1 == *next).flat_map(|run| match run {
        [first, .., last] if run.len() >= RUN_MIN => vec![format!("{first} to {last}")],
        few => few.iter().map(usize::to_string).collect(),
    });
    format!("{} {noun}", listed(&runs.collect::<Vec<_>>(), "and"))
}

fn listed(words: &[String], last_joined_by: &str) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} {last_joined_by} {last}", first.join(", ")),
    }
}
