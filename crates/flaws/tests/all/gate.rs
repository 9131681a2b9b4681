//! What fails a health check: stock kernels do not, vulnerable ones and what got worse than the baseline do.

use flaws::{Census, GateBaseline, GateBaselineError, catalogue, judge, unmet};
use record::{Answer, FlawEvidence, FlawVerdict, Protection, Reading, Statement, WorkaroundState};

const STOCK: [(&str, &str); 6] = [
    ("spec_store_bypass", "Mitigation: Speculative Store Bypass disabled via prctl and seccomp"),
    (
        "spectre_v2",
        "Mitigation: Full generic retpoline, IBPB conditional, IBRS_FW, STIBP conditional, RSB filling",
    ),
    ("spectre_v1", "Mitigation: usercopy/swapgs barriers and __user pointer sanitization"),
    ("mds", "Mitigation: Clear CPU buffers; SMT vulnerable"),
    ("l1tf", "Mitigation: PTE Inversion; VMX: conditional cache flushes, SMT vulnerable"),
    ("meltdown", "Mitigation: PTI"),
];

fn reported(files: &[(&str, &str)]) -> Vec<FlawVerdict> {
    let file = |&(file, text): &(&str, &str)| (file.to_owned(), Reading::Is(text.to_owned()));
    let vulnerabilities = Some(files.iter().map(file).collect());
    judge(&catalogue(), &FlawEvidence { vulnerabilities, ..FlawEvidence::default() })
}

fn failing(verdicts: &[FlawVerdict]) -> Vec<String> {
    verdicts.iter().filter_map(unmet).map(|reason| reason.id).collect()
}

#[test]
fn a_stock_kernel_is_not_condemned_and_a_vulnerable_one_is() {
    assert_eq!(failing(&reported(&STOCK)), Vec::<String>::new());
    for (file, text, id) in [
        ("spec_store_bypass", "Vulnerable", "ssb"),
        ("mds", "Vulnerable: Clear CPU buffers attempted, no microcode; SMT vulnerable", "mds"),
        (
            "spectre_v1",
            "Vulnerable: __user pointer sanitization and usercopy barriers only; no swapgs barriers",
            "spectre-v1",
        ),
        ("spectre_v2", "Mitigation: Retpolines; IBPB: disabled; STIBP: disabled", "spectre-v2-user"),
        ("spec_rstack_overflow", "Mitigation: safe RET, no microcode", "srso"),
    ] {
        assert_eq!(failing(&reported(&[(file, text)])), [id], "{text}");
    }
}

#[test]
fn a_disagreement_fails_where_one_evidence_says_not_protected() {
    let mut verdict = reported(&STOCK).into_iter().find(|verdict| verdict.id == "meltdown").expect("known");
    verdict.disagreements = vec!["time says one thing, the kernel another".into()];
    // Time sees a price that the kernel denies: nobody says not protected.
    assert_eq!(unmet(&verdict), None);
    let off = Statement {
        workaround: WorkaroundState::Off,
        protected: Protection::NotProtected,
        ..Statement::default()
    };
    verdict.evidence.time = off;
    assert_eq!(unmet(&verdict).map(|reason| reason.why), Some(verdict.disagreements[0].clone()));
    verdict.affected = Answer::No;
    assert_eq!(unmet(&verdict), None);
}

#[test]
fn against_a_norm_only_what_got_worse_fails() {
    let before = reported(&[STOCK[0], STOCK[3], ("spectre_v1", "Vulnerable")]);
    let baseline = GateBaseline::of_verdicts(&before).expect("verdicts");
    let worse = |now: &[(&str, &str)]| -> Vec<String> {
        reported(now)
            .iter()
            .filter_map(|verdict| baseline.worse(verdict))
            .map(|reason| format!("{}: {}", reason.id, reason.why))
            .collect()
    };
    // The same, an unknown, and what got better: spectre_v1 was vulnerable already.
    assert_eq!(worse(&[STOCK[0], STOCK[3], ("spectre_v1", "Vulnerable")]), Vec::<String>::new());
    assert_eq!(worse(&[STOCK[2]]), Vec::<String>::new());
    assert_eq!(
        worse(&[("spec_store_bypass", "Vulnerable"), ("mds", "Vulnerable; SMT vulnerable")]),
        [
            "mds: not protected, and in the baseline partly",
            "ssb: not protected, and in the baseline on request"
        ]
    );
}

#[test]
fn a_norm_is_read_from_json_of_this_and_of_older_versions() {
    let text = br#"{"schema": 1, "flaws": [{"id": "ssb", "protected": "yes"}, {"id": "mds", "protected": "on_request"}]}"#;
    let baseline = GateBaseline::parse(text).expect("a baseline");
    let [ssb] =
        &reported(&[STOCK[0]]).into_iter().filter(|verdict| verdict.id == "ssb").collect::<Vec<_>>()[..]
    else {
        panic!("one")
    };
    assert!(baseline.worse(ssb).is_some());
    assert!(matches!(GateBaseline::parse(br#"{"flaws": []}"#), Err(GateBaselineError::Empty)));
    assert!(matches!(GateBaseline::parse(b"[]"), Err(GateBaselineError::Form(_))));
}

#[test]
fn a_population_counts_each_state_once() {
    let catalogue = catalogue();
    let mut census = Census::new(&catalogue, &catalogue);
    for text in
        ["Vulnerable", "Mitigation; Speculative Store Bypass disabled via prctl and seccomp", "Not affected"]
    {
        let report = format!(
            "Vendor ID: GenuineIntel\nCPU family: 6\nModel: 158\nStepping: 9\nVulnerability Spec store bypass: {text}\n"
        );
        census.take("a", Ok(report));
    }
    let counts = census.finish();
    let row = counts.population.iter().find(|row| row.id == "ssb").expect("known");
    assert_eq!((row.affected, row.protected, row.on_request, row.not_protected), (2, 0, 1, 1));
    assert_eq!((row.partly, row.protection_unknown, row.unknown, row.fails_gate), (0, 0, 0, 1));
}
