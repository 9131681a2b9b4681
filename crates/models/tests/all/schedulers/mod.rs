//! The scheduler's simulator against exact enumeration, published numbers that cannot reach predictions, what each policy
//! is for.

mod enumeration;

use models::scheduling::{
    Compiled, Engine, Length, Load, Pattern, Policy, Scenario, SchedulingMachine, SchedulingSimulation, Step,
    Thread, simulate, throughput,
};
use proptest::prelude::*;

use enumeration::{Chip, gain_percent};

fn known(name: &str) -> SchedulingMachine {
    models::known(name).expect(name)
}

fn scenario(policy: Policy, threads: [usize; 2]) -> Scenario {
    let pattern = Pattern::Copies;
    Scenario { policy, pattern, threads, sharing: 0.0, seed: 1 }
}

fn sweep(machine: &SchedulingMachine, threads: [usize; 2]) -> SchedulingSimulation {
    simulate(machine, scenario(Policy::ModulesFirst, threads))
}

const FX_8150: Chip<'static> = Chip { modules: 4, size: 2, speed_of_two: 0.8, ghz: &[4.2, 4.2, 3.9, 3.9] };

#[test]
fn the_fx_8150_gains_what_enumeration_says_and_nothing_at_one_and_eight_threads() {
    let found = sweep(&known("fx-8150"), [1, 8]);
    // The same numbers were computed by another program beforehand, for s = 0.8 and 4.2 and 3.9 GHz.
    let over_random = [0.0, 2.9, 2.9, 8.7, 3.9, 1.1, 0.0, 0.0];
    let over_in_order = [0.0, 25.0, 7.1, 16.1, 9.5, 8.3, 0.0, 0.0];
    for (row, (random, in_order)) in found.rows.iter().zip(over_random.into_iter().zip(over_in_order)) {
        let exact = [true, false].map(|over_random| gain_percent(FX_8150, row.threads, over_random));
        assert!((exact[0] - random).abs() < 0.05 && (exact[1] - in_order).abs() < 0.06, "{exact:?}");
        assert!((row.gain_over_random_percent - exact[0]).abs() < 0.2, "{row:?} {exact:?}");
        assert!((row.gain_over_in_order_percent - exact[1]).abs() < 1e-6, "{row:?} {exact:?}");
        if [1, 8].contains(&row.threads) {
            assert_eq!((row.gain_over_random_percent, row.gain_over_in_order_percent), (0.0, 0.0), "{row:?}");
        }
    }
}

#[test]
fn intervals_hold_the_exact_gain_nearly_always() {
    let machine = known("fx-8150");
    let (mut held, mut count) = (0, 0);
    for seed in 0..8 {
        let scenario = Scenario { seed, ..scenario(Policy::ModulesFirst, [2, 6]) };
        for row in simulate(&machine, scenario).rows {
            held +=
                i32::from(row.gain_over_random_interval.contains(gain_percent(FX_8150, row.threads, true)));
            count += 1;
        }
    }
    // 95 % of 40; fewer than 34 has a probability below 1 in 100.
    assert!(held >= 34, "{held} of {count}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn any_chip_of_modules_gains_what_enumeration_says(
        modules in 1_usize..=4, size in 2_usize..=4, speed_of_two in 0.5_f64..1.0,
        steps in prop::collection::vec(0.0_f64..0.3, 4), count in 1_usize..=16, seed in any::<u64>(),
    ) {
        let threads = 1 + (count - 1) % (modules * size);
        let mut ghz = vec![4.0];
        for step in &steps[1..] {
            ghz.push(ghz[ghz.len() - 1] - step);
        }
        let text = format!(
            "kind = \"scheduling\"\nname = \"x\"\ntitle = \"x\"\ncpus = {{ value = {}, source = \"\" }}\n\
             slice_ns = {{ value = 1e6, source = \"\" }}\n[[level]]\nname = \"module\"\n\
             cpus = {{ value = {size}, source = \"\" }}\nspeed_of_two = {{ value = {speed_of_two:?}, source = \"\" }}\n\
             [clock]\nlevel = \"module\"\nhz_by_awake = {{ value = {:?}, source = \"\" }}\n\
             [[idle]]\nname = \"c6\"\nlevel = \"module\"\nasleep = true\n\
             after_ns = {{ value = 1e6, source = \"\" }}\nexit_ns = {{ value = 1e5, source = \"\" }}\n",
            modules * size,
            ghz.iter().map(|ghz| ghz * 1e9).collect::<Vec<_>>(),
        );
        let machine: SchedulingMachine = models::parse(&text, "x.toml").expect("a chip");
        let found = simulate(&machine, Scenario { seed, ..scenario(Policy::ModulesFirst, [threads; 2]) });
        let row = &found.rows[0];
        let chip = Chip { modules, size, speed_of_two, ghz: &ghz };
        let exact = gain_percent(chip, threads, true);
        let interval = row.gain_over_random_interval;
        // Two and a half times the half-width of 95 % is passed once in a million; sums round.
        prop_assert!((row.gain_over_random_percent - exact).abs() <= 2.5 * interval.half_width() + 1e-6, "{row:?} {exact}");
        prop_assert!((row.gain_over_in_order_percent - gain_percent(chip, threads, false)).abs() < 1e-6, "{row:?}");
        if threads == 1 || threads == modules * size {
            prop_assert_eq!(row.gain_over_random_percent.to_bits(), 0);
            prop_assert_eq!(row.gain_over_in_order_percent.to_bits(), 0);
        }
    }
}

#[test]
fn no_prediction_changes_when_every_published_number_does() {
    for file in models::known_machines_of(models::MachineKind::Threads) {
        let name = file.name;
        let honest = known(name);
        let mut forged = honest.clone();
        for one in &mut forged.published {
            one.gain_percent = [77.0, 78.0];
            one.threads = Some(2);
            one.fitted = !one.fitted;
        }
        let threads = [1, 4];
        assert_eq!(sweep(&honest, threads).rows, sweep(&forged, threads).rows, "{name}");
    }
}

/// The fitted number and the ends are no merit. The middle that was held out is: 20.1 % against 18.8 to 19.0 %.
#[test]
fn the_cluster_machine_meets_its_ends_and_the_middle_that_was_held_out() {
    let machine = known("jacobsville");
    for (threads, tolerance) in [(1, 0.5), (6, 0.1), (12, 6.0), (24, 0.5)] {
        let found = sweep(&machine, [threads; 2]);
        let joined = found.published.iter().find(|one| one.predicted_percent.is_some()).expect("published");
        let (predicted, published) = (joined.predicted_percent.unwrap(), joined.published.gain_percent[0]);
        assert_eq!(joined.published.threads, Some(threads));
        assert!((predicted - published).abs() <= tolerance, "{threads}: {predicted} against {published}");
    }
}

/// Why the baseline matters: over random placement the same law of contention cannot meet both middles.
#[test]
fn over_random_placement_the_cluster_machine_misses_the_held_out_middle() {
    let mut machine = known("jacobsville");
    let speed = machine.level[0].speed_of_two.as_mut().expect("fitted");
    // 1 / (1 + 0.51): chosen for 25.1 % with 6 copies over random placement.
    speed.value = 1.0 / 1.51;
    let gain = |threads| sweep(&machine, [threads; 2]).rows[0].gain_over_random_percent;
    assert!((gain(6) - 25.1).abs() < 0.5, "{}", gain(6));
    assert!((gain(12) - 18.8).abs() > 6.0, "{}", gain(12));
}

#[test]
fn the_wish_packs_partners_from_the_gain_on_that_arithmetic_gives() {
    // 3.9 / (4.2 * 0.8) - 1 with turbo, and 1 / 0.8995 - 1.
    for (name, threads, gain) in [("fx-8150", 4, 0.160_714), ("jacobsville", 6, 0.111_729)] {
        let compiled = Compiled::new(&known(name), false);
        let of = |policy, sharing| {
            let load = Pattern::Copies.load(threads, sharing);
            throughput(&compiled, &load, policy, 1).cycles_per_ns
        };
        let packing = |sharing| of(Policy::DataAware, sharing) / of(Policy::DataAware, 0.0) - 1.0;
        assert!(packing(gain - 0.001).abs() < 1e-9, "{name} {}", packing(gain - 0.001));
        assert!(packing(gain + 0.001) > 1e-4, "{name} {}", packing(gain + 0.001));
    }
}

#[test]
fn the_wish_is_never_worse_than_another_and_better_where_threads_share() {
    for name in ["jacobsville", "ryzen-1800x"] {
        let compiled = Compiled::new(&known(name), false);
        for (sharing, threads) in [(0.0, 5), (0.1, 2), (0.1, 6), (0.4, 6), (0.2, 13)] {
            let load = Pattern::Copies.load(threads, sharing);
            let of = |policy| throughput(&compiled, &load, policy, 1).cycles_per_ns;
            let wish = of(Policy::DataAware);
            for other in [Policy::InOrder, Policy::ModulesFirst, Policy::Pack, Policy::KernelLike] {
                assert!(wish >= of(other) * (1.0 - 1e-9), "{name} {sharing} {threads} {other:?}");
            }
        }
    }
    let machine = known("fx-8150");
    for sharing in [0.0, 0.1, 0.2, 0.4] {
        for threads in 1..=8 {
            let load = Pattern::Copies.load(threads, sharing);
            let compiled = Compiled::new(&machine, false);
            let of = |policy| throughput(&compiled, &load, policy, 1).cycles_per_ns;
            let (wish, hotfix) = (of(Policy::DataAware), of(Policy::ModulesFirst));
            assert!(wish >= hotfix * (1.0 - 1e-9), "{sharing} {threads}: {wish} {hotfix}");
            if sharing > 0.0 && threads == 6 {
                // Two modules must hold two threads each anyway.
                assert!(wish > hotfix * 1.01, "{sharing}: {wish} {hotfix}");
            }
        }
    }
}

#[test]
fn later_parking_spares_wake_ups() {
    let machine = known("fx-8150");
    let load = Pattern::Bursts.load(3, 0.0);
    let wake_ns =
        |policy: Policy| throughput(&Compiled::new(&machine, policy.is_patient()), &load, policy, 1).wake_ns;
    let [first, patient] = [Policy::ModulesFirst, Policy::ModulesFirstPatient].map(wake_ns);
    assert!(patient < first / 2.0, "{first} {patient}");
}

#[test]
fn more_threads_than_cpus_share_slices_fairly() {
    let compiled = Compiled::new(&known("fx-8150"), false);
    let full = throughput(&compiled, &Pattern::Copies.load(8, 0.0), Policy::InOrder, 1);
    for policy in Policy::ALL {
        let many = throughput(&compiled, &Pattern::Copies.load(13, 0.0), policy, 1);
        assert!((many.cycles_per_ns / full.cycles_per_ns - 1.0).abs() < 1e-9, "{policy:?}");
    }
}

#[test]
fn a_thread_that_waits_runs_only_when_it_is_woken() {
    let compiled = Compiled::new(&known("jacobsville"), false);
    let thread = |steps: Vec<Step>| Thread { steps, shared_set: None };
    let work = Step::Compute(Length::Fixed(1000.0));
    let load = Load {
        threads: vec![
            thread(vec![work, Step::Wake(1), Step::Wait]),
            thread(vec![Step::Wait, work, Step::Wake(0)]),
        ],
        shared_sets: Vec::new(),
    };
    let totals = Engine::new(&compiled, &load, Policy::ModulesFirst, &[], 1).run_until(1e6);
    // At 1 GHz a cycle is a nanosecond: one of the two works at any time.
    assert!((totals.work_cycles - 1e6).abs() < 1e-3, "{totals:?}");
    assert_eq!(totals.events, 1000);
}

#[test]
fn many_handovers_end_the_runs_early_with_an_interval_all_the_same() {
    let mut fast = known("ryzen-1800x");
    fast.clock.hz_by_awake.value = vec![machine::Hertz(8e9)];
    let load = Pattern::Pairs.load(16, 0.0);
    let found = throughput(&Compiled::new(&fast, false), &load, Policy::KernelLike, 1);
    // Of the first 32 runs as many as make four million events.
    assert!((4..32).contains(&found.runs) && found.events >= 4_000_000, "{found:?}");
    assert!(found.events < 5_000_000 && found.standard_error > 0.0, "{found:?}");
}

#[test]
fn equal_seeds_give_equal_runs() {
    let compiled = Compiled::new(&known("fx-8150"), false);
    let load = Pattern::Bursts.load(5, 0.1);
    let run = |seed| Engine::new(&compiled, &load, Policy::Random, &[], seed).run_until(5e7);
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}
