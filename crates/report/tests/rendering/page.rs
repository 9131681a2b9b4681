//! The page and the pictures: well-formed, escaped, small enough, nothing empty.

use record::{PlanOutcome, Record};
use report::{Figure, Html, Terminal, check_up_page, csv, figure_svg, html, machine_page};

use crate::markup::{check_html, check_xml};
use crate::sample::sample_record;
use crate::sockets::accounted;

/// The page without scripts stays below this.
const STATIC_LIMIT_BYTES: usize = 300_000;
/// The page with scripts and raw data stays below this.
const PAGE_LIMIT_BYTES: usize = 6_000_000;

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
    const CHECKED: [&str; 17] = [
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
        for figure in Figure::all() {
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
    for figure in Figure::all() {
        assert_eq!(Figure::from_name(figure.name()), Some(figure));
    }
    assert_eq!(Figure::from_name("tlb"), Some(Figure::Walks));
    assert_eq!(Figure::from_name("nonsense"), None);
}

#[test]
fn the_page_holds_every_figure_and_asks_for_nothing() {
    let record = sample_record(2);
    let page = html(&record, record.sockets.as_ref().map(accounted).as_ref(), Html { script: true });
    for figure in Figure::all() {
        assert!(page.contains(&format!("<figure id=\"figure-{0}\" data-figure=\"{0}\"", figure.name())));
    }
    for name in ["bandwidth", "latency-surface", "stream", "line-transfer", "sharing", "wake"] {
        assert!(page.contains(&format!("data-interactive=\"{name}\"")), "{name}");
    }
    let own = page.split("id=\"chart-library\"").next().expect("the part before the library");
    for forbidden in [" src=", "http://", "https://", "@import", "<link", "<iframe", "<object"] {
        assert!(!own.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("default-src 'none'") && !page.contains("unsafe-eval"));
    check_html(own);
}

#[test]
fn costs_of_clocks_stand_beside_the_control_loops_and_what_others_measured() {
    let record = sample_record(2);
    let page = html(&record, None, Html { script: false });
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
    let text = check_up_page(&record, None).terminal(Terminal::default(), true);
    assert!(text.contains("gettimeofday 63.1 cycles (published 221)"), "{text}");
    let empty = Record { clock_cost: Some(record::ClockCost::default()), ..Record::default() };
    assert!(html(&empty, None, Html { script: false }).contains("Verdict: undetermined"));
}

#[test]
fn pages_stay_within_their_sizes() {
    let small = html(&sample_record(2), None, Html { script: false });
    assert!(small.len() <= STATIC_LIMIT_BYTES, "{} bytes", small.len());
    assert!(!small.contains("<script") && !small.contains("<button"));
    for cpu_count in [2, 64] {
        let page = html(&sample_record(cpu_count), None, Html { script: true });
        assert!(page.len() <= PAGE_LIMIT_BYTES, "{cpu_count} CPUs: {} bytes", page.len());
        assert!(page.contains("id=\"record\" data-complete="));
    }
}

#[test]
fn the_record_in_the_page_is_the_record() {
    let record = sample_record(2);
    let page = html(&record, None, Html { script: true });
    let start = page.find("id=\"record\" data-complete=\"true\">").expect("the whole record fits") + 33;
    let json = &page[start..];
    let json = &json[..json.find("</script>").expect("the block ends")];
    // Both through the same parser: it rounds the last digit of some numbers.
    let value = |json: &str| serde_json::from_str::<serde_json::Value>(json).expect("JSON");
    assert!(value(json) == value(&serde_json::to_string(&record).expect("JSON")), "the two differ");
}

#[test]
fn what_comes_from_outside_never_becomes_markup_or_reaches_the_terminal() {
    let record = hostile_record();
    for script in [false, true] {
        let page = html(&record, None, Html { script });
        let own = page.split("id=\"chart-library\"").next().expect("the part before the library");
        for forbidden in ["<script>alert", "<img", "</style></title>", "\u{1b}", "\u{202e}", "\u{0}"] {
            assert!(!own.contains(forbidden), "{forbidden:?}");
        }
        check_html(own);
    }
    let account = record.sockets.as_ref().map(accounted);
    for figure in Figure::all() {
        check_xml(&figure_svg(&record, account.as_ref(), figure).expect("the sample has every figure"));
    }
    let size = Terminal::default();
    let page = check_up_page(&record, None);
    let texts = [page.terminal(size, true), page.terminal(size, false), page.markdown(true)];
    for text in texts.into_iter().chain([machine_page(&record.machine).terminal(size, true), csv(&record)]) {
        assert!(!text.contains(['\u{1b}', '\u{0}', '\u{202e}']));
    }
}

#[test]
fn a_figure_without_data_says_why() {
    let mut record = sample_record(2);
    record.memory.stream.clear();
    record.cores.wake.clear();
    for entry in &mut record.plan.entries {
        if entry.probe == "stream" {
            entry.outcome = PlanOutcome::Dropped("no time left in the budget".to_owned());
        }
    }
    let page = html(&record, None, Html { script: true });
    assert!(page.contains("probe stream was dropped: no time left in the budget"));
    assert!(page.contains("data-missing=\"wake\"") && !page.contains("data-figure=\"wake\""));
    let empty = html(&Record::default(), None, Html { script: false });
    check_html(&empty);
    // The sockets' four figures are missed together.
    assert_eq!(empty.matches("data-missing=").count(), Figure::all().len() - 3);
}
