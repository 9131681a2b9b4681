//! Levels found on simulated surfaces and on an excerpt of a published run.

use crate::simulation::{Hierarchy, KIB, MIB, cache, cell, machine_with};
use diagnosis::{diagnose, levels};
use machine::Bytes;
use record::Record;
use stats::Random;

fn surface(hierarchy: &Hierarchy, claims: &[(u8, f64)], seed: u64) -> Record {
    let mut record = Record { machine: machine_with(2, claims), ..Record::default() };
    record.memory.latency = hierarchy.surface(&mut Random::new(seed));
    record
}

/// Names and sizes in KiB with their bounds, in one line per level.
fn shown(record: &Record) -> Vec<String> {
    levels(record)
        .caches
        .iter()
        .map(|level| {
            let size = level.size_bytes.map_or("-".to_owned(), |size| size.to_string());
            format!("{} {size} {:.1} ns", level.name, level.ns)
        })
        .collect()
}

/// Each cache within one grid step (a factor of 1.5) of its true size, each latency within 10 %.
fn check(hierarchy: &Hierarchy, claims: &[(u8, f64)]) {
    for seed in 0..10 {
        let record = surface(hierarchy, claims, seed);
        let found = levels(&record).caches;
        assert_eq!(found.len(), hierarchy.caches.len() + 1, "seed {seed}: {:?}", shown(&record));
        for (level, truth) in found.iter().zip(&hierarchy.caches) {
            let size = level.size_bytes.expect("a size").0 as f64;
            assert!(
                size <= truth.bytes * 1.51 && size >= truth.bytes / 1.51,
                "seed {seed}: {:?}",
                shown(&record)
            );
            assert!((level.ns / truth.ns - 1.0).abs() < 0.1, "seed {seed}: {:?}", shown(&record));
        }
        let memory = found.last().expect("memory");
        assert_eq!((memory.name.as_str(), memory.size_bytes), ("memory", None));
        assert!((memory.ns / hierarchy.memory_ns - 1.0).abs() < 0.1, "seed {seed}: {:?}", shown(&record));
    }
}

fn cloud_guest() -> Hierarchy {
    Hierarchy {
        caches: vec![cache(32.0 * KIB, 1.3, false), cache(MIB, 4.6, false), cache(3.0 * MIB, 24.6, true)],
        memory_ns: 115.0,
        noise: 0.02,
    }
}

#[test]
fn three_caches_and_memory_are_found_on_quiet_and_noisy_machines() {
    let claims = [(1, 32.0 * KIB), (2, MIB), (3, 35.75 * MIB)];
    check(&cloud_guest(), &claims);
    check(&Hierarchy { noise: 0.05, ..cloud_guest() }, &claims);
}

#[test]
fn large_blocks_are_not_called_the_first_level_where_no_small_one_was_steady() {
    let claims = [(1, 32.0 * KIB), (2, MIB), (3, 3.0 * MIB)];
    for seed in 0..10 {
        for steady_from in [2.0 * MIB, 8.0 * MIB, 24.0 * MIB] {
            let mut record = surface(&cloud_guest(), &claims, seed);
            for cell in &mut record.memory.latency {
                // No line column rests: the other strides alone tell.
                if cell.stride_bytes < Bytes(256) || (cell.block_bytes.0 as f64) < steady_from {
                    cell.spread.quality = record::Quality::Unstable;
                }
            }
            let levels = levels(&record).caches;
            let first = levels.iter().find(|level| level.name == "L1");
            assert!(first.is_none_or(|level| level.ns < 2.6), "seed {seed}: {:?}", shown(&record));
        }
    }
}

#[test]
fn strides_that_were_measured_in_base_pages_only_do_not_slow_a_level() {
    let hierarchy = Hierarchy {
        caches: vec![cache(32.0 * KIB, 1.3, false), cache(MIB, 4.6, false), cache(64.0 * MIB, 24.6, true)],
        memory_ns: 115.0,
        noise: 0.02,
    };
    for seed in 0..10 {
        let mut record = surface(&hierarchy, &[(1, 32.0 * KIB), (2, MIB), (3, 64.0 * MIB)], seed);
        let is_huge = |page: Bytes| page > Bytes(4096);
        record.memory.latency.retain(|cell| !is_huge(cell.page_bytes) || cell.stride_bytes <= Bytes(64));
        for cell in record.memory.latency.iter_mut().filter(|cell| !is_huge(cell.page_bytes)) {
            // What a guest pays: its walks are long, from the first miss on.
            if cell.block_bytes > Bytes(2 << 20) {
                cell.ns *= 1.2;
            }
        }
        let named = |cell: &&record::LatencyCell| {
            cell.stride_bytes == Bytes(64) && is_huge(cell.page_bytes) && cell.block_bytes > Bytes(2 << 20)
        };
        let cells: Vec<f64> = record.memory.latency.iter().filter(named).map(|cell| cell.ns).collect();
        let slowest = cells.iter().copied().fold(0.0, f64::max);
        let l3 = levels(&record).caches.into_iter().find(|level| level.name == "L3").expect("an L3");
        assert!(l3.ns <= slowest, "seed {seed}: {} ns of cells up to {slowest} ns", l3.ns);
    }
}

#[test]
fn levels_come_from_the_surface_even_if_nothing_is_claimed() {
    check(&cloud_guest(), &[]);
}

#[test]
fn a_small_l2_and_a_fast_large_l3_are_distinguished() {
    let caches =
        vec![cache(32.0 * KIB, 1.1, false), cache(512.0 * KIB, 3.6, false), cache(8.0 * MIB, 12.5, true)];
    check(
        &Hierarchy { caches, memory_ns: 95.0, noise: 0.02 },
        &[(1, 32.0 * KIB), (2, 512.0 * KIB), (3, 8.0 * MIB)],
    );
}

#[test]
fn a_machine_without_l3_has_none_invented() {
    let caches = vec![cache(32.0 * KIB, 1.1, false), cache(512.0 * KIB, 4.5, false)];
    let hierarchy = Hierarchy { caches, memory_ns: 110.0, noise: 0.02 };
    check(&hierarchy, &[(1, 32.0 * KIB), (2, 512.0 * KIB)]);
    let record = surface(&hierarchy, &[(1, 32.0 * KIB), (2, 512.0 * KIB), (3, 16.0 * MIB)], 1);
    let names: Vec<String> = levels(&record).caches.into_iter().map(|level| level.name).collect();
    assert_eq!(names, ["L1", "L2", "memory"]);
}

#[test]
fn a_surface_that_ends_inside_the_last_cache_leaves_its_size_open() {
    let caches =
        vec![cache(32.0 * KIB, 1.1, false), cache(512.0 * KIB, 3.6, false), cache(96.0 * MIB, 13.0, true)];
    let hierarchy = Hierarchy { caches, memory_ns: 100.0, noise: 0.02 };
    let record = surface(&hierarchy, &[(1, 32.0 * KIB), (2, 512.0 * KIB), (3, 96.0 * MIB)], 2);
    let found = levels(&record).caches;
    let names: Vec<&str> = found.iter().map(|level| level.name.as_str()).collect();
    assert_eq!((names, found[2].size_bytes), (vec!["L1", "L2", "L3"], None));
}

#[test]
fn one_disturbed_cell_moves_no_boundary() {
    let mut record = surface(&cloud_guest(), &[], 5);
    let victims = record
        .memory
        .latency
        .iter_mut()
        .filter(|cell| cell.block_bytes.0 == 16 << 10 && cell.stride_bytes.0 == 64);
    for victim in victims {
        victim.ns = 4.37;
    }
    let found = levels(&record).caches;
    assert_eq!(found[0].size_bytes.map(|size| size.0), Some(32 << 10), "{:?}", shown(&record));
}

#[test]
fn every_cell_gets_the_level_that_served_it() {
    let mut record = surface(&cloud_guest(), &[], 7);
    diagnose(&mut record);
    for (block, stride, expected) in [
        (16 << 10, 64, "L1"),
        (256 << 10, 64, "L2"),
        (2 << 20, 256, "L3"),
        (32 << 20, 64, "memory"),
        // 8192 lines, one per page: the walk is slow, the line is cached.
        (32 << 20, 4096, "L3"),
    ] {
        let cells = record.memory.latency.iter().filter(|cell| {
            cell.block_bytes.0 == block && cell.stride_bytes.0 == stride && cell.page_bytes.0 == 4096
        });
        for cell in cells {
            assert_eq!(cell.level.as_deref(), Some(expected), "{block} {stride} {} ns", cell.ns);
        }
    }
}

#[test]
fn a_second_level_whose_third_has_no_value_keeps_its_name() {
    // Once seen: the row of L2 was gone, and L3 had its latency with an interval of 2 %.
    let caches = vec![cache(32.0 * KIB, 1.0, false), cache(MIB, 3.8, false), cache(32.0 * MIB, 14.0, true)];
    let hierarchy = Hierarchy { caches, memory_ns: 100.0, noise: 0.02 };
    let mut record = surface(&hierarchy, &[(1, 32.0 * KIB), (2, MIB), (3, 32.0 * MIB)], 2);
    for cell in record.memory.latency.iter_mut().filter(|cell| cell.block_bytes.0 > 1 << 20) {
        cell.spread.quality = record::Quality::Unstable;
    }
    for block in [64.0 * MIB, 128.0 * MIB, 256.0 * MIB] {
        record.memory.latency.push(cell(block, 64.0, 2 << 20, 100.0));
    }
    diagnose(&mut record);
    let second = &record.levels.caches[1];
    assert_eq!(second.name, "L2", "{:?}", shown(&record));
    assert!((second.ns / 3.8 - 1.0).abs() < 0.1, "{second:?}");
    assert_eq!(second.size_bytes, None, "half-way to memory is not the end of L2: {second:?}");
}

/// Excerpt, typed by hand, of a published reference run on a guest that advertises 35.75 MiB of L3: block in KiB, then
/// ns at strides of 64, 128, 256 and 512 bytes, 4 KiB pages.
const PUBLISHED: [(f64, [f64; 4]); 20] = [
    (16.0, [1.31, 1.30, 1.30, 1.31]),
    (24.0, [1.29, 1.31, 1.30, 1.30]),
    (32.0, [1.32, 1.31, 1.31, 1.31]),
    (48.0, [4.56, 4.54, 4.57, 4.58]),
    (64.0, [4.57, 4.57, 4.56, 4.57]),
    (128.0, [4.58, 4.57, 4.56, 4.59]),
    (192.0, [4.54, 4.54, 4.54, 4.56]),
    (256.0, [4.60, 4.59, 4.63, 5.23]),
    (384.0, [6.04, 6.05, 6.06, 6.15]),
    (512.0, [6.59, 6.39, 6.45, 6.54]),
    (768.0, [9.28, 9.10, 8.87, 8.55]),
    (1024.0, [17.05, 13.36, 13.69, 13.24]),
    (1536.0, [22.09, 21.52, 21.75, 21.61]),
    (2048.0, [24.80, 24.45, 24.35, 25.40]),
    (3072.0, [95.65, 24.85, 24.63, 24.64]),
    (4096.0, [105.29, 87.21, 24.62, 24.78]),
    (6144.0, [104.73, 103.72, 29.17, 25.32]),
    (8192.0, [113.86, 114.21, 109.56, 33.96]),
    (16384.0, [118.81, 120.01, 115.22, 112.72]),
    (32768.0, [129.93, 129.70, 128.90, 126.20]),
];

#[test]
fn the_published_run_shows_two_to_three_mib_of_l3_where_35_75_are_claimed() {
    let mut record = Record {
        machine: machine_with(2, &[(1, 32.0 * KIB), (2, MIB), (3, 35.75 * MIB)]),
        ..Record::default()
    };
    for (block, row) in PUBLISHED {
        for (stride, ns) in [64.0, 128.0, 256.0, 512.0].into_iter().zip(row) {
            record.memory.latency.push(cell(block * KIB, stride, 4096, ns));
        }
    }
    diagnose(&mut record);
    let caches = &record.levels.caches;
    assert_eq!(caches.len(), 4, "{:?}", shown(&record));
    let bounds: Vec<[f64; 2]> = caches
        .iter()
        .filter_map(|level| level.size_interval)
        .map(|bounds| [bounds.low / KIB, bounds.high / KIB])
        .collect();
    assert_eq!(bounds, [[32.0, 48.0], [768.0, 1024.0], [2048.0, 3072.0]]);
    let latencies: Vec<f64> = caches.iter().map(|level| level.ns).collect();
    for (found, expected) in latencies.iter().zip([1.31, 4.57, 24.65, 114.0]) {
        assert!((found / expected - 1.0).abs() < 0.06, "{latencies:?}");
    }
}
