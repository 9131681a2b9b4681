//! A page as data: what a document says, in its order, with typed tables. No widths, no markup, no colours.
//!
//! A view makes a page of one kind of document; the renderers below make text of any page and know no document.

mod columns;
mod csv;
pub(crate) mod html;
mod markdown;
mod table;
mod terminal;

use serde_json::Value;

use crate::figure::Drawn;
pub(crate) use csv::digits;
pub(crate) use table::{Cell, Column, Kind, Row, Rows, Table};
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

    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::new(Tone::Plain, text)
    }

    pub(crate) fn good(text: impl Into<String>) -> Self {
        Self::new(Tone::Good, text)
    }

    pub(crate) fn look(text: impl Into<String>) -> Self {
        Self::new(Tone::Look, text)
    }

    pub(crate) fn doubt(text: impl Into<String>) -> Self {
        Self::new(Tone::Doubt, text)
    }

    pub(crate) fn faint(text: impl Into<String>) -> Self {
        Self::new(Tone::Faint, text)
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

    /// The same, but a detail.
    pub(crate) fn detailed(self) -> Self {
        Self { is_detail: true, ..self }
    }

    pub(crate) fn with(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// The same with a table.
    pub(crate) fn table(self, table: Table) -> Self {
        self.with(Block::Table(table))
    }

    /// The same with a list, unless it is empty.
    pub(crate) fn list(self, lines: impl IntoIterator<Item = String>) -> Self {
        let lines: Vec<String> = lines.into_iter().collect();
        if lines.is_empty() { self } else { self.with(Block::List(lines)) }
    }

    /// The same with names and what is so of each.
    pub(crate) fn facts<N: Into<String>>(self, facts: impl IntoIterator<Item = (N, String)>) -> Self {
        let facts: Vec<(String, String)> =
            facts.into_iter().map(|(name, text)| (name.into(), text)).collect();
        if facts.is_empty() { self } else { self.with(Block::Facts(facts)) }
    }

    /// The same with a picture, if there is one.
    pub(crate) fn figure(self, name: &'static str, heading: impl Into<String>, drawn: Option<Drawn>) -> Self {
        let heading = heading.into();
        match drawn {
            Some(drawn) => self.with(Block::Figure(Box::new(Placed { name, heading, drawn }))),
            None => self,
        }
    }

    /// The same with a sentence more.
    pub(crate) fn saying(self, tone: Tone, text: impl Into<String>) -> Self {
        self.stating([Statement::new(tone, text)])
    }

    /// The same with sentences more.
    pub(crate) fn stating(mut self, statements: impl IntoIterator<Item = Statement>) -> Self {
        self.blocks.extend(statements.into_iter().map(Block::Text));
        self
    }

    /// The section, unless nothing is in it.
    pub(crate) fn filled(self) -> Option<Self> {
        (!self.blocks.is_empty()).then_some(self)
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
