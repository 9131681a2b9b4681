//! What a scheduler is given to measure every node: scripts as text, which nothing here runs.
//!
//! Every node is named, one job each: arrays of jobs measured some nodes twice and others never. Nodes of one rack are measured a few
//! at a time, as a rack under load at once heats and feeds itself, and in random order. The node that fails stops no other.

mod engines;
mod node_list;

use std::collections::BTreeMap;
use std::fmt::Write;

use kernels::random::SplitMix64;
use stats::Order;

use crate::confirm::is_word;
use crate::node::NodeName;
pub use node_list::{NodeListError, node_list};

/// What runs the check-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Slurm,
    Ansible,
    Kubernetes,
}

/// A node that is to be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedNode {
    pub name: NodeName,
    /// Its rack, where that is known.
    pub rack: Option<String>,
}

/// Which nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nodes {
    Listed(Vec<PlannedNode>),
    /// All that the engine has, or that the partition has: the engine lists them when the script runs.
    All,
}

/// What is planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What runs it.
    pub engine: Engine,
    pub nodes: Nodes,
    /// The partition of Slurm that jobs are submitted to; its default one where none is named.
    pub partition: Option<String>,
    /// The drop directory, an absolute path that is the same on every node.
    pub drop: String,
    /// Options of `sidestep run`.
    pub options: Vec<String>,
    /// Nodes of one rack that may be measured at a time.
    pub at_once: usize,
    /// The image that holds sidestep, for Kubernetes.
    pub image: String,
    /// Seed of the order.
    pub seed: u64,
}

/// Why there is no such plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Jobs that are pinned to nodes need their names.
    #[error("the plan requires the names of the nodes; give --nodes LIST or --inventory FILE")]
    NoNames,
    /// Nothing to measure.
    #[error("no node is left to measure; give others with --nodes LIST or --inventory FILE")]
    NoNodes,
    /// A name that stands for something else there, or would be no word.
    #[error("{0:?} is no name that {1} takes for a {2}; give another")]
    NoName(String, &'static str, &'static str),
    /// Partitions are of Slurm.
    #[error("--partition is for --engine slurm alone; leave it out")]
    SlurmAlone,
}

/// A node with the lane it waits in: nodes of one lane are measured one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Placed<'p> {
    node: &'p PlannedNode,
    /// `r3/1`: a number for the rack, and one within it.
    rack: usize,
    lane: usize,
    /// How many nodes of its lane come before it.
    turn: usize,
}

/// The script of a plan.
///
/// # Errors
/// The engine cannot do what was asked.
pub fn script(plan: &Plan) -> Result<String, PlanError> {
    if matches!(&plan.nodes, Nodes::Listed(nodes) if nodes.is_empty()) {
        return Err(PlanError::NoNodes);
    }
    if plan.engine != Engine::Slurm && plan.partition.is_some() {
        return Err(PlanError::SlurmAlone);
    }
    if let Some(name) = plan.partition.as_ref().filter(|names| !names.split(',').all(is_word)) {
        return Err(PlanError::NoName(name.clone(), "Slurm", "partition"));
    }
    match plan.engine {
        Engine::Slurm => Ok(engines::slurm(plan)),
        Engine::Ansible => engines::ansible(plan),
        Engine::Kubernetes => engines::kubernetes(plan),
    }
}

/// Nodes in random order with their lanes, such that those measured first are spread over all racks.
fn placed(nodes: &[PlannedNode], at_once: usize, seed: u64) -> Vec<Placed<'_>> {
    let mut racks: BTreeMap<Option<&str>, Vec<&PlannedNode>> = BTreeMap::new();
    for node in nodes {
        racks.entry(node.rack.as_deref()).or_default().push(node);
    }
    let mut random = SplitMix64::new(seed);
    let mut placed = Vec::with_capacity(nodes.len());
    for (rack, mut members) in racks.into_values().enumerate() {
        random.shuffle(&mut members);
        let place = |(index, node)| Placed { node, rack, lane: index % at_once, turn: index / at_once };
        placed.extend(members.into_iter().enumerate().map(place));
    }
    random.shuffle(&mut placed);
    placed.order_by_key(|one| one.turn);
    placed
}

/// A template with a value in place of each `@NAME@`; what stands in a value stays as it is.
fn filled(template: &str, values: &[(&str, String)]) -> String {
    let mut text = String::new();
    let mut parts = template.split('@');
    text.extend(parts.next());
    while let Some(part) = parts.next() {
        match values.iter().find(|(name, _)| *name == part) {
            Some((_, value)) => {
                text.push_str(value);
                text.extend(parts.next());
            }
            None => text.extend(["@", part]),
        }
    }
    text
}

/// Words as a shell takes them, parted by blanks.
fn shell_words<'w>(words: impl IntoIterator<Item = &'w String>) -> String {
    words.into_iter().map(|word| machine::shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// A text in double quotes, as YAML takes it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            // All of them are below 100h.
            letter if letter.is_control() => _ = write!(out, "\\x{:02x}", u32::from(letter)),
            letter => out.push(letter),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests;
