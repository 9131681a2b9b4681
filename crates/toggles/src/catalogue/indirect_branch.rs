//! Indirect-branch speculation of one thread and what it starts, by prctl: a barrier at each switch.

use host::live::{ProcessSetting, Speculation};

use super::speculation;
use crate::About;
use crate::process_toggle::{Choice, ProcessToggle};

pub(super) const TOGGLE: ProcessToggle = ProcessToggle {
    about: About {
        name: "indirect-branch",
        title: "Indirect-branch workaround (IBPB, STIBP)",
        does: "Stops a process from being predicted by what others did (CVE-2017-5715): a barrier when it is \
               switched to or from, and no sharing of predictions with the SMT sibling. It costs programs that \
               switch often, such as two that talk over a pipe on one CPU.",
        needs: &["Linux 4.20", "a CPU with IBPB", "no boot option that fixes it"],
        source: "Linux, Documentation/userspace-api/spec_ctrl.rst",
        x86_only: true,
        ..About::PROCESS
    },
    available: |_| speculation::available(Speculation::IndirectBranch, "spectre_v2_user=prctl"),
    now: |_| speculation::now(Speculation::IndirectBranch),
    choices: &[
        Choice::named("off")
            .means("predictions are shared between processes")
            .asks(|_| ProcessSetting::StopSpeculation(Speculation::IndirectBranch, false)),
        Choice::named("on")
            .means("a barrier at each switch of process")
            .asks(|_| ProcessSetting::StopSpeculation(Speculation::IndirectBranch, true)),
    ],
};
