//! How far earlier runs spread, by class of rows, as a comparison takes it from them.

use std::collections::BTreeMap;

use super::{Host, Knowledge, RowClass, RowRuns, between_runs};

/// The spread between single runs of a class of rows: standard deviations of logarithms.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassSpread {
    /// The class.
    pub class: RowClass,
    /// Its rows.
    pub rows: usize,
    /// That of its widest row.
    pub widest_row: f64,
    /// That of what all its rows share.
    pub whole: f64,
}

/// The spread of each class that earlier runs show: `history` has the class of each row, and its logarithms in earlier runs.
pub fn class_spreads(history: &[(RowClass, Vec<f64>)], host: Host) -> Vec<ClassSpread> {
    let rows: Vec<RowRuns> = history
        .iter()
        .map(|(class, earlier)| RowRuns {
            class: *class,
            sides: [vec![0.0], vec![0.0]],
            history: earlier.clone(),
            within: [0.0; 2],
            control: false,
        })
        .collect();
    let found = between_runs(&rows, host);
    let mut members: BTreeMap<RowClass, Vec<usize>> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        members.entry(row.class).or_default().push(index);
    }
    // One run against one has twice the variance of a run.
    let of_one = |standard_error: f64| standard_error / 2.0_f64.sqrt();
    let spread = |(class, own): (RowClass, Vec<usize>)| {
        let known = own.iter().map(|index| found.rows[*index]);
        let known = known.filter(|row| row.knowledge == Knowledge::History);
        let widest_row = of_one(known.map(|row| row.standard_error).reduce(f64::max)?);
        let shared = found.classes.iter().find(|one| one.class == class);
        let whole = shared.map_or(widest_row, |shared| of_one(shared.difference.standard_error));
        Some(ClassSpread { class, rows: own.len(), widest_row, whole })
    };
    members.into_iter().filter_map(spread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn classes_have_the_spread_of_their_runs_and_what_no_run_shows_has_none() {
        let mut random = Random::new(5);
        let mut run = || -> Vec<f64> { (0..12).map(|_| 0.004 * random.normal()).collect() };
        let mut history: Vec<(RowClass, Vec<f64>)> = (0..4).map(|_| (RowClass::CoreLatency, run())).collect();
        history.push((RowClass::Stream, vec![f64::NAN, 1.0, f64::INFINITY]));
        let found = class_spreads(&history, Host::Guest);
        let [core] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((core.class, core.rows), (RowClass::CoreLatency, 4));
        assert!((0.001..0.008).contains(&core.widest_row) && core.whole < core.widest_row, "{core:?}");
        assert!(class_spreads(&[], Host::BareMetal).is_empty());
    }
}
