//! `sidestep fleet plan`: the script, playbook or manifest that measures every node, printed and not run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use fleet::inventory::Inventory;
use fleet::node::NodeName;
use fleet::plan::{Engine, Nodes, Plan, PlannedNode, node_list, script};

use crate::check_up::RunArguments;
use crate::gate_flags::parsed_alone;
use crate::options::{Global, Names, one_of};
use crate::outcome::Outcome;
use crate::recording::seed_of_now;
use crate::{output, store};

/// Nodes of a rack at a time, where racks are known.
const AT_ONCE: usize = 4;
/// Where no rack is known: this part of all nodes.
const PART_AT_ONCE: usize = 10;
/// What a node is measured by where nothing else is said.
const QUICK: &str = "--quick";
/// An inventory of a hundred thousand nodes has a few megabytes.
const INVENTORY_BYTES_MAX: u64 = 64 << 20;

const AFTER_HELP: &str = "\
Options of sidestep run follow --; without them --quick. Each node is measured alone, in random order, a few of a rack at a time; the \
node that fails stops no other. Job arrays are not used: they measured some nodes twice and others never.

An inventory is a file of CSV with a column node, and rack where that is known; sidestep fleet check reads the same file.";

/// Options of `fleet plan`.
#[derive(Debug, Clone, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct PlanArguments {
    /// What will run the check-ups
    #[arg(long, value_name = "ENGINE", value_parser = one_of(ENGINES))]
    engine: Engine,
    /// The directory that all nodes share and drop their records to, an absolute path; of Kubernetes a folder of each node
    #[arg(long, value_name = "DIR")]
    drop: PathBuf,
    /// These nodes, such as n[001-128,130],gpu-[1-4]
    #[arg(long, value_name = "LIST", value_parser = parse_nodes)]
    nodes: Option<NodeList>,
    /// The nodes of this file, or of them those of --nodes, with their racks
    #[arg(long, value_name = "FILE")]
    inventory: Option<PathBuf>,
    /// Slurm: this partition in place of the default one; without --nodes all nodes that it has when the script runs
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// So many nodes of a rack at a time: 4; where no rack is known, a tenth of all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    at_once: Option<u32>,
    /// Kubernetes: the image that holds sidestep
    #[arg(long, value_name = "IMAGE", default_value = concat!("sidestep:", env!("CARGO_PKG_VERSION")))]
    image: String,
    /// Fix the order
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Options of sidestep run
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

/// What will run the check-ups.
const ENGINES: Names<Engine> = &[
    (Engine::Slurm, "slurm", "A script that submits a job for each node"),
    (Engine::Ansible, "ansible", "A playbook"),
    (Engine::Kubernetes, "kubernetes", "A Job for each node"),
];

/// The nodes of a list.
#[derive(Debug, Clone)]
struct NodeList(Vec<NodeName>);

fn parse_nodes(text: &str) -> Result<NodeList, String> {
    node_list(text).map(NodeList).map_err(|why| why.to_string())
}

/// Prints the plan.
pub(super) fn plan(arguments: &PlanArguments, global: &Global) -> anyhow::Result<Outcome> {
    anyhow::ensure!(
        arguments.drop.is_absolute(),
        "--drop {} is relative, and every node would mean another place; give an absolute path",
        arguments.drop.display()
    );
    let drop = arguments.drop.to_str().context("--drop is no UTF-8; choose another name")?.to_owned();
    let options = run_options(&arguments.options)?;
    let nodes = nodes(arguments)?;
    let plan = Plan {
        engine: arguments.engine,
        at_once: at_once(arguments, &nodes),
        nodes,
        partition: arguments.partition.clone(),
        drop,
        options,
        image: arguments.image.clone(),
        seed: arguments.seed.unwrap_or_else(seed_of_now),
    };
    let text = script(&plan)?;
    if !global.quiet {
        output::print(&text)?;
    }
    Ok(Outcome::Done)
}

/// Options of `run` that it takes, and that are left to each node.
fn run_options(given: &[String]) -> anyhow::Result<Vec<String>> {
    if given.is_empty() {
        return Ok(vec![QUICK.to_owned()]);
    }
    let own = |word: &String| {
        ["--drop", "--node", "--record", "--repeat", "--experiment", "--arm"]
            .iter()
            .any(|option| word == option || word.starts_with(&format!("{option}=")))
    };
    if let Some(word) = given.iter().find(|word| own(word)) {
        anyhow::bail!("{word} is not for every node alike; leave it out after --");
    }
    let words = ["sidestep", "run"].into_iter().map(str::to_owned).chain(given.iter().cloned());
    parsed_alone::<RunArguments>("run", words.map(Into::into)).map_err(|error| {
        let line =
            error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        anyhow::anyhow!("sidestep run does not take {}: {line}", given.join(" "))
    })?;
    Ok(given.to_vec())
}

fn at_once(arguments: &PlanArguments, nodes: &Nodes) -> usize {
    let default = match nodes {
        Nodes::Listed(nodes) if nodes.iter().all(|node| node.rack.is_none()) => {
            nodes.len().div_ceil(PART_AT_ONCE).max(AT_ONCE)
        }
        _ => AT_ONCE,
    };
    arguments.at_once.map_or(default, |count| count as usize)
}

/// The nodes that are named, with their racks.
fn nodes(arguments: &PlanArguments) -> anyhow::Result<Nodes> {
    let asked = arguments.nodes.as_ref().map(|NodeList(names)| names);
    let Some(file) = &arguments.inventory else {
        return Ok(asked.map_or(Nodes::All, |names| {
            Nodes::Listed(names.iter().map(|name| PlannedNode { name: name.clone(), rack: None }).collect())
        }));
    };
    let unusable = || format!("cannot use {} as an inventory", file.display());
    let found = with_racks(inventory(file)?).with_context(unusable)?;
    let Some(asked) = asked else { return Ok(Nodes::Listed(found)) };
    let known: BTreeMap<&str, &PlannedNode> = found.iter().map(|node| (node.name.as_str(), node)).collect();
    let with_rack = |name: &NodeName| {
        let node = known.get(name.as_str()).map(|node| (*node).clone());
        node.with_context(|| format!("{} does not name {name}", file.display()))
    };
    Ok(Nodes::Listed(asked.iter().map(with_rack).collect::<anyhow::Result<_>>()?))
}

/// An inventory: a file of CSV with a column node.
///
/// # Errors
/// It cannot be read, or has no such column.
pub(super) fn inventory(file: &Path) -> anyhow::Result<Inventory> {
    let bytes = store::read_bounded(file, INVENTORY_BYTES_MAX, "list of nodes")?;
    Inventory::parse(&String::from_utf8_lossy(&bytes)).with_context(|| {
        let name = file.display();
        format!("the first line of {name} names no column node; write such as node,rack,slot")
    })
}

/// Nodes and racks of an inventory, in its order.
fn with_racks(inventory: Inventory) -> anyhow::Result<Vec<PlannedNode>> {
    let rack = inventory.column("rack");
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for (index, (node, fields)) in inventory.nodes.into_iter().enumerate() {
        let name = NodeName::parse(&node).with_context(|| format!("row {}", index + 1))?;
        anyhow::ensure!(seen.insert(node), "it names {name} twice");
        found.push(PlannedNode { name, rack: rack.and_then(|rack| fields.into_iter().nth(rack)?) });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inventory_gives_racks_in_its_order_and_its_faults_are_named() {
        let text = "slot,\"node\",Rack\n0,n2,r1\n\n1,\"n1\",\n2,n3\n";
        let parsed = |text: &str| with_racks(Inventory::parse(text).expect("a column of nodes"));
        let racks = parsed(text).expect("an inventory");
        let facts: Vec<(&str, Option<&str>)> =
            racks.iter().map(|node| (node.name.as_str(), node.rack.as_deref())).collect();
        assert_eq!(facts, [("n2", Some("r1")), ("n1", None), ("n3", None)]);
        for (text, expected) in [("node\nn1\n../x\n", "row 2"), ("node\nn1\nn1\n", "names n1 twice")] {
            let why = format!("{:#}", parsed(text).expect_err(text));
            assert!(why.contains(expected), "{why}");
        }
    }

    #[test]
    fn options_of_run_are_tried_before_ten_thousand_nodes_refuse_them() {
        let given = |text: &str| run_options(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(given("").expect("the default"), ["--quick"]);
        assert_eq!(given("--budget 30s --only cores").expect("options of run").len(), 4);
        for (text, expected) in [
            ("--quik", "does not take --quik"),
            ("--quick --node n1", "--node is not for every node alike"),
            ("--drop=x", "--drop=x is not for every node alike"),
        ] {
            let why = given(text).expect_err(text).to_string();
            assert!(why.contains(expected) && !why.contains('\n'), "{why}");
        }
    }
}
