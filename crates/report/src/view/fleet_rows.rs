//! Rows of a fleet: how many there are, and which files gave none.

use machine::counted;
use record::FleetRows;

use crate::page::{Page, Section, Statement, Table, Tone};

/// Unread files on a first screen.
const UNREAD_FIRST: usize = 10;

/// The page of a drop directory that was laid flat.
pub fn fleet_rows_page(rows: &FleetRows) -> Page {
    let count = |number: u64, noun: &str| counted(usize::try_from(number).unwrap_or(usize::MAX), noun);
    let answer = format!(
        "{} of {}: {}, {} in {}",
        count(rows.records, "record"),
        count(rows.nodes, "node"),
        count(rows.metrics, "number"),
        count(rows.states, "state"),
        rows.folder
    );
    let is_whole = rows.unread.is_empty() && rows.ambiguous.is_empty();
    let mut because = Vec::new();
    if rows.partial > 0 {
        because.push(Statement::doubt(format!("{} stopped early", count(rows.partial, "run"))));
    }
    if !rows.unread.is_empty() {
        because.push(Statement::doubt(format!("{} gave no rows", counted(rows.unread.len(), "file"))));
    }
    let several =
        |node: &String, why: &String| format!("{node} seems to be the name of several machines: {why}");
    because.extend(rows.ambiguous.iter().map(|one| Statement::look(several(&one.node, &one.because))));
    let unread = Table::of("unread", &rows.unread)
        .prose("file", |one| &one.file)
        .prose("why", |one| &one.reason)
        .first(UNREAD_FIRST)
        .table();
    let mut section = Section::new("unread", "files without rows");
    if !rows.unread.is_empty() {
        section = section.table(unread);
    }
    Page {
        answer: Statement::new(if is_whole { Tone::Good } else { Tone::Look }, answer),
        because,
        sections: vec![section, Section::new("files", "files").list(rows.files.iter().cloned()).detailed()],
        ..Page::default()
    }
}
