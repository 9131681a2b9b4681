//! The catalogue as a whole: how much of it there is, and how much of it is exercised on and off.

use std::collections::{BTreeMap, BTreeSet};

use flaws::catalogue;
use record::WorkaroundState;

use super::kernel_words::CASES;
use super::register_bits::exercised;

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
            "bulldozer-modules",
            "cacheout",
            "div0",
            "hertzbleed",
            "hybrid-cores",
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
