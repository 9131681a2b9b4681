//! `cargo xtask fleet-evidence`: fleets with planted faults, and healthy ones, through `sidestep fleet check`.

mod peak;
mod real;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use fleet::synthetic::{Noise, Planted, Sinks, Synthetic};
use record::FleetCheck;

use peak::Taken;

use crate::cargo;
use crate::table::head;
use crate::totals::Totals;

/// Fleets that are made up: planted faults found, healthy nodes condemned, seconds and memory
///
/// Prints Markdown tables. Fails if a planted fault is missed, a level is invented, more than one healthy node in 1,000 is called odd, or
/// a busy node is not called busy. With --large: 10,000 nodes of 400 metrics, and fails above 30 seconds or 2 GB.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Fleets of each kind: seeds 0 to N - 1
    #[arg(long, default_value_t = 20)]
    seeds: u64,
    /// Nodes of a fleet with faults
    #[arg(long, default_value_t = 1024)]
    nodes: usize,
    /// Only fleets whose noise is that of these check-ups of machines without a fault
    #[arg(long, value_name = "FILE", num_args = 1..)]
    records: Vec<PathBuf>,
    /// The program, in place of the release build
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Instead: one fleet of 10,000 nodes, for time and memory
    #[arg(long)]
    large: bool,
    /// With --large: so many nodes
    #[arg(long, default_value_t = 10_000, requires = "large")]
    large_nodes: usize,
    /// With --large: without faults, and with 26 busy nodes
    #[arg(long, requires = "large")]
    healthy: bool,
    /// With --large: keep the rows in this folder, which is made, as for another program
    #[arg(long, value_name = "DIR", requires = "large")]
    keep: Option<PathBuf>,
}

const METRICS: usize = 400;
/// Nodes of a healthy fleet, and the busy ones among them.
const HEALTHY: (usize, usize) = (512, 26);
/// Healthy nodes that may be called odd.
const ODD_MAX: f64 = 0.001;
const SECONDS_MAX: f64 = 30.0;
const BYTES_MAX: u64 = 2 << 30;

/// A fleet, what is planted, what was found.
struct Checked {
    planted: Planted,
    found: FleetCheck,
    seconds: f64,
    peak_bytes: u64,
    cpu_s: f64,
}

/// `cargo xtask fleet-evidence`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    if cargo::find("duckdb").is_none() {
        return Ok(Totals::one_skipped("fleet-evidence: no duckdb in PATH; pip install duckdb-cli"));
    }
    if arguments.large {
        return large(arguments);
    }
    let mut totals = Totals::default();
    let fleet = |noise, nodes| Synthetic { noise, ..healthy(nodes) };
    let planted = |noise| Synthetic { is_faulty: true, ..fleet(noise, arguments.nodes) };
    let busy = |shares_known| Synthetic { busy: HEALTHY.1, shares_known, ..healthy(HEALTHY.0) };
    let mut kinds = vec![
        ("planted | normal", planted(Noise::Normal)),
        ("planted | t3", planted(Noise::Heavy)),
        ("none | normal", fleet(Noise::Normal, HEALTHY.0)),
        ("none | t3", healthy(HEALTHY.0)),
        ("none | t3, 26 busy", busy(true)),
        ("none | t3, 26 busy and unrecorded", busy(false)),
    ];
    if !arguments.records.is_empty() {
        kinds.clear();
    }
    if let Some(real) = real::runs(&arguments.records)? {
        let metrics = real.metrics.len();
        let noise = Noise::Real(real);
        let both = [("planted | real", planted(noise.clone())), ("none | real", fleet(noise, HEALTHY.0))];
        kinds.extend(both.map(|(name, fleet)| (name, Synthetic { metrics, ..fleet })));
    } else {
        totals.add(Totals::one_skipped(
            "fleet-evidence: no recorded check-ups in ../shared/prototypes/between-runs",
        ));
    }
    head(
        "faults | noise | fleets | nodes | all found | of these faulty nodes called busy | healthy nodes called odd | levels invented | seconds, median",
    );
    for (name, fleet) in kinds {
        totals.add(kind(arguments, name, &fleet)?);
    }
    Ok(totals)
}

fn healthy(nodes: usize) -> Synthetic {
    Synthetic {
        nodes,
        metrics: METRICS,
        seed: 0,
        noise: Noise::Heavy,
        busy: 0,
        shares_known: true,
        is_faulty: false,
    }
}

/// All fleets of a kind; a row of the table.
fn kind(arguments: &Arguments, name: &str, fleet: &Synthetic) -> anyhow::Result<Totals> {
    let (mut whole, mut busy, mut odd, mut levels) = (0, 0, 0, 0);
    let (mut lines, mut seconds) = (Vec::new(), Vec::new());
    for seed in 0..arguments.seeds {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let checked = one(arguments, &Synthetic { seed, ..fleet.clone() }, folder.path())?;
        let missed = checked.planted.missed(&checked.found);
        let [nodes, invented] = checked.planted.invented(&checked.found);
        whole += usize::from(missed.is_empty());
        busy += checked.planted.busy_instead(&checked.found);
        (odd, levels) = (odd + nodes.len(), levels + invented.len());
        lines.extend(missed.into_iter().map(|line| format!("seed {seed} missed {line}")));
        lines.extend(nodes.into_iter().chain(invented).map(|line| format!("seed {seed} invented {line}")));
        seconds.push(checked.seconds);
    }
    let (nodes, seeds) = (fleet.nodes, arguments.seeds as usize);
    let median = stats::median(&seconds).unwrap_or(f64::NAN);
    println!(
        "| {name} | {seeds} | {nodes} | {whole} of {seeds} | {busy} | {odd} of {} | {levels} | {median:.1} |",
        nodes * seeds
    );
    for line in lines {
        println!("  {line}");
    }
    let holds = whole == seeds && levels == 0 && odd as f64 <= ODD_MAX * (nodes * seeds) as f64;
    Ok(Totals::one(holds, format!("fleet-evidence: {name}")))
}

fn one(arguments: &Arguments, fleet: &Synthetic, folder: &Path) -> anyhow::Result<Checked> {
    let planted = write(fleet, folder)?;
    let program = arguments.program.clone().unwrap_or_else(cargo::sidestep);
    let inventory = folder.join("inventory.csv");
    let started = Instant::now();
    let Taken { printed, peak_bytes, cpu_s } = peak::output(
        std::process::Command::new(&program)
            .args(["fleet", "check", "--json", "--inventory"])
            .arg(&inventory)
            .arg(folder),
    )
    .with_context(|| format!("{} fleet check", program.display()))?;
    let seconds = started.elapsed().as_secs_f64();
    let found = serde_json::from_slice(&printed).context("it printed another document")?;
    Ok(Checked { planted, found, seconds, peak_bytes, cpu_s })
}

fn write(fleet: &Synthetic, folder: &Path) -> anyhow::Result<Planted> {
    let create = |name: String| -> anyhow::Result<BufWriter<File>> {
        let path = folder.join(name);
        Ok(BufWriter::new(File::create(&path).with_context(|| format!("cannot write {}", path.display()))?))
    };
    let [metrics, nodes, states, inventory] = Sinks::files();
    let (mut metrics, mut nodes) = (create(metrics)?, create(nodes)?);
    let (mut states, mut inventory) = (create(states)?, create(inventory)?);
    let mut sinks =
        Sinks { metrics: &mut metrics, nodes: &mut nodes, states: &mut states, inventory: &mut inventory };
    let planted = fleet.write(&mut sinks)?;
    [metrics, nodes, states, inventory].iter_mut().try_for_each(Write::flush)?;
    Ok(planted)
}

fn large(arguments: &Arguments) -> anyhow::Result<Totals> {
    let temporary = tempfile::tempdir().context("cannot make a temporary folder")?;
    let folder = arguments.keep.clone().unwrap_or_else(|| temporary.path().to_owned());
    std::fs::create_dir_all(&folder)?;
    let busy = if arguments.healthy { HEALTHY.1 } else { 0 };
    let fleet = Synthetic { is_faulty: !arguments.healthy, busy, ..healthy(arguments.large_nodes) };
    let checked = one(arguments, &fleet, &folder)?;
    let bytes = std::fs::metadata(folder.join("metrics.ndjson"))?.len();
    let missed = checked.planted.missed(&checked.found);
    let [odd, levels] = checked.planted.invented(&checked.found);
    head(
        "nodes | metrics | NDJSON, MB | seconds | CPU seconds | peak, MB | missed | healthy nodes called odd | levels invented",
    );
    println!(
        "| {} | {METRICS} | {} | {:.1} | {:.1} | {} | {} | {} | {} |",
        fleet.nodes,
        bytes >> 20,
        checked.seconds,
        checked.cpu_s,
        checked.peak_bytes >> 20,
        missed.len(),
        odd.len(),
        levels.len()
    );
    for line in &missed {
        println!("  missed {line}");
    }
    for line in odd.iter().chain(&levels) {
        println!("  invented {line}");
    }
    let mut totals = Totals::one(missed.is_empty() && levels.is_empty(), "fleet-evidence: large fleet");
    totals.add(Totals::one(
        odd.len() as f64 <= ODD_MAX * fleet.nodes as f64,
        "fleet-evidence: healthy nodes of a large fleet",
    ));
    if fleet.nodes <= 10_000 {
        totals.add(Totals::one(
            checked.seconds <= SECONDS_MAX,
            format!("fleet-evidence: {:.1} s", checked.seconds),
        ));
        totals.add(Totals::one(
            checked.peak_bytes <= BYTES_MAX,
            format!("fleet-evidence: {} bytes", checked.peak_bytes),
        ));
    }
    Ok(totals)
}
