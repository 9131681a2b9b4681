//! A page as data: what a document says, in its order, with typed tables. No widths, no markup, no colours.
//!
//! A view makes a page of one kind of document; the renderers below make text of any page and know no document.

mod columns;
mod csv;
pub(crate) mod html;
mod markdown;
mod terminal;

use std::borrow::Cow;

use serde_json::Value;
use stats::Interval;

use crate::escape::plain;
use crate::figure::Drawn;
use crate::number;
pub use terminal::paragraph;

/// One page: the answer first, then what it rests on.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// What the page is about: a machine, a comparison.
    pub(crate) subject: String,
    /// The verdict in one sentence, with its number.
    pub(crate) answer: Statement,
    /// What the answer rests on, a sentence each.
    pub(crate) because: Vec<Statement>,
    /// Areas at a glance.
    pub(crate) status: Vec<Status>,
    pub(crate) sections: Vec<Section>,
    /// What to do next: complete commands with what they are for.
    pub(crate) next: Vec<String>,
    /// The command that shows all of it, where that is not the same one with `--long`.
    pub(crate) more: Option<String>,
    /// What a reader looks up and does not read: seed, version, duration.
    pub(crate) about: Vec<String>,
}

/// How a statement is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tone {
    #[default]
    Plain,
    /// All is well.
    Good,
    /// Deserves a look.
    Look,
    /// Could not be determined.
    Doubt,
    /// Beside the point, for who looks it up.
    Faint,
}

/// A sentence and how it is meant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Statement {
    pub(crate) tone: Tone,
    pub(crate) text: String,
}

impl Statement {
    pub(crate) fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { tone, text: text.into() }
    }
}

/// One area at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) tone: Tone,
    pub(crate) area: &'static str,
    pub(crate) text: String,
}

/// A part of the page under a heading.
#[derive(Debug, Clone, Default)]
pub(crate) struct Section {
    /// A word of ours, for anchors and names of files.
    pub(crate) id: &'static str,
    /// Empty for a part that needs no heading.
    pub(crate) title: String,
    /// Shown on a terminal with `--long` only; elsewhere always.
    pub(crate) is_detail: bool,
    pub(crate) blocks: Vec<Block>,
}

impl Section {
    /// Whether there is anything to read in words.
    fn has_words(&self) -> bool {
        self.blocks.iter().any(|block| match block {
            Block::Figure(_) => false,
            Block::Table(table) => !table.is_data,
            Block::Text(_) | Block::List(_) | Block::Facts(_) | Block::Command(_) => true,
        })
    }

    pub(crate) fn new(id: &'static str, title: impl Into<String>) -> Self {
        Self { id, title: title.into(), ..Self::default() }
    }

    pub(crate) fn detail(id: &'static str, title: impl Into<String>) -> Self {
        Self { is_detail: true, ..Self::new(id, title) }
    }

    pub(crate) fn with(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// The same with a sentence more.
    pub(crate) fn saying(self, tone: Tone, text: impl Into<String>) -> Self {
        self.with(Block::Text(Statement::new(tone, text)))
    }
}

/// What a section is made of.
#[derive(Debug, Clone)]
pub(crate) enum Block {
    Text(Statement),
    List(Vec<String>),
    /// Names and what is so of each.
    Facts(Vec<(String, String)>),
    Table(Table),
    /// A command to copy: on a line of its own, however long.
    Command(String),
    Figure(Box<Placed>),
}

/// A picture with its name and heading; on a terminal its table stands elsewhere on the page.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    /// A word of ours.
    pub(crate) name: &'static str,
    pub(crate) heading: String,
    pub(crate) drawn: Drawn,
}

/// A table; rows hold a cell for each column.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// A word of ours: the name of its file as CSV.
    pub(crate) id: &'static str,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    /// What the words of the header mean, in a sentence.
    pub(crate) legend: Option<String>,
    /// So many rows stand on a first screen; the rest with `--long`.
    pub(crate) first_rows: Option<usize>,
    /// Points of a curve and the like: in CSV only.
    pub(crate) is_data: bool,
}

impl Table {
    pub(crate) fn new(id: &'static str, columns: Vec<Column>) -> Self {
        Self { id, columns, ..Self::default() }
    }

    /// A section of this table alone; none without rows.
    pub(crate) fn under(self, id: &'static str, title: &str) -> Option<Section> {
        (!self.rows.is_empty()).then(|| Section::new(id, title).with(Block::Table(self)))
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "under {:?}", self.columns);
        self.rows.push(Row { cells, detail: None });
    }
}

/// Whether a column says anything in these rows: an empty one is not shown.
fn is_used(column: &Column, rows: &[Row], index: usize) -> bool {
    let says = |row: &Row| row.cells.get(index).is_some_and(|cell| !cell.words().is_empty());
    column.kind == Kind::Bar || rows.iter().any(says)
}

/// One row, and what is said below it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    pub(crate) detail: Option<String>,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Kind {
    /// Short words, left.
    #[default]
    Word,
    /// Numbers, right.
    Number,
    /// Sentences, left, in as many lines as they need.
    Prose,
    /// A bar for the share of the longest.
    Bar,
}

/// One column: what its header says, and when it may go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) title: Cow<'static, str>,
    /// The unit of every number below, such as `ns`; empty for words.
    pub(crate) unit: &'static str,
    pub(crate) kind: Kind,
    /// 0 stays at any width; the highest goes first.
    pub(crate) priority: u8,
}

impl Column {
    pub(crate) fn word(title: impl Into<Cow<'static, str>>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    pub(crate) fn prose(title: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: Kind::Prose, ..Self::word(title) }
    }

    pub(crate) fn number(title: impl Into<Cow<'static, str>>, unit: &'static str) -> Self {
        Self { unit, kind: Kind::Number, ..Self::word(title) }
    }

    pub(crate) fn bar() -> Self {
        Self { kind: Kind::Bar, priority: u8::MAX, ..Self::default() }
    }

    /// The same, but it goes before those of lower priority.
    pub(crate) fn priority(self, priority: u8) -> Self {
        Self { priority, ..self }
    }

    /// `latency, ns`; a column whose title is its unit has it once. Titles may be names from elsewhere.
    pub(crate) fn header(&self) -> String {
        match (&*plain(&self.title), self.unit) {
            (title, "") => title.to_owned(),
            ("", unit) => unit.to_owned(),
            (title, unit) => format!("{title}, {unit}"),
        }
    }
}

/// One cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Cell {
    /// Nothing applies.
    #[default]
    Empty,
    Text(String),
    /// A word and how it is meant.
    State(Tone, String),
    /// A number as people read it, and as programs do.
    Number {
        text: String,
        value: f64,
        interval: Option<Interval>,
    },
    /// A share of the longest bar.
    Share(f64),
}

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A number with three digits.
    pub(crate) fn number(value: f64) -> Self {
        Self::shown(number::column(value), value)
    }

    pub(crate) fn count(value: usize) -> Self {
        Self::shown(value.to_string(), value as f64)
    }

    /// A number with three digits, or nothing.
    pub(crate) fn known(value: Option<f64>) -> Self {
        value.filter(|value| value.is_finite()).map_or(Self::Empty, Self::number)
    }

    /// `+4.2 %`, or nothing.
    pub(crate) fn change(percent: Option<f64>) -> Self {
        percent.map_or(Self::Empty, |percent| Self::shown(number::signed_percent(percent), percent))
    }

    /// A number and how it is written.
    pub(crate) fn shown(text: impl Into<String>, value: f64) -> Self {
        Self::Number { text: text.into(), value, interval: None }
    }

    /// A number and how it is written, with its interval.
    pub(crate) fn within(text: impl Into<String>, value: f64, interval: Interval) -> Self {
        Self::Number { text: text.into(), value, interval: Some(interval) }
    }

    /// What people read; bars are drawn by whoever can.
    pub(crate) fn words(&self) -> &str {
        match self {
            Self::Empty | Self::Share(_) => "",
            Self::Text(text) | Self::State(_, text) | Self::Number { text, .. } => text,
        }
    }
}

impl Page {
    /// All tables in the order of the page.
    fn tables(&self) -> impl Iterator<Item = &Table> {
        self.sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        })
    }
}

/// The document of a page, for the page that carries it.
#[derive(Debug, Clone)]
pub struct Carried<'a> {
    /// The JSON.
    pub document: &'a Value,
    /// The name it is saved by.
    pub file: &'static str,
}

#[cfg(test)]
mod tests;
