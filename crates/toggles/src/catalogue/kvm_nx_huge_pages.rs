//! Splitting of executable huge pages of guests.

use crate::file_toggle::{FileToggle, Setting, Settings};
use crate::{About, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "kvm-nx-huge-pages",
        title: "Executable huge pages of guests split",
        does: "KVM maps huge pages of guests without execute permission and splits those that run code (CVE-2018-12207). It \
               costs guests page walks.",
        needs: &["root", "a KVM host"],
        risk: Risk::LowersSecurity,
        opens: "CVE-2018-12207 (iTLB multihit): a guest can halt the host",
        source: "Linux, Documentation/admin-guide/hw-vuln/multihit.rst",
        x86_only: true,
        ..About::SYSTEM
    },
    files: &["sys/module/kvm/parameters/nx_huge_pages"],
    settings: Settings::Fixed(&[
        Setting::named("off").text("N").means("huge pages may be executable").risk(Risk::LowersSecurity),
        Setting::named("on").text("Y").means("executable huge pages are split"),
    ]),
    remedy: "use a KVM host whose module lets it be written",
    ..FileToggle::BASE
};
