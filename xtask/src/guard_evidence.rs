//! `cargo xtask guard-evidence`: a guard replayed on recorded check-ups of an unchanged machine: alarms, and planted changes.
//!
//! The data are quantiles of the windows of every series, run by run, or records. A check is two runs that follow each other, as the
//! guard confirms what it finds at once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use experiments::guard::{
    ALARMS_PER_CHECK, Departure, FEWEST_RUNS, Guard, Limits, WatchedRow, allowance, confirmed,
};
use experiments::history::entry;
use record::{GUARD_SCHEMA, GuardBaseline, GuardLedger, GuardVerdict, HistoryEntry};

use crate::cargo;
use crate::records;
use crate::table::{head, percent};
use crate::totals::Totals;
use crate::window_quantiles::WindowQuantiles;

/// A guard on recorded check-ups: alarms from nothing, and planted changes
///
/// Prints Markdown tables: for baselines of 20, 25 and 30 runs the alarms among unchanged checks, the smallest change of each class
/// that a check can show, and the share of planted changes of 3, 5, 10, 20 and 50 % that are found. Fails if more than one in a hundred
/// of all unchanged checks raises an alarm.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Quantiles of recorded check-ups (json.gz); else both of ../shared/prototypes/between-runs
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Instead: records of one unchanged machine, or folders of runs, in this folder, in the order of their names
    #[arg(long, value_name = "DIR", conflicts_with = "data")]
    records: Option<PathBuf>,
    /// So many of the records are the baseline, the others checks
    #[arg(long, default_value_t = FEWEST_RUNS)]
    baseline: usize,
}

const BASELINES: [usize; 3] = [FEWEST_RUNS, 25, 30];
/// Changes planted, in percent.
const PLANTED: [f64; 5] = [3.0, 5.0, 10.0, 20.0, 50.0];
/// Unchanged checks that may raise an alarm: these runs follow each other within minutes, where a budget of one in a year of
/// daily checks cannot be counted.
const ALARMS_MAX: f64 = 0.01;

/// Rows, and the logarithm of each row's value in each run.
struct Data {
    rows: Vec<WatchedRow>,
    logs: Vec<Vec<f64>>,
}

/// `cargo xtask guard-evidence`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    if let Some(folder) = &arguments.records {
        return of_records(folder, arguments.baseline);
    }
    let folder = cargo::root().join("../shared/prototypes/between-runs");
    let both = || ["quick60.json.gz", "busy45.json.gz"].map(|name| folder.join(name)).to_vec();
    let (mut totals, mut checks, mut alarms) = (Totals::default(), 0, 0);
    for file in arguments.data.clone().map_or_else(both, |file| vec![file]) {
        if !file.exists() {
            totals.add(Totals::one_skipped(format!("guard-evidence: no {}", file.display())));
            continue;
        }
        let data = read(&file)?;
        println!("\n{}: {} rows", file.display(), data.rows.len());
        for runs in BASELINES {
            let (of_checks, of_alarms) = replay(&data, runs)?;
            (checks, alarms) = (checks + of_checks, alarms + of_alarms);
        }
    }
    if checks > 0 {
        totals.add(few(alarms, checks));
    }
    Ok(totals)
}

fn few(alarms: usize, checks: usize) -> Totals {
    let line = format!("guard-evidence: {alarms} alarms in {checks} unchanged checks");
    Totals::one(alarms as f64 <= ALARMS_MAX * checks as f64, line)
}

/// Judges each record after the first `runs` by those, with the record after it as the check-up that confirms.
fn of_records(folder: &Path, runs: usize) -> anyhow::Result<Totals> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    let files = paths.into_iter().map(|path| if path.is_dir() { path.join("record.json") } else { path });
    let mut entries = Vec::new();
    // A folder whose run has not ended has no record yet.
    for file in files.filter(|file| file.exists()) {
        entries.push(entry(&records::read(&file)?));
    }
    ensure!(entries.len() > runs + 1, "{} records are too few for a baseline of {runs}", entries.len());
    let checks: Vec<HistoryEntry> = entries.split_off(runs);
    let baseline = GuardBaseline { schema: GUARD_SCHEMA, runs: entries };
    let guard = Guard::new(&baseline, allowance(&[], "")).context("no runs")?;
    let (mut answers, mut alarms, mut beyond) = (BTreeMap::<String, usize>::new(), 0_usize, 0_usize);
    for pair in checks.windows(2) {
        let is_confirming = guard.is_to_be_confirmed(&pair[0]);
        beyond += usize::from(is_confirming);
        // Each is the first check after the baseline: records of minutes are no days of a trend.
        let found = guard.judge(&pair[..=usize::from(is_confirming)], &mut GuardLedger::default());
        *answers.entry(format!("{:?}", found.verdict)).or_default() += 1;
        if found.verdict == GuardVerdict::Changed {
            alarms += 1;
            println!("{}: {}", found.checked_utc, found.sentence);
        }
    }
    let count = checks.len() - 1;
    println!(
        "\nbaseline of {runs}, of which {} busy: {count} checks, {beyond} beyond a limit before confirmation: {}",
        guard.busy_runs(),
        answers.iter().map(|(answer, count)| format!("{count} {answer}")).collect::<Vec<_>>().join(", ")
    );
    for class in guard.classes() {
        println!("{}: {} rows, smallest change {:.0} %", class.class, class.rows, class.smallest_percent);
    }
    Ok(few(alarms, count))
}

fn read(file: &Path) -> anyhow::Result<Data> {
    let recorded = WindowQuantiles::read(file)?;
    let mut data = Data { rows: Vec::new(), logs: Vec::new() };
    for (name, series) in &recorded.rows {
        let (class, wanted) = class(name);
        let at = recorded.place_of(wanted).context("a quantile is not there")?;
        let values = series.at(at).context("a quantile is not there")?;
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        if logs.iter().all(|log| log.is_finite()) {
            data.rows.push(WatchedRow { class: class.to_owned(), name: name.clone() });
            data.logs.push(logs);
        }
    }
    Ok(data)
}

/// The class of a series, and the quantile of its windows that is most stable between runs.
pub(crate) fn class(name: &str) -> (&str, f64) {
    let first = name.split(',').next().unwrap_or(name);
    let first = first.split(" of ").next().unwrap_or(first);
    match first {
        _ if name.starts_with("wake") => ("waking", 0.25),
        _ if first.starts_with("latency") => ("latency", 0.05),
        "bandwidth" | "stream" => ("bandwidth", 0.75),
        "compute" => ("arithmetic", 0.5),
        "line transfer" => (first, 0.25),
        "walks" => (first, 0.1),
        _ => (first, 0.5),
    }
}

/// Checks, and alarms among them.
fn replay(data: &Data, runs: usize) -> anyhow::Result<(usize, usize)> {
    let count = data.logs[0].len();
    let baseline: Vec<Vec<f64>> = data.logs.iter().map(|row| row[..runs.min(count)].to_vec()).collect();
    let limits =
        Limits::of(&data.rows, &baseline, ALARMS_PER_CHECK).context("too few runs for a baseline")?;
    let departures = |run: usize, class: &str, percent: f64| -> Vec<Departure> {
        let value = |(row, logs): (&WatchedRow, &Vec<f64>)| {
            Some(logs[run] + if row.class == class { (percent / 100.0).ln_1p() } else { 0.0 })
        };
        limits.departures(&data.rows.iter().zip(&data.logs).map(value).collect::<Vec<_>>())
    };
    let check = |run: usize, class: &str, percent: f64| {
        confirmed(&departures(run, class, percent), &departures(run + 1, class, percent))
    };
    let first_runs = runs..count - 1;
    let checks = first_runs.len();
    let alarms = first_runs.clone().filter(|&run| !check(run, "", 0.0).is_empty()).count();
    let alone = first_runs.clone().filter(|&run| !departures(run, "", 0.0).is_empty()).count();
    println!(
        "\nbaseline of {runs}: {alarms} alarms in {checks} unchanged checks ({alone} before confirmation)\n"
    );
    head("class | rows | smallest shown % | found of 3, 5, 10, 20, 50 %, in %");
    for (class, smallest) in limits.smallest_by_class() {
        let found = PLANTED.map(|planted| {
            let is_found = |run: &usize| {
                check(*run, class, planted).iter().any(|one| one.row.is_none() && one.class == class)
            };
            format!("{:.0}", percent(first_runs.clone().filter(is_found).count(), checks))
        });
        let rows = data.rows.iter().filter(|row| row.class == class).count();
        println!("| {class} | {rows} | {:.0} | {} |", smallest.exp_m1() * 100.0, found.join(", "));
    }
    Ok((checks, alarms))
}
