//! The plan of a check-up, and what it says about probes that did not run to their end: the reason for every missing result.

use record::{Neighbours, Plan, PlanEntry, PlanOutcome, Record};

use crate::escape::plain;
use crate::number;
use crate::page::{Page, Rows, Section, Statement, Table};

/// The reason why an entry has no or not all results; `None` if it is done.
pub(crate) fn reason(entry: &PlanEntry) -> Option<String> {
    match &entry.outcome {
        PlanOutcome::Done => None,
        PlanOutcome::Pending => Some("not reached before the run stopped".to_owned()),
        PlanOutcome::Cut(why) => Some(format!("cut short: {}", plain(why))),
        PlanOutcome::Dropped(why) => Some(format!("dropped: {}", plain(why))),
        PlanOutcome::Failed(why) => Some(format!("unable to measure: {}", plain(why))),
    }
}

/// A plan before anything of it ran: what would run, for how long, whom it disturbs, what was cut or dropped and why.
pub fn plan_page(plan: &Plan) -> Page {
    let dropped = |entry: &PlanEntry| match &entry.outcome {
        PlanOutcome::Dropped(reason) => Some(reason.clone()),
        _ => None,
    };
    let count = plan.entries.iter().filter(|entry| dropped(entry).is_some()).count();
    let total_s: f64 = plan.entries.iter().map(|entry| entry.planned_s).sum();
    let also = if count > 0 { format!("; {count} dropped") } else { String::new() };
    let probes = machine::counted(plan.entries.len() - count, "probe");
    let answer = format!("{probes} in {total_s:.1} s of a budget of {} s{also}", plan.budget_s);
    Page {
        answer: Statement::plain(answer),
        sections: vec![Section::new("plan", "").table(table(plan, ("dropped", 0), dropped).table())],
        ..Page::default()
    }
}

/// What was planned, what ran, what was skipped and why; `None` without a plan.
pub(crate) fn section(plan: &Plan) -> Option<Section> {
    let outcome = |entry: &PlanEntry| match (reason(entry), &entry.outcome) {
        (Some(reason), PlanOutcome::Pending) => Some(format!("pending: {reason}")),
        (Some(reason), _) => Some(reason),
        (None, _) => Some("done".to_owned()),
    };
    table(plan, ("outcome", 0), outcome)
        .legend(format!("planned to take {} s in all", number::short(plan.budget_s)))
        .section("Plan")
}

fn table<'p>(
    plan: &'p Plan,
    head: (&'static str, u8),
    outcome: impl Fn(&PlanEntry) -> Option<String>,
) -> Rows<&'p PlanEntry> {
    Table::of("plan", &plan.entries)
        .word("probe", |entry| &entry.probe)
        .number(("planned", "s", 2), |entry| entry.planned_s)
        .number(("took", "s", 1), |entry| entry.elapsed_s)
        .word(("disturbs", 3), |entry| &entry.disturbs)
        .prose(head, |entry| outcome(entry))
        .prose(("reduced", 4), |entry| entry.reduced.join("; "))
}

/// Whether others were at work beside a run: one sentence each.
pub(crate) fn beside(neighbours: &Neighbours) -> Vec<String> {
    neighbours.shows.iter().map(|line| plain(line)).collect()
}

/// What was planted in a record, and that it says nothing of its machine; `None` if nothing was.
pub(crate) fn planted(record: &Record) -> Option<String> {
    let rules = &record.provenance.planted;
    let factors = rules.iter().map(|rule| format!("{} times {}", plain(&rule.row), rule.factor));
    let factors = number::joined(factors, ", ");
    (!rules.is_empty())
        .then(|| format!("not what this machine does: windows were lengthened on purpose, {factors}"))
}

/// A sentence that says why there is nothing to show, from the first planned probe whose name has one of the words.
pub(crate) fn why_missing(record: &Record, words: &[&str]) -> String {
    let named = |entry: &&PlanEntry| words.iter().any(|word| entry.probe.to_lowercase().contains(word));
    let why = record.plan.entries.iter().filter(named).find_map(|entry| {
        reason(entry).map(|why| format!("Not in this record: probe {} was {why}.", plain(&entry.probe)))
    });
    why.unwrap_or_else(|| match (&record.partial, record.plan.entries.iter().any(|entry| named(&entry))) {
        (Some(why), _) => format!("Not in this record: the run stopped early ({}).", plain(why)),
        (None, true) => "Not in this record: the probe ran but kept no usable result.".to_owned(),
        (None, false) => "Not in this record: no probe for it was planned.".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use record::Planted;

    use super::*;
    use crate::{Terminal, check_up_page};

    #[test]
    fn what_is_planted_comes_first_and_who_else_was_at_work_is_on_both_pages() {
        let mut record = Record::default();
        let shows = vec!["neighbours were at work in epoch 2 of 3: steal 4.0 %".to_owned()];
        record.neighbours = Some(Neighbours { shows, ..Neighbours::default() });
        record.plan.entries.push(PlanEntry {
            probe: "control".to_owned(),
            planned_s: 1.0,
            disturbs: "self".to_owned(),
            reduced: Vec::new(),
            outcome: PlanOutcome::Done,
            elapsed_s: None,
        });
        let pages = |record: &Record| {
            let page = check_up_page(record, None, None);
            [page.terminal(Terminal::default(), true), page.html()]
        };
        for page in pages(&record) {
            assert!(page.contains("epoch 2 of 3: steal 4.0 %"), "{page}");
            assert!(!page.to_lowercase().contains("planted"));
        }
        record.provenance.planted = vec![Planted { row: "class:stream".to_owned(), factor: 1.05 }];
        let [text, page] = pages(&record);
        assert!(text.starts_with("! planted: "), "{text}");
        let heading = page.split_once("<h1>").expect("a heading").1;
        assert!(heading.starts_with("! planted: not what this machine does"), "{heading}");
    }

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
