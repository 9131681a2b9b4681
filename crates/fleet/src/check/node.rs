//! A node as it is judged: who it is, what disturbed it, and where it stands on the map: the rack, and the place in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use record::{FleetPlace, NodeRow};
use stats::Order;

/// Digits that numbers in names are padded to, so that `n10` stands behind `n9`.
const DIGITS: usize = 20;

#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) stratum: usize,
    /// What its latest check-up says of it.
    pub(super) row: NodeRow,
    pub(super) runs: usize,
    pub(super) is_two_machines: bool,
    pub(super) is_busy: bool,
    pub(super) rack: Option<String>,
    pub(super) chassis: Option<String>,
    pub(super) slot: Option<String>,
}

/// The place of each node. Without racks all stand in one row, by name.
pub(super) fn places(nodes: &[Node]) -> Vec<FleetPlace> {
    let slots: BTreeSet<String> = nodes.iter().filter_map(|node| node.slot.as_deref()).map(natural).collect();
    let slots: Vec<String> = slots.into_iter().collect();
    let mut racks: BTreeMap<&str, (BTreeSet<String>, Vec<usize>)> = BTreeMap::new();
    for (index, node) in nodes.iter().enumerate() {
        let rack = racks.entry(node.rack.as_deref().unwrap_or_default()).or_default();
        rack.0.extend(node.chassis.as_deref().map(natural));
        rack.1.push(index);
    }
    let mut places = vec![FleetPlace::default(); nodes.len()];
    for (rack, (chassis, mut members)) in racks {
        let chassis: Vec<String> = chassis.into_iter().collect();
        members.order_by_key(|index| natural(&nodes[*index].row.node));
        for (order, index) in members.into_iter().enumerate() {
            let slot = rank(&slots, nodes[index].slot.as_deref());
            let chassis =
                if chassis.is_empty() { Some(0) } else { rank(&chassis, nodes[index].chassis.as_deref()) };
            let position = slot.zip(chassis).map_or(order, |(slot, chassis)| chassis * slots.len() + slot);
            places[index] = FleetPlace { rack: rack.to_owned(), position };
        }
    }
    places
}

/// How far from each other: first whether in another rack, then in positions.
pub(super) fn distance(one: &FleetPlace, other: &FleetPlace) -> (bool, usize) {
    (one.rack != other.rack, one.position.abs_diff(other.position))
}

fn rank(ascending: &[String], name: Option<&str>) -> Option<usize> {
    ascending.binary_search(&natural(name?)).ok()
}

/// A name whose numbers are padded: the order of these is that in which people count.
fn natural(name: &str) -> String {
    let (mut padded, mut digits) = (String::new(), String::new());
    for c in name.chars().chain(['\0']) {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        if !digits.is_empty() {
            let _ = write!(padded, "{digits:0>DIGITS$}");
            digits.clear();
        }
        padded.push(c);
    }
    padded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_in_the_order_in_which_people_count() {
        let mut names = ["n10", "n9", "n1-b", "n1-a", "a", ""];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["", "a", "n1-a", "n1-b", "n9", "n10"]);
    }
}
