//! What all classes of memory share: the first question about a change of kernel or microcode is whether memory as a whole is slower.
//!
//! Each class counts by what its rows share, run by run, weighted by how still it keeps. The sum over the classes of one run has
//! a spread between runs of its own, which holds however much the classes move together.

use super::moderation::Variance;
use super::{
    ClassDifference, ClassParts, Difference, FEWEST_DEGREES, HISTORY, Host, Knowledge, MemoryDifference,
    RowRuns, fewest_runs, per_run, prior_of, spread, weights,
};

/// The difference of memory as a whole; `None` for fewer than two classes. `common` is the spread of each part's common factor,
/// `classes` are the differences of the parts that are no controls.
pub(super) fn of_memory(
    parts: &[ClassParts],
    common: &[Option<Variance>],
    classes: &[ClassDifference],
    rows: &[RowRuns],
    host: Host,
) -> Option<MemoryDifference> {
    let members: Vec<(&ClassParts, Option<Variance>, &ClassDifference)> = parts
        .iter()
        .zip(common)
        .filter_map(|(part, common)| {
            let class = classes.iter().find(|class| class.rows == part.rows)?;
            part.class.is_memory().then_some((part, *common, class))
        })
        .collect();
    if members.len() < 2 {
        return None;
    }
    let prior = |part: &ClassParts| prior_of(part.class, host).common.powi(2);
    let weights =
        weights(members.iter().map(|(part, common, _)| common.map_or(prior(part), |one| one.value)));
    let weighted = |value: &dyn Fn(usize) -> f64| -> f64 {
        weights.iter().enumerate().map(|(index, weight)| weight * value(index)).sum()
    };
    let log_ratio = weighted(&|index| members[index].2.difference.log_ratio);
    let together: [Vec<f64>; 3] = [0, 1, HISTORY].map(|group| {
        let count = members.iter().map(|(part, ..)| part.common_runs[group].len()).min().unwrap_or(0);
        (0..count).map(|run| weighted(&|index| members[index].0.common_runs[group][run])).collect()
    });
    let (own, found) = spread(&together);
    let of_class = |index: usize| members[index].2.difference.standard_error;
    let all: Vec<usize> = members.iter().flat_map(|(part, ..)| part.rows.iter().copied()).collect();
    let runs = all.iter().map(|row| fewest_runs(&rows[*row])).min().unwrap_or(1);
    let is_known = found != Knowledge::None && own.degrees >= FEWEST_DEGREES as f64;
    let (variance, knowledge) = if is_known {
        let per_run = weighted(&|index| per_run(&rows[members[index].0.rows[0]]));
        (Variance { value: own.value * per_run, ..own }, found)
    } else {
        // How far the classes move together is unknown: as one, which is the most they can.
        let degrees =
            members.iter().map(|(.., class)| f64::from(class.difference.degrees)).fold(f64::MAX, f64::min);
        (Variance { value: weighted(&of_class).powi(2), degrees }, Knowledge::Prior)
    };
    // No surer than if the classes were independent of each other.
    let independent: f64 =
        weights.iter().enumerate().map(|(index, weight)| (weight * of_class(index)).powi(2)).sum();
    let variance = Variance { value: variance.value.max(independent), ..variance };
    Some(MemoryDifference { rows: all, difference: Difference::new(log_ratio, variance, runs, knowledge) })
}
