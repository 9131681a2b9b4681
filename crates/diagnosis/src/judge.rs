//! The judge between findings and report: two rows of one record that cannot both hold.
//!
//! Each finder knows its own data alone. A rule looks at two results beside each other, names both, and says which is the doubtful one;
//! that one is then withheld with the reason, and never corrected. No rule looks at a whole surface or run.

use record::{Control, Finding, Levels, Record, Severity, TlbLevel, Withheld};
use stats::Order;

use crate::findings::BUSY_PORTS_BELOW;
use crate::translation::claimed;
use crate::wording::measured;

/// A rule about levels of translation: the index of the doubtful one, and what it cannot hold beside.
type Rule = fn(&Record, &[TlbLevel]) -> Option<(usize, String)>;

/// Later ones see what earlier ones left.
const RULES: [Rule; 3] = [costly_miss, reach_beyond_nearer, tlb_claim];

/// Withholds levels of translation that cannot hold beside another row.
pub(crate) fn values(record: &Record, levels: &mut Levels) {
    for rule in RULES {
        // Each takes something away, so that no rule goes on for ever.
        while let Some((index, because)) = rule(record, &levels.tlbs) {
            let tlb = levels.tlbs.remove(index);
            let value = Some(format!("{} entries", tlb.entries));
            levels.withheld.push(Withheld { what: format!("TLB L{}", tlb.level), value, because });
        }
    }
    let Some(walk_ns) = levels.walk_ns else { return };
    let because = if levels.tlbs.is_empty() {
        "no TLB was found behind which all pages walk"
    } else if levels.walk_interval.is_none_or(|interval| interval.low <= 0.0) {
        "it may cost nothing"
    } else {
        return;
    };
    levels.walk_ns = None;
    let value = levels.walk_interval.take().map(|interval| measured(walk_ns, interval, "ns"));
    levels.withheld.push(Withheld { what: "page walk".to_owned(), value, because: because.to_owned() });
}

fn costly_miss(_: &Record, tlbs: &[TlbLevel]) -> Option<(usize, String)> {
    let index = tlbs.iter().position(|tlb| tlb.miss_interval.low <= 0.0)?;
    Some((index, "the cost of its miss may be nothing".to_owned()))
}

fn reach_beyond_nearer(_: &Record, tlbs: &[TlbLevel]) -> Option<(usize, String)> {
    let fails = |index: &usize| tlbs[*index].entries as f64 <= tlbs[index - 1].entries_interval.high;
    let index = (1..tlbs.len()).find(fails)?;
    Some((index, format!("it reaches no farther than TLB L{}", tlbs[index - 1].level)))
}

fn tlb_claim(record: &Record, tlbs: &[TlbLevel]) -> Option<(usize, String)> {
    let distance = |tlb: &TlbLevel, level: u8| {
        Some((tlb.entries.max(1) as f64 / f64::from(claimed(record, level)?)).log2().abs())
    };
    tlbs.iter().enumerate().find_map(|(index, tlb)| {
        let own = distance(tlb, tlb.level)?;
        let other = (1..=2).filter(|level| *level != tlb.level).find(|level| {
            let taken = tlbs.iter().any(|other| other.level == *level);
            !taken && distance(tlb, *level).is_some_and(|distance| distance < own)
        })?;
        Some((index, format!("{} claimed for level {other} are nearer", claimed(record, other)?)))
    })
}

/// The finding that a loop slowed beside another contradicts no claimed core, where a CPU of the pair had part of its core before.
const CLAIMED_APART: &str = "claimed-core-apart";

/// Takes back what a finding says beside a row that it cannot hold beside: it becomes evidence.
pub(crate) fn statements(record: &mut Record) {
    if let Some(because) = busy_before(record) {
        let is_it = |finding: &&mut Finding| {
            finding.id == CLAIMED_APART && finding.severity != Severity::Inconclusive
        };
        for finding in record.findings.iter_mut().filter(is_it) {
            let instead = format!("whether claimed siblings share a core: undetermined: {because}");
            let said = std::mem::replace(&mut finding.text, instead);
            finding.severity = Severity::Inconclusive;
            finding.evidence.insert(0, format!("withheld: {said}"));
            (finding.mechanism, finding.prediction) = (None, None);
            finding.remedy = Some("sidestep run --full, on a quiet machine".to_owned());
        }
    }
    record.findings.order_by_key(|finding| finding.severity);
}

/// The row of a CPU that was paired and had only a part of its core when nothing else of ours ran there.
fn busy_before(record: &Record) -> Option<String> {
    let is_busy = |control: &&Control| control.core_share > 0.0 && control.core_share < BUSY_PORTS_BELOW;
    let is_paired = |control: &&Control| {
        record.cores.sharing.iter().any(|pair| pair.a == control.cpu || pair.b == control.cpu)
    };
    let control = record.cores.control.iter().filter(is_busy).find(is_paired)?;
    let percent = 100.0 * control.core_share;
    Some(format!("CPU {} had {percent:.0} % of a core before it was paired", control.cpu))
}

#[cfg(test)]
mod tests {
    use machine::{Bytes, CpuId};
    use record::{PairSlowdown, Spread};
    use stats::Interval;

    use super::*;

    fn around(value: f64, share: f64) -> Interval {
        Interval { low: value * (1.0 - share), high: value * (1.0 + share) }
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

    /// Both TLB levels and a walk: all of it can hold.
    fn sound() -> Record {
        let mut record = Record::default();
        record.levels.tlbs = vec![tlb(1, 64, 2.0), tlb(2, 2048, 13.0)];
        record.levels.walk_ns = Some(15.0);
        record.levels.walk_interval = Some(around(15.0, 0.1));
        record
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
        let mut levels = record.levels.clone();
        values(&record, &mut levels);
        levels.withheld.iter().map(|one| format!("{}: {}", one.what, one.because)).collect()
    }

    #[test]
    fn what_holds_together_is_left_alone() {
        assert_eq!(withheld(|_| {}), [""; 0]);
    }

    /// What is said of a value, and the change of a record that makes it doubtful.
    type Case = (&'static str, fn(&mut Record));

    const DOUBTFUL_VALUES: [Case; 5] = [
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

    #[test]
    fn cores_are_not_called_apart_where_one_of_the_pair_was_busy_before() {
        let mut record = Record::default();
        record.cores.sharing.push(PairSlowdown {
            a: CpuId(0),
            b: CpuId(1),
            resource: "integer".to_owned(),
            slowdown: 1.0,
            overlapped_windows: 50,
            spread: Spread { interval: around(1.0, 0.01), ..Spread::default() },
        });
        record.findings = vec![Finding {
            area: None,
            steps: Vec::new(),
            id: CLAIMED_APART.to_owned(),
            severity: Severity::Notice,
            text: "as it was said".to_owned(),
            evidence: vec!["measured".to_owned()],
            mechanism: Some("because".to_owned()),
            prediction: None,
            remedy: None,
            source: None,
        }];
        statements(&mut record);
        assert_eq!(record.findings[0].severity, Severity::Notice, "without a contradiction");
        record.cores.control = vec![control(2, 0.2), control(0, 0.6), control(1, 1.0)];
        statements(&mut record);
        let taken = &record.findings[0];
        assert_eq!(taken.severity, Severity::Inconclusive, "{taken:?}");
        assert_eq!(taken.evidence, ["withheld: as it was said", "measured"]);
        assert!(taken.text.ends_with("CPU 0 had 60 % of a core before it was paired"), "{taken:?}");
        assert_eq!(taken.mechanism, None);
    }
}
