//! A placement for readers: a page of text, and a page for the browser.

mod html;
mod sharers;
mod terminal;

pub use html::place_html;
pub use terminal::{place_sweep_terminal, place_terminal};
