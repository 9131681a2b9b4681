//! Unchanged runs to compare: quantiles of the windows of many check-ups, three epochs a run, or records.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use experiments::compare::{
    Cell, Configuration, Coordinates, Sample, SourceKind, Test, Weight, configuration_of_record,
};
use machine::Bytes;
use record::Better;
use stats::{Interval, RowClass};

use crate::records;
use crate::window_quantiles::WindowQuantiles;

/// One check-up stands for one epoch; so many make a run.
pub(super) const EPOCHS: usize = 3;

/// What a Zen 4 serves from where: blocks up to these sizes are of the first, second and third level. What lies between the third and
/// the last is of either, as guests share it.
const LEVELS: [(Bytes, &str); 3] = [(Bytes(32 << 10), "L1"), (Bytes(1 << 20), "L2"), (Bytes(16 << 20), "L3")];

/// A row per translation buffer: pages up to which it serves the chain.
const WALKS: [(u64, &str); 2] = [(64, "miss of TLB level 1"), (2048, "miss of TLB level 2")];

/// What one series is in a record.
struct Place {
    test: String,
    class: RowClass,
    level: Option<&'static str>,
    better: Better,
    at: Coordinates,
}

/// One series: its place, and the estimate of each epoch.
struct Epochs {
    place: Place,
    values: Vec<f64>,
}

/// All runs of one file or folder.
pub(super) struct Saved {
    pub(super) name: String,
    runs: Vec<Configuration>,
}

/// What is planted into one run: the factor of the cost, by class and name of the row.
pub(super) type Planted<'p> = &'p dyn Fn(RowClass, &str) -> f64;

/// Reads a file of windows' quantiles, or a folder of records in the order of their names.
pub(super) fn read(path: &Path) -> anyhow::Result<Saved> {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let runs = if path.is_dir() { records(path)? } else { quantiles(path)? };
    anyhow::ensure!(runs.len() > 1, "{} holds fewer than two runs", path.display());
    Ok(Saved { name, runs })
}

/// Every record in the folder, or in a folder of it.
fn records(folder: &Path) -> anyhow::Result<Vec<Configuration>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    let files = paths.into_iter().map(|path| if path.is_dir() { path.join("record.json") } else { path });
    let is_record = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "json") && file.exists();
    let one = |file: PathBuf| {
        let record = records::read(&file)?;
        Ok(configuration_of_record(&file.display().to_string(), &record))
    };
    files.filter(is_record).map(one).collect()
}

/// Runs made of the check-ups of a file that `extract.py` made, packed by gzip.
fn quantiles(path: &Path) -> anyhow::Result<Vec<Configuration>> {
    let recorded = WindowQuantiles::read(path)?;
    let mut series = Vec::new();
    for (name, found) in &recorded.rows {
        let Some(place) = place(name) else { continue };
        let wanted = quantile_of(place.class);
        let at = recorded.place_of(wanted);
        let at = at.with_context(|| format!("{} lacks the quantile {wanted}", path.display()))?;
        let values = found.at(at).with_context(|| format!("{name} lacks the quantile {wanted}"))?;
        if values.iter().all(|value| *value > 0.0) {
            series.push(Epochs { place, values });
        }
    }
    let epochs = series.iter().map(|one| one.values.len()).min().context("no series is known")?;
    Ok((0..epochs / EPOCHS).map(|index| of_epochs(&series, index)).collect())
}

/// The quantile that is stable between runs, by class (METHODOLOGY.md, True between runs).
fn quantile_of(class: RowClass) -> f64 {
    match class {
        RowClass::CoreLatency | RowClass::SharedCacheLatency | RowClass::MemoryLatency => 0.05,
        RowClass::PageWalks => 0.1,
        RowClass::LineTransfer | RowClass::Waking => 0.25,
        _ => 0.5,
    }
}

/// Where a series of that name stands in a record; `None` for what no row is made of.
fn place(name: &str) -> Option<Place> {
    let parts: Vec<&str> = name.split(", ").collect();
    let cpu = |text: &str| text.trim_start_matches("CPU ").split(' ').next()?.parse::<u64>().ok();
    let first = |test: String, class, better, at| Some(Place { test, class, level: None, better, at });
    match *parts.first()? {
        "latency" => {
            let (block, stride) = (size(parts.get(2)?, "block ")?, size(parts.get(3)?, "stride ")?);
            let level = level(block);
            let class = match level {
                "L1" | "L2" => RowClass::CoreLatency,
                "L3" => RowClass::SharedCacheLatency,
                _ => RowClass::MemoryLatency,
            };
            let test = format!("latency, {}", parts[1].trim_end_matches(" asked for"));
            Some(Place { test, class, level: Some(level), better: Better::Lower, at: [block.0, stride.0] })
        }
        "bandwidth" if parts.get(2) == Some(&"1 CPUs") => {
            let block = size(parts.get(3)?, "block ")?;
            let level = level(block);
            let class = match level {
                "L1" | "L2" => RowClass::CacheBandwidth,
                "L3" => RowClass::SharedCacheBandwidth,
                _ => RowClass::MemoryBandwidth,
            };
            Some(Place {
                test: parts[1].to_owned(),
                class,
                level: Some(level),
                better: Better::Higher,
                at: [block.0, 0],
            })
        }
        "stream" => {
            let cpus = parts.get(2)?.trim_start_matches("CPUs ");
            let at = [u64::from(cpus.ends_with('1')), 0];
            first(format!("STREAM {}", parts[1]), RowClass::Stream, Better::Higher, at)
        }
        "walks" if parts.get(1) == Some(&"delta") => {
            let pages: u64 = parts.get(2)?.trim_end_matches(" pages").parse().ok()?;
            let row = WALKS.iter().find(|(most, _)| pages <= *most).map_or("page walk", |(_, row)| row);
            first(row.to_owned(), RowClass::PageWalks, Better::Lower, [pages, 0])
        }
        "line transfer" => {
            first(format!("line by {}", parts.get(2)?), RowClass::LineTransfer, Better::Lower, [0, 1])
        }
        "sharing" => {
            let at = [cpu(parts.get(2)?)?, 0];
            first(format!("beside another CPU, {}", parts[1]), RowClass::Sharing, Better::Lower, at)
        }
        "compute" => {
            let at = [cpu(parts.get(1)?)?, 0];
            first(parts.get(2)?.to_string(), RowClass::Arithmetic, Better::Higher, at)
        }
        "control" if parts.get(2) == Some(&"multiply") => {
            first("core clock".to_owned(), RowClass::CoreClock, Better::Lower, [cpu(parts.get(1)?)?, 0])
        }
        wake if wake.starts_with("wake-up") => {
            let us = wake.split("after ").nth(1)?.trim_end_matches(" us").parse().ok()?;
            first("waking a CPU".to_owned(), RowClass::Waking, Better::Lower, [us, 0])
        }
        _ => None,
    }
}

fn size(text: &str, before: &str) -> Option<Bytes> {
    let (number, unit) = text.strip_prefix(before)?.split_once(' ')?;
    let scale = match unit {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        _ => return None,
    };
    Some(Bytes((number.parse::<f64>().ok()? * f64::from(scale)) as u64))
}

fn level(block: Bytes) -> &'static str {
    LEVELS.iter().find(|(most, _)| block <= *most).map_or("memory", |(_, level)| level)
}

impl Saved {
    /// So many runs.
    pub(super) fn count(&self) -> usize {
        self.runs.len()
    }

    /// One run, with changes planted into its rows.
    pub(super) fn run(&self, index: usize, planted: Planted<'_>) -> Configuration {
        let mut run = self.runs[index].clone();
        for test in &mut run.tests {
            for cell in test.cells.values_mut() {
                let Some(class) = cell.class else { continue };
                let level = cell.level.as_ref();
                let row = level.map_or_else(|| test.name.clone(), |level| format!("{}, {level}", test.name));
                let factor = planted(class, &row);
                let samples =
                    cell.samples.iter().map(|sample| costlier(sample, test.better, factor)).collect();
                cell.samples = samples;
            }
        }
        run
    }

    /// Several runs as one configuration.
    pub(super) fn side(&self, name: &str, runs: &[usize], planted: Planted<'_>) -> Configuration {
        let mut runs = runs.iter().map(|index| self.run(*index, planted));
        let mut side = runs.next().expect("a side has a run");
        runs.for_each(|run| side.absorb(run));
        Configuration { name: name.to_owned(), ..side }
    }
}

/// A sample whose every window cost so many times as much.
fn costlier(sample: &Sample, better: Better, factor: f64) -> Sample {
    let scale = if better == Better::Lower { factor } else { 1.0 / factor };
    Sample {
        value: sample.value * scale,
        interval: sample.interval.map(|own| Interval { low: own.low * scale, high: own.high * scale }),
        core_cycles: sample.core_cycles.map(|cycles| cycles * factor),
        ..*sample
    }
}

/// One run: the median of its epochs, with the variance between them.
fn of_epochs(series: &[Epochs], index: usize) -> Configuration {
    let mut tests: Vec<Test> = Vec::new();
    for Epochs { place, values } in series {
        let epochs = &values[index * EPOCHS..(index + 1) * EPOCHS];
        let at = tests.iter().position(|test| test.name == place.test).unwrap_or_else(|| {
            tests.push(test(place));
            tests.len() - 1
        });
        let sample = Sample {
            epoch_variance: Some(variance_of_mean_log(epochs)),
            ..Sample::plain(stats::median(epochs).unwrap_or(f64::NAN))
        };
        let level = place.level.map(str::to_owned);
        tests[at].cells.insert(place.at, Cell { level, class: Some(place.class), samples: vec![sample] });
    }
    Configuration {
        name: format!("run {index}"),
        kind: SourceKind::Record,
        runs: 1,
        starts_utc: vec![format!("run {index}")],
        taken_shares: Vec::new(),
        facts: vec![experiments::compare::Fact { name: "hypervisor".to_owned(), value: "KVM".to_owned() }],
        cautions: Vec::new(),
        tests,
    }
}

fn test(place: &Place) -> Test {
    Test {
        name: place.test.clone(),
        group: if place.class == RowClass::Arithmetic { "controls" } else { "saved" }.to_owned(),
        unit: "as saved".to_owned(),
        better: place.better,
        weight: Weight::Micro,
        control: place.class == RowClass::Arithmetic,
        cells: BTreeMap::new(),
    }
}

fn variance_of_mean_log(values: &[f64]) -> f64 {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    stats::sample_variance(&logs) / logs.len() as f64
}
