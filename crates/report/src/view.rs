//! From documents to pages: one view per kind of document, each `document -> Page` and nothing else.

mod baseline;
mod bill;
mod cells;
pub(crate) mod check_up;
pub(crate) mod clock_check;
pub(crate) mod clock_cost;
mod comparison;
pub(crate) mod drift;
pub(crate) mod experiment;
mod firmware_links;
pub(crate) mod flaw_vectors;
mod flaws;
mod fleet;
pub(crate) mod inferred_links;
mod linked_sockets;
pub(crate) mod machine;
pub(crate) mod measured_sockets;
mod memory;
mod place;
mod reboots;
mod schedulers;
mod simulated;
pub(crate) mod socket_account;
mod socket_words;
mod toggles;
mod workloads;

pub use baseline::{guard_baseline_page, guard_page, history_page};
pub use bill::bill_page;
pub use check_up::check_up_page;
pub use clock_check::clock_check_page;
pub use clock_cost::clock_cost_page;
pub use comparison::comparison_page;
pub use drift::drift_page;
pub use experiment::experiment_page;
pub use firmware_links::{FirmwareLinks, MemoryClaim, PciClaim, firmware_links_page};
pub use flaw_vectors::{flaw_purpose_page, flaw_vectors_page};
pub use flaws::{against_baseline, flaw_index_page, flaw_page, flaws_page, population_page};
pub use fleet::{fleet_check_page, fleet_rows_page};
pub use inferred_links::inferred_links_page;
pub use linked_sockets::linked_sockets_page;
pub use machine::machine_page;
pub use measured_sockets::measured_sockets_page;
pub use memory::memory_page;
pub use place::place_page;
pub use reboots::reboots_page;
pub use schedulers::schedulers_page;
pub use socket_account::socket_account_page;
pub use toggles::{ToggleState, ToggleValue, toggle_page, toggles_page};
pub use workloads::{
    CheckedWorkload, WorkloadCheck, WorkloadLine, WorkloadList, workload_check_page, workloads_page,
};
