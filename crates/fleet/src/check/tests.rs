//! Whole checks on tables made by hand: 24 nodes, of which n3 costs 22 % more.

use std::fmt::Write;

use record::{FleetStatus, FleetVerdict};

use super::*;

const NODES: usize = 24;
const METRICS: usize = 4;

/// The tables as DuckDB prints them, with these rows of repeats.
fn tables(repeats: &str) -> Tables {
    let mut text =
        ":strata\n{\"cpu_model\":\"x\",\"preset\":\"quick\",\"kernel_set_version\":1}\n:nodes\n".to_owned();
    for node in 0..NODES {
        let (busy, rack) = (node == 20, node / 8);
        let _ = writeln!(
            text,
            "{{\"n\":{node},\"stratum\":0,\"node\":\"n{node}\",\"run_id\":\"20261126T040000Z-{node}\",\
             \"started_utc\":\"2026-11-26T04:00:00Z\",\"runs\":1,\"is_two_machines\":false,\"is_busy\":{busy},\"is_guest\":false,\
             \"others_share\":null,\"steal_share\":null,\"is_partial\":false,\"rack\":\"r{rack}\",\"chassis\":null,\"slot\":\"{}\"}}",
            node % 8
        );
    }
    text += ":missing\n{\"node\":\"ghost\"}\n:metrics\n";
    for metric in 0..METRICS {
        let _ = writeln!(
            text,
            "{{\"m\":{metric},\"stratum\":0,\"key\":\"k{metric}\",\"family\":\"f\",\"socket\":0}}"
        );
    }
    let _ = write!(
        text,
        ":levels\n{{\"l\":0,\"stratum\":0,\"factor\":\"rack\",\"level\":\"r1\"}}\n:members\n0,8\n0,9\n0,10\n0,11\n\
         :minorities\n{{\"i\":0,\"stratum\":0,\"kind\":\"clock\",\"id\":\"counters\",\"state\":\"moves\",\"usual\":\"agrees\",\
         \"nodes\":4,\"of_nodes\":24,\"rate_ppb\":800.0}}\n:minority members\n0,11\n0,9\n0,8\n0,10\n:repeats\n{repeats}:deviations\n"
    );
    for node in 0..NODES {
        for metric in 0..METRICS {
            let slow = if node == 3 { 200_000 } else { 0 };
            let _ = writeln!(text, "{metric},{node},{}", slow + (node * 7 + metric * 11) % 13 * 1000);
        }
    }
    Tables::read((text + ":end\n").as_bytes()).expect("tables")
}

/// Five runs of n3 and of two others, on `day`; n3 is slower by this much.
fn repeats(day: &str, slower: f64) -> String {
    let mut text = String::new();
    for node in ["n3", "n2", "n4"] {
        for run in 0..5 {
            for metric in 0..METRICS {
                let arm = if node == "n3" { "suspect" } else { "healthy" };
                let y = 2.0 + f64::from(run) * 0.001 + if node == "n3" { slower } else { 0.0 };
                let _ = writeln!(
                    text,
                    "{{\"experiment\":\"confirm-x-n0\",\"arm\":\"{arm}\",\"node\":\"{node}\",\
                     \"run_id\":\"{day}T05000{run}Z-{node}\",\"key\":\"k{metric}\",\"y\":{y}}}"
                );
            }
        }
    }
    text
}

#[test]
fn an_odd_node_is_suspect_with_healthy_neighbours_and_a_rack_explains_its_clocks() {
    let found = judge(tables(""), Some(&Regex::new("k[12]").expect("a pattern")));
    assert_eq!(found.verdict, FleetVerdict::Odd);
    assert!(found.sentence.starts_with("1 suspect of 24 nodes, first n3 (+2"), "{}", found.sentence);
    assert_eq!((found.suspects[0].status, found.suspects[0].metrics), (FleetStatus::Suspect, METRICS));
    assert_eq!(found.suspects[0].matched, ["n2", "n4"]);
    assert_eq!(found.minorities[0].explained_by, ["rack=r1"]);
    assert_eq!(found.minorities[0].examples, ["n8", "n9", "n10", "n11"]);
    assert_eq!((found.busy.len(), found.maps.len(), found.id.as_str()), (1, 2, "20261126T040000Z"));
    assert!(found.notes[0].contains("ghost"), "{:?}", found.notes);
    assert_eq!(found.nodes[12].place.position, 4);
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
        let found = judge(tables(&repeats(day, slower)), None);
        assert_eq!(found.suspects[0].status, expected, "{day} {slower}");
        assert_eq!(found.suspects[0].repeat.is_some(), expected != FleetStatus::Suspect);
    }
    let few: String = repeats("20261127", 0.19)
        .lines()
        .filter(|line| !line.contains("T05000") || line.contains("T050000"))
        .fold(String::new(), |all, line| all + line + "\n");
    let found = judge(tables(&few), None);
    assert_eq!(found.suspects[0].status, FleetStatus::Suspect);
    assert_eq!(found.suspects[0].repeat.as_ref().map(|repeat| repeat.suspect_runs), Some(1));
}
