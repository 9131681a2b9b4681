//! The judge between findings and report: values and statements of one record that cannot all hold.
//!
//! Each finder knows its own data alone. A rule looks at two results beside each other, names the doubtful one and says why;
//! that one is then withheld with the reason, and never corrected. A rule must not fire again on what it has judged, so that
//! an old record may be judged anew whenever it is shown.

mod statements;
mod values;

use record::{Finding, Levels, Record, Severity, Withheld};
use stats::Order;

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
    for (_, rule) in statements::RULES {
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

#[cfg(test)]
mod tests;
