//! Time as evidence, what evidence leaves open, and the catalogue as a whole: how much of it there is, and how much is exercised.

use std::collections::{BTreeMap, BTreeSet};

use flaws::catalogue;
use record::WorkaroundState::{Off, On, Unknown};
use record::{Answer, Protection, Reading, RegisterReading, WorkaroundState};

use super::evidence::{machine_of, of, reported, with_file, with_msr, with_time};
use super::kernel_words::CASES;
use super::register_bits::exercised;

/// Registers of erratum 298: HWCR and BU_CFG.
const E298: [(u32, u64); 2] = [(0xc001_0015, 0x8), (0xc001_1023, 0x2)];

#[test]
fn words_that_nobody_knows_are_shown_as_they_are_and_not_judged() {
    let mut evidence = machine_of("GenuineIntel", 6, 0x55, 7);
    with_file(&mut evidence, "mds", "Purple: frobnicated on Tuesdays");
    let verdict = of(&catalogue(), &evidence, "mds");
    assert_eq!(verdict.workaround, Unknown, "{verdict:?}");
    assert_eq!((verdict.protected, verdict.paid), (Protection::Unknown, Answer::Unknown));
    assert!(verdict.evidence.kernel.says.contains("Purple: frobnicated on Tuesdays"), "{verdict:?}");
}

#[test]
fn a_file_that_cannot_be_read_says_why() {
    let mut evidence = machine_of("GenuineIntel", 6, 0x55, 7);
    let missing =
        Reading::Missing("/sys/devices/system/cpu/vulnerabilities/mds: permission denied".to_owned());
    evidence.vulnerabilities = Some([("mds".to_owned(), missing)].into());
    let verdict = of(&catalogue(), &evidence, "mds");
    assert_eq!(verdict.workaround, Unknown);
    assert!(verdict.evidence.kernel.says.contains("permission denied"), "{verdict:?}");
}

#[test]
fn a_cpu_that_went_away_leaves_its_registers_open() {
    let mut evidence = machine_of("AuthenticAMD", 0x10, 2, 2);
    for (number, value) in E298 {
        with_msr(&mut evidence, number, value);
        let readings = evidence.msr.get_mut(&format!("{number:x}")).expect("just added");
        readings[1] =
            RegisterReading { unit: 1, value: Reading::Missing("CPU 1: No such device or address".into()) };
    }
    let verdict = of(&catalogue(), &evidence, "amd-298");
    assert_eq!((verdict.affected, verdict.workaround), (Answer::Yes, Unknown), "{verdict:?}");
    assert!(verdict.evidence.registers.says.contains("1 not readable"), "{verdict:?}");
}

#[test]
fn registers_without_permission_say_who_may_read_them() {
    let mut evidence = machine_of("AuthenticAMD", 0x10, 2, 2);
    for (number, _) in E298 {
        let reason = "/dev/cpu/0/msr: permission denied; run as root".to_owned();
        let reading = RegisterReading { unit: 0, value: Reading::Missing(reason) };
        evidence.msr.insert(format!("{number:x}"), vec![reading]);
    }
    let verdict = of(&catalogue(), &evidence, "amd-298");
    assert_eq!((verdict.affected, verdict.workaround), (Answer::Yes, Unknown));
    assert!(verdict.evidence.registers.says.contains("run as root"), "{verdict:?}");
}

#[test]
fn contradictions_between_time_and_registers_are_both_reported() {
    let mut evidence = machine_of("AuthenticAMD", 0x10, 2, 2);
    for (number, _) in E298 {
        with_msr(&mut evidence, number, 0);
    }
    with_time(&mut evidence, "page_walk_4k_ns", "ns", 253.0);
    let verdict = of(&catalogue(), &evidence, "amd-298");
    assert_eq!(verdict.workaround, On, "a price that is measured is being paid");
    let [reported] = verdict.disagreements.as_slice() else { panic!("{:?}", verdict.disagreements) };
    assert!(reported.contains("253") && reported.contains("MSR c0010015"), "{reported}");
}

#[test]
fn each_baseline_tells_on_and_off_and_doubts_between() {
    let catalogue = catalogue();
    // The two published or measured values of each, and one between the limits.
    let cases = [
        ("gds", "gather_ymm_cycles", [27.1, 5.0, 11.0]),
        ("jcc", "jcc_edge_ratio", [1.663, 1.0, 1.25]),
        ("ssb", "store_bypass_cycles", [29.6, 9.64, 18.0]),
        ("split-lock", "split_lock_ns", [10.1e6, 4100.0, 3.0e6]),
    ];
    for (id, quantity, values) in cases {
        for (value, state) in values.into_iter().zip([On, Off, Unknown]) {
            let mut evidence = machine_of("GenuineIntel", 6, 0x55, 7);
            evidence.flags = vec!["avx2".into()];
            with_time(&mut evidence, quantity, "core cycles", value);
            let verdict = of(&catalogue, &evidence, id);
            assert_eq!(verdict.workaround, state, "{id}: {value}: {verdict:?}");
        }
    }
}

#[test]
fn a_value_without_a_baseline_is_not_asked_for_and_decides_nothing() {
    let catalogue = catalogue();
    // Nobody has published a value for this CPU.
    let mut evidence = machine_of("GenuineIntel", 6, 0xff, 15);
    for signature in catalogue.flaws.iter().filter_map(|flaw| flaw.signature.as_ref()) {
        with_time(&mut evidence, &signature.quantity, &signature.unit, 12.5);
    }
    assert_eq!(catalogue.telling_probes(&evidence), ["split-lock"], "its baseline is of any CPU");
    for id in ["gds", "jcc", "ssb", "amd-298"] {
        let verdict = of(&catalogue, &evidence, id);
        assert_eq!(verdict.evidence.time.workaround, Unknown, "{id}");
        assert_eq!(verdict.evidence.time.says, "no baseline for this CPU", "{id}");
    }
}

#[test]
fn a_jump_that_is_slow_at_a_boundary_shows_microcode_that_nothing_else_shows() {
    let mut evidence = machine_of("GenuineIntel", 6, 0x55, 7);
    with_time(&mut evidence, "jcc_edge_ratio", "ratio", 1.663);
    let verdict = of(&catalogue(), &evidence, "jcc");
    assert_eq!(reported(&verdict), (Answer::Yes, On));
    assert_eq!(verdict.special, Some(record::Special::UndeclaredCost));
}

#[test]
fn only_probes_that_can_decide_on_a_flaw_that_may_be_here_are_asked_for() {
    let catalogue = catalogue();
    let mut evidence = machine_of("GenuineIntel", 6, 0x55, 7);
    evidence.flags = vec!["avx2".into()];
    assert_eq!(catalogue.telling_probes(&evidence), ["gather", "jcc", "split-lock", "store-bypass"]);
    let phenom = catalogue.telling_probes(&machine_of("AuthenticAMD", 0x10, 2, 2)).join(" ");
    assert!(phenom.contains("page-walk") && !phenom.contains("gather"), "{phenom}");
}

#[test]
fn a_latency_at_page_stride_tells_erratum_298_on_and_off() {
    let catalogue = catalogue();
    // InstLatx64, linear read at a stride of 4 KiB: the ends of 23 curves without the workaround, and both with it.
    for (ns, state) in [(58.0, Off), (78.0, Off), (118.0, Off), (253.0, On), (451.0, On), (165.0, Unknown)] {
        for (model, stepping) in [(2, 2), (2, 0xa)] {
            let mut evidence = machine_of("AuthenticAMD", 0x10, model, stepping);
            with_time(&mut evidence, "page_walk_4k_ns", "ns", ns);
            let verdict = of(&catalogue, &evidence, "amd-298");
            assert_eq!(reported(&verdict), (Answer::Yes, state), "{ns} ns: {verdict:?}");
        }
    }
}

#[test]
fn at_least_forty_flaws_are_known_and_each_tells_or_says_why_not() {
    let catalogue = catalogue();
    assert!(catalogue.flaws.len() >= 40, "{}", catalogue.flaws.len());
    let silent: Vec<&str> =
        catalogue.flaws.iter().filter(|flaw| !flaw.has_detector()).map(|flaw| flaw.id.as_str()).collect();
    // What nothing tells, each with its reason in the entry.
    assert_eq!(
        silent,
        [
            "amd-2026-84005",
            "arm-cpp-rctx",
            "arm-page-aggregation",
            "arm-prefetcher",
            "arm-sme-tlbi",
            "bulldozer-modules",
            "cacheout",
            "div0",
            "hertzbleed",
            "hybrid-cores",
            "intel-2026-08",
            "intel-guest-predictor",
            "lvi",
            "sinkclose",
            "sls",
            "smt-rsb",
            "snoop-asymmetry",
            "stackwarp",
            "store-alias-4k",
            "zen-ccx",
            "zero-store",
        ]
    );
}

#[test]
fn at_least_twenty_five_detectors_are_exercised_on_and_off() {
    let mut seen: BTreeMap<&str, BTreeSet<bool>> = BTreeMap::new();
    let words = CASES.iter().map(|&(id, _, state, ..)| (id, state));
    for (id, state) in words.chain(exercised()) {
        let side = match state {
            WorkaroundState::On => true,
            WorkaroundState::Off => false,
            _ => continue,
        };
        seen.entry(id).or_default().insert(side);
    }
    let both = seen.values().filter(|sides| sides.len() == 2).count();
    assert!(both >= 25, "{both} of {seen:?}");
    // What has a register or a file is exercised at least once.
    for flaw in
        catalogue().flaws.iter().filter(|flaw| flaw.vulnerability_file.is_some() || !flaw.msr.is_empty())
    {
        assert!(seen.contains_key(flaw.id.as_str()), "{} is in no table", flaw.id);
    }
}

#[test]
fn every_signature_has_a_control_and_a_baseline() {
    let catalogue = catalogue();
    let signatures: Vec<_> = catalogue.flaws.iter().filter_map(|flaw| flaw.signature.as_ref()).collect();
    assert!(signatures.len() >= 5);
    assert!(signatures.iter().all(|one| !one.control.trim().is_empty() && !one.baseline.is_empty()));
}

#[test]
fn a_name_leads_to_one_flaw() {
    let catalogue = catalogue();
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    for flaw in &catalogue.flaws {
        for name in flaw.names() {
            let other = names.insert(name.to_lowercase(), &flaw.id);
            assert!(other.is_none_or(|other| other == flaw.id), "{name} is {other:?} and {}", flaw.id);
        }
    }
    for (name, id) in [
        ("cve-2017-5754", "meltdown"),
        ("CVE-2022-40982", "gds"),
        ("Inception", "srso"),
        ("SKX102", "jcc"),
        ("erratum 122", "k8-flush-filter"),
        ("CVE-2013-6885", "amd-793"),
        ("CVE-2025-54505", "fp-dss"),
        ("CVE-2024-45332", "bpi"),
        ("CVE-2024-53114", "amd-vmload"),
        ("CVE-2021-26401", "amd-lfence-jmp"),
        ("SinkClose", "sinkclose"),
    ] {
        assert_eq!(catalogue.find(name).map(|flaw| flaw.id.as_str()), Some(id), "{name}");
    }
}
