//! `cargo xtask guard-evidence`: a guard replayed on recorded check-ups of an unchanged machine: alarms, and planted changes.
//!
//! The data are quantiles of the windows of every series, run by run. A check is two runs that follow each other, as the guard
//! confirms what it finds at once.

use std::path::{Path, PathBuf};

use anyhow::Context;
use experiments::guard::{ALARMS_PER_CHECK, Departure, FEWEST_RUNS, Limits, WatchedRow, confirmed};

use crate::cargo;
use crate::flags::Flags;
use crate::totals::Totals;
use crate::window_quantiles::WindowQuantiles;

/// The rest of `cargo xtask guard-evidence --help`.
pub const HELP: &str = "  --data FILE  quantiles of recorded check-ups (json.gz), default both of ../shared/prototypes/between-runs

Prints Markdown tables: for baselines of 20, 25 and 30 runs the alarms among unchanged checks, the smallest change of each class
that a check can show, and the share of planted changes of 3, 5, 10, 20 and 50 % that are found. Fails if more than one in a hundred
of all unchanged checks raises an alarm.
";

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
pub fn run(arguments: &[String]) -> anyhow::Result<Totals> {
    let flags = Flags::parse(arguments, &["--data"], &[])?;
    let folder = cargo::root().join("../shared/prototypes/between-runs");
    let files: Vec<PathBuf> = match flags.value("--data") {
        Some(file) => vec![file.into()],
        None => ["quick60.json.gz", "busy45.json.gz"].map(|name| folder.join(name)).to_vec(),
    };
    let (mut totals, mut checks, mut alarms) = (Totals::default(), 0, 0);
    for file in files {
        if !file.exists() {
            totals.add(Totals::one_skipped(format!("guard-evidence: no {}", file.display())));
            continue;
        }
        let data = read(&file)?;
        println!("\n{}: {} rows", file.file_name().unwrap_or_default().display(), data.rows.len());
        for runs in BASELINES {
            let (of_checks, of_alarms) = replay(&data, runs)?;
            (checks, alarms) = (checks + of_checks, alarms + of_alarms);
        }
    }
    if checks > 0 {
        let holds = alarms as f64 <= ALARMS_MAX * checks as f64;
        totals
            .add(Totals::one(holds, format!("guard-evidence: {alarms} alarms in {checks} unchanged checks")));
    }
    print!("{}", totals.closing());
    Ok(totals)
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
fn class(name: &str) -> (&str, f64) {
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
    println!("| class | rows | smallest shown % | found of 3, 5, 10, 20, 50 %, in % |\n|---|---|---|---|");
    for (class, smallest) in limits.smallest_by_class() {
        let found = PLANTED.map(|percent| {
            let is_found = |run: &usize| {
                check(*run, class, percent).iter().any(|one| one.row.is_none() && one.class == class)
            };
            let found = first_runs.clone().filter(is_found).count();
            format!("{:.0}", 100.0 * found as f64 / checks.max(1) as f64)
        });
        let rows = data.rows.iter().filter(|row| row.class == class).count();
        println!("| {class} | {rows} | {:.0} | {} |", smallest.exp_m1() * 100.0, found.join(", "));
    }
    Ok((checks, alarms))
}
