//! From documents to pages: one view per kind of document, each `document -> Page` and nothing else.

pub(crate) mod check_up;
pub(crate) mod clock_check;
pub(crate) mod clock_cost;
mod comparison;
pub(crate) mod drift;
pub(crate) mod experiment;
mod factorial;
pub(crate) mod flaws;
mod guard;
mod history;
pub(crate) mod machine;
mod plan;
mod reboots;
mod selftest;
mod toggles;

pub use check_up::check_up_page;
pub use clock_check::clock_check_page;
pub use clock_cost::clock_cost_page;
pub use comparison::{COMPARISON_DATA, comparison_page};
pub use drift::drift_page;
pub use experiment::experiment_page;
pub use factorial::factorial_page;
pub use flaws::{FlawList, flaw_index_page, flaw_page, flaws_page, population_page};
pub use guard::{guard_baseline_page, guard_page};
pub use history::history_page;
pub use machine::machine_page;
pub use plan::plan_page;
pub use reboots::reboots_page;
pub use selftest::{SelftestReport, selftest_page};
pub use toggles::{ToggleState, ToggleValue, toggle_page, toggles_page};
