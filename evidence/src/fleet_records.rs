//! `cargo evidence fleet-records`: records of many nodes made of a few real ones, to see what size does.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use fleet::node::{ENDING, NodeName};
use kernels::random::SplitMix64;
use record::{Encoding, Record, encode};

use crate::{Broken, records};

/// Records of many nodes, made of real ones: names, boots and seeds differ, latencies by half a percent
///
/// Writes them as `sidestep run --drop` does. They are for measuring time, memory and sizes; no fault is planted in them.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Real records, taken in turns
    #[arg(required = true)]
    records: Vec<PathBuf>,
    /// The drop directory
    #[arg(long, value_name = "DIR")]
    drop: PathBuf,
    /// So many nodes
    #[arg(long, default_value_t = 10_000)]
    nodes: u32,
    /// Leave the raw windows out, as whoever keeps years of records does
    #[arg(long)]
    without_raw: bool,
}

/// Half of the range of the factor on all latencies of a node.
const SPREAD: f64 = 0.005;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Broken> {
    let bases: Vec<Record> =
        arguments.records.iter().map(|file| records::read(file)).collect::<anyhow::Result<_>>()?;
    let mut random = SplitMix64::new(24);
    let mut bytes_written = 0;
    for number in 0..arguments.nodes {
        let mut record = bases[number as usize % bases.len()].clone();
        let name = NodeName::parse(&format!("n{number:05}"))?;
        record.provenance.node = Some(name.to_string());
        record.provenance.seed = random.next_u64();
        record.provenance.boot_id = Some(format!("{:016x}", random.next_u64()));
        if arguments.without_raw {
            record.raw.clear();
        }
        let factor = 1.0 + SPREAD * (random.next_u64() as f64 / u64::MAX as f64 * 2.0 - 1.0);
        for cell in &mut record.memory.latency {
            cell.ns *= factor;
            cell.spread.interval = cell.spread.interval.map(|end| end * factor);
        }
        let folder = arguments.drop.join(name.folder());
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let bytes = encode(&record, Encoding::Zstd)?;
        bytes_written += bytes.len();
        fs::write(folder.join(record.provenance.run_name() + ENDING), bytes)?;
    }
    println!("{} records, {bytes_written} bytes", arguments.nodes);
    Ok(Broken::new())
}
