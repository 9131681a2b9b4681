//! The guard: whether a machine is as it was, what changed, which experiment proves a cause; and what a baseline can show.

use record::{FactDifference, GuardClass, GuardOutcome, GuardVerdict};

use crate::page::{Block, Cell, Page, Section, Statement, Table, Tone};

/// Facts and numbers on a first screen.
const FIRST: usize = 6;

/// The page of a check.
pub fn guard_page(found: &GuardOutcome) -> Page {
    let tone = match found.verdict {
        GuardVerdict::AsBefore => Tone::Good,
        GuardVerdict::Changed => Tone::Look,
        GuardVerdict::CannotTell => Tone::Doubt,
    };
    let mut proofs = Section::new("proofs", "Prove the cause");
    for proof in &found.proofs {
        let text = format!("{}:", proof.fact);
        proofs = proofs.saying(Tone::Plain, text).with(Block::Command(proof.command.clone()));
    }
    let classes = classes(&found.classes).section("What this baseline can show");
    let sections = [
        changes(found).section(""),
        facts(found).section(""),
        proofs.filled(),
        classes.map(Section::detailed),
    ];
    let is_changed = !found.facts.is_empty() || !found.changes.is_empty();
    let fix = "Is this intended? Take a new baseline: sidestep guard init".to_owned();
    Page {
        answer: Statement::new(tone, &found.sentence),
        because: found.notes.iter().map(Statement::plain).collect(),
        sections: sections.into_iter().flatten().collect(),
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
    Table::of("changes", &found.changes)
        .prose("number", |change| {
            change.row.clone().unwrap_or_else(|| format!("{} as a whole", change.class))
        })
        .number(("cost", "%"), |change| Cell::signed_tenths(change.slower_percent))
        .number(("limit", "%"), |change| Cell::tenths(change.limit_percent))
        .first(FIRST)
        .legend("cost: now against the baseline, above zero is slower")
}

fn facts(found: &GuardOutcome) -> Table {
    Table::of("facts", &found.facts)
        .word("fact", |fact| &fact.fact)
        .prose("baseline", |fact| fact_value(fact, 0))
        .prose("now", |fact| fact_value(fact, 1))
        .first(FIRST)
        .table()
}

/// What a fact was on one side.
pub(super) fn fact_value(fact: &FactDifference, side: usize) -> &str {
    fact.values.get(side).and_then(Option::as_deref).unwrap_or("none")
}

fn classes(classes: &[GuardClass]) -> Table {
    Table::of("classes", classes)
        .word("class", |one| &one.class)
        .number(("rows", 1), |one| one.rows)
        .number(("smallest change shown", "%"), |one| Cell::tenths(one.smallest_percent))
        .number(("cost now", "%"), |one| one.now_percent.map(Cell::signed_tenths))
        .table()
}

/// The page of a baseline that was taken: what it can show.
pub fn guard_baseline_page(found: &[GuardClass], runs: usize, busy_runs: usize) -> Page {
    let runs = machine::counted(runs, "run");
    let (tone, load) = match busy_runs {
        0 => (Tone::Good, String::new()),
        busy => (Tone::Look, format!(", {busy} of them while the machine was busy: its limits are wide")),
    };
    let none = "facts are watched; numbers are judged from 20 runs on";
    let section = classes(found).section("");
    let section = section.unwrap_or_else(|| Section::new("classes", "").saying(Tone::Plain, none));
    Page {
        answer: Statement::new(tone, format!("baseline taken: {runs}{load}")),
        sections: vec![section],
        ..Page::default()
    }
}

#[cfg(test)]
mod tests {
    use record::{GuardChange, GuardToggle};

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
