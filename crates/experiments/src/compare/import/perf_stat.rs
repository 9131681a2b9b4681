//! What `perf stat -x,` and `perf stat -j` print: counts of events, of a program that ran once.
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

/// Fields of JSON that say which part of a run a count is of.
const PARTS: [&str; 9] = ["interval", "cpu", "core", "cluster", "cache", "die", "socket", "node", "thread"];

/// Parts of one run differ by more than runs do, and are no repeats.
fn of_parts(line: usize, what: &str) -> ImportError {
    let problem = format!("{what}, which are no repeats; run LC_ALL=C perf stat -x, once a file, {WITHOUT}");
    ImportError::Shape { place: format!("line {line}"), problem }
}

const WITHOUT: &str = "without -I, -A and --per-...";

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
    for (at, one) in source.json.iter().enumerate().filter(|(_, one)| one["event"].is_string()) {
        if let Some(part) = PARTS.iter().find(|part| !one[**part].is_null()) {
            return Err(of_parts(at + 1, &format!("rows of one run, one for each {part}")));
        }
        let heading = heading(text(one, &["event"]), text(one, &["unit"]));
        into.of("").add("", &heading, &numbers(&one["counter-value"]));
    }
    let lines = source.text.lines().enumerate().filter(|_| source.json.is_empty());
    for (at, (part, [value, unit, event])) in lines.filter_map(|(at, line)| Some((at, counted(line)?))) {
        match part {
            Some(part) if is_number(part) => {
                return Err(of_parts(
                    at + 1,
                    "a number before the count: intervals of one run (-I), or a decimal comma",
                ));
            }
            Some(part) => return Err(of_parts(at + 1, &format!("rows of one run by CPU or part ({part})"))),
            None => into.of("").add("", &heading(event, unit), &[number(&value.replace(',', "."))]),
        }
    }
    Ok(())
}

/// Whether it is a number, also with the decimal comma of some locales.
fn is_number(text: &str) -> bool {
    text.replace(',', ".").parse::<f64>().is_ok()
}

/// Value, unit and event of a line, and the time, CPU or core before them if there is one.
fn counted(line: &str) -> Option<(Option<&str>, [&str; 3])> {
    /// What may stand before the value: a time, the CPUs, and how many they are.
    const BEFORE_MOST: usize = 3;
    let separator = [';', '\t', ','].into_iter().find(|separator| line.matches(*separator).count() >= 4)?;
    let fields: Vec<&str> = line.split(separator).map(str::trim).collect();
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
    Some(((at > 0).then_some(fields[0]), [fields[at], fields[at + 1], fields[at + 2]]))
}
