//! Fresh documents of the release binary, held against the committed schemas: each name at least once.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use super::{all, check_text};
use crate::cargo;
use crate::totals::Totals;

/// A command, what its documents are called, and the folder it may write to as `{}`.
struct Row {
    schema: &'static str,
    /// What is typed after `sidestep --json --quiet`, cut at blanks.
    typed: &'static str,
}

const ROWS: &[Row] = &[
    Row { schema: "machine", typed: "machine" },
    Row { schema: "machine", typed: "machine --sysroot tests/machines/synthetic-hybrid" },
    Row { schema: "run-plan", typed: "run --plan" },
    Row { schema: "guard-baseline", typed: "guard init --runs 1 --state {}/guard" },
    Row { schema: "guard", typed: "guard check --state {}/guard" },
    Row { schema: "history", typed: "history --trend --state {}/history" },
    Row { schema: "flaws", typed: "flaws --no-timing" },
    Row { schema: "flaws", typed: "flaws --sysroot tests/machines/synthetic-upi-ring" },
    Row { schema: "flaws-list", typed: "flaws list" },
    Row { schema: "flaws-show", typed: "flaws show mds --no-timing" },
    Row { schema: "flaws-census", typed: "flaws --lscpu fuzz/seeds/lscpu_report" },
    Row {
        schema: "comparison",
        typed: "compare examples/phenom-9600/no-patch.csv examples/phenom-9600/patch.csv",
    },
    Row { schema: "experiment", typed: "ab --budget 2s --a true --b true" },
    Row {
        schema: "factorial",
        typed: "ab --budget 4s --factorial --toggle timer-slack --toggle thp -- true",
    },
    Row { schema: "ab-dry-run", typed: "ab --toggle timer-slack --dry-run" },
    Row {
        schema: "ab-across-reboot",
        typed: "ab --across-reboot --a !mitigations --b mitigations=off --dry-run",
    },
    Row { schema: "place", typed: "place --budget 2s --state {}/state -- sh -c :" },
    Row { schema: "place-sweep", typed: "place --budget 2s --threads 1..2 --state {}/state -- sh -c :" },
    Row { schema: "clock-check", typed: "clock check --budget 1s" },
    Row { schema: "clock-cost", typed: "clock cost --budget 2s" },
    Row { schema: "clock-event", typed: "clock watch --budget 1s" },
    Row { schema: "sockets", typed: "sockets --budget 3s" },
    Row { schema: "sockets-infer", typed: "sockets infer tests/cli/matrices/diamond.csv" },
    Row { schema: "sockets-firmware", typed: "sockets firmware --sysroot tests/machines/synthetic-upi-ring" },
    Row {
        schema: "sockets-explain",
        typed: "sockets explain tests/cli/records/sockets-missing-channel.json",
    },
    Row { schema: "simulate-memory", typed: "simulate phenom-9600" },
    Row { schema: "simulate-clocks", typed: "simulate k8-opteron" },
    Row { schema: "simulate-sockets", typed: "simulate x6440-8380" },
    Row { schema: "simulate-clusters", typed: "simulate spr-snc4" },
    Row { schema: "simulate-threads", typed: "simulate fx-8150" },
    Row { schema: "capture", typed: "capture {}/machine.tar.gz" },
    Row { schema: "selftest", typed: "selftest --budget 3s" },
    Row { schema: "workloads", typed: "workloads" },
    Row { schema: "workloads-check", typed: "workloads check fork-exec" },
    Row { schema: "workloads-install", typed: "workloads install" },
    Row { schema: "toggles", typed: "toggles" },
    Row { schema: "toggles-show", typed: "toggles show thp" },
    Row { schema: "toggles-status", typed: "toggles status --state {}/state" },
    Row { schema: "toggles-revert", typed: "toggles revert --state {}/state" },
    Row {
        schema: "toggles-plan",
        typed: "toggles set numa-balancing=off --dry-run --tree {}/tree --state {}/tree-state",
    },
    Row {
        schema: "toggles-held",
        typed: "toggles set numa-balancing=off --for 300ms --tree {}/tree --state {}/tree-state",
    },
    Row {
        schema: "toggles-set",
        typed: "toggles set numa-balancing=off --tree {}/tree --state {}/tree-state",
    },
    Row { schema: "toggles-status", typed: "toggles status --tree {}/tree --state {}/tree-state" },
    Row { schema: "toggles-revert", typed: "toggles revert --tree {}/tree --state {}/tree-state" },
];

/// Documents of which none is made here, and who does.
const ELSEWHERE: &[(&str, &str)] = &[
    ("record", "the quick check-up"),
    ("reboots", "crates/cli/tests/across_reboot.rs: it takes boots"),
    ("sharing", "the place document, of which it is a part"),
    ("place-event", "crates/cli/tests/place_pid.rs: it takes a service"),
];

/// Exit codes with which a document comes: nothing wrong; nothing could be measured, which the document says.
const EXITS: [i32; 2] = [0, 3];

/// Makes each document and holds it against its schema.
///
/// # Errors
/// There is no release binary, or no temporary folder.
pub fn check() -> anyhow::Result<Totals> {
    let binary = cargo::target().join("release/sidestep");
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let switched = folder.path().join("tree/proc/sys/kernel");
    std::fs::create_dir_all(&switched)
        .and_then(|()| std::fs::write(switched.join("numa_balancing"), "1\n"))?;
    let mut totals = Totals::default();
    for row in ROWS {
        totals.add(one(&binary, row, folder.path()).with_context(|| format!("sidestep {}", row.typed))?);
    }
    let is_checked = |name: &str| {
        ROWS.iter().any(|row| row.schema == name) || ELSEWHERE.iter().any(|(other, _)| *other == name)
    };
    for (name, _) in all().into_iter().filter(|(name, _)| !is_checked(name)) {
        totals.add(Totals::one_failed(format!("schema of the {name}: no fresh document is held against it")));
    }
    Ok(totals)
}

fn one(binary: &Path, row: &Row, folder: &Path) -> anyhow::Result<Totals> {
    let folder = folder.to_str().context("the temporary folder's name is not UTF-8")?;
    let words: Vec<String> = row.typed.split_whitespace().map(|word| word.replace("{}", folder)).collect();
    // After `--` the flags would be the program's.
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let mut command = Command::new(binary);
    command.current_dir(cargo::root()).args(&words[..end]).args(["--json", "--quiet"]).args(&words[end..]);
    let printed = command.output().with_context(|| format!("cannot start {}", binary.display()))?;
    if !printed.status.code().is_some_and(|code| EXITS.contains(&code)) {
        let said = String::from_utf8_lossy(&printed.stderr);
        return Ok(Totals::one_failed(format!(
            "document {}: sidestep {} ended with {}: {}",
            row.schema,
            row.typed,
            printed.status,
            said.trim()
        )));
    }
    let mut totals = Totals::default();
    let documents = serde_json::Deserializer::from_slice(&printed.stdout).into_iter::<serde_json::Value>();
    let mut count = 0;
    for document in documents {
        totals.add(check_text(
            row.schema,
            document.context("the document is not JSON")?.to_string().as_bytes(),
        )?);
        count += 1;
    }
    if count == 0 {
        let line = format!("document {}: sidestep {} printed none", row.schema, row.typed);
        totals.add(Totals::one_failed(line));
    }
    Ok(totals)
}
