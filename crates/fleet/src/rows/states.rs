//! What is counted and never ranked: verdicts on flaws, clocks of CPUs, settings, tests for silent data corruption.

use record::{ClockPair, FlawVerdict, NodeRow, Record, StateKind, StateRow, settings, word};

/// The states of a record.
pub(super) fn states(record: &Record, node: &NodeRow) -> Vec<StateRow> {
    let mut states: Vec<StateRow> = record.flaws.iter().map(flaw).collect();
    states.extend(clocks(record));
    states.extend(settings(record).map(|(id, value)| valued(StateKind::Setting, id, value)));
    states.extend(boot_words(record));
    states.extend(corruption(record));
    for state in &mut states {
        node.node.clone_into(&mut state.node);
        node.run_id.clone_into(&mut state.run_id);
    }
    states
}

fn flaw(verdict: &FlawVerdict) -> StateRow {
    StateRow {
        affected: Some(word(&verdict.affected)),
        workaround: Some(word(&verdict.workaround)),
        protected: Some(word(&verdict.protected)),
        paid: Some(word(&verdict.paid)),
        ..StateRow::about(StateKind::Flaw, &verdict.id)
    }
}

fn valued(kind: StateKind, id: impl Into<String>, value: impl Into<String>) -> StateRow {
    StateRow { value: Some(value.into()), ..StateRow::about(kind, id) }
}

/// The verdict on the counters, and each pair of CPUs; the clock source in use.
fn clocks(record: &Record) -> Vec<StateRow> {
    let valued = |id: &str, value: &str| valued(StateKind::Clock, id, value);
    let source = record.machine.environment.clock_sources.current.as_ref();
    let mut states: Vec<StateRow> = source.iter().map(|source| valued("source", source)).collect();
    if let Some(check) = &record.clock_check {
        states.push(valued("verdict", &word(&check.verdict)));
        states.extend(check.pairs.iter().map(pair));
    }
    states
}

fn pair(pair: &ClockPair) -> StateRow {
    let excludes_zero = |interval: [f64; 2]| interval[0] > 0.0 || interval[1] < 0.0;
    let value = match (pair.moves_for_certain, pair.interval_ns) {
        (true, _) => "moves",
        (false, Some(interval)) if excludes_zero(interval) => "offset",
        (false, Some(_)) => "agrees",
        (false, None) => "unknown",
    };
    StateRow {
        value: Some(value.to_owned()),
        rate_ppb: pair.rate_ppb,
        rate_lo_ppb: pair.rate_interval_ppb.map(|interval| interval[0]),
        rate_hi_ppb: pair.rate_interval_ppb.map(|interval| interval[1]),
        offset_ns: pair.estimate_ns,
        ..StateRow::about(StateKind::Clock, format!("pair/{}>{}", pair.a.0, pair.b.0))
    }
}

/// Each word of the command line with a value that may be shared: values that may name a disk, a host or a password are removed from
/// records, and differ between any two nodes.
fn boot_words(record: &Record) -> impl Iterator<Item = StateRow> {
    let words = record.machine.environment.command_line.iter().flat_map(|line| machine::boot_words(line));
    let shared = words.filter(|word| word.name != "..." && word.value != Some("..."));
    shared.map(|word| valued(StateKind::Setting, format!("boot/{}", word.name), word.value.unwrap_or("set")))
}

/// Tests for silent data corruption: results whose answer is known, in-field scans of the kernel.
fn corruption(record: &Record) -> Vec<StateRow> {
    let sdc = |id: String, value: &str| valued(StateKind::Sdc, id, value);
    let checked = &record.cores.checked;
    let known = if checked.iter().any(|one| one.wrong > 0) { "wrong" } else { "right" };
    let mut states = Vec::new();
    states.extend((!checked.is_empty()).then(|| sdc("known-answers".to_owned(), known)));
    for scan in &record.machine.environment.field_scans {
        states.push(sdc(format!("ifs/{}", scan.device), &scan.status));
        let image = scan.image_version.as_ref();
        states.extend(
            image.map(|image| valued(StateKind::Setting, format!("ifs/{}/image", scan.device), image)),
        );
    }
    states
}
