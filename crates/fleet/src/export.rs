//! What was found of a node in one line, and the lines that take it out of Slurm.

use std::fmt::Write;

use record::{FleetCheck, FleetStatus, FleetSuspect, word};

use crate::confirm::is_word;

/// How far a node stands out, and how far that is known.
pub fn suspect_text(one: &FleetSuspect) -> String {
    let FleetSuspect { worse_percent, metrics, of_metrics, status, .. } = one;
    format!("{}: {worse_percent:+.1} % on {metrics} of {of_metrics} metrics", word(status))
}

/// Lines that take confirmed nodes out of Slurm, for an administrator to run. What is only suspect stands as a comment.
pub fn slurm_drain(check: &FleetCheck) -> String {
    let mut text = String::new();
    for one in &check.suspects {
        let reason = format!("sidestep {}: {}", check.id, suspect_text(one));
        // What is no word stands in a comment, and breaks no line of it.
        let name = one.node.replace(char::is_control, " ");
        let _ = match one.status {
            FleetStatus::Confirmed if is_word(&one.node) => {
                let reason = reason.replace(['"', '\\', '$', '`'], " ");
                writeln!(text, "scontrol update nodename={name} state=drain reason=\"{reason}\"")
            }
            FleetStatus::Confirmed => writeln!(text, "# {name} is no name that Slurm takes; {reason}"),
            FleetStatus::Suspect => {
                writeln!(text, "# {name} is not confirmed: sidestep fleet confirm; {reason}")
            }
            FleetStatus::NotSeenAgain => Ok(()),
        };
    }
    if text.is_empty() { "# no node is suspect\n".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check() -> FleetCheck {
        let suspect = |name: &str, status: FleetStatus| FleetSuspect {
            node: name.to_owned(),
            status,
            metrics: 3,
            of_metrics: 9,
            ..FleetSuspect::default()
        };
        FleetCheck {
            id: "1".to_owned(),
            suspects: vec![
                suspect("n1", FleetStatus::Confirmed),
                suspect("n\"2\n<", FleetStatus::Confirmed),
                suspect("n4", FleetStatus::Suspect),
            ],
            ..FleetCheck::default()
        }
    }

    #[test]
    fn only_confirmed_nodes_are_drained_and_no_name_is_run() {
        let text = slurm_drain(&check());
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("scontrol update nodename=n1 state=drain reason=\"sidestep 1: confirmed:"),
            "{text}"
        );
        assert!(
            lines[1].starts_with("# n\"2 < is no name") && lines[2].starts_with("# n4 is not confirmed"),
            "{text}"
        );
        assert_eq!(lines.len(), 3);
        assert_eq!(slurm_drain(&FleetCheck::default()), "# no node is suspect\n");
    }
}
