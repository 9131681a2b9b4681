//! What an unchanged machine does between check-ups, and how far a new one may stand from that.
//!
//! Rows of a class move together, so the common factor of a class is judged first, and each row only by what it has
//! beside that. Both are far from normal: the limit is the wider of Student's, for the few runs of a baseline, and one
//! that goes on from the baseline's own tail, each run judged by the others. Pure: logarithms in, departures out.

use std::collections::BTreeMap;

use record::HistoryEntry;
use stats::{Order, RowClass, SMALLEST_SPREAD, lag1_autocorrelation, median, next_run_reach};

/// With fewer runs than this no tail is known, and numbers are not judged.
pub const FEWEST_RUNS: usize = 20;
/// A deviation below this is rounding, in natural logarithms: rows are stored with more digits, clocks tick coarser.
const DEVIATION_FLOOR: f64 = 1e-3;
/// Scales mean distances from the middle to standard deviations: the root of pi / 2.
const NORMAL_MEAN_DEVIATION: f64 = 1.253_314_137_315_500_3;
/// Runs that the median deviation of a class counts for beside those of a row itself: rows of one class are alike
/// within a factor of about three, as variances of four degrees of freedom are.
const CLASS_WEIGHT: f64 = 4.0;
/// A check and the one right after it share the host's state more than neighbours of a baseline that is spread in time.
const DEPENDENCE_LEAST: f64 = 0.5;
/// The share of the largest deviations from which the tail goes on (Hill 1975).
const TAIL_SHARE: f64 = 0.1;
/// Fewer values than this are no tail.
const TAIL_FEWEST: usize = 8;
/// Tail indices believed: Student's with two degrees of freedom is the heaviest for which a spread means anything; a
/// thinner tail than that of six cannot be known from tens of runs.
const TAIL_INDICES: [f64; 2] = [2.0, 6.0];

/// A quantity that is watched: its name, and the class with which it moves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WatchedRow {
    /// The row, as in a comparison, with its level.
    pub name: String,
    /// Rows of one class move together.
    pub class: RowClass,
}

impl WatchedRow {
    /// The rows that every run of a baseline has.
    pub(super) fn of(runs: &[HistoryEntry]) -> Vec<Self> {
        let everywhere =
            |name: &String| runs.iter().all(|run| run.rows.get(name).is_some_and(|row| row.value > 0.0));
        let rows = runs.last().into_iter().flat_map(|last| &last.rows).filter(|(name, _)| everywhere(name));
        rows.map(|(name, row)| Self { name: name.clone(), class: row.class }).collect()
    }

    /// What it costs in a run, as a logarithm.
    pub(super) fn cost(&self, run: &HistoryEntry) -> Option<f64> {
        run.rows.get(&self.name)?.cost()
    }
}

/// What departed from the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Departure {
    /// The row; `None` for its whole class.
    pub row: Option<String>,
    pub class: RowClass,
    /// Logarithm of new over old; for a row, beside its class.
    pub log: f64,
    /// It had to be larger than this.
    pub limit: f64,
}

/// One class: how its common factor moves, and its rows beside it.
#[derive(Debug, Clone, PartialEq)]
struct ClassLimits {
    class: RowClass,
    limit: f64,
    /// Least and largest factor of the baseline's runs.
    range: [f64; 2],
    rows: Vec<RowLimits>,
}

impl ClassLimits {
    /// How far each row that was measured stands from its centre.
    fn moved(&self, logs: &[Option<f64>]) -> Vec<(&RowLimits, f64)> {
        let beside = |row: &'_ RowLimits| logs.get(row.index).copied().flatten().map(|log| log - row.centre);
        self.rows.iter().filter_map(|row| Some((row, beside(row)?))).collect()
    }

    /// Half of the rows of a class are not the class.
    fn has_enough(&self, measured: &[f64]) -> bool {
        measured.len() * 2 > self.rows.len()
    }
}

#[derive(Debug, Clone, PartialEq)]
struct RowLimits {
    index: usize,
    centre: f64,
    limit: f64,
}

/// Limits of everything that is watched.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    rows: Vec<WatchedRow>,
    classes: Vec<ClassLimits>,
}

/// A class in the making: residuals of its rows beside the factor, by row and run.
struct CentredClass {
    class: RowClass,
    members: Vec<usize>,
    centres: Vec<f64>,
    factors: Vec<f64>,
    residuals: Vec<Vec<f64>>,
}

impl CentredClass {
    fn of(class: RowClass, members: Vec<usize>, logs: &[Vec<f64>]) -> Self {
        let centres: Vec<f64> = members.iter().map(|&row| median(&logs[row]).unwrap_or(0.0)).collect();
        let runs = logs[members[0]].len();
        let beside = |run: usize| -> Vec<f64> {
            members.iter().zip(&centres).map(|(&row, centre)| logs[row][run] - centre).collect()
        };
        let factors: Vec<f64> = (0..runs).map(|run| factor(&beside(run))).collect();
        let residuals = members
            .iter()
            .zip(&centres)
            .map(|(&row, centre)| {
                logs[row].iter().zip(&factors).map(|(log, factor)| log - centre - factor).collect()
            })
            .collect();
        Self { class, members, centres, factors, residuals }
    }
}

impl Limits {
    /// The limits that a baseline sets: `logs` holds, by row, the logarithm of each run's value. `alarms` is the
    /// probability of any false alarm in one check, spent in halves on classes and on rows, evenly among each.
    /// `None` for fewer than [`FEWEST_RUNS`], or if a row is not in every run.
    pub fn of(rows: &[WatchedRow], logs: &[Vec<f64>], alarms: f64) -> Option<Self> {
        let runs = logs.first()?.len();
        let is_whole = |row: &Vec<f64>| row.len() == runs && row.iter().all(|log| log.is_finite());
        if runs < FEWEST_RUNS || rows.len() != logs.len() || !logs.iter().all(is_whole) {
            return None;
        }
        let mut members: BTreeMap<RowClass, Vec<usize>> = BTreeMap::new();
        for (index, row) in rows.iter().enumerate() {
            members.entry(row.class).or_default().push(index);
        }
        let classes: Vec<CentredClass> =
            members.into_iter().map(|(class, members)| CentredClass::of(class, members, logs)).collect();
        let half = alarms / 2.0;
        let of_factors = factor_limit(&classes, twice(half / classes.len() as f64, factors_of(&classes)));
        let of_rows = row_limit(&classes, twice(half / rows.len() as f64, residuals_of(&classes)));
        let limits = classes.iter().map(|class| {
            let scales = scales(&class.residuals, None);
            let members = class.members.iter().zip(&class.centres).zip(&scales);
            ClassLimits {
                class: class.class,
                limit: (of_factors * deviation(&class.factors)).max(SMALLEST_SPREAD),
                range: class
                    .factors
                    .iter()
                    .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], factor| {
                        [low.min(*factor), high.max(*factor)]
                    }),
                rows: members
                    .map(|((&index, &centre), scale)| {
                        let limit = (of_rows * scale).max(SMALLEST_SPREAD);
                        RowLimits { index, centre, limit }
                    })
                    .collect(),
            }
        });
        let classes = limits.collect();
        Some(Self { rows: rows.to_vec(), classes })
    }

    /// The smallest change of each class that a check can show, as a logarithm.
    pub fn smallest_by_class(&self) -> impl Iterator<Item = (RowClass, f64)> {
        self.classes.iter().map(|class| (class.class, class.limit))
    }

    /// The least and the largest factor of each class in the baseline.
    pub(super) fn range_by_class(&self) -> impl Iterator<Item = (RowClass, [f64; 2])> {
        self.classes.iter().map(|class| (class.class, class.range))
    }

    /// The factor of each class in a check, as a logarithm of cost; `None` where too few of its rows were measured.
    pub(super) fn factors(&self, logs: &[Option<f64>]) -> impl Iterator<Item = (RowClass, Option<f64>)> {
        self.classes.iter().map(|class| {
            let moved = class.moved(logs);
            let logs: Vec<f64> = moved.iter().map(|(_, log)| *log).collect();
            (class.class, class.has_enough(&logs).then(|| factor(&logs)))
        })
    }

    /// What of a check departs from the baseline; values are in the order of the rows, and one that was not measured
    /// is not judged.
    pub fn departures(&self, logs: &[Option<f64>]) -> Vec<Departure> {
        let mut found = Vec::new();
        for class in &self.classes {
            let moved = class.moved(logs);
            let logs: Vec<f64> = moved.iter().map(|(_, log)| *log).collect();
            if !class.has_enough(&logs) {
                continue;
            }
            let factor = factor(&logs);
            if factor.abs() > class.limit {
                found.push(Departure { row: None, class: class.class, log: factor, limit: class.limit });
            }
            if class.rows.len() == 1 {
                continue;
            }
            for (row, log) in moved {
                let beside = log - factor;
                if beside.abs() > row.limit {
                    let name = Some(self.rows[row.index].name.clone());
                    found.push(Departure { row: name, class: class.class, log: beside, limit: row.limit });
                }
            }
        }
        found
    }
}

/// What both checks show in the same direction: of a departure seen once nothing is said.
pub fn confirmed(first: &[Departure], second: &[Departure]) -> Vec<Departure> {
    let again = |one: &&Departure| {
        second
            .iter()
            .any(|two| two.row == one.row && two.class == one.class && (two.log > 0.0) == (one.log > 0.0))
    };
    first.iter().filter(again).cloned().collect()
}

fn factors_of(classes: &[CentredClass]) -> impl Iterator<Item = &[f64]> {
    classes.iter().map(|class| class.factors.as_slice())
}

fn residuals_of(classes: &[CentredClass]) -> impl Iterator<Item = &[f64]> {
    classes.iter().flat_map(|class| class.residuals.iter().map(Vec::as_slice))
}

/// How rarely one check may exceed its limit, so that it and the one right after it do so with probability `alarms`.
/// Of two independent checks that is the root; of two that correlate by r, for small probabilities, the power
/// (1 + r) / 2 (Ledford and Tawn 1996, for normal tails). r is what the baseline's neighbours show, and never below
/// [`DEPENDENCE_LEAST`].
fn twice<'s>(alarms: f64, series: impl Iterator<Item = &'s [f64]>) -> f64 {
    let each: Vec<f64> = series.filter_map(lag1_autocorrelation).collect();
    let mean = each.iter().sum::<f64>() / each.len().max(1) as f64;
    alarms.powf(f64::midpoint(1.0, mean.clamp(DEPENDENCE_LEAST, 1.0)))
}

/// What the rows of a class have in common: the median, which half of them cannot move.
fn factor(logs: &[f64]) -> f64 {
    median(logs).unwrap_or(0.0)
}

/// Mean distance from the median, as a standard deviation: what a single far run moves little, as that is the tail's
/// business. Not below the floor.
fn deviation(values: &[f64]) -> f64 {
    let middle = median(values).unwrap_or(0.0);
    let distances: f64 = values.iter().map(|value| (value - middle).abs()).sum();
    (distances / (values.len() as f64 - 1.0) * NORMAL_MEAN_DEVIATION).max(DEVIATION_FLOOR)
}

/// Deviations of rows beside their class, each drawn towards the median of the class; of all runs, or all but one.
fn scales(residuals: &[Vec<f64>], without: Option<usize>) -> Vec<f64> {
    let variance = |row: &Vec<f64>| {
        let kept = row.iter().enumerate().filter(|(run, _)| Some(*run) != without);
        let kept: Vec<f64> = kept.map(|(_, value)| *value).collect();
        (
            kept.iter().map(|value| value * value).sum::<f64>() / (kept.len() as f64 - 1.0),
            kept.len() as f64 - 1.0,
        )
    };
    let variances: Vec<(f64, f64)> = residuals.iter().map(variance).collect();
    let middle = median(&variances.iter().map(|(variance, _)| *variance).collect::<Vec<_>>()).unwrap_or(0.0);
    variances
        .iter()
        .map(|(variance, degrees)| {
            let drawn = (CLASS_WEIGHT * middle + degrees * variance) / (CLASS_WEIGHT + degrees);
            drawn.sqrt().max(DEVIATION_FLOOR)
        })
        .collect()
}

/// Deviations that the factor of a class may have.
fn factor_limit(classes: &[CentredClass], alarms: f64) -> f64 {
    let runs = classes.first().map_or(0, |class| class.factors.len());
    let mut seen = Vec::new();
    for class in classes {
        for run in 0..runs {
            let others: Vec<f64> = class
                .factors
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != run)
                .map(|(_, f)| *f)
                .collect();
            let middle = median(&others).unwrap_or(0.0);
            seen.push((class.factors[run] - middle).abs() / deviation(&others));
        }
    }
    tail_limit(seen, alarms).max(next_run_reach(1.0 - alarms, runs))
}

/// Deviations that a row may have beside its class.
fn row_limit(classes: &[CentredClass], alarms: f64) -> f64 {
    let mut seen = Vec::new();
    for class in classes {
        let runs = class.factors.len();
        for run in 0..runs {
            let scales = scales(&class.residuals, Some(run));
            seen.extend(class.residuals.iter().zip(scales).map(|(row, scale)| row[run].abs() / scale));
        }
    }
    tail_limit(seen, alarms)
}

/// The size that so rarely is exceeded, when the largest of these sizes go on as a power of themselves.
fn tail_limit(mut sizes: Vec<f64>, alarms: f64) -> f64 {
    sizes.order_by(|a, b| b.total_cmp(a));
    let count = sizes.len();
    let tail = ((count as f64 * TAIL_SHARE) as usize).max(TAIL_FEWEST).min(count.saturating_sub(1));
    let Some(&from) = sizes.get(tail).filter(|from| **from > 0.0) else { return f64::INFINITY };
    let mean = sizes[..tail].iter().map(|size| (size / from).ln()).sum::<f64>() / tail as f64;
    let index = mean.recip().clamp(TAIL_INDICES[0], TAIL_INDICES[1]);
    from * (tail as f64 / count as f64 / alarms).powf(index.recip())
}

#[cfg(test)]
mod tests {
    use stats::Random;

    use super::super::ALARMS_PER_CHECK;
    use super::*;

    /// Classes, rows of each, and spread of its factor and of its rows, as on a busy guest.
    const CLASSES: [(RowClass, usize, f64, f64); 6] = [
        (RowClass::Arithmetic, 4, 0.02, 0.01),
        (RowClass::MemoryBandwidth, 20, 0.03, 0.06),
        (RowClass::ClockReads, 8, 0.005, 0.002),
        (RowClass::MemoryLatency, 12, 0.04, 0.03),
        (RowClass::LineTransfer, 2, 0.2, 0.2),
        (RowClass::Waking, 1, 0.1, 0.0),
    ];

    fn rows() -> Vec<WatchedRow> {
        let of = |(class, count, ..): &(RowClass, usize, f64, f64)| {
            let class = *class;
            (0..*count).map(move |row| WatchedRow { name: format!("{} {row}", class.name()), class })
        };
        CLASSES.iter().flat_map(of).collect()
    }

    /// Student's t of four degrees of freedom: as heavy as what hosts show.
    fn heavy(random: &mut Random) -> f64 {
        let squares: f64 = (0..4).map(|_| random.normal().powi(2)).sum();
        random.normal() / (squares / 4.0).sqrt()
    }

    /// Two check-ups right after each other share half of the variance of each factor, the state of the host.
    fn pair(random: &mut Random) -> [Vec<f64>; 2] {
        let mut runs = [Vec::new(), Vec::new()];
        for (_, count, of_factor, of_row) in CLASSES {
            let shared = heavy(random);
            for run in &mut runs {
                let factor = of_factor * (shared + heavy(random)) * std::f64::consts::FRAC_1_SQRT_2;
                run.extend((0..count).map(|_| factor + of_row * heavy(random)));
            }
        }
        runs
    }

    fn limits(random: &mut Random, runs: usize) -> Limits {
        let runs: Vec<Vec<f64>> = (0..runs).map(|_| pair(random)[0].clone()).collect();
        let logs: Vec<Vec<f64>> =
            (0..rows().len()).map(|row| runs.iter().map(|run| run[row]).collect()).collect();
        Limits::of(&rows(), &logs, ALARMS_PER_CHECK).expect("a whole baseline")
    }

    fn check(limits: &Limits, runs: &[Vec<f64>; 2], planted: &str, log: f64) -> Vec<Departure> {
        let seen = runs.each_ref().map(|run| {
            let moved = |(value, row): (&f64, WatchedRow)| {
                Some(value + if [row.class.name(), &row.name].contains(&planted) { log } else { 0.0 })
            };
            limits.departures(&run.iter().zip(rows()).map(moved).collect::<Vec<_>>())
        });
        confirmed(&seen[0], &seen[1])
    }

    #[test]
    fn unchanged_checks_keep_the_budget_and_planted_changes_are_found() {
        let mut random = Random::new(21);
        let (mut alarms, mut found_class, mut found_row) = (0, 0, 0);
        // Forty baselines, ten checks each: 400 checks, of which a budget of one in 365 allows three with 95 %.
        for _ in 0..40 {
            let limits = limits(&mut random, FEWEST_RUNS);
            for _ in 0..10 {
                let runs = pair(&mut random);
                alarms += usize::from(!check(&limits, &runs, "", 0.0).is_empty());
                let class = check(&limits, &runs, "memory latency", 0.7);
                let is_found = |one: &Departure| one.row.is_none() && one.class == RowClass::MemoryLatency;
                found_class += usize::from(class.iter().any(is_found));
                let row = check(&limits, &runs, "clock reads 3", 0.1);
                found_row += usize::from(row.iter().any(|one| one.row.as_deref() == Some("clock reads 3")));
            }
        }
        assert!(alarms <= 3, "{alarms} of 400 unchanged checks");
        assert!(found_class >= 320, "a class twice as slow: {found_class} of 400");
        assert!(found_row >= 360, "a row 10 % slower: {found_row} of 400");
    }

    #[test]
    fn few_runs_and_holes_set_no_limits_and_what_is_missing_is_not_judged() {
        let mut random = Random::new(5);
        let one = [WatchedRow { name: "a".to_owned(), class: RowClass::Waking }];
        let logs = |count: usize| vec![(0..count).map(|run| run as f64 * 1e-4).collect::<Vec<f64>>()];
        assert!(Limits::of(&one, &logs(FEWEST_RUNS - 1), 0.01).is_none());
        assert!(Limits::of(&one, &[vec![f64::NAN; FEWEST_RUNS]], 0.01).is_none());
        assert!(Limits::of(&[], &[], 0.01).is_none());
        let quiet = Limits::of(&one, &logs(FEWEST_RUNS), 0.01).expect("whole");
        assert!(quiet.departures(&[None]).is_empty() && quiet.departures(&[]).is_empty());
        assert_eq!(quiet.departures(&[Some(0.5)]).len(), 1);
        let wide = limits(&mut random, FEWEST_RUNS);
        assert!(wide.departures(&vec![None; rows().len()]).is_empty());
        assert_eq!(wide.smallest_by_class().count(), CLASSES.len());
    }

    #[test]
    fn a_departure_counts_only_if_the_next_check_shows_it_the_same_way() {
        let departure = |log: f64| Departure { row: None, class: RowClass::Waking, log, limit: 0.1 };
        assert_eq!(confirmed(&[departure(0.2)], &[departure(0.3)]).len(), 1);
        assert!(confirmed(&[departure(0.2)], &[departure(-0.3)]).is_empty());
        assert!(confirmed(&[departure(0.2)], &[]).is_empty());
    }
}
