//! The simulated Phenom 9600: what was published of it, and what must not matter.

use std::sync::LazyLock;

use models::memory::{MemoryMachine, PageTableReads, Simulation, Test, Workaround, predict, simulate};
use proptest::prelude::*;

fn phenom() -> MemoryMachine {
    models::known("phenom-9600").expect("a machine of ours")
}

fn test<'m>(machine: &'m MemoryMachine, name: &str) -> &'m Test {
    machine.test.iter().find(|test| test.name == name).expect("a test of ours")
}

/// Equal to the last bit: nothing that was changed went into it.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits()
}

fn value(machine: &MemoryMachine, name: &str, workaround: Workaround) -> f64 {
    predict(machine, test(machine, name), workaround).expect("its boards are described").value
}

/// The machine as it is, simulated once for all tests.
static AS_IT_IS: LazyLock<Simulation> = LazyLock::new(|| simulate(&phenom(), true));

/// What the machine as it is gives without the workaround and with it.
fn as_it_is(name: &str) -> [f64; 2] {
    let row = AS_IT_IS.rows.iter().find(|row| row.name == name).expect("a test of ours");
    [row.off, row.on]
}

#[test]
fn every_published_number_is_met_within_its_tolerance() {
    let rows = &AS_IT_IS.rows;
    for published in &phenom().published {
        let row = rows.iter().find(|row| row.name == published.test).unwrap();
        let tolerance = published.tolerance_percent.unwrap();
        for error in [row.error_off_percent, row.error_on_percent] {
            assert!(error.unwrap().abs() <= tolerance, "{}: {error:?} %", row.name);
        }
    }
}

#[test]
fn the_workaround_leaves_what_fits_the_caches_alone_and_hits_random_access_hardest() {
    let rows = &AS_IT_IS.rows;
    let factor = |name: &str| {
        let row = rows.iter().find(|row| row.name == name).unwrap();
        if row.name.ends_with("_ns") { row.on / row.off } else { row.off / row.on }
    };
    for name in ["l1_mb_per_s", "l2_mb_per_s", "l3_mb_per_s", "l3_latency_ns", "resident_ns"] {
        assert!((factor(name) - 1.0).abs() < 0.01, "{name}");
    }
    let hardest = factor("random_200mb_ns");
    assert!(rows.iter().filter(|row| row.board_off == row.board_on).all(|row| factor(&row.name) <= hardest));
    assert!(hardest > 4.0, "{hardest}");
}

#[test]
fn no_published_number_reaches_a_prediction() {
    let honest = &*AS_IT_IS;
    let mut forged = phenom();
    for published in &mut forged.published {
        published.off = published.off.map(|number| number * 3.7);
        published.on = published.on.map(|number| number / 2.9);
    }
    let forged = simulate(&forged, true);
    assert_eq!(honest.bandwidth, forged.bandwidth);
    for (honest, forged) in honest.rows.iter().zip(&forged.rows) {
        assert_eq!((honest.off, honest.on), (forged.off, forged.on), "{}", honest.name);
        assert_eq!(honest.parts_on, forged.parts_on);
        assert_ne!(
            (honest.published_off, 1),
            (forged.published_off, usize::from(honest.published_off.is_some()))
        );
    }
}

#[test]
fn no_prediction_depends_on_the_name_of_its_test() {
    let machine = phenom();
    for (index, test) in machine.test.iter().enumerate() {
        let renamed = Test { name: format!("test {index}"), title: String::new(), ..test.clone() };
        for state in [Workaround::Off, Workaround::On] {
            assert_eq!(predict(&machine, test, state), predict(&machine, &renamed, state));
        }
    }
}

#[test]
fn forty_nanoseconds_are_added_at_a_stride_of_512_bytes() {
    let strides = &AS_IT_IS.strides;
    let miss = |one: &&models::memory::StrideDifference| (one.on_ns - one.off_ns - 40.0).abs();
    let nearest = strides.iter().min_by(|a, b| miss(a).total_cmp(&miss(b))).unwrap();
    assert_eq!(nearest.stride_bytes.0, 512);
}

#[test]
fn the_north_bridge_clock_moves_the_third_level_and_nothing_above() {
    let (slow, mut fast) = (phenom(), phenom());
    fast.set_northbridge_hz(machine::Hertz(2.0e9));
    for name in ["l1_mb_per_s", "l2_mb_per_s", "resident_ns"] {
        assert!(same(value(&slow, name, Workaround::On), value(&fast, name, Workaround::On)), "{name}");
    }
    let gain = value(&fast, "l3_mb_per_s", Workaround::Off) / value(&slow, "l3_mb_per_s", Workaround::Off);
    assert!(gain > 1.05 && gain < 2.0 / 1.8, "{gain}");
    assert!(value(&fast, "l3_latency_ns", Workaround::Off) < value(&slow, "l3_latency_ns", Workaround::Off));
    // Other boards keep their clocks.
    let name = "latency_4k_stride_ns";
    assert!(same(value(&slow, name, Workaround::On), value(&fast, name, Workaround::On)));
}

#[test]
fn a_longer_stretch_of_prefetch_never_slows_a_stream_and_a_shorter_one_never_helps() {
    let speed = |stop_bytes: u64| {
        let mut machine = phenom();
        machine.prefetch.stop_bytes.value.0 = stop_bytes;
        value(&machine, "stream_mb_per_s", Workaround::Off)
    };
    let speeds = [512, 1024, 2048, 4096, 8192, 65_536, 1 << 20].map(speed);
    assert!(speeds.windows(2).all(|pair| pair[0] <= pair[1]), "{speeds:?}");
    assert!(speeds[6] > 1.2 * speeds[3], "{speeds:?}");
}

#[test]
fn cacheable_page_tables_cost_what_the_machine_costs_without_the_workaround() {
    let mut machine = phenom();
    let [off, all] = as_it_is("random_200mb_ns");
    let mut on = |reads: PageTableReads| {
        machine.workaround.page_table_reads.value = reads;
        value(&machine, "random_200mb_ns", Workaround::On)
    };
    let (last, cached) = (on(PageTableReads::LastUncached), on(PageTableReads::Cached));
    assert!(same(cached, off));
    assert!(cached < last && last < all);
}

#[test]
fn what_the_walker_keeps_is_assumed_and_hardly_matters() {
    let at = |entries: usize, name: &str| {
        let mut machine = phenom();
        machine.translation.walk_cache_entries.value = entries;
        value(&machine, name, Workaround::Off)
    };
    for name in ["latency_ns", "stream_mb_per_s", "latency_4k_stride_ns", "random_200mb_ns"] {
        let (few, some, many) = (at(8, name), as_it_is(name)[0], at(64, name));
        let limit = if name == "random_200mb_ns" { 0.06 } else { 0.001 };
        assert!(
            (few / some - 1.0).abs() < limit && (many / some - 1.0).abs() < limit,
            "{name} {few} {some} {many}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn more_entries_in_the_translation_buffers_never_slow_a_chain(
        block_pages in 1_u64..3000,
        stride_shift in 6_u32..13,
        random in any::<bool>(),
        more in 2_usize..5,
        on in any::<bool>(),
    ) {
        let mut machine = phenom();
        let program = if random { models::memory::Program::RandomChase } else { models::memory::Program::LinearChase };
        let mut chain = test(&machine, "latency_ns").clone();
        chain.program = program;
        chain.block_bytes.0 = block_pages * 4096;
        chain.stride_bytes.value.0 = 1 << stride_shift;
        let state = if on { Workaround::On } else { Workaround::Off };
        let before = predict(&machine, &chain, state).unwrap();
        // More ways in as many sets: what was held is still held.
        machine.translation.second_entries.value *= more;
        machine.translation.second_ways.value *= more;
        let after = predict(&machine, &chain, state).unwrap();
        prop_assert!(after.counters.walks <= before.counters.walks);
        prop_assert!(after.value <= before.value * (1.0 + 1e-9));
    }
}
