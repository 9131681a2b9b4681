//! Splitting of executable huge pages of guests.

use std::time::Duration;

use crate::file_toggle::{FileToggle, Form, Setting, Settings, Writes, always};
use crate::{About, Lifetime, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "kvm-nx-huge-pages",
        title: "Executable huge pages of guests split",
        does: "KVM maps huge pages of guests without execute permission and splits those that run code (CVE-2018-12207). It \
               costs guests page walks.",
        needs: &["root", "a KVM host"],
        risk: Risk::LowersSecurity,
        opens: "CVE-2018-12207 (iTLB multihit): a guest can halt the host",
        lifetime: Lifetime::System,
        settle: Duration::from_millis(1),
        source: "Linux, Documentation/admin-guide/hw-vuln/multihit.rst",
    },
    files: &["sys/module/kvm/parameters/nx_huge_pages"],
    form: Form::Text,
    settings: Settings::Fixed(&[
        Setting {
            name: "off",
            writes: Writes::Text("N"),
            means: "huge pages may be executable",
            risk: Risk::LowersSecurity,
        },
        Setting {
            name: "on",
            writes: Writes::Text("Y"),
            means: "executable huge pages are split",
            risk: Risk::Reversible,
        },
    ]),
    remedy: "use a KVM host whose module lets it be written",
    last_only: false,
    unless: always,
};
