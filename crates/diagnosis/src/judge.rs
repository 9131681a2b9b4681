//! The judge between findings and report: values and statements of one record that cannot all hold.
//!
//! Each finder knows its own data alone. A rule looks at two results beside each other, names the doubtful one and says why;
//! that one is then withheld with the reason, and never corrected. A rule must not fire again on what it has judged, so that
//! an old record may be judged anew whenever it is shown.

mod values;

use machine::CpuId;
use record::{Control, Finding, Levels, Record, Severity, Withheld};
use stats::Order;

use crate::findings::{BUSY_PORTS_BELOW, surface_is_doubtful};
use crate::wording::{measured, rate, rounded};

/// What a rule takes back.
#[derive(Debug, Clone, PartialEq)]
enum Doubtful {
    /// The whole row at this index of `Levels::caches`.
    Level(usize),
    /// The size of that level.
    Size(usize),
    /// The read rate of that level.
    Rate(usize),
    /// The entry at this index of `Levels::tlbs`.
    Tlb(usize),
    /// The cost of a page walk.
    Walk,
    /// The finding with this id, and what can be said in its place.
    Finding(&'static str, String),
}

/// A decision of a rule.
#[derive(Debug, Clone, PartialEq)]
struct Ruling {
    doubtful: Doubtful,
    because: String,
}

impl Ruling {
    fn new(doubtful: Doubtful, because: String) -> Self {
        Self { doubtful, because }
    }
}

/// Takes back what cannot hold beside the rest of a record: first values, then statements.
pub fn judge(record: &mut Record) {
    let mut levels = std::mem::take(&mut record.levels);
    values(record, &mut levels);
    record.levels = levels;
    statements(record);
    crate::findings::name_steps(record);
}

/// Applies the rules for values to levels of a record.
pub(crate) fn values(record: &Record, levels: &mut Levels) {
    for (_, rule) in values::RULES {
        // Each ruling takes something away, so that no rule goes on for ever.
        while let Some(ruling) = rule(record, levels) {
            withhold(levels, ruling);
        }
    }
}

/// Applies the rules for statements to the findings of a record.
pub(crate) fn statements(record: &mut Record) {
    for (_, rule) in STATEMENT_RULES {
        while let Some(ruling) = rule(record) {
            take_back(&mut record.findings, ruling);
        }
    }
    record.findings.order_by_key(|finding| finding.severity);
}

fn withhold(levels: &mut Levels, Ruling { doubtful, because }: Ruling) {
    let (what, value) = match doubtful {
        Doubtful::Level(index) => {
            let level = levels.caches.remove(index);
            (level.name, Some(measured(level.ns, level.ns_interval, "ns")))
        }
        Doubtful::Size(index) => {
            let level = &mut levels.caches[index];
            level.size_interval = None;
            (
                format!("size of {}", level.name),
                level.size_bytes.take().map(|size| rounded(size.0 as f64).to_string()),
            )
        }
        Doubtful::Rate(index) => {
            let level = &mut levels.caches[index];
            let value = level.read_bytes_per_s.take().zip(level.read_interval.take());
            (format!("read rate of {}", level.name), value.map(|(value, interval)| rate(value, interval)))
        }
        Doubtful::Tlb(index) => {
            let tlb = levels.tlbs.remove(index);
            (format!("TLB L{}", tlb.level), Some(format!("{} entries", tlb.entries)))
        }
        Doubtful::Walk => {
            let value = levels.walk_ns.take().zip(levels.walk_interval.take());
            ("page walk".to_owned(), value.map(|(ns, interval)| measured(ns, interval, "ns")))
        }
        Doubtful::Finding(..) => return,
    };
    levels.withheld.push(Withheld { what, value, because });
}

/// A finding that is no longer claimed: what it said becomes evidence.
fn take_back(findings: &mut [Finding], ruling: Ruling) {
    let Ruling { doubtful: Doubtful::Finding(id, instead), because } = ruling else { return };
    for finding in findings.iter_mut().filter(|finding| finding.id == id && finding.severity != UNDECIDED) {
        let said = std::mem::replace(&mut finding.text, format!("{instead}: {because}"));
        finding.severity = UNDECIDED;
        finding.evidence.insert(0, format!("withheld: {said}"));
        (finding.mechanism, finding.prediction) = (None, None);
        finding.remedy = Some("sidestep run --full, on a quiet machine".to_owned());
    }
}

/// The severity of what was taken back.
const UNDECIDED: Severity = Severity::Inconclusive;

/// A rule with its name.
type StatementRule = (&'static str, fn(&Record) -> Option<Ruling>);

/// All rules for statements.
const STATEMENT_RULES: [StatementRule; 6] = [
    ("a loop that was slowed alone contradicts no claimed core", no_claim_beside_busy_ports),
    ("a CPU that had part of a core is not unequal by itself", unequal_beside_busy_ports),
    ("sockets that are alike have no unequal CPUs", unequal_beside_alike_sockets),
    ("no cache is missing from a surface that is doubtful", missing_beside_doubtful_surface),
    ("no cache that has no size holds more or less than it claims", effective_without_size),
    ("no cache that has no size is consistent with its claim", consistent_without_size),
];

/// The finding with this id, if it claims something.
fn claimed<'r>(record: &'r Record, id: &str) -> Option<&'r Finding> {
    record.findings.iter().find(|finding| finding.id == id && finding.severity != UNDECIDED)
}

/// CPUs that had only a part of their core when nothing else of ours ran there.
fn with_busy_ports(record: &Record) -> impl Iterator<Item = &Control> {
    let is_busy = |control: &&Control| control.core_share > 0.0 && control.core_share < BUSY_PORTS_BELOW;
    record.cores.control.iter().filter(is_busy)
}

fn had_part_of_a_core(record: &Record, is_meant: impl Fn(CpuId) -> bool) -> Option<String> {
    let control = with_busy_ports(record).find(|control| is_meant(control.cpu))?;
    Some(format!(
        "CPU {} had {:.0} % of a core before it was paired",
        control.cpu,
        100.0 * control.core_share
    ))
}

fn is_paired(record: &Record, cpu: CpuId) -> bool {
    record.cores.sharing.iter().any(|pair| pair.a == cpu || pair.b == cpu)
}

fn no_claim_beside_busy_ports(record: &Record) -> Option<Ruling> {
    claimed(record, "claimed-core-apart")?;
    let because = had_part_of_a_core(record, |cpu| is_paired(record, cpu))?;
    let instead = "whether claimed siblings share a core: undetermined".to_owned();
    Some(Ruling::new(Doubtful::Finding("claimed-core-apart", instead), because))
}

fn unequal_beside_busy_ports(record: &Record) -> Option<Ruling> {
    claimed(record, "cpus-unequal").filter(|finding| finding.severity == Severity::Warning)?;
    let streamed = |cpu: CpuId| record.memory.stream.iter().any(|result| result.cpu == Some(cpu));
    let because = had_part_of_a_core(record, streamed)?;
    Some(Ruling::new(Doubtful::Finding("cpus-unequal", "CPU bandwidth: undetermined".to_owned()), because))
}

fn unequal_beside_alike_sockets(record: &Record) -> Option<Ruling> {
    claimed(record, "cpus-unequal").filter(|finding| finding.severity == Severity::Warning)?;
    claimed(record, "sockets-unequal").filter(|finding| finding.severity == Severity::Good)?;
    let subjects = &record.sockets.as_ref()?.subjects;
    // Only where the same CPUs were compared: a CPU behind a socket's first may differ from it.
    let same = record
        .memory
        .stream
        .iter()
        .filter_map(|result| result.cpu)
        .all(|cpu| subjects.iter().any(|subject| subject.cpu == cpu));
    same.then(|| Ruling {
        doubtful: Doubtful::Finding("cpus-unequal", "CPU bandwidth: undetermined".to_owned()),
        because: "the longer comparison of the same CPUs in their own memory found them alike".to_owned(),
    })
}

/// Findings about the size of one cache.
const SIZES: [(&str, &str); 4] =
    [("effective-l1", "L1"), ("effective-l2", "L2"), ("effective-l3", "L3"), ("effective-l4", "L4")];

/// True if the record has this level and no size of it.
fn has_no_size(record: &Record, name: &str) -> bool {
    record.levels.caches.iter().any(|level| level.name == name && level.size_bytes.is_none())
}

fn effective_without_size(record: &Record) -> Option<Ruling> {
    let (id, name) =
        SIZES.into_iter().find(|(id, name)| claimed(record, id).is_some() && has_no_size(record, name))?;
    Some(Ruling::new(
        Doubtful::Finding(id, format!("usable {name}: undetermined")),
        "its size is withheld".to_owned(),
    ))
}

fn consistent_without_size(record: &Record) -> Option<Ruling> {
    let said = &claimed(record, "cache-sizes")?.text;
    let is_said = |name: &str| said.split([' ', ',']).any(|word| word == name);
    let (_, name) = SIZES.into_iter().find(|(_, name)| is_said(name) && has_no_size(record, name))?;
    let instead = "whether cache sizes are as claimed: undetermined".to_owned();
    Some(Ruling::new(Doubtful::Finding("cache-sizes", instead), format!("the size of {name} is withheld")))
}

fn missing_beside_doubtful_surface(record: &Record) -> Option<Ruling> {
    if !surface_is_doubtful(record) {
        return None;
    }
    let named = |name: &str| record.levels.caches.iter().any(|level| level.name == name);
    let (id, name) = SIZES.into_iter().find(|(id, name)| claimed(record, id).is_some() && !named(name))?;
    let because = "too many cells of the latency surface have no single value".to_owned();
    Some(Ruling::new(Doubtful::Finding(id, format!("usable {name}: undetermined")), because))
}

#[cfg(test)]
mod tests {
    use machine::{Bytes, CpuId};
    use record::{Control, LatencyCell, Level, PairSlowdown, Quality, Spread, StreamResult, TlbLevel};
    use stats::Interval;

    use super::*;

    fn around(value: f64, share: f64) -> Interval {
        Interval { low: value * (1.0 - share), high: value * (1.0 + share) }
    }

    fn level(name: &str, kib: Option<u64>, ns: f64, rate: f64) -> Level {
        Level {
            name: name.to_owned(),
            size_bytes: kib.map(|kib| Bytes(kib << 10)),
            size_interval: kib.map(|kib| around((kib << 10) as f64, 0.2)),
            claimed_bytes: None,
            ns,
            ns_interval: around(ns, 0.02),
            core_cycles: None,
            read_bytes_per_s: Some(rate * 1e9),
            read_interval: Some(around(rate * 1e9, 0.02)),
            conditions: None,
        }
    }

    fn tlb(level: u8, entries: u64, miss_ns: f64) -> TlbLevel {
        TlbLevel {
            level,
            entries,
            entries_interval: around(entries as f64, 0.05),
            claimed_entries: None,
            miss_ns,
            miss_interval: around(miss_ns, 0.1),
        }
    }

    fn cell(kib: u64, ns: f64, quality: Quality) -> LatencyCell {
        LatencyCell {
            cpu: CpuId(0),
            block_bytes: Bytes(kib << 10),
            stride_bytes: Bytes(64),
            page_bytes: Bytes(4096),
            ns,
            core_cycles: None,
            level: None,
            spread: Spread { interval: around(ns, 0.01), quality, ..Spread::default() },
        }
    }

    /// Three caches of 32 KiB, 1 MiB and 32 MiB, memory, both TLB levels: all of it can hold.
    fn sound() -> Record {
        let mut record = Record::default();
        for (kib, ns) in [
            (16, 1.2),
            (32, 1.2),
            (64, 3.8),
            (512, 3.8),
            (1024, 3.9),
            (2048, 14.0),
            (32768, 14.5),
            (65536, 100.0),
        ] {
            record.memory.latency.push(cell(kib, ns, Quality::Converged));
        }
        record.levels.caches = vec![
            level("L1", Some(32), 1.2, 200.0),
            level("L2", Some(1024), 3.8, 100.0),
            level("L3", Some(32768), 14.2, 58.0),
            level("memory", None, 100.0, 21.3),
        ];
        record.levels.tlbs = vec![tlb(1, 64, 2.0), tlb(2, 2048, 13.0)];
        record.levels.walk_ns = Some(15.0);
        record.levels.walk_interval = Some(around(15.0, 0.1));
        record
    }

    fn claim_cache(record: &mut Record, level: u8, kib: u64) {
        record.machine.topology.caches.push(machine::Cache {
            level,
            kind: machine::CacheKind::Unified,
            size_bytes: Some(Bytes(kib << 10)),
            line_bytes: Some(Bytes(64)),
            shared_by: [CpuId(0)].into_iter().collect(),
            ..machine::Cache::default()
        });
    }

    fn claim_tlb(record: &mut Record, level: u8, entries: u32) {
        let kind = machine::TlbKind::Data;
        let page_bytes = vec![Bytes(4096)];
        record.machine.tlbs.push(machine::Tlb { level, kind, page_bytes, entries, ways: None });
    }

    fn walk() -> record::WalkPoint {
        record::WalkPoint {
            cpu: CpuId(0),
            pages: 4,
            page_bytes: Bytes(4096),
            spread_ns: 1.0,
            packed_ns: 1.0,
            delta_ns: 0.0,
            spread: Spread::default(),
        }
    }

    /// What is withheld after a change of the sound record.
    fn withheld(change: impl Fn(&mut Record)) -> Vec<String> {
        let mut record = sound();
        change(&mut record);
        judge(&mut record);
        let once = record.clone();
        judge(&mut record);
        assert_eq!(record, once, "a rule fired on what it had judged");
        once.levels.withheld.iter().map(|one| format!("{}: {}", one.what, one.because)).collect()
    }

    #[test]
    fn what_holds_together_is_left_alone() {
        assert_eq!(withheld(|_| {}), [""; 0]);
    }

    /// What is said of a value, and the change of a record that makes it doubtful.
    type Case = (&'static str, fn(&mut Record));

    const DOUBTFUL_VALUES: [Case; 14] = [
        ("L3: the cells that it names, 2 MiB to 32 MiB, take 13.9 to 14.6 ns", |record| {
            // Once seen: 54.1 ns of cells that took 38 to 50.7 ns.
            record.levels.caches[2].ns = 17.0;
            record.levels.caches[2].conditions = Some(record::Conditions {
                block_bytes: Some([Bytes(2 << 20), Bytes(32 << 20)]),
                page_bytes: vec![Bytes(4096)],
                order: record::ChaseOrder::Random,
            });
        }),
        (
            "size of L2: it ends between 512 KiB and 2 MiB, and blocks of 1 MiB there are in several states",
            |record| {
                // Once seen: 2.69 MiB as found, and a finding beside it that says "unknown".
                record.levels.caches[1].claimed_bytes = Some(Bytes(2 << 20));
                record.levels.caches[1].size_interval = Some(Interval { low: 524_288.0, high: 2_097_152.0 });
                let one = record.memory.latency.iter_mut().find(|cell| cell.block_bytes.0 == 1 << 20);
                one.expect("its block").spread.quality = Quality::Unstable;
            },
        ),
        ("L3: it answers no later than L2", |record| record.levels.caches[2].ns = 3.7),
        ("L3: only blocks up to 1 MiB rest at its latency, which L2 of 1 MiB would hold", |record| {
            // Once seen: the row of L2 was gone, and L3 had its latency.
            claim_cache(record, 2, 1024);
            record.levels.caches.remove(1);
            record.levels.caches[1].ns = 3.8;
        }),
        ("size of L2: L1 would hold as much", |record| {
            record.levels.caches[1].size_bytes = Some(Bytes(20 << 10));
        }),
        (
            "size of L2: blocks rest at its latency up to 1 MiB only: another level may lie between",
            |record| {
                record.levels.caches[1].size_bytes = Some(Bytes(20 << 20));
            },
        ),
        ("size of L3: blocks around it have no single latency", |record| {
            record.memory.latency.extend([32769; 4].map(|kib| cell(kib, 15.0, Quality::Unstable)));
        }),
        ("read rate of L3: it is the number of memory, from the same block", |record| {
            // Once seen: no end of L3 was found, and it had the rate of memory, bit for bit.
            let memory = record.levels.caches[3].clone();
            record.levels.caches[2] = Level {
                size_bytes: None,
                size_interval: None,
                read_bytes_per_s: memory.read_bytes_per_s,
                read_interval: memory.read_interval,
                ..record.levels.caches[2].clone()
            };
        }),
        (
            "read rate of memory: memory would deliver more than L3; of the two it is the less certain",
            |record| {
                record.levels.caches[3].read_bytes_per_s = Some(90e9);
                record.levels.caches[3].read_interval = Some(around(90e9, 0.1));
            },
        ),
        ("TLB L1: the cost of its miss may be nothing", |record| {
            record.levels.tlbs[0].miss_interval.low = -1.0;
        }),
        ("TLB L2: it reaches no farther than TLB L1", |record| record.levels.tlbs[1].entries = 64),
        ("TLB L1: 2048 claimed for level 2 are nearer", |record| {
            // Once seen: TLB L1 1878 entries (claimed 64).
            claim_tlb(record, 1, 64);
            claim_tlb(record, 2, 2048);
            record.levels.tlbs = vec![tlb(1, 1878, 13.0)];
            record.memory.walks.push(walk());
            (record.levels.walk_ns, record.levels.walk_interval) = (None, None);
        }),
        ("page walk: it may cost nothing", |record| {
            record.levels.walk_interval = Some(Interval { low: -2.0, high: 30.0 });
        }),
        ("page walk: no TLB was found behind which all pages walk", |record| record.levels.tlbs.clear()),
    ];

    #[test]
    fn each_rule_for_values_takes_back_what_it_is_for() {
        for (expected, change) in DOUBTFUL_VALUES {
            assert_eq!(withheld(change), [expected]);
        }
    }

    fn control(cpu: u32, core_share: f64) -> Control {
        Control {
            cpu: CpuId(cpu),
            core_hz: None,
            multiply_ns: 1.0,
            rotate_ns: 0.3,
            multiply_per_rotate: 3.0,
            port_ns: 0.1,
            core_share,
            spread: Spread::default(),
        }
    }

    fn pair() -> PairSlowdown {
        PairSlowdown {
            a: CpuId(0),
            b: CpuId(1),
            resource: "integer".to_owned(),
            slowdown: 1.0,
            overlapped_windows: 50,
            spread: Spread { interval: around(1.0, 0.01), ..Spread::default() },
        }
    }

    fn stream(cpu: u32) -> StreamResult {
        StreamResult {
            scope: record::Scope::Cpu,
            cpu: Some(CpuId(cpu)),
            node: None,
            cpus: [CpuId(cpu)].into_iter().collect(),
            kernel: "triad".to_owned(),
            isa: "avx2".to_owned(),
            store: "plain".to_owned(),
            block_bytes: Bytes::GIB,
            bytes_per_s: 1e10,
            bus_bytes_per_s: 1e10,
            spread: Spread::default(),
        }
    }

    fn said(id: &str, severity: Severity) -> Finding {
        Finding {
            area: None,
            steps: Vec::new(),
            id: id.to_owned(),
            severity,
            text: "as it was said".to_owned(),
            evidence: vec!["measured".to_owned()],
            mechanism: Some("because".to_owned()),
            prediction: None,
            remedy: None,
            source: None,
        }
    }

    #[test]
    fn each_rule_for_statements_takes_back_what_it_is_for() {
        type Case = (&'static str, Severity, fn(&mut Record));
        let cases: [Case; STATEMENT_RULES.len()] = [
            ("claimed-core-apart", Severity::Notice, |record| {
                record.cores.control = vec![control(0, 0.6), control(1, 1.0)];
                record.cores.sharing.push(pair());
            }),
            ("cpus-unequal", Severity::Warning, |record| {
                record.cores.control = vec![control(0, 0.6), control(1, 1.0)];
                record.memory.stream = vec![stream(0), stream(1)];
            }),
            ("cpus-unequal", Severity::Warning, |record| {
                record.memory.stream = vec![stream(0)];
                let subjects = vec![record::SocketSubject {
                    cpu: CpuId(0),
                    package: None,
                    node: None,
                    stands_for: machine::CpuSet::new(),
                }];
                record.sockets = Some(record::Sockets { subjects, ..record::Sockets::default() });
                record.findings.push(said("sockets-unequal", Severity::Good));
            }),
            ("effective-l3", Severity::Warning, |record| {
                record.levels.caches.remove(2);
                record.memory.latency.extend([4096; 6].map(|kib| cell(kib, 14.0, Quality::Unstable)));
            }),
            ("effective-l2", Severity::Notice, |record| {
                record.levels.caches[1].size_bytes = None;
            }),
            ("cache-sizes", Severity::Good, |record| {
                record.findings[0].text = "L1 and L2 are consistent with their claims".to_owned();
                record.levels.caches[1].size_bytes = None;
            }),
        ];
        for (id, severity, change) in cases {
            let mut record = sound();
            record.findings = vec![said(id, severity)];
            judge(&mut record);
            let kept = record.findings.iter().find(|finding| finding.id == id).expect("it is there");
            assert_eq!(kept.severity, severity, "{id} without a contradiction");
            change(&mut record);
            judge(&mut record);
            let once = record.findings.clone();
            judge(&mut record);
            assert_eq!(record.findings, once, "{id}: a rule fired on what it had judged");
            let taken = once.iter().find(|finding| finding.id == id).expect("it is there");
            assert_eq!(taken.severity, Severity::Inconclusive, "{taken:?}");
            assert!(taken.evidence[0].starts_with("withheld: ") && taken.evidence.len() == 2, "{taken:?}");
            assert!(taken.text.contains("undetermined: ") && taken.mechanism.is_none(), "{taken:?}");
        }
    }
}
