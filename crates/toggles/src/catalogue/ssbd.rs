//! Speculative Store Bypass Disable for one thread and what it starts, by prctl.

use host::live::{ProcessSetting, Speculation};

use super::speculation;
use crate::About;
use crate::process_toggle::{Choice, ProcessToggle};

pub(super) const TOGGLE: ProcessToggle = ProcessToggle {
    about: About {
        name: "ssbd",
        title: "Speculative Store Bypass Disable",
        does: "Stops loads from passing older stores whose address is not known yet (CVE-2018-3639). \
               It costs code that loads soon after a store through a late address.",
        needs: &["Linux 4.17", "a CPU whose control the kernel knows", "no boot option that fixes it"],
        source: "Linux, Documentation/userspace-api/spec_ctrl.rst",
        ..About::PROCESS
    },
    available: |system| {
        // Linux, Documentation/admin-guide/kernel-parameters.txt: ssbd= is of arm64.
        let architecture = system.machine.identity.architecture.as_deref();
        let boot =
            if architecture == Some("aarch64") { "ssbd=kernel" } else { "spec_store_bypass_disable=prctl" };
        speculation::available(Speculation::StoreBypass, boot)
    },
    now: |_| speculation::now(Speculation::StoreBypass),
    choices: &[
        Choice::named("off")
            .means("loads may pass older stores")
            .asks(|_| ProcessSetting::StopSpeculation(Speculation::StoreBypass, false)),
        Choice::named("on")
            .means("loads wait for the address of older stores")
            .asks(|_| ProcessSetting::StopSpeculation(Speculation::StoreBypass, true)),
    ],
};
