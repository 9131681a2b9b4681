//! Rows of records, whose unit is the run: what they differ by, against what unchanged runs do.
//!
//! The spread between runs comes from earlier runs, else from the runs compared, else from the shipped table (`stats::between_runs`).

use record::{ComparisonClass, ComparisonMemory};
use stats::{ClassDifference, Difference, Host, Interval, RowRuns, Verdict};

use super::difference::{Cost, Gathered, as_percent, rounded};
use super::{Configuration, Options, Sample};

/// Where the machines are: in a guest if one of them is.
pub(super) fn host<'c>(mut configurations: impl Iterator<Item = &'c Configuration>) -> Host {
    let is_guest = |one: &Configuration| one.facts.iter().any(|fact| fact.name == record::HYPERVISOR);
    if configurations.any(is_guest) { Host::Guest } else { Host::BareMetal }
}

/// What the rows differ by, and what the rows of each class share, candidate by candidate.
pub(super) fn costs(gathered: &[Gathered<'_>], host: Host, options: &Options) -> CostsOfRuns {
    let mut costs = vec![Cost::default(); gathered.len()];
    let (mut classes, mut memory) = (Vec::new(), Vec::new());
    let mut candidates: Vec<&str> = Vec::new();
    for row in gathered {
        if !candidates.contains(&row.candidate.as_str()) {
            candidates.push(&row.candidate);
        }
    }
    for candidate in &candidates {
        let rows: Vec<(usize, RowRuns)> = (gathered.iter().enumerate())
            .filter(|(_, row)| row.candidate == *candidate)
            .filter_map(|(index, row)| Some((index, of_row(row)?)))
            .collect();
        let (places, rows): (Vec<usize>, Vec<RowRuns>) = rows.into_iter().unzip();
        let found = stats::between_runs(&rows, host);
        // Each candidate is a family of its own; of several, none may be claimed more readily than one.
        let among = |q: f64| (q * candidates.len() as f64).min(1.0);
        for ((place, row), difference) in places.iter().zip(&rows).zip(&found.rows) {
            let runs = row.sides.iter().map(Vec::len).min().unwrap_or(0);
            costs[*place] = Cost {
                comparison: Some(difference.comparison(runs)),
                standard_error: Some(difference.standard_error),
                q: Some(among(difference.q)),
                knowledge: difference.knowledge,
            };
        }
        for class in &found.classes {
            let rows: Vec<&Gathered<'_>> = class.rows.iter().map(|row| &gathered[places[*row]]).collect();
            let difference = Difference { q: among(class.difference.q), ..class.difference };
            let mut shared = of_class(class, &difference, &rows, &found.rows, options);
            // A single run that found no value for most rows of a class has none to compare.
            if rows.iter().filter(|row| is_one_unstable_run(row)).count() * 2 >= rows.len() {
                shared.verdict = Verdict::Inconclusive;
            }
            classes.push(shared);
        }
        if let Some(found) = &found.memory {
            let rows: Vec<&Gathered<'_>> = found.rows.iter().map(|row| &gathered[places[*row]]).collect();
            let difference = Difference { q: among(found.difference.q), ..found.difference };
            memory.push(of_memory(&difference, &rows, options));
        }
    }
    CostsOfRuns { costs, classes, memory }
}

/// What rows, classes of rows and memory as a whole differ by.
pub(super) struct CostsOfRuns {
    pub(super) costs: Vec<Cost>,
    pub(super) classes: Vec<ComparisonClass>,
    pub(super) memory: Vec<ComparisonMemory>,
}

/// Whether a side is one run in which the row had no single value.
pub(super) fn is_one_unstable_run(row: &Gathered<'_>) -> bool {
    row.sides.iter().any(|side| matches!(side.as_slice(), [only] if only.is_unstable))
}

/// A row as logarithms of costs; `None` for one of no class.
fn of_row(row: &Gathered<'_>) -> Option<RowRuns> {
    let log = |sample: &Sample| row.better.cost(sample.value.ln());
    let within =
        |side: &Vec<Sample>| side.iter().map(own_variance).sum::<f64>() / (side.len() as f64).powi(2);
    Some(RowRuns {
        class: row.row.class?,
        sides: row.sides.each_ref().map(|side| side.iter().map(log).collect()),
        history: row.history.iter().map(|sample| sample.as_ref().map_or(f64::NAN, log)).collect(),
        within: row.sides.each_ref().map(within),
        control: row.row.test.control,
    })
}

/// Variance of a run's logarithm as its epochs show it; the interval of one says how far further runs lie, which the spread between runs
/// has already.
fn own_variance(sample: &Sample) -> f64 {
    sample.epoch_variance.unwrap_or(0.0)
}

/// A difference that several rows share, as a change in percent with its verdict at the largest of their margins.
struct SharedChange {
    change_percent: f64,
    interval: Interval,
    verdict: Verdict,
}

impl SharedChange {
    fn of(difference: &Difference, rows: &[&Gathered<'_>], options: &Options) -> Self {
        let runs = rows.iter().flat_map(|row| row.sides.each_ref().map(Vec::len)).min().unwrap_or(0);
        let margin_percent = rows.iter().map(|row| row.declared_percent(options)).fold(0.0, f64::max);
        let comparison = difference.comparison(runs);
        let percent = |cost: f64| as_percent(100.0 * (cost - 1.0));
        Self {
            change_percent: percent(comparison.ratio),
            interval: comparison.interval.map_or_else(Interval::default, |interval| interval.map(percent)),
            verdict: comparison.verdict_in_family(margin_percent / 100.0, difference.q),
        }
    }
}

fn of_memory(difference: &Difference, rows: &[&Gathered<'_>], options: &Options) -> ComparisonMemory {
    let shared = SharedChange::of(difference, rows, options);
    ComparisonMemory {
        candidate: rows.first().map_or_else(String::new, |row| row.candidate.clone()),
        rows: rows.len(),
        change_percent: shared.change_percent,
        interval: shared.interval,
        q: rounded(difference.q),
        verdict: shared.verdict,
        knowledge: difference.knowledge,
    }
}

fn of_class(
    class: &ClassDifference,
    difference: &Difference,
    rows: &[&Gathered<'_>],
    found: &[Difference],
    options: &Options,
) -> ComparisonClass {
    let shared = SharedChange::of(difference, rows, options);
    let along = |row: &&usize| found[**row].log_ratio * difference.log_ratio > 0.0;
    ComparisonClass {
        class: class.class,
        candidate: rows.first().map_or_else(String::new, |row| row.candidate.clone()),
        rows: rows.iter().map(|row| row.row.name()).collect(),
        moved_along: class.rows.iter().filter(along).count(),
        change_percent: shared.change_percent,
        interval: shared.interval,
        q: rounded(difference.q),
        verdict: shared.verdict,
        knowledge: difference.knowledge,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use record::ComparisonTable;
    use stats::{Knowledge, Random, RowClass};

    use super::super::*;
    use record::Better;

    /// A run of eight latencies, one control and the clock, each with its own spread, with `factor` on the latencies.
    fn run(random: &mut Random, factor: f64, control: f64) -> Configuration {
        let mut noisy = |centre: f64, spread: f64| centre * (spread * random.normal()).exp();
        let test = |name: String, class: RowClass, value: f64| Test {
            name,
            group: if class == RowClass::Arithmetic { "controls" } else { "memory" }.to_owned(),
            unit: "ns".to_owned(),
            better: Better::Lower,
            weight: Weight::Micro,
            control: class == RowClass::Arithmetic,
            cells: BTreeMap::from([(
                [0, 0],
                Cell { class: Some(class), samples: vec![Sample::plain(value)], ..Cell::default() },
            )]),
        };
        let mut tests: Vec<Test> = (0..8)
            .map(|row| {
                let value = noisy(10.0 * factor, 0.01);
                test(format!("latency {row}"), RowClass::MemoryLatency, value)
            })
            .collect();
        tests.push(test("loop".to_owned(), RowClass::Arithmetic, noisy(control, 0.001)));
        tests.push(test("clock".to_owned(), RowClass::CoreClock, noisy(1.0, 0.001)));
        Configuration {
            name: "run".to_owned(),
            kind: SourceKind::Record,
            runs: 1,
            starts_utc: Vec::new(),
            taken_shares: Vec::new(),
            facts: Vec::new(),
            cautions: Vec::new(),
            tests,
        }
    }

    fn side(random: &mut Random, runs: usize, factor: f64, control: f64) -> Configuration {
        let mut all = run(random, factor, control);
        (1..runs).for_each(|_| all.absorb(run(random, factor, control)));
        all
    }

    fn compared(runs: usize, earlier: usize, factor: f64, control: f64) -> ComparisonTable {
        let mut random = Random::new(5);
        let sides = [side(&mut random, runs, 1.0, 1.0), side(&mut random, runs, factor, control)];
        let history: Vec<Configuration> = (0..earlier).map(|_| run(&mut random, 1.0, 1.0)).collect();
        compare(sides.clone(), &history, &Options::default()).expect("comparable")
    }

    #[test]
    fn one_run_each_claims_nothing_that_the_shipped_table_does_not_exceed_and_says_how_many_would() {
        let found = compared(1, 0, 1.2, 1.0);
        for row in found.rows.iter().filter(|row| row.name.starts_with("latency")) {
            assert_eq!((row.verdict, row.knowledge), (Verdict::Inconclusive, Knowledge::Prior), "{row:?}");
            assert!(row.further_runs.is_some_and(|runs| runs > 0) && row.q.is_some_and(|q| q > 0.05));
        }
        assert!(found.classes.iter().all(|class| class.verdict == Verdict::Inconclusive));
        assert!(found.cautions.iter().any(|caution| caution.starts_with("one run each: only what exceeds")));
        assert_eq!(compared(1, 0, 20.0, 1.0).classes[0].verdict, Verdict::Slower);
    }

    #[test]
    fn a_class_of_which_a_single_run_found_no_stable_values_claims_nothing() {
        let verdict = |unstable_rows: usize| {
            let mut random = Random::new(5);
            let mut sides = [run(&mut random, 1.0, 1.0), run(&mut random, 20.0, 1.0)];
            for test in sides[1].tests.iter_mut().take(unstable_rows) {
                for cell in test.cells.values_mut() {
                    cell.samples[0].is_unstable = true;
                }
            }
            let found = compare(sides.clone(), &[], &Options::default()).expect("comparable");
            assert!(found.rows[..unstable_rows].iter().all(|row| row.verdict == Verdict::Inconclusive));
            found.classes[0].verdict
        };
        assert_eq!([verdict(3), verdict(4)], [Verdict::Slower, Verdict::Inconclusive]);
    }

    #[test]
    fn earlier_runs_and_replicates_find_what_one_run_cannot_and_the_class_is_one_event() {
        for (runs, earlier, knowledge) in [(1, 12, Knowledge::History), (5, 0, Knowledge::Replicates)] {
            let found = compared(runs, earlier, 1.2, 1.0);
            let [class] = found.classes.as_slice() else { panic!("one class of several rows: {found:?}") };
            assert_eq!((class.class, class.verdict), (RowClass::MemoryLatency, Verdict::Slower));
            assert_eq!((class.rows.len(), class.moved_along, class.knowledge), (8, 8, knowledge));
            assert!((class.change_percent - 20.0).abs() < 3.0 && class.interval.contains(20.0), "{class:?}");
            assert!(is_class_slower_by(class, 10.0) && !is_class_slower_by(class, 30.0));
            assert!(found.rows[..8].iter().all(|row| row.verdict == Verdict::Slower), "{:?}", found.rows);
            assert!(found.rows[8..].iter().all(|row| row.verdict != Verdict::Slower));
            let unchanged = compared(runs, earlier, 1.0, 1.0);
            assert!(unchanged.rows.iter().all(|row| row.verdict != Verdict::Slower), "{:?}", unchanged.rows);
        }
    }

    #[test]
    fn a_control_that_moved_beyond_its_spread_makes_all_doubtful() {
        let found = compared(5, 0, 1.2, 1.1);
        assert!(found.drift.doubtful && found.drift.moved == ["loop"], "{:?}", found.drift);
        assert!(found.rows.iter().all(|row| row.verdict == Verdict::Inconclusive));
        assert!(found.classes.iter().all(|class| class.verdict == Verdict::Inconclusive));
    }

    #[test]
    fn earlier_runs_that_were_all_less_busy_are_not_used_and_that_is_said() {
        let mut random = Random::new(6);
        let mut of = |taken: f64| Configuration { taken_shares: vec![taken], ..run(&mut random, 1.0, 1.0) };
        let (quiet, busy) = (of(0.02), of(0.40));
        let earlier: Vec<Configuration> = (0..6).map(|_| of(0.03)).collect();
        let against = |second: &Configuration| {
            compare([quiet.clone(), second.clone()], &earlier, &Options::default()).expect("rows")
        };
        let found = against(&busy);
        assert!(
            found.earlier_runs.is_none() && found.rows.iter().all(|row| row.knowledge == Knowledge::Prior)
        );
        let said = "others had up to 40 % of the CPUs in a run compared, and at most 3 % in earlier runs, whose spread is not used";
        assert!(found.cautions.iter().any(|caution| caution == said), "{:?}", found.cautions);
        assert_eq!(against(&quiet).earlier_runs.map(|earlier| earlier.runs), Some(6));
    }

    #[test]
    fn no_run_that_is_compared_is_also_an_earlier_one() {
        let mut random = Random::new(5);
        let started = |minute: usize, random: &mut Random| Configuration {
            starts_utc: vec![format!("2026-01-01T00:{minute:02}:00Z")],
            ..run(random, 1.0, 1.0)
        };
        let all: Vec<Configuration> = (0..12).map(|minute| started(minute, &mut random)).collect();
        let side = |minutes: std::ops::Range<usize>| {
            let mut runs = all[minutes].iter().cloned();
            let mut side = runs.next().expect("a run");
            runs.for_each(|run| side.absorb(run));
            side
        };
        let found = compare([side(0..3), side(3..5)], &all, &Options::default()).expect("comparable");
        assert_eq!(found.earlier_runs.map(|earlier| earlier.runs), Some(7));
        assert_eq!(found.configurations[1].started_utc.as_deref(), Some("2026-01-01T00:03:00Z"));
    }

    #[test]
    fn earlier_runs_of_another_machine_are_left_out() {
        let mut random = Random::new(5);
        let on = |name: &str, random: &mut Random| {
            let fact = record::Fact { name: "CPU".to_owned(), value: name.to_owned() };
            Configuration { facts: vec![fact], ..run(random, 1.0, 1.0) }
        };
        let sides = [on("x", &mut random), on("x", &mut random)];
        let others: Vec<Configuration> = (0..9).map(|_| on("y", &mut random)).collect();
        let found = compare(sides.clone(), &others, &Options::default()).expect("comparable");
        assert!(found.rows.iter().all(|row| row.knowledge == Knowledge::Prior));
        assert!(found.cautions.iter().any(|caution| caution.starts_with("9 of 9 earlier records")));
    }
}
