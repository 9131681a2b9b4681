//! A check for other programs: Prometheus, JUnit, Slurm.

use std::fmt::Write;

use record::{FleetCheck, FleetStatus, FleetSuspect};

use crate::check::is_rare;
use crate::confirm::is_word;

/// The metrics, in Prometheus' text format 0.0.4: 25 series a node at most (21 families, four facts), and one for each finding.
pub fn prometheus(check: &FleetCheck) -> String {
    let mut text = String::new();
    let is = |holds: bool| f64::from(u8::from(holds));
    let suspect = |node: &str| check.suspects.iter().find(|one| one.node == node);
    let of_suspect = |one: Option<&FleetSuspect>| match one.map(|one| one.status) {
        Some(FleetStatus::Confirmed) => 2.0,
        Some(FleetStatus::Suspect) => 1.0,
        Some(FleetStatus::NotSeenAgain) | None => 0.0,
    };
    let suspects =
        check.nodes.iter().map(|node| (labels(&[("node", &node.node)]), of_suspect(suspect(&node.node))));
    let busy = check.nodes.iter().map(|node| (labels(&[("node", &node.node)]), is(node.is_busy)));
    let beyond = check.nodes.iter().map(|node| (labels(&[("node", &node.node)]), node.beyond as f64));
    let deviations = check.nodes.iter().flat_map(|node| {
        let known = check.families.iter().zip(&node.deviation_percent);
        known.filter_map(|(family, percent)| {
            Some((labels(&[("node", &node.node), ("family", family)]), (*percent)? / 100.0))
        })
    });
    let times = check.nodes.iter().filter_map(|node| {
        Some((labels(&[("node", &node.node)]), crate::check::seconds(&node.started_utc)? as f64))
    });
    let levels = check.levels.iter().map(|one| {
        let parts = [("factor", one.factor.as_str()), ("level", &one.level), ("status", word(one.status))];
        (labels(&parts), one.worse_percent / 100.0)
    });
    let states = check.minorities.iter().map(|one| {
        (labels(&[("kind", one.kind.as_str()), ("id", &one.id), ("state", &one.state)]), one.nodes as f64)
    });
    family(&mut text, "node_suspect", "2 confirmed, 1 suspect, 0 not.", suspects);
    family(&mut text, "node_busy", "1 if its numbers were taken beside other work.", busy);
    family(&mut text, "node_metrics_beyond", "Metrics beyond 6 spreads of the fleet.", beyond);
    family(&mut text, "node_deviation_ratio", "Median over a family; above zero is worse.", deviations);
    family(&mut text, "run_timestamp_seconds", "When the check-up of a node began.", times);
    family(&mut text, "level_deviation_ratio", "Levels of factors that explain a difference.", levels);
    family(&mut text, "minority_nodes", "Nodes in a state that most are not in.", states);
    text
}

fn family(text: &mut String, name: &str, help: &str, samples: impl Iterator<Item = (String, f64)>) {
    let _ = writeln!(text, "# HELP sidestep_fleet_{name} {help}\n# TYPE sidestep_fleet_{name} gauge");
    for (labels, value) in samples {
        let _ = writeln!(text, "sidestep_fleet_{name}{labels} {value}");
    }
}

fn labels(parts: &[(&str, &str)]) -> String {
    let value =
        |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\r', " ");
    let parts: Vec<String> = parts.iter().map(|(name, text)| format!("{name}=\"{}\"", value(text))).collect();
    format!("{{{}}}", parts.join(","))
}

const fn word(status: FleetStatus) -> &'static str {
    match status {
        FleetStatus::Suspect => "suspect",
        FleetStatus::Confirmed => "confirmed",
        FleetStatus::NotSeenAgain => "not_seen_again",
    }
}

/// A suite of tests: each node, each level, each rare state. Busy nodes are skipped.
pub fn junit(check: &FleetCheck) -> String {
    let mut cases = Vec::new();
    for node in &check.nodes {
        let suspect = check.suspects.iter().find(|one| one.node == node.node);
        let failure = suspect.filter(|one| one.status != FleetStatus::NotSeenAgain).map(of_suspect);
        cases.push(("nodes", node.node.clone(), failure, node.is_busy));
    }
    for one in &check.levels {
        let why = format!(
            "{}: {:+.1} % on {} of {} metrics",
            word(one.status),
            one.worse_percent,
            one.metrics,
            one.of_metrics
        );
        let failure = (one.status != FleetStatus::NotSeenAgain).then_some(why);
        cases.push(("factors", format!("{}={}", one.factor, one.level), failure, false));
    }
    for one in check.minorities.iter().filter(|one| is_rare(one)) {
        let why = format!("{} on {} of {} nodes, usually {}", one.state, one.nodes, one.of_nodes, one.usual);
        cases.push(("states", format!("{} {}", one.kind, one.id), Some(why), false));
    }
    let failures = cases.iter().filter(|case| case.2.is_some()).count();
    let skipped = cases.iter().filter(|case| case.2.is_none() && case.3).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"sidestep fleet\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n",
        cases.len()
    );
    for (class, name, failure, is_busy) in cases {
        let _ = write!(text, "  <testcase classname=\"sidestep.fleet.{class}\" name=\"{}\"", xml(&name));
        let _ = match failure {
            Some(why) => writeln!(text, "><failure message=\"{}\"/></testcase>", xml(&why)),
            None if is_busy => writeln!(text, "><skipped message=\"busy\"/></testcase>"),
            None => writeln!(text, "/>"),
        };
    }
    text + "</testsuite>\n"
}

fn of_suspect(one: &FleetSuspect) -> String {
    let FleetSuspect { worse_percent, metrics, of_metrics, status, .. } = one;
    format!("{}: {worse_percent:+.1} % on {metrics} of {of_metrics} metrics", word(*status))
}

/// Text that may stand in XML 1.0, whose characters are fewer than Unicode's (section 2.2).
fn xml(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Lines that take confirmed nodes out of Slurm, for an administrator to run. What is only suspect stands as a comment.
pub fn slurm_drain(check: &FleetCheck) -> String {
    let mut text = String::new();
    for one in &check.suspects {
        let reason = format!("sidestep {}: {}", check.id, of_suspect(one));
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
    use record::{FleetLevel, FleetMinority, FleetNode};

    use super::*;

    fn check() -> FleetCheck {
        let node = |name: &str| FleetNode {
            node: name.to_owned(),
            started_utc: "2026-01-01T00:00:00Z".to_owned(),
            deviation_percent: vec![Some(12.5), None],
            is_busy: name == "n3",
            ..FleetNode::default()
        };
        let suspect = |name: &str, status: FleetStatus| FleetSuspect {
            node: name.to_owned(),
            status,
            metrics: 3,
            of_metrics: 9,
            ..FleetSuspect::default()
        };
        FleetCheck {
            id: "1".to_owned(),
            families: vec!["all metrics".to_owned(), "arithmetic".to_owned()],
            nodes: ["n1", "n\"2\n<", "n3"].map(node).to_vec(),
            suspects: vec![
                suspect("n1", FleetStatus::Confirmed),
                suspect("n\"2\n<", FleetStatus::Confirmed),
                suspect("n4", FleetStatus::Suspect),
            ],
            levels: vec![FleetLevel {
                factor: "slot".to_owned(),
                level: "0".to_owned(),
                ..FleetLevel::default()
            }],
            minorities: vec![FleetMinority {
                id: "mds".to_owned(),
                nodes: 1,
                of_nodes: 3,
                ..FleetMinority::default()
            }],
            ..FleetCheck::default()
        }
    }

    #[test]
    fn metrics_have_one_help_and_type_and_no_name_breaks_a_line() {
        let text = prometheus(&check());
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').expect("a sample");
            assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
            let family = name.split('{').next().expect("a name");
            assert_eq!(text.matches(&format!("# TYPE {family} gauge\n")).count(), 1, "{line}");
        }
        assert!(text.contains("node_suspect{node=\"n\\\"2\\n<\"} 2\n"), "{text}");
        assert!(text.contains("node_deviation_ratio{node=\"n1\",family=\"all metrics\"} 0.125\n"), "{text}");
        assert!(text.contains("run_timestamp_seconds{node=\"n1\"} 1767225600\n"), "{text}");
    }

    #[test]
    fn a_node_has_thirty_series_at_most() {
        let mut found = check();
        found.families = (0..21).map(|family| format!("family {family}")).collect();
        found.nodes[0].deviation_percent = vec![Some(1.0); 21];
        let text = prometheus(&found);
        let series = text.lines().filter(|line| line.contains("{node=\"n1\"")).count();
        assert_eq!(series, 25);
    }

    #[test]
    fn junit_counts_and_escapes() {
        let text = junit(&check());
        assert!(text.contains("tests=\"4\" failures=\"3\" errors=\"0\" skipped=\"1\""), "{text}");
        assert!(text.contains("name=\"n&quot;2\u{fffd}&lt;\""), "{text}");
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
