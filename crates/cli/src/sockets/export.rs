//! `sidestep sockets export`: a machine with what was measured of it, or a matrix, for other programs: hwloc's XML, or CSV.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use machine::{Core, CoreKind, Cpu, CpuId, Machine, Node, NodeId, Topology};
use models::interconnect::Matrix;
use report::HwlocNumbers;

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
    /// The machine of the matrix, written whole: a recorded one, as directory or tarball with proc/ and sys/; / is this one. A
    /// record has its own; else each node gets one CPU and no memory
    #[arg(long, value_name = "DIR|TARBALL")]
    machine: Option<PathBuf>,
}

/// For which program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// XML, version 2, of the whole machine: lstopo -i FILE --distances --memattrs
    Hwloc,
    /// Rows of numbers, which `sockets infer` reads again
    Csv,
}

/// Prints the matrix in the form asked for.
pub(super) fn export(arguments: &ExportArguments, global: &Global) -> anyhow::Result<Outcome> {
    anyhow::ensure!(!global.json, "--json: sockets export writes --format hwloc or csv; leave one out");
    let text = match arguments.format {
        Format::Csv => report::matrix_csv(&nodes_of(arguments)?.reading.matrix),
        Format::Hwloc => hwloc(arguments)?,
    };
    if !global.quiet {
        output::print(&text)?;
    }
    Ok(Outcome::Done)
}

fn nodes_of(arguments: &ExportArguments) -> anyhow::Result<super::matrix::Given> {
    super::matrix::of_nodes(arguments.matrix.read()?)
}

fn hwloc(arguments: &ExportArguments) -> anyhow::Result<String> {
    let path = arguments.machine.as_ref().or(arguments.matrix.recording());
    let named = path.map(|path| anyhow::Ok(host::describe(&super::matrix::root(path)?, None))).transpose()?;
    let given = match (nodes_of(arguments), &named) {
        (Ok(given), _) => given,
        // A machine of one node, or whose firmware tells no distances, is still a machine.
        (Err(_), Some(machine)) if arguments.matrix.recording().is_some() => {
            return Ok(report::hwloc_xml(machine, None));
        }
        (Err(error), _) => return Err(error),
    };
    let matrix = &given.reading.matrix;
    // A kernel that tells of no nodes has measured all memory as one.
    let measured_here = given.machine.filter(|machine| !machine.topology.nodes.is_empty());
    let machine = match named.or(measured_here) {
        Some(machine) => {
            check_nodes(&machine, matrix)?;
            machine
        }
        None => placeholder(matrix),
    };
    let bandwidth_mb_per_s = given.reading.bandwidth_mb_per_s.as_deref();
    Ok(report::hwloc_xml(&machine, Some(HwlocNumbers { matrix, bandwidth_mb_per_s })))
}

/// A package, a core, a CPU and no memory for each node: enough for hwloc to hang the numbers on.
fn placeholder(matrix: &Matrix) -> Machine {
    let alone = |node: u32| [CpuId(node)].into_iter().collect::<machine::CpuSet>();
    let cpu = |(core_index, node): (usize, &u32)| Cpu {
        id: CpuId(*node),
        core_index,
        package: i64::from(*node),
        die: None,
        module: None,
        node: Some(NodeId(*node)),
        core_kind: CoreKind::Uniform,
        capacity: None,
    };
    let core = |node: &u32| Core { os_index: None, package: i64::from(*node), cpus: alone(*node) };
    let node = |node: &u32| Node {
        id: NodeId(*node),
        cpus: alone(*node),
        memory_bytes: None,
        free_bytes: None,
        distances: Vec::new(),
        attributes: Vec::new(),
        side_caches: Vec::new(),
    };
    let topology = Topology {
        cpus: matrix.nodes.iter().enumerate().map(cpu).collect(),
        cores: matrix.nodes.iter().map(core).collect(),
        nodes: matrix.nodes.iter().map(node).collect(),
        ..Topology::default()
    };
    Machine { topology, ..Machine::default() }
}

/// All nodes of the matrix must be the machine's; a kernel that tells of no nodes has measured all memory as one.
fn check_nodes(machine: &Machine, matrix: &Matrix) -> anyhow::Result<()> {
    let topology = &machine.topology;
    let is_known = |number: &u32| {
        if topology.nodes.is_empty() {
            matrix.nodes.len() == 1
        } else {
            topology.nodes.iter().any(|node| node.id.0 == *number)
        }
    };
    if let Some(number) = matrix.nodes.iter().find(|number| !is_known(number)) {
        anyhow::bail!(
            "--machine has no node {number}, which the matrix names; give the machine of the matrix"
        );
    }
    Ok(())
}
