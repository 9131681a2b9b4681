//! A page in the terminal: the answer, what it rests on, tables in the columns there are. Columns go by priority, words and numbers
//! are never cut.

use unicode_width::UnicodeWidthStr;

use super::{Block, Cell, Column, Depth, Kind, Page, Row, Section, Statement, Table, Tone};
use crate::escape::plain;
use crate::terminal::{Ink, Paper, Terminal, bar, wrap};

/// Columns between two columns of a table.
const GAP_COLUMNS: usize = 2;
/// Sentences in a narrower column than this are read as a list of words.
const PROSE_LEAST_COLUMNS: usize = 24;
/// Columns of the longest bar.
const BAR_COLUMNS: usize = 10;
/// The widest name in front of facts; longer ones stand on a line of their own.
const NAME_COLUMNS_MAX: usize = 24;
/// Below a row, what is said of it.
const DETAIL_INDENT: &str = "  ";
/// On a first screen the subject and each area take one line of so many columns, and wrap where there are fewer.
const LINE_COLUMNS: usize = 80;
/// Lines of a first screen: the 24 of a usual terminal, less two in which a command says where it wrote its files.
const SCREEN_LINES: usize = 22;

/// Text after a prefix, wrapped to the terminal.
pub fn paragraph(prefix: &str, text: &str, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    paper.wrapped(prefix, &plain(text));
    paper.finish()
}

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
}

impl Page {
    /// The page as text; `is_long` for all of it.
    pub fn terminal(&self, terminal: Terminal, is_long: bool) -> String {
        let mut paper = Paper::new(terminal);
        // What the answer names needs no line of its own.
        if !self.subject.is_empty() && !self.answer.text.contains(&self.subject) {
            let subject = plain(&self.subject);
            let room = paper.layout_columns().max(LINE_COLUMNS);
            let shown = if is_long { subject } else { first_clauses(&subject, room) };
            paper.wrapped_inked(Ink::Strong, "", &shown);
        }
        if !self.answer.text.is_empty() {
            paper.wrapped_inked(self.answer.tone.ink(), "", &plain(&self.answer.text));
        }
        self.because.iter().for_each(|one| statement(&mut paper, "  ", one));
        self.write_status(&mut paper, is_long);
        let mut left_out = false;
        for part in self.sections.iter().filter(|part| part.has_words()) {
            if !part.is_shown(is_long) {
                left_out |= part.depth == Depth::Long;
                continue;
            }
            paper.blank();
            left_out |= section(&mut paper, part, is_long);
        }
        left_out |= self.write_next(&mut paper, is_long);
        if is_long {
            self.about.iter().for_each(|line| paper.wrapped_inked(Ink::Faint, "", &plain(line)));
        } else if left_out || !self.about.is_empty() {
            let more = self.more.as_deref().map_or_else(|| "--long".to_owned(), plain);
            paper.wrapped_inked(Ink::Faint, "", &format!("More: {more}"));
        }
        paper.finish()
    }

    /// Each area at a glance, on a first screen in one line.
    fn write_status(&self, paper: &mut Paper, is_long: bool) {
        if !self.status.is_empty() {
            paper.blank();
        }
        // The name of a question of a document from elsewhere may be anything.
        let areas: Vec<String> = self.status.iter().map(|one| plain(&one.area)).collect();
        let words = self.status.iter().map(|one| one.word.width()).max().unwrap_or(0);
        let widest = areas.iter().map(|area| area.width()).max().unwrap_or(0);
        for (one, area) in self.status.iter().zip(areas) {
            let prefix = format!("{:<words$}  {area:<widest$}  ", one.word);
            let text = plain(&one.text);
            let room = paper.layout_columns().max(LINE_COLUMNS).saturating_sub(prefix.width());
            let shown = if is_long { text } else { first_clauses(&text, room) };
            paper.wrapped_inked(one.tone.ink(), &prefix, &shown);
        }
    }

    /// What to do next, on a first screen as much as it has room for; true if something is left out.
    fn write_next(&self, paper: &mut Paper, is_long: bool) -> bool {
        if self.next.is_empty() {
            return false;
        }
        paper.blank();
        // One line more says how to see the rest.
        let room = SCREEN_LINES.saturating_sub(paper.line_count() + 1);
        let is_screen = !is_long && paper.layout_columns() >= LINE_COLUMNS;
        let mut lines = 0;
        for (index, line) in self.next.iter().enumerate() {
            lines += wrap(&plain(line), paper.layout_columns()).len();
            if is_screen && index > 0 && lines > room {
                return true;
            }
            paper.wrapped("", &plain(line));
        }
        false
    }
}

/// As many clauses of a text as stand in one line, at least words of the first; what is left out leaves a mark.
fn first_clauses(text: &str, columns: usize) -> String {
    const MARK: &str = " …";
    if text.width() <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(MARK.width());
    let ends = text.match_indices("; ").map(|(at, _)| &text[..at]);
    let clauses = ends.filter(|head| head.width() <= room).last().map(str::to_owned);
    let words = || wrap(text, room.max(1)).swap_remove(0);
    let kept = clauses.unwrap_or_else(words);
    // Half an interval is none.
    let whole = kept.rfind('[').filter(|at| !kept[*at..].contains(']'));
    format!("{}{MARK}", kept[..whole.unwrap_or(kept.len())].trim_end())
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
            Block::Facts(facts) => list_facts(paper, "", facts),
            Block::Command(command) => paper.inked(Ink::Command, &format!("    {}", plain(command))),
            Block::Table(table) if !table.is_data => left_out |= write_table(paper, table, is_long),
            Block::Card(card) => {
                statement(paper, "", &card.statement);
                list_facts(paper, "  ", &card.facts);
            }
            Block::Table(_) | Block::Figure(_) => {}
        }
    }
    left_out
}

fn list_facts(paper: &mut Paper, indent: &str, facts: &[(String, String)]) {
    let widths = facts.iter().map(|(name, _)| name.width());
    let columns = widths.filter(|width| *width <= NAME_COLUMNS_MAX).max().unwrap_or(0);
    for (name, text) in facts.iter().filter(|(_, text)| !text.is_empty()) {
        if name.width() > columns {
            paper.wrapped(indent, &plain(name));
        }
        let name = if name.width() > columns { "" } else { name };
        paper.wrapped(&format!("{indent}{:<columns$}  ", plain(name)), &plain(text));
    }
}

/// Writes a table; true if it left rows out.
fn write_table(paper: &mut Paper, table: &Table, is_long: bool) -> bool {
    let shown =
        table.first_rows.filter(|_| !is_long).map_or(table.rows.len(), |rows| rows.min(table.rows.len()));
    let rows = &table.rows[..shown];
    match fitted(&table.columns, rows, paper.layout_columns()) {
        _ if rows.is_empty() => {}
        Some(columns) => write_columns(paper, table, rows, &columns),
        None => write_stacked(paper, table, rows),
    }
    let hidden = table.rows.len() - shown;
    if hidden > 0 {
        let rows = if shown == 0 { "row" } else { "more row" };
        paper.inked(Ink::Faint, &format!("{} with --long", machine::counted(hidden, rows)));
    }
    if let Some(legend) = &table.legend {
        paper.wrapped_inked(Ink::Faint, "", &plain(legend));
    }
    hidden > 0
}

fn write_columns(paper: &mut Paper, table: &Table, rows: &[Row], columns: &[(usize, usize)]) {
    let headers: Vec<Cell> = table.columns.iter().map(|column| column.header().into()).collect();
    write_row(paper, Ink::Strong, table, &headers, columns);
    for Row { cells, detail } in rows {
        write_row(paper, Ink::Plain, table, cells, columns);
        if let Some(detail) = detail {
            paper.wrapped_inked(Ink::Faint, DETAIL_INDENT, &plain(detail));
        }
    }
    let is_hidden = |(index, column): &(usize, &Column)| {
        let is_shown = columns.iter().any(|(shown, _)| shown == index);
        !is_shown && column.kind != Kind::Bar && column.is_used(rows, *index)
    };
    let hidden = table.columns.iter().enumerate().filter(is_hidden);
    let hidden: Vec<String> = hidden.map(|(_, column)| column.header()).collect();
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
fn write_stacked(paper: &mut Paper, table: &Table, rows: &[Row]) {
    for Row { cells, detail } in rows {
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

/// The columns that are shown, with their widths; `None` if not even those of priority 0 fit.
fn fitted(columns: &[Column], rows: &[Row], width: usize) -> Option<Vec<(usize, usize)>> {
    let needs: Vec<Need> = (0..columns.len()).map(|index| Need::of(&columns[index], rows, index)).collect();
    let mut shown: Vec<usize> =
        (0..needs.len()).filter(|&index| columns[index].is_used(rows, index)).collect();
    while total(shown.iter().map(|&index| needs[index].least)) > width {
        let priority = |index: &usize| columns[*index].priority;
        // Of equals the last goes first.
        let last = shown.iter().copied().max_by_key(|index| (priority(index), *index))?;
        if priority(&last) == 0 {
            return None;
        }
        shown.retain(|&index| index != last);
    }
    let mut room = width - total(shown.iter().map(|&index| needs[index].least));
    let mut widths: Vec<(usize, usize)> = shown.iter().map(|&index| (index, needs[index].least)).collect();
    // Headers and numbers first, sentences take what is left.
    for is_prose in [false, true] {
        for (index, width) in &mut widths {
            if (columns[*index].kind == Kind::Prose) == is_prose {
                let more = (needs[*index].most - *width).min(room);
                *width += more;
                room -= more;
            }
        }
    }
    Some(widths)
}

fn total(widths: impl ExactSizeIterator<Item = usize>) -> usize {
    let gaps = widths.len().saturating_sub(1) * GAP_COLUMNS;
    widths.sum::<usize>() + gaps
}

/// What a column needs at least, and what it can use at most.
struct Need {
    least: usize,
    most: usize,
}

impl Need {
    fn of(column: &Column, rows: &[Row], index: usize) -> Self {
        let header = column.header();
        let cells = || rows.iter().filter_map(move |row| row.cells.get(index));
        if column.kind == Kind::Bar {
            return Self { least: BAR_COLUMNS, most: BAR_COLUMNS };
        }
        let longest = cells().map(|cell| cell.words().width()).max().unwrap_or(0);
        let word = |text: &str| text.split_whitespace().map(UnicodeWidthStr::width).max().unwrap_or(0);
        let least = match column.kind {
            Kind::Prose => cells()
                .map(|cell| word(cell.words()))
                .max()
                .unwrap_or(0)
                .max(PROSE_LEAST_COLUMNS)
                .min(longest),
            _ => longest,
        };
        Self { least: least.max(word(&header)), most: longest.max(header.width()) }
    }
}
