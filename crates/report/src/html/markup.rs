//! Pieces of the page: tables, figures, definition lists.

use std::fmt::Write;

use record::Record;
use serde_json::{Map, Value};

use crate::escape::markup;
use crate::figure::{self, Drawn, Figure};
use crate::page::Table;

/// The interactive forms of the figures, gathered while the page is written.
pub(crate) struct Charts {
    enabled: bool,
    by_name: Map<String, Value>,
    /// Names that figures of the page have.
    taken: Vec<String>,
}

impl Charts {
    pub(crate) fn new(enabled: bool) -> Self {
        Self { enabled, by_name: Map::new(), taken: Vec::new() }
    }

    /// The name, or with a number behind it if another figure of the page has it.
    fn unique(&mut self, name: &str) -> String {
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        let name = names.find(|name| !self.taken.contains(name)).expect("numbers do not end");
        self.taken.push(name.clone());
        name
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub(crate) fn into_json(self) -> Value {
        Value::Object(self.by_name)
    }
}

/// A table in a box that scrolls by itself when it is too wide; on a narrow screen each row is a list of its cells with their headers.
pub(crate) fn table(table: &Table) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let mut html = format!("<div class=\"scroll\"><table style=\"{}\"><thead><tr>", labels(table));
    for column in &table.columns {
        let _ = write!(html, "<th>{}</th>", markup(&column.header()));
    }
    html += "</tr></thead><tbody>";
    for row in &table.rows {
        html += "<tr>";
        for cell in &row.cells {
            let _ = write!(html, "<td>{}</td>", markup(cell.words()));
        }
        html += "</tr>";
    }
    html + "</tbody></table></div>"
}

/// The headers as values for the style sheet, which puts them before the cells where there is no room for a head.
fn labels(table: &Table) -> String {
    let texts = table.columns.iter().zip(1..).skip(1);
    let texts =
        texts.map(|(column, at)| format!("--h{at}:\"{} \";", column.header().replace(['"', '\\'], "")));
    markup(&texts.collect::<String>())
}

/// A section of the page under a heading; id and title are words of ours.
pub(crate) fn section(id: &str, title: &str, body: &str) -> String {
    format!("<section id=\"{id}\"><h2>{title}</h2>\n{body}</section>\n")
}

/// The same, but a reader can fold it; title and body are markup.
pub(crate) fn folded(id: &str, title: &str, is_open: bool, body: &str) -> String {
    let open = if is_open { " open" } else { "" };
    format!(
        "<section id=\"{id}\"><details class=\"fold\"{open}><summary><h2>{title}</h2></summary>\n{body}</details></section>\n"
    )
}

/// What to do: each line says what for, then gives the command.
pub(crate) fn commands(lines: &[String]) -> String {
    /// What stands before a command.
    const BEFORE: &str = ": sidestep ";
    let items = lines.iter().fold(String::new(), |mut items, line| {
        let _ = match line.split_once(BEFORE) {
            Some((purpose, rest)) => {
                write!(items, "<li>{}: <code>sidestep {}</code></li>", markup(purpose), markup(rest))
            }
            None => write!(items, "<li>{}</li>", markup(line)),
        };
        items
    });
    format!("<ul>{items}</ul>")
}

/// Sentences, one below the other.
pub(crate) fn list(sentences: &[String]) -> String {
    let items = sentences.iter().fold(String::new(), |mut items, sentence| {
        let _ = write!(items, "<li>{}</li>", markup(sentence));
        items
    });
    format!("<ul>{items}</ul>")
}

/// Terms and what they are; empty texts are left out.
pub(crate) fn terms<T: AsRef<str>>(terms: &[(T, String)]) -> String {
    let mut html = String::from("<dl>");
    for (term, text) in terms.iter().filter(|(_, text)| !text.is_empty()) {
        let _ = write!(html, "<dt>{}</dt><dd>{}</dd>", markup(term.as_ref()), markup(text));
    }
    html + "</dl>"
}

/// A figure with its picture, button and numbers, or the reason why there is none.
pub(crate) fn figure(record: &Record, figure: Figure, charts: &mut Charts) -> String {
    match figure::draw(record, None, figure) {
        Ok(drawn) => placed_figure(figure, drawn, charts),
        Err(why) => format!(
            "<div class=\"missing\" data-missing=\"{}\"><h3>{}</h3><p>{}</p></div>\n",
            figure.name(),
            markup(figure.title()),
            markup(&why)
        ),
    }
}

/// A drawn figure under its own name and title.
pub(crate) fn placed_figure(figure: Figure, drawn: Drawn, charts: &mut Charts) -> String {
    placed(figure.name(), figure.title(), drawn, charts)
}

/// A drawn figure with its button and numbers; the name is a word of ours.
pub(crate) fn placed(name: &str, heading: &str, drawn: Drawn, charts: &mut Charts) -> String {
    let name = charts.unique(name);
    let title = markup(heading);
    let button = match drawn.interactive.filter(|_| charts.enabled) {
        None => String::new(),
        Some(chart) => {
            charts.by_name.insert(name.clone(), chart);
            let needs = if drawn.needs_webgl { " data-webgl" } else { "" };
            let words = if drawn.needs_webgl { "Rotate it" } else { "Explore" };
            format!(
                "<button type=\"button\" data-interactive=\"{name}\" data-words=\"{words}\"{needs} hidden>{words}</button>"
            )
        }
    };
    let reading = markup(&drawn.reading);
    let numbers = table(&drawn.table);
    let numbers = if numbers.is_empty() {
        String::new()
    } else {
        format!("<details><summary>Numbers</summary>{numbers}</details>")
    };
    let svg = drawn.svg.finish(heading, &drawn.reading, false);
    format!(
        "<figure id=\"figure-{name}\" data-figure=\"{name}\"><figcaption><h3>{title}</h3>{button}<p>{reading}</p></figcaption>\
         <div class=\"picture\">{svg}</div>{numbers}</figure>\n"
    )
}
