//! What the kernel writes for each flaw with the workaround on and off: texts of bugs.c, flags, boot words, processes.

use super::evidence::{guest_of, machine_of, of, reported, switches, with_file};
use flaws::catalogue;
use record::WorkaroundState::{Attempted, Off, On, Partial, Unknown};
use record::{Answer, FlawEvidence, Protection, Special, WorkaroundState};

/// A flaw, the text of its file, and what it means: state, safe, special.
pub(crate) type Case = (&'static str, &'static str, WorkaroundState, Protection, Option<Special>);

const UNPROTECTED: Option<Special> = Some(Special::PayingUnprotected);
const SAFE: Protection = Protection::Protected;
const ON_REQUEST: Protection = Protection::OnRequest;
const PARTLY: Protection = Protection::Partly;
const OPEN: Protection = Protection::NotProtected;

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
    ("spectre-v2", "Mitigation: Retpolines; RSB filling - vulnerable module loaded", Partial, PARTLY, None),
    ("spectre-v2", "Vulnerable; IBPB: disabled; STIBP: disabled; PBRSB-eIBRS: Vulnerable", Off, OPEN, None),
    (
        "spectre-v2-user",
        "Mitigation: Retpolines; IBPB: always-on; STIBP: forced; RSB filling",
        On,
        SAFE,
        None,
    ),
    (
        "spectre-v2-user",
        "Mitigation: Retpolines; IBPB: conditional; STIBP: always-on",
        Partial,
        ON_REQUEST,
        None,
    ),
    (
        "spectre-v2-user",
        "Mitigation: Full generic retpoline, IBPB: conditional, IBRS_FW",
        Partial,
        ON_REQUEST,
        None,
    ),
    // lscpu's writing of an older kernel: it is the threads beside that are always kept apart, not the processes.
    (
        "spectre-v2-user",
        "Mitigation; Full AMD retpoline, IBPB conditional, STIBP always-on, RSB filling",
        Partial,
        ON_REQUEST,
        None,
    ),
    ("spectre-v2-user", "Vulnerable, IBPB: disabled, STIBP: disabled", Off, OPEN, None),
    ("spectre-bhi", "Mitigation: Enhanced / Automatic IBRS; BHI: BHI_DIS_S", On, SAFE, None),
    ("spectre-bhi", "Mitigation: Retpolines; BHI: SW loop, KVM: SW loop", On, SAFE, None),
    ("spectre-bhi", "Mitigation: Retpolines; BHI: Retpoline", On, SAFE, None),
    ("spectre-bhi", "Mitigation: Enhanced IBRS; BHI: Vulnerable, KVM: SW loop", Partial, OPEN, None),
    ("spectre-bhi", "Mitigation: Enhanced / Automatic IBRS; BHI: Vulnerable", Off, OPEN, None),
    // Linux 6.1, arch/arm64/kernel/proton-pack.c.
    ("spectre-bhb", "Mitigation: CSV2, BHB", On, SAFE, None),
    ("spectre-bhb", "Mitigation: Branch predictor hardening, but not BHB", Off, OPEN, None),
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
    ("ssb", "Mitigation: Speculative Store Bypass disabled via prctl", Partial, ON_REQUEST, None),
    ("ssb", "Vulnerable", Off, OPEN, None),
    ("meltdown", "Mitigation: PTI", On, SAFE, None),
    ("meltdown", "Vulnerable", Off, OPEN, None),
    ("l1tf", "Mitigation: PTE Inversion; VMX: flush not necessary, SMT disabled", On, SAFE, None),
    (
        "l1tf",
        "Mitigation: PTE Inversion; VMX: conditional cache flushes, SMT vulnerable",
        Partial,
        PARTLY,
        None,
    ),
    ("l1tf", "Mitigation: PTE Inversion; VMX: vulnerable", Partial, PARTLY, None),
    ("l1tf", "Vulnerable", Off, OPEN, None),
    ("mds", "Mitigation: Clear CPU buffers; SMT disabled", On, SAFE, None),
    ("mds", "Mitigation: Clear CPU buffers; SMT mitigated", On, SAFE, None),
    ("mds", "Mitigation: Clear CPU buffers; SMT vulnerable", Partial, PARTLY, None),
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
    // A kernel without KVM: nothing to split, and nobody to protect from.
    ("itlb-multihit", "Processor vulnerable", Off, SAFE, None),
    ("gds", "Mitigation: Microcode (locked)", On, SAFE, None),
    ("gds", "Mitigation: AVX disabled, no microcode", On, SAFE, None),
    ("gds", "Vulnerable: No microcode", Off, OPEN, None),
    ("its", "Mitigation: Aligned branch/return thunks", On, SAFE, None),
    ("its", "Mitigation: Retpolines, Stuffing RSB", On, SAFE, None),
    ("its", "Mitigation: Vulnerable, KVM: Not affected", Off, OPEN, None),
    ("its", "Vulnerable", Off, OPEN, None),
    ("tsa", "Mitigation: Clear CPU buffers", On, SAFE, None),
    ("tsa", "Mitigation: Clear CPU buffers: VM", Partial, PARTLY, None),
    ("tsa", "Mitigation: Clear CPU buffers: user/kernel boundary", Partial, PARTLY, None),
    ("tsa", "Vulnerable: No microcode", Off, OPEN, None),
    ("vmscape", "Mitigation: IBPB before exit to userspace", On, SAFE, None),
    ("vmscape", "Vulnerable", Off, OPEN, None),
    ("retbleed", "Mitigation: untrained return thunk; SMT enabled with STIBP protection", On, SAFE, None),
    ("retbleed", "Mitigation: untrained return thunk; SMT vulnerable", Partial, PARTLY, None),
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
    // Linux 6.1 of the same three states.
    ("srso", "Mitigation: safe RET", On, SAFE, None),
    ("srso", "Mitigation: safe RET, no microcode", Attempted, OPEN, UNPROTECTED),
    ("srso", "Mitigation: IBPB on VMEXIT only, no microcode", Attempted, OPEN, UNPROTECTED),
    ("srso", "Vulnerable, no microcode", Off, OPEN, None),
    ("old-microcode", "Vulnerable", Off, OPEN, None),
    ("amd-lfence-jmp", "Vulnerable: LFENCE; IBPB: conditional; STIBP: disabled", Off, OPEN, None),
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
        let verdict = of(&catalogue, &evidence, id);
        assert_eq!(verdict.workaround, state, "{id}: {status}");
        // What one process asked for protects no other.
        let protected = if text == "Vulnerable" { OPEN } else { ON_REQUEST };
        assert_eq!(verdict.protected, protected, "{id}: {status}");
    }
}

#[test]
fn a_kernel_that_does_not_know_leaves_it_open_whatever_the_list_says() {
    let catalogue = catalogue();
    for (model, text, affected, protected) in [
        (0x1a, "Unknown: No mitigations", Answer::Unknown, Protection::Unknown),
        (0x1a, "Not affected", Answer::No, Protection::NotAffected),
        (0x55, "Unknown: No mitigations", Answer::Yes, OPEN),
    ] {
        let mut evidence = machine_of("GenuineIntel", 6, model, 5);
        with_file(&mut evidence, "mmio_stale_data", text);
        let verdict = of(&catalogue, &evidence, "mmio-stale-data");
        assert_eq!((verdict.affected, verdict.protected), (affected, protected), "{verdict:?}");
    }
}

const PRCTL: &str = "Mitigation: Speculative Store Bypass disabled via prctl and seccomp";
const IBPB: &str = "Mitigation: Full generic retpoline, IBPB conditional, IBRS_FW, STIBP conditional";
const SMT: &str = "Mitigation: Clear CPU buffers; SMT vulnerable";

/// Flaw, file, what it says, the kernel's command line, the hypervisor, threads of a core, and the fix.
type FixCase =
    (&'static str, &'static str, &'static str, &'static str, Option<&'static str>, u32, Option<&'static str>);

const FIXES: &[FixCase] = &[
    ("ssb", "spec_store_bypass", PRCTL, "", None, 2, Some("spec_store_bypass_disable=on")),
    ("spectre-v2-user", "spectre_v2", IBPB, "", None, 2, Some("spectre_v2_user=on")),
    (
        "ssb",
        "spec_store_bypass",
        "Vulnerable",
        "ro mitigations=off",
        None,
        2,
        Some("boot without mitigations=off"),
    ),
    ("meltdown", "meltdown", "Vulnerable", "nopti nosmt", None, 2, Some("boot without nopti")),
    ("mds", "mds", "Vulnerable; SMT vulnerable", "mds=off", None, 2, Some("boot without mds=off")),
    ("mds", "mds", SMT, "", None, 2, Some("nosmt")),
    // Nobody's threads share a core there: it is not the siblings that leave it open, and the default is no fix.
    ("mds", "mds", SMT, "", None, 1, None),
    ("mds", "mds", "Mitigation: Clear CPU buffers; SMT disabled", "", None, 2, None),
    ("srso", "spec_rstack_overflow", "Vulnerable, no microcode", "", None, 2, Some("update the microcode")),
    // Whose CPU it is decides what the kernel could use: unknown here, and no reason to ask the hypervisor.
    ("retbleed", "retbleed", "Vulnerable", "", Some("KVM"), 2, None),
    (
        "ssb",
        "spec_store_bypass",
        "Vulnerable",
        "",
        Some("KVM"),
        2,
        Some("have the hypervisor expose ssbd or virt_ssbd, with the host's microcode updated"),
    ),
    (
        "spectre-v2",
        "spectre_v2",
        "Vulnerable: eIBRS with unprivileged eBPF; IBPB: conditional",
        "",
        None,
        2,
        Some("sysctl kernel.unprivileged_bpf_disabled=1"),
    ),
    (
        "spectre-v2",
        "spectre_v2",
        "Vulnerable: LFENCE; IBPB: conditional",
        "",
        None,
        2,
        Some("spectre_v2=retpoline,generic"),
    ),
    (
        "amd-lfence-jmp",
        "spectre_v2",
        "Vulnerable: LFENCE; IBPB: conditional",
        "",
        None,
        2,
        Some("spectre_v2=retpoline,generic"),
    ),
];

#[test]
fn a_fix_is_complete_and_can_be_followed_here() {
    let catalogue = catalogue();
    for &(id, file, text, line, hypervisor, threads, fix) in FIXES {
        let mut evidence = FlawEvidence::default();
        with_file(&mut evidence, file, text);
        evidence.command_line = Some(line.to_owned());
        evidence.hypervisor = hypervisor.map(str::to_owned);
        evidence.shape.threads_per_core = threads;
        assert_eq!(of(&catalogue, &evidence, id).fix.as_deref(), fix, "{id}: {text}");
    }
    // Options of x86 are no advice elsewhere; arm64 has its own.
    for (architecture, fix) in [("ppc64le", None), ("aarch64", Some("ssbd=force-on"))] {
        let other_architecture = Some(architecture.to_owned());
        let mut evidence = FlawEvidence { other_architecture, ..FlawEvidence::default() };
        with_file(&mut evidence, "spec_store_bypass", PRCTL);
        let verdict = of(&catalogue, &evidence, "ssb");
        assert_eq!((verdict.protected, verdict.fix.as_deref()), (ON_REQUEST, fix));
    }
    // Microcode without the bit: no option of the kernel helps.
    let mut evidence = machine_of("GenuineIntel", 6, 0x2d, 7);
    with_file(&mut evidence, "spec_store_bypass", "Vulnerable");
    evidence.flags = vec!["fpu".into()];
    assert_eq!(of(&catalogue, &evidence, "ssb").fix.as_deref(), Some("update the microcode"));
    evidence.flags.push("ssbd".into());
    assert_eq!(of(&catalogue, &evidence, "ssb").fix.as_deref(), Some("spec_store_bypass_disable=on"));
}

#[test]
fn a_toggle_that_the_machine_does_not_have_is_not_advised() {
    let catalogue = catalogue();
    let mut evidence = machine_of("AuthenticAMD", 0xf, 0x21, 2);
    let says = |evidence: &FlawEvidence| switches(&of(&catalogue, evidence, "k8-c1-ramping"));
    assert!(says(&evidence).contains("sidestep toggles show k8-c1-ramping"));
    evidence.toggles_missing.insert("k8-c1-ramping".into(), "none of its registers is there".into());
    let without = says(&evidence);
    assert!(!without.contains("toggles show k8-c1-ramping"), "{without}");
    assert!(without.contains("cannot be switched here: none of its registers is there"), "{without}");
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
        ("amd-lfence-jmp", &[], "spectre_v2=retpoline,generic", On),
        ("amd-lfence-jmp", &[], "spectre_v2=retpoline,lfence", Off),
        ("lazy-fpu", &["eagerfpu"], "", On),
        ("lazy-fpu", &[], "eagerfpu=off", Off),
        ("amd-1076", &["cpb"], "", On),
    ];
    for (id, flags, line, state) in cases {
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let evidence = FlawEvidence { flags, command_line: Some(line.into()), ..FlawEvidence::default() };
        assert_eq!(of(&catalogue(), &evidence, id).workaround, state, "{id}: {line}");
    }
}

#[test]
fn a_kernel_without_lazy_registers_protects_by_its_release() {
    for (release, state) in
        [("6.1.0-13-amd64", On), ("6.18.5", On), ("10.0", On), ("4.4.0", Unknown), ("odd", Unknown)]
    {
        let mut evidence = machine_of("GenuineIntel", 6, 0x8f, 8);
        evidence.kernel_release = Some(release.into());
        assert_eq!(of(&catalogue(), &evidence, "lazy-fpu").workaround, state, "{release}");
    }
}

#[test]
fn messages_tell_of_what_no_file_shows() {
    let cases = [
        ("zen5-rdseed", "RDSEED32 is broken. Disabling the corresponding CPUID bit.", On),
        ("zen5-rdseed", "random: crng init done", Unknown),
        ("fp-dss", "AMD Zen1 FPDSS bug detected, enabling mitigation.", On),
        ("tsc-deadline", "[Firmware Bug]: TSC_DEADLINE disabled due to Errata; please update microcode", On),
        ("atom-pse", "Atom PSE erratum detected, BIOS microcode update recommended", On),
        ("amd-lfence-jmp", "Spectre V2 : WARNING: LFENCE mitigation is not recommended for this CPU", Off),
        ("zenbleed", "Zenbleed: please update your microcode for the most optimal fix", On),
    ];
    for (id, message, state) in cases {
        let evidence = FlawEvidence { messages: vec![message.into()], ..FlawEvidence::default() };
        assert_eq!(of(&catalogue(), &evidence, id).workaround, state, "{id}: {message}");
    }
}

#[test]
fn a_bug_that_the_kernel_always_works_around_is_on_where_it_is_named() {
    let catalogue = catalogue();
    for id in ["monitor", "clflush-monitor", "ibpb-no-ret", "amd-1718", "tdx-seamret"] {
        let bug = catalogue.find(id).and_then(|flaw| flaw.bug.clone()).expect(id);
        let named = |bugs: &[String]| FlawEvidence { bugs: Some(bugs.to_vec()), ..FlawEvidence::default() };
        let verdict = of(&catalogue, &named(&[bug]), id);
        assert_eq!((verdict.affected, verdict.workaround), (Answer::Yes, On), "{verdict:?}");
        assert_eq!(of(&catalogue, &named(&[]), id).workaround, Unknown, "{id}");
    }
    assert_eq!(of(&catalogue, &guest_of("GenuineIntel", 6, 0xbd, 1), "monitor").affected, Answer::Yes);
}

#[test]
fn what_a_kernel_says_of_cpus_that_it_does_not_know_yet_or_that_are_made_up_is_not_believed() {
    let catalogue = catalogue();
    for (release, family, affected) in [
        (Some("6.18.1"), 0x1a, Answer::Unknown),
        (None, 0x1a, Answer::Unknown),
        (Some("7.3.4"), 0x1a, Answer::No),
        (Some("6.18.1"), 0x17, Answer::No),
    ] {
        let mut evidence = machine_of("AuthenticAMD", family, 2, 1);
        evidence.kernel_release = release.map(str::to_owned);
        with_file(&mut evidence, "tsa", "Not affected");
        assert_eq!(of(&catalogue, &evidence, "tsa").affected, affected, "{release:?} {family}");
    }
    for (flag, protected) in
        [("amx_tile", record::Protection::Unknown), ("avx2", record::Protection::Protected)]
    {
        let mut evidence = guest_of("GenuineIntel", 6, 0x55, 7);
        evidence.flags.push(flag.to_owned());
        with_file(&mut evidence, "spectre_v2", "Mitigation: Retpolines; RSB filling; BHI: Retpoline");
        let verdict = of(&catalogue, &evidence, "spectre-bhi");
        assert_eq!((verdict.affected, verdict.protected), (Answer::Yes, protected), "{verdict:?}");
    }
}

#[test]
fn variants_that_the_kernel_keeps_apart_are_reported() {
    let catalogue = catalogue();
    for (id, word) in [
        ("mmio-stale-data", "mmio_unknown"),
        ("its", "its_native_only"),
        ("mds", "msbds_only"),
        ("spectre-v1", "swapgs"),
        ("amd-400", "apic_c1e"),
    ] {
        let named = |word: &str| FlawEvidence { bugs: Some(vec![word.into()]), ..FlawEvidence::default() };
        let says = |evidence: &FlawEvidence| of(&catalogue, evidence, id).evidence.kernel.says;
        let flaw = catalogue.find(id).expect(id);
        let means = &flaw.sub_state.iter().find(|sub_state| sub_state.bug == word).expect(word).means;
        assert!(says(&named(word)).contains(&format!("{word}, {means}")), "{}", says(&named(word)));
        assert!(!says(&named("other")).contains(word), "{id}");
        // A variant says nothing of whether the flaw is here: that has its own word.
        assert_ne!(of(&catalogue, &named(word), id).affected, Answer::No, "{id}");
    }
}

#[test]
fn a_zen_5_guest_pays_for_a_safe_return_that_does_not_protect_it() {
    // As a guest of family 1Ah model 2 sees it under Linux 6.18.
    let catalogue = catalogue();
    let mut evidence = guest_of("AuthenticAMD", 0x1a, 2, 1);
    with_file(&mut evidence, "spec_rstack_overflow", "Vulnerable: Safe RET, no microcode");
    with_file(&mut evidence, "spec_store_bypass", "Vulnerable");
    evidence.bugs = Some(vec!["srso".into(), "spec_store_bypass".into(), "spectre_v2_user".into()]);
    evidence.task_status.insert("SpeculationIndirectBranch".into(), "always enabled".into());
    let verdict = of(&catalogue, &evidence, "srso");
    assert_eq!((verdict.affected, verdict.workaround), (Answer::Yes, Attempted));
    assert_eq!((verdict.paid, verdict.protected), (Answer::Yes, OPEN));
    assert_eq!(verdict.special, UNPROTECTED);
    assert_eq!(verdict.disagreements, Vec::<String>::new());
    assert_eq!(of(&catalogue, &evidence, "spectre-v2-user").workaround, Off);
    assert_eq!(of(&catalogue, &evidence, "ssb").paid, Answer::No);
    assert_eq!(reported(&of(&catalogue, &evidence, "vmscape")), (Answer::Unknown, Unknown));
}

#[test]
fn boot_words_that_tell_of_a_flaw_keep_their_values_in_what_is_shared() {
    for flaw in &catalogue().flaws {
        for boot in &flaw.boot_word {
            assert_eq!(machine::shareable_command_line(&boot.word), boot.word, "{}", flaw.id);
        }
    }
}
