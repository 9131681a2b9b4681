//! The optimiser against brute force, and every bound against a check by its definition.

mod families;
mod oracle;

use families::Family;
use placement::{Answer, Effort, Level, PairValues, Problem, Proof, solve};
use proptest::prelude::*;
use stats::Random;

/// Little: tests ask for truth, not for the last per cent.
const EFFORT: Effort = Effort { swaps: 300_000, seed: 1 };

fn problem(pairs: PairValues, capacity: usize, units: usize, awake: Vec<f64>) -> Problem {
    Problem::new(pairs.threads(), vec![Level { capacity, pairs }], units, awake).expect("it is one")
}

/// All places taken.
fn full(family: Family, threads: usize, capacity: usize, seed: u64) -> Problem {
    problem(family.pairs(threads, seed), capacity, threads / capacity, Vec::new())
}

/// The placement fits and has that value, the bound is above it, and the certificate proves the bound.
fn check(problem: &Problem, answer: &Answer) {
    let tolerance = 1e-7 * (1.0 + answer.bound.abs());
    let value = problem.value(&answer.unit_of).expect("it fits");
    assert!((value - answer.value).abs() <= tolerance, "{value} {}", answer.value);
    assert!(answer.bound >= answer.value);
    let proven = oracle::proven(problem, &answer.certificate).expect("it proves something");
    assert!(proven <= answer.bound + tolerance, "{proven} is proven, {} is said", answer.bound);
}

#[test]
fn six_hundred_small_instances_are_solved_as_by_brute_force() {
    let mut random = Random::new(1);
    for seed in 0..120 {
        for family in Family::ALL {
            let capacity = if seed % 2 == 0 { 2 } else { 4 };
            let threads =
                if seed % 4 < 2 { capacity * (1 + random.below(12 / capacity)) } else { 1 + random.below(9) };
            let units =
                if seed % 4 < 2 { threads / capacity } else { threads.div_ceil(capacity) + random.below(3) };
            let sharing = family.pairs(threads, seed);
            // Contention makes about half of all values negative; a value for units asleep makes it matter how many are used.
            let loss = if seed % 3 == 0 { 0.0 } else { random.unit() * 0.5 };
            let pairs = PairValues::from_fn(threads, |one, other| sharing.of(one, other) - loss);
            let awake = if seed % 5 == 0 { Vec::new() } else { (0..=units).map(|_| random.unit()).collect() };
            let problem = problem(pairs, capacity, units, awake);
            let answer = solve(&problem, EFFORT);
            let best = oracle::best_value(&problem);
            assert!(
                (answer.value - best).abs() < 1e-8 * (1.0 + best.abs()),
                "{seed} {family:?}: {best} {answer:?}"
            );
            assert_eq!(answer.gap().to_bits(), 0, "{seed} {family:?} {answer:?}");
            check(&problem, &answer);
        }
    }
}

#[test]
fn pairs_have_no_gap_up_to_256_threads() {
    for (threads, seeds) in [(16, 6), (64, 2), (256, 1)] {
        for family in Family::ALL {
            for seed in 0..seeds {
                let problem = full(family, threads, 2, seed);
                let answer = solve(&problem, EFFORT);
                assert_eq!(
                    (answer.gap().to_bits(), answer.proof()),
                    (0, Proof::Matching),
                    "{family:?} {threads}"
                );
                check(&problem, &answer);
            }
        }
    }
}

#[test]
fn empty_places_and_units_asleep_leave_pairs_no_gap() {
    for family in Family::ALL {
        let sharing = family.pairs(40, 3);
        let pairs = PairValues::from_fn(40, |one, other| sharing.of(one, other) - 0.3);
        let clock = |units: usize| if units <= 24 { 3.0 } else { 0.0 } - 0.05 * units as f64;
        let problem = problem(pairs, 2, 32, (0..=32).map(clock).collect());
        let answer = solve(&problem, EFFORT);
        assert_eq!(answer.gap().to_bits(), 0, "{family:?} {} {}", answer.value, answer.bound);
        check(&problem, &answer);
    }
}

#[test]
fn planted_and_sparse_fours_are_certified_within_two_per_cent_at_64_threads() {
    for family in [Family::Planted, Family::Sparse] {
        let problem = full(family, 64, 4, 1);
        let answer = solve(&problem, Effort { swaps: 3_000_000, seed: 1 });
        assert!(answer.gap() <= 0.02, "{family:?} {}", answer.gap());
        check(&problem, &answer);
    }
}

/// There are 4.4e9 groups of eight: too many to look at.
#[test]
fn eights_are_certified_within_two_per_cent_at_64_threads() {
    for (family, gap) in [
        (Family::Planted, 0.02),
        (Family::Sparse, 0.02),
        (Family::Ring, 0.0),
        (Family::Grid, 0.02),
        (Family::Uniform, 0.03),
    ] {
        let problem = full(family, 64, 8, 0);
        let answer = solve(&problem, Effort::default());
        assert!([Proof::Groups, Proof::Branches].contains(&answer.proof()), "{family:?}");
        assert!(answer.gap() <= gap, "{family:?} {}", answer.gap());
        check(&problem, &answer);
    }
}

/// And of these the search for the best comes to no end.
#[test]
fn sparse_sixteens_and_rings_of_sixteens_are_certified_by_pairs_and_triangles() {
    for (family, gap) in [(Family::Sparse, 0.02), (Family::Ring, 0.001)] {
        let problem = full(family, 64, 16, 0);
        let answer = solve(&problem, EFFORT);
        assert_eq!(answer.proof(), Proof::Triangles);
        assert!(answer.gap() <= gap, "{family:?} {}", answer.gap());
        check(&problem, &answer);
    }
}

/// Also where it is large: every family, fours and eights, with and without empty places.
#[test]
fn every_bound_is_proven_by_its_certificate() {
    for family in Family::ALL {
        for (threads, capacity, units) in [(20, 4, 5), (18, 4, 5), (24, 8, 3), (30, 3, 10), (21, 3, 9)] {
            let problem = problem(family.pairs(threads, 5), capacity, units, Vec::new());
            check(&problem, &solve(&problem, EFFORT));
        }
        // More groups than are looked at one by one.
        for (threads, capacity, units) in [(37, 8, 5), (60, 4, 15), (52, 5, 11)] {
            let problem = problem(family.pairs(threads, 1), capacity, units, Vec::new());
            let answer = solve(&problem, EFFORT);
            assert!([Proof::Groups, Proof::Branches].contains(&answer.proof()), "{family:?} {threads}");
            check(&problem, &answer);
            // Where it is worth something to leave units asleep.
            let asleep = (0..=units).map(|awake| (units - awake) as f64 * 0.7).collect();
            let problem = self::problem(family.pairs(threads, 1), capacity, units, asleep);
            check(&problem, &solve(&problem, EFFORT));
        }
        // More threads than are searched.
        let problem = problem(family.pairs(168, 1), 8, 21, Vec::new());
        let answer = solve(&problem, EFFORT);
        assert_eq!(answer.proof(), Proof::Shares, "{family:?}");
        check(&problem, &answer);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn nested_levels_are_bounded_and_small_ones_nearly_always_solved(seed in any::<u64>(), threads in 2_usize..=8) {
        let mut random = Random::new(seed);
        let mut of = |strength: f64| {
            let draws: Vec<f64> = (0..64).map(|_| random.unit() * strength - 0.2).collect();
            PairValues::from_fn(threads, |one, other| draws[one * 8 + other])
        };
        let levels = vec![
            Level { capacity: 2, pairs: of(1.0) },
            Level { capacity: 4, pairs: of(0.5) },
        ];
        let problem = Problem::new(threads, levels, 4, vec![0.0, 0.3, 0.2, 0.1, 0.0]).expect("it is one");
        let answer = solve(&problem, EFFORT);
        let best = oracle::best_value(&problem);
        prop_assert!(answer.value <= best + 1e-9 && best <= answer.bound + 1e-9, "{best} {answer:?}");
        prop_assert!(answer.value >= best - 0.05 * (1.0 + best.abs()), "{best} {answer:?}");
        check(&problem, &answer);
    }

    #[test]
    fn the_order_of_threads_does_not_matter_to_pairs(seed in any::<u64>(), half in 1_usize..=12) {
        let threads = 2 * half;
        let pairs = Family::Uniform.pairs(threads, seed);
        let mut order: Vec<usize> = (0..threads).collect();
        Random::new(seed).shuffle(&mut order);
        let shuffled = PairValues::from_fn(threads, |one, other| pairs.of(order[one], order[other]));
        let [one, other] = [pairs, shuffled].map(|pairs| solve(&problem(pairs, 2, half, Vec::new()), EFFORT).value);
        prop_assert!((one - other).abs() < 1e-8);
    }
}

#[test]
fn equal_efforts_give_equal_answers() {
    let problem = full(Family::Uniform, 24, 4, 2);
    assert_eq!(solve(&problem, EFFORT), solve(&problem, EFFORT));
}

#[test]
fn values_of_all_sizes_and_signs_are_placed() {
    for value in [0.0, 1e-300, 1e300, -1.0, f64::MIN_POSITIVE] {
        for capacity in [1, 2, 3, 4] {
            let pairs = PairValues::from_fn(13, |_, _| value);
            let problem = problem(pairs, capacity, 14, Vec::new());
            let answer = solve(&problem, Effort { swaps: 10_000, seed: 1 });
            assert!(
                answer.bound >= answer.value && answer.value.is_finite(),
                "{value} {capacity} {answer:?}"
            );
        }
    }
}

#[test]
fn what_is_no_problem_is_refused() {
    let level = |capacity| Level { capacity, pairs: PairValues::from_fn(4, |_, _| 1.0) };
    for (threads, levels, units, awake) in [
        (0, vec![level(2)], 2, Vec::new()),
        (4, vec![level(2)], 1, Vec::new()),
        (4, vec![level(0)], 2, Vec::new()),
        (4, vec![level(2), level(3)], 2, Vec::new()),
        (4, vec![], 2, Vec::new()),
        (3, vec![level(2)], 2, Vec::new()),
        (4, vec![level(2)], 2, vec![0.0]),
        (4, vec![level(2)], 2, vec![0.0, f64::NAN, 0.0]),
        (4, vec![level(2)], usize::MAX, Vec::new()),
        (5000, vec![level(2)], 5000, Vec::new()),
    ] {
        assert!(Problem::new(threads, levels, units, awake).is_err());
    }
}
