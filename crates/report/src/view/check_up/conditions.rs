//! Under which conditions the check-up measured: what disturbed it, what it had to do without, what ran.

use record::Record;

use crate::number;
use crate::page::{Section, Statement, Tone};
use crate::plan;

/// Version, time and seed: what a reader looks up.
pub(super) fn run(record: &Record) -> String {
    let origin = &record.provenance;
    let cpus = if origin.cpus.is_empty() { String::new() } else { format!(", CPUs {}", origin.cpus) };
    format!(
        "sidestep {}, started {}, took {} s of {} s{cpus}, {}, seed {}",
        origin.tool_version,
        origin.started_utc,
        number::short(record.elapsed_s),
        number::short(origin.budget_s),
        if origin.root { "as root" } else { "without root" },
        origin.seed
    )
}

/// What disturbed the run, doubts about it, who else was at work, and what was not available.
pub(super) fn conditions(record: &Record) -> Section {
    Section::new("conditions", "Measurement conditions")
        .facts(disturbances(record))
        .stating(record.guards.doubts.iter().map(Statement::doubt))
        .list(record.neighbours.iter().flat_map(plan::beside))
        .list(record.provenance.without.clone())
        .saying(
            Tone::Faint,
            "Behind a number stands its 95 % interval: ±x %, or [low, high] where it is wide. ~ marks an interval wider than \
             aimed for, * a value with several states or mappings that disagree.",
        )
}

fn disturbances(record: &Record) -> [(&'static str, String); 8] {
    let guards = &record.guards;
    let dropped = (guards.windows > 0).then(|| {
        let share = number::percent(guards.windows_dropped as f64 / guards.windows as f64);
        format!("{} of {} ({share})", guards.windows_dropped, guards.windows)
    });
    let load = guards
        .load_average
        .map(|[before, after]| format!("{} before, {} after", number::short(before), number::short(after)));
    let core = guards
        .core_hz
        .map(|[low, high]| format!("{} to {}", number::frequency(low), number::frequency(high)));
    let counter = guards.counter_hz.map(|hertz| {
        let error = guards.counter_error_ppm.map(|ppm| format!(" ±{} ppm", number::short(ppm)));
        format!("{}{}", number::frequency(hertz), error.unwrap_or_default())
    });
    let counter_name =
        if record.machine.identity.is_x86() { "time-stamp counter" } else { "counter of the clock" };
    let throttled = guards.throttle_events.map(|events| format!("{events} events"));
    [
        ("steal by the hypervisor", guards.steal_share.map(number::percent)),
        ("used by other programs", guards.others_share.map(number::percent)),
        ("load average", load),
        ("pre-emptions", Some(guards.involuntary_switches.to_string())),
        ("windows set aside", dropped),
        ("core clock", core),
        (counter_name, counter),
        ("thermal throttling", throttled),
    ]
    .map(|(name, text)| (name, text.unwrap_or_else(|| number::UNKNOWN.to_owned())))
}
