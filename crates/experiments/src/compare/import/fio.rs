//! What fio writes with `--output-format=json`: throughput and latency of each job, reads and writes apart.

use record::Better;

use super::test_list::{Heading, Results, numbers};
use super::{Format, ImportError, Source, items, text};

pub(super) const FIO: Format = Format { word: "fio", is, read };

/// What is compared of each direction: its name, its place, its unit, and which way is better.
const VALUES: [(&str, &str, &str, Better); 3] = [
    ("bandwidth", "/bw", "KiB/s", Better::Higher),
    ("operations", "/iops", "1/s", Better::Higher),
    ("mean latency", "/lat_ns/mean", "ns", Better::Lower),
];

/// A text without the notes that fio prints before its JSON, errors too.
pub(super) fn without_notes(text: &str) -> &str {
    let json = text.find("\n{").map(|at| &text[at..]).filter(|json| json.contains("\"fio version\""));
    json.filter(|_| !text.trim_start().starts_with(['{', '['])).unwrap_or(text)
}

fn is(source: &Source<'_>) -> bool {
    source.document()["fio version"].is_string()
}

fn read(source: &Source<'_>, into: &mut Results) -> Result<(), ImportError> {
    for job in items(&source.document()["jobs"]) {
        let failed = usize::from(!job["error"].is_null() && job["error"].as_f64() != Some(0.0));
        // A direction in which nothing was done has zeros everywhere.
        let is_used = |way: &&str| job[way]["total_ios"].as_f64().is_some_and(|count| count > 0.0);
        let used: Vec<&str> = ["read", "write", "trim"].into_iter().filter(is_used).collect();
        if used.is_empty() && failed > 0 {
            let heading = Heading::program(text(job, &["jobname"]), "jobs", "", Better::Lower);
            into.of("").add("", &heading.with_failed(failed), &[]);
        }
        for way in used {
            for (what, place, unit, better) in VALUES {
                let name = format!("{}, {way} {what}", text(job, &["jobname"]));
                let values = job[way].pointer(place).map(numbers).unwrap_or_default();
                into.of("").add("", &Heading::program(&name, way, unit, better).with_failed(failed), &values);
            }
        }
    }
    Ok(())
}
