//! Real check-ups as the noise of fleets that are made up.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use fleet::rows::{Flattened, Origin, flatten};
use fleet::synthetic::{FEWEST, RealRun, RealRuns};
use record::MetricRow;

use crate::guard_evidence::class;
use crate::window_quantiles::WindowQuantiles;
use crate::{cargo, records};

/// A metric that fewer of the check-ups have is left out.
const SHARE_MIN: f64 = 0.5;

/// Those of `records`, or else 105 recorded ones, 60 of a quiet and 45 of a busy guest; `None` if they are not here.
pub(super) fn runs(records: &[PathBuf]) -> anyhow::Result<Option<RealRuns>> {
    if records.is_empty() { recorded() } else { Ok(Some(of_records(records)?)) }
}

fn of_records(files: &[PathBuf]) -> anyhow::Result<RealRuns> {
    let flat: Vec<Flattened> = files.iter().map(|file| flat(file)).collect::<anyhow::Result<_>>()?;
    // By name, how often it is in which family: a block near the end of a level is in that of either.
    let mut found: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
    for row in flat.iter().flat_map(|run| &run.metrics) {
        *found.entry(name(row)).or_default().entry(&row.family).or_default() += 1;
    }
    found.retain(|_, families| families.values().sum::<usize>() as f64 >= SHARE_MIN * files.len() as f64);
    anyhow::ensure!(
        found.len() >= FEWEST.0,
        "{} metrics are in most of these records, {} are needed",
        found.len(),
        FEWEST.0
    );
    let often = |families: BTreeMap<&str, usize>| {
        families.into_iter().max_by_key(|family| family.1).map(|family| family.0.to_owned())
    };
    let metrics: Vec<(String, String)> =
        found.into_iter().filter_map(|(name, families)| Some((often(families)?, name))).collect();
    let run = |one: &Flattened| {
        let times: BTreeMap<_, _> = one.metrics.iter().map(|row| (name(row), time(row))).collect();
        RealRun {
            shares: [one.node.others_share, one.node.steal_share],
            times: metrics.iter().map(|metric| times.get(&metric.1).copied()).collect(),
        }
    };
    Ok(RealRuns { runs: flat.iter().map(run).collect(), metrics })
}

fn flat(file: &Path) -> anyhow::Result<Flattened> {
    let record = records::read(file)?;
    let origin = Origin { file: "", node: "real" };
    flatten(&record, origin).with_context(|| format!("{} gives no rows", file.display()))
}

/// A metric with the CPUs and the memory it was measured on.
fn name(row: &MetricRow) -> String {
    let memory = row.mem_node.map(|node| format!("/memory={node}")).unwrap_or_default();
    format!("{}/cpu={}{memory}", row.metric, row.cpu.as_deref().unwrap_or("all"))
}

/// More is worse.
fn time(row: &MetricRow) -> f64 {
    if row.higher_is_better { 1.0 / row.estimate } else { row.estimate }
}

fn recorded() -> anyhow::Result<Option<RealRuns>> {
    let folder = cargo::root().join("../shared/prototypes/between-runs");
    let mut parts = Vec::new();
    for name in ["quick60.json.gz", "busy45.json.gz"] {
        let file = folder.join(name);
        if !file.exists() {
            return Ok(None);
        }
        parts.push(WindowQuantiles::read(&file)?);
    }
    let series = |part: &WindowQuantiles, name: &String| -> Option<Vec<f64>> {
        let values = part.rows.get(name)?.at(part.place_of(class(name).1)?)?;
        values.iter().all(|value| *value > 0.0).then_some(values)
    };
    let mut real = RealRuns::default();
    for part in &parts {
        let runs = part.shares().into_iter().map(|shares| RealRun { shares, ..RealRun::default() });
        real.runs.extend(runs);
    }
    for name in parts[0].rows.keys() {
        let Some(values) = parts.iter().map(|part| series(part, name)).collect::<Option<Vec<_>>>() else {
            continue;
        };
        real.metrics.push((class(name).0.to_owned(), name.clone()));
        real.runs.iter_mut().zip(values.concat()).for_each(|(run, value)| run.times.push(Some(value)));
    }
    Ok(Some(real))
}
