//! Slurm: a job for each node, or one allocation of all.

use super::{Nodes, Placed, Plan, arm_options, placed, shell_words};

const SCRIPT: &str = include_str!("slurm.sh");
const TOGETHER: &str = include_str!("slurm_together.sh");

/// Minutes that a job may take: nothing but `--full` takes more than a few.
const MINUTES: usize = 10;
const MINUTES_FULL: usize = 30;

pub(super) fn script(plan: &Plan) -> String {
    let template = if plan.together { TOGETHER } else { SCRIPT };
    let is_full = plan.options.iter().any(|option| option == "--full");
    let nodes = if plan.together { directives(&plan.nodes) } else { calls(plan) };
    template
        .replace("@AT_ONCE@", &plan.at_once.to_string())
        .replace("@MINUTES@", &(if is_full { MINUTES_FULL } else { MINUTES }).to_string())
        .replace("@SEED@", &plan.seed.to_string())
        .replace("@RUN@", &shell_words(&plan.options))
        .replace("@DROP@", &machine::shell_word(&plan.drop))
        .replace("@PARTITION@", &partition(plan))
        .replace(
            "@DIRECTIVE@",
            &plan.partition.as_ref().map_or_else(String::new, |_| format!("#SBATCH{}\n", partition(plan))),
        )
        .replace("@NODES@", nodes.trim_end())
}

/// A call of the script's function for each node; of a partition, a loop over what it has when the script runs.
fn calls(plan: &Plan) -> String {
    match &plan.nodes {
        Nodes::Listed(nodes) => {
            placed(nodes, plan.at_once, plan.seed).iter().map(|one| call(plan, one)).collect()
        }
        Nodes::All => format!(
            "index=0\nfor node in $(sinfo --noheader --Node --format=%N{} | sort -u | shuf); do\n    \
             submit \"$node\" \"r0/$((index % {}))\"\n    index=$((index + 1))\ndone",
            partition(plan),
            plan.at_once
        ),
    }
}

/// An option of sinfo and sbatch, behind a blank.
fn partition(plan: &Plan) -> String {
    plan.partition
        .as_ref()
        .map_or_else(String::new, |name| format!(" --partition={}", machine::shell_word(name)))
}

fn call(plan: &Plan, one: &Placed<'_>) -> String {
    let options = arm_options(plan, one.node);
    let words = shell_words(&options);
    format!("submit {} r{}/{} {words}", one.node.name, one.rack, one.lane).trim_end().to_owned() + "\n"
}

/// The nodes of one allocation.
fn directives(nodes: &Nodes) -> String {
    match nodes {
        Nodes::Listed(nodes) => {
            let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
            format!("#SBATCH --nodes={}\n#SBATCH --nodelist={}", names.len(), names.join(","))
        }
        Nodes::All => "# Give the number of nodes: sbatch --nodes=N THIS_FILE".to_owned(),
    }
}
