//! The browser checks themselves: a good page passes all of them, a bad one fails the one it should.

use std::process::Command;

use xtask::browser::look;

/// A page with everything the checks ask for; `HEAD` and `FIGURE` are where the bad pages differ.
const PAGE: &str = "<!doctype html><html><head><meta charset='utf-8'>\
<meta name='viewport' content='width=device-width'><title>A page</title>\
<style>body{background:#fff;color:#111;margin:0}svg{max-width:100%;display:block}\
@media (prefers-color-scheme:dark){body{background:#111;color:#eee}}</style>HEAD</head><body><p>Words.</p>\
FIGURES<script>for(const b of document.querySelectorAll('button'))b.onclick=()=>{\
const d=document.createElement('div');d.className='plotly-chart';d.dataset.chart=b.dataset.interactive;\
d.innerHTML='CHART';b.after(d)};</script></body></html>";
const CHART: &str = "<svg class=\"main-svg\" width=\"300\" height=\"200\"><rect width=\"300\" height=\"200\" fill=\"#0072b2\"/></svg>";
const BARS: &str = "<rect x='0' width='20' height='200' fill='#d55e00'/>";
const FRAME: &str = "<rect x='0' width='20' height='200' fill='#888'/>";

fn figure(name: &str, bar: &str) -> String {
    format!(
        "<figure data-figure='{name}'><svg width='300' height='200'>{}</svg>\
         <button data-interactive='{name}'>interactive</button></figure>",
        bar.repeat(12)
    )
}

fn page(head: &str, chart: &str, bar: &str) -> String {
    let figures = ["bandwidth", "latency-surface", "stream"].map(|name| figure(name, bar)).concat();
    PAGE.replace("HEAD", head).replace("FIGURES", &figures).replace("CHART", chart)
}

/// A good page with words where the bars of STREAM would be.
fn page_without_stream(why: &str) -> String {
    let missing = format!("<div data-missing='stream'><p>Not in this record: {why}.</p></div>");
    page("", CHART, BARS).replace(&figure("stream", BARS), &missing)
}

#[test]
fn each_check_passes_a_good_page_and_names_a_bad_one() {
    if Command::new("chromium").arg("--version").output().is_err() {
        println!("skipped: no chromium here; apt-get install chromium");
        return;
    }
    let rows = [
        ("", "", page("", CHART, BARS)),
        (
            "",
            "static picture",
            page_without_stream("probe stream was unable to measure: no undisturbed window"),
        ),
        ("not measured, but why", "static picture", page_without_stream("the probe kept no usable result")),
        ("it complains", "loads without complaint", page("<script>console.error('x')</script>", CHART, BARS)),
        (
            "it asks",
            "loads without complaint",
            page("<link rel='icon' href='http://example.invalid/a'>", CHART, BARS),
        ),
        ("blank figures", "static picture", page("", CHART, FRAME)),
        ("blank charts", "interactive on demand", page("", &CHART.replace("#0072b2", "#888"), BARS)),
        ("too wide", "390 px", page("<style>p{width:900px}</style>", CHART, BARS)),
        ("never dark", "light and dark", page("<style>body{background:#fff!important}</style>", CHART, BARS)),
    ];
    for (flaw, check, text) in rows {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("a page.html");
        std::fs::write(&file, text).expect("the page is written");
        let looks = look(&file, folder.path(), check).expect("the checks run");
        let failed: Vec<_> = looks.iter().filter(|(_, result)| result.is_err()).collect();
        if flaw.is_empty() {
            assert!(!looks.is_empty() && failed.is_empty(), "{failed:?}");
        } else {
            assert_eq!((looks.len(), failed.len()), (1, 1), "{flaw} must be seen");
        }
    }
}
