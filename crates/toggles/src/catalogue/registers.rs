//! Registers of performance and security: prefetchers, C1 clock ramping, and workarounds with a bit of their own.

use crate::register_toggle::{ABOUT, Bits, Models, Place, RegisterToggle, WORKAROUND};
use crate::{About, Risk};

pub(super) const PREFETCHERS: RegisterToggle = RegisterToggle {
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
};

pub(super) const C1_RAMPING: RegisterToggle = RegisterToggle {
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
};

/// Zen 2 as Linux has it (arch/x86/kernel/cpu/amd.c).
pub(super) const ZEN_2: Models = Models::amd(0x17, &[(0x30, 0x4f), (0x60, 0x7f), (0x90, 0x91), (0xa0, 0xaf)]);

pub(super) const ZENBLEED: RegisterToggle = RegisterToggle {
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
};

/// Models of Zen 1 as Linux has them (arch/x86/kernel/cpu/amd.c).
const ZEN_1: &[(u32, u32)] = &[(0x0, 0x2f), (0x50, 0x5f)];

pub(super) const FP_DSS: RegisterToggle = RegisterToggle {
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
    models: &[Models::amd(0x17, ZEN_1)],
    bits: &[Bits { place: Place::Msr(0xc001_1028), mask: 1 << 9, off: 0, on: 1 << 9 }],
    ..WORKAROUND
};

pub(super) const GDS: RegisterToggle = RegisterToggle {
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
};

pub(super) const SRBDS: RegisterToggle = RegisterToggle {
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
};
