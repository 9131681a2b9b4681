//! A page as HTML: one file without a script that asks for nothing, the answer at its top, figures whose marks say what they are, tables
//! that give up columns before they are wider than the page.

use std::fmt::Write;

use super::{Block, Card, Cell, Chapter, Column, Depth, Kind, Page, Placed, Section, Statement, Table, Tone};
use crate::draw::{STYLE_DARK, STYLE_LIGHT};
use crate::escape::markup;

/// Longer tables are for programs.
const ROWS_MAX: usize = 200;
/// Nothing but the style in the page itself: no script runs, no request leaves.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
const STYLE: &str = include_str!("style.css");

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Self::Plain => "t-plain",
            Self::Good => "t-good",
            Self::Look => "t-look",
            Self::Doubt => "t-doubt",
            Self::Faint => "t-faint",
        }
    }

    /// The sign before a card, and the word that it stands for.
    fn badge(self) -> (&'static str, &'static str) {
        match self {
            Self::Look => ("!", "Costs performance or makes numbers wrong"),
            Self::Doubt => ("?", "Undetermined"),
            Self::Plain | Self::Faint => ("i", "Worth knowing"),
            Self::Good => ("✓", "As expected"),
        }
    }
}

impl Page {
    /// The page as one file that needs no network and runs nothing.
    pub fn html(&self) -> String {
        let title = if self.subject.is_empty() { &self.answer.text } else { &self.subject };
        let title = markup(title);
        let body = body(self);
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>sidestep: {title}</title>\n\
             <style>{STYLE}{STYLE_LIGHT}@media screen and (prefers-color-scheme:dark){{{STYLE_DARK}}}</style>\n\
             </head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
        )
    }
}

/// What a page begins with: what it is about, the verdict, what that rests on, areas at a glance.
fn opening(page: &Page) -> String {
    let mut html =
        format!("<header><p class=\"kicker\">{}</p>", format!("sidestep {}", page.kind).trim_end());
    // A page about nothing in particular has its answer as heading.
    let tag = if page.subject.is_empty() { "h1" } else { "p" };
    if !page.subject.is_empty() {
        let _ = write!(html, "<h1>{}</h1>", markup(&page.subject));
    }
    if !page.answer.text.is_empty() {
        let answer = page.answer.text.strip_prefix(&format!("{}: ", page.subject));
        let (class, text) = (page.answer.tone.class(), markup(answer.unwrap_or(&page.answer.text)));
        let _ = write!(html, "<{tag} class=\"verdict {class}\">{text}</{tag}>");
    }
    html += "</header>\n";
    page.because.iter().for_each(|one| html += &paragraph(one));
    if !page.status.is_empty() {
        html += "<table class=\"status\"><tbody>";
        for one in &page.status {
            let (class, word) = (one.tone.class(), one.word);
            let (area, text) = (markup(&one.area), markup(&one.text));
            let _ = write!(html, "<tr class=\"{class}\"><td>{word}</td><th>{area}</th><td>{text}</td></tr>");
        }
        html += "</tbody></table>\n";
    }
    html
}

fn body(page: &Page) -> String {
    let mut html = opening(page);
    let chapters = chapters(page);
    if chapters.is_empty() {
        page.sections.iter().for_each(|part| html += &section(part));
        if !page.next.is_empty() {
            let next = commands(&page.next);
            let _ = writeln!(html, "<section id=\"next\"><h2>What to do next</h2>\n{next}</section>");
        }
        return html + &about(page);
    }
    // Whoever reads by chapters finds at the top what to do, and the way to each.
    page.sections.iter().filter(|part| part.chapter.is_none()).for_each(|part| html += &blocks(part, ""));
    if !page.next.is_empty() {
        let next = commands(&page.next);
        let _ = writeln!(html, "<div class=\"block\"><h3>What to do next</h3>{next}</div>");
    }
    html += &about(page);
    let links = chapters.iter().map(|one| format!("<a href=\"#{}\">{}</a>", one.id, one.title));
    let _ = writeln!(html, "<nav>{}</nav>", links.collect::<String>());
    for chapter in chapters {
        let of = page.sections.iter().filter(|part| part.chapter == Some(chapter));
        let inner: String = of.map(|part| blocks(part, chapter.title)).collect();
        html += &folded(chapter.id, chapter.title, !chapter.is_folded, &inner);
    }
    html
}

/// A section under a heading of its own.
fn section(part: &Section) -> String {
    let inner: String = part.blocks.iter().map(block).collect();
    if part.title.is_empty() {
        return format!("<section id=\"{}\">{inner}</section>\n", part.id);
    }
    folded(part.id, &markup(&part.title), part.depth == Depth::First, &inner)
}

/// A section as boxes below a larger heading: figures and cards are boxes already, with their numbers folded behind them.
fn blocks(part: &Section, chapter: &str) -> String {
    let mut html = String::new();
    let is_named = part.title.is_empty() || part.title == chapter;
    let mut heading = if is_named { String::new() } else { format!("<h3>{}</h3>", markup(&part.title)) };
    let mut open = String::new();
    let close = |heading: &mut String, open: &mut String| {
        let inner = std::mem::take(heading) + &std::mem::take(open);
        if inner.is_empty() { inner } else { format!("<div class=\"block\">{inner}</div>\n") }
    };
    let mut blocks = part.blocks.iter().peekable();
    while let Some(block) = blocks.next() {
        match block {
            Block::Figure(one) => {
                // A section that begins with a figure is named by it.
                if open.is_empty() {
                    heading.clear();
                }
                html += &close(&mut heading, &mut open);
                let numbers = blocks.next_if(|next| matches!(next, Block::Table(_)));
                html += &figure(one, numbers);
            }
            Block::Card(one) => html += &(close(&mut heading, &mut open) + &card(one)),
            other => open += &self::block(other),
        }
    }
    if !open.is_empty() {
        html += &close(&mut heading, &mut open);
    }
    html
}

fn block(block: &Block) -> String {
    match block {
        Block::Text(one) => paragraph(one),
        Block::List(lines) => {
            let items = lines.iter().map(|line| format!("<li>{}</li>", markup(line)));
            format!("<ul>{}</ul>", items.collect::<String>())
        }
        Block::Facts(facts) => terms(facts),
        Block::Table(one) => table(one),
        Block::Command(line) => {
            format!("<div class=\"scroll\"><pre class=\"command\">{}</pre></div>\n", markup(line))
        }
        Block::Figure(one) => figure(one, None),
        Block::Card(one) => card(one),
    }
}

/// A figure with its picture and its numbers, or the reason why there is none.
fn figure(placed: &Placed, numbers: Option<&Block>) -> String {
    let (name, heading) = (placed.name, markup(&placed.heading));
    let drawn = match &placed.drawn {
        Ok(drawn) => drawn,
        Err(why) => {
            let why = markup(why);
            return format!(
                "<div class=\"missing\" data-missing=\"{name}\"><h3>{heading}</h3><p>{why}</p></div>\n"
            );
        }
    };
    let reading = markup(&drawn.reading);
    let numbers = numbers.map(block).filter(|numbers| !numbers.is_empty());
    let numbers = numbers.map_or_else(String::new, |numbers| {
        format!("<details><summary>Numbers</summary>{numbers}</details>")
    });
    let svg = drawn.svg.clone().finish(&placed.heading, &drawn.reading, false);
    format!(
        "<figure id=\"figure-{name}\" data-figure=\"{name}\"><figcaption><h3>{heading}</h3><p>{reading}</p></figcaption>\
         <div class=\"picture\">{svg}</div>{numbers}</figure>\n"
    )
}

/// The chapters of a page, in their order.
fn chapters(page: &Page) -> Vec<&'static Chapter> {
    let mut chapters: Vec<&Chapter> = page.sections.iter().filter_map(|part| part.chapter).collect();
    chapters.dedup();
    chapters
}

/// What a reader looks up.
fn about(page: &Page) -> String {
    page.about.iter().fold(String::new(), |mut html, line| {
        let _ = writeln!(html, "<p class=\"run\">{}</p>", markup(line));
        html
    })
}

/// A section that a reader can fold; title and body are markup.
fn folded(id: &str, title: &str, is_open: bool, body: &str) -> String {
    let open = if is_open { " open" } else { "" };
    format!(
        "<section id=\"{id}\"><details class=\"fold\"{open}><summary><h2>{title}</h2></summary>\n{body}</details></section>\n"
    )
}

/// What to do: each line says what for, then gives the command.
fn commands(lines: &[String]) -> String {
    /// What stands before a command.
    const BEFORE: &str = ": sidestep ";
    let items = lines.iter().map(|line| match line.split_once(BEFORE) {
        Some((purpose, rest)) => {
            format!("<li>{}: <code>sidestep {}</code></li>", markup(purpose), markup(rest))
        }
        None => format!("<li>{}</li>", markup(line)),
    });
    format!("<ul>{}</ul>", items.collect::<String>())
}

fn paragraph(one: &Statement) -> String {
    format!("<p class=\"said {}\">{}</p>\n", one.tone.class(), markup(&one.text))
}

/// Terms and what they are; empty texts are skipped.
fn terms(terms: &[(String, String)]) -> String {
    let mut html = String::from("<dl>");
    for (term, text) in terms.iter().filter(|(_, text)| !text.is_empty()) {
        let _ = write!(html, "<dt>{}</dt><dd>{}</dd>", markup(term), markup(text));
    }
    html + "</dl>"
}

/// A statement in a box with its sign; of what is well the evidence needs no room until somebody asks.
fn card(card: &Card) -> String {
    let tone = card.statement.tone;
    let ((sign, word), class, text) = (tone.badge(), tone.class(), markup(&card.statement.text));
    let facts = match (card.facts.is_empty(), tone) {
        (true, _) => String::new(),
        (false, Tone::Good) => {
            format!("<details><summary>Evidence</summary>{}</details>", terms(&card.facts))
        }
        (false, _) => terms(&card.facts),
    };
    format!(
        "<article class=\"finding {class}\"><span class=\"sign\" title=\"{word}\" aria-label=\"{word}\">{sign}</span>\
         <div><h3>{text}</h3>{facts}</div></article>\n"
    )
}

/// A table whose columns of low priority give way on narrow screens: there each row has them below it.
fn table(table: &Table) -> String {
    /// Columns of this priority and above are hidden at the same width.
    const PRIORITY_MAX: u8 = 3;
    if table.rows.is_empty() || table.is_data {
        return String::new();
    }
    let class = |column: &Column| {
        let kind = match column.kind {
            Kind::Word => "word",
            Kind::Number => "number",
            Kind::Prose => "prose",
            Kind::Bar => "bar",
        };
        format!("{kind} p{}", column.priority.min(PRIORITY_MAX))
    };
    let mut html =
        format!("<div class=\"fit\"><table class=\"typed\" data-table=\"{}\"><thead><tr>", table.id);
    let shown = table.used();
    for (_, column) in &shown {
        let _ = write!(html, "<th class=\"{}\">{}</th>", class(column), markup(&column.header()));
    }
    html += "</tr></thead><tbody>";
    for row in table.rows.iter().take(ROWS_MAX) {
        html += "<tr>";
        for (index, column) in &shown {
            let _ = write!(html, "<td class=\"{}\">{}</td>", class(column), of_cell(&row.cells[*index]));
        }
        html += "</tr>";
        if let Some(detail) = &row.detail {
            let (columns, detail) = (shown.len(), markup(detail));
            let _ = write!(html, "<tr class=\"detail\"><td colspan=\"{columns}\">{detail}</td></tr>");
        }
    }
    html += "</tbody></table></div>";
    if let Some(more) = table.rows.len().checked_sub(ROWS_MAX).filter(|more| *more > 0) {
        let more = machine::counted(more, "more row");
        let _ = write!(html, "<p class=\"note\">{more} in the document and as CSV</p>");
    }
    if let Some(legend) = &table.legend {
        let _ = write!(html, "<p class=\"note\">{}</p>", markup(legend));
    }
    html
}

fn of_cell(cell: &Cell) -> String {
    match cell {
        Cell::State(tone, text) => format!("<span class=\"{}\">{}</span>", tone.class(), markup(text)),
        Cell::Share(share) => {
            let percent = if share.is_finite() { share.clamp(0.0, 1.0) * 100.0 } else { 0.0 };
            format!("<span class=\"bar\" style=\"width:{percent:.0}%\"></span>")
        }
        cell => markup(cell.words()),
    }
}
