//! From a change with its interval to a judged row: what experiments within a boot and across reboots share.

use record::{Better, ComparisonRow};
use stats::{Comparison, Interval, Verdict, benjamini_hochberg};

use super::subject::KeptRow;

/// A row of which more than this share of the values is zero has no ratio: the kernel's counter is too coarse for it.
const ZEROS_MAX: f64 = 0.02;

/// The two values that a change leads from and to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sides {
    /// Without it, and its interval.
    pub a: (f64, Option<Interval>),
    /// With it, and its interval.
    pub b: (f64, Option<Interval>),
    /// Values behind both.
    pub samples: [usize; 2],
}

impl Sides {
    /// The medians of both sides; `None` where one has no value.
    pub(super) fn of(values: [&[f64]; 2]) -> Option<Self> {
        let side = |values: &[f64]| {
            Some((stats::median(values)?, stats::quantile_interval(&stats::sorted(values), 0.5)))
        };
        Some(Self { a: side(values[0])?, b: side(values[1])?, samples: values.map(<[f64]>::len) })
    }
}

/// True if too many values are no amounts at all for a ratio.
pub(super) fn too_many_zeros(values: &[f64]) -> bool {
    let zeros = values.iter().filter(|value| **value <= 0.0).count();
    zeros as f64 > ZEROS_MAX * values.len() as f64
}

/// A row before its family is known.
pub(super) fn draft(row: &KeptRow, change: &Comparison, sides: Sides, candidate: String) -> ComparisonRow {
    let KeptRow { name, group, unit, better, control } = row.clone();
    ComparisonRow {
        name,
        group,
        unit,
        better,
        candidate,
        a: sides.a.0,
        b: sides.b.0,
        a_interval: sides.a.1,
        b_interval: sides.b.1,
        change_percent: percent(change.ratio),
        interval: change.interval.map(|interval| interval.map(percent)),
        symmetric_percent: stats::symmetric_percent(1.0, change.ratio),
        verdict: Verdict::Inconclusive,
        margin_percent: 0.0,
        p: Some(change.p),
        q: None,
        further_runs: None,
        samples: sides.samples,
        paired: true,
        control,
        knowledge: stats::Knowledge::None,
    }
}

/// A ratio as a change in percent.
pub(super) fn percent(ratio: f64) -> f64 {
    100.0 * (ratio - 1.0)
}

/// A change as one of costs: above 1 is slower.
pub(super) fn as_cost(change: Comparison, better: Better) -> Comparison {
    match better {
        Better::Lower => change,
        Better::Higher => Comparison {
            ratio: change.ratio.recip(),
            interval: change.interval.map(|interval| interval.map(f64::recip)),
            equivalence_interval: change.equivalence_interval.map(|interval| interval.map(f64::recip)),
            ..change
        },
    }
}

/// Verdicts of a family of rows, each with its change as one of costs; those without p keep what they have. What is compared are units of
/// so many runs.
pub(super) fn judge(family: Vec<(&mut ComparisonRow, Comparison)>, margin: f64, runs_per_unit: usize) {
    let p_values: Vec<f64> = family.iter().map(|(row, _)| row.p.unwrap_or(1.0)).collect();
    for ((row, cost), q) in family.into_iter().zip(benjamini_hochberg(&p_values)) {
        row.margin_percent = 100.0 * margin;
        if row.p.is_none() {
            continue;
        }
        row.q = Some(q);
        row.verdict = cost.verdict_in_family(margin, q);
        let further = cost.further_pairs_in_family(margin, q);
        let further = further.filter(|_| row.verdict == Verdict::Inconclusive);
        row.further_runs = further.map(|units| units.max(1) * runs_per_unit);
    }
}
