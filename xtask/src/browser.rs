//! `cargo xtask browser`: opens the pages that sidestep writes in headless Chromium and looks at what a reader would see.
//!
//! A page is shown in frames of three widths, light and dark, by a page of ours that reports what it sees of them. The browser has a
//! throw-away profile and a proxy that leads nowhere.

mod planted;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::totals::Totals;
use crate::{cargo, schema};

/// The pages in headless Chromium
///
/// Looks for: messages on the console, requests, anything wider than the screen at 390, 768 and 1280 px, light and dark, paper, and the
/// size of the report. Skipped where chromium is absent.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A page to open; without it a quick check-up, an experiment and simulations make some (release build)
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Open what the check-up of `cargo xtask test` left in target/check-up
    #[arg(long, conflicts_with = "page")]
    made: bool,
}

/// The browser as Debian names it, and what makes it small, silent and cut off: the proxy is a port that nobody serves.
const PROGRAM: &str = "chromium";
const FLAGS: &str = "--headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync \
    --disable-component-update --disable-dev-shm-usage --allow-file-access-from-files --proxy-server=127.0.0.1:9 \
    --enable-logging=stderr --no-pdf-header-footer";
/// The option for which colours a reader prefers.
const SCHEMES: [(&str, &str); 2] = [("dark", "preferredColorScheme=0"), ("light", "preferredColorScheme=1")];
/// The page with the frames. Of each: how wide its content is, how bright paper and text (0 to 255), and what it asked for.
const FRAMES: &str = r#"<!doctype html><meta charset="utf-8"><body>FRAMES<script>
const mean = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map(Number).reduce((a, b) => a + b) / 3;
const look = (frame) => {
  const [page, style] = [frame.contentDocument, (e) => frame.contentWindow.getComputedStyle(e)];
  const papers = [page.body, page.documentElement].map((e) => style(e).backgroundColor);
  const paper = papers.find((colour) => !colour.endsWith(', 0)')) ?? 'rgb(255, 255, 255)';
  const asked = frame.contentWindow.performance.getEntriesByType('resource').map((one) => one.name);
  return [page.documentElement.scrollWidth, mean(paper), mean(style(page.body).color), asked];
};
onload = () => { document.body.dataset.seen = JSON.stringify([...document.querySelectorAll('iframe')].map(look)); };
</script></body>"#;
/// Widths of a phone, a tablet and a desktop, in CSS pixels.
const WIDTHS: [u32; 3] = [390, 768, 1280];
/// Brightness (0 to 255) between dark and light.
const MIDDLE_BRIGHTNESS: f64 = 128.0;
/// A PDF with content is never smaller than this, in bytes; an empty page has about 1 kB.
const PDF_BYTES_MIN: u64 = 5_000;
/// A loaded machine of two CPUs needs seconds.
const PATIENCE_S: &str = "120";
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

/// All checks of these pages.
fn all(pages: &[(&str, PathBuf)]) -> anyhow::Result<Totals> {
    if cargo::find(PROGRAM).is_none() {
        println!("SKIPPED: no {PROGRAM} here");
        return Ok(Totals::one_skipped(format!("browser: no {PROGRAM} here")));
    }
    let mut totals = Totals::default();
    for (name, page) in pages {
        let wrong = wrong(page)?;
        println!("{}  {name}", if wrong.is_empty() { "ok    " } else { "FAILED" });
        let line = format!("browser: {name}: {}", wrong.join("; "));
        totals.add(Totals::one(wrong.is_empty(), line));
    }
    Ok(totals)
}

/// What is wrong with a page.
fn wrong(page: &Path) -> anyhow::Result<Vec<String>> {
    let page = page.canonicalize().with_context(|| format!("cannot find {}", page.display()))?;
    let folder = tempfile::tempdir().context("cannot make a browser profile")?;
    let frames =
        WIDTHS.map(|width| format!("<iframe src=\"{}\" width={width} height=900></iframe>", url(&page)));
    let frames_page = folder.path().join("frames.html");
    std::fs::write(&frames_page, FRAMES.replace("FRAMES", &frames.concat()))?;
    let mut wrong = Vec::new();
    for (scheme, setting) in SCHEMES {
        let blink = format!("--blink-settings={setting}");
        let (dom, console) = browse(folder.path(), &frames_page, &[&blink, "--dump-dom"])?;
        wrong.extend(console);
        let seen = dom.split_once("data-seen=\"").and_then(|(_, rest)| rest.split_once('"'));
        let seen = seen.context("the browser saw nothing")?.0.replace("&quot;", "\"").replace("&amp;", "&");
        let seen: Vec<(u32, f64, f64, Vec<String>)> = serde_json::from_str(&seen).context("no report")?;
        for (width, (content, paper, text, asked)) in WIDTHS.into_iter().zip(seen) {
            let (low, high) = if scheme == "light" { (text, paper) } else { (paper, text) };
            if content > width {
                wrong.push(format!("{content} px wide on a screen of {width} px"));
            }
            if low >= MIDDLE_BRIGHTNESS || high <= MIDDLE_BRIGHTNESS {
                wrong.push(format!("{scheme}: paper is {paper:.0} of 255 bright, text {text:.0}"));
            }
            wrong.extend(
                asked.iter().filter(|one| !one.starts_with("data:")).map(|one| format!("it asks for {one}")),
            );
        }
    }
    let pdf = folder.path().join("page.pdf");
    browse(folder.path(), &page, &[&format!("--print-to-pdf={}", pdf.display())])?;
    let bytes = std::fs::metadata(&pdf).map_or(0, |file| file.len());
    if bytes < PDF_BYTES_MIN {
        wrong.push(format!("printed, it is a PDF of {bytes} bytes"));
    }
    wrong.dedup();
    Ok(wrong)
}

/// What the browser prints of a page, and what the page prints on its console.
fn browse(folder: &Path, page: &Path, more: &[&str]) -> anyhow::Result<(String, Vec<String>)> {
    let mut browser = Command::new("timeout");
    browser.args([PATIENCE_S, PROGRAM]).args(FLAGS.split_whitespace()).args(more);
    browser.arg(format!("--user-data-dir={}", folder.join("profile").display())).arg(url(page));
    let done = browser.output().context("cannot start timeout")?;
    anyhow::ensure!(done.status.success(), "{PROGRAM} ended with {}", done.status);
    let said = String::from_utf8_lossy(&done.stderr);
    let console =
        said.lines().filter_map(|line| line.split_once("CONSOLE")).map(|(_, words)| words.to_owned());
    Ok((String::from_utf8_lossy(&done.stdout).into_owned(), console.collect()))
}

/// The address of a local file: every byte that is not plain is escaped.
fn url(file: &Path) -> String {
    let letter = |byte: u8| {
        let is_plain = byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte);
        if is_plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    let escaped: String = file.to_string_lossy().bytes().map(letter).collect();
    format!("file://{escaped}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with everything the checks ask for; `HEAD` and `BODY` are where the bad pages differ.
    const PAGE: &str = "<!doctype html><html><head><meta charset='utf-8'>\
<meta name='viewport' content='width=device-width'><title>A page</title><style>body{background:#fff;color:#111}\
@media (prefers-color-scheme:dark){body{background:#111;color:#eee}}</style>HEAD</head><body>BODY</body></html>";

    #[test]
    fn a_good_page_passes_and_what_is_wrong_with_a_bad_one_is_named() {
        if cargo::find(PROGRAM).is_none() {
            println!("skipped: no chromium here; apt-get install chromium");
            return;
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("a page ü.html");
        let wrong = |head: &str| {
            let body = "<p>Many words that fill a page.</p>".repeat(100);
            std::fs::write(&file, PAGE.replace("HEAD", head).replace("BODY", &body)).expect("it is written");
            wrong(&file).expect("it is there")
        };
        assert_eq!(wrong(""), [""; 0]);
        let bad = "<style>p{width:700px}body{background:#fff!important}</style><img src='http://example.invalid/a'>\
            <script>console.error('planted')</script>";
        let found = wrong(bad).join("; ");
        for part in [
            "\"planted\"",
            "it asks for http://example.invalid/a",
            "px wide on a screen of 390 px",
            "dark: paper is 255",
        ] {
            assert!(found.contains(part), "{part}: {found}");
        }
        assert!(!found.contains("768") && !found.contains("light"), "{found}");
    }
}
