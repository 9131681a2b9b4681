//! What a machine is: units, topology, caches, nodes, identity and environment, as plain data.
//!
//! Nothing here reads a file or asks a CPU: `host` fills these types from Linux or from a recording,
//! everything above reads them. All fields are public, all absences are values.
#![forbid(unsafe_code)]

pub mod acpi;
mod architecture;
mod arm;
mod command_line;
mod cpu_set;
mod delimited;
mod description;
mod environment;
mod identity;
mod keyed_hash;
mod links;
mod named;
mod quantity;
mod topology;
mod view;
mod words;

pub use architecture::architecture_of_cpuinfo;
pub use arm::{ArmCpus, ArmSignature, arm_name, arm_part};
pub use command_line::{BootWord, boot_words, last_word, same_option, shareable_command_line};
pub use cpu_set::{CPU_NUMBER_LIMIT, CpuSet, CpuSetError};
pub use delimited::{TableLine, UnclosedQuote, table_field, table_lines};
pub use description::{Disagreement, Machine};
pub use environment::{
    ClockSources, Container, Environment, FieldScan, HugePagePool, Limits, TransparentHugePages,
};
pub use identity::{Identity, MemoryModule, Vendor};
pub use keyed_hash::keyed_hash;
pub use links::{NorthbridgeNode, PciRoot, UpiPort};
pub use quantity::{Bytes, CpuId, Hertz, NodeId};
pub use topology::{Cache, CacheKind, Core, CoreKind, Cpu, MemoryAttribute, Node, Tlb, TlbKind, Topology};
pub use view::{CacheSummary, Counts, Distances, View};
pub use words::{counted, did_you_mean, shell_quoted, shell_word};
