//! What a machine is: units, topology, caches, nodes, identity and environment, as plain data.
//!
//! Nothing here reads a file or asks a CPU: `host` fills these types from Linux or from a recording,
//! everything above reads them. All fields are public, all absences are values.
#![forbid(unsafe_code)]

pub mod acpi;
mod arm;
mod cache;
mod command_line;
mod counted;
mod cpu_set;
mod delimited;
mod description;
mod disagreement;
mod environment;
mod identity;
mod keyed_hash;
mod links;
mod named;
mod nearest_name;
mod node;
mod quantity;
mod shell;
mod tlb;
mod topology;
mod view;

pub use arm::{ArmCpus, ArmSignature, arm_name};
pub use cache::{Cache, CacheKind};
pub use command_line::shareable_command_line;
pub use counted::counted;
pub use cpu_set::{CPU_NUMBER_LIMIT, CpuSet, CpuSetError};
pub use delimited::{TableLine, UnclosedQuote, table_lines};
pub use description::Machine;
pub use disagreement::Disagreement;
pub use environment::{
    ClockSources, Container, Environment, FieldScan, HugePagePool, Limits, TransparentHugePages,
};
pub use identity::{Identity, MemoryModule, Vendor};
pub use keyed_hash::keyed_hash;
pub use links::{NorthbridgeNode, PciRoot, UpiPort};
pub use nearest_name::did_you_mean;
pub use node::{MemoryAttribute, Node};
pub use quantity::{Bytes, CpuId, Hertz, Nanoseconds, NodeId, Ticks};
pub use shell::{shell_quoted, shell_word};
pub use tlb::{Tlb, TlbKind};
pub use topology::{Core, CoreKind, Cpu, Topology};
pub use view::{CacheSummary, Counts, Distances, View};
