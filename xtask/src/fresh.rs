//! Fresh documents of the release binary, held against the committed schemas: each name at least once.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::cargo;
use crate::schema;
use crate::totals::Totals;

/// What documents are called, and what is typed for them after `sidestep --json --quiet`, cut at blanks; `{}` is a folder to write to.
const ROWS: &str = "\
machine           machine
machine           machine --sysroot tests/machines/synthetic-hybrid
run-plan          run --plan
guard-baseline    guard init --runs 1 --state {}/guard
guard             guard check --state {}/guard
history           history --trend --state {}/history
fleet-check       fleet check tests/cli/fleet --inventory tests/cli/fleet/inventory.csv --map triad
fleet-since       fleet since tests/cli/fleet --change microcode=0xa:0xb
flaws             flaws --no-timing
flaws             flaws --sysroot tests/machines/synthetic-upi-ring
flaws-list        flaws list
flaws-show        flaws show mds --no-timing
flaws-census      flaws --lscpu fuzz/seeds/lscpu_report
comparison        compare examples/phenom-9600/no-patch.csv examples/phenom-9600/patch.csv
fleet-rows        fleet rows tests/cli/fleet/drop -o {}/rows
fleet-metrics     fleet rows tests/cli/fleet/drop --table metrics
fleet-nodes       fleet rows tests/cli/fleet/drop --table nodes
fleet-states      fleet rows tests/cli/fleet/drop --table states
fleet-unread      fleet rows tests/cli/fleet/drop --table unread
experiment        ab --budget 2s --a true --b true
factorial         ab --budget 4s --factorial --toggle timer-slack --toggle thp -- true
ab-dry-run        ab --toggle timer-slack --dry-run
ab-across-reboot  ab --across-reboot --a !mitigations --b mitigations=off --dry-run
workloads         workloads
workloads-check   workloads check fork-exec
workloads-install workloads install
bill              bill --for 3s --toggles timer-slack,thp -- true
place             place --budget 2s --state {}/state -- sh -c :
place-sweep       place --budget 2s --threads 1..2 --state {}/state -- sh -c :
clock-check       clock check --budget 1s
clock-cost        clock cost --budget 2s
clock-event       clock watch --budget 1s
sockets           sockets --budget 3s
sockets-infer     sockets infer tests/cli/matrices/diamond.csv
sockets-firmware  sockets firmware --sysroot tests/machines/synthetic-upi-ring
sockets-explain   sockets explain tests/cli/records/sockets-missing-channel.json
simulate-memory   simulate phenom-9600
simulate-clocks   simulate k8-opteron
simulate-sockets  simulate x6440-8380
simulate-clusters simulate spr-snc4
simulate-threads  simulate fx-8150
capture           capture {}/machine.tar.gz
selftest          selftest --budget 3s
toggles           toggles
toggles-show      toggles show thp
toggles-status    toggles status --state {}/state
toggles-revert    toggles revert --state {}/state
toggles-plan      toggles set numa-balancing=off --dry-run --tree {}/tree --state {}/tree-state
toggles-held      toggles set numa-balancing=off --for 300ms --tree {}/tree --state {}/tree-state
toggles-set       toggles set numa-balancing=off --tree {}/tree --state {}/tree-state
toggles-status    toggles status --tree {}/tree --state {}/tree-state
toggles-revert    toggles revert --tree {}/tree --state {}/tree-state";

fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROWS.lines().filter_map(|line| line.split_once(' ')).map(|(schema, typed)| (schema, typed.trim()))
}

/// Documents of which none is made here, and who does.
const ELSEWHERE: &[(&str, &str)] = &[
    ("record", "the quick check-up"),
    ("reboots", "crates/cli/tests/across_reboot.rs: it takes boots"),
    ("sharing", "the place document, of which it is a part"),
    ("place-event", "crates/cli/tests/place_pid.rs: it takes a service"),
];

/// Documents that need another program, and which.
const NEEDS: &[(&str, &str)] = &[("fleet-check", "duckdb"), ("fleet-since", "duckdb")];

/// Exit codes with which a document comes: nothing wrong; nothing could be measured, which the document says.
const EXITS: [i32; 2] = [0, 3];

/// Makes each document and holds it against its schema.
///
/// # Errors
/// There is no release binary, or no temporary folder.
pub fn check() -> anyhow::Result<Totals> {
    let binary = cargo::sidestep();
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let switched = folder.path().join("tree/proc/sys/kernel");
    std::fs::create_dir_all(&switched)
        .and_then(|()| std::fs::write(switched.join("numa_balancing"), "1\n"))?;
    let mut totals = Totals::default();
    for (schema, typed) in rows() {
        let needed = NEEDS.iter().find(|(of, program)| *of == schema && cargo::find(program).is_none());
        if let Some((_, program)) = needed {
            totals.add(Totals::one_skipped(format!("schema of the {schema}: no {program} in PATH")));
            continue;
        }
        totals.add(one(&binary, schema, typed, folder.path()).with_context(|| format!("sidestep {typed}"))?);
    }
    let is_checked = |name: &str| {
        rows().any(|(schema, _)| schema == name) || ELSEWHERE.iter().any(|(other, _)| *other == name)
    };
    for name in schema::names()?.into_iter().filter(|name| !is_checked(name)) {
        totals.add(Totals::one_failed(format!("schema of the {name}: no fresh document is held against it")));
    }
    Ok(totals)
}

fn one(binary: &Path, name: &str, typed: &str, folder: &Path) -> anyhow::Result<Totals> {
    let folder = folder.to_str().context("the temporary folder's name is not UTF-8")?;
    let words: Vec<String> = typed.split_whitespace().map(|word| word.replace("{}", folder)).collect();
    // After `--` the flags would be the program's.
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let mut command = Command::new(binary);
    command.current_dir(cargo::root()).args(&words[..end]).args(["--json", "--quiet"]).args(&words[end..]);
    let printed = command.output().with_context(|| format!("cannot start {}", binary.display()))?;
    if !printed.status.code().is_some_and(|code| EXITS.contains(&code)) {
        let said = String::from_utf8_lossy(&printed.stderr);
        let (status, said) = (printed.status, said.trim());
        return Ok(Totals::one_failed(format!("{name}: sidestep {typed} ended with {status}: {said}")));
    }
    let mut totals = Totals::default();
    let documents = serde_json::Deserializer::from_slice(&printed.stdout).into_iter::<serde_json::Value>();
    let mut count = 0;
    for document in documents {
        totals.add(schema::check(name, &document.context("the document is not JSON")?)?);
        count += 1;
    }
    if count == 0 {
        totals.add(Totals::one_failed(format!("{name}: sidestep {typed} printed no document")));
    }
    Ok(totals)
}
