//! Averages of a table: the article's mean of symmetric differences with its floor, and the signed geometric mean.

use std::collections::BTreeMap;

use machine::did_you_mean;
use record::ComparisonAverage;
use stats::{Interval, Knowledge};

use super::CompareError;
use super::difference::as_percent;
use super::rows::Judged;

/// Level of the interval of the geometric mean.
const LEVEL: f64 = 0.95;

/// Seed of its resamples: equal rows give equal intervals.
const SEED: u64 = 1;

/// Mean of |x| of a standard normal x: sqrt(2 / pi).
const MEAN_MAGNITUDE: f64 = 0.797_884_560_802_865_4;

/// The average of all rows, those without a group, and one per group, candidate by candidate.
pub(super) fn averages(rows: &[Judged], without: &[String]) -> Result<Vec<ComparisonAverage>, CompareError> {
    let groups = distinct(rows.iter().map(|row| row.row.group.as_str()));
    if let Some(wanted) = without.iter().find(|wanted| !groups.contains(&wanted.as_str())) {
        return Err(CompareError::NoGroup {
            wanted: wanted.clone(),
            hint: did_you_mean(wanted, groups.iter().copied()),
            groups: groups.join(", "),
        });
    }
    let mut averages = Vec::new();
    for candidate in distinct(rows.iter().map(|row| row.row.candidate.as_str())) {
        let of: Vec<&Judged> = rows.iter().filter(|row| row.row.candidate == candidate).collect();
        let mut add = |group: String, keep: &dyn Fn(&Judged) -> bool| {
            let kept: Vec<&Judged> = of.iter().copied().filter(|row| keep(row)).collect();
            averages.extend(average(group, candidate, &kept));
        };
        add("all".to_owned(), &|_| true);
        for name in without {
            add(format!("without:{name}"), &|row| row.row.group != *name);
        }
        for group in &groups {
            add((*group).to_owned(), &|row| row.row.group == *group);
        }
    }
    Ok(averages)
}

fn distinct<'s>(names: impl Iterator<Item = &'s str>) -> Vec<&'s str> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The interval of the mean log over the rows; `None` where the spread of a row is not known.
///
/// Rows of records are not a sample of tests: those of a class move together from run to run, so that a resample of rows would
/// call an unchanged machine slower. Their errors add up within a class and in squares between classes.
fn interval(rows: &[&Judged], mean: f64) -> Option<Interval> {
    if rows.iter().all(|row| row.row.knowledge == Knowledge::None) {
        let over_tests = |times: &[u32]| {
            let sum: f64 = times.iter().zip(rows).map(|(times, row)| f64::from(*times) * row.cost_log).sum();
            sum / f64::from(times.iter().sum::<u32>())
        };
        return stats::bca(rows.len(), over_tests, LEVEL, SEED);
    }
    let mut of_classes = BTreeMap::new();
    for row in rows {
        *of_classes.entry(row.class).or_insert(0.0) += row.standard_error?;
    }
    let error = of_classes.values().map(|error: &f64| error.powi(2)).sum::<f64>().sqrt() / rows.len() as f64;
    let reach = stats::STANDARD_ERRORS_OF_95 * error;
    Some(Interval { low: mean - reach, high: mean + reach })
}

fn average(group: String, candidate: &str, rows: &[&Judged]) -> Option<ComparisonAverage> {
    // Expected symmetric difference of a row if nothing differed: the mean magnitude of its error.
    let floors: Option<Vec<f64>> =
        rows.iter().map(|row| Some(100.0 * MEAN_MAGNITUDE * row.standard_error?)).collect();
    let mean_log = mean(rows.iter().map(|row| row.cost_log))?;
    let percent = |log: f64| as_percent(log.exp_m1() * 100.0);
    Some(ComparisonAverage {
        group,
        candidate: candidate.to_owned(),
        rows: rows.len(),
        symmetric_percent: as_percent(mean(rows.iter().map(|row| row.row.symmetric_percent))?),
        floor_percent: floors.and_then(|floors| mean(floors.into_iter())).map(as_percent),
        geometric_percent: percent(mean_log),
        geometric_interval: interval(rows, mean_log).map(|ends| ends.map(percent)),
    })
}
