//! Links of machines that others measured or recorded, as `sidestep sockets infer` tells them.
//!
//! They lie in the zoo beside the repository; where it is absent the test says so.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn zoo() -> Option<PathBuf> {
    let zoo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/zoo");
    zoo.join("matrices").is_dir().then_some(zoo)
}

fn inferred(file: &Path) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_sidestep"))
        .args(["sockets", "infer", "--json"])
        .arg(file)
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn edge_count(inferred: &Value) -> usize {
    inferred["edges"].as_array().expect("a list").len()
}

#[test]
fn the_links_of_measured_machines_are_those_that_are_known() {
    let Some(zoo) = zoo() else {
        println!("skipped: zoo absent: no measured matrix was inferred from");
        return;
    };
    let magny_cours = inferred(&zoo.join("matrices/mctop/lpd48core.mct"));
    let slit = inferred(&zoo.join("sysfs/32amd64-4s2n4c-cgroup2.tar.bz2"));
    assert_eq!((magny_cours["verdict"].as_str(), edge_count(&magny_cours)), (Some("identified"), 16));
    assert_eq!(slit["verdict"], "identified");
    assert_eq!(magny_cours["edges"], slit["edges"]);

    for flat in [
        "matrices/mctop/lpdquad.mct",
        "sysfs/16amd64-4n4c-cgroup-distance-merge.tar.bz2",
        "sysfs/16amd64-8n2c.tar.bz2",
    ] {
        let found = inferred(&zoo.join(flat));
        assert_eq!((found["verdict"].as_str(), edge_count(&found)), (Some("not identifiable"), 0), "{flat}");
    }

    let clusters = inferred(&zoo.join("matrices/mlc/sapphirerapids_mlc.txt"));
    let mesh = &clusters["explanation"];
    assert_eq!((mesh["kind"].as_str(), &mesh["packages"]), (Some("mesh"), &2.into()));
    assert_eq!((&mesh["columns"], &mesh["rows"]), (&2.into(), &2.into()));
    assert!(clusters["max_percent"].as_f64().is_some_and(|error| error < 3.0), "{clusters}");
}

#[test]
fn every_matrix_and_every_table_of_distances_is_answered() {
    let Some(zoo) = zoo() else {
        println!("skipped: zoo absent: no recorded table of distances was read");
        return;
    };
    let files = |folder: &str| {
        let entries = std::fs::read_dir(zoo.join(folder)).expect("a folder of the zoo");
        entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file()).collect::<Vec<_>>()
    };
    let mut answered = 0;
    for file in ["sysfs", "both", "matrices/mlc", "matrices/mctop"].into_iter().flat_map(files) {
        if file.extension().is_some_and(|extension| extension == "csv") {
            continue;
        }
        let output =
            Command::new(env!("CARGO_BIN_EXE_sidestep")).args(["sockets", "infer"]).arg(&file).output();
        let output = output.expect("the binary runs");
        let said = String::from_utf8_lossy(&output.stderr);
        // A machine without nodes or without distances is told so.
        assert!(output.status.success() || said.contains("names no distances"), "{}: {said}", file.display());
        answered += usize::from(output.status.success());
    }
    assert!(answered > 20, "{answered}");
}

const LSTOPO: &str = "lstopo-no-graphics";

/// Whether hwloc is there; says so if not.
fn has_lstopo() -> bool {
    let is_there = Command::new(LSTOPO).arg("--version").output().is_ok();
    if !is_there {
        println!("skipped: {LSTOPO} absent: nothing exported was read by hwloc");
    }
    is_there
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn exported(arguments: &[&str]) -> Vec<u8> {
    let mut export = Command::new(env!("CARGO_BIN_EXE_sidestep"));
    export.current_dir(repository()).args(["sockets", "export"]).args(arguments);
    let exported = export.output().expect("the binary runs");
    assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
    exported.stdout
}

/// What hwloc prints of an exported file; it must have nothing to complain of.
fn shown(exported: &[u8], flag: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("exported.xml");
    std::fs::write(&file, exported).expect("a file");
    let output = Command::new(LSTOPO).arg("-i").arg(&file).arg(flag).output().expect("lstopo runs");
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn hwloc_reads_what_is_exported_for_it_and_prints_it_back() {
    if !has_lstopo() {
        return;
    }
    let repository = repository();
    for (matrix, machine) in [
        ("tests/cli/matrices/diamond.csv", Some("tests/machines/synthetic-x6440")),
        ("tests/cli/matrices/diamond.csv", None),
        ("tests/cli/matrices/clusters.csv", None),
    ] {
        let mut arguments = vec![matrix];
        arguments.extend(machine.iter().flat_map(|machine| ["--machine", machine]));
        let exported = exported(&arguments);
        let text = std::fs::read_to_string(repository.join(matrix)).expect("a matrix");
        let rows = text.lines().filter(|line| !line.starts_with('#')).enumerate();
        let (distances, attributes) = (shown(&exported, "--distances"), shown(&exported, "--memattrs"));
        assert!(distances.contains("name SidestepLatency kind 6"), "{distances}");
        for (row, line) in rows {
            let wanted = format!("{row} {}", line.replace(',', " "));
            let is_row = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") == wanted;
            assert!(distances.lines().any(is_row), "{wanted}: {distances}");
        }
        let count = attributes.lines().filter(|line| line.contains(" from ")).count();
        let nodes = text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(count, nodes * nodes, "{attributes}");
    }
}

/// How many parts of a kind hwloc finds in an exported file.
fn count_of(exported: &[u8], kind: &str) -> usize {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("exported.xml");
    std::fs::write(&file, exported).expect("a file");
    let output =
        Command::new(LSTOPO).arg("-i").arg(&file).args(["--only", kind]).output().expect("lstopo runs");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaints.is_empty(), "{complaints}");
    String::from_utf8_lossy(&output.stdout).lines().count()
}

#[test]
fn hwloc_finds_every_part_of_an_exported_machine() {
    if !has_lstopo() {
        return;
    }
    let repository = repository();
    let mut folders: Vec<PathBuf> = ["tests/machines", "../shared/zoo/sysfs"]
        .into_iter()
        .filter_map(|folder| std::fs::read_dir(repository.join(folder)).ok())
        .flat_map(|entries| entries.map(|entry| entry.expect("an entry").path()))
        .filter(|path| path.is_dir() || path.extension().is_some_and(|extension| extension == "bz2"))
        .collect();
    folders.sort();
    assert!(folders.len() >= 6, "{folders:?}");
    for folder in folders {
        let machine = host::describe(&host::Root::open(&folder).expect("a recorded machine"), None);
        let topology = &machine.topology;
        let text = exported(&["--sysroot", &folder.to_string_lossy()]);
        let caches = |level: u8| {
            let is_it = |cache: &&machine::Cache| {
                cache.level == level && cache.kind != machine::CacheKind::Instruction
            };
            topology.caches.iter().filter(is_it).count()
        };
        for (kind, expected) in [
            ("package", topology.packages().len()),
            ("numanode", topology.nodes.len().max(1)),
            ("l3cache", caches(3)),
            ("l2cache", caches(2)),
            ("l1cache", caches(1)),
            ("core", topology.cores.len()),
            ("pu", topology.cpus.len()),
        ] {
            assert_eq!(count_of(&text, kind), expected, "{kind} of {}", folder.display());
        }
    }
}

#[test]
fn one_node_is_exported_with_what_was_measured_of_its_memory() {
    if !has_lstopo() {
        return;
    }
    let exported = exported(&["tests/cli/records/sockets-one-node.json"]);
    let attributes = shown(&exported, "--memattrs");
    assert!(attributes.contains("name `Latency'") && attributes.contains(" from "), "{attributes}");
    assert!(count_of(&exported, "pu") > 0);
}

#[test]
fn what_was_measured_is_exported_and_inferred_from_as_it_is_explained() {
    let record = "tests/cli/records/sockets-blade.json";
    let inferred = inferred(&repository().join(record));
    assert_eq!((inferred["verdict"].as_str(), edge_count(&inferred)), (Some("identified"), 5));
    assert_eq!(inferred["format"], "sidestep");
    if has_lstopo() {
        assert!(shown(&exported(&[record]), "--distances").contains("name SidestepLatency kind 6"));
    }
}

#[test]
fn cpus_of_two_sockets_are_two_groups_and_are_not_linked_one_by_one() {
    let Some(zoo) = zoo() else {
        println!("skipped: zoo absent: no core-to-core matrix was read");
        return;
    };
    let file = zoo.join("matrices/core-to-core/Dual Intel(R) Xeon(R) CPU E5-2630 v4 @ 2.20GHz.csv");
    let found = inferred(&file);
    let groups = found["groups"].as_array().expect("a list");
    let counts: Vec<usize> =
        groups.iter().map(|level| level["members"].as_array().map_or(0, Vec::len)).collect();
    assert_eq!((counts, edge_count(&found)), (vec![2, 20], 0), "{found}");
    assert_eq!((&groups[1]["level"], &groups[1]["members"][0]), (&"smt".into(), &serde_json::json!([0, 20])));
    assert!(groups.iter().all(|level| level["clear"] == true && level["within_ns"].as_f64() < level["between_ns"].as_f64()));
    // What is of CPUs has no memory to compare or to export.
    let export = Command::new(env!("CARGO_BIN_EXE_sidestep")).args(["sockets", "export"]).arg(&file).output();
    let export = export.expect("the binary runs");
    assert!(
        export.status.code() == Some(2)
            && String::from_utf8_lossy(&export.stderr).contains("a matrix of CPUs")
    );
}
