//! Rendering of comparisons: terminal, Markdown, CSV, and a page with difference surface and curves.

mod csv;
mod curves;
mod effects;
mod experiment;
mod factorial;
mod html;
mod markdown;
mod reboots;
mod surface;
mod terminal;
mod wording;

pub use csv::comparison_csv;
pub(crate) use experiment::dropped;
pub use experiment::experiment_terminal;
pub use factorial::factorial_terminal;
pub use html::comparison_html;
pub use markdown::comparison_markdown;
pub use reboots::{paragraph, reboots_brief, reboots_terminal};
pub use terminal::comparison_terminal;
