//! `cargo xtask browser`: opens a report in headless Chromium and looks at what a reader would see.
//!
//! The browser is driven through its debugging pipe, with a throw-away profile and a proxy that leads nowhere,
//! so that any request for the network would fail and be seen.

mod checks;
mod chromium;
mod page;
mod picture;
mod planted;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::totals::Totals;
use crate::{cargo, schema};

/// The report in headless Chromium
///
/// Looks for: console errors, requests, static figures, interactive figures, a page without scripts or WebGL, a 390 px wide screen, light
/// and dark, paper. Skipped where chromium is absent. docs/report.png of the README is surface-light.png of a default check-up on a
/// quiet machine.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The report to open; without it a quick check-up makes one (release build)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Open what the check-up of `cargo xtask test` left in target/check-up
    #[arg(long, conflicts_with = "report")]
    made: bool,
    /// Where the pictures go; without it target/screenshots
    #[arg(long, value_name = "DIR")]
    screenshots: Option<PathBuf>,
}

/// The browser as Debian names it.
const PROGRAM: &str = "chromium";

/// `cargo xtask browser`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    let screenshots = arguments.screenshots.clone().unwrap_or_else(default_screenshots);
    if let Some(report) = &arguments.report {
        return check_report(report, &screenshots);
    }
    let mut totals = if arguments.made { Totals::default() } else { make()? };
    totals.add(check_made(&screenshots)?);
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
    let binary = cargo::sidestep();
    println!("making a report: {} run --quick", binary.display());
    let mut check_up = Command::new(&binary);
    check_up.args(["run", "--quick", "--quiet", "--no-history", "--record"]).arg(&record);
    anyhow::ensure!(cargo::succeeds(&mut check_up)?, "the quick check-up failed; see above");
    let totals = schema::check_file("record", &record.join("record.json"))?;
    println!("the record against its schema: {totals}");
    place_page(&binary, &folder)?;
    Ok(totals)
}

/// Looks at what was made, and at pages that nothing is measured for.
fn check_made(screenshots: &Path) -> anyhow::Result<Totals> {
    let record = made().join("run");
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let binary = cargo::sidestep();
    let mut totals = Totals::default();
    totals.add(check_report(&record.join("report.html"), screenshots)?);
    let (scratch, own) = (folder.path(), "text from outside stays text");
    let planted = || planted::report(&binary, &record.join("record.json"), scratch);
    totals.add(check_other(own, planted, scratch, &["without complaint"])?);
    let placed = || Ok(made().join(PLACE_PAGE));
    let of_place = ["without complaint", "sideways scrolling", "it prints"];
    totals.add(check_other("the page of sidestep place", placed, &screenshots.join("place"), &of_place)?);
    for machine in SIMULATED {
        let name = format!("the page of sidestep simulate {machine}");
        let simulated = || simulated_page(&binary, scratch, machine);
        totals.add(check_other(&name, simulated, scratch, &["without complaint"])?);
    }
    Ok(totals)
}

/// A machine of each kind that has a page.
const SIMULATED: [&str; 3] = ["phenom-9600", "k8-opteron", "fx-8150"];

fn simulated_page(binary: &Path, folder: &Path, machine: &str) -> anyhow::Result<PathBuf> {
    let page = folder.join(format!("{machine}.html"));
    let mut simulate = Command::new(binary);
    simulate.args(["simulate", machine, "--quiet", "--html"]).arg(&page);
    anyhow::ensure!(cargo::succeeds(&mut simulate)?, "sidestep simulate {machine} failed; see above");
    Ok(page)
}

/// The file of the page of `place`.
const PLACE_PAGE: &str = "place.html";

/// Makes the page of a small experiment with two pairs of threads.
fn place_page(binary: &Path, folder: &Path) -> anyhow::Result<()> {
    let page = folder.join(PLACE_PAGE);
    let own = cargo::this_program()?;
    let mut place = Command::new(binary);
    place.args(["place", "--quiet", "--budget", "3s", "--html"]).arg(&page);
    // The machine's own may be held by another sidestep.
    place.arg("--state").arg(folder.join("state")).arg("--").arg(own);
    place.args(["threads", "pairs", "2", "200"]);
    anyhow::ensure!(cargo::succeeds(&mut place)?, "sidestep place failed; see above");
    Ok(())
}

/// Another page, that need not have what a report has: these of the checks must hold of it.
fn check_other(
    name: &str,
    page: impl FnOnce() -> anyhow::Result<PathBuf>,
    screenshots: &Path,
    parts: &[&str],
) -> anyhow::Result<Totals> {
    if cargo::find(PROGRAM).is_none() {
        return Ok(skipped(name));
    }
    let page = page()?;
    let mut totals = Totals::default();
    for part in parts {
        totals.add(told(name, look(&page, screenshots, part)?));
    }
    Ok(totals)
}

fn check_report(report: &Path, screenshots: &Path) -> anyhow::Result<Totals> {
    if cargo::find(PROGRAM).is_none() {
        return Ok(skipped("the report"));
    }
    let totals = told("the report", look(report, screenshots, "")?);
    println!("screenshots: {}", screenshots.display());
    Ok(totals)
}

/// Prints what was seen of a page.
fn told(page: &str, looks: Vec<Look>) -> Totals {
    let mut totals = Totals::default();
    for (check, result) in looks {
        let line = format!("{page}: {check}");
        totals.add(match result {
            Ok(words) => {
                println!("ok      {line}{}{words}", if words.is_empty() { "" } else { ": " });
                Totals::one_passed()
            }
            Err(error) => {
                println!("FAILED  {line}: {error:#}");
                Totals::one_failed(format!("browser: {line}: {error:#}"))
            }
        });
    }
    totals
}

fn skipped(page: &str) -> Totals {
    println!("SKIPPED {page}: no {PROGRAM} here");
    Totals::one_skipped(format!("browser: {page}: no {PROGRAM} here"))
}

/// The name of a check, and words worth printing or why it does not hold.
pub type Look = (&'static str, anyhow::Result<String>);

/// Looks at `report` with every check whose name contains `part`; pictures go to `screenshots`.
pub fn look(report: &Path, screenshots: &Path, part: &str) -> anyhow::Result<Vec<Look>> {
    let report = report.canonicalize().with_context(|| format!("cannot find {}", report.display()))?;
    std::fs::create_dir_all(screenshots).with_context(|| format!("cannot make {}", screenshots.display()))?;
    let place = checks::Place { report: &report, screenshots };
    let chosen = checks::CHECKS.iter().filter(|(name, _)| name.contains(part));
    Ok(chosen.map(|(name, check)| (*name, check(&place))).collect())
}

fn default_screenshots() -> PathBuf {
    cargo::target().join("screenshots")
}
