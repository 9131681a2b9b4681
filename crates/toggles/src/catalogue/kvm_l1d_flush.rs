//! Flush of the L1 data cache before a guest is entered.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "kvm-l1d-flush",
        title: "L1 cache flush before guests",
        does: "KVM empties the L1 data cache before it enters a guest: never, after code that may have loaded secrets, or always \
               (CVE-2018-3646).",
        needs: &["root", "a KVM host with an Intel CPU"],
        risk: Risk::LowersSecurity,
        opens: "CVE-2018-3646 (L1 Terminal Fault): a guest can read the L1 cache of the host",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(1),
        source: "Linux, Documentation/admin-guide/hw-vuln/l1tf.rst",
    },
    files: &["sys/module/kvm_intel/parameters/vmentry_l1d_flush"],
    form: Form::Text,
    settings: Settings::Fixed(&[
        Setting {
            name: "never",
            writes: Writes::Text("never"),
            means: "no flush",
            risk: Risk::LowersSecurity,
        },
        Setting {
            name: "cond",
            writes: Writes::Text("cond"),
            means: "after code that may have loaded secrets",
            risk: Risk::Reversible,
        },
        Setting {
            name: "always",
            writes: Writes::Text("always"),
            means: "at each entry",
            risk: Risk::Reversible,
        },
    ]),
    remedy: "use a KVM host with an affected Intel CPU",
    last_only: false,
    unless: always,
};
