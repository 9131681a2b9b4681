//! Register bits, node words, CPUID bits and microcode revisions, as the documents give them, set and not set.

use flaws::catalogue;
use record::WorkaroundState::{self, Off, On, Partial, Unknown};
use record::{Answer, FlawEvidence};

use crate::evidence::{guest_of, machine_of, of, told, with_microcode, with_msr, with_pci};

const AMD: &str = "AuthenticAMD";
const INTEL: &str = "GenuineIntel";

/// A CPU by vendor, family, model, stepping.
type Cpu = (&'static str, u32, u32, u32);

/// A flaw, a CPU that has it or may have it, a register, its value on and its value off.
pub(crate) const BITS: &[(&str, Cpu, u32, u64, u64)] = &[
    ("amd-254", (AMD, 0x10, 2, 2), 0xc001_1023, 0x20_0000, 0),
    ("amd-261", (AMD, 0x10, 2, 3), 0xc001_1022, 0x100_0000, 0),
    ("amd-309", (AMD, 0x10, 2, 10), 0xc001_1023, 0x80_0000, 0),
    // Two bits are cleared, not set; one alone is not enough.
    ("amd-326", (AMD, 0x10, 2, 2), 0xc001_1022, 0, 0x0c00_0000_0000),
    ("amd-383", (AMD, 0x10, 4, 2), 0xc001_1022, 0x8000_0000_0000, 0),
    ("amd-665", (AMD, 0x12, 1, 0), 0xc001_1029, 0x8000_0000, 0),
    ("amd-670", (AMD, 0x12, 1, 0), 0xc001_1020, 0x100, 0),
    ("amd-721", (AMD, 0x10, 8, 1), 0xc001_1029, 1, 0x8000_0000),
    ("amd-530", (AMD, 0x14, 1, 0), 0xc001_1020, 0x10_0000_0000, 0),
    ("amd-551", (AMD, 0x14, 2, 0), 0xc001_1020, 0x200_0000, 0),
    ("amd-560", (AMD, 0x14, 2, 0), 0xc001_1020, 0x4_0000, 0),
    ("amd-629", (AMD, 0x14, 1, 0), 0xc001_0044, 0x40, 0),
    ("amd-688", (AMD, 0x14, 1, 0), 0xc001_1021, 0x4008, 0x4000),
    ("amd-503", (AMD, 0x15, 1, 2), 0xc001_102a, 0x800, 0),
    ("amd-586", (AMD, 0x15, 1, 2), 0xc001_0045, 0x4_0000, 0x8000),
    ("amd-593", (AMD, 0x15, 1, 2), 0xc001_0045, 0x8000, 0x4_0000),
    ("amd-608", (AMD, 0x15, 0x10, 1), 0xc001_1000, 0x1_0000, 0),
    ("amd-663", (AMD, 0x15, 2, 0), 0xc001_001f, 0x80_0000, 0),
    ("amd-727", (AMD, 0x15, 2, 0), 0xc001_1000, 0x8000, 0),
    ("amd-739", (AMD, 0x15, 0x13, 1), 0xc001_0045, 0x8000, 0),
    ("amd-776", (AMD, 0x16, 0, 1), 0xc001_1021, 0x400_0000, 0),
    ("amd-793", (AMD, 0x16, 0x30, 1), 0xc001_1020, 0x8000, 0),
    ("amd-1021", (AMD, 0x17, 1, 1), 0xc001_1029, 0x2000, 0x202),
    ("amd-1033", (AMD, 0x17, 1, 1), 0xc001_1020, 0x10, 0),
    ("amd-1049", (AMD, 0x17, 8, 2), 0xc001_1028, 0x10, 0),
    ("amd-1091", (AMD, 0x17, 1, 2), 0xc001_102d, 0x4_0000_0000, 0),
    ("amd-1095", (AMD, 0x17, 8, 2), 0xc001_1020, 0x200_0000_0000_0000, 0x10),
    ("amd-1474", (AMD, 0x17, 0x31, 0), 0xc001_0296, 0, 0x40_4040),
    ("zenbleed", (AMD, 0x17, 0x47, 0), 0xc001_1029, 0x200, 0),
    ("k8-flush-filter", (AMD, 0xf, 0x21, 2), 0xc001_0015, 0x40, 0),
    ("tsx-off", (INTEL, 6, 0x55, 7), 0x122, 3, 0),
];

#[test]
fn each_documented_bit_tells_on_and_off() {
    let catalogue = catalogue();
    for &(id, (vendor, family, model, stepping), number, on, off) in BITS {
        for (value, state) in [(on, On), (off, Off)] {
            let mut evidence = machine_of(vendor, family, model, stepping);
            with_msr(&mut evidence, number, value);
            let verdict = of(&catalogue, &evidence, id);
            assert_eq!(verdict.workaround, state, "{id}: {value:x}: {verdict:?}");
            assert_ne!(verdict.affected, Answer::No, "{id}: {verdict:?}");
            // One CPU that differs is not the whole machine.
            evidence.msr.values_mut().for_each(|all| all[1].value = record::Reading::Is(on + off - value));
            assert_eq!(of(&catalogue, &evidence, id).workaround, Partial, "{id}");
        }
    }
}

#[test]
fn the_same_bit_of_another_cpu_or_a_guest_says_nothing() {
    let catalogue = catalogue();
    for &(id, (vendor, family, model, stepping), number, on, _) in BITS {
        let mut guest = guest_of(vendor, family, model, stepping);
        with_msr(&mut guest, number, on);
        assert_eq!(of(&catalogue, &guest, id).workaround, Unknown, "{id}");
        let mut other = machine_of(AMD, 0x1a, 2, 1);
        with_msr(&mut other, number, on);
        assert_eq!(told(&of(&catalogue, &other, id)), (Answer::No, Unknown), "{id}");
    }
}

#[test]
fn ramping_clocks_of_a_k8_are_seen_in_the_node_words() {
    let catalogue = catalogue();
    let opterons = || {
        let mut evidence = machine_of(AMD, 0xf, 0x21, 2);
        evidence.flags = vec!["tsc".into()];
        evidence
    };
    for (word, state) in [(0x0013_2113, On), (0x0113_2113, Off), (0x0313_2113, Off)] {
        let mut evidence = opterons();
        with_pci(&mut evidence, 3, 0x84, word);
        assert_eq!(told(&of(&catalogue, &evidence, "k8-c1-ramping")), (Answer::Yes, state), "{word:x}");
    }
    let mut invariant = opterons();
    invariant.flags.push("constant_tsc".into());
    assert_eq!(of(&catalogue, &invariant, "k8-c1-ramping").affected, Answer::No);
    let mut single = opterons();
    single.shape.cpus = 1;
    assert_eq!(of(&catalogue, &single, "k8-c1-ramping").affected, Answer::No);
}

/// A flaw, a CPU, the first revision with the workaround.
pub(crate) const MICROCODE: &[(&str, Cpu, u64)] = &[
    ("zenbleed", (AMD, 0x17, 0x31, 0), 0x0830_107b),
    ("zenbleed", (AMD, 0x17, 0x71, 0), 0x0870_1033),
    ("amd-1386", (AMD, 0x17, 1, 2), 0x0800_126e),
    ("zen5-rdseed", (AMD, 0x1a, 2, 1), 0x0b00_215a),
    ("reptar", (INTEL, 6, 0x6a, 6), 0x0d00_03b9),
    ("reptar", (INTEL, 6, 0xba, 3), 0x411c),
    ("raptor-lake-vmin", (INTEL, 6, 0xb7, 1), 0x12b),
];

#[test]
fn microcode_has_the_workaround_from_its_first_revision_on() {
    let catalogue = catalogue();
    for &(id, (vendor, family, model, stepping), first) in MICROCODE {
        for (revision, state) in [(first, On), (first + 1, On), (first - 1, Off)] {
            let mut evidence = machine_of(vendor, family, model, stepping);
            evidence.flags = vec!["avx".into()];
            with_microcode(&mut evidence, revision);
            assert_eq!(of(&catalogue, &evidence, id).workaround, state, "{id}: {revision:x}");
        }
    }
}

#[test]
fn new_microcode_or_the_chicken_bit_is_enough_for_zenbleed() {
    let catalogue = catalogue();
    for (revision, bits, state) in [(0x0830_107b, 0, On), (0x0830_107a, 0x200, On), (0x0830_107a, 0, Off)] {
        let mut evidence = machine_of(AMD, 0x17, 0x31, 0);
        evidence.flags = vec!["avx".into()];
        with_microcode(&mut evidence, revision);
        with_msr(&mut evidence, 0xc001_1029, bits);
        assert_eq!(
            told(&of(&catalogue, &evidence, "zenbleed")),
            (Answer::Yes, state),
            "{revision:x} {bits:x}"
        );
    }
}

#[test]
fn a_cleared_disable_bit_means_nothing_without_the_microcode_that_has_it() {
    // Arch capabilities bit 25 and MCU_OPT_CTRL bit 4 for gathers; CPUID 7 EDX bit 9 and bit 0 for random numbers.
    let catalogue = catalogue();
    for (capabilities, control, state) in
        [(0x200_0000, 0, On), (0x200_0000, 0x10, Off), (0, 0, Off), (0, 0x10, Off)]
    {
        let mut evidence = machine_of(INTEL, 6, 0x5e, 3);
        evidence.flags = vec!["avx2".into()];
        with_msr(&mut evidence, 0x10a, capabilities);
        with_msr(&mut evidence, 0x123, control);
        let verdict = of(&catalogue, &evidence, "gds");
        assert_eq!(told(&verdict), (Answer::Yes, state), "{capabilities:x} {control:x}");
    }
    for (edx, control, state) in [(0x200, 0, On), (0x200, 1, Off), (0, 0, Off)] {
        let mut evidence = machine_of(INTEL, 6, 0x5e, 3);
        evidence.flags = vec!["rdrand".into()];
        evidence.cpuid.insert("7.0".into(), [0, 0, 0, edx]);
        with_msr(&mut evidence, 0x123, control);
        assert_eq!(told(&of(&catalogue, &evidence, "srbds")), (Answer::Yes, state), "{edx:x} {control:x}");
    }
}

#[test]
fn a_cpu_that_says_it_is_immune_is_believed() {
    // IA32_ARCH_CAPABILITIES, one bit each.
    for (id, model, bits) in [
        ("meltdown", 0x55, 1 << 0),
        ("l1tf", 0x55, 1 << 0),
        ("ssb", 0x55, 1 << 4),
        ("mds", 0x55, 1 << 5),
        ("itlb-multihit", 0x55, 1 << 6),
        ("taa", 0x55, 1 << 8),
        ("mmio-stale-data", 0x55, 7 << 13),
        ("pbrsb", 0x55, 1 << 24),
        ("gds", 0x55, 1 << 26),
        ("rfds", 0x9c, 1 << 27),
    ] {
        let mut evidence = machine_of(INTEL, 6, model, 7);
        evidence.flags = vec!["avx2".into()];
        with_msr(&mut evidence, 0x10a, bits);
        assert_eq!(of(&catalogue(), &evidence, id).affected, Answer::No, "{id}");
        with_msr(&mut evidence, 0x10a, 0);
        assert_ne!(of(&catalogue(), &evidence, id).affected, Answer::No, "{id}");
    }
    // CPUID: BTC_NO for Retbleed, SRSO_NO.
    for (id, leaf, answer) in
        [("retbleed", "80000008.0", [0, 1 << 29, 0, 0]), ("srso", "80000021.0", [1 << 29, 0, 0, 0])]
    {
        let mut evidence = machine_of(AMD, 0x17, 0x31, 0);
        assert_eq!(of(&catalogue(), &evidence, id).affected, Answer::Yes, "{id}");
        evidence.cpuid.insert(leaf.into(), answer);
        assert_eq!(of(&catalogue(), &evidence, id).affected, Answer::No, "{id}");
    }
}

#[test]
fn the_visible_workaround_status_tells_what_is_repaired() {
    // OSVW bits 1 and 3 of a family 10h CPU with four valid bits.
    let status = |bits: u64| -> FlawEvidence {
        let mut evidence = machine_of(AMD, 0x10, 4, 2);
        with_msr(&mut evidence, 0xc001_0140, 4);
        with_msr(&mut evidence, 0xc001_0141, bits);
        evidence
    };
    for (id, bit) in [("amd-400", 1), ("amd-383", 3)] {
        let says = |bits: u64| of(&catalogue(), &status(bits), id).witnesses.registers.affected;
        assert_eq!((says(1 << bit), says(0)), (Answer::Yes, Answer::No), "{id}");
    }
}

/// What the tables above and the tests of node words, switches, boot words and known Phenoms exercise.
pub(crate) fn exercised() -> impl Iterator<Item = (&'static str, WorkaroundState)> {
    let bits = BITS.iter().flat_map(|&(id, ..)| [(id, On), (id, Off)]);
    let microcode = MICROCODE.iter().flat_map(|&(id, ..)| [(id, On), (id, Off)]);
    let others = ["k8-c1-ramping", "gds", "srbds", "split-lock", "bulldozer-l1i", "amd-298"];
    bits.chain(microcode).chain(others.into_iter().flat_map(|id| [(id, On), (id, Off)]))
}
