//! The report as one HTML file: it needs no network, no server and, to be read, no script.
//!
//! Every figure stands as a static SVG. With scripts on, a button puts an interactive chart in its place: the chart
//! library lies inert in the page as `text/plain` and is parsed on the first click, so that opening is instant.

pub(crate) mod facts;
pub(crate) mod markup;
mod outline;

use std::fmt::Write;
use std::io::Read;

use flate2::read::DeflateDecoder;
use models::interconnect::SocketAccount;
use record::Record;
use serde_json::Value;

use crate::draw::{STYLE_DARK, STYLE_LIGHT};
use crate::{escape, sockets};
use markup::Charts;

/// What the page may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Html {
    /// Scripts for interactive charts and the download of the data; without, the page stays below 300 kB.
    pub script: bool,
}

/// The page with scripts stays below this, the record in it included.
const PAGE_LIMIT_BYTES: usize = 6_000_000;

/// What scripts may do: run from the page itself, nothing else. No eval is needed, no request may leave.
const POLICY_SCRIPT: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:";
const POLICY_STATIC: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/script.js");

/// The report of a record; `account` is what the models make of its measured sockets.
pub fn html(record: &Record, account: Option<&SocketAccount>, html: Html) -> String {
    let mut charts = Charts::new(html.script);
    let mut body = String::new();
    if record.plan.entries.is_empty() && record.sockets.is_some() {
        // Sockets that were measured alone leave nothing else to show, or to miss.
        body += &sockets::head(record);
        body += &sockets::section(record, account, &mut charts);
    } else {
        body += &facts::head(record, &mut charts);
        body += &facts::findings(record);
        body += &facts::conditions(record, &mut charts);
        body += &facts::machine(record);
        body += &outline::sections(record, account, &mut charts);
    }
    body += &facts::data(record, html.script);
    let title = escape::markup(&crate::machine_text::headline(&record.machine));
    let mut page = frame(&title, &body, html.script);
    if html.script {
        scripts(&mut page, record, charts);
    }
    page + PAGE_END
}

/// The page up to its scripts; title and body are markup already.
fn frame(title: &str, body: &str, script: bool) -> String {
    let policy = if script { POLICY_SCRIPT } else { POLICY_STATIC };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>sidestep: {title}</title>\n\
         <style>{STYLE}{STYLE_LIGHT}@media screen and (prefers-color-scheme:dark){{{STYLE_DARK}}}</style>\n\
         </head>\n<body>\n<main>\n{body}</main>\n"
    )
}

/// The data, the script of the page, and the inert chart library.
fn scripts(page: &mut String, record: &Record, charts: Charts) {
    let library = library();
    let room = PAGE_LIMIT_BYTES.saturating_sub(page.len() + library.len() + SCRIPT.len() + 4_096);
    let charts = escape::script_json(&charts.into_json().to_string());
    let room = room.saturating_sub(charts.len());
    let json = |record: &Record| {
        serde_json::to_string(record).map(|json| escape::script_json(&json)).unwrap_or_default()
    };
    let mut data = json(record);
    let complete = data.len() <= room;
    if !complete {
        data = json(&Record { raw: Vec::new(), ..record.clone() });
    }
    let data = if data.len() <= room { data } else { "null".to_owned() };
    embed(page, &data, &format!("data-complete=\"{complete}\""), &charts, &library);
}

/// The elements that the page's script reads; data and charts are JSON made safe for a script element.
fn embed(page: &mut String, data: &str, attributes: &str, charts: &str, library: &str) {
    let _ = write!(
        page,
        "<script type=\"application/json\" id=\"record\" {attributes}>{data}</script>\n\
         <script type=\"application/json\" id=\"charts\">{charts}</script>\n\
         <script type=\"text/plain\" id=\"chart-library\">{library}</script>\n\
         <script>{SCRIPT}</script>\n"
    );
}

/// The page of a document that is to be had as `file` at its end: it and the charts are in the page where scripts are.
pub(crate) fn document_page(
    title: &str,
    body: &str,
    document: &Value,
    file: &'static str,
    charts: Charts,
    options: Html,
) -> String {
    let title = escape::markup(title);
    if !options.script {
        return frame(&title, body, false) + PAGE_END;
    }
    // The page's script says what the page holds, and shows the button that saves it.
    let offer = format!(
        "<p id=\"download-note\"></p><p><button type=\"button\" id=\"download\" hidden>Download {file}</button></p>"
    );
    let mut page = frame(&title, &format!("{body}{}", markup::section("data", "Data", &offer)), true);
    let note = "This page holds all its numbers.";
    let attributes = format!("data-complete=\"true\" data-file=\"{file}\" data-note=\"{note}\"");
    // Without a chart the library would be megabytes for nothing.
    let library = if charts.is_empty() { String::new() } else { library() };
    let charts = escape::script_json(&charts.into_json().to_string());
    embed(&mut page, &escape::script_json(&document.to_string()), &attributes, &charts, &library);
    page + PAGE_END
}

/// What ends every page.
const PAGE_END: &str = "</body>\n</html>\n";

/// The chart library's script, packed by the build script.
fn library() -> String {
    let packed: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plotly.js.deflate"));
    let mut script = String::new();
    DeflateDecoder::new(packed).read_to_string(&mut script).expect("the build script packed valid text");
    script
}

#[cfg(test)]
mod tests {
    use super::library;

    #[test]
    fn the_library_is_one_script_that_cannot_end_its_own_element() {
        let library = library();
        assert!(library.contains("plotly.js v") && (1_000_000..5_000_000).contains(&library.len()));
        assert!(!library.contains("</script") && !library.contains("<!--"));
    }
}
