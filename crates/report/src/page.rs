//! A page as data: what a document says, in its order, with typed tables. No widths, no markup, no colours.
//!
//! A view makes a page of one kind of document; the renderers below make text of any page and know no document.

mod csv;
mod html;
mod markdown;
mod table;
mod terminal;

use crate::draw::{Chart, Svg};
pub(crate) use table::{Cell, Column, Kind, Row, Rows, Table};
pub use terminal::paragraph;

/// One page: the answer first, then what it rests on.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// What kind of page it is, behind the name of the program; empty where the subject says it.
    pub(crate) kind: &'static str,
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
    pub(crate) depth: Depth,
    /// Of pages that are read by chapters: the one it is of.
    pub(crate) chapter: Option<&'static Chapter>,
    pub(crate) blocks: Vec<Block>,
}

/// How much of the page a reader asks for before a section is shown; HTML and CSV always have all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Depth {
    #[default]
    First,
    /// With `--long`.
    Long,
    /// In HTML only: what a terminal has in other words, or cannot show.
    Report,
}

/// Sections under one heading of the HTML page, which can be folded and is reached from the top.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chapter {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) is_folded: bool,
}

impl Section {
    /// Whether there is anything to read in words.
    fn has_words(&self) -> bool {
        self.blocks.iter().any(|block| match block {
            Block::Figure(_) => false,
            Block::Table(table) => !table.is_data,
            Block::Text(_) | Block::List(_) | Block::Facts(_) | Block::Command(_) | Block::Card(_) => true,
        })
    }

    pub(crate) fn new(id: &'static str, title: impl Into<String>) -> Self {
        Self { id, title: title.into(), ..Self::default() }
    }

    /// The same, but a detail.
    pub(crate) fn detailed(self) -> Self {
        Self { depth: Depth::Long, ..self }
    }

    /// The same, a detail if that holds.
    pub(crate) fn detailed_if(self, is_detail: bool) -> Self {
        if is_detail { self.detailed() } else { self }
    }

    /// The same, of a chapter.
    pub(crate) fn within(self, chapter: &'static Chapter) -> Self {
        Self { chapter: Some(chapter), ..self }
    }

    /// The same, in HTML only.
    pub(crate) fn of_report(self) -> Self {
        Self { depth: Depth::Report, ..self }
    }

    /// Whether words show it to a reader who asked for everything, or did not.
    fn is_shown(&self, is_long: bool) -> bool {
        match self.depth {
            Depth::First => true,
            Depth::Long => is_long,
            Depth::Report => false,
        }
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
            Some(drawn) => self.with(Block::Figure(Box::new(Placed { name, heading, drawn: Ok(drawn) }))),
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
    /// A picture; in HTML a table behind it is folded, as its numbers.
    Figure(Box<Placed>),
    Card(Card),
}

/// A statement with what it rests on, as a thing of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Card {
    pub(crate) statement: Statement,
    pub(crate) facts: Vec<(String, String)>,
}

/// A picture with its name and heading, or the reason why there is none.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    /// A word of ours.
    pub(crate) name: &'static str,
    pub(crate) heading: String,
    pub(crate) drawn: Result<Drawn, String>,
}

/// A figure ready to be placed.
#[derive(Debug, Clone)]
pub(crate) struct Drawn {
    pub(crate) svg: Svg,
    /// How to read it: one or two sentences.
    pub(crate) reading: String,
}

impl Drawn {
    /// A chart on paper; `None` if it is empty.
    pub(crate) fn of(chart: &dyn Chart, name: &str, reading: impl Into<String>) -> Option<Self> {
        let reading = reading.into();
        (!chart.is_empty()).then(|| Self { svg: chart.draw(name), reading })
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

#[cfg(test)]
mod tests;
