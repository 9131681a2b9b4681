//! Hardening of compiled BPF programs.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "bpf-jit-harden",
        title: "Blinding of constants in compiled BPF",
        does: "The BPF compiler hides constants of programs, so that none can smuggle in instructions. It costs BPF programs \
               with many constants. Only programs loaded from now on change.",
        needs: &["root", "CONFIG_BPF_JIT"],
        risk: Risk::LowersSecurity,
        opens: "JIT spraying: BPF constants as hidden instructions",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(1),
        source: "Linux, Documentation/admin-guide/sysctl/net.rst",
    },
    files: &["proc/sys/net/core/bpf_jit_harden"],
    form: Form::Text,
    settings: Settings::Fixed(&[
        Setting {
            name: "off",
            writes: Writes::Text("0"),
            means: "no constant is blinded",
            risk: Risk::LowersSecurity,
        },
        Setting {
            name: "unprivileged",
            writes: Writes::Text("1"),
            means: "those of ordinary users",
            risk: Risk::Reversible,
        },
        Setting { name: "on", writes: Writes::Text("2"), means: "those of all", risk: Risk::Reversible },
    ]),
    remedy: "build the kernel with CONFIG_BPF_JIT",
    last_only: false,
    unless: always,
};
