//! Errata of AMD CPUs whose workaround is a bit of a register: without it results may be wrong.

use machine::Vendor;

use super::registers::ZEN_2;
use crate::register_toggle::{ABOUT, Bits, Models, Place, RegisterToggle, WORKAROUND};
use crate::{About, Risk};

pub(super) const E298: RegisterToggle = RegisterToggle {
    about: About {
        name: "erratum-298",
        title: "Phenom TLB workaround (AMD 298)",
        does: "Keeps page tables out of the caches, so that no stale translation survives while a table entry is marked. It \
               costs every page walk: a third of memory performance, 14 % of applications.",
        risk: Risk::RisksData,
        opens: "erratum 298: a stale L3 copy of a page table, wrong data or a crash",
        source: "AMD 41322, Revision Guide for AMD Family 10h Processors, erratum 298",
        ..ABOUT
    },
    models: &[
        Models { vendor: Vendor::Amd, family: 0x10, numbers: &[(0x2, 0x2)], steppings: (2, 2) },
        Models { vendor: Vendor::Amd, family: 0x10, numbers: &[(0x2, 0x2)], steppings: (10, 10) },
    ],
    bits: &[
        Bits { place: Place::Msr(0xc001_0015), mask: 1 << 3, off: 0, on: 1 << 3 },
        Bits { place: Place::Msr(0xc001_1023), mask: 1 << 1, off: 0, on: 1 << 1 },
    ],
    ..WORKAROUND
};

pub(super) const E721: RegisterToggle = RegisterToggle {
    about: About {
        name: "erratum-721",
        title: "Stack-pointer workaround (AMD 721)",
        does: "Avoids a wrong stack pointer after certain mixes of push, pop and near call. The cost is not published.",
        risk: Risk::RisksData,
        opens: "erratum 721: a wrong stack pointer",
        source: "AMD 41322, Revision Guide for AMD Family 10h Processors, erratum 721",
        ..ABOUT
    },
    models: &[Models::amd(0x10, &[(0x0, 0xff)]), Models::amd(0x12, &[(0x0, 0xff)])],
    bits: &[Bits { place: Place::Msr(0xc001_1029), mask: 1 << 0, off: 0, on: 1 << 0 }],
    ..WORKAROUND
};

pub(super) const E665: RegisterToggle = RegisterToggle {
    about: About {
        name: "erratum-665",
        title: "Divider workaround (AMD 665)",
        does: "Makes integer division of Llano about as slow as that of family 10h. By how much is unverified.",
        risk: Risk::RisksData,
        opens: "erratum 665: a division may give a wrong result",
        source: "AMD 44739, Revision Guide for AMD Family 12h Processors, erratum 665",
        ..ABOUT
    },
    models: &[Models { vendor: Vendor::Amd, family: 0x12, numbers: &[(0x1, 0x1)], steppings: (0, 0) }],
    bits: &[Bits { place: Place::Msr(0xc001_1029), mask: 1 << 31, off: 0, on: 1 << 31 }],
    ..WORKAROUND
};

pub(super) const E1021: RegisterToggle = RegisterToggle {
    about: About {
        name: "erratum-1021",
        title: "First Zen workaround (AMD 1021)",
        does: "A workaround that firmware sets on Zen of models 00h to 0Fh. The cost is not published.",
        risk: Risk::RisksData,
        opens: "erratum 1021 of the revision guide",
        source: "AMD 55449, Revision Guide for AMD Family 17h Models 00h-0Fh Processors, erratum 1021",
        ..ABOUT
    },
    models: &[Models::amd(0x17, &[(0x0, 0xf)])],
    bits: &[Bits { place: Place::Msr(0xc001_1029), mask: 1 << 13, off: 0, on: 1 << 13 }],
    ..WORKAROUND
};

pub(super) const E1033: RegisterToggle = RegisterToggle {
    about: About {
        name: "erratum-1033",
        title: "First Zen workaround (AMD 1033)",
        opens: "erratum 1033 of the revision guide",
        source: "AMD 55449, Revision Guide for AMD Family 17h Models 00h-0Fh Processors, erratum 1033",
        ..E1021.about
    },
    bits: &[Bits { place: Place::Msr(0xc001_1020), mask: 1 << 4, off: 0, on: 1 << 4 }],
    ..E1021
};

pub(super) const E1091: RegisterToggle = RegisterToggle {
    about: About {
        name: "erratum-1091",
        title: "First Zen workaround (AMD 1091)",
        opens: "erratum 1091 of the revision guide",
        source: "AMD 55449, Revision Guide for AMD Family 17h Models 00h-0Fh Processors, erratum 1091",
        ..E1021.about
    },
    bits: &[Bits { place: Place::Msr(0xc001_102d), mask: 1 << 34, off: 0, on: 1 << 34 }],
    ..E1021
};

pub(super) const E1095: RegisterToggle = RegisterToggle {
    about: About {
        name: "erratum-1095",
        title: "First Zen workaround (AMD 1095)",
        opens: "erratum 1095 of the revision guide",
        source: "AMD 55449, Revision Guide for AMD Family 17h Models 00h-0Fh Processors, erratum 1095",
        ..E1021.about
    },
    bits: &[Bits { place: Place::Msr(0xc001_1020), mask: 1 << 57, off: 0, on: 1 << 57 }],
    ..E1021
};

pub(super) const E1485: RegisterToggle = RegisterToggle {
    about: About {
        name: "erratum-1485",
        title: "Branch-buffer workaround (AMD 1485)",
        does: "Keeps valid instructions of Zen 4 from being refused as invalid while single-thread predictors are off. Linux \
               calls the cost negligible.",
        risk: Risk::RisksData,
        opens: "erratum 1485: programs die at random of invalid instructions",
        source: "Linux commit f454b18e07f5, x86/cpu: Fix AMD erratum #1485 on Zen4-based CPUs",
        ..ABOUT
    },
    models: &[Models::amd(0x19, &[(0x10, 0x1f), (0x60, 0xaf)])],
    bits: &[Bits { place: Place::Msr(0xc001_102e), mask: 1 << 5, off: 0, on: 1 << 5 }],
    ..WORKAROUND
};

pub(super) const ZEN_2_OP_CACHE: RegisterToggle = RegisterToggle {
    about: About {
        name: "zen2-op-cache",
        title: "Op-cache workaround (Zen 2)",
        does: "Keeps resources of the op cache apart, without which instructions may be corrupted. The cost is not published.",
        risk: Risk::RisksData,
        opens: "corrupted instructions, perhaps chosen by another program",
        source: "Linux commit c21b90f77687, x86/CPU/AMD: Prevent improper isolation of shared resources in Zen2's op cache",
        ..ABOUT
    },
    models: &[ZEN_2],
    bits: &[Bits { place: Place::Msr(0xc001_102e), mask: 1 << 33, off: 0, on: 1 << 33 }],
    ..WORKAROUND
};

pub(super) const K8_FLUSH_FILTER: RegisterToggle = RegisterToggle {
    about: About {
        name: "k8-flush-filter",
        title: "TLB flush filter off (AMD 63, 122)",
        does: "Switches off the filter that spares TLB flushes when the page tables did not change. It costs switches of \
               process.",
        risk: Risk::RisksData,
        opens: "errata 63 and 122: a translation that should be gone",
        source: "AMD 25759, Revision Guide for AMD Athlon 64 and Opteron Processors, errata 63 and 122",
        ..ABOUT
    },
    models: &[Models::amd(0xf, &[(0x0, 0x7f)])],
    bits: &[Bits { place: Place::Msr(0xc001_0015), mask: 1 << 6, off: 0, on: 1 << 6 }],
    off: "the filter works",
    on: "the filter is off",
};
