//! The running machine: pinning, memory, threads, signals, atomic writes, signs of disturbance.

mod affinity;
mod atomic_file;
mod disturbance;
mod interrupt;
mod mapping;
mod process;
mod thread_usage;
mod time_source;

pub use affinity::{AffinityError, Pinned, allowed_cpus, current_cpu};
pub use atomic_file::{WriteError, create_directory_anew, write_atomically};
pub use disturbance::{Disturbance, snapshot};
pub use interrupt::{Signal, install_handlers, pending_signal};
pub use mapping::{Mapping, MappingError, PageRequest, Pages};
pub use process::{effective_root, host_name, kernel_release, peak_resident_bytes, utc_now};
pub use thread_usage::{ThreadUsage, thread_cpu_time_ns};
pub use time_source::TimeSource;
