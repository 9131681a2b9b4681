//! A page in the terminal: the answer, what it rests on, tables in the columns there are.

use unicode_width::UnicodeWidthStr;

use super::columns::{GAP_COLUMNS, fitted};
use super::{Block, Cell, Column, Kind, Page, Row, Section, Statement, Table, Tone};
use crate::escape::plain;
use crate::terminal::{Ink, Paper, Terminal, bar, wrap};

/// The widest name in front of facts; longer ones stand on a line of their own.
const NAME_COLUMNS_MAX: usize = 24;
/// Below a row, what is said of it.
const DETAIL_INDENT: &str = "  ";

impl Tone {
    fn ink(self) -> Ink {
        match self {
            Self::Plain => Ink::Plain,
            Self::Good => Ink::Good,
            Self::Look => Ink::Warning,
            Self::Doubt => Ink::Doubt,
            Self::Faint => Ink::Faint,
        }
    }

    /// What stands in front of a sentence, as colour is not the only carrier.
    fn sign(self) -> &'static str {
        match self {
            Self::Look => "! ",
            Self::Doubt => "? ",
            Self::Plain | Self::Good | Self::Faint => "",
        }
    }

    /// The word of a status.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Look => "look",
            Self::Doubt => "unknown",
            Self::Plain | Self::Faint => "",
        }
    }
}

impl Page {
    /// The page as text; `is_long` for all of it.
    pub fn terminal(&self, terminal: Terminal, is_long: bool) -> String {
        let mut paper = Paper::new(terminal);
        if !self.subject.is_empty() {
            paper.wrapped_inked(Ink::Strong, "", &plain(&self.subject));
        }
        if !self.answer.text.is_empty() {
            paper.wrapped_inked(self.answer.tone.ink(), "", &plain(&self.answer.text));
        }
        self.because.iter().for_each(|one| statement(&mut paper, "  ", one));
        if !self.status.is_empty() {
            paper.blank();
        }
        let columns =
            |text: fn(&super::Status) -> &str| self.status.iter().map(|one| text(one).width()).max();
        let [words, areas] =
            [columns(|one| one.tone.word()), columns(|one| one.area)].map(|width| width.unwrap_or(0));
        for one in &self.status {
            let prefix = format!("{:<words$}  {:<areas$}  ", one.tone.word(), one.area);
            paper.wrapped_inked(one.tone.ink(), &prefix, &plain(&one.text));
        }
        let mut left_out = false;
        for part in self.sections.iter().filter(|part| part.has_words()) {
            if part.is_detail && !is_long {
                left_out = true;
                continue;
            }
            paper.blank();
            left_out |= section(&mut paper, part, is_long);
        }
        if !self.next.is_empty() {
            paper.blank();
        }
        self.next.iter().for_each(|line| paper.wrapped("", &plain(line)));
        if is_long {
            self.about.iter().for_each(|line| paper.wrapped_inked(Ink::Faint, "", &plain(line)));
        } else if left_out || !self.about.is_empty() {
            paper.wrapped_inked(Ink::Faint, "", "More: --long");
        }
        paper.finish()
    }
}

fn statement(paper: &mut Paper, indent: &str, one: &Statement) {
    let prefix = format!("{indent}{}", one.tone.sign());
    paper.wrapped_inked(one.tone.ink(), &prefix, &plain(&one.text));
}

/// Writes a section; true if it left something out.
fn section(paper: &mut Paper, part: &Section, is_long: bool) -> bool {
    if !part.title.is_empty() {
        paper.wrapped_inked(Ink::Strong, "", &plain(&part.title));
    }
    let mut left_out = false;
    for block in &part.blocks {
        match block {
            Block::Text(one) => statement(paper, "", one),
            Block::List(lines) => lines.iter().for_each(|line| paper.wrapped("- ", &plain(line))),
            Block::Facts(facts) => list_facts(paper, facts),
            Block::Table(table) if !table.is_data => left_out |= write_table(paper, table, is_long),
            Block::Table(_) | Block::Figure(_) => {}
        }
    }
    left_out
}

fn list_facts(paper: &mut Paper, facts: &[(String, String)]) {
    let widths = facts.iter().map(|(name, _)| name.width());
    let columns = widths.filter(|width| *width <= NAME_COLUMNS_MAX).max().unwrap_or(0);
    for (name, text) in facts.iter().filter(|(_, text)| !text.is_empty()) {
        if name.width() > columns {
            paper.wrapped("", &plain(name));
        }
        let name = if name.width() > columns { "" } else { name };
        paper.wrapped(&format!("{:<columns$}  ", plain(name)), &plain(text));
    }
}

/// Writes a table; true if it left rows out.
fn write_table(paper: &mut Paper, table: &Table, is_long: bool) -> bool {
    let shown =
        table.first_rows.filter(|_| !is_long).map_or(table.rows.len(), |rows| rows.min(table.rows.len()));
    let table_shown = Table { rows: table.rows[..shown].to_vec(), ..table.clone() };
    match fitted(&table_shown, paper.layout_columns()) {
        Some(columns) => write_columns(paper, &table_shown, &columns),
        None => write_stacked(paper, &table_shown),
    }
    let hidden = table.rows.len() - shown;
    if hidden > 0 {
        paper.faint(&format!("{} with --long", machine::counted(hidden, "more row")));
    }
    if let Some(legend) = &table.legend {
        paper.wrapped_inked(Ink::Faint, "", &plain(legend));
    }
    hidden > 0
}

fn write_columns(paper: &mut Paper, table: &Table, columns: &[(usize, usize)]) {
    let headers: Vec<Cell> = table.columns.iter().map(|column| Cell::Text(column.header())).collect();
    write_row(paper, Ink::Strong, table, &headers, columns);
    for Row { cells, detail } in &table.rows {
        write_row(paper, Ink::Plain, table, cells, columns);
        if let Some(detail) = detail {
            paper.wrapped_inked(Ink::Faint, DETAIL_INDENT, &plain(detail));
        }
    }
    let is_shown = |index: &usize| columns.iter().any(|(shown, _)| shown == index);
    let is_told = |column: &Column| column.kind != Kind::Bar;
    let hidden: Vec<String> = (0..table.columns.len())
        .filter(|index| !is_shown(index) && is_told(&table.columns[*index]))
        .filter(|index| table.rows.iter().any(|row| !row.cells[*index].words().is_empty()))
        .map(|index| table.columns[index].header())
        .collect();
    if !hidden.is_empty() {
        paper.wrapped_inked(Ink::Faint, "", &format!("on a wider terminal also: {}", hidden.join("; ")));
    }
}

fn write_row(paper: &mut Paper, ink: Ink, table: &Table, cells: &[Cell], columns: &[(usize, usize)]) {
    let lines: Vec<Vec<String>> = columns
        .iter()
        .map(|&(index, width)| match &cells[index] {
            Cell::Share(share) => vec![bar(*share, width)],
            cell => wrap(&plain(cell.words()), width.max(1)),
        })
        .collect();
    let height = lines.iter().map(Vec::len).max().unwrap_or(0);
    for at in 0..height {
        let mut line = String::new();
        for ((&(index, width), lines), place) in columns.iter().zip(&lines).zip(0..) {
            // A header of two lines stands above its column's numbers, not above nothing.
            let skip = if ink == Ink::Strong { height - lines.len() } else { 0 };
            let text = at.checked_sub(skip).and_then(|at| lines.get(at)).map_or("", String::as_str);
            let pad = " ".repeat(width.saturating_sub(text.width()));
            if place > 0 {
                line += &" ".repeat(GAP_COLUMNS);
            }
            line +=
                &if table.columns[index].kind == Kind::Number { pad + text } else { text.to_owned() + &pad };
        }
        paper.inked(ink, line.trim_end());
    }
}

/// Each row as names and values, where not even the least columns stand side by side.
fn write_stacked(paper: &mut Paper, table: &Table) {
    for Row { cells, detail } in &table.rows {
        for (index, (column, cell)) in table.columns.iter().zip(cells).enumerate() {
            let words = plain(cell.words());
            match (index, column.header()) {
                (_, header) if words.is_empty() || column.kind == Kind::Bar && header.is_empty() => {}
                (0, _) => paper.wrapped_inked(Ink::Strong, "", &words),
                (_, header) if header.is_empty() => paper.wrapped(DETAIL_INDENT, &words),
                (_, header) => paper.wrapped(DETAIL_INDENT, &format!("{header}: {words}")),
            }
        }
        if let Some(detail) = detail {
            paper.wrapped_inked(Ink::Faint, DETAIL_INDENT, &plain(detail));
        }
    }
}
