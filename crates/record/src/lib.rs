//! The document sidestep writes: raw samples, conditions, results and findings of one run.
//!
//! Append-only: raw chunks are kept, every estimate can be made again from them. Bytes in, bytes out;
//! files are the business of `host`.
#![forbid(unsafe_code)]

mod answers;
mod bill;
mod clock_check;
mod clock_cost;
mod clock_event;
mod clocks;
mod codec;
mod comparison;
mod cores;
mod document;
mod experiment;
mod field;
mod finding;
mod flaw;
mod fleet_check;

mod fleet_rows;
mod fleet_source;
mod guard_check;
mod guards;
mod history;
mod levels;
mod memory;
mod neighbours;
mod place;
mod provenance;
mod reboots;
mod selftest;
mod shareable;
mod sharing;
mod socket_gate;
mod sockets;
mod spread;
mod toml_text;

pub use answers::{CheckedLoop, RepeatsElsewhere, WrongResult, detectable_rate};
pub use bill::*;
pub use clock_check::*;
pub use clock_cost::*;
pub use clock_event::{CLOCK_EVENT_SCHEMA, ClockEvent, ClockHappening, ClockWatchSummary};
pub use clocks::{ClockRead, SlowRead};
pub use codec::{DecodeError, EncodeError, Encoding, MeasuredSockets, decode, decode_sockets, encode};
pub use comparison::*;
pub use cores::{Compute, Control, Cores, LineTransfer, PairSlowdown, UnlikeSlowdown, WakePoint};
pub use document::{EpochRun, Plan, PlanEntry, PlanOutcome, RawSeries, Record, SCHEMA};
pub use experiment::*;
pub use field::{FieldError, read_document, word};
pub use finding::{Area, Finding, Severity, Step};
pub use flaw::{
    Answer, CpuSignature, Evidence, FlawEvidence, FlawVerdict, MachineShape, PciWord, Protection, Reading,
    RegisterReading, RegistersAsked, SignatureReading, Special, Statement, WorkaroundState, WorkaroundSwitch,
    msr_key, pair_key,
};
pub use fleet_check::*;
pub use fleet_rows::*;
pub use fleet_source::decode_for_rows;
pub use guard_check::*;
pub use guards::Guards;
pub use history::*;
pub use levels::{Conditions, Level, Levels, TlbLevel, Withheld};
pub use memory::*;
pub use neighbours::{CpuShare, EpochCost, HostRank, Neighbours};
pub use place::*;
pub use provenance::{Engine, Planted, Provenance};
pub use reboots::{ArmFact, BootRow, BootSummary, REBOOTS_SCHEMA, RebootOutcome};
pub use selftest::*;
pub use shareable::{repeats_command_line, shareable_argument};
pub use sharing::*;
pub use socket_gate::{GateVerdict, SocketBand, SocketCause, SocketCauseKind, SocketGate};
pub use sockets::*;
pub use spread::{Quality, Spread};
pub use toml_text::{TomlError, read_toml};
