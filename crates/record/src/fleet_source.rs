//! A record as far as rows of a fleet need it.
//!
//! Of ten thousand records nothing is read that no row holds: raw windows, findings, what sources said. What is left goes from the
//! text into its fields, without a tree of values in between.

use serde::Deserialize;

use crate::codec::{has_absurd_number, unpacked};
use crate::{
    Answer, ClockCheck, ClockRead, Cores, CpuSignature, DecodeError, FlawEvidence, FlawVerdict, Guards,
    Memory, Plan, Protection, Provenance, Record, SCHEMA, Sockets, WorkaroundState, decode,
};
use machine::Machine;

/// The fields that rows and the levels of caches are made of.
#[derive(Deserialize)]
struct FleetSource {
    schema: u32,
    provenance: Provenance,
    machine: Machine,
    #[serde(default)]
    plan: Plan,
    #[serde(default)]
    guards: Guards,
    #[serde(default)]
    memory: Memory,
    #[serde(default)]
    cores: Cores,
    #[serde(default)]
    clocks: Vec<ClockRead>,
    clock_check: Option<ClockCheck>,
    sockets: Option<Sockets>,
    #[serde(default)]
    flaws: Vec<FlawStates>,
    flaw_evidence: Option<Signatures>,
    partial: Option<String>,
}

#[derive(Deserialize)]
struct FlawStates {
    id: String,
    affected: Answer,
    workaround: WorkaroundState,
    protected: Protection,
    paid: Answer,
}

#[derive(Deserialize)]
struct Signatures {
    #[serde(default)]
    cpus: Vec<CpuSignature>,
}

/// Reads of a record what rows are made of; its other fields stay empty.
///
/// # Errors
/// As for `decode`; what is wrong in other fields alone is not seen.
pub fn decode_for_rows(bytes: &[u8]) -> Result<Record, DecodeError> {
    let json = unpacked(bytes)?;
    match serde_json::from_slice::<FleetSource>(&json) {
        Ok(read) if read.schema <= SCHEMA && !has_absurd_number(&json) => Ok(read.into()),
        // What is doubtful is read as any record is: that names the field, or finds that all is well.
        _ => decode(&json).map(Record::without_raw),
    }
}

impl From<FleetSource> for Record {
    fn from(read: FleetSource) -> Self {
        let flaw = |states: FlawStates| FlawVerdict {
            id: states.id,
            affected: states.affected,
            workaround: states.workaround,
            protected: states.protected,
            paid: states.paid,
            ..FlawVerdict::default()
        };
        let mut record = Self {
            schema: read.schema,
            provenance: read.provenance,
            machine: read.machine,
            plan: read.plan,
            guards: read.guards,
            memory: read.memory,
            cores: read.cores,
            clocks: read.clocks,
            clock_check: read.clock_check,
            sockets: read.sockets,
            flaws: read.flaws.into_iter().map(flaw).collect(),
            flaw_evidence: read
                .flaw_evidence
                .map(|Signatures { cpus }| FlawEvidence { cpus, ..FlawEvidence::default() }),
            partial: read.partial,
            ..Self::default()
        };
        record.withhold();
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoding, RawSeries, encode};

    fn record() -> Record {
        let mut record = Record { schema: SCHEMA, ..Record::default() };
        record.clocks.push(ClockRead { name: "rdtsc".to_owned(), ns: 1.25, ..ClockRead::default() });
        record.provenance.node = Some("n1".to_owned());
        record.flaws.push(FlawVerdict { id: "mds".to_owned(), paid: Answer::Yes, ..FlawVerdict::default() });
        let cpus = vec![CpuSignature { microcode: Some(7), ..CpuSignature::default() }];
        record.flaw_evidence = Some(FlawEvidence { cpus, ..FlawEvidence::default() });
        record.partial = Some("stopped".to_owned());
        record
    }

    #[test]
    fn what_rows_need_is_read_in_both_encodings_and_raw_windows_are_not() {
        let windows = RawSeries { visits: vec![vec![1.0]], ..RawSeries::default() };
        let written = Record { raw: vec![windows], ..record() };
        for encoding in [Encoding::Json, Encoding::Zstd] {
            let bytes = encode(&written, encoding).expect("finite numbers");
            assert_eq!(decode_for_rows(&bytes).expect("just written"), record());
        }
    }

    #[test]
    fn what_is_wrong_is_reported_as_of_any_record() {
        let altered = |from: &str, to: &str| {
            let bytes = encode(&record(), Encoding::Json).expect("finite numbers");
            let text = String::from_utf8(bytes).expect("JSON");
            assert!(text.contains(from), "{from}: {text}");
            text.replacen(from, to, 1)
        };
        for (text, expected) in [
            ("{\"raw\": []}".to_owned(), "it has no \"schema\" number"),
            ("{\"schema\": 1, \"raw\": [".to_owned(), "cut off"),
            ("[1]".to_owned(), "not a sidestep record"),
            (altered("\"schema\":1", "\"schema\":99"), "record has schema 99"),
            (altered("1.25", "-1.25e300"), "clocks[0].ns cannot be read: -1.25e+300"),
            (altered("1.25", "true"), "clocks[0]"),
        ] {
            let error = decode_for_rows(text.as_bytes()).expect_err("no record").to_string();
            assert!(error.contains(expected), "{error}");
        }
        // A number in a text is none.
        assert!(decode_for_rows(altered("stopped", "1e300").as_bytes()).is_ok());
    }
}
