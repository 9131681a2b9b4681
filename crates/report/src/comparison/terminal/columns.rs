//! A table whose first column takes what room the numbers leave, wrapping names with their indent.

use unicode_width::UnicodeWidthStr;

use crate::terminal::{Ink, Paper, wrap};

/// Names are indented below the heading of their group, and their further lines below themselves.
const INDENT_COLUMNS: usize = 1;
const FURTHER_COLUMNS: usize = 3;

/// Names are not squeezed below this; the line is clipped instead.
const LEAST_NAME_COLUMNS: usize = 12;

enum Line {
    Group(String),
    Row { name: String, cells: Vec<String> },
}

/// Rows under headings.
pub(super) struct Columns {
    headers: Vec<String>,
    left: Vec<usize>,
    lines: Vec<Line>,
    group: Option<String>,
}

impl Columns {
    /// A table with these headers, the first of which is that of the names; `left` are columns of words.
    pub(super) fn new<'h>(headers: impl IntoIterator<Item = &'h str>, left: &[usize]) -> Self {
        let headers = headers.into_iter().map(str::to_owned).collect();
        Self { headers, left: left.to_vec(), lines: Vec::new(), group: None }
    }

    /// Begins a group unless it is the current one.
    pub(super) fn group(&mut self, name: &str) {
        if self.group.as_deref() != Some(name) {
            self.group = Some(name.to_owned());
            self.lines.push(Line::Group(name.to_owned()));
        }
    }

    pub(super) fn row(&mut self, name: &str, cells: impl IntoIterator<Item = String>) {
        self.lines.push(Line::Row { name: name.to_owned(), cells: cells.into_iter().collect() });
    }

    /// Widths of all columns but the first.
    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.headers.iter().skip(1).map(|header| header.width()).collect();
        for line in &self.lines {
            if let Line::Row { cells, .. } = line {
                for (width, cell) in widths.iter_mut().zip(cells) {
                    *width = (*width).max(cell.width());
                }
            }
        }
        widths
    }

    fn indent(&self) -> usize {
        if self.group.is_some() { INDENT_COLUMNS } else { 0 }
    }

    /// Writes the table with `gap` columns between its own.
    pub(super) fn write(&self, paper: &mut Paper, gap: usize) {
        let widths = self.widths();
        let taken: usize = widths.iter().map(|width| width + gap).sum();
        let longest = self.lines.iter().map(|line| match line {
            Line::Group(_) => 0,
            Line::Row { name, .. } => name.width() + self.indent(),
        });
        let first = longest.chain([self.headers[0].width()]).max().unwrap_or(0);
        let room = paper.layout_columns().saturating_sub(taken).max(LEAST_NAME_COLUMNS);
        let first = first.min(room);
        let cells: Vec<&str> = self.headers.iter().skip(1).map(String::as_str).collect();
        paper.strong(&self.line(&self.headers[0], &cells, first, &widths, gap));
        for line in &self.lines {
            match line {
                Line::Group(name) => paper.inked(Ink::Strong, name),
                Line::Row { name, cells } => {
                    let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
                    self.named(paper, name, &cells, first, &widths, gap);
                }
            }
        }
    }

    /// A row whose name may take several lines; the numbers stand on the first.
    fn named(
        &self,
        paper: &mut Paper,
        name: &str,
        cells: &[&str],
        first: usize,
        widths: &[usize],
        gap: usize,
    ) {
        let indent = self.indent();
        let mut parts = wrap(name, first.saturating_sub(indent)).into_iter();
        let head = format!("{}{}", " ".repeat(indent), parts.next().unwrap_or_default());
        paper.inked(Ink::Plain, &self.line(&head, cells, first, widths, gap));
        let rest = parts.collect::<Vec<_>>().join(" ");
        if !rest.is_empty() {
            for part in wrap(&rest, first.saturating_sub(FURTHER_COLUMNS)) {
                paper.inked(Ink::Plain, &format!("{}{part}", " ".repeat(FURTHER_COLUMNS)));
            }
        }
    }

    fn line(&self, name: &str, cells: &[&str], first: usize, widths: &[usize], gap: usize) -> String {
        let mut line = format!("{name}{}", " ".repeat(first.saturating_sub(name.width())));
        for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let space = " ".repeat(width.saturating_sub(cell.width()));
            let (before, after) = if self.left.contains(&(index + 1)) {
                (String::new(), space)
            } else {
                (space, String::new())
            };
            line.extend([" ".repeat(gap), before, (*cell).to_owned(), after]);
        }
        line
    }
}
