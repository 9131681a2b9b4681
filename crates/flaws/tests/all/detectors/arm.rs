//! Flaws of arm64 by the main id register, the kernel's messages and its files; and which flaws are not its own.

use flaws::{Architecture, catalogue, judge};
use machine::ArmSignature;
use record::{Answer, CpuSignature, FlawEvidence, Protection, WorkaroundState};

use super::evidence::{machine_of, of, reported, switches, with_file};

/// An arm64 machine of CPUs with these main id registers.
fn machine(midrs: &[u64]) -> FlawEvidence {
    let cpu = |midr: &u64| CpuSignature {
        vendor: Some("Arm".into()),
        arm: Some(ArmSignature::from_midr(*midr)),
        ..CpuSignature::default()
    };
    FlawEvidence {
        cpus: midrs.iter().map(cpu).collect(),
        other_architecture: Some("aarch64".into()),
        ..FlawEvidence::default()
    }
}

/// Neoverse-N1 r3p1, Cortex-A72 r0p3, Cortex-A510 r1p1 and r1p2, Cortex-A725 r0p1, AmpereOne r0p0.
const N1: u64 = 0x413f_d0c1;
const A72: u64 = 0x410f_d083;
const A510: u64 = 0x411f_d461;
const A510_REPAIRED: u64 = 0x411f_d462;
const A725: u64 = 0x410f_d871;
const AMPERE_ONE: u64 = 0xc00f_ac30;

#[test]
fn errata_are_known_by_part_and_revision() {
    use Answer::{No, Unknown, Yes};
    for (id, midr, expected) in [
        ("arm-1418040", N1, Yes),
        ("arm-1418040", 0x414f_d0c0, No),
        ("arm-1418040", 0x51cf_804d, No),
        ("arm-1418040", 0x51cf_804e, Yes),
        ("arm-1542419", N1, Unknown),
        ("arm-1542419", A72, No),
        ("arm-3194386", A725, Yes),
        ("arm-3194386", A72, No),
        ("arm-4118414", N1, Yes),
        ("arm-4118414", 0x4e0f_0100, Yes),
        ("arm-2441009", A510, Yes),
        ("arm-2441009", A510_REPAIRED, No),
        ("arm-2966298", A510_REPAIRED, Yes),
        ("arm-2966298", 0x410f_d802, No),
        ("arm-1530923", A72, Yes),
        ("arm-1530923", 0x412f_d051, No),
        ("ac03-cpu-38", AMPERE_ONE, Yes),
        ("hisi-161010101", A72, Unknown),
        ("hisi-161010101", N1, No),
        ("spectre-bhb", N1, Yes),
        ("spectre-bhb", A510, No),
        ("spectre-bhb", A725, Unknown),
        ("meltdown", A72, No),
        ("ssb", 0x410f_d034, No),
        ("hybrid-cores", N1, Unknown),
    ] {
        assert_eq!(of(&catalogue(), &machine(&[midr]), id).affected, expected, "{id} of {midr:#x}");
    }
}

#[test]
fn one_little_core_with_a_flaw_is_enough() {
    let verdict = of(&catalogue(), &machine(&[A725, A510, A725]), "arm-2441009");
    assert_eq!((verdict.affected, verdict.because.as_str()), (Answer::Yes, "1 of 3 CPUs are on its list"));
}

#[test]
fn a_message_counts_for_the_errata_of_this_machine_only() {
    let messages = [
        "CPU features: detected: ARM erratum 1542419 (kernel portion)",
        "CPU features: detected: Broken broadcast TLBI completion",
        "CPU features: detected: SSBS not fully self-synchronizing",
        "arch_timer: Enabling global workaround for HiSilicon erratum 161010101",
    ];
    let says = |midr: u64, id: &str| {
        let evidence = FlawEvidence { messages: messages.map(str::to_owned).to_vec(), ..machine(&[midr]) };
        reported(&of(&catalogue(), &evidence, id))
    };
    let (on, unknown) = (WorkaroundState::On, WorkaroundState::Unknown);
    assert_eq!(says(N1, "arm-1542419"), (Answer::Yes, on));
    assert_eq!(says(N1, "arm-4118414"), (Answer::Yes, on));
    assert_eq!(says(N1, "arm-3194386"), (Answer::Yes, on));
    assert_eq!(says(N1, "arm-2441009"), (Answer::No, unknown), "the message is of another erratum");
    assert_eq!(says(A72, "hisi-161010101"), (Answer::Yes, on));
    assert_eq!(says(A510, "arm-2441009"), (Answer::Yes, on));
    assert_eq!(says(A510, "arm-4118414"), (Answer::No, unknown));
}

#[test]
fn the_flag_that_the_workaround_hides_shows_that_it_is_off() {
    let evidence = FlawEvidence { flags: vec!["asimd".into(), "ssbs".into()], ..machine(&[N1]) };
    assert_eq!(reported(&of(&catalogue(), &evidence, "arm-3194386")), (Answer::Yes, WorkaroundState::Off));
}

#[test]
fn one_file_of_the_kernel_covers_branch_targets_and_history() {
    use Protection::{NotAffected, NotProtected, Protected};
    for (text, targets, history) in [
        ("Mitigation: CSV2, BHB", NotAffected, Protected),
        ("Mitigation: Branch predictor hardening, but not BHB", Protected, NotProtected),
        ("Not affected", NotAffected, NotAffected),
    ] {
        let mut evidence = machine(&[N1]);
        with_file(&mut evidence, "spectre_v2", text);
        let found = ["spectre-v2", "spectre-bhb"].map(|id| of(&catalogue(), &evidence, id).protected);
        assert_eq!(found, [targets, history], "{text}");
    }
    let mut evidence = FlawEvidence { command_line: Some("quiet nospectre_bhb".into()), ..machine(&[N1]) };
    with_file(&mut evidence, "spectre_v2", "Mitigation: CSV2, but not BHB");
    let fix = of(&catalogue(), &evidence, "spectre-bhb").fix;
    assert_eq!(fix.as_deref(), Some("boot without nospectre_bhb"));
}

#[test]
fn remedies_are_those_of_the_architecture() {
    let mut evidence = machine(&[N1]);
    with_file(&mut evidence, "spec_store_bypass", "Mitigation: Speculative Store Bypass disabled via prctl");
    let on_arm = switches(&of(&catalogue(), &evidence, "ssb"));
    assert!(on_arm.contains("ssbd=force-on") && !on_arm.contains("spec_store_bypass_disable"), "{on_arm}");
    // In a guest it is the host's firmware that offers what is missing, and no CPU flag of x86.
    let mut guest = FlawEvidence { hypervisor: Some("KVM".into()), ..machine(&[N1]) };
    with_file(&mut guest, "spec_store_bypass", "Vulnerable");
    let fix = of(&catalogue(), &guest, "ssb").fix.unwrap_or_default();
    assert_eq!(fix, "have the hypervisor expose ssbs, with the host's firmware updated");
    let on_x86 = switches(&of(&catalogue(), &machine_of("GenuineIntel", 6, 0x55, 7), "ssb"));
    assert!(!on_x86.contains("ssbd=force-on"), "{on_x86}");
}

#[test]
fn what_closes_a_gap_that_the_kernel_names_is_said_on_arm64_too() {
    let mut evidence = machine(&[N1]);
    with_file(&mut evidence, "spectre_v2", "Vulnerable: Unprivileged eBPF enabled");
    let fix = of(&catalogue(), &evidence, "spectre-v2").fix;
    assert_eq!(fix.as_deref(), Some("sysctl kernel.unprivileged_bpf_disabled=1"));
}

#[test]
fn a_flaw_of_another_architecture_is_never_in_doubt() {
    let catalogue = catalogue();
    for (evidence, other, reason) in [
        (machine(&[N1, A510]), Architecture::X86, "an x86 flaw; this is arm64"),
        (machine(&[0x770f_0010]), Architecture::X86, "an x86 flaw; this is arm64"),
        (machine(&[]), Architecture::X86, "an x86 flaw; this is arm64"),
        (machine_of("GenuineIntel", 6, 0x55, 7), Architecture::Arm64, "an arm64 flaw; this is x86"),
    ] {
        let evidence = FlawEvidence { kernel_release: Some("6.12.117".into()), ..evidence };
        let mut count = 0;
        for (flaw, verdict) in catalogue.flaws.iter().zip(judge(&catalogue, &evidence)) {
            if flaw.architectures == [other] {
                assert_eq!((verdict.affected, verdict.because.as_str()), (Answer::No, reason), "{}", flaw.id);
                assert_eq!(verdict.paid, Answer::No, "{}", flaw.id);
                count += 1;
            }
        }
        assert!(count >= 10, "{count} entries of {other}");
    }
}
