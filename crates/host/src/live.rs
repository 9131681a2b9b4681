//! The running machine: pinning, memory, threads, signals, atomic writes, signs of disturbance.

mod affinity;
pub(crate) mod atomic_file;
mod child;
mod disturbance;
mod echo_process;
mod event;
mod forked;
mod handover;
mod interrupt;
mod mapping;
mod memory_policy;
mod node_memory;
mod perf;
pub(crate) mod process;
mod process_setting;
pub(crate) mod process_tree;
mod speculation;
mod standard_output;
mod threads;
mod time_source;
mod wake_latency;
mod watchdog;
mod watched_process;

pub use affinity::{AffinityError, Pinned, allowed_cpus, current_cpu, set_task_affinity, start_on};
pub use atomic_file::{
    NewFile, WriteError, create_atomically, create_directory_anew, make_folders, make_folders_below,
    write_atomically,
};
pub use child::{
    ChildError, ChildOutput, ChildRun, Ending, Observer, end_with, observe_child, run_child, run_helper,
};
pub use disturbance::{Disturbance, cpu_temperature_c, snapshot};
pub use echo_process::EchoProcess;
pub use event::{Event, wait_for_any};
pub use forked::{Forked, in_forked_child};
pub use handover::Handover;
pub use interrupt::{Signal, install_handlers, outlive_file_size_limit, pending_signal};
pub use mapping::{Mapping, MappingError, PageRequest, Pages, page_bytes};
pub use memory_policy::{MemoryPolicy, current_memory_policy};
pub use node_memory::{NodeMemoryError, ensure_room_on_node, map_on_node, page_nodes};
pub use perf::{
    Observation, PerfError, PerfRefusal, PerfSampler, PerfWatch, RegisterSample, Registers, Switch,
    WakeTracepoint, WakesUnseen, parse_records, wake_tracepoint,
};
pub use process::{
    ThreadUsage, boot_id, effective_root, effective_user, host_name, is_kernel_thread, is_writable,
    kernel_release, own_nice, peak_resident_bytes, process_cpu_time_ns, process_start_ticks, process_user,
    thread_cpu_time_ns, utc_now,
};
pub use process_setting::{
    ProcessSetting, SettingError, SettingGuard, forbid_huge_pages, huge_pages_forbidden, node_mask, prepare,
    timer_slack_ns,
};
pub use process_tree::{
    ThreadState, is_below, is_running, is_stopped, running_in_group, thread_state, threads_below,
};
pub use speculation::{Speculation, SpeculationState, speculation, stop_speculation};
pub use standard_output::standard_output;
pub use threads::{ThreadError, ThreadRefused, first_refused, start_thread, with_threads_left};
pub use time_source::{TimeSource, ask_for_parent, ntp_state};
pub use wake_latency::{WakeLatency, wake_latency_us};
pub use watchdog::{Watch, Watchdog, watch};
pub use watched_process::{ProgramFile, read_process_memory};
