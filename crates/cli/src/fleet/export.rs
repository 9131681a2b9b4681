//! `sidestep fleet export` and `confirm`: a check in the forms of other programs, and the jobs that repeat its suspects, printed.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;
use experiments::history::seconds_of_utc;
use fleet::check::is_rare;
use fleet::confirm::suspect_text;
use host::live::write_atomically;
use record::{FLEET_CHECK_SCHEMA, FleetCheck, FleetNode, FleetStatus, FleetSuspect, word};
use report::{Family, Sample, TestCase, TestResult, TestSuite};

use crate::outcome::Outcome;
use crate::{output, store};

/// Options of `fleet export`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExportArguments {
    /// The document of a check: sidestep fleet check DROP --json
    check: PathBuf,
    /// Write metrics in Prometheus' text format to this file: 25 series a node at most
    #[arg(long, value_name = "FILE")]
    prometheus: Option<PathBuf>,
    /// Write the result as JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print the lines that take confirmed nodes out of Slurm; they are not run
    #[arg(long)]
    slurm_drain: bool,
}

/// Writes and prints.
pub(super) fn export(arguments: &ExportArguments) -> anyhow::Result<Outcome> {
    let ExportArguments { prometheus, junit, slurm_drain, .. } = arguments;
    ensure!(
        *slurm_drain || [prometheus, junit].iter().any(|file| file.is_some()),
        "nothing to export; give --prometheus FILE, --junit FILE or --slurm-drain"
    );
    let found = document(&arguments.check)?;
    let write = |file: &Option<PathBuf>, text: &dyn Fn() -> String| {
        file.as_ref().map_or(Ok(()), |file| write_atomically(file, text().as_bytes()))
    };
    write(prometheus, &|| metrics(&found))?;
    write(junit, &|| self::junit(&found))?;
    if *slurm_drain {
        output::print_lines(&fleet::confirm::slurm_drain(&found)?)?;
    }
    Ok(Outcome::Done)
}

/// 25 series a node at most (21 families, four facts), and one for each finding.
fn metrics(check: &FleetCheck) -> String {
    let suspect = |node: &FleetNode| match suspect_of(check, node).map(|one| one.status) {
        Some(FleetStatus::Confirmed) => 2.0,
        Some(FleetStatus::Suspect) => 1.0,
        Some(FleetStatus::NotSeenAgain) | None => 0.0,
    };
    let of_nodes = |value: &dyn Fn(&FleetNode) -> f64| -> Vec<Sample> {
        check.nodes.iter().map(|node| Sample::new([("node", &node.node)], value(node))).collect()
    };
    let deviations = check.nodes.iter().flat_map(|node| {
        let known = check.families.iter().zip(&node.deviation_percent);
        known.filter_map(|(family, percent)| {
            Some(Sample::new([("node", &node.node), ("family", family)], (*percent)? / 100.0))
        })
    });
    let times = check.nodes.iter().filter_map(|node| {
        Some(Sample::new([("node", &node.node)], seconds_of_utc(&node.started_utc)? as f64))
    });
    let levels = check.levels.iter().map(|one| {
        let parts = [("factor", one.factor.as_str()), ("level", &one.level), ("status", &word(&one.status))];
        Sample::new(parts, one.worse_percent / 100.0)
    });
    let states = check.minorities.iter().map(|one| {
        let parts = [("kind", one.kind.as_str()), ("id", &one.id), ("state", &one.state)];
        Sample::new(parts, one.nodes as f64)
    });
    let busy = "1 if its numbers were taken beside other work.";
    let explain = "Levels of factors that explain a difference.";
    let families = [
        Family::gauge("node_suspect", "2 confirmed, 1 suspect, 0 not.").of(of_nodes(&suspect)),
        Family::gauge("node_busy", busy).of(of_nodes(&|node| f64::from(u8::from(node.is_busy)))),
        Family::gauge("node_metrics_beyond", "Metrics beyond 6 spreads of the fleet.")
            .of(of_nodes(&|node| node.beyond as f64)),
        Family::gauge("node_deviation_ratio", "Median over a family; above zero is worse.").of(deviations),
        Family::gauge("run_timestamp_seconds", "When the check-up of a node began.").of(times),
        Family::gauge("level_deviation_ratio", explain).of(levels),
        Family::gauge("minority_nodes", "Nodes in a state that most are not in.").of(states),
    ];
    report::metrics("sidestep_fleet_", families)
}

fn suspect_of<'c>(check: &'c FleetCheck, node: &FleetNode) -> Option<&'c FleetSuspect> {
    check.suspects.iter().find(|one| one.node == node.node)
}

/// A suite of tests: each node, each level, each rare state. Busy nodes are skipped.
fn junit(check: &FleetCheck) -> String {
    let case = |class, name: String, failure: Option<String>| {
        let failed = |message| TestResult::Failed { message, detail: String::new() };
        TestCase { class, name, result: failure.map_or(TestResult::Passed, failed) }
    };
    let nodes = check.nodes.iter().map(|node| {
        let suspect = suspect_of(check, node).filter(|one| one.status != FleetStatus::NotSeenAgain);
        let judged = case("nodes", node.node.clone(), suspect.map(suspect_text));
        if node.is_busy && judged.result == TestResult::Passed {
            TestCase { result: TestResult::Skipped("busy".to_owned()), ..judged }
        } else {
            judged
        }
    });
    let levels = check.levels.iter().map(|one| {
        let (status, metrics, of_metrics) = (word(&one.status), one.metrics, one.of_metrics);
        let why = format!("{status}: {:+.1} % on {metrics} of {of_metrics} metrics", one.worse_percent);
        let failure = (one.status != FleetStatus::NotSeenAgain).then_some(why);
        case("factors", format!("{}={}", one.factor, one.level), failure)
    });
    let states = check.minorities.iter().filter(|one| is_rare(one)).map(|one| {
        let why = format!("{} on {} of {} nodes, usually {}", one.state, one.nodes, one.of_nodes, one.usual);
        case("states", format!("{} {}", one.kind, one.id), Some(why))
    });
    let cases = nodes.chain(levels).chain(states).collect();
    report::junit(&TestSuite { name: "sidestep fleet", timestamp: String::new(), cases })
}

/// Options of `fleet confirm`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfirmArguments {
    /// The document of a check: sidestep fleet check DROP --json
    check: PathBuf,
    /// The drop directory that the nodes write to
    #[arg(long, value_name = "DIR")]
    drop: PathBuf,
    /// Draw the order from this
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

/// The check of a hundred thousand nodes has some tens of megabytes.
const CHECK_BYTES_MAX: u64 = 128 << 20;

/// The document of a check.
///
/// # Errors
/// It cannot be read or is none.
pub(super) fn document(file: &Path) -> anyhow::Result<FleetCheck> {
    let name = file.display();
    let advice = || format!("cannot read {name} as a check; write one with sidestep fleet check DROP --json");
    let bytes = store::read_bounded(file, CHECK_BYTES_MAX, "check")?;
    let found: FleetCheck = serde_json::from_slice(&bytes).with_context(advice)?;
    ensure!(
        found.schema == FLEET_CHECK_SCHEMA,
        "{name} has schema {}, and this sidestep reads {FLEET_CHECK_SCHEMA}; make the check again",
        found.schema
    );
    Ok(found)
}

/// Prints the jobs: a script for sh that calls sbatch of Slurm.
pub(super) fn confirm(arguments: &ConfirmArguments) -> anyhow::Result<Outcome> {
    let found = document(&arguments.check)?;
    let drop = std::path::absolute(&arguments.drop)?;
    let drop =
        drop.to_str().context("the name of the drop directory is not UTF-8; choose another with --drop")?;
    output::ensure_shown(drop)?;
    let script = fleet::confirm::slurm(&found, drop, arguments.seed)?;
    output::print_lines(&script)?;
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use record::{FleetLevel, FleetMinority};

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
        let text = metrics(&check());
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').expect("a sample");
            assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
            let family = name.split('{').next().expect("a name");
            assert_eq!(text.matches(&format!("# TYPE {family} gauge\n")).count(), 1, "{line}");
        }
        assert!(text.contains("node_suspect{node=\"n\\\"2 <\"} 2\n"), "{text}");
        assert!(text.contains("node_deviation_ratio{node=\"n1\",family=\"all metrics\"} 0.125\n"), "{text}");
        assert!(text.contains("run_timestamp_seconds{node=\"n1\"} 1767225600\n"), "{text}");
    }

    #[test]
    fn a_node_has_thirty_series_at_most() {
        let mut found = check();
        found.families = (0..21).map(|family| format!("family {family}")).collect();
        found.nodes[0].deviation_percent = vec![Some(1.0); 21];
        let text = metrics(&found);
        let series = text.lines().filter(|line| line.contains("{node=\"n1\"")).count();
        assert_eq!(series, 25);
    }

    #[test]
    fn junit_counts_and_escapes() {
        let text = junit(&check());
        assert!(text.contains("tests=\"4\" failures=\"3\" errors=\"0\" skipped=\"1\""), "{text}");
        assert!(text.contains("name=\"n&quot;2\n&lt;\""), "{text}");
    }
}
