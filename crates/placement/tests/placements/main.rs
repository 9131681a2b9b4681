//! The optimiser against brute force.

mod families;
mod oracle;

use families::Family;
use placement::{Answer, Effort, Level, PairValues, Problem, enumerate, search, solve};
use proptest::prelude::*;
use stats::Random;

/// Little: tests ask for truth, not for the last per cent.
const EFFORT: Effort = Effort { tried_max: 200_000, seed: 1 };

fn problem(pairs: PairValues, capacity: usize, units: usize) -> Problem {
    Problem::new(pairs.threads(), vec![Level { capacity, pairs }], units).expect("it is one")
}

/// All places taken.
fn full(family: Family, threads: usize, capacity: usize, seed: u64) -> Problem {
    problem(family.pairs(threads, seed), capacity, threads / capacity)
}

/// The placement fits and has that value.
fn check(problem: &Problem, answer: &Answer) {
    let value = problem.value(&answer.unit_of).expect("it fits");
    assert!((value - answer.value).abs() <= 1e-9 * (1.0 + value.abs()), "{value} {}", answer.value);
    assert!(answer.tried > 0);
}

/// Fours and pairs, up to 12 threads, with and without empty places and negative values.
fn small_instances() -> impl Iterator<Item = Problem> {
    let mut random = Random::new(1);
    (0..120).flat_map(move |seed| {
        let capacity = if seed % 2 == 0 { 2 } else { 4 };
        let is_full = seed % 4 < 2;
        let threads =
            if is_full { capacity * (1 + random.below(12 / capacity)) } else { 1 + random.below(9) };
        let units = if is_full { threads / capacity } else { threads.div_ceil(capacity) + random.below(3) };
        // Contention makes about half of all values negative.
        let loss = if seed % 3 == 0 { 0.0 } else { random.unit() * 0.5 };
        Family::ALL.map(|family| {
            let sharing = family.pairs(threads, seed);
            let pairs = PairValues::from_fn(threads, |one, other| sharing.of(one, other) - loss);
            problem(pairs, capacity, units)
        })
    })
}

#[test]
fn all_placements_of_six_hundred_small_instances_hold_the_best_of_brute_force() {
    for problem in small_instances() {
        let answer = solve(&problem, Effort::default());
        let best = oracle::best_value(&problem);
        assert!((answer.value - best).abs() < 1e-8 * (1.0 + best.abs()), "{best} {answer:?} {problem:?}");
        assert!(answer.is_all, "{answer:?}");
        check(&problem, &answer);
    }
}

#[test]
fn a_search_finds_the_best_of_nearly_all_small_instances() {
    let (mut found, mut all) = (0, 0);
    for problem in small_instances() {
        let answer = search(&problem, Effort { tried_max: 20_000, seed: 1 });
        let best = enumerate(&problem, u64::MAX).expect("no limit").value;
        assert!(answer.value <= best + 1e-9 && !answer.is_all, "{best} {answer:?}");
        check(&problem, &answer);
        all += 1;
        found += usize::from(answer.value >= best - 1e-9 * (1.0 + best.abs()));
    }
    assert!(all == 600 && found >= 590, "{found} of {all}");
}

#[test]
fn a_search_is_never_worse_than_the_order_of_the_threads_and_more_effort_never_worse_than_less() {
    for family in Family::ALL {
        for (threads, capacity, units) in [(16, 2, 8), (24, 4, 6), (18, 4, 5), (64, 8, 8), (30, 3, 10)] {
            let problem = problem(family.pairs(threads, 5), capacity, units);
            let in_order: Vec<usize> = (0..threads).map(|thread| thread / capacity).collect();
            let mut before = problem.value(&in_order).expect("it fits");
            for tried_max in [1, 10_000, 100_000] {
                let answer = search(&problem, Effort { tried_max, seed: 1 });
                check(&problem, &answer);
                assert!(answer.value >= before, "{family:?} {threads} {tried_max}");
                before = answer.value;
            }
        }
    }
}

/// Two levels of units: twos within fours.
fn nested(threads: usize, random: &mut Random) -> Problem {
    let mut of = |strength: f64| {
        let draws: Vec<f64> = (0..64).map(|_| random.unit() * strength - 0.2).collect();
        PairValues::from_fn(threads, |one, other| draws[one * 8 + other])
    };
    let levels = vec![Level { capacity: 2, pairs: of(1.0) }, Level { capacity: 4, pairs: of(0.5) }];
    Problem::new(threads, levels, 4).expect("it is one")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn all_placements_on_nested_levels_hold_the_best_of_brute_force(seed in any::<u64>(), threads in 2_usize..=7) {
        let problem = nested(threads, &mut Random::new(seed));
        let answer = solve(&problem, EFFORT);
        let best = oracle::best_value(&problem);
        prop_assert!((answer.value - best).abs() < 1e-9 && answer.is_all, "{best} {answer:?}");
        check(&problem, &answer);
    }

    #[test]
    fn the_order_of_threads_does_not_matter_where_all_placements_are_tried(seed in any::<u64>(), half in 1_usize..=5) {
        let threads = 2 * half;
        let pairs = Family::Uniform.pairs(threads, seed);
        let mut order: Vec<usize> = (0..threads).collect();
        Random::new(seed).shuffle(&mut order);
        let shuffled = PairValues::from_fn(threads, |one, other| pairs.of(order[one], order[other]));
        let [one, other] = [pairs, shuffled].map(|pairs| solve(&problem(pairs, 2, half), EFFORT).value);
        prop_assert!((one - other).abs() < 1e-8);
    }
}

#[test]
fn units_that_are_alike_are_tried_once() {
    // Four threads in pairs: 1 + 6 + 3 ways to join none, two, or twice two of them.
    let flat = problem(Family::Uniform.pairs(4, 1), 2, 4);
    assert_eq!(enumerate(&flat, u64::MAX).map(|answer| answer.tried), Some(10));
    assert_eq!(enumerate(&flat, 9), None);
    // Two threads on twos within fours: on one, on two of the same four, or on two of others.
    assert_eq!(solve(&nested(2, &mut Random::new(1)), EFFORT).tried, 3);
}

#[test]
fn equal_efforts_give_equal_answers() {
    let problem = full(Family::Uniform, 24, 4, 2);
    let answer = solve(&problem, EFFORT);
    assert!(!answer.is_all && answer.tried >= EFFORT.tried_max, "{answer:?}");
    assert_eq!(answer, solve(&problem, EFFORT));
}

#[test]
fn values_of_all_sizes_and_signs_are_placed() {
    for value in [0.0, 1e-300, 1e300, -1.0, f64::MIN_POSITIVE] {
        for capacity in [1, 2, 3, 4] {
            let problem = problem(PairValues::from_fn(13, |_, _| value), capacity, 14);
            let answer = solve(&problem, Effort { tried_max: 10_000, seed: 1 });
            assert!(answer.value.is_finite(), "{value} {capacity} {answer:?}");
        }
    }
}

#[test]
fn what_is_no_problem_is_refused() {
    let level = |capacity| Level { capacity, pairs: PairValues::from_fn(4, |_, _| 1.0) };
    for (threads, levels, units) in [
        (0, vec![level(2)], 2),
        (4, vec![level(2)], 1),
        (4, vec![level(0)], 2),
        (4, vec![level(2), level(3)], 2),
        (4, vec![], 2),
        (3, vec![level(2)], 2),
        (4, vec![level(2)], usize::MAX),
        (5000, vec![level(2)], 5000),
    ] {
        assert!(Problem::new(threads, levels, units).is_err());
    }
}
