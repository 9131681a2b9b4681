//! What may explain a difference: where nodes are, what they are, how they are set; and the states that few of them are in.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use record::{FleetMinority, NodeRow, StateKind, fact_column_names, word};
use stats::{FEWEST_UNITS, Order, median};

use super::Place;
use super::gathered::{CheckUps, Gathered, Interned, Run};
use super::node::Node;

const RACK: &str = "rack";
const CHASSIS: &str = "chassis";
const NESTED: &str = "rack/chassis";

#[derive(Debug, Clone)]
pub(super) struct Level {
    pub(super) stratum: usize,
    pub(super) factor: String,
    pub(super) name: String,
    /// Ascending.
    pub(super) nodes: Vec<u32>,
}

/// A state of a few, without its examples and what explains it.
#[derive(Debug, Clone)]
pub(super) struct Minority {
    pub(super) about: FleetMinority,
    /// Ascending.
    pub(super) nodes: Vec<u32>,
}

/// Where nodes are.
#[derive(Debug, Default)]
pub(super) struct Places<'p> {
    /// By node its levels, with the names of their factors.
    of_node: BTreeMap<&'p str, Vec<(&'p str, String)>>,
    /// All nodes that should be there.
    nodes: BTreeSet<&'p str>,
}

impl<'p> Places<'p> {
    /// `names` are those of all nodes that have rows.
    pub(super) fn of(place: &'p Place, names: &'p BTreeSet<String>) -> Self {
        let all = || names.iter().map(String::as_str);
        match place {
            Place::Inventory(inventory) => {
                let levels = |fields: &[Option<String>]| {
                    let named = inventory.columns.iter().map(String::as_str).zip(fields);
                    named.filter_map(|(column, field)| Some((column, field.clone()?))).collect()
                };
                // Of two lines of one node the first counts.
                let of_node = inventory.nodes.iter().rev();
                let of_node = of_node.map(|(node, fields)| (node.as_str(), levels(fields)));
                let nodes = inventory.nodes.iter().map(|(node, _)| node.as_str()).collect();
                Self { of_node: of_node.collect(), nodes }
            }
            Place::Names { pattern, groups } => {
                let levels = |node: &str| {
                    let Some(found) = pattern.captures(node) else { return Vec::new() };
                    let named = groups.iter().zip(found.iter().skip(1));
                    let level = |(group, part): (&'p String, Option<regex::Match<'_>>)| {
                        let part = part.filter(|part| !part.is_empty())?;
                        Some((group.as_str(), part.as_str().to_owned()))
                    };
                    named.filter_map(level).collect()
                };
                Self { of_node: all().map(|node| (node, levels(node))).collect(), nodes: all().collect() }
            }
            Place::Unknown => Self { of_node: BTreeMap::new(), nodes: all().collect() },
        }
    }

    /// The level of a node in the first of these factors that it has one in.
    pub(super) fn level(&self, node: &str, factors: &[&str]) -> Option<&str> {
        let levels = self.of_node.get(node)?;
        levels.iter().find(|(factor, _)| factors.contains(factor)).map(|(_, level)| level.as_str())
    }

    pub(super) fn missing(&self, check_ups: &BTreeMap<String, CheckUps>) -> Vec<String> {
        let missing = self.nodes.iter().filter(|node| !check_ups.contains_key(**node));
        missing.map(|node| (*node).to_owned()).collect()
    }

    /// Chassis with their racks, where several racks have chassis of one name.
    fn nested(&self) -> BTreeMap<&str, String> {
        let pair = |node: &&'p str| {
            let level = format!("{}/{}", self.level(node, &[RACK])?, self.level(node, &[CHASSIS])?);
            Some((*node, level))
        };
        let nested: BTreeMap<&str, String> = self.of_node.keys().filter_map(pair).collect();
        let distinct: BTreeSet<&String> = nested.values().collect();
        let chassis: BTreeSet<&str> =
            self.of_node.keys().filter_map(|node| self.level(node, &[CHASSIS])).collect();
        if distinct.len() > chassis.len() { nested } else { BTreeMap::new() }
    }
}

/// Levels of enough nodes, of factors that have several.
pub(super) fn levels(
    gathered: &Gathered,
    latest: &[&Run],
    nodes: &[Node],
    places: &Places<'_>,
) -> Vec<Level> {
    let (nested, mut words) = (places.nested(), Interned::<String>::default());
    let mut of_states: HashMap<(StateKind, u32), u32> = HashMap::new();
    let mut members: HashMap<(usize, u32, u32), Vec<u32>> = HashMap::new();
    for ((index, run), node) in latest.iter().enumerate().zip(nodes) {
        let mut own: Vec<(u32, u32)> = Vec::new();
        let mut add = |words: &mut Interned<String>, factor: &str, level: &str| {
            own.push((words.number(factor.to_owned()), words.number(level.to_owned())));
        };
        for (factor, level) in places.of_node.get(node.row.node.as_str()).into_iter().flatten() {
            add(&mut words, factor, level);
        }
        nested.get(node.row.node.as_str()).into_iter().for_each(|level| add(&mut words, NESTED, level));
        for (factor, level) in facts(&run.row) {
            add(&mut words, factor, &level);
        }
        for state in &run.states {
            let id = gathered.words.of(state.id);
            if matches!(state.kind, StateKind::Setting | StateKind::Flaw) && !run.row.facts.contains_key(id) {
                let factor = *of_states
                    .entry((state.kind, state.id))
                    .or_insert_with(|| words.number(format!("{} {id}", word(&state.kind))));
                own.push((factor, words.number(gathered.words.of(state.value).clone())));
            }
        }
        own.sort_unstable();
        own.dedup();
        for (factor, level) in own {
            members.entry((node.stratum, factor, level)).or_default().push(index as u32);
        }
    }
    let mut counts: HashMap<(usize, u32), usize> = HashMap::new();
    for (stratum, factor, _) in members.keys() {
        *counts.entry((*stratum, *factor)).or_default() += 1;
    }
    let is_tested = |(stratum, factor, _): &(usize, u32, u32), nodes: &Vec<u32>| {
        nodes.len() >= FEWEST_UNITS && counts[&(*stratum, *factor)] > 1
    };
    let tested = members.into_iter().filter(|(level, nodes)| is_tested(level, nodes));
    let level = |((stratum, factor, name), nodes): ((usize, u32, u32), Vec<u32>)| Level {
        stratum,
        factor: words.of(factor).clone(),
        name: words.of(name).clone(),
        nodes,
    };
    let mut levels: Vec<Level> = tested.map(level).collect();
    levels.order_by(|a, b| (a.stratum, &a.factor, &a.name).cmp(&(b.stratum, &b.factor, &b.name)));
    levels
}

/// What a node is, by the names of the columns.
fn facts(row: &NodeRow) -> impl Iterator<Item = (&str, String)> {
    let facts = fact_column_names().filter_map(|name| {
        let value = row.facts.get(name)?;
        Some((name, value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
    });
    facts.chain([("tool_version", row.run.tool_version.clone())])
}

/// States that are not the most frequent of theirs.
pub(super) fn minorities(gathered: &Gathered, latest: &[&Run], nodes: &[Node]) -> Vec<Minority> {
    /// By value its nodes and their rates.
    type Values = HashMap<u32, (Vec<u32>, Vec<f64>)>;
    let mut states: HashMap<(usize, StateKind, u32), Values> = HashMap::new();
    for ((index, run), node) in latest.iter().enumerate().zip(nodes) {
        for state in &run.states {
            let values = states.entry((node.stratum, state.kind, state.id)).or_default();
            let (members, rates) = values.entry(state.value).or_default();
            members.push(index as u32);
            rates.extend(state.rate_ppb);
        }
    }
    let mut minorities = Vec::new();
    for ((stratum, kind, id), values) in states {
        let of_nodes = values.values().map(|(members, _)| members.len()).sum();
        let mut values: Vec<(&String, Vec<u32>, Vec<f64>)> = values
            .into_iter()
            .map(|(value, (members, rates))| (gathered.words.of(value), members, rates))
            .collect();
        values.order_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.0.cmp(b.0)));
        let Some(usual) = values.first().map(|(value, ..)| (*value).clone()) else { continue };
        let about = |state: &String, nodes: &Vec<u32>, rates: &[f64]| FleetMinority {
            kind: word(&kind),
            id: gathered.words.of(id).clone(),
            stratum,
            state: state.clone(),
            usual: usual.clone(),
            nodes: nodes.len(),
            of_nodes,
            rate_ppb: median(rates),
            ..FleetMinority::default()
        };
        let others = values.into_iter().skip(1);
        minorities.extend(
            others.map(|(state, nodes, rates)| Minority { about: about(state, &nodes, &rates), nodes }),
        );
    }
    minorities.order_by(|a, b| place(a).cmp(&place(b)));
    minorities
}

/// Its place in the order of all: the rarest first.
fn place(one: &Minority) -> (usize, usize, &str, &str, &str) {
    let about = &one.about;
    (about.nodes, about.stratum, &about.kind, &about.id, &about.state)
}
