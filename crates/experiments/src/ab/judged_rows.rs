//! From a change with its interval to a judged row: what experiments with one toggle and with several share.

use record::{Better, ComparisonRow, ExperimentRow};
use stats::{Comparison, Interval, Verdict, benjamini_hochberg};

use super::subject::{PASSES_PER_BLOCK, RowSpec};

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

/// A row before its family is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Draft {
    row: ExperimentRow,
    /// The change as one of costs: above 1 is slower.
    cost: Comparison,
}

/// True if too many values are no amounts at all for a ratio.
pub(super) fn too_many_zeros(values: &[f64]) -> bool {
    let zeros = values.iter().filter(|value| **value <= 0.0).count();
    zeros as f64 > ZEROS_MAX * values.len() as f64
}

/// The change of `spec`, already widened by what the twin showed.
pub(super) fn draft(spec: &RowSpec, change: Comparison, sides: Sides, candidate: &str) -> Draft {
    let row = ComparisonRow {
        name: spec.name.clone(),
        group: spec.group.clone(),
        unit: spec.unit.clone(),
        better: spec.better,
        candidate: candidate.to_owned(),
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
        control: spec.is_control(),
        knowledge: stats::Knowledge::None,
    };
    let row =
        ExperimentRow { row, ratio: change.ratio, ratio_interval: change.interval, quads: change.pairs };
    Draft { row, cost: as_cost(change, spec.better) }
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

/// Verdicts of a family of rows.
pub(super) fn judge(family: Vec<Draft>, margin: f64) -> Vec<ExperimentRow> {
    let p_values: Vec<f64> = family.iter().map(|draft| draft.row.row.p.unwrap_or(1.0)).collect();
    let q_values = benjamini_hochberg(&p_values);
    let judged = |(Draft { mut row, cost }, q): (Draft, f64)| {
        row.row.q = Some(q);
        row.row.margin_percent = 100.0 * margin;
        row.row.verdict = cost.verdict_in_family(margin, q);
        let further_blocks =
            cost.further_pairs_in_family(margin, q).filter(|_| row.row.verdict == Verdict::Inconclusive);
        row.row.further_runs = further_blocks.map(|blocks| blocks.max(1) * PASSES_PER_BLOCK);
        row
    };
    family.into_iter().zip(q_values).map(judged).collect()
}
