//! What runs differ by when nothing has changed, and which differences exceed it.
//!
//! An interval of one run says how well that run knows its own number. The next run of the same machine has another page layout, other
//! neighbours and another clock, and differs by more, row by row by factors of 2,000. So the unit here is the whole run. How far
//! runs spread comes from earlier runs of the machine, else from the runs compared, else from the shipped [`prior_of`] the
//! class of the row; few runs of one row borrow from the rows of its class (`moderation`).
//!
//! Rows of a class move together, as one cause moves them. So what all rows of a class share is tested first, against
//! its own spread between runs. Classes that show something are found under one rate of false alarms (Benjamini and Hochberg),
//! their rows under that rate times the share of classes found (Benjamini and Bogomolov, Journal of the Royal
//! Statistical Society B 76, 2014): many rows of many classes do not blunt each other.

mod equal_cpus;
mod memory;
mod moderation;
mod prior;
mod spreads;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Comparison, Interval, LEVEL_OF_ALARMS, benjamini_hochberg, mean, student_quantile, student_two_sided,
};
pub use equal_cpus::{BEYOND_RUNS, equal_latencies, equal_rates, two_runs_of_latency};
use moderation::distribution;
pub use moderation::{Variance, moderated};
pub use prior::{Host, RowClass};
use prior::{MANY_RUNS, prior_of};
pub use spreads::{ClassSpread, class_spreads};

/// Fewer degrees of freedom do not tell a spread: two runs of each side, or three of one.
const FEWEST_DEGREES: usize = 2;

/// Runs are not normal: however well a spread is known, tails are taken to be Student's with these degrees where the smaller side has
/// one run, two, or more. A mean of several has lighter tails. The least that keeps unchanged runs of a quiet and of a busy guest below 5 %.
const TAIL_DEGREES: [f64; 3] = [5.0, 8.0, 15.0];

/// Differences between runs below this matter to nobody, however closely earlier runs happen to agree: 2 %.
pub const SMALLEST_SPREAD: f64 = 0.02;

/// So many standard deviations of single runs may one more run lie from the middle of so many, at this level, by Student's t.
pub fn next_run_reach(level: f64, runs: usize) -> f64 {
    let degrees = u32::try_from(runs).unwrap_or(u32::MAX).saturating_sub(1);
    student_quantile(level, degrees) * (1.0 + (runs as f64).recip()).sqrt()
}

fn tail_degrees(runs: usize) -> f64 {
    TAIL_DEGREES[runs.clamp(1, TAIL_DEGREES.len()) - 1]
}

/// What is known of a row's spread between runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Knowledge {
    /// Earlier runs of the machine.
    History,
    /// The runs compared, several of each side.
    Replicates,
    /// The shipped table, for the class of the row.
    Prior,
    /// Nothing; or the spread was not between runs.
    #[default]
    None,
}

impl Knowledge {
    /// The word, as it stands in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::History => "history",
            Self::Replicates => "replicates",
            Self::Prior => "prior",
            Self::None => "none",
        }
    }
}

/// One row of a comparison: logarithms of costs, one per run.
#[derive(Debug, Clone, PartialEq)]
pub struct RowRuns {
    pub class: RowClass,
    pub sides: [Vec<f64>; 2],
    /// Earlier runs of the machine in one order for all rows; NaN where a run lacks the row.
    pub history: Vec<f64>,
    /// Variance of each side's mean as the runs themselves state it; 0 if they state none.
    pub within: [f64; 2],
    /// True for a row that nothing compared can touch: it is no member of the family, nor of its class.
    pub control: bool,
}

/// A difference with its error: of a row, or of what the rows of a class share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Logarithm of the second side's cost over the first's.
    pub log_ratio: f64,
    /// Its standard error, from the spread between runs.
    pub standard_error: f64,
    /// Degrees of freedom of that error.
    pub degrees: u32,
    /// Probability of such a difference from nothing.
    pub p: f64,
    /// The same among all classes and rows.
    pub q: f64,
    pub knowledge: Knowledge,
}

/// What the rows of a class share.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassDifference {
    pub class: RowClass,
    /// Its rows, as indices of what was given.
    pub rows: Vec<usize>,
    /// How far all of them moved.
    pub difference: Difference,
}

/// All differences.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Differences {
    /// One per row, in the order given; `q` of a control is among the controls.
    pub rows: Vec<Difference>,
    /// One per class of two rows or more that are no controls.
    pub classes: Vec<ClassDifference>,
    /// What all classes of memory share, where there are two or more.
    pub memory: Option<MemoryDifference>,
}

/// What the classes of memory share.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryDifference {
    /// Its rows, as indices of what was given.
    pub rows: Vec<usize>,
    /// How far all of them moved.
    pub difference: Difference,
}

impl Difference {
    fn new(log_ratio: f64, variance: Variance, runs: usize, knowledge: Knowledge) -> Self {
        let degrees = variance.degrees.floor().clamp(1.0, tail_degrees(runs)) as u32;
        let standard_error = variance.value.sqrt();
        let p = student_two_sided(log_ratio / standard_error, degrees);
        Self { log_ratio, standard_error, degrees, p, q: 1.0, knowledge }
    }

    /// The same as a comparison of so many runs a side, from which verdict and forecast are taken.
    pub fn comparison(&self, runs: usize) -> Comparison {
        let about = |level: f64| {
            let reach = student_quantile(level, self.degrees) * self.standard_error;
            Some(Interval { low: self.log_ratio - reach, high: self.log_ratio + reach }.map(f64::exp))
        };
        Comparison {
            ratio: self.log_ratio.exp(),
            interval: about(1.0 - LEVEL_OF_ALARMS),
            equivalence_interval: about(1.0 - 2.0 * LEVEL_OF_ALARMS),
            p: self.p,
            pairs: runs,
        }
    }
}

/// The differences of all rows and classes, each against its spread between runs.
pub fn between_runs(rows: &[RowRuns], host: Host) -> Differences {
    let mut members: BTreeMap<(RowClass, bool), Vec<usize>> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        members.entry((row.class, row.control)).or_default().push(index);
    }
    let parts: Vec<ClassParts> =
        members.iter().map(|((class, _), members)| ClassParts::of(*class, members, rows)).collect();
    let common = moderated_over_classes(&parts, host);
    let mut found = vec![None; rows.len()];
    let mut classes = Vec::new();
    for (part, common) in parts.iter().zip(common.iter().copied()) {
        let own = moderated_over_rows(part, &parts, host);
        for ((index, own), whole) in part.rows.iter().zip(own).zip(&part.whole) {
            let spreads = RowSpreads { common, own, whole: *whole };
            found[*index] = Some(row_difference(&rows[*index], part, spreads, host));
        }
        if !rows[part.rows[0]].control {
            classes.push(class_difference(part, common, rows, &found, host));
        }
    }
    let mut found: Vec<Difference> = found.into_iter().flatten().collect();
    controls_among_themselves(rows, &mut found);
    let mut memory = memory::of_memory(&parts, &common, &classes, rows, host);
    hierarchy(&mut found, &mut classes, memory.as_mut());
    let classes = classes.into_iter().filter(|one| one.rows.len() > 1).collect();
    Differences { rows: found, classes, memory }
}

fn log_ratio(row: &RowRuns) -> f64 {
    mean(&row.sides[1]) - mean(&row.sides[0])
}

/// Variance of the difference of the sides' means, in variances of one run.
fn per_run(row: &RowRuns) -> f64 {
    row.sides.iter().map(|side| 1.0 / side.len() as f64).sum()
}

fn fewest_runs(row: &RowRuns) -> usize {
    row.sides.iter().map(Vec::len).min().unwrap_or(0)
}

/// The place of earlier runs among a row's groups: behind its two sides.
const HISTORY: usize = 2;

/// The runs of a row about the mean of their group: first side, second side, earlier ones; NaN where there is none.
fn about_their_means(row: &RowRuns) -> [Vec<f64>; 3] {
    let centred = |group: &[f64]| -> Vec<f64> {
        let known: Vec<f64> = group.iter().copied().filter(|value| value.is_finite()).collect();
        if known.len() < 2 {
            return vec![f64::NAN; group.len()];
        }
        let centre = mean(&known);
        group.iter().map(|value| value - centre).collect()
    };
    [centred(&row.sides[0]), centred(&row.sides[1]), centred(&row.history)]
}

/// Squares of what is known over its degrees of freedom, and where most of it is from.
fn spread(groups: &[Vec<f64>; 3]) -> (Variance, Knowledge) {
    let known = groups.each_ref().map(|group| group.iter().filter(|value| value.is_finite()).count());
    let [a, b, history] = known.map(|count| count.saturating_sub(1));
    let degrees = (a + b + history) as f64;
    let squares: f64 =
        groups.iter().flatten().filter(|value| value.is_finite()).map(|value| value * value).sum();
    let knowledge = match a + b + history {
        ..FEWEST_DEGREES => Knowledge::None,
        _ if history >= a + b => Knowledge::History,
        _ => Knowledge::Replicates,
    };
    (Variance { value: if degrees > 0.0 { squares / degrees } else { 0.0 }, degrees }, knowledge)
}

/// The runs of a class taken apart: what its rows share, run by run, and what is left of each.
struct ClassParts {
    class: RowClass,
    rows: Vec<usize>,
    /// One per row: a row that spreads less weighs more. They sum to 1.
    weights: Vec<f64>,
    common: (Variance, Knowledge),
    /// The same run by run: first side, second side, earlier ones, about the mean of each.
    common_runs: [Vec<f64>; 3],
    own: Vec<(Variance, Knowledge)>,
    /// The spread of each row as it is, what it shares with its class included, moderated over the rows.
    whole: Vec<Variance>,
}

impl ClassParts {
    fn of(class: RowClass, members: &[usize], rows: &[RowRuns]) -> Self {
        let runs: Vec<[Vec<f64>; 3]> = members.iter().map(|index| about_their_means(&rows[*index])).collect();
        let whole: Vec<Variance> = runs.iter().map(|groups| spread(groups).0).collect();
        let of_class =
            distribution(&whole.iter().copied().filter(|one| one.degrees > 0.0).collect::<Vec<_>>());
        let whole: Vec<Variance> =
            whole.iter().map(|own| of_class.map_or(*own, |class| moderated(*own, class))).collect();
        let weights = weights(whole.iter().map(|one| one.value));
        let common = [0, 1, HISTORY].map(|group| common_by_run(&runs, &weights, group));
        let single = members.len() == 1;
        let own = runs
            .iter()
            .map(|groups| {
                let mut left = groups.clone();
                for (group, common) in left.iter_mut().zip(&common).filter(|_| !single) {
                    group.iter_mut().zip(common).for_each(|(value, common)| *value -= common);
                }
                spread(&left)
            })
            .collect();
        let rows = members.to_vec();
        Self { class, rows, weights, common: spread(&common), common_runs: common, own, whole }
    }

    fn is_single(&self) -> bool {
        self.rows.len() == 1
    }
}

/// Weights that sum to 1. By the standard deviation, not the variance: what happens to look quiet must not speak for all.
fn weights(variances: impl Iterator<Item = f64>) -> Vec<f64> {
    let of = |variance: f64| if variance > 0.0 { variance.sqrt().recip() } else { 1.0 };
    let weights: Vec<f64> = variances.map(of).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// The common factor of each run of one group; NaN for a run that has none of the rows.
fn common_by_run(runs: &[[Vec<f64>; 3]], weights: &[f64], group: usize) -> Vec<f64> {
    let count = runs.iter().map(|groups| groups[group].len()).max().unwrap_or(0);
    (0..count)
        .map(|run| {
            let (mut sum, mut weight) = (0.0, 0.0);
            for (groups, own) in runs.iter().zip(weights) {
                if let Some(value) = groups[group].get(run).filter(|value| value.is_finite()) {
                    sum += own * value;
                    weight += own;
                }
            }
            sum / weight
        })
        .collect()
}

/// Other classes are worth no more degrees of freedom than this beside a class's own: each has causes of its own.
const DEGREES_OF_OTHER_CLASSES: f64 = 4.0;

/// The spread of every class's common factor, moderated over the classes, each in units of its prior; `None` where nothing but the prior
/// is known.
fn moderated_over_classes(parts: &[ClassParts], host: Host) -> Vec<Option<Variance>> {
    let unit = |part: &ClassParts| {
        let prior = prior_of(part.class, host);
        if part.is_single() { prior.row.powi(2) } else { prior.common.powi(2) }
    };
    let known = |part: &&ClassParts| part.common.1 != Knowledge::None;
    let in_units: Vec<Variance> = parts
        .iter()
        .filter(known)
        .map(|part| Variance { value: part.common.0.value / unit(part), ..part.common.0 })
        .collect();
    let of_all = distribution(&in_units)
        .map(|all| Variance { degrees: all.degrees.min(DEGREES_OF_OTHER_CLASSES), ..all });
    let moderate = |part: &ClassParts| {
        let all = of_all.map(|all| Variance { value: all.value * unit(part), ..all });
        let found = all.map_or(part.common.0, |all| moderated(part.common.0, all));
        // Other classes may make it look surer, not smaller.
        let least = part.common.0.value.max(least_of_states(part, host));
        Variance { value: found.value.max(least), ..found }
    };
    parts.iter().map(|part| Some(part).filter(known).map(moderate)).collect()
}

/// What the common factor of a class with states spreads by at least.
fn least_of_states(part: &ClassParts, host: Host) -> f64 {
    let prior = prior_of(part.class, host);
    if has_unseen_states(part, host) { prior.common.powi(2) } else { 0.0 }
}

/// What a row of such a class spreads by at least.
fn least_of_a_row_with_states(part: &ClassParts, host: Host) -> f64 {
    if has_unseen_states(part, host) { prior_of(part.class, host).row.powi(2) } else { 0.0 }
}

/// Whether a class has states that its few runs may not have met.
fn has_unseen_states(part: &ClassParts, host: Host) -> bool {
    prior_of(part.class, host).has_states && part.common.0.degrees < MANY_RUNS as f64
}

/// What is left of each row of a class, moderated over its rows, or over all rows in units of their priors where it has too few.
fn moderated_over_rows(part: &ClassParts, parts: &[ClassParts], host: Host) -> Vec<Variance> {
    let known = |part: &ClassParts, unit: f64| -> Vec<Variance> {
        let own = part.own.iter().filter(|own| own.1 != Knowledge::None && !part.is_single());
        own.map(|own| Variance { value: own.0.value / unit, ..own.0 }).collect()
    };
    let unit = |part: &ClassParts| prior_of(part.class, host).row.powi(2);
    let of_class = distribution(&known(part, 1.0)).or_else(|| {
        let all: Vec<Variance> = parts.iter().flat_map(|one| known(one, unit(one))).collect();
        distribution(&all).map(|all| Variance { value: all.value * unit(part), ..all })
    });
    part.own.iter().map(|own| of_class.map_or(own.0, |class| moderated(own.0, class))).collect()
}

/// Degrees of freedom of a sum of two variances (Satterthwaite 1946).
fn sum(a: Variance, b: Variance) -> Variance {
    let value = a.value + b.value;
    let parts = a.value.powi(2) / a.degrees + b.value.powi(2) / b.degrees;
    Variance { value, degrees: if parts > 0.0 { value.powi(2) / parts } else { a.degrees.min(b.degrees) } }
}

/// What is known of a row's spread: what its class shares, what is left of it, and the two as the row itself shows them.
#[derive(Clone, Copy)]
struct RowSpreads {
    common: Option<Variance>,
    own: Variance,
    whole: Variance,
}

impl RowSpreads {
    /// Rows of a class are seldom of one kind: one that keeps still where its class moves owes what is left of it to the class's
    /// motion, and the sum counts that motion twice. So the row's own runs may make it smaller, but not smaller than `least`, which a
    /// class with states has.
    fn joined(&self, common: Variance, least: f64) -> Variance {
        let parts = sum(common, self.own);
        let smaller = if self.whole.value < parts.value { self.whole } else { parts };
        Variance { value: smaller.value.max(least), ..smaller }
    }
}

fn row_difference(row: &RowRuns, part: &ClassParts, spreads: RowSpreads, host: Host) -> Difference {
    let prior = prior_of(part.class, host);
    let (variance, knowledge) = match spreads.common {
        Some(common) if part.is_single() => (common, part.common.1),
        Some(common) if spread(&about_their_means(row)).1 != Knowledge::None => {
            (spreads.joined(common, least_of_a_row_with_states(part, host)), part.common.1)
        }
        _ => (Variance { value: prior.row.powi(2), degrees: prior.degrees }, Knowledge::Prior),
    };
    let value = (variance.value * per_run(row)).max(row.within[0] + row.within[1]);
    Difference::new(log_ratio(row), Variance { value, ..variance }, fewest_runs(row), knowledge)
}

fn class_difference(
    part: &ClassParts,
    common: Option<Variance>,
    rows: &[RowRuns],
    found: &[Option<Difference>],
    host: Host,
) -> ClassDifference {
    let of = |index: usize| found[index].expect("the rows of a class are judged before it");
    let (class, members) = (part.class, part.rows.clone());
    if let [only] = members.as_slice() {
        return ClassDifference { class, difference: of(*only), rows: members };
    }
    let prior = prior_of(class, host);
    let (variance, knowledge) = common.map_or_else(
        || (Variance { value: prior.common.powi(2), degrees: prior.degrees }, Knowledge::Prior),
        |common| (common, part.common.1),
    );
    let weighted = |value: &dyn Fn(usize) -> f64| {
        members.iter().zip(&part.weights).map(|(index, weight)| weight * value(*index)).sum::<f64>()
    };
    let stated: f64 = (members.iter().zip(&part.weights))
        .map(|(index, weight)| weight.powi(2) * rows[*index].within.iter().sum::<f64>())
        .sum();
    let value = (variance.value * weighted(&|index| per_run(&rows[index]))).max(stated);
    let log_ratio = weighted(&|index| of(index).log_ratio);
    let runs = members.iter().map(|index| fewest_runs(&rows[*index])).min().unwrap_or(1);
    let difference = Difference::new(log_ratio, Variance { value, ..variance }, runs, knowledge);
    ClassDifference { class, rows: members, difference }
}

/// Controls are a family of their own, in which not one false alarm may be: it would cast doubt on all rows.
fn controls_among_themselves(rows: &[RowRuns], found: &mut [Difference]) {
    let controls: Vec<usize> = (0..rows.len()).filter(|index| rows[*index].control).collect();
    let p_values: Vec<f64> = controls.iter().map(|index| found[*index].p).collect();
    for (index, q) in controls.into_iter().zip(crate::holm(&p_values)) {
        found[index].q = q;
    }
}

/// Memory as a whole and the classes first, then the rows of classes that show something.
fn hierarchy(
    found: &mut [Difference],
    classes: &mut [ClassDifference],
    memory: Option<&mut MemoryDifference>,
) {
    let adjusted: Vec<Vec<f64>> = classes
        .iter()
        .map(|class| benjamini_hochberg(&class.rows.iter().map(|row| found[*row].p).collect::<Vec<_>>()))
        .collect();
    // A class shows something if all of it moved, or a row: two looks, each at half the rate.
    let looks: Vec<f64> = classes.iter().map(|class| if class.rows.len() > 1 { 2.0 } else { 1.0 }).collect();
    let p_values: Vec<f64> = (classes.iter().zip(&adjusted).zip(&looks))
        .map(|((class, rows), looks)| rows.iter().copied().fold(class.difference.p, f64::min) * looks)
        .chain(memory.as_ref().map(|memory| memory.difference.p))
        .collect();
    let of_class = benjamini_hochberg(&p_values);
    let selected = of_class.iter().filter(|q| **q <= LEVEL_OF_ALARMS).count().max(1);
    let times = p_values.len() as f64 / selected as f64;
    if let Some(memory) = memory {
        memory.difference.q = of_class.last().copied().unwrap_or(1.0);
    }
    for (((class, adjusted), q), looks) in classes.iter_mut().zip(adjusted).zip(of_class).zip(looks) {
        let within = |p: f64| (p * times).min(1.0).max(q);
        class.difference.q = within(class.difference.p * looks);
        for (row, adjusted) in class.rows.iter().zip(adjusted) {
            found[*row].q = within(adjusted);
        }
    }
}

#[cfg(test)]
mod tests;
