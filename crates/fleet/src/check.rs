//! Which nodes of a fleet are odd, which levels of factors explain differences, which states are a minority's.
//!
//! Numbers are ranked within a stratum and by the fleet's own tails (`stats::Deviations`, `stats::peeled`); states are counted. From
//! one record of each node nothing is called a fault: what stands out is a suspect until it was repeated beside healthy nodes.

mod answer;
mod factors;
mod gathered;
mod node;
mod repeats;
mod stratum;
mod tables;

use record::{FLEET_CHECK_SCHEMA, FleetCheck, FleetMinority, FleetNode, FleetPlace, FleetVerdict};
use regex::Regex;
use stats::{Crossing, Order};

use crate::inventory::Inventory;

use factors::Minority;
pub use gathered::Gathered;
pub(crate) use repeats::HEALTHY;
use stratum::Judged;
use tables::Tables;

/// Fewer quiet nodes than these are not compared.
pub const FEWEST_NODES: usize = 20;
/// From this share of common nodes on two levels hold nearly the same nodes (Jaccard).
const ALIKE: f64 = 0.9;
/// A state is a minority's up to this share of the nodes; of others it is only shown how they are divided.
const RARE: f64 = 0.1;
/// Nodes named of a state.
const EXAMPLES: usize = 5;
/// Levels named as explanations of a state.
const EXPLANATIONS: usize = 3;
/// Families of metrics, after that of all.
const MOST_FAMILIES: usize = 20;
/// Letters of the name of a check: a time without fractions has 16.
const IDENTITY: usize = 16;
/// What all metrics together are called.
const ALL_METRICS: &str = "all metrics";

/// From where it is known in which rack and slot a node is.
#[derive(Debug, Clone)]
pub enum Place {
    /// What the operator says.
    Inventory(Inventory),
    /// Groups in the names of nodes, with the names of their factors.
    Names {
        pattern: Regex,
        /// For each of its groups.
        groups: Vec<String>,
    },
    /// It is not.
    Unknown,
}

impl Place {
    /// By the groups of a pattern; `None` if it has none.
    pub fn of_names(pattern: &Regex) -> Option<Self> {
        let name = |(index, name): (usize, Option<&str>)| {
            name.map_or_else(|| format!("group {index}"), str::to_owned)
        };
        let groups: Vec<String> = pattern.capture_names().enumerate().skip(1).map(name).collect();
        (!groups.is_empty()).then(|| Self::Names { pattern: pattern.clone(), groups })
    }
}

/// Judges the runs of a fleet.
pub fn judge(gathered: &Gathered, place: &Place) -> FleetCheck {
    let mut tables = Tables::of(gathered, place);
    let mut check = FleetCheck {
        schema: FLEET_CHECK_SCHEMA,
        id: identity(&tables),
        rows: tables.rows,
        families: families(&tables),
        nodes: nodes(&tables),
        minorities: minorities(&tables),
        ..FleetCheck::default()
    };
    let deviations = std::mem::take(&mut tables.deviations);
    for (index, deviations) in deviations.into_iter().enumerate() {
        Judged::new(index, &tables, deviations).judge(&mut check);
    }
    check.suspects.order_by(|a, b| b.metrics.cmp(&a.metrics).then_with(|| a.node.cmp(&b.node)));
    check.levels.order_by_key(|level| std::cmp::Reverse(level.nodes * level.metrics));
    check.busy.order_by(|a, b| b.metrics.cmp(&a.metrics).then_with(|| a.node.cmp(&b.node)));
    check.notes = answer::notes(&tables, &check);
    check.verdict = verdict(&check);
    check.sentence = answer::sentence(&check);
    check
}

fn verdict(check: &FleetCheck) -> FleetVerdict {
    let is_odd =
        !check.suspects.is_empty() || !check.levels.is_empty() || check.minorities.iter().any(is_rare);
    if is_odd {
        FleetVerdict::Odd
    } else if check.strata.iter().all(|stratum| stratum.wide_metrics.is_none()) {
        FleetVerdict::CannotTell
    } else {
        FleetVerdict::Uniform
    }
}

/// Whether so few nodes are in a state that it deserves a look.
pub fn is_rare(minority: &FleetMinority) -> bool {
    minority.nodes as f64 <= RARE * minority.of_nodes as f64
}

/// The start of the last run: the same for the same runs, whatever their order, and fit for names of experiments.
fn identity(tables: &Tables) -> String {
    let last = tables.nodes.iter().map(|node| node.row.run.started_utc.as_str()).max().unwrap_or_default();
    last.chars().filter(char::is_ascii_alphanumeric).take(IDENTITY).collect()
}

fn families(tables: &Tables) -> Vec<String> {
    let mut names: Vec<String> = tables.metrics.iter().map(|metric| metric.family.clone()).collect();
    names.sort();
    names.dedup();
    names.truncate(MOST_FAMILIES);
    names.insert(0, ALL_METRICS.to_owned());
    names
}

fn nodes(tables: &Tables) -> Vec<FleetNode> {
    let places = node::places(&tables.nodes);
    let node = |(node, place): (&node::Node, FleetPlace)| FleetNode {
        node: node.row.node.clone(),
        run_id: node.row.run_id.clone(),
        started_utc: node.row.run.started_utc.clone(),
        stratum: node.stratum,
        place,
        is_busy: node.is_busy,
        ..FleetNode::default()
    };
    tables.nodes.iter().zip(places).map(node).collect()
}

fn minorities(tables: &Tables) -> Vec<FleetMinority> {
    let name = |node: &u32| tables.nodes[*node as usize].row.node.clone();
    let minority = |one: &Minority| FleetMinority {
        examples: one.nodes.iter().take(EXAMPLES).map(name).collect(),
        explained_by: explanations(tables, one),
        ..one.about.clone()
    };
    tables.minorities.iter().map(minority).collect()
}

/// Levels of other factors that hold nearly the same nodes as a state does.
fn explanations(tables: &Tables, state: &Minority) -> Vec<String> {
    let members = &state.nodes;
    if members.len() < stats::FEWEST_UNITS {
        return Vec::new();
    }
    let of_states = ["flaw ", "setting "];
    let others = tables.levels.iter().filter(|level| {
        level.stratum == state.about.stratum && !of_states.iter().any(|kind| level.factor.starts_with(kind))
    });
    let alike = others.filter(|level| Crossing::of(&level.nodes, members).likeness() >= ALIKE);
    alike.take(EXPLANATIONS).map(|level| format!("{}={}", level.factor, level.name)).collect()
}

#[cfg(test)]
mod tests;
