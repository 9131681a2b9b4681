//! The document sidestep writes: raw samples, conditions, results and findings of one run.
//!
//! Append-only: raw chunks are kept, every estimate can be made again from them. Bytes in, bytes out;
//! files are the business of `host`.
#![forbid(unsafe_code)]

mod bill;
mod clock_check;
mod clock_cost;
mod clock_event;
mod codec;
mod comparison;
mod cores;
mod disturbance;
mod document;
mod experiment;
mod fact;
mod field;
mod finding;
mod flaw;
mod flaw_cause;
mod fleet_check;
mod fleet_rows;
mod guard_check;
mod history;
mod json;
mod levels;
mod measurement;
mod memory;
mod place;
mod provenance;
mod question;
mod sharing;
mod sockets;
mod spread;
mod toml_text;

pub use bill::*;
pub use clock_check::*;
pub use clock_cost::*;
pub use clock_event::{CLOCK_EVENT_SCHEMA, ClockEvent, ClockHappening, ClockWatchSummary};
pub use codec::{DecodeError, EncodeError, Encoding, MeasuredSockets, decode, decode_sockets, encode};
pub use comparison::*;
pub use cores::*;
pub use disturbance::*;
pub use document::{EpochRun, Plan, PlanEntry, PlanOutcome, RawSeries, Record, SCHEMA};
pub use experiment::*;
pub use fact::{BOOT, Fact, HYPERVISOR, IDENTITY, fact_column_names, fact_columns, facts, settings};
pub use field::{FieldError, read_document, word};
pub use finding::{Area, Finding, Severity, Step};
pub use flaw::{
    Answer, CpuSignature, Evidence, FlawEvidence, FlawVerdict, MachineShape, PciWord, Protection, Reading,
    RegisterReading, RegistersAsked, SignatureReading, Special, Statement, WorkaroundState, WorkaroundSwitch,
    msr_key, pair_key,
};
pub use flaw_cause::*;
pub use fleet_check::*;
pub use fleet_rows::*;
pub use guard_check::*;
pub use history::*;
pub use json::{JsonError, json_values, outermost_fields, own_document};
pub use levels::{Level, Levels, TlbLevel, Withheld};
pub use measurement::*;
pub use memory::*;
pub use place::*;
pub use provenance::*;
pub use question::*;
pub use sharing::*;
pub use sockets::*;
pub use spread::{Quality, Spread};
pub use toml_text::{TomlError, read_toml};
