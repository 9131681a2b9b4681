//! Kubernetes: a Job for each node. Indexed Jobs do not cover every node: a pod that ends leaves room for the next on the same one.

use super::{Nodes, Placed, Plan, PlanError, arm_options, placed, quoted};

const HEAD: &str = include_str!("kubernetes_head.yaml");
const JOB: &str = include_str!("kubernetes_job.yaml");

pub(super) fn jobs(plan: &Plan) -> Result<String, PlanError> {
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
