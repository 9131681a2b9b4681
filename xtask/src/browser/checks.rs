//! What must hold of a report in a browser, one check per promise; each opens its own browser.

use std::path::Path;

use anyhow::Context;
use serde_json::json;

use super::page::{DESKTOP, PHONE, Page, Rectangle};

/// What a check may look at and write to.
pub(super) struct Place<'a> {
    /// The report, as an absolute path.
    pub(super) report: &'a Path,
    /// Where pictures go.
    pub(super) screenshots: &'a Path,
}

/// A check: its name, and a function that returns words worth printing or why it does not hold.
pub(super) type Check = (&'static str, fn(&Place<'_>) -> anyhow::Result<String>);

/// All checks, in the order a reader would stumble over their failing.
pub(super) const CHECKS: &[Check] = &[
    ("the page loads without complaint or request", loads_quietly),
    ("every figure stands as a drawn static picture", static_figures),
    ("every figure becomes interactive on demand", interactive_figures),
    ("without WebGL no figure is an empty box", without_webgl),
    ("without scripts every figure stands", without_scripts),
    ("the graph of links answers to the keyboard", graph_by_keyboard),
    ("a 390 px wide screen needs no sideways scrolling", narrow),
    ("light and dark are both drawn", light_and_dark),
    ("it prints", prints),
];

/// Figures that no report may lack; others depend on the machine: one CPU has no pairs.
const REQUIRED_FIGURES: &[&str] = &["bandwidth", "latency-surface", "stream"];
/// How a page begins to say that a probe was tried and what kept it from measuring. STREAM maps hundreds of MiB before
/// its first window: where others hold the CPUs, a quick check-up spends all its time on that, and says so.
const NOT_MEASURED: &str = "Not in this record: probe stream was unable to measure: ";
/// The figure whose interactive form needs WebGL; its variants begin with the same words.
const WEBGL_FIGURE: &str = "latency-surface";
/// A static figure has at least this many shapes: fewer is a frame without content.
const SHAPES: u64 = 10;
/// The graph of links, and the shapes of two nodes and their link: it may be that small.
const GRAPH_FIGURE: &str = "socket-links";
const GRAPH_SHAPES: u64 = 5;
/// A drawn figure has at least this share of coloured pixels: a few thin curves do.
const DRAWN_SHARE: f64 = 0.002;
/// The figure of sizes found: on a busy machine one small bar may be all, and a frame alone has no colour.
const LEVELS_FIGURE: &str = "levels";
const LEVELS_SHARE: f64 = 0.0005;
/// A surface covers at least this share of its box with colour; its colour bar alone covers 1 %.
const SURFACE_SHARE: f64 = 0.02;
/// Mean brightness (0 to 255) that tells a light page from a dark one.
const MIDDLE_BRIGHTNESS: f64 = 128.0;
/// A PDF with figures is never smaller than this, in bytes; an empty page has about 1 kB.
const PDF_BYTES: usize = 5_000;

const FIGURE_NAMES: &str = "[...document.querySelectorAll('figure[data-figure]')].map(f => f.dataset.figure)";

fn loads_quietly(place: &Place<'_>) -> anyhow::Result<String> {
    let mut page = Page::open(place.report, DESKTOP, &[])?;
    page.wait_until("performance.getEntriesByType('paint').length > 0")?;
    let first = page.ask("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1")?;
    let loaded = page.ask("performance.getEntriesByType('navigation')[0].loadEventStart")?;
    is_quiet(&page, place)?;
    Ok(format!("first paint {first:.0} ms, loaded {loaded:.0} ms after opening"))
}

fn static_figures(place: &Place<'_>) -> anyhow::Result<String> {
    let mut page = Page::open(place.report, DESKTOP, &[])?;
    let names = figures(&mut page)?;
    for name in &names {
        is_drawn_statically(&mut page, name)?;
    }
    Ok(names.join(", "))
}

fn is_drawn_statically(page: &mut Page, name: &str) -> anyhow::Result<()> {
    let selector = static_selector(name);
    let shapes = "path, polygon, polyline, rect, circle, line";
    let count = page
        .ask(&format!("document.querySelector({}).querySelectorAll('{shapes}').length", json!(selector)))?;
    let count = count.as_u64().unwrap_or(0);
    let least = if name == GRAPH_FIGURE { GRAPH_SHAPES } else { SHAPES };
    anyhow::ensure!(count >= least, "{name}: {count} shapes; a drawn figure has at least {least}");
    is_coloured(page, name, &selector)
}

fn interactive_figures(place: &Place<'_>) -> anyhow::Result<String> {
    let mut page = Page::open(place.report, DESKTOP, &[])?;
    let mut words = Vec::new();
    for name in figures(&mut page)? {
        if !has_button(&mut page, &name)? {
            anyhow::ensure!(!REQUIRED_FIGURES.contains(&name.as_str()), "{name} has no interactive button");
            continue;
        }
        let elapsed = make_interactive(&mut page, &name)?;
        is_coloured(&mut page, &name, &chart_selector(&name))?;
        save(place, &name, &page.photograph_bytes(false)?)?;
        words.push(format!("{name} {elapsed:.1} s"));
    }
    is_quiet(&page, place)?;
    Ok(words.join(", "))
}

/// Presses the figure's button and waits until its chart has something to draw on; seconds it took.
fn make_interactive(page: &mut Page, name: &str) -> anyhow::Result<f64> {
    page.show(&button_selector(name))?;
    page.ask(&format!("document.querySelector({}).click()", json!(button_selector(name))))?;
    let ground = json!(format!("{0} svg.main-svg, {0} canvas", chart_selector(name)));
    let elapsed = page.wait_until(&format!("document.querySelector({ground}) !== null"))?;
    page.next_frame()?;
    Ok(elapsed.as_secs_f64())
}

/// Each node of the graph can be stepped to, has a name for who cannot see it, and then shows its reads, the others' none.
fn graph_by_keyboard(place: &Place<'_>) -> anyhow::Result<String> {
    let mut page = Page::open(place.report, DESKTOP, &[])?;
    if !figures(&mut page)?.iter().any(|name| name == GRAPH_FIGURE) {
        return Ok("this report has none".to_owned());
    }
    let told = page.ask(
        "(() => {
           const nodes = [...document.querySelectorAll('.node[tabindex]')];
           const shown = () => nodes.filter(
             (node) => getComputedStyle(node.querySelector('.paths')).visibility === 'visible');
           if (shown().length) return 'reads are shown before anybody asks';
           for (const node of nodes) {
             node.focus();
             if (shown().length !== 1 || shown()[0] !== node) return 'a node with the focus does not show its reads';
             if (!node.getAttribute('aria-label')) return 'a node has no name';
           }
           return nodes.length;
         })()",
    )?;
    let nodes = told.as_u64().with_context(|| told.as_str().unwrap_or("no answer").to_owned())?;
    is_quiet(&page, place)?;
    Ok(format!("{nodes} nodes"))
}

fn without_webgl(place: &Place<'_>) -> anyhow::Result<String> {
    let mut page = Page::open(place.report, DESKTOP, &["--disable-3d-apis"])?;
    let mut words = "static pictures only, no dead button";
    if has_button(&mut page, WEBGL_FIGURE)? {
        page.ask(&format!("document.querySelector({}).click()", json!(button_selector(WEBGL_FIGURE))))?;
        page.next_frame()?;
        words = "the button leads to a drawn figure";
    }
    is_coloured(&mut page, WEBGL_FIGURE, &format!("figure[data-figure='{WEBGL_FIGURE}']"))?;
    is_quiet(&page, place)?;
    Ok(words.to_owned())
}

fn without_scripts(place: &Place<'_>) -> anyhow::Result<String> {
    let mut page = Page::new(DESKTOP, &[])?;
    page.call("Emulation.setScriptExecutionDisabled", &json!({"value": true}))?;
    page.load(place.report)?;
    let names = figures(&mut page)?;
    for name in &names {
        is_drawn_statically(&mut page, name)?;
    }
    Ok(format!("{} figures", names.len()))
}

fn narrow(place: &Place<'_>) -> anyhow::Result<String> {
    let mut page = Page::open(place.report, PHONE, &[])?;
    let width =
        page.ask("document.documentElement.scrollWidth")?.as_u64().context("the page has no width")?;
    save(place, "narrow", &page.photograph_bytes(true)?)?;
    anyhow::ensure!(
        width <= u64::from(PHONE.width),
        "the page is {width} px wide on a {} px screen",
        PHONE.width
    );
    let flaws = "document.querySelector('#flaws .fit')";
    let is_cut = format!("{flaws} !== null && {flaws}.scrollWidth > {flaws}.clientWidth");
    anyhow::ensure!(page.ask(&is_cut)? == json!(false), "the table of flaws is cut off at the right");
    Ok(format!("{width} px"))
}

fn light_and_dark(place: &Place<'_>) -> anyhow::Result<String> {
    let mut brightness = Vec::new();
    for scheme in ["light", "dark"] {
        let mut page = Page::new(DESKTOP, &[])?;
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        page.call("Emulation.setEmulatedMedia", &features)?;
        page.load(place.report)?;
        page.next_frame()?;
        brightness.push(page.photograph()?.brightness());
        let names = figures(&mut page)?;
        for name in &names {
            is_coloured(&mut page, name, &static_selector(name))
                .with_context(|| format!("in {scheme} mode"))?;
        }
        save(place, scheme, &page.photograph_bytes(true)?)?;
        if names.iter().any(|name| name == WEBGL_FIGURE) {
            page.show(&format!("figure[data-figure='{WEBGL_FIGURE}']"))?;
            save(place, &format!("surface-{scheme}"), &page.photograph_bytes(false)?)?;
        }
    }
    let [light, dark] = brightness[..] else { anyhow::bail!("two photographs were taken") };
    let differ = light > MIDDLE_BRIGHTNESS && dark < MIDDLE_BRIGHTNESS;
    anyhow::ensure!(differ, "mean brightness is {light:.0} in light mode and {dark:.0} in dark mode");
    Ok(format!("mean brightness {light:.0} and {dark:.0} of 255"))
}

fn prints(place: &Place<'_>) -> anyhow::Result<String> {
    let mut page = Page::open(place.report, DESKTOP, &[])?;
    let answer = page.call("Page.printToPDF", &json!({"printBackground": true}))?;
    let bytes = super::picture::from_base64(answer["data"].as_str().context("the browser printed nothing")?)?;
    anyhow::ensure!(bytes.starts_with(b"%PDF"), "what the browser printed is no PDF");
    anyhow::ensure!(bytes.len() >= PDF_BYTES, "the PDF has {} bytes only", bytes.len());
    Ok(format!("{} kB of PDF", bytes.len() / 1000))
}

fn figures(page: &mut Page) -> anyhow::Result<Vec<String>> {
    let names = page.ask_names(FIGURE_NAMES)?;
    for required in REQUIRED_FIGURES.iter().filter(|required| !names.iter().any(|name| name == *required)) {
        let told =
            page.ask(&format!("document.querySelector(\"[data-missing='{required}'] p\")?.textContent"))?;
        let told = told.as_str().unwrap_or("the page does not say why");
        anyhow::ensure!(told.starts_with(NOT_MEASURED), "there is no figure {required}: {told}");
        println!("        {told}");
    }
    Ok(names)
}

fn has_button(page: &mut Page, name: &str) -> anyhow::Result<bool> {
    let visible = "(e => e !== null && !e.disabled && e.getClientRects().length > 0)";
    let found = page.ask(&format!("{visible}(document.querySelector({}))", json!(button_selector(name))))?;
    Ok(found == json!(true))
}

fn is_coloured(page: &mut Page, name: &str, selector: &str) -> anyhow::Result<()> {
    let part: Rectangle = page.show(selector)?;
    let share = page.photograph()?.coloured_share(part);
    let least = match name {
        _ if name.starts_with(WEBGL_FIGURE) => SURFACE_SHARE,
        LEVELS_FIGURE => LEVELS_SHARE,
        _ => DRAWN_SHARE,
    };
    anyhow::ensure!(share >= least, "{name} looks blank: {:.2} % of {selector} is coloured", share * 100.0);
    Ok(())
}

fn save(place: &Place<'_>, name: &str, picture: &[u8]) -> anyhow::Result<()> {
    let file = place.screenshots.join(format!("{name}.png"));
    std::fs::write(&file, picture).with_context(|| format!("cannot write {}", file.display()))
}

fn is_quiet(page: &Page, place: &Place<'_>) -> anyhow::Result<()> {
    let complaints = page.complaints();
    anyhow::ensure!(complaints.is_empty(), "the page complains: {}", complaints.join("; "));
    let requests = page.requests(place.report);
    anyhow::ensure!(requests.is_empty(), "the page asks for {}", requests.join(", "));
    Ok(())
}

fn static_selector(name: &str) -> String {
    format!("figure[data-figure='{name}'] svg")
}

fn button_selector(name: &str) -> String {
    format!("button[data-interactive='{name}']")
}

fn chart_selector(name: &str) -> String {
    format!("div.plotly-chart[data-chart='{name}']")
}
