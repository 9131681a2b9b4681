//! `sidestep sockets export`: a matrix for other programs: hwloc's XML, or CSV.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use machine::{Bytes, CpuId, Machine};
use models::interconnect::Matrix;
use report::HwlocNode;

use super::matrix::MatrixArguments;
use crate::arguments::Global;
use crate::outcome::Outcome;
use crate::output;

/// Options of `sockets export`.
#[derive(Debug, Clone, Args)]
pub(super) struct ExportArguments {
    #[command(flatten)]
    matrix: MatrixArguments,
    /// For which program
    #[arg(long, value_name = "FORMAT", default_value = "hwloc")]
    format: Format,
    /// CPUs and memory of the nodes, from a recorded machine: a directory or tarball with proc/ and sys/; / is this one.
    /// A record has its own; else each node gets one CPU and no memory
    #[arg(long, value_name = "DIR|TARBALL")]
    machine: Option<PathBuf>,
}

/// For which program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// XML, version 2: lstopo -i FILE --distances --memattrs
    Hwloc,
    /// Rows of numbers, which `sockets infer` reads again
    Csv,
}

/// Prints the matrix in the form asked for.
pub(super) fn export(arguments: &ExportArguments, global: &Global) -> anyhow::Result<Outcome> {
    anyhow::ensure!(!global.json, "--json: sockets export writes --format hwloc or csv; leave one out");
    let given = arguments.matrix.read()?;
    let matrix = &given.reading.matrix;
    let text = match arguments.format {
        Format::Csv => report::matrix_csv(matrix),
        Format::Hwloc => {
            let machine = match arguments.machine.as_ref().or(arguments.matrix.recording()) {
                Some(path) => Some(host::describe(&super::matrix::root(path)?, None)),
                // A kernel that tells of no nodes has measured all memory as one.
                None => given.machine.filter(|machine| !machine.topology.nodes.is_empty()),
            };
            let nodes = match machine {
                Some(machine) => of_machine(&machine, matrix)?,
                None => placeholders(matrix),
            };
            report::hwloc_xml(&nodes, matrix, given.reading.bandwidth_mb_per_s.as_deref())
        }
    };
    if !global.quiet {
        output::print(&text)?;
    }
    Ok(Outcome::Done)
}

/// A package, a CPU and no memory for each node: enough for hwloc to hang the numbers on.
fn placeholders(matrix: &Matrix) -> Vec<HwlocNode> {
    let node = |node: &u32| HwlocNode {
        node: *node,
        cpus: [CpuId(*node)].into_iter().collect(),
        memory_bytes: Bytes(0),
        package: Some(i64::from(*node)),
    };
    matrix.nodes.iter().map(node).collect()
}

fn of_machine(machine: &Machine, matrix: &Matrix) -> anyhow::Result<Vec<HwlocNode>> {
    let topology = &machine.topology;
    let node = |number: &u32| {
        let found = topology.nodes.iter().find(|node| node.id.0 == *number);
        let Some(found) = found else {
            anyhow::bail!(
                "--machine has no node {number}, which the matrix names; give the machine of the matrix"
            );
        };
        let mut packages = found.cpus.iter().filter_map(|cpu| Some(topology.cpu(cpu)?.package));
        let first = packages.next();
        Ok(HwlocNode {
            node: *number,
            cpus: found.cpus.clone(),
            memory_bytes: found.memory_bytes.unwrap_or(Bytes(0)),
            package: first.filter(|first| packages.all(|package| package == *first)),
        })
    };
    matrix.nodes.iter().map(node).collect()
}
