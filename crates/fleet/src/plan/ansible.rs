//! Ansible: a playbook, with a play for each batch of nodes.

use std::collections::BTreeMap;

use super::{Nodes, Plan, PlannedNode, placed, quoted};

const PLAYBOOK: &str = include_str!("playbook.yml");

pub(super) fn playbook(plan: &Plan) -> String {
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
