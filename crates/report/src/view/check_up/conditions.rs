//! Under which conditions the check-up measured: what disturbed it, what it had to do without, what ran.

use record::{PlanOutcome, Record};

use crate::number;
use crate::page::{Block, Cell, Column, Section, Table, Tone};
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
pub(crate) fn conditions(record: &Record) -> Section {
    let mut section =
        Section::new("conditions", "Measurement conditions").with(Block::Facts(disturbances(record)));
    for doubt in &record.guards.doubts {
        section = section.saying(Tone::Doubt, doubt);
    }
    let beside: Vec<String> = record.neighbours.iter().flat_map(plan::beside).collect();
    for lines in [beside, record.provenance.without.clone()] {
        if !lines.is_empty() {
            section = section.with(Block::List(lines));
        }
    }
    section.saying(
        Tone::Faint,
        "Behind a number stands its 95 % interval: ±x %, or [low, high] where it is wide. ~ marks an interval wider than \
         aimed for, * a value with several states or mappings that disagree.",
    )
}

fn disturbances(record: &Record) -> Vec<(String, String)> {
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
    let counter = guards.tsc_hz.map(|hertz| {
        let error = guards.tsc_error_ppm.map(|ppm| format!(" ±{} ppm", number::short(ppm)));
        format!("{}{}", number::frequency(hertz), error.unwrap_or_default())
    });
    let throttled = guards.throttle_events.map(|events| format!("{events} events"));
    [
        ("steal by the hypervisor", guards.steal_share.map(number::percent)),
        ("used by other programs", guards.others_share.map(number::percent)),
        ("load average", load),
        ("pre-emptions", Some(guards.involuntary_switches.to_string())),
        ("windows set aside", dropped),
        ("core clock", core),
        ("time-stamp counter", counter),
        ("thermal throttling", throttled),
    ]
    .map(|(name, text)| (name.to_owned(), text.unwrap_or_else(|| number::UNKNOWN.to_owned())))
    .into()
}

/// What was planned, what ran, what was skipped and why; `None` without a plan.
pub(crate) fn plan_table(record: &Record) -> Option<Section> {
    let columns = vec![
        Column::word("probe"),
        Column::number("planned", "s").priority(2),
        Column::number("took", "s").priority(1),
        Column::word("disturbs").priority(3),
        Column::prose("outcome"),
        Column::prose("reduced").priority(4),
    ];
    let mut table = Table::new("plan", columns);
    for entry in &record.plan.entries {
        let outcome = plan::reason(entry).unwrap_or_else(|| "done".to_owned());
        let outcome =
            if entry.outcome == PlanOutcome::Pending { format!("pending: {outcome}") } else { outcome };
        table.row(vec![
            Cell::text(&entry.probe),
            Cell::number(entry.planned_s),
            entry.elapsed_s.map_or(Cell::Empty, Cell::number),
            Cell::text(&entry.disturbs),
            Cell::text(outcome),
            Cell::text(entry.reduced.join("; ")),
        ]);
    }
    table.legend = Some(format!("planned to take {} s in all", number::short(record.plan.budget_s)));
    table.under("plan", "Plan")
}
