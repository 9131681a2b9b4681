//! Rendering of documents: pages for the terminal, HTML, Markdown and CSV, and pictures in SVG.
//!
//! Records in, text out: nothing here opens a file, reads a clock or asks a CPU. What comes from outside (host
//! name, CPU name, command line) is made harmless by `escape` before it is placed anywhere.
#![forbid(unsafe_code)]

mod clock_watch;
mod draw;
mod escape;
mod export;
mod figure;
mod interconnect;
mod naming;
mod number;
mod page;
mod plan;
mod terminal;
mod view;

pub use clock_watch::{ClockMetrics, clock_event_terminal, clock_happening_text, clock_metrics};
pub use escape::{is_deceptive, shell_word};
pub use export::{Family, Sample, TestCase, TestResult, TestSuite, junit, metrics};
pub use figure::{Figure, figure_svg};
pub use interconnect::{GraphPicture, Reads, graph_dot, graph_svg};
pub use page::{Page, paragraph};
pub use terminal::Terminal;
pub use view::{
    COMPARISON_DATA, DomainClaim, FirmwareLinks, FlawList, MemoryClaim, MemoryView, PciClaim, SelftestReport,
    ToggleState, ToggleValue, bill_page, check_up_page, clock_check_page, clock_cost_page, clusters_page,
    comparison_page, drift_page, experiment_page, firmware_links_page, flaw_index_page, flaw_page,
    flaws_page, fleet_check_page, fleet_rows_page, guard_baseline_page, guard_page, history_page,
    inference_picture, inferred_links_page, linked_sockets_page, machine_page, measured_sockets_page,
    memory_page, place_page, plan_page, population_page, reboots_page, results_page, schedulers_page,
    selftest_page, socket_account_page, toggle_page, toggles_page,
};
pub use view::{
    CheckedWorkload, WorkloadCheck, WorkloadInstall, WorkloadLine, WorkloadList, workload_check_page,
    workload_install_page, workloads_page,
};
