//! The only door to Linux: files, CPUID, memory, threads, signals.

pub mod address_space;
mod answer;
pub mod arch;
mod capture;
pub mod cpuid;
pub mod describe;
pub mod flaw_sources;
mod generated_folder;
mod kernel_clocks;
mod kernel_configuration;
pub mod live;
mod messages;
mod plain_file;
pub mod root;
pub mod sealed_file;
pub mod smbios;
mod socket_links;
pub mod state_folder;
pub mod system_writer;
mod task_stat;
pub mod trusted_folder;

pub use address_space::{AddressSpace, MappedRange};
pub use capture::{Capture, CaptureOptions, capture};
pub use cpuid::Cpuid;
pub use describe::{describe, full_command_line};
pub use flaw_sources::FlawSources;
pub use generated_folder::{FolderError, ScratchFolder, cache_folder, filled_once};
pub use kernel_clocks::{hardware_clock_seconds, kernel_clocks, kernel_clocks_now};
pub use live::process_tree::{Followed, ProcessId};
pub use plain_file::{NotPlain, open_plain, read_plain, read_plain_text};
pub use root::register::Registers;
pub use root::{ReadError, Root, RootError, each_text, is_nested_deeper, is_topology};
pub use sealed_file::{Damaged, SealedFile};
pub use socket_links::{
    AcpiTableError, NodeFunction, hmat, node_functions, northbridge_nodes, pci_roots, srat, upi_ports,
};
pub use state_folder::{Disk, Holder, Lock, LockError, StateFolder};
pub use system_writer::{Bindings, Bound, MachineWriter, SystemWriter, SystemWriterError, Target};
pub use trusted_folder::{Distrust, TrustedFolder, ensure_trusted};
