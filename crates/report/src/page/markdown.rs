//! A page as Markdown, for tickets and pull requests: tables with all columns, no bars.

use super::{Block, Cell, Column, Kind, Page, Section, Table};
use crate::escape::plain;

impl Page {
    /// The page, its details only if `is_long`; whatever comes from elsewhere cannot become markup.
    pub fn markdown(&self, is_long: bool) -> String {
        let mut parts = Vec::new();
        if !self.subject.is_empty() {
            parts.push(format!("### {}", escaped(&self.subject)));
        }
        if !self.answer.text.is_empty() {
            parts.push(format!("**{}**", escaped(&self.answer.text)));
        }
        parts.push(list(self.because.iter().map(|one| one.text.as_str())));
        parts.push(list(self.status.iter().map(|one| format!("{}: {}: {}", one.word, one.area, one.text))));
        let is_shown = |section: &&Section| section.has_words() && section.is_shown(is_long);
        for section in self.sections.iter().filter(is_shown) {
            if !section.title.is_empty() {
                parts.push(format!("#### {}", escaped(&section.title)));
            }
            parts.extend(section.blocks.iter().map(block));
        }
        parts.push(list(&self.next));
        if is_long {
            parts.push(list(&self.about));
        }
        parts.retain(|part| !part.is_empty());
        parts.join("\n\n") + "\n"
    }
}

fn block(block: &Block) -> String {
    match block {
        Block::Text(one) => escaped(&one.text),
        Block::List(lines) => list(lines),
        Block::Facts(facts) => self::facts(facts),
        Block::Card(card) if card.facts.is_empty() => escaped(&card.statement.text),
        Block::Card(card) => format!("{}\n\n{}", escaped(&card.statement.text), facts(&card.facts)),
        Block::Table(one) => table(one),
        Block::Command(command) => format!("    {}", plain(command)),
        Block::Figure(_) => String::new(),
    }
}

fn facts(facts: &[(String, String)]) -> String {
    let filled = facts.iter().filter(|(_, text)| !text.is_empty());
    list(filled.map(|(name, text)| match name.as_str() {
        "" => text.clone(),
        name => format!("{name}: {text}"),
    }))
}

fn list<T: AsRef<str>>(lines: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = lines.into_iter().map(|line| format!("- {}", escaped(line.as_ref()))).collect();
    items.join("\n")
}

fn table(table: &Table) -> String {
    if table.rows.is_empty() || table.is_data {
        return String::new();
    }
    let mut shown = table.used();
    shown.retain(|(_, column)| column.kind != Kind::Bar);
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let rule = |column: &Column| if column.kind == Kind::Number { "--:" } else { "---" }.to_owned();
    let mut lines = vec![
        line(shown.iter().map(|(_, column)| escaped(&column.header())).collect()),
        line(shown.iter().map(|(_, column)| rule(column)).collect()),
    ];
    for row in &table.rows {
        let mut cells: Vec<String> =
            shown.iter().map(|(index, _)| escaped(row.cells.get(*index).map_or("", Cell::words))).collect();
        if let (Some(detail), Some(first)) = (&row.detail, cells.first_mut()) {
            first.extend(["<br>".to_owned(), escaped(detail)]);
        }
        lines.push(line(cells));
    }
    let legend = table.legend.as_deref().map(|legend| format!("\n\n{}", escaped(legend))).unwrap_or_default();
    lines.join("\n") + &legend
}

/// Text that cannot leave its cell or line, nor become markup of Markdown or HTML.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in plain(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '|' | '*' | '_' | '`' | '[' | '\\' => escaped.extend(['\\', character]),
            other => escaped.push(other),
        }
    }
    escaped
}
