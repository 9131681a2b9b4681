//! Strips against their naive twin and against counters with known faults, in simulated time.

use super::*;
use crate::{Bound, Fault, FaultSchedule, Regime};
use proptest::prelude::*;

/// Ticks per millisecond of the simulated counters.
const MS: u64 = 2_500_000;

/// The definition, pair by pair.
fn naive_rate(strip: &Strip) -> Bounds {
    let mut bounds = Bounds { low: f64::NEG_INFINITY, high: f64::INFINITY };
    for low in strip.sightings.iter().map(|sighting| sighting.lower) {
        for high in strip.sightings.iter().map(|sighting| sighting.upper) {
            if low.at_ticks < high.at_ticks {
                bounds.high = bounds.high.min(slope(&low, &high));
            } else if low.at_ticks > high.at_ticks {
                bounds.low = bounds.low.max(slope(&high, &low));
            } else if low.offset_ticks > high.offset_ticks {
                return Bounds { low: f64::INFINITY, high: f64::NEG_INFINITY };
            }
        }
    }
    bounds
}

/// One exchange in simulated time: messages in both directions at two true ticks, with the delays given.
fn exchange(second: &FaultSchedule, at: [u64; 2], delays: [u64; 2]) -> Exchanged {
    let theta_gap = |sent: u64, seen: u64| seen.wrapping_sub(sent).cast_signed();
    // The first publishes, the second reads later.
    let upper = theta_gap(at[0], second.read(at[0] + delays[0]));
    // The second publishes, the first reads later.
    let lower = theta_gap(second.read(at[1]), at[1] + delays[1]);
    Exchanged {
        at_least: Bound { at_ticks: at[1] + delays[1], offset_ticks: -lower },
        at_most: Bound { at_ticks: at[0], offset_ticks: upper },
        fresh: [2_000; 2],
        best_after_ticks: 0,
        overlap_ns: 1,
        elapsed_ns: 1,
    }
}

/// Exchanges every 60 ms with delays of 100 to 140 ticks, the numbers of a small generator.
fn watched(second: &FaultSchedule, count: u64, seed: u64) -> Strip {
    let mut state = seed;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut strip = Strip::new(0);
    for index in 0..count {
        let at = index * 60 * MS;
        let places = [at + next(3 * MS), at + next(3 * MS)];
        strip.push(&exchange(second, places, [100 + next(40), 100 + next(40)]));
    }
    strip
}

fn rate_fault(ppb: i64) -> FaultSchedule {
    FaultSchedule::new(0, &[Fault::Offset { ticks: 12_345 }, Fault::Rate { ppb }])
}

proptest! {
    #[test]
    fn hulls_find_what_comparing_all_pairs_finds(
        points in proptest::collection::vec((0_u32..50, -30_i32..30, 0_u32..50, -30_i32..30), 0..40)
    ) {
        let point = |at: u32, offset: i32| Point { at_ticks: f64::from(at), offset_ticks: f64::from(offset) };
        let sightings = points.iter()
            .map(|&(low_at, low, high_at, high)| Sighting { lower: point(low_at, low), upper: point(high_at, high) })
            .collect();
        let strip = Strip { sightings, ..Strip::new(0) };
        let (fast, naive) = (strip.rate(), naive_rate(&strip));
        // A slope of zero may come with either sign: adding zero makes both the same.
        prop_assert_eq!((fast.low + 0.0).total_cmp(&(naive.low + 0.0)), std::cmp::Ordering::Equal, "{:?} {:?}", fast, naive);
        prop_assert_eq!((fast.high + 0.0).total_cmp(&(naive.high + 0.0)), std::cmp::Ordering::Equal, "{:?} {:?}", fast, naive);
    }

    #[test]
    fn certain_bounds_always_hold_the_truth(
        ppb in -200_000_i64..200_000,
        offset in -1_000_000_000_i64..1_000_000_000,
        messages in proptest::collection::vec((0_u64..10 * MS, 0_u64..10 * MS, 1_u64..10_000, 1_u64..10_000), 2..30),
    ) {
        let second = FaultSchedule::new(0, &[Fault::Offset { ticks: offset }, Fault::Rate { ppb }]);
        let mut strip = Strip::new(0);
        for (index, &(up, down, there, back)) in messages.iter().enumerate() {
            let at = index as u64 * 60 * MS;
            strip.push(&exchange(&second, [at + up, at + down], [there, back]));
        }
        let bounds = strip.rate();
        // A counter shows whole ticks: half a tick at either end of the shortest distance between bounds.
        let slack = 2.0 / (40 * MS) as f64;
        let truth = ppb as f64 * 1e-9;
        prop_assert!(bounds.low <= truth + slack && truth - slack <= bounds.high, "{:?} {}", bounds, truth);
        let (low, high) = (&strip.sightings[0].lower, &strip.sightings[0].upper);
        let theta = |at: f64| second.read(at as u64).wrapping_sub(at as u64).cast_signed() as f64;
        prop_assert!(low.offset_ticks <= theta(low.at_ticks) && theta(high.at_ticks) <= high.offset_ticks);
    }

    #[test]
    fn no_healthy_pair_is_ever_condemned(seed in any::<u64>(), offset in -1_000_i64..1_000, count in 2_u64..200) {
        let second = FaultSchedule::new(0, &[Fault::Offset { ticks: offset }]);
        let strip = watched(&second, count, seed);
        prop_assert!(!strip.moves_for_certain());
        prop_assert!(!strip.moves_likely(), "{:?}", strip.line());
        prop_assert!(strip.rate().contains(0.0));
        prop_assert!(strip.constant_offset().contains(offset as f64));
    }

    #[test]
    fn a_random_schedule_of_faults_is_certain_only_if_it_moved(
        seed in any::<u64>(),
        steps in proptest::collection::vec((1_u64..100, -5_000_i64..5_000), 0..3),
        idle_ppb in -100_000_i64..100_000,
        naps in proptest::collection::vec(1_u64..1_000, 0..4),
    ) {
        let mut at = 0;
        let mut faults = vec![Fault::Idle { ppb: idle_ppb }];
        for &(gap, ticks) in &steps {
            at += gap * 60 * MS;
            faults.push(Fault::Step { at_ticks: at, ticks });
        }
        let mut second = FaultSchedule::new(0, &faults);
        let mut place = 0;
        for (index, gap) in naps.iter().enumerate() {
            place += gap * MS;
            second.enter(if index % 2 == 0 { Regime::Idle } else { Regime::Load }, place);
        }
        let strip = watched(&second, 100, seed);
        let theta = |at: u64| second.read(at).wrapping_sub(at).cast_signed();
        let offsets: Vec<i64> = (0..101 * 60).map(|ms| theta(ms * MS)).collect();
        let moved = offsets.iter().max().expect("many") - offsets.iter().min().expect("many");
        if strip.moves_for_certain() {
            // Bounds contradict each other only if the offset was different at their times.
            prop_assert!(moved > 0);
        } else {
            // Delays of at most 140 ticks each way, and rounding, hide no more.
            let low = strip.sightings.iter().map(|sighting| theta(sighting.lower.at_ticks as u64)).max();
            let high = strip.sightings.iter().map(|sighting| theta(sighting.upper.at_ticks as u64)).min();
            prop_assert!(low.expect("many") - high.expect("many") <= 282, "{:?} {:?}", low, high);
        }
    }
}

#[test]
fn injected_rates_are_found_with_their_size() {
    // Exchanges in 12 s, as they are made on a quiet machine.
    for ppb in [10_i64, 100, 1_000, 50_000, -10, -1_000] {
        let strip = watched(&rate_fault(ppb), 200, 7);
        let (bounds, line) = (strip.rate(), strip.line().expect("a hundred centres"));
        let truth = ppb as f64 * 1e-9;
        assert!(bounds.contains(truth), "{ppb}: {bounds:?}");
        assert!(bounds.high - bounds.low < 40e-9, "{ppb}: {bounds:?}");
        assert!((line.rate - truth).abs() < 6.0 * line.rate_error + 1e-12, "{ppb}: {line:?}");
        // At 10 ppb twelve seconds move the centres by 300 ticks, which is more than twice the half-width of 100 to 140.
        assert!(strip.moves_likely(), "{ppb}");
        let Some(found) = strip.contradiction() else { panic!("{ppb}: 300 ticks are more than two delays") };
        assert!(found.at_least.offset_ticks > found.at_most.offset_ticks, "{ppb}: {found:?}");
        assert_eq!(found.at_least.at_ticks > found.at_most.at_ticks, ppb > 0, "{ppb}: {found:?}");
    }
}

#[test]
fn a_step_fits_no_line() {
    let step = Fault::Step { at_ticks: 50 * 60 * MS, ticks: 100_000 };
    let strip = watched(&FaultSchedule::new(0, &[step]), 100, 3);
    assert!(strip.moves_for_certain() && strip.rate().is_empty());
}

#[test]
fn equal_centres_do_not_make_a_rate_certain() {
    // Counters that show multiples of many ticks give equal centres: no residual, and still no certainty.
    let at = |at_ticks: f64, offset_ticks: f64| Point { at_ticks, offset_ticks };
    let sighting = |index: f64| Sighting { lower: at(index, -50.0), upper: at(index + 0.5, 50.0) };
    let sightings = (0..20).map(|index| sighting(f64::from(index))).collect();
    let strip = Strip { sightings, ..Strip::new(0) };
    assert!(strip.line().expect("twenty centres").rate_error > 0.0);
    assert!(!strip.moves_likely());
}

#[test]
fn little_is_known_of_little() {
    let mut strip = Strip::new(0);
    assert_eq!((strip.line(), strip.half_width_ticks(), strip.narrowest()), (None, None, None));
    assert_eq!(strip.rate(), Bounds { low: f64::NEG_INFINITY, high: f64::INFINITY });
    strip.push(&exchange(&FaultSchedule::healthy(), [0, 10], [100, 100]));
    assert!(!strip.moves_for_certain() && !strip.moves_likely());
    assert!(strip.span_ticks().abs() < 1e-9);
}

#[test]
fn counters_that_count_in_steps_do_not_drift_by_a_step() {
    // What is read is the last multiple of 26: the difference of two such counters is one of two values at any moment.
    let at = |at_ticks: f64, offset_ticks: f64| Point { at_ticks, offset_ticks };
    let moved = |index: u32| if index.is_multiple_of(2) { 0.0 } else { 26.0 };
    let sighting = |index: u32| Sighting {
        lower: at(f64::from(index), moved(index) - 5.0),
        upper: at(f64::from(index) + 0.5, moved(index) + 5.0),
    };
    let mut strip = Strip { sightings: (0..20).map(sighting).collect(), ..Strip::new(0) };
    assert!(strip.moves_for_certain());
    strip.resolution_ticks = 26.0;
    assert!(!strip.moves_for_certain() && strip.rate().contains(0.0));
}

fn known(low: f64, high: f64) -> KnownOffset {
    KnownOffset { bounds: Bounds { low, high }, estimate_ticks: f64::midpoint(low, high), error_ticks: 1.0 }
}

#[test]
fn offsets_of_three_counters_close_and_a_wrong_one_does_not() {
    let (a_to_b, b_to_c, a_to_c) = (known(90.0, 110.0), known(-40.0, -20.0), known(60.0, 80.0));
    let closure = LoopClosure::of(a_to_b, b_to_c, a_to_c.reversed());
    assert!(closure.holds() && closure.estimate_ticks.abs() < 1e-9, "{closure:?}");
    assert!((closure.error_ticks - 3.0_f64.sqrt()).abs() < 1e-12);
    assert!(!LoopClosure::of(a_to_b, b_to_c, known(100.0, 120.0).reversed()).holds());
}
