//! What each engine is given: of Slurm a job for each node; of Ansible a playbook with a play for each batch
//! of nodes; of Kubernetes a Job for each node, as indexed Jobs do not cover every node: a pod that ends leaves room for the next on the
//! same one.

use std::collections::BTreeMap;

use super::{Nodes, Placed, Plan, PlanError, PlannedNode, filled, placed, quoted, shell_words};

const SCRIPT: &str = include_str!("slurm.sh");
const PLAYBOOK: &str = include_str!("playbook.yml");
const HEAD: &str = include_str!("kubernetes_head.yaml");
const JOB: &str = include_str!("kubernetes_job.yaml");

/// Minutes that a job may take: nothing but `--full` takes more than a few.
const MINUTES: usize = 10;
const MINUTES_FULL: usize = 30;

pub(super) fn slurm(plan: &Plan) -> String {
    let is_full = plan.options.iter().any(|option| option == "--full");
    let values = [
        ("AT_ONCE", plan.at_once.to_string()),
        ("MINUTES", (if is_full { MINUTES_FULL } else { MINUTES }).to_string()),
        ("SEED", plan.seed.to_string()),
        ("RUN", shell_words(&plan.options)),
        ("DROP", machine::shell_word(&plan.drop)),
        ("PARTITION", partition(plan)),
        ("NODES", calls(plan).trim_end().to_owned()),
    ];
    filled(SCRIPT, &values)
}

/// A call of the script's function for each node; of a partition, a loop over what it has when the script runs.
fn calls(plan: &Plan) -> String {
    match &plan.nodes {
        Nodes::Listed(nodes) => {
            let call = |one: &Placed<'_>| format!("submit {} r{}/{}\n", one.node.name, one.rack, one.lane);
            placed(nodes, plan.at_once, plan.seed).iter().map(call).collect()
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

/// Names of groups that every inventory has: a host that is called so cannot be meant.
const GROUPS: [&str; 2] = ["all", "ungrouped"];

pub(super) fn ansible(plan: &Plan) -> Result<String, PlanError> {
    let options: Vec<String> = plan.options.iter().map(|option| verbatim(option)).collect();
    let plays = match &plan.nodes {
        Nodes::Listed(nodes) => {
            let is_group = |node: &&PlannedNode| GROUPS.contains(&node.name.as_str());
            if let Some(node) = nodes.iter().find(is_group) {
                return Err(PlanError::NoName(node.name.to_string(), "Ansible", "host"));
            }
            batches(nodes, plan)
        }
        Nodes::All => vec![format!("  hosts: all\n  order: shuffle\n  serial: {}\n", plan.at_once)],
    };
    let (first, others) = plays.split_first().map_or((String::new(), &[][..]), |(a, b)| (a.clone(), b));
    let values = [
        ("SEED", plan.seed.to_string()),
        ("DROP", verbatim(&plan.drop)),
        ("RUN", options.join(", ")),
        ("HOSTS", first.trim_end().to_owned()),
    ];
    let mut text = filled(PLAYBOOK, &values);
    for hosts in others {
        text.push_str("\n- name: next batch\n");
        text.push_str(hosts);
        text.push_str("  <<: *play\n");
    }
    Ok(text)
}

/// A text in which Ansible finds no template: `{{ }}` would run on the machine of the administrator.
fn verbatim(text: &str) -> String {
    let tag = if text.contains('{') { "!unsafe " } else { "" };
    tag.to_owned() + &quoted(text)
}

/// The hosts of each batch: so many of a rack are measured at a time.
fn batches(nodes: &[PlannedNode], plan: &Plan) -> Vec<String> {
    let mut batches: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for one in placed(nodes, plan.at_once, plan.seed) {
        batches.entry(one.turn).or_default().push(one.node.name.as_str());
    }
    batches.into_values().map(|names| format!("  hosts: {}\n", quoted(&names.join(",")))).collect()
}

pub(super) fn kubernetes(plan: &Plan) -> Result<String, PlanError> {
    let Nodes::Listed(nodes) = &plan.nodes else { return Err(PlanError::NoNames) };
    let jobs = placed(nodes, plan.at_once, plan.seed);
    let head = [("AT_ONCE", plan.at_once.to_string()), ("SEED", plan.seed.to_string())];
    Ok(filled(HEAD, &head) + &jobs.iter().map(|one| job(plan, one)).collect::<String>())
}

fn job(plan: &Plan, one: &Placed<'_>) -> String {
    // `$(NAME)` would be a variable of the container.
    let argument = |word: &String| quoted(&word.replace("$(", "$$("));
    let words: Vec<String> = plan.options.iter().map(argument).collect();
    let values = [
        ("LANE", format!("r{}-{}", one.rack, one.lane)),
        ("OBJECT", object_name(one.node.name.as_str())),
        ("NODE", quoted(one.node.name.as_str())),
        ("IMAGE", quoted(&plan.image)),
        ("RUN", words.join(", ")),
        ("DROP", quoted(&plan.drop)),
    ];
    filled(JOB, &values)
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
