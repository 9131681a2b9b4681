//! The plan of a check-up: what would run, for how long, whom it disturbs, what was cut or dropped and why.

use record::{Plan, PlanOutcome};

use crate::page::{Block, Cell, Column, Page, Row, Section, Statement, Table, Tone};

/// The plan as a page.
pub fn plan_page(plan: &Plan) -> Page {
    let columns = vec![
        Column::word("probe"),
        Column::number("at most", "s"),
        Column::word("disturbs"),
        Column::prose("dropped"),
    ];
    let mut table = Table::new("plan", columns);
    for entry in &plan.entries {
        let (time, disturbs, dropped) = if let PlanOutcome::Dropped(reason) = &entry.outcome {
            (Cell::Empty, "", reason.as_str())
        } else {
            let time = Cell::shown(format!("{:.1}", entry.planned_s), entry.planned_s);
            (time, entry.disturbs.as_str(), "")
        };
        let cells = vec![Cell::text(&entry.probe), time, Cell::text(disturbs), Cell::text(dropped)];
        let detail = (!entry.reduced.is_empty()).then(|| entry.reduced.join("; "));
        table.rows.push(Row { cells, detail });
    }
    let is_dropped = |outcome: &PlanOutcome| matches!(outcome, PlanOutcome::Dropped(_));
    let dropped = plan.entries.iter().filter(|entry| is_dropped(&entry.outcome)).count();
    let total_s: f64 = plan.entries.iter().map(|entry| entry.planned_s).sum();
    let also = if dropped > 0 { format!("; {dropped} dropped") } else { String::new() };
    let probes = machine::counted(plan.entries.len() - dropped, "probe");
    let answer = format!("{probes} in {total_s:.1} s of a budget of {} s{also}", plan.budget_s);
    Page {
        answer: Statement::new(Tone::Plain, answer),
        sections: vec![Section::new("plan", "").with(Block::Table(table))],
        ..Page::default()
    }
}

#[cfg(test)]
mod tests {
    use record::PlanEntry;

    use super::*;
    use crate::Terminal;

    #[test]
    fn dropped_probes_say_why() {
        let entry = PlanEntry {
            probe: "loaded".to_owned(),
            planned_s: 0.0,
            disturbs: "machine".to_owned(),
            reduced: vec!["half".to_owned()],
            outcome: PlanOutcome::Dropped("one CPU".to_owned()),
            elapsed_s: None,
        };
        let page = plan_page(&Plan { budget_s: 20.0, entries: vec![entry] });
        let text = page.terminal(Terminal::default(), true);
        assert!(text.starts_with("0 probes in 0.0 s of a budget of 20 s; 1 dropped\n"), "{text}");
        assert!(text.contains("one CPU") && text.contains("half"), "{text}");
    }
}
