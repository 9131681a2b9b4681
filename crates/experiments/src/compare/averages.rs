//! Averages of a table: the article's mean of symmetric differences with its floor, and the signed geometric mean.

use machine::did_you_mean;
use record::ComparisonAverage;

use super::CompareError;
use super::rows::{Judged, as_percent};

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

fn average(group: String, candidate: &str, rows: &[&Judged]) -> Option<ComparisonAverage> {
    let costs: Vec<f64> = rows.iter().map(|row| row.cost_log).collect();
    // Expected symmetric difference of a row if nothing differed: the mean magnitude of its error.
    let floors: Option<Vec<f64>> =
        rows.iter().map(|row| Some(100.0 * MEAN_MAGNITUDE * row.standard_error?)).collect();
    let over_tests = |times: &[u32]| {
        let sum: f64 = times.iter().zip(&costs).map(|(times, cost)| f64::from(*times) * cost).sum();
        sum / f64::from(times.iter().sum::<u32>())
    };
    let percent = |log: f64| as_percent(log.exp_m1() * 100.0);
    Some(ComparisonAverage {
        group,
        candidate: candidate.to_owned(),
        rows: rows.len(),
        symmetric_percent: as_percent(mean(rows.iter().map(|row| row.row.symmetric_percent))?),
        floor_percent: floors.and_then(|floors| mean(floors.into_iter())).map(as_percent),
        geometric_percent: percent(mean(costs.iter().copied())?),
        geometric_interval: stats::bca(rows.len(), over_tests, LEVEL, SEED).map(|ends| ends.map(percent)),
    })
}
