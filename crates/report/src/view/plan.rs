//! The plan of a check-up: what would run, for how long, whom it disturbs, what was cut or dropped and why.

use record::{Plan, PlanEntry, PlanOutcome};

use crate::page::{Cell, Page, Section, Statement, Table};

/// The plan as a page.
pub fn plan_page(plan: &Plan) -> Page {
    let dropped = |entry: &PlanEntry| match &entry.outcome {
        PlanOutcome::Dropped(reason) => Some(reason.clone()),
        _ => None,
    };
    let time = |entry: &PlanEntry| Cell::shown(format!("{:.1}", entry.planned_s), entry.planned_s);
    let kept = |entry: &PlanEntry| dropped(entry).is_none();
    let table = Table::of("plan", &plan.entries)
        .word("probe", |entry| &entry.probe)
        .number(("at most", "s"), |entry| kept(entry).then(|| time(entry)))
        .word("disturbs", |entry| kept(entry).then(|| entry.disturbs.clone()))
        .prose("dropped", |entry| dropped(entry))
        .detail(|entry| (!entry.reduced.is_empty()).then(|| entry.reduced.join("; ")))
        .table();
    let dropped = plan.entries.iter().filter(|entry| !kept(entry)).count();
    let total_s: f64 = plan.entries.iter().map(|entry| entry.planned_s).sum();
    let also = if dropped > 0 { format!("; {dropped} dropped") } else { String::new() };
    let probes = machine::counted(plan.entries.len() - dropped, "probe");
    let answer = format!("{probes} in {total_s:.1} s of a budget of {} s{also}", plan.budget_s);
    Page {
        answer: Statement::plain(answer),
        sections: vec![Section::new("plan", "").table(table)],
        ..Page::default()
    }
}

#[cfg(test)]
mod tests {
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
