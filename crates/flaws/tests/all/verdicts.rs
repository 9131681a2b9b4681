//! Verdicts on machines whose answers are known: register dumps, latency curves, guests, mixed boards.

use std::collections::BTreeMap;

use flaws::{Catalogue, catalogue, judge, uneven};
use record::{
    Answer, CpuSignature, FlawEvidence, FlawVerdict, Protection, Reading, RegisterReading, SignatureReading,
    Special, WorkaroundState,
};
use stats::Interval;

fn cpu(vendor: &str, family: u32, model: u32, stepping: u32) -> CpuSignature {
    CpuSignature {
        vendor: Some(vendor.into()),
        family: Some(family),
        model: Some(model),
        stepping: Some(stepping),
        ..CpuSignature::default()
    }
}

fn phenom(stepping: u32) -> CpuSignature {
    cpu("AuthenticAMD", 0x10, 2, stepping)
}

fn all_cpus(values: &[u64]) -> Vec<RegisterReading> {
    let reading =
        |(unit, value): (usize, &u64)| RegisterReading { unit: unit as u32, value: Reading::Is(*value) };
    values.iter().enumerate().map(reading).collect()
}

/// Two CPUs with these registers.
fn board(cpus: &[CpuSignature], hwcr: [u64; 2], bu_cfg: [u64; 2], osvw: u64) -> FlawEvidence {
    let msr = [
        ("c0010015", all_cpus(&hwcr)),
        ("c0011023", all_cpus(&bu_cfg)),
        ("c0010140", all_cpus(&[4, 4])),
        ("c0010141", all_cpus(&[osvw, osvw])),
    ];
    FlawEvidence {
        cpus: cpus.to_vec(),
        msr: msr.map(|(number, readings)| (number.to_owned(), readings)).into(),
        ..FlawEvidence::default()
    }
}

fn measured(quantity: &str, value: f64, spread: f64) -> BTreeMap<String, Reading<SignatureReading>> {
    let reading = SignatureReading {
        value,
        interval: Interval { low: value - spread, high: value + spread },
        unit: "core cycles".into(),
        count: 200,
        control: "control".into(),
        control_ratio: 1.0,
        control_interval: Interval { low: 0.99, high: 1.01 },
        control_holds: true,
    };
    [(quantity.to_owned(), Reading::Is(reading))].into()
}

fn of(catalogue: &Catalogue, evidence: &FlawEvidence, id: &str) -> FlawVerdict {
    judge(catalogue, evidence).into_iter().find(|verdict| verdict.id == id).expect("it is in the catalogue")
}

#[test]
fn the_registers_of_three_known_phenoms_tell_on_and_off() {
    // Dumps of InstLatx64 as quoted in the catalogue's sources: an engineering sample, a Phenom 9500, an Opteron.
    let cases = [
        (2, 0x0100_0010, 0x20, 0, WorkaroundState::Off, Answer::No),
        (2, 0x0100_0018, 0x22, 1, WorkaroundState::On, Answer::Yes),
        (10, 0x0100_0019, 0x22, 1, WorkaroundState::On, Answer::Yes),
    ];
    for (stepping, hwcr, bu_cfg, osvw, state, paid) in cases {
        let evidence = board(&[phenom(stepping), phenom(stepping)], [hwcr; 2], [bu_cfg; 2], osvw);
        let verdict = of(&catalogue(), &evidence, "amd-298");
        assert_eq!(verdict.affected, Answer::Yes, "{verdict:?}");
        assert_eq!(verdict.workaround, state, "{verdict:?}");
        assert_eq!(verdict.paid, paid, "{verdict:?}");
        assert_eq!(verdict.disagreements.is_empty(), osvw == 1, "{verdict:?}");
    }
}

#[test]
fn the_next_stepping_is_repaired_and_one_old_cpu_makes_the_board_affected() {
    let repaired = board(&[phenom(3), phenom(3)], [0x10; 2], [0x20; 2], 0);
    let verdict = of(&catalogue(), &repaired, "amd-298");
    assert_eq!(verdict.affected, Answer::No);
    assert!(verdict.evidence.registers.says.contains("OSVW bit 0: repaired"), "{verdict:?}");
    assert!(verdict.because.contains("repaired in this stepping"), "{}", verdict.because);
    let mixed = board(&[phenom(2), phenom(3)], [0x18; 2], [0x22; 2], 1);
    let verdict = of(&catalogue(), &mixed, "amd-298");
    assert_eq!((verdict.affected, verdict.workaround), (Answer::Yes, WorkaroundState::On));
    assert!(uneven(&catalogue(), &mixed)[0].contains("family-model-stepping differs"));
}

#[test]
fn bits_that_differ_between_cpus_are_a_finding_and_no_yes() {
    let evidence = board(&[phenom(2), phenom(2)], [0x18, 0x10], [0x22, 0x20], 1);
    let verdict = of(&catalogue(), &evidence, "amd-298");
    assert_eq!(verdict.workaround, WorkaroundState::Partial);
    assert_eq!(verdict.protected, Protection::Partly);
    assert_eq!(uneven(&catalogue(), &evidence).len(), 2);
}

#[test]
fn flaws_of_x86_are_not_looked_for_elsewhere() {
    let reported = Reading::Is("Mitigation: CSV2, BHB".to_owned());
    let mut evidence = FlawEvidence {
        other_architecture: Some("aarch64".into()),
        vulnerabilities: Some([("spectre_v2".to_owned(), reported)].into()),
        ..FlawEvidence::default()
    };
    evidence.shape.cpus = 20;
    evidence.shape.core_kinds = 2;
    let catalogue = catalogue();
    for (id, affected) in [
        ("amd-298", Answer::No),
        ("snoop-asymmetry", Answer::No),
        ("split-lock", Answer::No),
        ("gds", Answer::No),
        // CSV2 keeps predictions apart: what is left is the history of branches.
        ("spectre-v2", Answer::No),
        ("spectre-bhb", Answer::Yes),
        ("hybrid-cores", Answer::Yes),
        ("meltdown", Answer::Unknown),
        ("taa", Answer::No),
        ("mds", Answer::No),
    ] {
        let verdict = of(&catalogue, &evidence, id);
        assert_eq!(verdict.affected, affected, "{verdict:?}");
    }
}

#[test]
fn a_vendor_that_cannot_have_a_flaw_is_not_affected_and_reported_why() {
    let catalogue = catalogue();
    let amd = [
        ("taa", "of Intel alone"),
        ("mds", "NO_MDS"),
        ("pbrsb", "NO_EIBRS_PBRSB"),
        ("spectre-bhi", "NO_BHI"),
    ];
    let cpus =
        [cpu("AuthenticAMD", 0x17, 1, 2), cpu("HygonGenuine", 0x18, 1, 1), cpu("AuthenticAMD", 0x19, 1, 1)];
    for (id, why) in amd {
        for cpu in &cpus {
            let evidence = FlawEvidence { cpus: vec![cpu.clone()], ..FlawEvidence::default() };
            let verdict = of(&catalogue, &evidence, id);
            assert_eq!(verdict.protected, Protection::NotAffected, "{verdict:?}");
            assert!(verdict.because.contains(why), "{}", verdict.because);
        }
    }
    for architecture in ["ppc64le", "ia64"] {
        let other_architecture = Some(architecture.to_owned());
        let evidence = FlawEvidence { other_architecture, ..FlawEvidence::default() };
        let verdict = of(&catalogue, &evidence, "taa");
        assert_eq!(verdict.affected, Answer::No);
        assert!(
            verdict.because.starts_with(&format!("it is no flaw of {architecture}")),
            "{}",
            verdict.because
        );
    }
    // A list of CPUs of one vendor says so, too.
    let intel = FlawEvidence { cpus: vec![cpu("GenuineIntel", 6, 0x55, 7)], ..FlawEvidence::default() };
    assert_eq!(of(&catalogue, &intel, "zenbleed").because, "no CPU of Intel is on its list");
    assert_eq!(of(&catalogue, &intel, "taa").affected, Answer::Unknown);
    // Intel's list calls these not affected, each in the steppings that it names.
    for (model, stepping) in [(0x8f, 8), (0xaa, 4), (0xcf, 2), (0xbd, 1)] {
        for id in ["l1tf", "mds", "meltdown", "taa"] {
            for (stepping, affected) in [(stepping, Answer::No), (0xf, Answer::Unknown)] {
                let cpus = vec![cpu("GenuineIntel", 6, model, stepping)];
                let verdict = of(&catalogue, &FlawEvidence { cpus, ..FlawEvidence::default() }, id);
                assert_eq!(verdict.affected, affected, "{id} {model:x} {stepping:x}: {verdict:?}");
            }
        }
    }
    // Nehalem never had transactions, Haswell has.
    for (model, affected) in [(0x1a, Answer::No), (0x3e, Answer::No), (0x3c, Answer::Unknown)] {
        let evidence =
            FlawEvidence { cpus: vec![cpu("GenuineIntel", 6, model, 4)], ..FlawEvidence::default() };
        assert_eq!(of(&catalogue, &evidence, "tsx-off").affected, affected, "{model:x}");
    }
}

#[test]
fn who_is_not_on_a_list_that_is_not_complete_may_have_the_flaw() {
    let catalogue = catalogue();
    let on = |cpu: CpuSignature| FlawEvidence { cpus: vec![cpu], ..FlawEvidence::default() };
    for (id, vendor, family, affected) in [
        ("sinkclose", "AuthenticAMD", 0x15, Answer::Unknown),
        ("sinkclose", "GenuineIntel", 6, Answer::No),
        ("hertzbleed", "AuthenticAMD", 0x1a, Answer::Unknown),
        ("sls", "AuthenticAMD", 0x1a, Answer::Unknown),
    ] {
        let verdict = of(&catalogue, &on(cpu(vendor, family, 2, 0)), id);
        assert_eq!(verdict.affected, affected, "{verdict:?}");
    }
    let arm = FlawEvidence { other_architecture: Some("aarch64".into()), ..FlawEvidence::default() };
    for (id, affected) in [("sls", Answer::Unknown), ("sinkclose", Answer::No)] {
        assert_eq!(of(&catalogue, &arm, id).affected, affected, "{id}");
    }
}

#[test]
fn a_branch_barrier_is_judged_by_cpuid_on_any_family() {
    for (ebx, affected) in [(0x1007, Answer::Yes), (0x4000_1000, Answer::No), (0, Answer::No)] {
        for family in [0x15, 0x17, 0x1a] {
            let mut evidence =
                FlawEvidence { cpus: vec![cpu("AuthenticAMD", family, 2, 0)], ..FlawEvidence::default() };
            assert_eq!(of(&catalogue(), &evidence, "ibpb-no-ret").affected, Answer::Unknown);
            evidence.cpuid.insert("80000008.0".into(), [0, ebx, 0, 0]);
            assert_eq!(of(&catalogue(), &evidence, "ibpb-no-ret").affected, affected, "{family:x} {ebx:x}");
        }
    }
}

#[test]
fn a_bug_that_a_hypervisor_makes_up_is_mitigated_without_need() {
    let guest = |vendor: &str, bug: &str| FlawEvidence {
        cpus: vec![cpu(vendor, 6, 0xcf, 2)],
        hypervisor: Some("KVM".into()),
        bugs: Some(vec![bug.to_owned()]),
        ..FlawEvidence::default()
    };
    let made_up = of(&catalogue(), &guest("GenuineIntel", "ibpb_no_ret"), "ibpb-no-ret");
    assert_eq!((made_up.affected, made_up.special), (Answer::No, Some(Special::WithoutNeed)), "{made_up:?}");
    assert!(made_up.disagreements.is_empty(), "{made_up:?}");
    let real = of(&catalogue(), &guest("AuthenticAMD", "ibpb_no_ret"), "ibpb-no-ret");
    assert_eq!((real.affected, real.special), (Answer::Yes, None), "{real:?}");
}

#[test]
fn a_kernel_that_goes_by_a_made_up_model_is_not_believed() {
    let guest = |flag: &str| FlawEvidence {
        cpus: vec![cpu("GenuineIntel", 6, 0xa7, 1)],
        hypervisor: Some("KVM".into()),
        flags: vec!["fpu".into(), flag.into()],
        vulnerabilities: Some([("retbleed".to_owned(), Reading::Is("Vulnerable".into()))].into()),
        ..FlawEvidence::default()
    };
    for (flag, affected) in [("amx_tile", Answer::No), ("avx2", Answer::Yes)] {
        assert_eq!(of(&catalogue(), &guest(flag), "retbleed").affected, affected, "{flag}");
    }
}

#[test]
fn a_list_by_vendor_says_nothing_of_a_vendor_that_it_does_not_know() {
    let on = |vendor| FlawEvidence { cpus: vec![cpu(vendor, 6, 2, 0)], ..FlawEvidence::default() };
    for (vendor, affected) in [("Genuine  RDC", Answer::Unknown), ("CentaurHauls", Answer::No)] {
        for id in ["retbleed", "gds", "amd-298"] {
            assert_eq!(of(&catalogue(), &on(vendor), id).affected, affected, "{id} of {vendor}");
        }
    }
}

#[test]
fn an_erratum_of_x86_or_arm_is_none_of_another_architecture() {
    let catalogue = catalogue();
    for name in ["riscv64", "loongarch64", "sparc64", "powerpc64", "s390x"] {
        let other = FlawEvidence { other_architecture: Some(name.into()), ..FlawEvidence::default() };
        for (flaw, verdict) in catalogue.flaws.iter().zip(judge(&catalogue, &other)) {
            let is_general = flaw.vulnerability_file.is_some();
            assert!(
                is_general || verdict.affected == Answer::No,
                "{} on {name}: {}",
                verdict.id,
                verdict.because
            );
        }
    }
}

#[test]
fn a_hidden_flag_does_not_outweigh_the_kernel_that_calls_the_cpu_vulnerable() {
    let reported = |id: &str, file: &str, flags: &[&str]| {
        let evidence = FlawEvidence {
            cpus: vec![cpu("GenuineIntel", 6, 0x5e, 3)],
            flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
            vulnerabilities: Some([(file.to_owned(), Reading::Is("Vulnerable: No microcode".into()))].into()),
            ..FlawEvidence::default()
        };
        of(&catalogue(), &evidence, id)
    };
    // `nordrand` hides RDRAND; gathers need the flag avx2.
    for (id, file) in [("srbds", "srbds"), ("gds", "gather_data_sampling")] {
        let verdict = reported(id, file, &["fpu"]);
        assert_eq!(
            (verdict.affected, verdict.protected),
            (Answer::Yes, Protection::NotProtected),
            "{verdict:?}"
        );
        assert!(flaws::unmet(&verdict).is_some(), "{id}");
    }
    assert_eq!(reported("gds", "gather_data_sampling", &["fpu"]).disagreements.len(), 1);
}

#[test]
fn meteor_lake_is_known_by_the_stepping_that_its_cpuid_shows() {
    let evidence = FlawEvidence { cpus: vec![cpu("GenuineIntel", 6, 0xaa, 4)], ..FlawEvidence::default() };
    for id in ["aepic", "lvi", "cacheout", "platypus"] {
        assert_ne!(of(&catalogue(), &evidence, id).affected, Answer::Unknown, "{id}");
    }
}

#[test]
fn designs_of_amd_are_those_of_hygon_and_of_later_boards() {
    let catalogue = catalogue();
    let mut hygon = FlawEvidence { cpus: vec![cpu("HygonGenuine", 0x18, 0, 1)], ..FlawEvidence::default() };
    hygon.shape.last_level_caches = 8;
    assert_eq!(of(&catalogue, &hygon, "zen-ccx").affected, Answer::Yes);
    // Four Opteron 6168 and four Opteron 6348.
    for (family, model) in [(0x10, 9), (0x15, 2)] {
        let mut board =
            FlawEvidence { cpus: vec![cpu("AuthenticAMD", family, model, 0)], ..FlawEvidence::default() };
        board.shape.packages = 4;
        assert_eq!(of(&catalogue, &board, "snoop-asymmetry").affected, Answer::Unknown, "{family:x}");
    }
}

#[test]
fn an_instruction_that_the_kernel_hides_is_its_workaround() {
    let catalogue = catalogue();
    for (flags, microcode, state) in [
        (&["fpu", "xsave"][..], 0x830_1000, WorkaroundState::On),
        (&["fpu", "xsaves"], 0x830_1000, WorkaroundState::Off),
        (&["fpu", "xsaves"], 0x830_1052, WorkaroundState::On),
        // Nobody told the revision, as in a report of lscpu: the instruction may be repaired.
        (&["fpu", "xsaves"], 0, WorkaroundState::Unknown),
        // Flags that nobody read may lack it.
        (&[], 0x830_1000, WorkaroundState::Unknown),
    ] {
        let mut evidence =
            FlawEvidence { cpus: vec![cpu("AuthenticAMD", 0x17, 0x31, 0)], ..FlawEvidence::default() };
        evidence.cpus[0].microcode = (microcode > 0).then_some(microcode);
        evidence.flags = flags.iter().map(|&flag| flag.to_owned()).collect();
        let verdict = of(&catalogue, &evidence, "amd-1386");
        assert_eq!((verdict.affected, verdict.workaround), (Answer::Yes, state), "{verdict:?}");
        assert_eq!(verdict.disagreements, Vec::<String>::new());
    }
}

#[test]
fn a_kernel_that_has_not_looked_says_nothing() {
    let reported = Reading::Is("Not affected".to_owned());
    let on = |cpu: CpuSignature, hypervisor: Option<&str>| FlawEvidence {
        cpus: vec![cpu],
        hypervisor: hypervisor.map(str::to_owned),
        vulnerabilities: Some([("old_microcode".to_owned(), reported.clone())].into()),
        ..FlawEvidence::default()
    };
    for (evidence, affected) in [
        (on(cpu("GenuineIntel", 6, 0x55, 7), None), Answer::No),
        (on(cpu("GenuineIntel", 6, 0x55, 7), Some("KVM")), Answer::Unknown),
        (on(cpu("AuthenticAMD", 0x1a, 2, 1), None), Answer::Unknown),
    ] {
        assert_eq!(of(&catalogue(), &evidence, "old-microcode").affected, affected, "{evidence:?}");
    }
}

#[test]
fn who_may_not_have_a_flaw_is_not_called_open_to_it() {
    let evidence = FlawEvidence {
        cpus: vec![cpu("GenuineIntel", 6, 0x8f, 8)],
        flags: vec!["rtm".into()],
        ..FlawEvidence::default()
    };
    let verdict = of(&catalogue(), &evidence, "tsx-off");
    assert_eq!((verdict.affected, verdict.workaround), (Answer::Unknown, WorkaroundState::Off));
    assert_eq!(verdict.protected, Protection::Unknown, "{verdict:?}");
}

#[test]
fn a_kernel_that_calls_it_on_is_contradicted_by_a_cpu_without_it() {
    // MCU_OPT_CTRL[4] switches the workaround off on the second CPU.
    let registers = [("10a", all_cpus(&[0x200_0000; 2])), ("123", all_cpus(&[0, 0x10]))];
    let reported = Reading::Is("Mitigation: Microcode".to_owned());
    let evidence = FlawEvidence {
        cpus: vec![cpu("GenuineIntel", 6, 0x55, 7); 2],
        flags: vec!["avx2".into()],
        msr: registers.map(|(number, readings)| (number.to_owned(), readings)).into(),
        vulnerabilities: Some([("gather_data_sampling".to_owned(), reported)].into()),
        ..FlawEvidence::default()
    };
    let verdict = of(&catalogue(), &evidence, "gds");
    assert_eq!((verdict.workaround, verdict.protected), (WorkaroundState::Partial, Protection::Partly));
    let [disagreement] = &verdict.disagreements[..] else { panic!("one contradiction: {verdict:?}") };
    assert!(disagreement.contains("unequal") && disagreement.contains("Mitigation: Microcode"));
}

#[test]
fn registers_of_a_guest_are_no_evidence_and_time_is() {
    let mut evidence = board(&[phenom(2), phenom(2)], [0x18; 2], [0x22; 2], 1);
    evidence.hypervisor = Some("KVM".into());
    let verdict = of(&catalogue(), &evidence, "amd-298");
    assert_eq!(verdict.affected, Answer::Yes);
    assert_eq!(verdict.workaround, WorkaroundState::Unknown);
    assert!(verdict.evidence.registers.says.contains("a guest of KVM are"), "{verdict:?}");
    evidence.hypervisor = Some("unknown".into());
    let nobodys = of(&catalogue(), &evidence, "amd-298").evidence.registers.says;
    assert!(nobodys.contains("a guest are made up"), "{nobodys}");
    // Latencies at a stride of 4 KiB, absolute, from the curves quoted in the catalogue's sources.
    for (latency_ns, state) in [
        (253.0, WorkaroundState::On),
        (451.0, WorkaroundState::On),
        (58.0, WorkaroundState::Off),
        (78.0, WorkaroundState::Off),
        (118.0, WorkaroundState::Off),
        (165.0, WorkaroundState::Unknown),
    ] {
        evidence.timing = measured("page_walk_4k_ns", latency_ns, 1.0);
        assert_eq!(of(&catalogue(), &evidence, "amd-298").workaround, state, "{latency_ns} ns");
    }
}

#[test]
fn a_guest_that_is_reported_not_affected_pays_undeclared() {
    let mut evidence = FlawEvidence {
        cpus: vec![cpu("GenuineIntel", 6, 0x55, 7)],
        hypervisor: Some("KVM".into()),
        flags: vec!["avx2".into()],
        timing: measured("gather_ymm_cycles", 27.1, 0.1),
        ..FlawEvidence::default()
    };
    let reported = Reading::Is("Not affected".to_owned());
    evidence.vulnerabilities = Some([("gather_data_sampling".to_owned(), reported)].into());
    let untimed = FlawEvidence { timing: BTreeMap::new(), ..evidence.clone() };
    let verdict = of(&catalogue(), &untimed, "gds");
    assert_eq!((verdict.affected, verdict.workaround), (Answer::Yes, WorkaroundState::Unknown));
    assert_eq!(
        verdict.protected,
        Protection::Unknown,
        "a guest's \"Not affected\" is no protection: {verdict:?}"
    );
    let verdict = of(&catalogue(), &evidence, "gds");
    assert_eq!(verdict.special, Some(Special::UndeclaredCost));
    assert_eq!((verdict.affected, verdict.paid), (Answer::Yes, Answer::Yes));
    assert_eq!(verdict.protected, Protection::Protected);
    assert_eq!(verdict.disagreements.len(), 1, "{:?}", verdict.disagreements);
    // The same without time: affected, and unknown whether it costs.
    evidence.timing.clear();
    let verdict = of(&catalogue(), &evidence, "gds");
    assert_eq!((verdict.affected, verdict.paid, verdict.special), (Answer::Yes, Answer::Unknown, None));
}

#[test]
fn a_control_that_moved_silences_time() {
    let mut timing = measured("gather_ymm_cycles", 27.1, 0.1);
    for reading in timing.values_mut() {
        if let Reading::Is(reading) = reading {
            reading.control_holds = false;
        }
    }
    let evidence = FlawEvidence {
        cpus: vec![cpu("GenuineIntel", 6, 0x55, 7)],
        flags: vec!["avx2".into()],
        timing,
        ..FlawEvidence::default()
    };
    let verdict = of(&catalogue(), &evidence, "gds");
    assert_eq!(verdict.workaround, WorkaroundState::Unknown);
    assert!(verdict.evidence.time.says.contains("control"), "{}", verdict.evidence.time.says);
}

#[test]
fn an_empty_machine_gives_doubt_and_no_claim() {
    for verdict in judge(&catalogue(), &FlawEvidence::default()) {
        assert_ne!(verdict.affected, Answer::Yes, "{verdict:?}");
        assert_eq!(verdict.workaround, WorkaroundState::Unknown, "{verdict:?}");
        assert_eq!(verdict.special, None, "{verdict:?}");
    }
}
