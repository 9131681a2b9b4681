//! Whole checks on runs made by hand: 24 nodes, of which n3 costs 22 % more.

use std::fmt::Write;

use record::{FleetStatus, FleetVerdict, MetricRow, NodeRow, RunColumns, StateKind, StateRow};
use serde::Serialize;

use super::*;
use crate::rows::CHECK_UP;

const NODES: usize = 24;
const METRICS: usize = 4;

/// Rows as they lie in a folder.
#[derive(Default)]
struct Rows {
    nodes: Vec<NodeRow>,
    states: Vec<StateRow>,
    metrics: Vec<MetricRow>,
}

fn lines(rows: &[impl Serialize]) -> Vec<u8> {
    let line = |row| serde_json::to_string(row).expect("JSON") + "\n";
    rows.iter().map(line).collect::<String>().into_bytes()
}

impl Rows {
    fn add(&mut self, node: NodeRow, log: impl Fn(usize) -> f64) {
        self.metrics.extend((0..METRICS).map(|metric| MetricRow {
            run_id: node.run_id.clone(),
            metric: format!("k{metric}"),
            family: "f".to_owned(),
            socket: Some(0),
            estimate: log(metric).exp(),
            ..MetricRow::default()
        }));
        self.nodes.push(node);
    }

    fn judged(&self, place: &Place) -> FleetCheck {
        let mut gathered = Gathered::default();
        let [nodes, states, metrics] = [lines(&self.nodes), lines(&self.states), lines(&self.metrics)];
        gathered.add_rows(&nodes[..], &states[..], &metrics[..]).expect("all of it is in memory");
        judge(&gathered, place)
    }
}

/// The check-ups, and the clocks of CPUs: those of the second rack's first four nodes drift.
fn check_ups() -> Rows {
    let mut rows = Rows::default();
    for node in 0..NODES {
        let run_id = format!("20261126T040000Z-{node}");
        let row = NodeRow {
            node: format!("n{node}"),
            run_id: run_id.clone(),
            run: RunColumns {
                started_utc: "2026-11-26T04:00:00Z".to_owned(),
                preset: "quick".to_owned(),
                experiment: CHECK_UP.to_owned(),
                others_share: (node == 20).then_some(0.5),
                ..RunColumns::default()
            },
            ..NodeRow::default()
        };
        let slow = if node == 3 { 0.2 } else { 0.0 };
        rows.add(row, |metric| slow + ((node * 7 + metric * 11) % 13) as f64 * 0.001);
        let drifts = (8..12).contains(&node);
        for (pair, value, rate_ppb) in
            [("pair/0>1", "agrees", 1.0), ("pair/0>2", if drifts { "moves" } else { "agrees" }, 800.0)]
        {
            let (value, rate_ppb) = (Some(value.to_owned()), Some(rate_ppb));
            let clock = StateRow::about(StateKind::Clock, pair);
            rows.states.push(StateRow { run_id: run_id.clone(), value, rate_ppb, ..clock });
        }
    }
    rows
}

/// The racks of eight nodes; the drifting ones stand in half of one.
fn inventory() -> Place {
    let mut text = "node,rack,slot\nghost,r0,9\n".to_owned();
    for node in 0..NODES {
        let rack = if (8..12).contains(&node) { "r1".to_owned() } else { format!("r{}", node / 8 * 2) };
        let _ = writeln!(text, "n{node},{rack},{}", node % 8);
    }
    Place::Inventory(Inventory::parse(&text).expect("an inventory"))
}

/// Five runs of n3 and of two others, on `day`; n3 is slower by this much.
fn repeated(day: &str, slower: f64) -> Rows {
    let mut rows = check_ups();
    for node in ["n3", "n2", "n4"] {
        for run in 0..5 {
            let is_suspect = node == "n3";
            let row = NodeRow {
                node: node.to_owned(),
                run_id: format!("{day}T05000{run}Z-{node}"),
                run: RunColumns {
                    experiment: "confirm-x-n0".to_owned(),
                    arm: Some(if is_suspect { "suspect" } else { "healthy" }.to_owned()),
                    ..RunColumns::default()
                },
                ..NodeRow::default()
            };
            let log = 2.0 + f64::from(run) * 0.001 + if is_suspect { slower } else { 0.0 };
            rows.add(row, |_| log);
        }
    }
    rows
}

#[test]
fn an_odd_node_is_suspect_with_healthy_neighbours_and_a_rack_explains_its_clocks() {
    let found = check_ups().judged(&inventory());
    assert_eq!(found.verdict, FleetVerdict::Odd);
    assert!(found.sentence.starts_with("1 suspect of 24 nodes, first n3 (+2"), "{}", found.sentence);
    assert_eq!((found.suspects[0].status, found.suspects[0].metrics), (FleetStatus::Suspect, METRICS));
    assert_eq!(found.suspects[0].matched, ["n2", "n4"]);
    assert_eq!(found.minorities[0].explained_by, ["rack=r1"]);
    assert_eq!(found.minorities[0].examples, ["n10", "n11", "n8", "n9"]);
    assert_eq!((found.busy.len(), found.id.as_str()), (1, "20261126T040000Z"));
    assert!(found.notes[0].contains("ghost"), "{:?}", found.notes);
    let n12 = found.nodes.iter().find(|one| one.node == "n12").expect("a node");
    assert_eq!((n12.place.rack.as_str(), n12.place.position), ("r2", 4));
}

#[test]
fn what_is_repeated_is_confirmed_or_not_seen_again_and_what_came_before_does_not_count() {
    for (day, slower, expected) in [
        ("20261127", 0.19, FleetStatus::Confirmed),
        ("20261127", 0.05, FleetStatus::NotSeenAgain),
        ("20261127", -0.19, FleetStatus::NotSeenAgain),
        ("20261127", 0.0, FleetStatus::NotSeenAgain),
        ("20261125", 0.19, FleetStatus::Suspect),
    ] {
        let found = repeated(day, slower).judged(&Place::Unknown);
        assert_eq!(found.suspects[0].status, expected, "{day} {slower}");
        assert_eq!(found.suspects[0].repeat.is_some(), expected != FleetStatus::Suspect);
    }
    let mut few = repeated("20261127", 0.19);
    few.nodes.retain(|row| row.run.experiment == CHECK_UP || row.run_id.contains("T050000"));
    let found = few.judged(&Place::Unknown);
    assert_eq!(found.suspects[0].status, FleetStatus::Suspect);
    assert_eq!(found.suspects[0].repeat.as_ref().map(|repeat| repeat.suspect_runs), Some(1));
}

#[test]
fn of_a_node_the_latest_check_up_counts_in_whatever_order_they_are_read() {
    let mut rows = check_ups();
    let older = NodeRow {
        run_id: "20261119T040000Z-7".to_owned(),
        serials_hash: Some("b".to_owned()),
        run: RunColumns { started_utc: "2026-11-19T04:00:00Z".to_owned(), ..rows.nodes[7].run.clone() },
        ..rows.nodes[7].clone()
    };
    rows.nodes[7].serials_hash = Some("a".to_owned());
    rows.add(older, |_| 3.0);
    let expected = rows.judged(&Place::Unknown);
    assert_eq!((expected.suspects.len(), expected.rows), (1, NODES * METRICS));
    assert!(expected.notes.iter().any(|note| note.contains("two machines have")), "{:?}", expected.notes);
    rows.nodes.reverse();
    rows.metrics.reverse();
    assert_eq!(rows.judged(&Place::Unknown), expected);
}

#[test]
fn places_are_read_from_names_and_chassis_of_one_name_are_apart_by_rack() {
    let pattern = Regex::new("^n(?<rack>[0-9])(?<chassis>[0-9]?)$").expect("a pattern");
    let place = Place::of_names(&pattern).expect("it has groups");
    let rows = check_ups();
    let names = rows.nodes.iter().map(|row| row.node.clone()).collect();
    let places = factors::Places::of(&place, &names);
    assert_eq!(places.level("n12", &["chassis"]), Some("2"));
    assert_eq!(places.level("n1", &["slot", "rack"]), Some("1"));
    assert_eq!(places.level("n1", &["chassis"]), None);
    assert!(Place::of_names(&Regex::new("n").expect("a pattern")).is_none());
    let found = rows.judged(&place);
    assert_eq!(found.nodes[0].place.rack, "0");
}
