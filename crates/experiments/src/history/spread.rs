//! How far runs of an unchanged machine lie apart, by class.

use std::collections::BTreeMap;

use record::HistoryEntry;
use stats::{mean, median, sample_variance};

/// The spread of one class between runs, as standard deviations of logarithms in percent.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassSpread {
    /// The class.
    pub class: String,
    /// Rows that are in every run.
    pub rows: usize,
    /// Median over the rows.
    pub row_percent: f64,
    /// Of what the rows of a run have in common.
    pub class_percent: f64,
}

/// The spread of each class; empty for fewer than two runs.
pub fn spread(runs: &[HistoryEntry]) -> Vec<ClassSpread> {
    let Some(first) = runs.first().filter(|_| runs.len() > 1) else { return Vec::new() };
    let mut classes: BTreeMap<&str, Vec<Vec<f64>>> = BTreeMap::new();
    for (name, row) in &first.rows {
        let logs: Option<Vec<f64>> = runs
            .iter()
            .map(|run| Some(run.rows.get(name)?.value.ln()).filter(|log| log.is_finite()))
            .collect();
        if let Some(logs) = logs {
            let mean = mean(&logs);
            classes.entry(&row.class).or_default().push(logs.iter().map(|log| log - mean).collect());
        }
    }
    let percent = |variance: f64| variance.sqrt().exp_m1() * 100.0;
    let deviation = |logs: &Vec<f64>| percent(sample_variance(logs));
    classes
        .into_iter()
        .map(|(class, rows)| {
            let of_run = |run: usize| median(&rows.iter().map(|row| row[run]).collect::<Vec<f64>>());
            let factors: Vec<f64> = (0..runs.len()).filter_map(of_run).collect();
            ClassSpread {
                class: class.to_owned(),
                rows: rows.len(),
                row_percent: median(&rows.iter().map(deviation).collect::<Vec<f64>>()).unwrap_or(0.0),
                class_percent: deviation(&factors),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use record::{Better, HistoryRow};

    use super::*;

    #[test]
    fn the_spread_of_a_class_is_that_of_what_its_rows_share() {
        let run = |values: [f64; 3]| HistoryEntry {
            rows: values
                .iter()
                .enumerate()
                .map(|(index, value)| {
                    let class = if index < 2 { "latency" } else { "waking" };
                    let (class, unit, better) = (class.to_owned(), "ns".to_owned(), Better::Lower);
                    (format!("row {index}"), HistoryRow { class, unit, better, value: *value })
                })
                .collect(),
            ..HistoryEntry::default()
        };
        let found = spread(&[run([1.0, 4.0, 10.0]), run([1.1, 4.4, 10.0])]);
        let shown: Vec<(&str, usize, f64)> = found
            .iter()
            .map(|one| (one.class.as_str(), one.rows, (one.class_percent * 10.0).round()))
            .collect();
        assert_eq!(shown, [("latency", 2, 70.0), ("waking", 1, 0.0)]);
        assert!(spread(&[run([1.0; 3])]).is_empty());
    }
}
