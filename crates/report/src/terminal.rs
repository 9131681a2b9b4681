//! What a terminal can show, and lines of its width.

mod paint;

pub(crate) use paint::{Ink, Paper, bar, wrap};

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// No line is wider than this.
    pub width_columns: usize,
    /// ANSI colours may be used.
    pub colour: bool,
}

impl Default for Terminal {
    /// Eighty columns, no colour: what a pipe gets.
    fn default() -> Self {
        Self { width_columns: 80, colour: false }
    }
}
