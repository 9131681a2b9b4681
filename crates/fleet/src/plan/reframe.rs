//! ReFrame: a test class; `reframe --distribute=all` makes one test of it for each node.

use super::{Plan, PlanError, quoted};

const CLASS: &str = include_str!("reframe.py");

pub(super) fn check(plan: &Plan) -> Result<String, PlanError> {
    if plan.experiment.is_some() {
        return Err(PlanError::NoArms("--randomise"));
    }
    let options: Vec<String> = plan.options.iter().map(|option| quoted(option)).collect();
    Ok(CLASS.replace("@RUN@", &options.join(", ")).replace("@DROP@", &quoted(&plan.drop)))
}
