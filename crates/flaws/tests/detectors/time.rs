//! Time as a witness: each baseline on and off, and what a machine without one is told.

use flaws::catalogue;
use record::Answer;
use record::WorkaroundState::{Off, On, Unknown};

use crate::evidence::{machine_of, of, told, with_time};

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
fn a_value_without_a_baseline_is_shown_and_not_judged() {
    let catalogue = catalogue();
    for flaw in &catalogue.flaws {
        let Some(signature) = &flaw.signature else { continue };
        assert!(!signature.control.trim().is_empty(), "{}", flaw.id);
        // Nobody has published a value for this CPU.
        let mut evidence = machine_of("GenuineIntel", 6, 0xff, 15);
        with_time(&mut evidence, &signature.quantity, &signature.unit, 12.5);
        let verdict = of(&catalogue, &evidence, &flaw.id);
        if signature.baseline.iter().all(|baseline| !baseline.cpus.is_empty()) {
            assert_eq!(verdict.witnesses.time.workaround, Unknown, "{}", flaw.id);
            assert!(verdict.witnesses.time.says.contains("12.5"), "{verdict:?}");
        }
    }
}

#[test]
fn a_jump_that_is_slow_at_a_boundary_shows_microcode_that_nothing_else_shows() {
    let mut evidence = machine_of("GenuineIntel", 6, 0x55, 7);
    with_time(&mut evidence, "jcc_edge_ratio", "ratio", 1.663);
    let verdict = of(&catalogue(), &evidence, "jcc");
    assert_eq!(told(&verdict), (Answer::Yes, On));
    assert_eq!(verdict.special, Some(record::Special::PayingUntold));
}
