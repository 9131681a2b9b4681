//! Flush of the L1 data cache before a guest is entered.

use crate::file_toggle::{FileToggle, Setting, Settings};
use crate::{About, Risk};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "kvm-l1d-flush",
        title: "L1 cache flush before guests",
        does: "KVM empties the L1 data cache before it enters a guest: never, after code that may have loaded secrets, or always \
               (CVE-2018-3646).",
        needs: &["root", "a KVM host with an Intel CPU"],
        risk: Risk::LowersSecurity,
        opens: "CVE-2018-3646 (L1 Terminal Fault): a guest can read the L1 cache of the host",
        source: "Linux, Documentation/admin-guide/hw-vuln/l1tf.rst",
        x86_only: true,
        ..About::SYSTEM
    },
    files: &["sys/module/kvm_intel/parameters/vmentry_l1d_flush"],
    settings: Settings::Fixed(&[
        Setting::named("never").text("never").means("no flush").risk(Risk::LowersSecurity),
        Setting::named("cond").text("cond").means("after code that may have loaded secrets"),
        Setting::named("always").text("always").means("at each entry"),
    ]),
    remedy: "use a KVM host with an affected Intel CPU",
    ..FileToggle::BASE
};
