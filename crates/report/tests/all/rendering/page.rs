//! The page and the pictures: well-formed, escaped, small enough, nothing empty.

use record::{PlanOutcome, Record};
use report::{Figure, Terminal, check_up_page, figure_svg, machine_page};

use super::html;
use super::markup::{check_html, check_xml};
use super::sample::sample_record;
use super::sockets::accounted;

/// The page of a usual machine stays below this.
const LIMIT_BYTES: usize = 450_000;
/// That of 64 CPUs, with maps of all their pairs, below this.
const LARGE_LIMIT_BYTES: usize = 1_000_000;

/// What others might plant in a host name or a DMI string.
const HOSTILE: &str =
    "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>]]>-->\u{1b}[2J\u{202e}&\u{0}</style></title>";

fn hostile_record() -> Record {
    let text = serde_json::to_value(sample_record(2)).expect("a record is JSON");
    let mut record: Record = serde_json::from_value(planted(text)).expect("only free texts were changed");
    record.plan.entries[0].outcome = PlanOutcome::Failed(HOSTILE.to_owned());
    record.provenance.host_name = Some(HOSTILE.to_owned());
    record.partial = Some(HOSTILE.to_owned());
    record
}

/// Puts the hostile text behind every free text; words and sets that the types check stay as they are.
fn planted(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    const CHECKED: [&str; 18] = [
        "area",
        "quality",
        "severity",
        "scope",
        "order",
        "outcome",
        "kind",
        "core_kind",
        "cpus",
        "loading",
        "shared_by",
        "stands_for",
        "offline",
        "isolated",
        "allowed",
        "vendor",
        "verdict",
        "fault",
    ];
    match value {
        Value::String(text) => Value::String(text + HOSTILE),
        Value::Array(items) => Value::Array(items.into_iter().map(planted).collect()),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| {
                    let value = if CHECKED.contains(&name.as_str()) { value } else { planted(value) };
                    (name, value)
                })
                .collect(),
        ),
        other => other,
    }
}

#[test]
fn every_figure_is_well_formed_and_has_a_title_a_description_and_shapes() {
    for cpu_count in [1, 2, 64] {
        let record = sample_record(cpu_count);
        let account = record.sockets.as_ref().map(accounted);
        for figure in Figure::ALL {
            let Some(svg) = figure_svg(&record, account.as_ref(), figure) else {
                assert!(cpu_count == 1, "{} is missing", figure.name());
                continue;
            };
            check_xml(&svg);
            assert!(svg.contains("<title") && svg.contains("<desc") && !svg.contains("NaN"));
            let shapes = ["<rect", "<polygon", "<polyline", "<path", "<circle", "<line"];
            let count: usize = shapes.iter().map(|shape| svg.matches(shape).count()).sum();
            assert!(count >= 10, "{}: {count} shapes", figure.name());
        }
    }
}

#[test]
fn figures_are_found_by_their_names() {
    for figure in Figure::ALL {
        let found = Figure::from_name(figure.name()).map(|found| found.name());
        assert_eq!(found, Some(figure.name()));
    }
    assert_eq!(Figure::from_name("tlb").map(|figure| figure.name()), Some("walks"));
    assert!(Figure::from_name("nonsense").is_none());
}

#[test]
fn the_page_holds_every_figure_and_asks_for_nothing() {
    let record = sample_record(2);
    let page = html(&record, record.sockets.as_ref().map(accounted).as_ref());
    for figure in Figure::ALL {
        assert!(page.contains(&format!("<figure id=\"figure-{0}\" data-figure=\"{0}\"", figure.name())));
    }
    for forbidden in ["<script", " src=", "http://", "https://", "@import", "<link", "<iframe", "<object"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("default-src 'none'") && !page.contains("script-src"));
    assert!(page.contains("are in record.json, beside this page"));
    check_html(&page);
}

#[test]
fn marks_say_their_value_interval_unit_and_what_they_rest_on() {
    let page = html(&sample_record(2), None);
    // A point of a curve, a cell, a face of the surface.
    for part in ["GB/s [", " ns [", " windows", "4 KiB × ", ", L1: "] {
        assert!(page.contains(part), "{part}");
    }
    let svg = |cpu_count, name| {
        let figure = Figure::from_name(name).expect("a figure");
        figure_svg(&sample_record(cpu_count), None, figure).expect("the sample has it")
    };
    let titles = |name| svg(2, name).matches("<title>").count();
    assert!(titles("latency-surface") > 10 && titles("stream") > 2);
    // Of many CPUs each row of a map says what it holds, not each of thousands of cells.
    let many = svg(64, "sharing");
    assert!(many.contains(" cells, median ") && many.matches("<title>").count() < 1_000);
}

#[test]
fn costs_of_clocks_stand_beside_the_control_loops_and_what_others_measured() {
    let record = sample_record(2);
    let page = html(&record, None);
    for part in [
        "most costs reproduce within 2 %",
        "3.90 additions a cycle",
        "gettimeofday with RDTSCP 221 cycles",
        "gettimeofday: the interval is 2.4 % wide",
        "loop alone",
        "flat to 4 threads",
        "3900/4000",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let text = check_up_page(&record, None, None).terminal(Terminal::default(), true);
    assert!(text.contains("gettimeofday: 63.1 TSC cycles"), "{text}");
    let empty = Record { clock_cost: Some(record::ClockCost::default()), ..Record::default() };
    assert!(html(&empty, None).contains("Verdict: undetermined"));
}

#[test]
fn pages_stay_within_their_sizes() {
    for (cpu_count, limit_bytes) in [(2, LIMIT_BYTES), (64, LARGE_LIMIT_BYTES)] {
        let page = html(&sample_record(cpu_count), None);
        assert!(page.len() <= limit_bytes, "{cpu_count} CPUs: {} bytes", page.len());
    }
}

#[test]
fn what_comes_from_outside_never_becomes_markup_or_reaches_the_terminal() {
    let record = hostile_record();
    let page = html(&record, None);
    for forbidden in ["<script", "<img", "</style></title>", "\u{1b}", "\u{202e}", "\u{0}"] {
        assert!(!page.contains(forbidden), "{forbidden:?}");
    }
    check_html(&page);
    let account = record.sockets.as_ref().map(accounted);
    for figure in Figure::ALL {
        check_xml(&figure_svg(&record, account.as_ref(), figure).expect("the sample has every figure"));
    }
    let size = Terminal::default();
    let page = check_up_page(&record, None, None);
    let texts = [page.terminal(size, true), page.terminal(size, false), page.markdown(true)];
    for text in texts.into_iter().chain([machine_page(&record.machine).terminal(size, true)]) {
        assert!(!text.contains(['\u{1b}', '\u{0}', '\u{202e}']));
    }
}

#[test]
fn a_figure_without_data_says_why() {
    let mut record = sample_record(2);
    record.memory.stream.clear();
    record.memory.walks.clear();
    for entry in &mut record.plan.entries {
        if entry.probe == "stream" {
            entry.outcome = PlanOutcome::Dropped("no time left in the budget".to_owned());
        }
    }
    let page = html(&record, None);
    assert!(page.contains("probe stream was dropped: no time left in the budget"));
    assert!(page.contains("data-missing=\"walks\"") && !page.contains("data-figure=\"walks\""));
    let empty = html(&Record::default(), None);
    check_html(&empty);
    // The sockets' three figures are missed together.
    assert_eq!(empty.matches("data-missing=").count(), Figure::ALL.len() - 2);
}
