//! Answers and findings from records. A record in, judgement out.
//!
//! What a user comes for is answered by the questions, and by nothing else: levels name the rows of the surface, findings say what no
//! question does, or explain it. A verdict needs an interval: where the data cannot tell, the finding says `inconclusive`.
#![forbid(unsafe_code)]

mod caches;
mod clock_remedies;
mod findings;
mod judge;
mod questions;
mod socket_gate;
mod sockets;
mod surface;
mod translation;
mod wording;

pub use caches::classify;
pub use clock_remedies::clock_remedies;
pub use findings::findings;
pub use questions::answers;
pub use socket_gate::{GoodMachine, socket_gate};
pub use sockets::{node_latencies, socket_account};

use record::{Levels, Record};

/// The levels of a record: those that name the rows of its surface, and those of translation without what cannot hold beside the rest.
pub fn levels(record: &Record) -> Levels {
    let mut levels = Levels { caches: caches::caches(record), ..Levels::default() };
    translation::describe(record, &mut levels);
    judge::values(record, &mut levels);
    levels
}

/// Fills in the levels and the level of each latency cell, by which a history knows the rows.
pub fn name_levels(record: &mut Record) {
    record.levels = levels(record);
    for index in 0..record.memory.latency.len() {
        let level = classify(&record.memory.latency[index], &record.levels).map(str::to_owned);
        record.memory.latency[index].level = level;
    }
}

/// Fills in the levels, the level of each latency cell, and what `diagnose_named` does.
pub fn diagnose(record: &mut Record) {
    name_levels(record);
    diagnose_named(record);
}

/// Fills in, of a record whose levels are named, what can be done about clocks, and the findings, replacing any that are there; and
/// what each socket is expected to get by the others, unless it was held against something already. Nothing that was measured is
/// touched.
pub fn diagnose_named(record: &mut Record) {
    if let Some(check) = &mut record.clock_check {
        clock_remedies(check, &record.flaws);
    }
    if let Some(sockets) = record.sockets.as_mut().filter(|sockets| sockets.gate.is_none()) {
        sockets.gate = Some(socket_gate(sockets, &socket_account(sockets, Some(&record.machine)), None));
    }
    record.findings = findings(record);
    judge::statements(record);
    findings::name_steps(record);
    record.answers = questions::answers(record);
}
