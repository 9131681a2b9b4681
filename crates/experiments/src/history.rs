//! Earlier check-ups of a machine: what is kept of each, which go when there is no more room, and what the rows did since.

mod pruning;
mod trend;

use machine::{Machine, View};
use record::{
    Answer, Fingerprint, HISTORY_SCHEMA, HistoryEntry, HistoryRow, PlanOutcome, Record, Severity,
    WorkaroundState,
};

use crate::compare::{Test, TestRow, configuration_of_record};
pub use pruning::{BOUNDS, Bounds, file_name, is_entry, to_prune};
pub use record::seconds_of_utc;
pub use trend::{alike, spreads, trends};
pub(crate) use trend::{differences, slope_per_day};

/// Memory that is as large but for what firmware and kernel keep of it differs by less.
const MEMORY_TOLERANCE: f64 = 0.03;

/// Begins the names of facts on flaws: what registers show of the workaround. What the kernel says has facts of its own.
pub(crate) const FLAW_FACT: &str = "flaw ";

/// What is kept of a record beside itself.
pub fn entry(record: &Record) -> HistoryEntry {
    let configuration = configuration_of_record("", record);
    let count = |severity| record.findings.iter().filter(|finding| finding.severity == severity).count();
    HistoryEntry {
        schema: HISTORY_SCHEMA,
        started_utc: record.provenance.started_utc.clone(),
        fingerprint: fingerprint(&record.machine),
        plan: plan(record),
        warnings: count(Severity::Warning),
        inconclusive: count(Severity::Inconclusive),
        doubts: record.guards.doubts.clone(),
        others_share: record.guards.others_share,
        steal_share: record.guards.steal_share,
        dropped_share: (record.guards.windows > 0)
            .then(|| record.guards.windows_dropped as f64 / record.guards.windows as f64),
        partial: record.partial.clone(),
        facts: configuration
            .facts
            .into_iter()
            .map(|fact| (fact.name, fact.value))
            .chain(flaw_states(record))
            .collect(),
        rows: configuration.tests.iter().flat_map(rows).collect(),
    }
}

/// Workarounds that registers or the microcode's revision show. Time is no evidence here: it may differ from run to run.
fn flaw_states(record: &Record) -> impl Iterator<Item = (String, String)> {
    let state = |state| match state {
        WorkaroundState::On => Some("mitigation on"),
        WorkaroundState::Off => Some("mitigation off"),
        WorkaroundState::Partial => Some("mitigation partial"),
        WorkaroundState::Attempted => Some("mitigation active but ineffective"),
        WorkaroundState::Unknown => None,
    };
    record.flaws.iter().filter(|flaw| flaw.affected != Answer::No).filter_map(move |flaw| {
        let state = state(flaw.evidence.registers.workaround)?;
        Some((format!("{FLAW_FACT}{}", flaw.id), state.to_owned()))
    })
}

/// Budget and probes: runs with others have other values.
fn plan(record: &Record) -> String {
    let ran = record.plan.entries.iter().filter(|entry| !matches!(entry.outcome, PlanOutcome::Dropped(_)));
    let names: Vec<&str> = ran.map(|entry| entry.probe.as_str()).collect();
    format!("{} s: {}", record.plan.budget_s, names.join(", "))
}

/// The rows of a test of one run.
fn rows(test: &Test) -> Vec<(String, HistoryRow)> {
    let row = |row: TestRow<'_>| {
        let (class, unit, better) = (row.class?, test.unit.clone(), test.better);
        let value = row.samples(test).first()?.value;
        Some((row.name(), HistoryRow { class, unit, better, value }))
    };
    test.rows(|_| true).into_iter().filter_map(row).collect()
}

/// What tells this machine from another.
pub fn fingerprint(machine: &Machine) -> Fingerprint {
    let identity = &machine.identity;
    let name = identity.name.as_deref().unwrap_or("unknown");
    let signature = identity.signature();
    Fingerprint {
        cpu: format!("{name} ({})", signature.as_deref().unwrap_or("unknown family ? model ? stepping ?")),
        cpus: View::of(machine).counts.pus + machine.topology.offline.iter().count(),
        hypervisor: identity.hypervisor.clone(),
        memory_bytes: machine.environment.memory_bytes,
    }
}

/// Whether two entries are of one machine, as far as that can be known without serial numbers.
pub fn is_same_machine(a: &Fingerprint, b: &Fingerprint) -> bool {
    is_same_memory(a, b) && a.cpu == b.cpu && a.cpus == b.cpus && a.hypervisor == b.hypervisor
}

/// Whether memory is as large but for what firmware and kernel keep.
pub(crate) fn is_same_memory(a: &Fingerprint, b: &Fingerprint) -> bool {
    a.memory_bytes.zip(b.memory_bytes).is_none_or(|(a, b)| {
        let (a, b) = (a.0 as f64, b.0 as f64);
        (a - b).abs() <= MEMORY_TOLERANCE * a.max(b)
    })
}

#[cfg(test)]
mod tests {
    use machine::{Bytes, CpuId};
    use record::{ClockRead, LatencyCell, Spread};
    use stats::RowClass;

    use super::*;

    #[test]
    fn memory_may_lose_what_the_kernel_keeps_and_nothing_else_may_differ() {
        let here = Fingerprint {
            cpu: "a".to_owned(),
            cpus: 2,
            hypervisor: Some("KVM".to_owned()),
            memory_bytes: Some(Bytes(8 << 30)),
        };
        let with = |change: fn(&mut Fingerprint)| {
            let mut other = here.clone();
            change(&mut other);
            is_same_machine(&here, &other)
        };
        assert!(with(|_| ()) && with(|it| it.memory_bytes = Some(Bytes((8 << 30) - (100 << 20)))));
        assert!(with(|it| it.memory_bytes = None), "absence is no difference");
        assert!(!with(|it| it.memory_bytes = Some(Bytes(4 << 30))));
        assert!(!with(|it| it.cpus = 4) && !with(|it| it.cpu = "b".to_owned()));
        assert!(!with(|it| it.hypervisor = None));
    }

    #[test]
    fn cells_of_a_level_are_one_row_and_cells_between_levels_none() {
        let mut record = Record::default();
        let cells = [(1, Some("L1"), 1.0), (2, Some("L1"), 3.0), (4, None, 9.0), (8, Some("L2"), 4.0)];
        for (block, level, ns) in cells {
            record.memory.latency.push(LatencyCell {
                cpu: CpuId(0),
                page_bytes: Bytes(4096),
                block_bytes: Bytes(block),
                stride_bytes: Bytes(64),
                ns,
                core_cycles: None,
                level: level.map(str::to_owned),
                spread: Spread::default(),
            });
        }
        record.clocks.push(ClockRead { name: "rdtsc".to_owned(), ns: 9.0, ..ClockRead::default() });
        let rows = entry(&record).rows;
        let found: Vec<(&str, RowClass, f64)> =
            rows.iter().map(|(name, row)| (name.as_str(), row.class, row.value)).collect();
        assert_eq!(
            found,
            [
                ("latency, 4 KiB pages, L1", RowClass::CoreLatency, 2.0),
                ("latency, 4 KiB pages, L2", RowClass::CoreLatency, 4.0),
                ("rdtsc", RowClass::ClockReads, 9.0)
            ]
        );
    }
}
