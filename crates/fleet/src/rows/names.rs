//! Names that seem to belong to more than one machine: their rows are of two machines, and say nothing of either.

use std::collections::{BTreeMap, BTreeSet};

use record::{AmbiguousNode, NodeRow};

/// What tells two machines from each other, of every run of every node.
#[derive(Debug, Default)]
pub struct Names {
    runs: BTreeMap<String, Vec<Run>>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    started_utc: String,
    boot_id: Option<String>,
    hardware: [Option<String>; 3],
}

/// What `hardware` holds.
const HARDWARE: [&str; 3] = ["serial numbers", "CPUs", "boards"];

impl Names {
    /// Adds a run.
    pub fn add(&mut self, row: &NodeRow) {
        let fact = |column| row.fact(column).map(str::to_owned);
        let run = Run {
            started_utc: row.run.started_utc.clone(),
            boot_id: row.run.boot_id.clone(),
            hardware: [row.serials_hash.clone(), fact("cpu_model"), fact("board")],
        };
        self.runs.entry(row.node.clone()).or_default().push(run);
    }

    /// Nodes that were added.
    pub fn count(&self) -> usize {
        self.runs.len()
    }

    /// The names that seem to belong to more than one machine.
    pub fn ambiguous(mut self) -> Vec<AmbiguousNode> {
        for runs in self.runs.values_mut() {
            runs.sort();
        }
        let of_node =
            |(node, runs): (String, Vec<Run>)| Some(AmbiguousNode { because: because(&runs)?, node });
        self.runs.into_iter().filter_map(of_node).collect()
    }
}

/// What shows that runs, in the order of their beginnings, are of several machines.
fn because(runs: &[Run]) -> Option<String> {
    for (index, what) in HARDWARE.iter().enumerate() {
        let values: BTreeSet<&String> = runs.iter().filter_map(|run| run.hardware[index].as_ref()).collect();
        if values.len() > 1 {
            return Some(format!("its runs have {} different {what}", values.len()));
        }
    }
    let mut boots: Vec<&String> = runs.iter().filter_map(|run| run.boot_id.as_ref()).collect();
    boots.dedup();
    let different: BTreeSet<&String> = boots.iter().copied().collect();
    // A boot that is over does not come back.
    (different.len() < boots.len())
        .then(|| "runs of one boot lie before and after those of another".to_owned())
}

#[cfg(test)]
mod tests {
    use record::RunColumns;

    use super::*;

    fn found(runs: &[(&str, &str, &str)]) -> Vec<String> {
        let mut names = Names::default();
        for (started_utc, boot, serials) in runs {
            names.add(&NodeRow {
                node: "n1".to_owned(),
                run: RunColumns {
                    started_utc: (*started_utc).to_owned(),
                    boot_id: Some((*boot).to_owned()),
                    ..RunColumns::default()
                },
                serials_hash: (!serials.is_empty()).then(|| (*serials).to_owned()),
                ..NodeRow::default()
            });
        }
        assert_eq!(names.count(), usize::from(!runs.is_empty()));
        names.ambiguous().into_iter().map(|one| one.because).collect()
    }

    #[test]
    fn two_machines_of_one_name_are_found_and_a_reboot_is_not_one() {
        assert_eq!(found(&[]), [""; 0]);
        assert_eq!(found(&[("3", "b", ""), ("1", "a", ""), ("2", "a", "")]), [""; 0]);
        assert_eq!(found(&[("1", "a", "x"), ("2", "b", "")]), [""; 0]);
        assert_eq!(
            found(&[("1", "a", ""), ("2", "b", ""), ("3", "a", "")]),
            ["runs of one boot lie before and after those of another"]
        );
        assert_eq!(found(&[("1", "a", "x"), ("2", "b", "y")]), ["its runs have 2 different serial numbers"]);
    }
}
