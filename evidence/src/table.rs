//! Markdown tables of the tasks that measure, printed as they grow.

/// Prints the head of a table: its columns, with bars between them.
pub(crate) fn head(columns: &str) {
    println!("| {columns} |\n|{}", "---|".repeat(columns.split(" | ").count()));
}

/// A share in percent.
pub(crate) fn percent(part: usize, of: usize) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}
