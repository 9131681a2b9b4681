//! Pieces of the page: tables, figures, definition lists.

use std::fmt::Write;

use record::Record;
use serde_json::{Map, Value};

use crate::escape::markup;
use crate::figure::{self, DataTable, Figure};

/// The interactive forms of the figures, gathered while the page is written.
pub(super) struct Charts {
    enabled: bool,
    by_name: Map<String, Value>,
}

impl Charts {
    pub(super) fn new(enabled: bool) -> Self {
        Self { enabled, by_name: Map::new() }
    }

    pub(super) fn into_json(self) -> Value {
        Value::Object(self.by_name)
    }
}

/// A table in a box that scrolls by itself when it is too wide.
pub(super) fn table(table: &DataTable) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let mut html = String::from("<div class=\"scroll\"><table><thead><tr>");
    for header in &table.headers {
        let _ = write!(html, "<th>{}</th>", markup(header));
    }
    html += "</tr></thead><tbody>";
    for row in &table.rows {
        html += "<tr>";
        for cell in row {
            let _ = write!(html, "<td>{}</td>", markup(cell));
        }
        html += "</tr>";
    }
    html + "</tbody></table></div>"
}

/// Terms and what they are; empty texts are left out.
pub(super) fn terms(terms: &[(&str, String)]) -> String {
    let mut html = String::from("<dl>");
    for (term, text) in terms.iter().filter(|(_, text)| !text.is_empty()) {
        let _ = write!(html, "<dt>{}</dt><dd>{}</dd>", markup(term), markup(text));
    }
    html + "</dl>"
}

/// A figure with its picture, button and numbers, or the reason why there is none.
pub(super) fn figure(record: &Record, figure: Figure, charts: &mut Charts) -> String {
    let name = figure.name();
    let title = markup(figure.title());
    let drawn = match figure::draw(record, figure) {
        Ok(drawn) => drawn,
        Err(why) => {
            return format!(
                "<div class=\"missing\" data-missing=\"{name}\"><h3>{title}</h3><p>{}</p></div>\n",
                markup(&why)
            );
        }
    };
    let button = match drawn.interactive.filter(|_| charts.enabled) {
        None => String::new(),
        Some(chart) => {
            charts.by_name.insert(name.to_owned(), chart);
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
    let svg = drawn.svg.finish(figure.title(), &drawn.reading, false);
    format!(
        "<figure id=\"figure-{name}\" data-figure=\"{name}\"><figcaption><h3>{title}</h3>{button}<p>{reading}</p></figcaption>\
         <div class=\"picture\">{svg}</div>{numbers}</figure>\n"
    )
}
