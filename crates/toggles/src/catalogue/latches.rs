//! Switches that cannot be taken back before the next boot, or the end of the process: listed, explained, never made.

use std::time::Duration;

use crate::{About, Availability, Lifetime, Risk, Switch, SwitchError, SystemState, Toggle, Value};

/// What all latches share.
const ABOUT: About = About { needs: &[], risk: Risk::OneWay, settle: Duration::ZERO, ..About::SYSTEM };

pub(super) static LATCHES: [Latch; 10] = [
    Latch {
        about: About {
            name: "spec-force-disable",
            title: "Speculation off for good in a process",
            does: "PR_SPEC_FORCE_DISABLE stops speculation in a process and cannot be taken back in it.",
            opens: "the process cannot allow speculation again",
            source: "Linux, Documentation/userspace-api/spec_ctrl.rst",
            lifetime: Lifetime::Process,
            ..ABOUT
        },
        file: None,
    },
    Latch {
        about: About {
            name: "seccomp",
            title: "System-call filter, no_new_privs",
            does: "A filter costs every system call of a process, and can only be tightened.",
            opens: "a filter and no_new_privs stay until the process ends",
            source: "seccomp(2)",
            lifetime: Lifetime::Process,
            ..ABOUT
        },
        file: None,
    },
    Latch {
        about: About {
            name: "smt-forceoff",
            title: "SMT off until reboot",
            does: "Writing forceoff to smt/control takes the siblings away for good; smt has off, which can be undone.",
            opens: "forceoff is refused any way back",
            source: "Linux, Documentation/ABI/testing/sysfs-devices-system-cpu",
            ..ABOUT
        },
        file: Some("sys/devices/system/cpu/smt/control"),
    },
    Latch {
        about: About {
            name: "unprivileged-bpf",
            title: "BPF for ordinary users off",
            does: "Writing 1 to kernel.unprivileged_bpf_disabled forbids BPF to ordinary users.",
            opens: "the value 1 cannot be written back",
            source: "Linux, Documentation/admin-guide/sysctl/kernel.rst",
            ..ABOUT
        },
        file: Some("proc/sys/kernel/unprivileged_bpf_disabled"),
    },
    Latch {
        about: About {
            name: "kexec-load",
            title: "Loading of another kernel off",
            does: "Writing 1 to kernel.kexec_load_disabled forbids kexec.",
            opens: "the value 1 cannot be written back",
            source: "Linux, Documentation/admin-guide/sysctl/kernel.rst",
            ..ABOUT
        },
        file: Some("proc/sys/kernel/kexec_load_disabled"),
    },
    Latch {
        about: About {
            name: "modules",
            title: "Loading of modules off",
            does: "Writing 1 to kernel.modules_disabled forbids loading and unloading modules.",
            opens: "the value 1 cannot be written back",
            source: "Linux, Documentation/admin-guide/sysctl/kernel.rst",
            ..ABOUT
        },
        file: Some("proc/sys/kernel/modules_disabled"),
    },
    Latch {
        about: About {
            name: "ptrace-scope",
            title: "Tracing of processes off",
            does: "Writing 3 to kernel.yama.ptrace_scope forbids ptrace.",
            opens: "the value 3 cannot be written back",
            source: "Linux, Documentation/admin-guide/LSM/Yama.rst",
            ..ABOUT
        },
        file: Some("proc/sys/kernel/yama/ptrace_scope"),
    },
    Latch {
        about: About {
            name: "gds-lock",
            title: "Lock of the gather workaround",
            does: "Bit 5 of IA32_MCU_OPT_CTRL (123h) locks the workaround for Gather Data Sampling.",
            opens: "the lock holds until reset",
            source: "Linux, Documentation/admin-guide/hw-vuln/gather_data_sampling.rst",
            ..ABOUT
        },
        file: None,
    },
    Latch {
        about: About {
            name: "microcode",
            title: "Late load of microcode",
            does: "A newer microcode can bring or remove a workaround while the machine runs.",
            opens: "microcode cannot be taken back before reset",
            source: "Linux, Documentation/arch/x86/microcode.rst",
            ..ABOUT
        },
        file: Some("sys/devices/system/cpu/cpu0/microcode/version"),
    },
    Latch {
        about: About {
            name: "l3-index",
            title: "Indices of the AMD L3 cache off",
            does: "Writing an index to cache_disable_0 takes a part of the L3 cache away (AMD families 10h to 16h); \
                   l3-subcaches takes larger parts and can be undone.",
            opens: "the kernel frees no slot before reset",
            source: "Linux, arch/x86/kernel/cpu: amd_set_l3_disable_slot answers EEXIST for a slot in use",
            ..ABOUT
        },
        file: Some("sys/devices/system/cpu/cpu0/cache/index3/cache_disable_0"),
    },
];

/// A one-way switch.
pub(super) struct Latch {
    /// What stays the same.
    about: About,
    /// The file that shows its state, if there is one.
    file: Option<&'static str>,
}

impl Toggle for Latch {
    fn about(&self) -> &About {
        &self.about
    }

    fn availability(&self, _around: &SystemState) -> Availability {
        Availability::missing(format!("never switched: {}", self.about.opens), "")
    }

    fn now(&self, system: &SystemState) -> Option<String> {
        system.root.read(self.file?).ok().filter(|text| !text.is_empty())
    }

    fn values(&self, _around: &SystemState) -> Vec<Value> {
        Vec::new()
    }

    fn switch(&self, system: &SystemState, value: &str) -> Result<Switch, SwitchError> {
        self.value(system, value)?;
        let choices = "none: a latch has no way back".to_owned();
        Err(SwitchError::NoSuchValue { toggle: self.about.name, value: value.to_owned(), choices })
    }
}
