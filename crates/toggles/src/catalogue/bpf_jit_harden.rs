//! Hardening of compiled BPF programs.

use crate::file_toggle::{FileToggle, Setting, Settings};
use crate::{About, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "bpf-jit-harden",
        title: "Blinding of constants in compiled BPF",
        does: "The BPF compiler hides constants of programs, so that none can smuggle in instructions. It costs BPF programs \
               with many constants. Only programs loaded from now on change.",
        needs: &["root", "CONFIG_BPF_JIT"],
        risk: Risk::LowersSecurity,
        opens: "JIT spraying: BPF constants as hidden instructions",
        source: "Linux, Documentation/admin-guide/sysctl/net.rst",
        ..About::SYSTEM
    },
    files: &["proc/sys/net/core/bpf_jit_harden"],
    settings: Settings::Fixed(&[
        Setting::named("off").text("0").means("no constant is blinded").risk(Risk::LowersSecurity),
        Setting::named("unprivileged").text("1").means("those of ordinary users"),
        Setting::named("on").text("2").means("those of all"),
    ]),
    remedy: "build the kernel with CONFIG_BPF_JIT",
    ..FileToggle::BASE
};
