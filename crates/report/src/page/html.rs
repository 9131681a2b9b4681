//! A page as HTML: one file, the answer at its top, tables that give up columns before they are wider than the page.

use std::fmt::Write;

use super::{Block, Carried, Cell, Column, Kind, Page, Section, Statement, Table, Tone};
use crate::escape::markup;
use crate::html::markup::{Charts, commands, folded, list, placed, terms};
use crate::html::{self, Html};

/// Longer tables are for programs.
const ROWS_MAX: usize = 200;

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
}

impl Page {
    /// The page as one file that needs no network; it carries its document where scripts may be.
    pub fn html(&self, carried: &Carried, options: Html) -> String {
        let mut charts = Charts::new(options.script);
        let mut body = opening(self, "sidestep");
        self.sections.iter().for_each(|part| body += &section(part, &mut charts));
        if !self.next.is_empty() {
            body += &html::markup::section("next", "What to do next", &commands(&self.next));
        }
        self.about.iter().for_each(|line| {
            let _ = writeln!(body, "<p class=\"run\">{}</p>", markup(line));
        });
        let title = if self.subject.is_empty() { &self.answer.text } else { &self.subject };
        html::document_page(title, &body, carried.document, carried.file, charts, options)
    }
}

/// What a page begins with: what it is about, the verdict, what that rests on, areas at a glance.
pub(crate) fn opening(page: &Page, kicker: &str) -> String {
    let mut html = format!("<header><p class=\"kicker\">{kicker}</p>");
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
            let (class, word) = (one.tone.class(), one.tone.word());
            let (area, text) = (markup(one.area), markup(&one.text));
            let _ = write!(html, "<tr class=\"{class}\"><td>{word}</td><th>{area}</th><td>{text}</td></tr>");
        }
        html += "</tbody></table>\n";
    }
    html
}

fn paragraph(one: &Statement) -> String {
    format!("<p class=\"said {}\">{}</p>\n", one.tone.class(), markup(&one.text))
}

/// A verdict and its reasons, as a block of a larger page.
pub(crate) fn verdict(heading: &str, answer: &Statement, reasons: &[Statement]) -> String {
    let reasons: String = reasons.iter().map(paragraph).collect();
    let (class, text) = (answer.tone.class(), markup(&answer.text));
    format!("<div class=\"block\"><h3>{heading}</h3><p class=\"lead {class}\">{text}</p>{reasons}</div>\n")
}

/// Sections as blocks of a larger page.
pub(crate) fn blocks(sections: &[Section], charts: &mut Charts) -> String {
    let block = |part: &Section| {
        let heading =
            if part.title.is_empty() { String::new() } else { format!("<h3>{}</h3>", markup(&part.title)) };
        format!("<div class=\"block\">{heading}{}</div>\n", inner(part, charts))
    };
    sections.iter().map(block).collect()
}

fn inner(part: &Section, charts: &mut Charts) -> String {
    let mut inner = String::new();
    for block in &part.blocks {
        let text = match block {
            Block::Text(one) => paragraph(one),
            Block::List(lines) => list(lines),
            Block::Facts(facts) => terms(facts),
            Block::Table(one) => table(one),
            Block::Command(line) => {
                format!("<div class=\"scroll\"><pre class=\"command\">{}</pre></div>\n", markup(line))
            }
            Block::Figure(one) => placed(one.name, &one.heading, one.drawn.clone(), charts),
        };
        inner.push_str(&text);
    }
    inner
}

fn section(part: &Section, charts: &mut Charts) -> String {
    let inner = inner(part, charts);
    if part.title.is_empty() {
        return format!("<section id=\"{}\">{inner}</section>\n", part.id);
    }
    folded(part.id, &markup(&part.title), !part.is_detail, &inner)
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
