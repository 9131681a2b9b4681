//! The plan as text: what would run, for how long, whom it disturbs, what was cut or dropped and why.

use record::{Plan, PlanOutcome};

/// One line per probe, indented lines for what was cut.
pub(crate) fn plan_text(plan: &Plan) -> String {
    let mut lines =
        vec![format!("{:<14} {:>9}  {:<8}  budget {} s", "probe", "at most", "disturbs", plan.budget_s)];
    for entry in &plan.entries {
        lines.push(match &entry.outcome {
            PlanOutcome::Dropped(reason) => format!("{:<14} {:>9}  {reason}", entry.probe, "dropped"),
            _ => format!("{:<14} {:>7.1} s  {:<8}", entry.probe, entry.planned_s, entry.disturbs),
        });
        lines.extend(entry.reduced.iter().map(|cut| format!("{:<16}{cut}", "")));
    }
    let total_s: f64 = plan.entries.iter().map(|entry| entry.planned_s).sum();
    lines.push(format!("{:<14} {total_s:>7.1} s", "together"));
    let trimmed: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    trimmed.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::PlanEntry;

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
        let text = plan_text(&Plan { budget_s: 20.0, entries: vec![entry] });
        assert!(text.contains("dropped  one CPU") && text.contains("half"), "{text}");
    }
}
