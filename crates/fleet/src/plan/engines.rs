//! What each engine is given: of Slurm a job for each node, or one allocation of all; of Ansible a playbook with a play for each batch
//! of nodes; of Kubernetes a Job for each node, as indexed Jobs do not cover every node: a pod that ends leaves room for the next on the
//! same one.

use std::collections::BTreeMap;

use super::{Nodes, Placed, Plan, PlanError, PlannedNode, arm_options, placed, quoted, shell_words};

const SCRIPT: &str = include_str!("slurm.sh");
const TOGETHER: &str = include_str!("slurm_together.sh");
const PLAYBOOK: &str = include_str!("playbook.yml");
const HEAD: &str = include_str!("kubernetes_head.yaml");
const JOB: &str = include_str!("kubernetes_job.yaml");

/// Minutes that a job may take: nothing but `--full` takes more than a few.
const MINUTES: usize = 10;
const MINUTES_FULL: usize = 30;

pub(super) fn slurm(plan: &Plan) -> String {
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

pub(super) fn ansible(plan: &Plan) -> String {
    let options: Vec<String> = plan.options.iter().map(|option| quoted(option)).collect();
    let (plays, arms) = match &plan.nodes {
        Nodes::Listed(nodes) => (batches(nodes, plan), arms(nodes)),
        Nodes::All => {
            (vec![format!("  hosts: all\n  order: shuffle\n  serial: {}\n", plan.at_once)], String::new())
        }
    };
    let (first, others) = plays.split_first().map_or((String::new(), &[][..]), |(a, b)| (a.clone(), b));
    let mut text = PLAYBOOK
        .replace("@SEED@", &plan.seed.to_string())
        .replace("@DROP@", &quoted(&plan.drop))
        .replace("@RUN@", &options.join(", "))
        .replace("@ARMS@", if arms.is_empty() { " {}" } else { &arms })
        .replace("@EXPERIMENT@", &quoted(plan.experiment.as_deref().unwrap_or_default()))
        .replace("@HOSTS@\n", &first);
    for hosts in others {
        text.push_str("\n- name: next batch\n");
        text.push_str(hosts);
        text.push_str("  <<: *play\n");
    }
    text
}

/// The hosts of each batch: so many of a rack are measured at a time.
fn batches(nodes: &[PlannedNode], plan: &Plan) -> Vec<String> {
    let mut batches: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for one in placed(nodes, plan.at_once, plan.seed) {
        batches.entry(one.turn).or_default().push(one.node.name.as_str());
    }
    batches.into_values().map(|names| format!("  hosts: {}\n", names.join(","))).collect()
}

/// The arm of each node, below its key.
fn arms(nodes: &[PlannedNode]) -> String {
    let arm = |node: &PlannedNode| {
        Some(format!("\n        {}: {}", quoted(node.name.as_str()), quoted(node.arm.as_deref()?)))
    };
    nodes.iter().filter_map(arm).collect()
}

pub(super) fn kubernetes(plan: &Plan) -> Result<String, PlanError> {
    let Nodes::Listed(nodes) = &plan.nodes else { return Err(PlanError::NoNames) };
    let jobs = placed(nodes, plan.at_once, plan.seed);
    let head = HEAD.replace("@AT_ONCE@", &plan.at_once.to_string()).replace("@SEED@", &plan.seed.to_string());
    Ok(head + &jobs.iter().map(|one| job(plan, one)).collect::<String>())
}

fn job(plan: &Plan, one: &Placed<'_>) -> String {
    let options = arm_options(plan, one.node);
    let words: Vec<String> = plan.options.iter().chain(&options).map(|word| quoted(word)).collect();
    JOB.replace("@LANE@", &format!("r{}-{}", one.rack, one.lane))
        .replace("@OBJECT@", &object_name(one.node.name.as_str()))
        .replace("@NODE@", &quoted(one.node.name.as_str()))
        .replace("@IMAGE@", &quoted(&plan.image))
        .replace("@RUN@", &words.join(", "))
        .replace("@DROP@", &quoted(&plan.drop))
}

/// A name that Kubernetes takes for a Job (RFC 1123: lower case, no '_', at most 63), unique for each node.
fn object_name(node: &str) -> String {
    /// What Kubernetes adds to the names of a Job's pods must fit as well.
    const LETTERS_MAX: usize = 40;
    let lower = node.to_lowercase().replace('_', "-");
    let kept: String = lower.chars().take(LETTERS_MAX).collect();
    if kept == node {
        return format!("sidestep-{}", kept.trim_end_matches(['-', '.']));
    }
    let hash = machine::keyed_hash([0, 0], node.as_bytes()) as u32;
    format!("sidestep-{}-{hash:08x}", kept.trim_end_matches(['-', '.']))
}
