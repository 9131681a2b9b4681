//! The catalogue of flaws, and what three sources say of each: the kernel, the registers, and time.
//!
//! Nothing here reads a machine. `host` and `probes` gather the evidence, this crate judges it: the same evidence
//! gives the same verdicts, on the machine itself, from a recording or from a year-old record.
#![forbid(unsafe_code)]

mod catalogue;
mod cause;
mod choice;
mod cpu_range;
mod dependence;
mod entry;
mod fix;
mod gate;
mod judge;
mod kernel;
mod lscpu;
#[cfg(test)]
mod lscpu_test;
mod masked;
mod pasted;
mod population;
mod presence;
mod purpose;
mod registers;
mod unknown;
mod vectors;
mod wording;

pub use catalogue::{Catalogue, CatalogueError, catalogue};
pub use choice::Choice;
pub use cpu_range::{ArmRange, CpuRange, Revision, X86Range};
pub use dependence::{Causes, CausesOf, LeafBit, Software, VectorCode};
pub use entry::{
    AppliedBy, Architecture, Baseline, BootWord, Cost, CpuidBit, Flaw, HiddenFlag, KernelFlag, KernelLate,
    KernelRelease, Kind, Means, MicrocodeFloor, MsrBits, Need, NoDetector, Osvw, PciBits, Possible,
    Signature, SubState, Switch, TaskStatus, Wording, Workaround,
};
pub use gate::{GateBaseline, GateBaselineError, GateReason, unmet};
pub use judge::judge;
pub use lscpu::{Report, ReportError};
pub use masked::masked;
pub use population::{Census, NamedReport, Population, PopulationRow, Unreadable};
pub use purpose::{Advice, ExcludedVector, Purpose, VectorTable};
pub use registers::uneven;
pub use unknown::would_tell;
pub use vectors::BY_ITS_TABLE;
pub use wording::{SysfsStatus, sysfs_status};
