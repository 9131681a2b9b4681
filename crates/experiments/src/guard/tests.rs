//! The guard on entries made by hand: each answer, and each reason for none.

use machine::Bytes;
use record::{Better, Fingerprint, HISTORY_SCHEMA, HistoryRow};
use stats::Random;

use super::*;

const FACTS: [(&str, &str); 6] = [
    ("boot", "1"),
    ("clock source", "tsc"),
    ("huge pages", "madvise"),
    ("kernel", "Linux 6.1"),
    ("root", "no"),
    ("sidestep", "0.1.0"),
];

fn run(random: &mut Random) -> HistoryEntry {
    let row = |class: &str, better, value: f64| HistoryRow {
        class: class.to_owned(),
        unit: "ns".to_owned(),
        better,
        value: value * (0.005 * random.normal()).exp(),
    };
    let mut row = row;
    let rows = [
        ("latency, L1", row("latency", Better::Lower, 1.0)),
        ("latency, L2", row("latency", Better::Lower, 4.0)),
        ("latency, L3", row("latency", Better::Lower, 20.0)),
        ("read, L1", row("bandwidth", Better::Higher, 100.0)),
        ("read, L2", row("bandwidth", Better::Higher, 50.0)),
        ("rdtsc", row("clock reads", Better::Lower, 9.0)),
    ];
    HistoryEntry {
        schema: HISTORY_SCHEMA,
        started_utc: "2026-01-01T00:00:00Z".to_owned(),
        fingerprint: Fingerprint {
            cpu: "X".to_owned(),
            cpus: 2,
            hypervisor: None,
            memory_bytes: Some(Bytes(1 << 33)),
        },
        facts: FACTS.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        rows: rows.map(|(name, row)| (name.to_owned(), row)).into(),
        ..HistoryEntry::default()
    }
}

fn baseline(random: &mut Random, runs: usize) -> GuardBaseline {
    GuardBaseline { schema: GUARD_SCHEMA, runs: (0..runs).map(|_| run(random)).collect() }
}

fn judged(baseline: &GuardBaseline, checks: &[HistoryEntry]) -> GuardOutcome {
    Guard::new(baseline, ALARMS_PER_CHECK).expect("runs").judge(checks, None, ALARMS_PER_CHECK)
}

fn slower(mut check: HistoryEntry, class: &str, factor: f64) -> HistoryEntry {
    for row in check.rows.values_mut().filter(|row| row.class == class) {
        row.value *= if row.better == Better::Higher { factor.recip() } else { factor };
    }
    check
}

fn with_fact(mut check: HistoryEntry, name: &str, value: &str) -> HistoryEntry {
    check.facts.insert(name.to_owned(), value.to_owned());
    check
}

#[test]
fn each_answer_is_in_the_first_words() {
    let mut random = Random::new(1);
    let baseline = baseline(&mut random, FEWEST_RUNS);
    let mut check = || run(&mut random);
    let quiet = judged(&baseline, &[check()]);
    assert_eq!(quiet.verdict, GuardVerdict::AsBefore);
    assert_eq!(quiet.sentence, "as before: 6 facts are the same, 6 numbers within their limits");

    let fact = judged(&baseline, &[with_fact(check(), "clock source", "hpet")]);
    assert_eq!(fact.verdict, GuardVerdict::Changed);
    assert!(
        fact.sentence.starts_with("changed: clock source from tsc to hpet; numbers are within"),
        "{}",
        fact.sentence
    );
    assert_eq!(fact.proofs[0].command, "sidestep ab --toggle clocksource=tsc:hpet");

    let both =
        [check(), check()].map(|check| slower(with_fact(check, "clock source", "hpet"), "clock reads", 3.0));
    let both = judged(&baseline, &both);
    let expected = "most likely why: clock source from tsc to hpet, a coincidence in time and no proof";
    assert!(both.sentence.contains("% slower; ") && both.sentence.ends_with(expected), "{}", both.sentence);
    assert!(both.changes[0].slower_percent > 150.0, "{:?}", both.changes);

    let bandwidth =
        judged(&baseline, &[slower(check(), "bandwidth", 1.5), slower(check(), "bandwidth", 1.5)]);
    assert!(bandwidth.sentence.starts_with("changed: bandwidth "), "{}", bandwidth.sentence);
    assert!(bandwidth.sentence.contains("no watched fact differs"), "{}", bandwidth.sentence);
}

#[test]
fn a_change_has_to_be_confirmed_and_one_that_is_gone_was_transient() {
    let mut random = Random::new(2);
    let baseline = baseline(&mut random, FEWEST_RUNS);
    let guard = Guard::new(&baseline, ALARMS_PER_CHECK).expect("runs");
    let far = slower(run(&mut random), "latency", 2.0);
    assert!(guard.is_to_be_confirmed(&far) && !guard.is_to_be_confirmed(&run(&mut random)));
    let once = judged(&baseline, &[far.clone(), run(&mut random)]);
    assert_eq!(once.verdict, GuardVerdict::AsBefore);
    assert!(once.notes[0].contains("the one right after it was not"), "{:?}", once.notes);
    let twice = judged(&baseline, &[far.clone(), far]);
    assert_eq!(twice.verdict, GuardVerdict::Changed);
    let later = guard.judge(&[run(&mut random)], Some(&twice), ALARMS_PER_CHECK);
    assert!(later.notes.iter().any(|note| note.starts_with("transient: ")), "{:?}", later.notes);
}

#[test]
fn numbers_are_not_judged_where_that_would_be_wrong_and_facts_still_are() {
    let mut random = Random::new(3);
    let whole = baseline(&mut random, FEWEST_RUNS);
    let mut busy = slower(run(&mut random), "latency", 2.0);
    busy.doubts = vec!["other processes used 57 % of all CPUs".to_owned()];
    let mut partial = run(&mut random);
    partial.partial = Some("stopped".to_owned());
    let short = baseline(&mut random, 3);
    for (baseline, check, expected) in [
        (&whole, busy.clone(), "cannot tell: other processes used 57 % of all CPUs; facts are as before"),
        (&whole, partial, "cannot tell: the check-up is not complete: stopped"),
        (
            &whole,
            with_fact(run(&mut random), "sidestep", "0.2.0"),
            "cannot tell: sidestep is 0.2.0, and was 0.1.0",
        ),
        (&short, run(&mut random), "cannot tell: the baseline has 3 runs, and numbers are judged from 20 on"),
        (
            &whole,
            with_fact(busy, "huge pages", "never"),
            "changed: huge pages from madvise to never; numbers are not judged: other",
        ),
    ] {
        let found = judged(baseline, &[check]);
        assert!(found.sentence.starts_with(expected), "{}", found.sentence);
    }
    let mut elsewhere = run(&mut random);
    elsewhere.fingerprint.cpu = "Y".to_owned();
    let found = judged(&whole, &[slower(elsewhere, "latency", 2.0)]);
    assert!(
        found.sentence.starts_with("changed: another machine than that of the baseline: CPU from X to Y; "),
        "{}",
        found.sentence
    );
    assert!(Guard::new(&GuardBaseline::default(), ALARMS_PER_CHECK).is_none());
}

#[test]
fn a_boot_is_no_change_and_facts_that_moved_within_the_baseline_are_not_watched() {
    let mut random = Random::new(4);
    let mut baseline = baseline(&mut random, FEWEST_RUNS);
    baseline.runs[3].facts.insert("huge pages".to_owned(), "always".to_owned());
    let found =
        judged(&baseline, &[with_fact(with_fact(run(&mut random), "boot", "2"), "huge pages", "never")]);
    assert_eq!(found.verdict, GuardVerdict::AsBefore);
    assert_eq!(found.notes, ["the machine was booted since the baseline"]);
}

#[test]
fn a_busy_neighbour_is_named_and_numbers_beside_it_are_not_judged() {
    let mut random = Random::new(6);
    let mut baseline = baseline(&mut random, FEWEST_RUNS);
    for run in &mut baseline.runs {
        (run.others_share, run.steal_share) = (Some(0.01), Some(0.0));
    }
    for (others, steal, expected) in [
        (
            0.5,
            0.0,
            "cannot tell: other processes used 50 % of all CPUs (usually 1.0 % in the baseline); facts",
        ),
        (0.0, 0.06, "cannot tell: the hypervisor gave 6.0 % of the CPU time to others (usually 0.0 % in"),
        (
            0.12,
            0.0,
            "most likely why: other processes used 12 % of all CPUs (at most 1.0 % in the baseline), a",
        ),
        (
            0.0,
            0.015,
            "most likely why: the hypervisor gave 1.5 % of the CPU time to others (at most 0.0 % in",
        ),
        (0.01, 0.0, "no watched fact differs, so the cause is outside of them"),
    ] {
        let mut check = || {
            let mut check = slower(run(&mut random), "latency", 1.5);
            (check.others_share, check.steal_share) = (Some(others), Some(steal));
            check
        };
        let found = judged(&baseline, &[check(), check()]);
        assert!(found.sentence.contains(expected), "{}", found.sentence);
    }
}
