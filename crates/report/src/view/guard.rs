//! The guard: whether a machine is as it was, what changed, which experiment proves a cause; and what a baseline can show.

use record::{GuardClass, GuardOutcome, GuardVerdict};

use crate::page::{Block, Cell, Column, Page, Section, Statement, Table, Tone};

/// Facts and numbers on a first screen.
const FIRST: usize = 6;

/// The page of a check.
pub fn guard_page(found: &GuardOutcome) -> Page {
    let tone = match found.verdict {
        GuardVerdict::AsBefore => Tone::Good,
        GuardVerdict::Changed => Tone::Look,
        GuardVerdict::CannotTell => Tone::Doubt,
    };
    let mut sections = Vec::new();
    if !found.changes.is_empty() {
        sections.push(Section::new("changes", "").with(Block::Table(changes(found))));
    }
    if !found.facts.is_empty() {
        sections.push(Section::new("facts", "").with(Block::Table(facts(found))));
    }
    let mut proofs = Section::new("proofs", "Prove the cause");
    for proof in &found.proofs {
        let text = format!("{}:", proof.fact);
        proofs = proofs.saying(Tone::Plain, text).with(Block::Command(proof.command.clone()));
    }
    sections.extend((!proofs.blocks.is_empty()).then_some(proofs));
    if !found.classes.is_empty() {
        let section = Section::detail("classes", "What this baseline can show");
        sections.push(section.with(Block::Table(classes(&found.classes))));
    }
    let is_changed = !found.facts.is_empty() || !found.changes.is_empty();
    let fix = "Is this intended? Take a new baseline: sidestep guard init".to_owned();
    Page {
        answer: Statement::new(tone, &found.sentence),
        because: found.notes.iter().map(|note| Statement::new(Tone::Plain, note)).collect(),
        sections,
        next: if is_changed { vec![fix] } else { Vec::new() },
        about: vec![format!(
            "baseline: {} from {} on; one false alarm a year by design, of which this check spends 1/{:.0}",
            machine::counted(found.baseline_runs, "run"),
            found.baseline_utc,
            found.alarms_per_check.recip()
        )],
        ..Page::default()
    }
}

fn changes(found: &GuardOutcome) -> Table {
    let columns = vec![Column::prose("number"), Column::number("cost", "%"), Column::number("limit", "%")];
    let mut table = Table::new("changes", columns);
    for change in &found.changes {
        let what = change.row.clone().unwrap_or_else(|| format!("{} as a whole", change.class));
        table.row(vec![
            Cell::Text(what),
            Cell::shown(format!("{:+.1}", change.slower_percent), change.slower_percent),
            Cell::shown(format!("{:.1}", change.limit_percent), change.limit_percent),
        ]);
    }
    table.first_rows = Some(FIRST);
    table.legend = Some("cost: now against the baseline, above zero is slower".to_owned());
    table
}

fn facts(found: &GuardOutcome) -> Table {
    let columns = vec![Column::word("fact"), Column::prose("baseline"), Column::prose("now")];
    let mut table = Table::new("facts", columns);
    for fact in &found.facts {
        let value =
            |index: usize| Cell::text(fact.values.get(index).and_then(Option::as_deref).unwrap_or("none"));
        table.row(vec![Cell::text(&fact.fact), value(0), value(1)]);
    }
    table.first_rows = Some(FIRST);
    table
}

fn classes(classes: &[GuardClass]) -> Table {
    let columns = vec![
        Column::word("class"),
        Column::number("rows", "").priority(1),
        Column::number("smallest change shown", "%"),
        Column::number("cost now", "%"),
    ];
    let mut table = Table::new("classes", columns);
    for GuardClass { class, rows, smallest_percent, now_percent } in classes {
        table.row(vec![
            Cell::text(class),
            Cell::count(*rows),
            Cell::shown(format!("{smallest_percent:.1}"), *smallest_percent),
            now_percent.map_or(Cell::Empty, |now| Cell::shown(format!("{now:+.1}"), now)),
        ]);
    }
    table
}

/// The page of a baseline that was taken: what it can show.
pub fn guard_baseline_page(found: &[GuardClass], runs: usize, busy_runs: usize) -> Page {
    let runs = machine::counted(runs, "run");
    let (tone, load) = match busy_runs {
        0 => (Tone::Good, String::new()),
        busy => (Tone::Look, format!(", {busy} of them while the machine was busy: its limits are wide")),
    };
    let section = Section::new("classes", "");
    let section = if found.is_empty() {
        section.saying(Tone::Plain, "facts are watched; numbers are judged from 20 runs on")
    } else {
        section.with(Block::Table(classes(found)))
    };
    Page {
        answer: Statement::new(tone, format!("baseline taken: {runs}{load}")),
        sections: vec![section],
        ..Page::default()
    }
}

#[cfg(test)]
mod tests {
    use record::{FactDifference, GuardChange, GuardToggle};

    use super::*;
    use crate::Terminal;

    #[test]
    fn a_change_shows_its_number_its_fact_and_the_whole_command_that_proves_it() {
        let command =
            format!("sidestep ab --toggle governor=performance:powersave -- {}", "./program ".repeat(8));
        let found = GuardOutcome {
            verdict: GuardVerdict::Changed,
            sentence: "changed: latency costs 6.1 % more".to_owned(),
            changes: vec![GuardChange {
                row: None,
                class: "latency".to_owned(),
                slower_percent: 6.1,
                limit_percent: 2.0,
                trend: None,
            }],
            facts: vec![FactDifference {
                fact: "governor".to_owned(),
                values: vec![Some("performance".to_owned()), None],
            }],
            proofs: vec![GuardToggle { fact: "governor".to_owned(), command: command.clone() }],
            alarms_per_check: 1.0 / 365.0,
            ..GuardOutcome::default()
        };
        let page = guard_page(&found);
        let text = page.terminal(Terminal::default(), false);
        assert!(text.starts_with("changed: latency costs 6.1 % more\n"), "{text}");
        for part in ["latency as a whole", "+6.1", "performance", "none", command.trim_end(), "guard init"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(page.markdown(true).contains("1/365"), "{}", page.markdown(true));
    }
}
