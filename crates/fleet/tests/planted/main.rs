//! Whole checks: planted faults are found, nothing else is, and neither order, names nor units matter.

mod synthetic;

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

use fleet::check::{Gathered, Place, judge};
use fleet::inventory::Inventory;
use record::{FleetCheck, FleetVerdict};
use synthetic::{Noise, Planted, Sinks, Synthetic};

fn small(is_faulty: bool, noise: Noise) -> Synthetic {
    Synthetic { nodes: 256, metrics: 363, seed: 3, noise, busy: 12, shares_known: true, is_faulty }
}

fn written(fleet: &Synthetic, folder: &Path) -> Planted {
    let mut files =
        Sinks::files().map(|name| BufWriter::new(File::create(folder.join(name)).expect("a file")));
    let [metrics, nodes, states, inventory] = &mut files;
    let planted = fleet.write(&mut Sinks { metrics, nodes, states, inventory }).expect("rows");
    for file in &mut files {
        file.flush().expect("room");
    }
    planted
}

/// The answer to the rows in a folder.
fn checked(folder: &Path) -> FleetCheck {
    let file = |name: &str| BufReader::new(File::open(folder.join(name)).expect("rows"));
    let inventory = fs::read_to_string(folder.join("inventory.csv")).expect("an inventory");
    let place = Place::Inventory(Inventory::parse(&inventory).expect("a column of nodes"));
    let mut gathered = Gathered::default();
    let [nodes, states, metrics] = ["nodes.ndjson", "states.ndjson", "metrics.ndjson"].map(file);
    gathered.add_rows(nodes, states, metrics).expect("readable");
    judge(&gathered, &place)
}

/// What must not change: the answer without names.
fn outline(found: &FleetCheck) -> Vec<String> {
    let suspects = found.suspects.iter().map(|one| format!("{} {:.4}", one.metrics, one.worse_percent));
    let levels = found.levels.iter().map(|one| format!("{} {} {}", one.factor, one.metrics, one.nodes));
    let states = found.minorities.iter().map(|one| format!("{} {} {}", one.id, one.state, one.nodes));
    let mut all: Vec<String> = suspects.chain(levels).chain(states).collect();
    all.push(found.busy.len().to_string());
    all.sort();
    all
}

#[test]
fn planted_faults_are_found_and_nothing_else_is() {
    for noise in [Noise::Normal, Noise::Heavy] {
        let folder = tempfile::tempdir().expect("a folder");
        let planted = written(&small(true, noise), folder.path());
        let found = checked(folder.path());
        assert_eq!(planted.missed(&found), [""; 0], "{}", found.sentence);
        assert_eq!(planted.invented(&found), [Vec::<String>::new(), Vec::new()], "{}", found.sentence);
        assert_eq!(found.verdict, FleetVerdict::Odd);
        let screened = found.minorities.iter().find(|one| one.id == "ifs/0").expect("planted");
        assert_eq!(screened.explained_by, ["bios_version=1.3", "rack=r001"]);
    }
}

#[test]
fn a_healthy_fleet_is_uniform_and_its_busy_nodes_are_busy_whether_they_say_so_or_not() {
    for shares_known in [true, false] {
        let folder = tempfile::tempdir().expect("a folder");
        let planted = written(&Synthetic { shares_known, ..small(false, Noise::Heavy) }, folder.path());
        let found = checked(folder.path());
        assert_eq!(planted.missed(&found), [""; 0], "{shares_known}: {}", found.sentence);
        assert_eq!(found.verdict, FleetVerdict::Uniform, "{shares_known}: {}", found.sentence);
    }
}

/// Changes each line of a file.
fn rewritten(folder: &Path, name: &str, change: impl Fn(Vec<String>) -> Vec<String>) {
    let file = folder.join(name);
    let lines = fs::read_to_string(&file).expect("lines").lines().map(str::to_owned).collect();
    fs::write(&file, change(lines).join("\n") + "\n").expect("room");
}

#[test]
fn order_of_rows_names_of_nodes_and_units_change_no_verdict() {
    let folder = tempfile::tempdir().expect("a folder");
    written(&small(true, Noise::Heavy), folder.path());
    let before = outline(&checked(folder.path()));
    for name in ["metrics.ndjson", "nodes.ndjson", "states.ndjson"] {
        rewritten(folder.path(), name, |lines| {
            let mut lines = lines;
            stats::Random::new(5).shuffle(&mut lines);
            lines
        });
    }
    assert_eq!(outline(&checked(folder.path())), before, "order");
    // Names in another order; nanoseconds become picoseconds and seconds.
    let renamed = |line: String| {
        let Some((before, rest)) = line.split_once("\"node\":\"n") else { return line };
        let (digits, rest) = rest.split_at(5);
        let number: usize = digits.parse().expect("a number");
        format!("{before}\"node\":\"'; -- <b>{}{rest}", 99_999 - number)
    };
    for name in ["metrics.ndjson", "nodes.ndjson", "states.ndjson"] {
        rewritten(folder.path(), name, |lines| lines.into_iter().map(renamed).collect());
    }
    rewritten(folder.path(), "inventory.csv", |lines| {
        let of = |line: String| match line.strip_prefix('n').and_then(|rest| rest.split_at_checked(5)) {
            Some((digits, rest)) if digits != "ode,r" => {
                format!("'; -- <b>{}{rest}", 99_999 - digits.parse::<usize>().expect("a number"))
            }
            _ => line,
        };
        lines.into_iter().map(of).collect()
    });
    rewritten(folder.path(), "metrics.ndjson", |lines| {
        let scaled = |line: String| {
            let mut row: record::MetricRow = serde_json::from_str(&line).expect("a row");
            row.estimate *= if row.higher_is_better { 1e-9 } else { 1e3 };
            serde_json::to_string(&row).expect("JSON")
        };
        lines.into_iter().map(scaled).collect()
    });
    let after = checked(folder.path());
    assert_eq!(outline(&after), before, "names and units");
    assert!(after.suspects.iter().all(|one| one.node.starts_with("'; -- <b>")), "{:?}", after.suspects);
}

#[test]
fn few_nodes_broken_lines_and_clocks_apart_are_noted_and_never_fatal() {
    let folder = tempfile::tempdir().expect("a folder");
    written(&Synthetic { nodes: 3, busy: 0, ..small(false, Noise::Normal) }, folder.path());
    rewritten(folder.path(), "nodes.ndjson", |lines| {
        let mut lines = lines;
        lines[0] = lines[0].replace("2026-11-26", "1996-11-26");
        lines.push("{\"node\": half".to_owned());
        lines
    });
    rewritten(folder.path(), "inventory.csv", |lines| [lines, vec!["ghost,r1,c1,1,x".to_owned()]].concat());
    let found = checked(folder.path());
    assert_eq!(found.verdict, FleetVerdict::CannotTell);
    assert!(found.sentence.starts_with("undetermined: 3 nodes;"), "{}", found.sentence);
    for part in ["without a check-up: ghost", "clock is 30 days", "too few to be compared: 3 nodes (3 quiet)"]
    {
        assert!(found.notes.iter().any(|note| note.contains(part)), "{part}: {:?}", found.notes);
    }
}

#[test]
fn presets_are_never_mixed_and_a_node_counts_once() {
    let folder = tempfile::tempdir().expect("a folder");
    written(&Synthetic { busy: 0, ..small(false, Noise::Normal) }, folder.path());
    rewritten(folder.path(), "nodes.ndjson", |lines| {
        let mut lines = lines;
        for line in &mut lines[..5] {
            *line = line.replace("\"quick\"", "\"full\"");
        }
        // An older run of n00010, on other hardware.
        let older =
            lines[10].replace("2026-11-26", "2026-11-19").replace("\"run_id\":\"", "\"run_id\":\"older-");
        lines[10] = lines[10].replace("\"file\":", "\"serials_hash\":\"a\",\"file\":");
        lines.push(older.replace("\"file\":", "\"serials_hash\":\"b\",\"file\":"));
        lines
    });
    let found = checked(folder.path());
    assert_eq!(found.verdict, FleetVerdict::Uniform, "{}", found.sentence);
    assert_eq!(found.nodes.len(), 256);
    let nodes: Vec<usize> = found.strata.iter().map(|stratum| stratum.nodes).collect();
    assert_eq!(nodes, [5, 251]);
    for part in ["too few to be compared: 5 nodes", "two machines have", "1 node with several check-ups"] {
        assert!(found.notes.iter().any(|note| note.contains(part)), "{part}: {:?}", found.notes);
    }
}
