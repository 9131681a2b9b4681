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
mod naming;
mod number;
mod page;
mod plan;
mod terminal;
mod view;

pub use clock_watch::{ClockMetrics, clock_event_terminal, clock_happening_text, clock_metrics};
pub use escape::{is_deceptive, shell_word};
pub use export::*;
pub use figure::{Figure, figure_svg};
pub use page::{Page, paragraph};
pub use plan::plan_page;
pub use terminal::Terminal;
pub use view::*;
