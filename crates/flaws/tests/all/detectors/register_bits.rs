//! Register bits, node words, CPUID bits and microcode revisions, as the documents give them, set and not set.

use flaws::catalogue;
use record::WorkaroundState::{self, Off, On, Partial, Unknown};
use record::{Answer, FlawEvidence, Protection, Reading, RegisterReading};

use super::evidence::{guest_of, machine_of, of, reported, with_microcode, with_msr, with_pci};

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
    ("fp-dss", (AMD, 0x17, 1, 1), 0xc001_1028, 0x200, 0x10),
    ("zen2-op-cache", (AMD, 0x17, 0x71, 0), 0xc001_102e, 0x2_0000_0000, 0x20),
    ("amd-1485", (AMD, 0x19, 0x11, 1), 0xc001_102e, 0x20, 0x2_0000_0000),
    // The counter is switched off, not on.
    ("amd-1054", (AMD, 0x17, 0x18, 1), 0xc001_0015, 0, 0x4000_0000),
    ("aepic", (INTEL, 6, 0x6a, 6), 0x1b, 0xfee0_0c00, 0xfee0_0800),
    ("platypus", (INTEL, 6, 0x55, 7), 0xbc, 1, 0),
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
        assert_eq!(reported(&of(&catalogue, &other, id)), (Answer::No, Unknown), "{id}");
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
        assert_eq!(reported(&of(&catalogue, &evidence, "k8-c1-ramping")), (Answer::Yes, state), "{word:x}");
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
    ("bpi", (INTEL, 6, 0x55, 7), 0x0500_3901),
    ("bpi", (INTEL, 6, 0x6a, 6), 0x0d00_0404),
    ("entrysign", (AMD, 0x17, 0x71, 0), 0x0870_1035),
    ("entrysign", (AMD, 0x1a, 0x44, 0), 0x0b40_4032),
    ("tsc-deadline", (INTEL, 6, 0x3f, 2), 0x3a),
    ("tsc-deadline", (INTEL, 6, 0x55, 4), 0x0200_0014),
    ("atom-pse", (INTEL, 6, 0x1c, 2), 0x20e),
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
            // The flags that the kernel hides where the microcode is too old are there.
            evidence.flags =
                ["avx", "pse", "rdseed", "tsc_deadline_timer", "xsaves"].map(str::to_owned).to_vec();
            with_microcode(&mut evidence, revision);
            // The other way to work around it was read, and is not in use.
            let flaw = catalogue.find(id).expect(id);
            flaw.msr.iter().for_each(|bits| with_msr(&mut evidence, bits.number, 0));
            assert_eq!(of(&catalogue, &evidence, id).workaround, state, "{id}: {revision:x}");
        }
    }
}

#[test]
fn a_repair_by_microcode_is_paid_for_only_where_its_cost_is_stated() {
    let catalogue = catalogue();
    let paid = |id: &str, cpu: Cpu, flags: &[&str], revision: u64| {
        let mut evidence = machine_of(cpu.0, cpu.1, cpu.2, cpu.3);
        evidence.flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        evidence.cpuid.insert("7.0".into(), [0, 0, 0, 1 << 31]);
        with_microcode(&mut evidence, revision);
        let verdict = of(&catalogue, &evidence, id);
        assert_eq!(reported(&verdict), (Answer::Yes, On), "{verdict:?}");
        verdict.paid
    };
    let skylake = (INTEL, 6, 0x55, 4);
    assert_eq!(paid("tsc-deadline", skylake, &["tsc_deadline_timer"], 0x0200_0014), Answer::Unknown);
    // Without the timer it is the kernel's workaround, which costs.
    assert_eq!(paid("tsc-deadline", skylake, &["fpu"], 0x0200_0014), Answer::Yes);
    assert_eq!(paid("amd-1386", (AMD, 0x17, 0x31, 0), &["xsaves"], 0x0830_1055), Answer::Unknown);
    assert_eq!(paid("amd-1386", (AMD, 0x17, 0x31, 0), &["xsave"], 0x0830_1000), Answer::Yes);
    assert_eq!(paid("rsre", (INTEL, 6, 0x5e, 3), &["fpu"], 0), Answer::No);
}

#[test]
fn an_old_revision_alone_does_not_say_that_the_other_workaround_is_off() {
    // Linux sets the bit itself exactly where the microcode is old; only root can read it.
    let catalogue = catalogue();
    let mut evidence = machine_of(AMD, 0x17, 0x31, 0);
    evidence.flags = vec!["avx".into()];
    let unknown = (Unknown, Protection::Unknown, None);
    let judged = |evidence: &FlawEvidence| {
        let verdict = of(&catalogue, evidence, "zenbleed");
        (verdict.workaround, verdict.protected, verdict.fix)
    };
    with_microcode(&mut evidence, 0x0830_107a);
    assert_eq!(judged(&evidence), unknown, "the register was not asked");
    let refused = Reading::Missing("/dev/cpu/0/msr: permission denied; run as root".into());
    evidence.msr.insert("c0011029".into(), vec![RegisterReading { unit: 0, value: refused }]);
    assert_eq!(judged(&evidence), unknown, "the register is closed");
    // The bit is clear as well where microcode has repaired the CPU.
    with_msr(&mut evidence, 0xc001_1029, 0);
    evidence.cpus.iter_mut().for_each(|cpu| cpu.microcode = None);
    assert_eq!(judged(&evidence), unknown, "the revision is not known");
    with_microcode(&mut evidence, 0x0830_107b);
    evidence.msr.clear();
    assert_eq!(judged(&evidence), (On, Protection::Protected, None));
}

#[test]
fn a_revision_of_another_amd_cpu_is_no_newer_however_large_it_is() {
    let catalogue = catalogue();
    // Revisions hold family, model and stepping above their last eight bits; Linux compared whole ranges of models once.
    for (model, stepping, revision, bits, state) in [
        (0x31, 0, 0x0830_107b, 0, On),
        (0x31, 0, 0x0830_107a, 0, Off),
        (0x38, 0, 0x0830_8001, 0, Unknown),
        (0x38, 0, 0x0830_8001, 0x200, On),
        (0x30, 0, 0x0830_0027, 0, Unknown),
        (0x72, 0, 0x0870_2001, 0, Unknown),
        (0x60, 2, 0x0860_0201, 0, Unknown),
    ] {
        let mut evidence = machine_of(AMD, 0x17, model, stepping);
        evidence.flags = vec!["avx".into()];
        with_microcode(&mut evidence, revision);
        with_msr(&mut evidence, 0xc001_1029, bits);
        let verdict = of(&catalogue, &evidence, "zenbleed");
        assert_eq!(reported(&verdict), (Answer::Yes, state), "{revision:x} {bits:x}: {verdict:?}");
    }
}

#[test]
fn a_feature_that_is_hidden_is_a_workaround_that_is_on() {
    let catalogue = catalogue();
    let cases = [
        ("amd-1386", (AMD, 0x17, 0x71, 0), "xsaves", Off),
        // Microcode can have repaired these, and nobody told its revision.
        ("amd-1386", (AMD, 0x17, 1, 2), "xsaves", Unknown),
        ("amd-vmload", (AMD, 0x19, 0x61, 2), "v_vmsave_vmload", Off),
        ("tsc-deadline", (INTEL, 6, 0x4f, 1), "tsc_deadline_timer", Unknown),
        ("atom-pse", (INTEL, 6, 0x1c, 2), "pse", Unknown),
    ];
    for (id, (vendor, family, model, stepping), flag, offered) in cases {
        let with = |flags: &[&str]| {
            let mut evidence = machine_of(vendor, family, model, stepping);
            evidence.flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
            evidence
        };
        assert_eq!(reported(&of(&catalogue, &with(&["svm"]), id)), (Answer::Yes, On), "{id}");
        assert_eq!(reported(&of(&catalogue, &with(&["svm", flag]), id)), (Answer::Yes, offered), "{id}");
        assert_eq!(of(&catalogue, &with(&[]), id).workaround, Unknown, "{id}: no flag was read");
        let guest = FlawEvidence { hypervisor: Some("KVM".into()), ..with(&["svm"]) };
        assert_eq!(of(&catalogue, &guest, id).workaround, Unknown, "{id}: the hypervisor may hide it");
        let other = FlawEvidence { cpus: machine_of(AMD, 0x1a, 2, 1).cpus, ..with(&["svm"]) };
        assert_eq!(reported(&of(&catalogue, &other, id)), (Answer::No, Unknown), "{id}");
    }
}

#[test]
fn a_flag_that_nothing_shows_is_neither_hidden_nor_missing() {
    let catalogue = catalogue();
    let mut evidence = machine_of(AMD, 0x19, 0x61, 2);
    evidence.flags = vec!["fpu".into(), "svm".into()];
    evidence.flags_unreported = vec!["v_vmsave_vmload".into()];
    let verdict = of(&catalogue, &evidence, "amd-vmload");
    assert_eq!((reported(&verdict), verdict.protected), ((Answer::Yes, Unknown), Protection::Unknown));
    assert_eq!(verdict.paid, Answer::Unknown);
    let mut evidence = machine_of(AMD, 0x17, 0x47, 0);
    evidence.flags = vec!["fpu".into()];
    evidence.flags_unreported = vec!["avx".into()];
    assert_eq!(of(&catalogue, &evidence, "zenbleed").affected, Answer::Unknown);
}

#[test]
fn a_system_register_is_safe_where_cpuid_shows_the_microcode_that_repaired_it() {
    for (edx, state) in [(1 << 31, On), (0, Off)] {
        let mut evidence = machine_of(INTEL, 6, 0x5e, 3);
        evidence.cpuid.insert("7.0".into(), [0, 0, 0, edx]);
        assert_eq!(reported(&of(&catalogue(), &evidence, "rsre")), (Answer::Yes, state), "{edx:x}");
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
            reported(&of(&catalogue, &evidence, "zenbleed")),
            (Answer::Yes, state),
            "{revision:x} {bits:x}"
        );
    }
}

#[test]
fn a_bit_that_the_kernel_set_at_boot_is_off_once_it_is_cleared() {
    // The emulator's revision, which is of no model; the kernel found it too old, said so, and set the bit.
    let catalogue = catalogue();
    for (bits, state, protected) in [(0x200, On, Protection::Protected), (0, Off, Protection::NotProtected)] {
        let mut evidence = machine_of(AMD, 0x17, 0x31, 0);
        evidence.flags = vec!["avx".into()];
        evidence.messages = vec!["Zenbleed: please update your microcode for the most optimal fix".into()];
        with_microcode(&mut evidence, 0x0100_0065);
        with_msr(&mut evidence, 0xc001_1029, bits);
        let verdict = of(&catalogue, &evidence, "zenbleed");
        assert_eq!((verdict.workaround, verdict.protected), (state, protected), "{bits:x}: {verdict:?}");
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
        assert_eq!(reported(&verdict), (Answer::Yes, state), "{capabilities:x} {control:x}");
    }
    for (edx, control, state) in [(0x200, 0, On), (0x200, 1, Off), (0, 0, Off)] {
        let mut evidence = machine_of(INTEL, 6, 0x5e, 3);
        evidence.flags = vec!["rdrand".into()];
        evidence.cpuid.insert("7.0".into(), [0, 0, 0, edx]);
        with_msr(&mut evidence, 0x123, control);
        assert_eq!(
            reported(&of(&catalogue, &evidence, "srbds")),
            (Answer::Yes, state),
            "{edx:x} {control:x}"
        );
    }
}

#[test]
fn a_disable_bit_is_open_while_nobody_knows_whether_the_microcode_has_it() {
    let catalogue = catalogue();
    let unread = |unit| RegisterReading { unit, value: Reading::Missing("permission denied".into()) };
    let reported_on = |unit| RegisterReading { unit, value: Reading::Is(0x200_0000) };
    // Arch capabilities: never read, refused, read on one CPU of two. The bits of gathers and random numbers, on and off:
    // off is off with the switch and without.
    for capabilities in [None, Some([unread(0), unread(1)]), Some([reported_on(0), unread(1)])] {
        for (id, control, state) in
            [("gds", 0, Unknown), ("gds", 0x10, Off), ("srbds", 0, Unknown), ("srbds", 1, Off)]
        {
            let mut evidence = machine_of(INTEL, 6, 0x5e, 3);
            evidence.flags = vec!["avx2".into(), "rdrand".into()];
            with_msr(&mut evidence, 0x123, control);
            if let Some(readings) = &capabilities {
                evidence.msr.insert("10a".into(), readings.to_vec());
            }
            let verdict = of(&catalogue, &evidence, id);
            assert_eq!(reported(&verdict), (Answer::Yes, state), "{id} {control:x}: {verdict:?}");
        }
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
        [("amd-1076", "80000007.0", [0, 0, 0, 1 << 9]), ("ibpb-no-ret", "80000008.0", [0, 1 << 30, 0, 0])]
    {
        let mut evidence = machine_of(AMD, 0x17, 1, 1);
        assert_eq!(of(&catalogue(), &evidence, id).affected, Answer::Unknown, "{id}");
        evidence.cpuid.insert(leaf.into(), answer);
        assert_eq!(of(&catalogue(), &evidence, id).affected, Answer::No, "{id}");
    }
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
        let says = |bits: u64| of(&catalogue(), &status(bits), id).evidence.registers.affected;
        assert_eq!((says(1 << bit), says(0)), (Answer::Yes, Answer::No), "{id}");
    }
}

/// What the tables above and the tests of node words, switches, boot words and known Phenoms exercise.
pub(crate) fn exercised() -> impl Iterator<Item = (&'static str, WorkaroundState)> {
    let bits = BITS.iter().flat_map(|&(id, ..)| [(id, On), (id, Off)]);
    let microcode = MICROCODE.iter().flat_map(|&(id, ..)| [(id, On), (id, Off)]);
    let others = [
        "k8-c1-ramping",
        "gds",
        "srbds",
        "split-lock",
        "bulldozer-l1i",
        "amd-298",
        "amd-vmload",
        "rsre",
        "lazy-fpu",
    ];
    bits.chain(microcode).chain(others.into_iter().flat_map(|id| [(id, On), (id, Off)]))
}
