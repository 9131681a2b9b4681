//! Toggles that are bits of registers: prefetchers, C1 clock ramping, workarounds with a bit of their own, and errata of AMD CPUs
//! whose workaround is a bit, without which results may be wrong.

use machine::Vendor;

use crate::register_toggle::{ABOUT, Bits, Models, Place, RegisterToggle, WORKAROUND};
use crate::{About, Risk};

/// Models of Zen 1 as Linux has them (arch/x86/kernel/cpu/amd.c).
const ZEN_1: Models = Models::amd(0x17, &[(0x0, 0x2f), (0x50, 0x5f)]);
/// Zen 2 as Linux has it (arch/x86/kernel/cpu/amd.c).
const ZEN_2: Models = Models::amd(0x17, &[(0x30, 0x4f), (0x60, 0x7f), (0x90, 0x91), (0xa0, 0xaf)]);

const ERRATUM_1021: RegisterToggle = RegisterToggle {
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

pub(super) static REGISTERS: [RegisterToggle; 16] = [
    RegisterToggle {
        about: About {
            name: "prefetchers",
            title: "Hardware prefetchers (Intel)",
            does: "Switches the four prefetchers of L1 and L2 of every CPU. Without them every miss is paid in full.",
            source: "Intel, Disclosure of Hardware Prefetcher Control on Some Intel Processors, 2014; Intel SDM vol. 4, MSR 1A4H",
            ..ABOUT
        },
        models: &[Models::intel(&[
            (0x1a, 0x1a),
            (0x1e, 0x1f),
            (0x25, 0x25),
            (0x2a, 0x2a),
            (0x2c, 0x2f),
            (0x3a, 0x3a),
            (0x3c, 0x3f),
            (0x45, 0x47),
            (0x4e, 0x4f),
            (0x55, 0x56),
            (0x5e, 0x5e),
        ])],
        bits: &[Bits { place: Place::Msr(0x1a4), mask: 0xf, off: 0xf, on: 0 }],
        off: "no prefetcher",
        on: "all four",
    },
    RegisterToggle {
        about: About {
            name: "k8-c1-ramping",
            title: "Clock ramping in C1 (K8)",
            does: "A K8 core that halts slows its clock, and with it its time-stamp counter, so that the counters of cores drift \
                   apart. Off cures the drift until the next boot.",
            source: "AMD 26094, BKDG for AMD Athlon 64 and Opteron; Xen, arch/x86/cpu/amd.c (PMM7, CpuLowPwrEnh)",
            ..ABOUT
        },
        models: &[Models::amd(0xf, &[(0x0, 0xff)])],
        bits: &[Bits {
            place: Place::AmdNode { function: 3, offset: 0x84 },
            mask: 0x0300_0000,
            off: 0,
            on: 0x0100_0000,
        }],
        off: "counters keep together",
        on: "halted cores save power",
    },
    RegisterToggle {
        about: About {
            name: "gds",
            title: "Gather Data Sampling workaround",
            does: "Stops gathers from passing on stale data. It costs code that gathers, up to five times per gather. Where firmware \
                   locked it, the write is not taken and nothing changes.",
            risk: Risk::LowersSecurity,
            opens: "CVE-2022-40982 (Downfall): any process reads vector registers of others",
            source: "Linux, Documentation/admin-guide/hw-vuln/gather_data_sampling.rst; MSR_IA32_MCU_OPT_CTRL",
            ..ABOUT
        },
        models: &[Models::intel(&[
            (0x4e, 0x4e),
            (0x55, 0x55),
            (0x5e, 0x5e),
            (0x6a, 0x6a),
            (0x6c, 0x6c),
            (0x7e, 0x7e),
            (0x8c, 0x8e),
            (0x9e, 0x9e),
            (0xa5, 0xa7),
        ])],
        bits: &[Bits { place: Place::Msr(0x123), mask: 1 << 4, off: 1 << 4, on: 0 }],
        ..WORKAROUND
    },
    RegisterToggle {
        about: About {
            name: "srbds",
            title: "RDRAND buffer workaround",
            does: "Serialises RDRAND and RDSEED between all cores, so that none reads what another drew.",
            risk: Risk::LowersSecurity,
            opens: "CVE-2020-0543 (CrossTalk): random numbers of others",
            source: "Linux, Documentation/admin-guide/hw-vuln/special-register-buffer-data-sampling.rst",
            ..ABOUT
        },
        models: &[Models::intel(&[
            (0x3a, 0x3a),
            (0x3c, 0x3d),
            (0x45, 0x47),
            (0x4e, 0x4e),
            (0x5e, 0x5e),
            (0x8e, 0x8e),
            (0x9e, 0x9e),
            (0xa5, 0xa6),
        ])],
        bits: &[Bits { place: Place::Msr(0x123), mask: 1 << 0, off: 1 << 0, on: 0 }],
        ..WORKAROUND
    },
    RegisterToggle {
        about: About {
            name: "zenbleed",
            title: "Zenbleed chicken bit",
            does: "Stops the register-file shortcut behind CVE-2023-20593 on Zen 2. It costs merges of vector registers.",
            risk: Risk::LowersSecurity,
            opens: "CVE-2023-20593 (Zenbleed): any process reads registers of others",
            source: "AMD-SB-7008; Linux, arch/x86/kernel/cpu/amd.c",
            ..ABOUT
        },
        models: &[ZEN_2],
        bits: &[Bits { place: Place::Msr(0xc001_1029), mask: 1 << 9, off: 0, on: 1 << 9 }],
        ..WORKAROUND
    },
    RegisterToggle {
        about: About {
            name: "fp-dss",
            title: "Divider workaround (FP-DSS, Zen 1)",
            does: "Changes how the divider of Zen 1 treats denormal numbers, so that no other program on the core can sample \
                   partial results. The cost is not published: sidestep ab --toggle fp-dss measures it here.",
            risk: Risk::LowersSecurity,
            opens: "CVE-2025-54505 (FP-DSS): another program on a core samples partial results of the divider",
            source: "Linux 6.12.117, arch/x86/kernel/cpu/amd.c: MSR_AMD64_FP_CFG_ZEN1_DENORM_FIX_BIT",
            ..ABOUT
        },
        models: &[ZEN_1],
        bits: &[Bits { place: Place::Msr(0xc001_1028), mask: 1 << 9, off: 0, on: 1 << 9 }],
        ..WORKAROUND
    },
    RegisterToggle {
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
    },
    RegisterToggle {
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
    },
    RegisterToggle {
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
    },
    ERRATUM_1021,
    RegisterToggle {
        about: About {
            name: "erratum-1033",
            title: "First Zen workaround (AMD 1033)",
            opens: "erratum 1033 of the revision guide",
            source: "AMD 55449, Revision Guide for AMD Family 17h Models 00h-0Fh Processors, erratum 1033",
            ..ERRATUM_1021.about
        },
        bits: &[Bits { place: Place::Msr(0xc001_1020), mask: 1 << 4, off: 0, on: 1 << 4 }],
        ..ERRATUM_1021
    },
    RegisterToggle {
        about: About {
            name: "erratum-1091",
            title: "First Zen workaround (AMD 1091)",
            opens: "erratum 1091 of the revision guide",
            source: "AMD 55449, Revision Guide for AMD Family 17h Models 00h-0Fh Processors, erratum 1091",
            ..ERRATUM_1021.about
        },
        bits: &[Bits { place: Place::Msr(0xc001_102d), mask: 1 << 34, off: 0, on: 1 << 34 }],
        ..ERRATUM_1021
    },
    RegisterToggle {
        about: About {
            name: "erratum-1095",
            title: "First Zen workaround (AMD 1095)",
            opens: "erratum 1095 of the revision guide",
            source: "AMD 55449, Revision Guide for AMD Family 17h Models 00h-0Fh Processors, erratum 1095",
            ..ERRATUM_1021.about
        },
        bits: &[Bits { place: Place::Msr(0xc001_1020), mask: 1 << 57, off: 0, on: 1 << 57 }],
        ..ERRATUM_1021
    },
    RegisterToggle {
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
    },
    RegisterToggle {
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
    },
    RegisterToggle {
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
    },
];
