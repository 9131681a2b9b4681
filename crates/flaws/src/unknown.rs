//! What would tell the state of a flaw that no source told.

use record::FlawVerdict;

use crate::AppliedBy;
use crate::registers::MADE_UP;

/// What would tell the state of a flaw whose state is unknown: a command, a right or a place. The sources are asked in the order
/// in which they cost least.
pub fn would_tell(verdict: &FlawVerdict) -> &'static str {
    let evidence = &verdict.evidence;
    if evidence.registers.says.starts_with(MADE_UP) {
        return "sidestep flaws on the host";
    }
    if evidence.time.says.starts_with("not measured") {
        return "a run with timing";
    }
    if evidence.registers.says.contains("permission") || evidence.registers.says.contains("run as root") {
        return "a run as root";
    }
    if evidence.registers.says.contains("not recorded") {
        return "a recording made as root";
    }
    let is_built_in = |switch: &record::WorkaroundSwitch| switch.applied_by == [AppliedBy::Compiler.name()];
    if !verdict.switches.is_empty() && verdict.switches.iter().all(is_built_in) {
        return "how each program was built";
    }
    "no known source"
}
