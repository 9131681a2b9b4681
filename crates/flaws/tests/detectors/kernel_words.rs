//! What the kernel writes for each flaw with the workaround on and off: texts of bugs.c, flags, boot words, processes.

use crate::evidence::{guest_of, of, told, with_file};
use flaws::catalogue;
use record::WorkaroundState::{Attempted, Off, On, Partial, Unknown};
use record::{Answer, FlawEvidence, Special, WorkaroundState};

/// A flaw, the text of its file, and what it means: state, safe, special.
pub(crate) type Case = (&'static str, &'static str, WorkaroundState, Answer, Option<Special>);

const UNPROTECTED: Option<Special> = Some(Special::PayingUnprotected);
const SAFE: Answer = Answer::Yes;
const OPEN: Answer = Answer::No;

/// Texts of Linux 6.17, arch/x86/kernel/cpu/bugs.c, and the older ones that lscpu reports show.
pub(crate) const CASES: &[Case] = &[
    ("spectre-v1", "Mitigation: usercopy/swapgs barriers and __user pointer sanitization", On, SAFE, None),
    (
        "spectre-v1",
        "Vulnerable: __user pointer sanitization and usercopy barriers only; no swapgs barriers",
        Partial,
        OPEN,
        None,
    ),
    ("spectre-v1", "Vulnerable", Off, OPEN, None),
    (
        "spectre-v2",
        "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; BHI: BHI_DIS_S",
        On,
        SAFE,
        None,
    ),
    ("spectre-v2", "Mitigation: Retpolines; RSB filling - vulnerable module loaded", Partial, OPEN, None),
    ("spectre-v2", "Vulnerable; IBPB: disabled; STIBP: disabled; PBRSB-eIBRS: Vulnerable", Off, OPEN, None),
    (
        "spectre-v2-user",
        "Mitigation: Retpolines; IBPB: always-on; STIBP: forced; RSB filling",
        On,
        SAFE,
        None,
    ),
    ("spectre-v2-user", "Mitigation: Retpolines; IBPB: conditional; STIBP: always-on", Partial, OPEN, None),
    (
        "spectre-v2-user",
        "Mitigation: Full generic retpoline, IBPB: conditional, IBRS_FW",
        Partial,
        OPEN,
        None,
    ),
    ("spectre-v2-user", "Vulnerable, IBPB: disabled, STIBP: disabled", Off, OPEN, None),
    ("spectre-bhi", "Mitigation: Enhanced / Automatic IBRS; BHI: BHI_DIS_S", On, SAFE, None),
    ("spectre-bhi", "Mitigation: Retpolines; BHI: SW loop, KVM: SW loop", On, SAFE, None),
    ("spectre-bhi", "Mitigation: Retpolines; BHI: Retpoline", On, SAFE, None),
    ("spectre-bhi", "Mitigation: Enhanced IBRS; BHI: Vulnerable, KVM: SW loop", Partial, OPEN, None),
    ("spectre-bhi", "Mitigation: Enhanced / Automatic IBRS; BHI: Vulnerable", Off, OPEN, None),
    (
        "spectre-rsb",
        "Mitigation: Retpolines; STIBP: disabled; RSB filling; BHI: Not affected",
        On,
        SAFE,
        None,
    ),
    ("spectre-rsb", "Mitigation: Full generic retpoline, IBPB: conditional, RSB filling", On, SAFE, None),
    (
        "pbrsb",
        "Mitigation: Enhanced / Automatic IBRS; PBRSB-eIBRS: SW sequence; BHI: SW loop",
        On,
        SAFE,
        None,
    ),
    ("pbrsb", "Mitigation: Enhanced IBRS; RSB filling; PBRSB-eIBRS: Vulnerable", Off, OPEN, None),
    ("ssb", "Mitigation: Speculative Store Bypass disabled", On, SAFE, None),
    ("ssb", "Mitigation: Speculative Store Bypass disabled via prctl", Partial, OPEN, None),
    ("ssb", "Vulnerable", Off, OPEN, None),
    ("meltdown", "Mitigation: PTI", On, SAFE, None),
    ("meltdown", "Vulnerable", Off, OPEN, None),
    ("l1tf", "Mitigation: PTE Inversion; VMX: flush not necessary, SMT disabled", On, SAFE, None),
    (
        "l1tf",
        "Mitigation: PTE Inversion; VMX: conditional cache flushes, SMT vulnerable",
        Partial,
        OPEN,
        None,
    ),
    ("l1tf", "Mitigation: PTE Inversion; VMX: vulnerable", Partial, OPEN, None),
    ("l1tf", "Vulnerable", Off, OPEN, None),
    ("mds", "Mitigation: Clear CPU buffers; SMT disabled", On, SAFE, None),
    ("mds", "Mitigation: Clear CPU buffers; SMT mitigated", On, SAFE, None),
    ("mds", "Mitigation: Clear CPU buffers; SMT vulnerable", Partial, OPEN, None),
    (
        "mds",
        "Vulnerable: Clear CPU buffers attempted, no microcode; SMT Host state unknown",
        Attempted,
        OPEN,
        UNPROTECTED,
    ),
    ("mds", "Vulnerable; SMT vulnerable", Off, OPEN, None),
    ("taa", "Mitigation: TSX disabled", On, SAFE, None),
    ("taa", "Mitigation: Clear CPU buffers; SMT disabled", On, SAFE, None),
    (
        "taa",
        "Vulnerable: Clear CPU buffers attempted, no microcode; SMT disabled",
        Attempted,
        OPEN,
        UNPROTECTED,
    ),
    ("taa", "Vulnerable", Off, OPEN, None),
    ("mmio-stale-data", "Mitigation: Clear CPU buffers; SMT disabled", On, SAFE, None),
    (
        "mmio-stale-data",
        "Vulnerable: Clear CPU buffers attempted, no microcode; SMT vulnerable",
        Attempted,
        OPEN,
        UNPROTECTED,
    ),
    ("mmio-stale-data", "Vulnerable", Off, OPEN, None),
    ("srbds", "Mitigation: Microcode", On, SAFE, None),
    ("srbds", "Mitigation: TSX disabled", Off, SAFE, None),
    ("srbds", "Vulnerable: No microcode", Off, OPEN, None),
    ("rfds", "Mitigation: Clear Register File", On, SAFE, None),
    ("rfds", "Vulnerable: No microcode", Off, OPEN, None),
    ("itlb-multihit", "KVM: Mitigation: Split huge pages", On, SAFE, None),
    ("itlb-multihit", "KVM: Mitigation: VMX disabled", Off, SAFE, None),
    ("itlb-multihit", "KVM: Vulnerable", Off, OPEN, None),
    ("gds", "Mitigation: Microcode (locked)", On, SAFE, None),
    ("gds", "Mitigation: AVX disabled, no microcode", On, SAFE, None),
    ("gds", "Vulnerable: No microcode", Off, OPEN, None),
    ("its", "Mitigation: Aligned branch/return thunks", On, SAFE, None),
    ("its", "Mitigation: Retpolines, Stuffing RSB", On, SAFE, None),
    ("its", "Mitigation: Vulnerable, KVM: Not affected", Off, OPEN, None),
    ("its", "Vulnerable", Off, OPEN, None),
    ("tsa", "Mitigation: Clear CPU buffers", On, SAFE, None),
    ("tsa", "Mitigation: Clear CPU buffers: VM", Partial, OPEN, None),
    ("tsa", "Mitigation: Clear CPU buffers: user/kernel boundary", Partial, OPEN, None),
    ("tsa", "Vulnerable: No microcode", Off, OPEN, None),
    ("vmscape", "Mitigation: IBPB before exit to userspace", On, SAFE, None),
    ("vmscape", "Vulnerable", Off, OPEN, None),
    ("retbleed", "Mitigation: untrained return thunk; SMT enabled with STIBP protection", On, SAFE, None),
    ("retbleed", "Mitigation: untrained return thunk; SMT vulnerable", Partial, OPEN, None),
    (
        "retbleed",
        "Vulnerable: untrained return thunk / IBPB on non-AMD based uarch",
        Attempted,
        OPEN,
        UNPROTECTED,
    ),
    ("retbleed", "Vulnerable", Off, OPEN, None),
    ("srso", "Mitigation: Safe RET", On, SAFE, None),
    ("srso", "Mitigation: SMT disabled", Off, SAFE, None),
    ("srso", "Vulnerable: Microcode, no safe RET", Partial, OPEN, None),
    ("srso", "Vulnerable: Safe RET, no microcode", Attempted, OPEN, UNPROTECTED),
    ("srso", "Vulnerable: No microcode", Off, OPEN, None),
    ("old-microcode", "Vulnerable", Off, OPEN, None),
];

#[test]
fn each_text_of_a_vulnerability_file_is_read_as_meant() {
    let catalogue = catalogue();
    for &(id, text, state, protected, special) in CASES {
        let file = catalogue.find(id).and_then(|flaw| flaw.vulnerability_file.clone()).expect(id);
        let mut evidence = FlawEvidence::default();
        with_file(&mut evidence, &file, text);
        // What the entry needs is there, or is absent.
        evidence.flags = vec!["avx2".into(), "rdrand".into()];
        let verdict = of(&catalogue, &evidence, id);
        assert_eq!(
            (verdict.affected, verdict.workaround, verdict.protected, verdict.special),
            (Answer::Yes, state, protected, special),
            "{id}: {text}: {verdict:?}"
        );
        with_file(&mut evidence, &file, "Not affected");
        let verdict = of(&catalogue, &evidence, id);
        assert!(verdict.affected != Answer::Yes, "{id}: {verdict:?}");
    }
}

#[test]
fn a_part_that_the_file_does_not_have_says_nothing() {
    let catalogue = catalogue();
    let mut evidence = FlawEvidence::default();
    with_file(&mut evidence, "spectre_v2", "Mitigation: Full generic retpoline, IBPB: conditional");
    for id in ["spectre-bhi", "spectre-rsb", "pbrsb"] {
        let verdict = of(&catalogue, &evidence, id);
        assert_eq!((verdict.affected, verdict.workaround), (Answer::Unknown, Unknown), "{verdict:?}");
    }
    with_file(
        &mut evidence,
        "spectre_v2",
        "Mitigation: Retpolines; PBRSB-eIBRS: Not affected; BHI: Not affected",
    );
    for id in ["spectre-bhi", "pbrsb"] {
        assert_eq!(of(&catalogue, &evidence, id).affected, Answer::No, "{id}");
    }
}

#[test]
fn a_process_knows_better_than_a_workaround_for_those_who_ask() {
    let catalogue = catalogue();
    let ssb = "Mitigation: Speculative Store Bypass disabled via prctl";
    let v2 = "Mitigation: Retpolines; IBPB: conditional; STIBP: conditional";
    let cases = [
        ("ssb", "spec_store_bypass", ssb, "Speculation_Store_Bypass", "thread vulnerable", Off),
        ("ssb", "spec_store_bypass", ssb, "Speculation_Store_Bypass", "thread mitigated", On),
        ("ssb", "spec_store_bypass", ssb, "Speculation_Store_Bypass", "thread force mitigated", On),
        ("ssb", "spec_store_bypass", ssb, "Speculation_Store_Bypass", "not vulnerable", Unknown),
        ("ssb", "spec_store_bypass", "Vulnerable", "Speculation_Store_Bypass", "thread mitigated", Off),
        ("spectre-v2-user", "spectre_v2", v2, "SpeculationIndirectBranch", "conditional enabled", Off),
        ("spectre-v2-user", "spectre_v2", v2, "SpeculationIndirectBranch", "conditional disabled", On),
        ("spectre-v2-user", "spectre_v2", v2, "SpeculationIndirectBranch", "conditional force disabled", On),
    ];
    for (id, file, text, field, status, state) in cases {
        let mut evidence = FlawEvidence::default();
        with_file(&mut evidence, file, text);
        evidence.task_status.insert(field.into(), status.into());
        assert_eq!(of(&catalogue, &evidence, id).workaround, state, "{id}: {status}");
    }
}

#[test]
fn flags_and_boot_words_tell_where_there_is_no_file() {
    let cases = [
        ("tsx-off", &["rtm_always_abort"][..], "", On),
        ("tsx-off", &["rtm"], "", Off),
        ("tsx-off", &[], "ro tsx=off quiet", On),
        ("tsx-off", &[], "ro quiet", Unknown),
        ("split-lock", &[], "split_lock_detect=off", Off),
        ("split-lock", &[], "split_lock_detect=ratelimit:100", On),
        ("split-lock", &[], "split_lock_detect=fatal", On),
        ("bulldozer-l1i", &[], "align_va_addr=off", Off),
        ("bulldozer-l1i", &[], "align_va_addr=on", On),
        ("meltdown", &["pti"], "", On),
    ];
    for (id, flags, line, state) in cases {
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let evidence = FlawEvidence { flags, command_line: Some(line.into()), ..FlawEvidence::default() };
        assert_eq!(of(&catalogue(), &evidence, id).workaround, state, "{id}: {line}");
    }
}

#[test]
fn messages_tell_of_what_no_file_shows() {
    let cases = [
        ("zen5-rdseed", "RDSEED32 is broken. Disabling the corresponding CPUID bit.", On),
        ("zen5-rdseed", "random: crng init done", Unknown),
        ("zenbleed", "Zenbleed: please update your microcode for the most optimal fix", On),
    ];
    for (id, message, state) in cases {
        let evidence = FlawEvidence { messages: vec![message.into()], ..FlawEvidence::default() };
        assert_eq!(of(&catalogue(), &evidence, id).workaround, state, "{id}: {message}");
    }
}

#[test]
fn a_zen_5_guest_pays_for_a_safe_return_that_does_not_protect_it() {
    // As a guest of family 1Ah model 2 under Linux 6.18 is told.
    let catalogue = catalogue();
    let mut evidence = guest_of("AuthenticAMD", 0x1a, 2, 1);
    with_file(&mut evidence, "spec_rstack_overflow", "Vulnerable: Safe RET, no microcode");
    with_file(&mut evidence, "spec_store_bypass", "Vulnerable");
    evidence.bugs = Some(vec!["srso".into(), "spec_store_bypass".into(), "spectre_v2_user".into()]);
    evidence.task_status.insert("SpeculationIndirectBranch".into(), "always enabled".into());
    let verdict = of(&catalogue, &evidence, "srso");
    assert_eq!((verdict.affected, verdict.workaround), (Answer::Yes, Attempted));
    assert_eq!((verdict.paid, verdict.protected), (Answer::Yes, Answer::No));
    assert_eq!(verdict.special, UNPROTECTED);
    assert_eq!(verdict.disagreements, Vec::<String>::new());
    assert_eq!(of(&catalogue, &evidence, "spectre-v2-user").workaround, Off);
    assert_eq!(of(&catalogue, &evidence, "ssb").paid, Answer::No);
    assert_eq!(told(&of(&catalogue, &evidence, "vmscape")), (Answer::Unknown, Unknown));
}
