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
use serde::Serialize;

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
pub(crate) fn frame(title: &str, body: &str, script: bool) -> String {
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
    let whole = serde_json::to_string(record).map(|json| escape::script_json(&json)).unwrap_or_default();
    let (data, complete) = if whole.len() <= room {
        (whole, true)
    } else {
        let without_raw = Record { raw: Vec::new(), ..record.clone() };
        let data =
            serde_json::to_string(&without_raw).map(|json| escape::script_json(&json)).unwrap_or_default();
        (if data.len() <= room { data } else { "null".to_owned() }, false)
    };
    embed(page, &data, &format!("data-complete=\"{complete}\""), &charts, &library);
}

/// The elements that the page's script reads; data and charts are JSON made safe for a script element.
pub(crate) fn embed(page: &mut String, data: &str, attributes: &str, charts: &str, library: &str) {
    let _ = write!(
        page,
        "<script type=\"application/json\" id=\"record\" {attributes}>{data}</script>\n\
         <script type=\"application/json\" id=\"charts\">{charts}</script>\n\
         <script type=\"text/plain\" id=\"chart-library\">{library}</script>\n\
         <script>{SCRIPT}</script>\n"
    );
}

/// How a page offers the document it was made of.
pub(crate) struct Download {
    /// The name it is saved by.
    pub(crate) file: &'static str,
    /// What the page holds, in a sentence.
    pub(crate) note: &'static str,
}

impl Download {
    /// Where the page's script says what the page holds, and the button that saves it; nothing without a script.
    pub(crate) fn offer(&self, options: Html) -> String {
        let offer = format!(
            "<p id=\"download-note\"></p><p><button type=\"button\" id=\"download\" hidden>Download {}</button></p>",
            self.file
        );
        if options.script { offer } else { String::new() }
    }
}

/// A page, whole: its document and its charts are in it where scripts are, which then find the download's offer in the body.
pub(crate) fn whole_page(
    title: &str,
    body: &str,
    document: &impl Serialize,
    download: &Download,
    charts: Charts,
    options: Html,
) -> String {
    let mut page = frame(&escape::markup(title), body, options.script);
    if options.script {
        let json = serde_json::to_string(document).expect("numbers and texts can be written");
        let note = escape::markup(download.note);
        let attributes =
            format!("data-complete=\"true\" data-file=\"{}\" data-note=\"{note}\"", download.file);
        // Without a chart the library would be megabytes for nothing.
        let library = if charts.is_empty() { String::new() } else { library() };
        let charts = escape::script_json(&charts.into_json().to_string());
        embed(&mut page, &escape::script_json(&json), &attributes, &charts, &library);
    }
    page + PAGE_END
}

/// The page of a document that is to be had as `file` at its end.
pub(crate) fn document_page(
    title: &str,
    body: &str,
    document: &impl Serialize,
    file: &'static str,
    charts: Charts,
    options: Html,
) -> String {
    let download = Download { file, note: "This page holds all its numbers." };
    let data = download.offer(options);
    let data = if data.is_empty() { data } else { markup::section("data", "Data", &data) };
    whole_page(title, &format!("{body}{data}"), document, &download, charts, options)
}

/// What ends every page.
pub(crate) const PAGE_END: &str = "</body>\n</html>\n";

/// The chart library's script, packed by the build script.
pub(crate) fn library() -> String {
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
