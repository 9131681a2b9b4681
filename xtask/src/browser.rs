//! `cargo xtask browser`: opens the pages that sidestep writes in headless Chromium and looks at what a reader would see.
//!
//! The browser is driven through its debugging pipe, with a throw-away profile and a proxy that leads nowhere, so that any request for
//! the network would fail and be seen.

mod chromium;
mod planted;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde_json::{Value, json};

use crate::totals::Totals;
use crate::{cargo, schema};
use chromium::{Chromium, PROGRAM};

/// The pages in headless Chromium
///
/// Looks for: errors on the console, requests, anything wider than the screen at 390, 768 and 1280 px, light and dark, paper, and the size
/// of the report. Skipped where chromium is absent.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A page to open; without it a quick check-up, an experiment and simulations make some (release build)
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Open what the check-up of `cargo xtask test` left in target/check-up
    #[arg(long, conflicts_with = "page")]
    made: bool,
}

/// Widths of a phone, a tablet and a desktop, in CSS pixels.
const WIDTHS: [u32; 3] = [390, 768, 1280];
/// Brightness (0 to 255) between dark and light.
const MIDDLE_BRIGHTNESS: f64 = 128.0;
/// A PDF with content is never smaller than this, in bytes; an empty page has about 1 kB.
const PDF_BYTES_MIN: usize = 5_000;
/// A report goes by mail: bytes at most, and as gzip packs them.
const REPORT_BYTES_MAX: usize = 450_000;
const REPORT_PACKED_BYTES_MAX: usize = 90_000;

/// `cargo xtask browser`.
///
/// # Errors
/// What cannot be started or written.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    if let Some(page) = &arguments.page {
        return all(&[("the page", page.clone())]);
    }
    let mut totals = if arguments.made { Totals::default() } else { make()? };
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let report = made().join("run/report.html");
    totals.add(is_small(&report)?);
    let planted = planted::report(&cargo::sidestep(), &made().join("run/record.json"), folder.path())?;
    let mut pages = vec![
        ("the report", report),
        ("the report with text from outside that would be a script", planted),
        ("the page of sidestep place", made().join(PLACE_PAGE)),
    ];
    for machine in SIMULATED {
        pages.push((machine, simulated_page(folder.path(), machine)?));
    }
    totals.add(all(&pages)?);
    Ok(totals)
}

/// What a check-up and an experiment leave to be looked at.
fn made() -> PathBuf {
    cargo::target().join("check-up")
}

/// Measures: makes record, report and the page of `place` with the release binary, and holds the record against its schema.
///
/// # Errors
/// What cannot be started or written, or fails.
pub fn make() -> anyhow::Result<Totals> {
    let folder = made();
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let record = folder.join("run");
    let mut check_up = Command::new(cargo::sidestep());
    check_up.args(["run", "--quick", "--quiet", "--no-history", "--record"]).arg(&record);
    anyhow::ensure!(cargo::succeeds(&mut check_up)?, "the quick check-up failed; see above");
    let totals = schema::check_file("record", &record.join("record.json"))?;
    println!("the record against its schema: {totals}");
    let mut place = Command::new(cargo::sidestep());
    place.args(["place", "--quiet", "--budget", "3s", "--html"]).arg(folder.join(PLACE_PAGE));
    // The machine's own may be held by another sidestep.
    place.arg("--state").arg(folder.join("state")).arg("--").arg(cargo::this_program()?);
    anyhow::ensure!(
        cargo::succeeds(place.args(["threads", "pairs", "2", "200"]))?,
        "sidestep place failed; see above"
    );
    Ok(totals)
}

/// The file of the page of `place`.
const PLACE_PAGE: &str = "place.html";
/// A machine of each kind that has a page.
const SIMULATED: [&str; 3] = ["phenom-9600", "k8-opteron", "fx-8150"];

fn simulated_page(folder: &Path, machine: &str) -> anyhow::Result<PathBuf> {
    let page = folder.join(format!("{machine}.html"));
    let mut simulate = Command::new(cargo::sidestep());
    simulate.args(["simulate", machine, "--quiet", "--html"]).arg(&page);
    anyhow::ensure!(cargo::succeeds(&mut simulate)?, "sidestep simulate {machine} failed; see above");
    Ok(page)
}

/// The report by its two limits of size.
fn is_small(report: &Path) -> anyhow::Result<Totals> {
    let bytes = std::fs::metadata(report).with_context(|| format!("no {}", report.display()))?.len() as usize;
    let packed = Command::new("gzip").arg("-9c").arg(report).output().context("cannot start gzip")?;
    let packed = packed.stdout.len();
    let line = format!(
        "the report has {bytes} bytes, {packed} packed; at most {REPORT_BYTES_MAX} and {REPORT_PACKED_BYTES_MAX}"
    );
    println!("{line}");
    Ok(Totals::one(
        bytes <= REPORT_BYTES_MAX && packed <= REPORT_PACKED_BYTES_MAX,
        format!("browser: {line}"),
    ))
}

/// All checks of these pages, in one browser.
fn all(pages: &[(&str, PathBuf)]) -> anyhow::Result<Totals> {
    if cargo::find(PROGRAM).is_none() {
        println!("SKIPPED: no {PROGRAM} here");
        return Ok(Totals::one_skipped(format!("browser: no {PROGRAM} here")));
    }
    let mut browser = Chromium::start()?;
    let mut totals = Totals::default();
    for (name, page) in pages {
        for (check, result) in looks(&mut browser, page)? {
            let line = format!("{name}: {check}");
            println!("{}  {line}", if result.is_ok() { "ok    " } else { "FAILED" });
            let why = result.as_ref().err().map_or_else(String::new, |why| format!(": {why:#}"));
            totals.add(Totals::one(result.is_ok(), format!("browser: {line}{why}")));
        }
    }
    Ok(totals)
}

/// A check of a page that is to be loaded: what it promises, and why that does not hold.
type Check = (&'static str, fn(&mut Chromium, &Path) -> anyhow::Result<()>);

const CHECKS: [Check; 4] = [
    ("loads without an error on the console or a request", loads_quietly),
    ("nothing is wider than the screen at 390, 768 and 1280 px", fits),
    ("light and dark are both drawn", light_and_dark),
    ("it prints", prints),
];

fn looks(browser: &mut Chromium, page: &Path) -> anyhow::Result<Vec<(&'static str, anyhow::Result<()>)>> {
    let page = page.canonicalize().with_context(|| format!("cannot find {}", page.display()))?;
    Ok(CHECKS.iter().map(|(name, check)| (*name, check(browser, &page))).collect())
}

fn loads_quietly(browser: &mut Chromium, page: &Path) -> anyhow::Result<()> {
    let before = browser.events.len();
    browser.load(page, WIDTHS[2])?;
    let complaints: Vec<String> = browser.events[before..].iter().filter_map(complaint).collect();
    anyhow::ensure!(complaints.is_empty(), "{}", complaints.join("; "));
    let own = chromium::url(page);
    let sent = browser.events[before..].iter().filter(|event| event["method"] == "Network.requestWillBeSent");
    let addresses = sent.filter_map(|event| event["params"]["request"]["url"].as_str());
    let is_outside = |address: &&str| *address != own && !address.starts_with("data:");
    let outside: Vec<&str> = addresses.filter(is_outside).collect();
    anyhow::ensure!(outside.is_empty(), "it asks for {}", outside.join(", "));
    Ok(())
}

/// A console error, a failed load or an uncaught exception, in words.
fn complaint(event: &Value) -> Option<String> {
    let parameters = &event["params"];
    match event["method"].as_str()? {
        "Runtime.exceptionThrown" => Some(format!("exception: {}", parameters["exceptionDetails"])),
        "Runtime.consoleAPICalled" if parameters["type"] == "error" || parameters["type"] == "assert" => {
            Some(format!("console: {}", parameters["args"]))
        }
        "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
            Some(format!("log: {} {}", parameters["entry"]["text"], parameters["entry"]["url"]))
        }
        _ => None,
    }
}

fn fits(browser: &mut Chromium, page: &Path) -> anyhow::Result<()> {
    for width in WIDTHS {
        browser.load(page, width)?;
        let wide = browser.ask("document.documentElement.scrollWidth")?;
        let wide = wide.as_u64().context("the page has no width")?;
        let widest = "[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > WIDTH + 1)\
            .map(e => e.tagName + '.' + e.className).at(-1)";
        let widest = browser.ask(&widest.replace("WIDTH", &width.to_string()))?;
        anyhow::ensure!(wide <= u64::from(width), "{wide} px on a screen of {width} px, by {widest}");
    }
    Ok(())
}

/// The mean of the three channels of paper and text.
const BRIGHTNESS: &str = "(() => {
    const mean = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number).reduce((a, b) => a + b) / 3;
    const papers = [document.body, document.documentElement].map((e) => getComputedStyle(e).backgroundColor);
    const paper = papers.find((colour) => !colour.endsWith(', 0)')) ?? 'rgb(255, 255, 255)';
    return [mean(paper), mean(getComputedStyle(document.body).color)];
})()";

fn light_and_dark(browser: &mut Chromium, page: &Path) -> anyhow::Result<()> {
    for scheme in ["light", "dark"] {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        browser.call("Emulation.setEmulatedMedia", &features)?;
        browser.load(page, WIDTHS[2])?;
        let found = browser.ask(BRIGHTNESS)?;
        let [paper, text] = [0, 1].map(|index| found[index].as_f64().unwrap_or(f64::NAN));
        let (low, high) = if scheme == "light" { (text, paper) } else { (paper, text) };
        anyhow::ensure!(
            low < MIDDLE_BRIGHTNESS && high > MIDDLE_BRIGHTNESS,
            "{scheme}: paper is {paper:.0} of 255 bright, text {text:.0}"
        );
    }
    browser.call("Emulation.setEmulatedMedia", &json!({"features": []}))?;
    Ok(())
}

fn prints(browser: &mut Chromium, page: &Path) -> anyhow::Result<()> {
    /// "%PDF-" in base64.
    const PDF: &str = "JVBERi";
    browser.load(page, WIDTHS[2])?;
    let answer = browser.call("Page.printToPDF", &json!({"printBackground": true}))?;
    let printed = answer["data"].as_str().unwrap_or("");
    anyhow::ensure!(printed.starts_with(PDF), "what the browser printed is no PDF");
    let bytes = printed.len() / 4 * 3;
    anyhow::ensure!(bytes >= PDF_BYTES_MIN, "the PDF has {bytes} bytes only");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with everything the checks ask for; `HEAD` and `BODY` are where the bad pages differ.
    const PAGE: &str = "<!doctype html><html><head><meta charset='utf-8'>\
<meta name='viewport' content='width=device-width'><title>A page</title><style>body{background:#fff;color:#111}\
@media (prefers-color-scheme:dark){body{background:#111;color:#eee}}</style>HEAD</head><body>BODY</body></html>";

    #[test]
    fn each_check_passes_a_good_page_and_names_a_bad_one() {
        if cargo::find(PROGRAM).is_none() {
            println!("skipped: no chromium here; apt-get install chromium");
            return;
        }
        let words = "<p>Many words that fill a page.</p>".repeat(100);
        let rows = [
            (None, "", words.as_str()),
            (Some(0), "<script>console.error('x')</script>", &words),
            (Some(0), "<link rel='icon' href='http://example.invalid/a'>", &words),
            (Some(1), "<style>p{width:900px}</style>", &words),
            (Some(2), "<style>body{background:#fff!important}</style>", &words),
            (Some(3), "", ""),
        ];
        let mut browser = Chromium::start().expect("it starts");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("a page ü.html");
        for (bad, head, body) in rows {
            std::fs::write(&file, PAGE.replace("HEAD", head).replace("BODY", body)).expect("it is written");
            let looks = looks(&mut browser, &file).expect("it is there");
            let failed: Vec<usize> = (0..looks.len()).filter(|index| looks[*index].1.is_err()).collect();
            assert_eq!(failed, bad.into_iter().collect::<Vec<usize>>(), "{head}: {looks:?}");
        }
    }

    #[test]
    fn only_errors_are_complaints() {
        let console =
            |kind: &str| json!({"method": "Runtime.consoleAPICalled", "params": {"type": kind, "args": []}});
        assert!(complaint(&console("error")).is_some());
        assert!(complaint(&console("warning")).is_none());
        assert!(complaint(&json!({"method": "Runtime.exceptionThrown", "params": {}})).is_some());
        let entry = json!({"method": "Log.entryAdded", "params": {"entry": {"level": "error", "text": "x"}}});
        assert!(complaint(&entry).is_some());
    }
}
