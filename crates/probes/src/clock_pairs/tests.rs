//! The whole detector on counters with known faults: in simulated time, and with threads on a counter that is no clock.

use std::sync::atomic::{AtomicU64, Ordering};

use clock::{Bound, Fault, FaultSchedule, FaultedCounter, Regime, TickRate};
use record::{ClockCheck, ClockFault, ClockVerdict, KernelClocks, RegimeVerdict};

use proptest::prelude::*;

use super::*;
use crate::session::Silent;

/// Ticks per second of the simulated counters.
const HZ: f64 = 2.5e9;
const MS: u64 = 2_500_000;
const PAIR: CpuPair = CpuPair { a: CpuId(0), b: CpuId(1) };

/// What a pair shows whose second counter has faults: an exchange every 60 ms for the time given, the stresses in turns.
fn simulated(faults: &[Fault], stresses: &[Stress], seconds: f64) -> PairWatch {
    let mut second = FaultSchedule::new(0, faults);
    let mut watch = PairWatch::new(PAIR, 0, 1);
    let settings = Settings {
        cpus: vec![CpuId(0), CpuId(1)],
        stresses: stresses.to_vec(),
        budget_s: seconds,
        limits: ExchangeLimits::default(),
    };
    let schedule = Schedule::new(&settings);
    let mut state = 1_u64;
    let mut at = 0;
    while let Some(place) = schedule.at(at as f64 / HZ) {
        second.enter(Regime::Load, at);
        let mut delay = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            100 + (state >> 33) % 30
        };
        let (there, back) = (delay(), delay());
        let upper = second.read(at + there).wrapping_sub(at).cast_signed();
        let lower = second.read(at).wrapping_sub(at + back).cast_signed();
        watch.exchanges += 1;
        watch.add(
            place,
            Some(&Exchanged {
                at_least: Bound { at_ticks: at + back, offset_ticks: lower },
                at_most: Bound { at_ticks: at, offset_ticks: upper },
                fresh: [5_000; 2],
                best_after_ticks: MS,
                overlap_ns: 3,
                elapsed_ns: 3,
            }),
        );
        second.enter(place.stress.regime(1, place, watch.exchanges as u64), at + 3 * MS);
        at += 60 * MS;
    }
    watch
}

fn verdict_of(watch: &PairWatch) -> ClockCheck {
    let seen = Seen {
        pairs: vec![watch.clone()],
        resolution_ticks: 1,
        stresses: watch.by_place.keys().map(|place| place.stress).collect(),
        sweeps: watch.exchanges,
        probe_s: 0.0,
        watched_s: watch.exchanges as f64 * 0.06,
        lost: BTreeMap::new(),
        not_held: None,
        interrupted: false,
    };
    let mut check = ClockCheck::default();
    verdict::fill(&mut check, &seen, HZ);
    check
}

#[test]
fn each_fault_is_called_by_its_name() {
    use ClockVerdict::{Correctable, Safe, Unsafe};
    let varied = [Stress::Load, Stress::Idle, Stress::Mixed];
    let speeds = Stress::OF_PSTATES;
    let slow = Fault::Frequency { pstate: 1, ppb: 5_000 };
    let step = Fault::Step { at_ticks: 3_000 * MS, ticks: 2_000 };
    for (faults, stresses, fault, verdict) in [
        (vec![], &varied[..0], None, Safe),
        (vec![], &varied, None, Safe),
        (vec![Fault::Offset { ticks: 90 }], &varied, None, Safe),
        (vec![Fault::Offset { ticks: 300 }], &varied, Some(ClockFault::Offset), Correctable),
        (vec![Fault::Rate { ppb: 100 }], &varied[..0], Some(ClockFault::Slope), Correctable),
        (vec![Fault::Rate { ppb: -50_000 }], &varied, Some(ClockFault::Slope), Correctable),
        (vec![step], &varied[..0], Some(ClockFault::Step), Unsafe),
        (vec![step, Fault::Rate { ppb: 1_000 }], &varied[..0], Some(ClockFault::Step), Unsafe),
        (vec![step], &varied, Some(ClockFault::Step), Unsafe),
        (vec![Fault::Idle { ppb: -500_000_000 }], &varied, Some(ClockFault::SlopeAfterIdle), Unsafe),
        (vec![slow], &speeds, Some(ClockFault::SlopeAtOneFrequency), Unsafe),
        (vec![slow], &speeds[..1], None, Safe),
        (vec![Fault::Idle { ppb: 2_000 }], &varied, Some(ClockFault::SlopeAfterIdle), Unsafe),
    ] {
        let watch = simulated(&faults, stresses, 12.0);
        let check = verdict_of(&watch);
        assert_eq!((check.pairs[0].fault, check.verdict), (fault, verdict), "{faults:?} {stresses:?}");
        assert!(!check.because.is_empty());
    }
}

#[test]
fn each_regime_has_a_verdict_of_its_own() {
    use RegimeVerdict::{Moving, Steady};
    let varied = [Stress::Load, Stress::Idle, Stress::Mixed];
    let step = Fault::Step { at_ticks: 3_000 * MS, ticks: 2_000 };
    for (faults, stresses, expected) in [
        (vec![Fault::Rate { ppb: 1_000 }], &varied[..0], vec![]),
        (vec![], &varied, vec![("load", Steady), ("idle", Steady), ("mixed", Steady)]),
        (vec![], &varied[..1], vec![("load", Steady)]),
        (
            vec![Fault::Idle { ppb: 2_000 }],
            &varied,
            vec![("load", Steady), ("idle", Moving), ("mixed", Moving)],
        ),
        // It falls into the second of six stretches.
        (vec![step], &varied, vec![("load", Steady), ("idle", Moving), ("mixed", Steady)]),
    ] {
        let watch = simulated(&faults, stresses, 12.0);
        let check = verdict_of(&watch);
        let found: Vec<_> = check.regimes.iter().map(|row| (row.stress.as_str(), row.verdict)).collect();
        assert_eq!(found, expected, "{faults:?}");
        for row in &check.regimes {
            let drift = row.drift.expect("tens of exchanges");
            let is_within = |ppb: f64| (drift.rate_ppb - ppb).abs() < 6.0 * drift.error_ppb;
            assert!(row.verdict == Moving || is_within(0.0), "{row:?}");
            assert_eq!((row.seen, row.moving), (1, usize::from(row.verdict == Moving)), "{row:?}");
        }
    }
    let nothing = PairWatch::new(PAIR, 0, 1);
    let [row] = &verdict::regimes(&[nothing], &[Stress::Load].into())[..] else { panic!("one stress") };
    assert_eq!((row.verdict, row.seen, row.drift), (RegimeVerdict::CannotTell, 0, None));
}

#[test]
fn drift_is_seen_as_soon_as_promised() {
    for (ppb, latest_s) in [(1_000, 0.5), (100, 2.0), (10, 15.0), (-1_000, 0.5), (-100, 2.0), (-10, 15.0)] {
        let seen = simulated(&[Fault::Rate { ppb }], &[], 20.0).row(HZ).seen_after_s;
        assert!(seen.is_some_and(|seen_s| seen_s <= latest_s), "{ppb}: {seen:?}");
    }
    assert_eq!(simulated(&[], &[], 200.0).row(HZ).seen_after_s, None);
}

#[test]
fn a_host_that_moves_cpus_between_cores_makes_no_drift_and_a_true_step_is_still_found() {
    // The way of the middles on a guest: seconds, and ticks for half-widths of 115. The line through them is more
    // than six errors from zero, and has moved them by more than the half-width.
    let moves = [(0, -44), (100, 69), (150, -25), (200, 72)];
    let step = |&(at_s, ticks): &(u64, i64)| Fault::Step { at_ticks: at_s * 1_000 * MS, ticks };
    let mut faults: Vec<Fault> = moves.iter().map(step).collect();
    let healthy = simulated(&faults, &[], 250.0);
    assert_eq!((healthy.row(HZ).seen_after_s, healthy.motion()), (None, None));
    faults.push(step(&(225, 400)));
    let check = verdict_of(&simulated(&faults, &[], 250.0));
    assert_eq!(check.verdict, ClockVerdict::Unsafe, "{:?}", check.because);
    let [step, found] =
        [check.pairs[0].step.map(|step| step.ns), check.pairs[0].contradiction.map(|found| found.at_least_s)];
    assert!(
        step.is_none_or(|ns| (ns - 160.0).abs() < 40.0) && found.is_some_and(|at_s| at_s >= 225.0),
        "{check:?}"
    );
    // The reasons carry the numbers.
    assert!(check.because.iter().any(|line| line.contains("by causality alone")), "{:?}", check.because);
}

#[test]
fn the_row_holds_the_truth_between_its_bounds() {
    let row = simulated(&[Fault::Offset { ticks: 5_000 }, Fault::Rate { ppb: 40 }], &[], 12.0).row(HZ);
    let [low, high] = row.interval_ns.expect("an interval");
    assert!(low < 2_000.0 + 500.0 && high > 2_000.0 && high - low < 120.0, "{low} {high}");
    let [low, high] = row.rate_interval_ppb.expect("an interval");
    assert!(low <= 40.0 && 40.0 <= high && high - low < 20.0, "{low} {high}");
    let (rate, error) = (row.rate_ppb.expect("a rate"), row.rate_error_ppb.expect("an error"));
    assert!((rate - 40.0).abs() < 6.0 * error && error < 0.2, "{rate} {error}");
}

#[test]
fn counters_that_count_in_steps_do_not_make_the_drift_certain() {
    // Readings that all fall on the same step: the line through them errs by nothing, and may hide a drift of steps.
    let mut watch = PairWatch::new(PAIR, 0, 26);
    for at in (0..100).map(|number| number * 60 * MS) {
        watch.add(
            Place { stress: Stress::AsIs, stretch: 0 },
            Some(&Exchanged {
                at_least: Bound { at_ticks: at, offset_ticks: -52 },
                at_most: Bound { at_ticks: at, offset_ticks: 52 },
                fresh: [5_000; 2],
                best_after_ticks: MS,
                overlap_ns: 3,
                elapsed_ns: 3,
            }),
        );
    }
    let row = watch.row(HZ);
    let error = row.rate_error_ppb.expect("a hundred exchanges");
    let visible = watch.visible_drift(HZ).expect("a hundred exchanges");
    assert!(visible.ppb > 6.0 * error, "{visible:?}");
    // 10.4 ns by the root of six, over 5.94 s.
    assert!(row.rate_ppb == Some(0.0) && (error - 0.715).abs() < 0.001, "{row:?}");
}

#[test]
fn what_was_not_seen_is_not_called_safe() {
    let check = verdict_of(&PairWatch::new(PAIR, 0, 1));
    assert_eq!(check.verdict, ClockVerdict::CannotTell);
    assert!(check.because[0].contains("1 of 1 pairs"), "{:?}", check.because);
    assert_eq!((check.blind_below_ns, check.would_have_seen), (None, None));
    // One exchange of 39, and many in the first third of the time only.
    for (usable, exchanges) in [(1, 39), (13, 39)] {
        let mut watch = simulated(&[], &[], 0.06 * f64::from(usable));
        watch.exchanges = exchanges;
        let check = verdict_of(&watch);
        assert_eq!(check.verdict, ClockVerdict::CannotTell, "{:?}", check.because);
        assert!(
            check.because[0].contains(&format!("{usable} of {exchanges} exchanges")),
            "{:?}",
            check.because
        );
    }
}

#[test]
fn what_the_kernel_does_meanwhile_is_heeded() {
    let kernel = |source: &str, condemned| KernelClocks {
        clocksource: Some(source.to_owned()),
        condemned,
        ..KernelClocks::default()
    };
    for (before, now, verdict, reasons) in [
        (kernel("tsc", false), kernel("tsc", false), ClockVerdict::Safe, 1),
        (kernel("tsc", false), kernel("hpet", true), ClockVerdict::Unsafe, 3),
        (kernel("hpet", false), kernel("hpet", true), ClockVerdict::Unsafe, 2),
        (kernel("hpet", true), kernel("hpet", true), ClockVerdict::Safe, 1),
    ] {
        let mut check = verdict_of(&simulated(&[], &[], 6.0));
        check.kernel = before;
        verdict::heed_kernel(&mut check, now.clone());
        assert_eq!((check.verdict, check.because.len()), (verdict, reasons), "{:?}", check.because);
        assert_eq!(check.kernel, now);
    }
}

#[test]
fn what_firmware_states_is_kept_beside_the_error_of_what_was_measured() {
    struct Stating(Option<f64>);
    impl CounterSource for Stating {
        fn ordered_ticks(&self, _cpu: u32) -> u64 {
            0
        }
        fn ticks(&self, _cpu: u32) -> u64 {
            0
        }
        fn stated_hz(&self) -> Option<f64> {
            self.0
        }
    }
    for (stated_hz, error_ppm) in [(None, None), (Some(0.0), Some(3.0)), (Some(HZ), Some(3.0))] {
        let mut check = ClockCheck::default();
        let double = FaultedCounter::new(Stating(stated_hz), 2);
        verdict::heed_firmware(&mut check, &double, TickRate { hz: HZ, error_ppm: 3.0 });
        assert_eq!((check.counter_stated_hz, check.counter_error_ppm), (stated_hz, error_ppm));
    }
}

#[test]
fn what_would_have_been_seen_is_seen() {
    // The drift that a healthy run says it would have seen is put in, with a tenth more for its own scatter.
    let visible = simulated(&[], &[], 6.0).visible_drift(HZ).expect("a hundred exchanges");
    let ppb = (visible.ppb * 1.1).ceil() as i64;
    assert!(simulated(&[Fault::Rate { ppb }], &[], 6.0).row(HZ).seen_after_s.is_some(), "{visible:?}");
}

/// Each read is one later than all before it: the same on all CPUs, whatever the machine.
pub(crate) struct Turnstile(pub(crate) AtomicU64);

impl CounterSource for Turnstile {
    fn ordered_ticks(&self, _cpu: u32) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }

    fn ticks(&self, cpu: u32) -> u64 {
        self.ordered_ticks(cpu)
    }
}

#[test]
fn frequencies_that_cannot_be_held_end_the_watch_with_a_reason() {
    let source = RwLock::new(Turnstile(AtomicU64::new(1)));
    let settings = Settings {
        cpus: live::allowed_cpus().iter().take(2).collect(),
        stresses: vec![Stress::Slowest],
        budget_s: 5.0,
        limits: ExchangeLimits::default(),
    };
    match watch(&settings, &source, &mut NoFrequencies, &Silent) {
        Ok(seen) => assert!(seen.not_held.is_some() && seen.sweeps == 0),
        Err(error) => assert!(matches!(error, ClockPairsError::OneCpu(_)), "{error}"),
    }
}

#[test]
fn a_thread_that_is_not_started_ends_the_watch_and_releases_those_that_were() {
    let cpu = live::allowed_cpus().first().expect("a CPU");
    let source = RwLock::new(Turnstile(AtomicU64::new(1)));
    for left in [0, 1] {
        // The first is started and waits for its first round.
        let made = live::with_threads_left(left, || {
            WorkerGroup::with(&[cpu, cpu], &source, ExchangeLimits::default(), |_| {
                panic!("a group of {left}")
            })
        });
        let error = made.expect_err("there are two");
        assert!(error.to_string().starts_with("cannot start a thread for CPU"), "{error}");
    }
}

#[test]
fn one_cpu_is_not_compared_with_itself() {
    let source = RwLock::new(Turnstile(AtomicU64::new(1)));
    let settings = Settings {
        cpus: vec![CpuId(3)],
        stresses: Vec::new(),
        budget_s: 1.0,
        limits: ExchangeLimits::default(),
    };
    let error = watch(&settings, &source, &mut NoFrequencies, &Silent).expect_err("one CPU");
    assert!(error.to_string().contains("if the machine has more CPUs, allow a second one"), "{error}");
}

#[test]
fn threads_on_real_cpus_find_the_offset_of_a_double() {
    let cpus: Vec<CpuId> = live::allowed_cpus().iter().take(2).collect();
    if cpus.len() < 2 {
        println!("skipped: one CPU");
        return;
    }
    let mut double = FaultedCounter::new(Turnstile(AtomicU64::new(1)), 1_024);
    double.fault(cpus[1].0, &[Fault::Offset { ticks: 1_000_000_000 }]);
    let settings = Settings {
        cpus: cpus.clone(),
        stresses: vec![Stress::Load, Stress::Idle],
        budget_s: 0.3,
        limits: ExchangeLimits { least_ns: 0, deadline_ns: 60_000_000, fresh_needed: 2_000 },
    };
    let seen = watch(&settings, &RwLock::new(double), &mut NoFrequencies, &Silent).expect("two CPUs");
    assert!(seen.sweeps > 0 && seen.pairs.len() == 1);
    // On a loaded machine the two may never have met; what they saw, if anything, holds the truth.
    if let Some(known) = seen.pairs[0].known() {
        assert!(known.bounds.contains(1e9), "{known:?}");
    }
}

proptest! {
    #[test]
    fn every_pair_meets_once_and_nobody_is_in_two_places(
        numbers in proptest::collection::btree_set(0_u32..2_000, 0..70)
    ) {
        let cpus: Vec<CpuId> = numbers.iter().copied().map(CpuId).collect();
        let rounds = rounds(&cpus);
        let mut met = BTreeSet::new();
        for round in &rounds {
            let mut here = BTreeSet::new();
            for pair in round {
                prop_assert!(pair.a < pair.b);
                prop_assert!(met.insert(*pair), "{:?} meet twice", pair);
                prop_assert!(here.insert(pair.a) && here.insert(pair.b), "{:?} in two places", pair);
            }
        }
        let count = cpus.len();
        prop_assert_eq!(met.len(), count * count.saturating_sub(1) / 2);
        prop_assert_eq!(rounds.len(), if count < 2 { 0 } else { count - 1 + count % 2 });
    }
}

#[test]
fn all_pairs_of_256_cpus_take_at_most_three_seconds() {
    let cpus: Vec<CpuId> = (0..256).map(CpuId).collect();
    assert_eq!(rounds(&cpus).len(), 255);
    let deadline_s = ExchangeLimits::default().deadline_ns as f64 * 1e-9;
    let worst_s = sweep_worst_s(256, deadline_s);
    assert!(worst_s <= 3.0, "{worst_s} s");
}
