//! What a change cost a fleet, and what else changed with it.

use record::FleetSince;

use crate::page::{Cell, Page, Section, Statement, Table, Tone};

/// Rows on a first screen.
const FIRST: usize = 12;

/// The page of a study.
pub fn fleet_since_page(found: &FleetSince) -> Page {
    let tone = if found.undetermined.is_some() { Tone::Doubt } else { Tone::Plain };
    let because = match (&found.undetermined, found.is_randomised) {
        (Some(_), _) => None,
        (None, true) => Some("The arms were drawn at random, so that the change is the cause."),
        (None, false) => Some(
            "A coincidence in time is no cause: only arms drawn at random show one (sidestep fleet plan --randomise).",
        ),
    };
    let set_aside = [
        (found.mixed_nodes, "that changed something else at the same boot"),
        (found.without_boot, "whose change came without a new boot"),
    ];
    let set_aside = set_aside
        .iter()
        .filter(|(nodes, _)| *nodes > 0)
        .map(|(nodes, why)| format!("{} not used, {why}", machine::counted(*nodes, "node")));
    let notes = set_aside.chain(found.notes.iter().cloned());
    let sections = [
        effects(found).section(""),
        coincidences(found).section("What else changed between the same runs"),
        Section::new("notes", "Notes").list(notes).filled(),
    ];
    Page {
        answer: Statement::new(tone, &found.sentence),
        because: because.map(Statement::plain).into_iter().collect(),
        sections: sections.into_iter().flatten().collect(),
        about: vec![format!("intervals hold together at 95 %, by the bootstrap over {}", found.unit)],
        ..Page::default()
    }
}

fn effects(found: &FleetSince) -> Table {
    Table::of("effects", &found.effects)
        .prose("what", |one| &one.name)
        .number(("metrics", 1), |one| one.metrics)
        .number(("worse", "%"), |one| {
            Cell::within(format!("{:+.2}", one.worse_percent), one.worse_percent, one.interval)
        })
        .word(("interval", "%"), |one| one.interval.map(|i| format!("[{:+.2}, {:+.2}]", i.low, i.high)))
        .first(FIRST)
        .legend(
            "worse: what a unit of work costs more than before, less the same of nodes that did not change",
        )
}

fn coincidences(found: &FleetSince) -> Table {
    Table::of("coincidences", &found.coincidences)
        .prose("factor", |one| &one.factor)
        .number("nodes", |one| one.nodes)
        .number("of", |one| one.of_nodes)
        .table()
}
