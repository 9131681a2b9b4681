//! The running machine: pinning, memory, threads, signals, atomic writes, signs of disturbance.

mod affinity;
mod atomic_file;
mod child;
mod disturbance;
mod echo_process;
mod event;
mod forked;
mod generated_folder;
mod handover;
mod interrupt;
mod mapping;
mod memory_file;
mod memory_policy;
mod messages;
mod node_memory;
mod ntp;
mod page;
mod perf;
mod poll;
mod process;
mod process_memory;
mod process_setting;
mod process_tree;
mod program_file;
mod speculation;
mod standard_output;
mod system_call;
mod temperature;
mod thread_error;
mod thread_usage;
mod threads;
mod time_source;
mod wake_latency;
mod watchdog;

pub use affinity::{AffinityError, Pinned, allowed_cpus, current_cpu, set_task_affinity};
pub use atomic_file::{WriteError, create_atomically, create_directory_anew, write_atomically};
pub use child::{
    ChildError, ChildOutput, ChildRun, Ending, Observer, end_with, observe_child, run_child, run_helper,
};
pub use disturbance::{Disturbance, snapshot};
pub use echo_process::EchoProcess;
pub use event::Event;
pub use forked::{Forked, in_forked_child};
pub use generated_folder::{FolderError, ScratchFolder, cache_folder, filled_once};
pub use handover::Handover;
pub use interrupt::{Signal, install_handlers, outlive_file_size_limit, pending_signal};
pub use mapping::{Mapping, MappingError, PageRequest, Pages};
pub use memory_policy::{MemoryPolicy, current_memory_policy};
pub use messages::kernel_messages;
pub use node_memory::{NodeMemoryError, ensure_room_on_node, map_on_node, page_nodes};
pub use ntp::ntp_state;
pub use page::page_bytes;
pub use perf::{
    Observation, PerfError, PerfRefusal, PerfSampler, PerfWatch, RegisterSample, Registers, Switch,
    WakeTracepoint, WakesUnseen, parse_records, wake_tracepoint,
};
pub use poll::wait_for_any;
pub use process::{
    boot_id, effective_root, effective_user, host_name, is_kernel_thread, is_writable, kernel_release,
    own_nice, peak_resident_bytes, process_start_ticks, process_user, utc_now,
};
pub use process_memory::read_process_memory;
pub use process_setting::{
    ProcessSetting, SettingError, SettingGuard, forbid_huge_pages, huge_pages_forbidden, node_mask, prepare,
    timer_slack_ns,
};
pub use process_tree::{
    ThreadState, is_below, is_running, is_stopped, running_in_group, thread_state, threads_below,
};
pub use program_file::ProgramFile;
pub use speculation::{Speculation, SpeculationState, speculation, stop_speculation};
pub use standard_output::standard_output;
pub use system_call::ask_for_parent;
pub use temperature::cpu_temperature_c;
pub use thread_error::{ThreadError, ThreadRefused, first_refused};
pub use thread_usage::{ThreadUsage, process_cpu_time_ns, thread_cpu_time_ns};
pub use threads::{start_on, start_thread, with_threads_left};
pub use time_source::TimeSource;
pub use wake_latency::{WakeLatency, wake_latency_us};
pub use watchdog::{Watch, Watchdog, watch};
