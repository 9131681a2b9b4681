//! What `perf stat -x,` and `perf stat -j` print: counts of events, of a program that ran once or of each interval.
//!
//! Source: `tools/perf/Documentation/perf-stat.txt`, "CSV FORMAT" and "JSON FORMAT", Linux 6.12.

use record::Better;

use super::test_list::{Heading, Results, number, numbers};
use super::{Format, ImportError, Source, text};

pub(super) const PERF_STAT: Format = Format { word: "perf-stat", is, read };

/// Fewer of these are better for the same work; of all other events perf does not say it.
const COSTS: [&str; 7] =
    ["task-clock", "cpu-clock", "duration_time", "user_time", "system_time", "cycles", "instructions"];
/// The same of events that end so.
const COSTS_ENDING: [&str; 4] = ["-misses", "-faults", "-switches", "-migrations"];

fn is(source: &Source<'_>) -> bool {
    source.json.iter().any(|one| one["counter-value"].is_string() && one["event"].is_string())
        || source.json.is_empty() && source.text.lines().any(|line| counted(line).is_some())
}

fn read(source: &Source<'_>, into: &mut Results) -> Result<(), ImportError> {
    let heading = |event, unit| {
        let base = str::split(event, ':').next().unwrap_or(event).trim_end_matches('/');
        let base = base.rsplit('/').next().unwrap_or(base);
        let is_cost = COSTS.contains(&base) || COSTS_ENDING.iter().any(|end| base.ends_with(end));
        Heading::program(event, "events", unit, is_cost.then_some(Better::Lower))
    };
    for one in source.json.iter().filter(|one| one["event"].is_string()) {
        let heading = heading(text(one, &["event"]), text(one, &["unit"]));
        into.of("").add("", &heading, &numbers(&one["counter-value"]));
    }
    for (value, unit, event) in source.text.lines().filter(|_| source.json.is_empty()).filter_map(counted) {
        into.of("").add("", &heading(event, unit), &[number(value)]);
    }
    Ok(())
}

/// Value, unit and event of a line: behind a time, a CPU or a core, before the time that it was counted for.
fn counted(line: &str) -> Option<(&str, &str, &str)> {
    /// What may stand before the value: a time, the CPUs, and how many they are.
    const BEFORE_MOST: usize = 3;
    let separator = [',', ';', '\t'].into_iter().find(|separator| line.matches(*separator).count() >= 4)?;
    let fields: Vec<&str> = line.split(separator).map(str::trim).collect();
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    let is_event = |at: &usize| {
        let [value, unit, event, ..] = fields[*at..] else { return false };
        let rest = &fields[*at + 3..];
        (is_number(value) || value.starts_with('<'))
            && !is_number(unit)
            && event.starts_with(char::is_alphabetic)
            // An event with settings has commas of its own: `cpu/event=0x3c,umask=0x0/`.
            && rest.iter().any(|field| is_number(field))
    };
    let at = (0..=BEFORE_MOST.min(fields.len().checked_sub(3)?)).find(is_event)?;
    Some((fields[at], fields[at + 1], fields[at + 2]))
}
