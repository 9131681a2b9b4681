//! Time as a witness: each baseline on and off, and a machine without one.

use flaws::catalogue;
use record::Answer;
use record::WorkaroundState::{Off, On, Unknown};

use super::evidence::{machine_of, of, told, with_time};

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
    assert_eq!(told(&verdict), (Answer::Yes, On));
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
            assert_eq!(told(&verdict), (Answer::Yes, state), "{ns} ns: {verdict:?}");
        }
    }
}
