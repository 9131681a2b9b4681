//! The guard on entries made by hand: each answer, and each reason for none.

mod machines;

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
    let row = |class, better, value: f64| HistoryRow {
        class,
        unit: "ns".to_owned(),
        better,
        value: value * (0.005 * random.normal()).exp(),
    };
    let mut row = row;
    let rows = [
        ("latency, L1", row(RowClass::MemoryLatency, Better::Lower, 1.0)),
        ("latency, L2", row(RowClass::MemoryLatency, Better::Lower, 4.0)),
        ("latency, L3", row(RowClass::MemoryLatency, Better::Lower, 20.0)),
        ("read, L1", row(RowClass::MemoryBandwidth, Better::Higher, 100.0)),
        ("read, L2", row(RowClass::MemoryBandwidth, Better::Higher, 50.0)),
        ("rdtsc", row(RowClass::ClockReads, Better::Lower, 9.0)),
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
        others_share: Some(0.0),
        ..HistoryEntry::default()
    }
}

fn baseline(random: &mut Random, runs: usize) -> GuardBaseline {
    GuardBaseline { schema: GUARD_SCHEMA, runs: (0..runs).map(|_| run(random)).collect() }
}

fn guard(baseline: &GuardBaseline) -> Guard<'_> {
    Guard::new(baseline, allowance(&[], "")).expect("runs")
}

fn judged(baseline: &GuardBaseline, checks: &[HistoryEntry]) -> GuardOutcome {
    guard(baseline).judge(checks, &mut GuardLedger::default())
}

fn slower(mut check: HistoryEntry, class: RowClass, factor: f64) -> HistoryEntry {
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

    let both = [check(), check()]
        .map(|check| slower(with_fact(check, "clock source", "hpet"), RowClass::ClockReads, 3.0));
    let both = judged(&baseline, &both);
    let expected = "most likely why: clock source from tsc to hpet, a coincidence in time and no proof";
    assert!(both.sentence.contains("% slower; ") && both.sentence.ends_with(expected), "{}", both.sentence);
    assert!(both.changes[0].slower_percent > 150.0, "{:?}", both.changes);

    let bandwidth = judged(
        &baseline,
        &[slower(check(), RowClass::MemoryBandwidth, 1.5), slower(check(), RowClass::MemoryBandwidth, 1.5)],
    );
    assert!(bandwidth.sentence.starts_with("changed: memory bandwidth "), "{}", bandwidth.sentence);
    assert!(bandwidth.sentence.contains("no watched fact differs"), "{}", bandwidth.sentence);
}

#[test]
fn a_change_has_to_be_confirmed_and_one_that_is_gone_was_transient() {
    let mut random = Random::new(2);
    let baseline = baseline(&mut random, FEWEST_RUNS);
    let (guard, mut ledger) = (guard(&baseline), GuardLedger::default());
    let far = slower(run(&mut random), RowClass::MemoryLatency, 2.0);
    assert!(guard.is_to_be_confirmed(&far) && !guard.is_to_be_confirmed(&run(&mut random)));
    let once = judged(&baseline, &[far.clone(), run(&mut random)]);
    assert_eq!(once.verdict, GuardVerdict::AsBefore);
    assert!(once.notes[0].contains("the one right after it was not"), "{:?}", once.notes);
    let alone = judged(&baseline, std::slice::from_ref(&far));
    assert!(
        alone.sentence.starts_with("cannot tell: one check-up is beyond a limit, "),
        "{}",
        alone.sentence
    );
    let twice = guard.judge(&[far.clone(), far], &mut ledger);
    assert_eq!(twice.verdict, GuardVerdict::Changed);
    let later = guard.judge(&[run(&mut random)], &mut ledger);
    assert!(later.notes.iter().any(|note| note.starts_with("transient: ")), "{:?}", later.notes);
}

#[test]
fn numbers_are_not_judged_where_that_would_be_wrong_and_facts_still_are() {
    let mut random = Random::new(3);
    let whole = baseline(&mut random, FEWEST_RUNS);
    let mut quiet = run(&mut random);
    quiet.others_share = Some(0.57);
    let busy = slower(quiet.clone(), RowClass::MemoryLatency, 2.0);
    let mut partial = run(&mut random);
    partial.partial = Some("stopped".to_owned());
    let short = baseline(&mut random, 3);
    for (baseline, check, expected) in [
        (&whole, quiet, "as before: "),
        (&whole, busy.clone(), "cannot tell: other processes used 57 % of all CPUs (usually 0.0 % in the"),
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
    let found = judged(&whole, &[slower(elsewhere, RowClass::MemoryLatency, 2.0)]);
    assert!(
        found.sentence.starts_with("changed: another machine than that of the baseline: CPU from X to Y; "),
        "{}",
        found.sentence
    );
    assert!(Guard::new(&GuardBaseline::default(), allowance(&[], "")).is_none());
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
fn a_busy_neighbour_is_named_and_what_moved_beside_it_is_no_change() {
    let mut random = Random::new(6);
    let mut baseline = baseline(&mut random, FEWEST_RUNS);
    for run in &mut baseline.runs {
        (run.others_share, run.steal_share) = (Some(0.01), Some(0.0));
    }
    for (others, steal, expected) in [
        (
            0.5,
            0.0,
            "cannot tell: other processes used 50 % of all CPUs (usually 1.0 % in the baseline), and memory latency moved",
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
            let mut check = slower(run(&mut random), RowClass::MemoryLatency, 1.5);
            (check.others_share, check.steal_share) = (Some(others), Some(steal));
            check
        };
        let found = judged(&baseline, &[check(), check()]);
        assert!(found.sentence.contains(expected), "{}", found.sentence);
    }
}

#[test]
fn a_baseline_of_a_busy_machine_is_marked_in_the_first_line_and_a_few_busy_runs_in_a_note() {
    let mut random = Random::new(7);
    let mut baseline = baseline(&mut random, FEWEST_RUNS);
    baseline.runs[0].doubts = vec!["other processes used 57 % of all CPUs".to_owned()];
    let few = judged(&baseline, &[run(&mut random)]);
    assert!(few.sentence.ends_with("numbers within their limits"), "{}", few.sentence);
    assert!(few.notes[0].starts_with("the machine was busy in 1 of 20 runs"), "{:?}", few.notes);
    for busy in &mut baseline.runs[..11] {
        busy.doubts = vec!["other processes used 57 % of all CPUs".to_owned()];
    }
    let most = judged(&baseline, &[run(&mut random)]);
    let expected = "; the baseline is of a busy machine (11 of 20 runs), so limits are wide";
    assert!(most.sentence.ends_with(expected), "{}", most.sentence);
}

#[test]
fn a_clock_that_was_set_back_since_the_last_check_is_reported() {
    let mut random = Random::new(8);
    let baseline = baseline(&mut random, FEWEST_RUNS);
    let mut ledger = GuardLedger::default();
    let mut check = run(&mut random);
    check.started_utc = "2030-01-01T00:00:00Z".to_owned();
    guard(&baseline).judge(&[check], &mut ledger);
    let allowed = allowance(&ledger.past, "2026-01-01T00:00:00Z");
    let later = Guard::new(&baseline, allowed).expect("runs").judge(&[run(&mut random)], &mut ledger);
    let expected = "the clock was set back: the last check was at 2030-01-01T00:00:00Z, this one at 2026-01-01T00:00:00Z";
    assert_eq!((later.verdict, later.notes[0].as_str()), (GuardVerdict::AsBefore, expected));
}

/// Student's t of four degrees of freedom: as heavy as what hosts show.
fn heavy(random: &mut Random) -> f64 {
    let squares: f64 = (0..4).map(|_| random.normal().powi(2)).sum();
    random.normal() / (squares / 4.0).sqrt()
}

/// A check-up of a shared host: its state moves whole classes, heavily.
fn heavy_run(random: &mut Random, state: &[f64; 3], day: usize) -> HistoryEntry {
    let mut run = run(random);
    run.started_utc = format!("2026-{:02}-{:02}T06:00:00Z", day / 28 % 12 + 1, day % 28 + 1);
    if day / 28 >= 12 {
        run.started_utc.replace_range(..4, "2027");
    }
    for (class, state) in
        [RowClass::MemoryLatency, RowClass::MemoryBandwidth, RowClass::ClockReads].into_iter().zip(state)
    {
        run = slower(run, class, (0.02 * (state + heavy(random))).exp());
    }
    for row in run.rows.values_mut() {
        row.value *= (0.01 * heavy(random)).exp();
    }
    run
}

fn states(random: &mut Random) -> [f64; 3] {
    [heavy(random), heavy(random), heavy(random)]
}

/// Days of a simulated year with an alarm, of a latency that grows by this much a day.
fn year(random: &mut Random, growth: f64) -> Vec<(usize, GuardOutcome)> {
    let runs = (0..FEWEST_RUNS).map(|_| {
        let state = states(random);
        heavy_run(random, &state, 0)
    });
    let baseline = GuardBaseline { schema: GUARD_SCHEMA, runs: runs.collect() };
    // At one check a day each spends the same, so the limits stay.
    let guard = guard(&baseline);
    let mut ledger = GuardLedger::default();
    let mut alarms = Vec::new();
    for day in 1..=365 {
        let state = states(random);
        let mut check = || {
            let grown = (growth * day as f64).exp();
            slower(heavy_run(random, &state, day), RowClass::MemoryLatency, grown)
        };
        let mut checks = vec![check()];
        if guard.is_to_be_confirmed(&checks[0]) {
            checks.push(check());
        }
        let found = guard.judge(&checks, &mut ledger);
        if found.verdict == GuardVerdict::Changed {
            alarms.push((day, found));
        }
    }
    alarms
}

#[test]
fn simulated_years_keep_the_budget_of_one_alarm_and_a_gradual_change_is_found_by_its_trend() {
    let mut random = Random::new(21);
    let (years, mut alarms) = (8, 0);
    for _ in 0..years {
        alarms += year(&mut random, 0.0).len();
    }
    assert!(alarms <= years, "{alarms} alarms in {years} years of unchanged daily checks");
    let (mut by_trend, mut days) = (0, Vec::new());
    for _ in 0..4 {
        let found = year(&mut random, 0.002);
        let first = found.first().map(|(day, outcome)| (*day, outcome.changes[0].trend.is_some()));
        let Some((day, is_trend)) = first else { continue };
        days.push(day as f64);
        by_trend += usize::from(is_trend);
    }
    // A latency that grows by 0.2 % a day has grown by 20 % after a hundred.
    let median = stats::median(&days).expect("found");
    assert!(days.len() == 4 && median < 100.0, "{days:?}");
    assert!(by_trend >= 2, "{by_trend} of 4 by their trend: {days:?}");
}
