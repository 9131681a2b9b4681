//! Groups of CPUs found in planted matrices, under noise, gaps and shuffled numbers, and in published ones.

use std::path::Path;

use models::interconnect::{GroupLevel, Inference, LevelName, Matrix, Unit, Verdict, infer, read_matrix};
use proptest::prelude::*;
use stats::Random;

/// A machine as nested groups: how many parts of the next level inside, and the latency between them, outermost first.
#[derive(Debug, Clone)]
struct Planted {
    levels: Vec<(usize, f64)>,
    noise: f64,
    missing: f64,
    seed: u64,
}

impl Planted {
    fn count(&self) -> usize {
        self.levels.iter().map(|(parts, _)| parts).product()
    }

    /// The group of a CPU on each level: its place divided by the size of a part.
    fn sizes(&self) -> Vec<usize> {
        let mut size = self.count();
        let part = |(parts, _): &(usize, f64)| {
            size /= parts;
            size
        };
        self.levels.iter().map(part).collect()
    }

    fn latency(&self, one: usize, other: usize) -> f64 {
        let sizes = self.sizes();
        let level = sizes.iter().position(|size| one / size != other / size);
        self.levels[level.expect("two CPUs")].1
    }

    /// The matrix, and which planted CPU has which number.
    fn matrix(&self) -> (Matrix, Vec<usize>) {
        let mut random = Random::new(self.seed);
        let mut order: Vec<usize> = (0..self.count()).collect();
        random.shuffle(&mut order);
        let entry = |row: usize, column: usize, random: &mut Random| {
            if row == column {
                return None;
            }
            let latency = self.latency(order[row], order[column]);
            // What a pair of the innermost level is, no other pair can tell.
            let may_miss = self.levels.last().is_some_and(|(_, innermost)| latency > *innermost);
            let is_missing = may_miss && random.below(1000) < (self.missing * 1000.0) as usize;
            (!is_missing).then(|| latency * (1.0 + self.noise * random.normal()).max(0.2))
        };
        let rows: Vec<Vec<Option<f64>>> = (0..order.len())
            .map(|row| (0..order.len()).map(|column| entry(row, column, &mut random)).collect())
            .collect();
        (Matrix::of_rows(Unit::Nanoseconds, &rows).expect("a matrix").of_cpus(), order)
    }

    /// The members of each level that can show, outermost first, by their numbers in the matrix.
    fn members(&self, order: &[usize]) -> Vec<Vec<Vec<u32>>> {
        let sizes = self.sizes();
        let shown = sizes.into_iter().filter(|size| *size > 1 && *size < self.count());
        let groups = |size: usize| {
            let mut groups = vec![Vec::new(); self.count() / size];
            for (number, planted) in order.iter().enumerate() {
                groups[planted / size].push(number as u32);
            }
            groups.sort();
            groups
        };
        shown.map(groups).collect()
    }
}

fn members(levels: &[GroupLevel]) -> Vec<Vec<Vec<u32>>> {
    levels.iter().map(|level| level.members.clone()).collect()
}

fn planted() -> impl Strategy<Value = Planted> {
    let parts = proptest::collection::vec((2_usize..5, 1.5_f64..4.0), 2..5);
    let conditions = (0.0_f64..0.05, prop_oneof![Just(0.0), 0.0_f64..0.2], any::<u64>());
    (parts, conditions, 6.0_f64..30.0).prop_map(|(parts, (noise, missing, seed), innermost)| {
        let mut latency = innermost;
        let mut levels: Vec<(usize, f64)> = Vec::new();
        for (parts, factor) in parts.into_iter().rev() {
            levels.insert(0, (parts, latency));
            latency *= factor;
        }
        // Too few pairs of a level may all be missing.
        let missing =
            if levels.iter().map(|(parts, _)| parts).product::<usize>() < 16 { 0.0 } else { missing };
        Planted { levels, noise, missing, seed }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn planted_groups_are_found_whatever_the_numbers_of_the_cpus(machine in planted()) {
        let (matrix, order) = machine.matrix();
        let found = infer(&matrix);
        prop_assert_eq!(members(&found.groups), machine.members(&order));
        let shown: Vec<f64> = machine.levels.iter().map(|(_, latency)| *latency).collect();
        for (place, level) in found.groups.iter().enumerate() {
            prop_assert!(level.clear, "{level:?}");
            let is_near = |known: Option<f64>, planted: f64| known.is_some_and(|known| (known / planted - 1.0).abs() < 0.1);
            prop_assert!(is_near(level.between_ns, shown[place]), "{level:?} for {shown:?}");
            prop_assert!(is_near(level.within_ns, shown[place + 1]), "{level:?} for {shown:?}");
        }
        prop_assert_eq!((found.verdict, found.edges.len()), (Verdict::NotIdentifiable, 0));
        prop_assert!(found.max_percent < 60.0, "{}", found.max_percent);
    }

    #[test]
    fn noise_and_meshes_show_no_groups(count in 4_usize..40, noise in 0.0_f64..0.2, step in 0.0_f64..3.0, seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let columns = (count as f64).sqrt() as usize;
        let far = |one: usize, other: usize| (one / columns).abs_diff(other / columns) + (one % columns).abs_diff(other % columns);
        let entry = |row: usize, column: usize, random: &mut Random| {
            (row != column).then(|| (40.0 + step * far(row, column) as f64) * (1.0 + noise * random.normal()).max(0.2))
        };
        let rows: Vec<Vec<Option<f64>>> =
            (0..count).map(|row| (0..count).map(|column| entry(row, column, &mut random)).collect()).collect();
        let found = infer(&Matrix::of_rows(Unit::Nanoseconds, &rows).expect("a matrix").of_cpus());
        prop_assert!(count < 6 || !found.groups.iter().any(|level| level.clear), "{:?}", found.groups);
        prop_assert_eq!((found.verdict, found.edges.len()), (Verdict::NotIdentifiable, 0));
    }
}

/// What the makers publish of a machine, and how its CPUs are numbered.
struct Published {
    file: &'static str,
    source: &'static str,
    cores: usize,
    /// The second thread of a core so many numbers behind the first, which are in a row if that is 1; 0 without.
    apart: usize,
    /// The cores of each group, in the order of their numbers, outermost level first.
    levels: Vec<Vec<usize>>,
}

impl Published {
    fn threads(&self, core: usize) -> Vec<u32> {
        let core = core as u32;
        match self.apart {
            0 => vec![core],
            1 => vec![2 * core, 2 * core + 1],
            apart => vec![core, core + apart as u32],
        }
    }

    fn members(&self) -> Vec<Vec<Vec<u32>>> {
        let of_level = |sizes: &Vec<usize>| {
            let mut core = 0;
            let mut groups: Vec<Vec<u32>> = Vec::new();
            for size in sizes {
                groups.push((core..core + size).flat_map(|core| self.threads(core)).collect());
                groups.last_mut().expect("pushed").sort_unstable();
                core += size;
            }
            groups.sort();
            groups
        };
        self.levels.iter().map(of_level).collect()
    }
}

fn even(cores: usize, of: usize) -> Vec<usize> {
    vec![of; cores / of]
}

/// Groups of equal sizes, outermost level first; 1 core is a level where it has threads.
fn published(
    file: &'static str,
    source: &'static str,
    cores: usize,
    apart: usize,
    sizes: &[usize],
) -> Published {
    Published { file, source, cores, apart, levels: sizes.iter().map(|of| even(cores, *of)).collect() }
}

fn of_makers() -> Vec<Published> {
    let mut rows = vec![
        published("AMD EPYC 7773X", "AMD: 8 dies of 8 cores, one L3 each", 64, 64, &[8, 1]),
        published("AMD Ryzen 7 2700X Eight-Core Processor", "AMD: 2 CCX of 4 cores", 8, 1, &[4, 1]),
        published("AMD Ryzen 7 5800U", "AMD: 8 cores, one L3", 8, 1, &[1]),
        published("AMD Ryzen 9 5900X", "AMD: 2 dies of 6 cores", 12, 1, &[6, 1]),
        published("AMD Ryzen 9 5950X @ 3.40 GHz", "AMD: 2 dies of 8 cores", 16, 16, &[8, 1]),
        published("AMD Ryzen Threadripper 1950X", "AMD: 2 dies of 2 CCX of 4 cores", 16, 16, &[4, 1]),
        published("AWS Graviton2", "AWS: 64 cores, one mesh", 64, 0, &[]),
        published("Dual AMD EPYC 7742 64-Core Processor", "AMD: 16 CCX of 4 cores", 128, 128, &[4, 1]),
        published("Dual Intel(R) Xeon(R) CPU E5-2630 v4 @ 2.20GHz", "Intel: 10 cores", 20, 20, &[10, 1]),
        published("Dual Intel(R) Xeon(R) CPU X5650  @ 2.67GHz", "Intel: 6 cores", 12, 12, &[6, 1]),
        published("Dual Sun-Oracle SPARC T4 8 cores@2.85 GHz", "Oracle: 8 cores", 16, 0, &[8]),
        published("HiSilicon Kunpeng 920-6426 @ 2.6GHz", "HiSilicon: 2 dies of 32 cores", 64, 0, &[32]),
        published("Intel Core i5-10310U", "Intel: 4 cores", 4, 4, &[1]),
        published("Intel Core i9-12900K", "Intel: 8 cores of 2 threads, 8 of one", 8, 1, &[1]),
        published("Intel(R) Atom(TM) CPU D510 @ 1.66GHz", "Intel: 2 cores", 2, 2, &[1]),
        published("Intel(R) Core(TM) i7-1165G7 @ 2.80GHz", "Intel: 4 cores", 4, 4, &[1]),
        published("Intel(R) Xeon Gold 6242 @ 2.8GHz", "Intel: 16 cores", 16, 16, &[1]),
        published("Intel(R) Xeon Phi(TM) CPU 7210 @ 1.30GHz", "Intel: 32 tiles of 2 cores", 64, 0, &[2]),
        published(
            "Intel(R) Xeon(R) Platinum 8275CL CPU @ 3.00GHz",
            "Intel: 24 cores, two sockets",
            48,
            48,
            &[24, 1],
        ),
        // macOS pins no thread, so a number stands for no core.
        published("m1.ultra.16p+4e", "Apple: 4 clusters of 4, 2 of 2", 20, 0, &[]),
    ];
    for row in &mut rows {
        // The lines' home is in the second half: pairs of the first half look as far as those between both.
        if ["AMD Ryzen Threadripper 1950X", "Dual AMD EPYC 7742 64-Core Processor"].contains(&row.file) {
            let half = row.cores / 2;
            row.levels.insert(0, [even(half, 4), vec![half]].concat());
        }
    }
    rows
}

fn inferred(path: &Path) -> Inference {
    let text = std::fs::read_to_string(path).expect("a matrix");
    infer(&read_matrix(&text).expect("a matrix").matrix)
}

fn zoo() -> Option<std::path::PathBuf> {
    let zoo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/zoo/matrices");
    if !zoo.is_dir() {
        println!("skipped: no matrices at {}", zoo.display());
        return None;
    }
    Some(zoo)
}

#[test]
fn published_matrices_show_the_groups_that_their_makers_tell() {
    let Some(zoo) = zoo() else { return };
    for row in of_makers() {
        let found = inferred(&zoo.join(format!("core-to-core/{}.csv", row.file)));
        let mut known = row.members();
        if row.file.contains("12900K") {
            // The slower cores exchange lines no sooner within their clusters: each is alone.
            known[0].extend((16..24).map(|core| vec![core]));
        }
        assert_eq!(members(&found.groups), known, "{}: {}", row.file, row.source);
        assert!(found.groups.iter().all(|level| level.clear), "{}: {:?}", row.file, found.groups);
        let has_threads = found.groups.last().is_some_and(|level| level.level == LevelName::Smt);
        assert_eq!(has_threads, row.apart > 0, "{}", row.file);
        assert_eq!((found.verdict, found.edges.len()), (Verdict::NotIdentifiable, 0), "{}", row.file);
    }
    let found = std::fs::read_dir(zoo.join("core-to-core")).expect("a folder").count();
    assert_eq!(found, of_makers().len(), "a matrix has no row here");
}

/// Four nodes in a square: a local latency if known, one link, two links.
fn square(local: Option<f64>, near: f64, far: f64) -> Inference {
    let of = |row: usize, column: usize| match row.abs_diff(column) {
        0 => local,
        2 => Some(far),
        _ => Some(near),
    };
    let rows: Vec<Vec<Option<f64>>> =
        (0..4).map(|row| (0..4).map(|column| of(row, column)).collect()).collect();
    infer(&Matrix::of_rows(Unit::Nanoseconds, &rows).expect("a matrix"))
}

#[test]
fn two_sockets_of_two_latencies_are_two_groups_and_no_links() {
    let cpus = 16;
    let text: Vec<String> = (0..cpus)
        .map(|row| {
            let of = |column| {
                if row == column {
                    String::new()
                } else if row % 2 == column % 2 {
                    "15.7".into()
                } else {
                    "72.7".to_owned()
                }
            };
            (0..cpus).map(of).collect::<Vec<_>>().join(",")
        })
        .collect();
    let found = infer(&read_matrix(&text.join("\n")).expect("a matrix").matrix);
    let [level] = found.groups.as_slice() else { panic!("{:?}", found.groups) };
    assert_eq!((level.within_ns, level.between_ns, level.clear), (Some(15.7), Some(72.7), true));
    assert_eq!(level.members[0], [0, 2, 4, 6, 8, 10, 12, 14]);
    assert!(found.edges.is_empty() && found.max_percent < 0.1, "{found:?}");
}

#[test]
fn remote_latencies_that_differ_by_one_per_cent_identify_no_links() {
    for (local, far) in [(Some(80.0), 131.3), (Some(125.0), 131.3), (None, 131.3), (None, 132.6)] {
        let found = square(local, 130.0, far);
        assert_eq!(found.verdict, Verdict::NotIdentifiable, "{found:?}");
    }
    assert!(square(None, 130.0, 131.3).reason.contains("run-to-run variation"));
    for local in [Some(80.0), None] {
        let found = square(local, 130.0, 180.0);
        assert_eq!((found.verdict, found.edges.len()), (Verdict::Identified, 4), "{found:?}");
    }
}

#[test]
fn sockets_on_a_ring_show_their_links_from_core_to_core() {
    const CORES: usize = 8;
    let mut random = Random::new(4);
    let latency = |one: usize, other: usize| match (one / CORES).abs_diff(other / CORES) {
        0 => 30.0,
        1 | 3 => 100.0,
        _ => 160.0,
    };
    let entry = |row: usize, column: usize, random: &mut Random| {
        (row != column).then(|| latency(row, column) * (1.0 + 0.02 * random.normal()))
    };
    let rows: Vec<Vec<Option<f64>>> = (0..4 * CORES)
        .map(|row| (0..4 * CORES).map(|column| entry(row, column, &mut random)).collect())
        .collect();
    let found = infer(&Matrix::of_rows(Unit::Nanoseconds, &rows).expect("a matrix").of_cpus());
    assert_eq!(
        (found.verdict, found.nodes.as_slice()),
        (Verdict::Identified, [0, 1, 2, 3].as_slice()),
        "{found:?}"
    );
    assert_eq!(found.edges, [[0, 1], [0, 3], [1, 2], [2, 3]]);
    // The greatest error is at least the mean one, which single pairs make: 2 % of 100 and 160 ns.
    assert!(
        found.rms > 1.0 && found.max_percent / 100.0 * 160.0 > found.rms,
        "{} {}",
        found.rms,
        found.max_percent
    );
}

#[test]
fn a_socket_whose_lines_have_their_home_in_another_shows_as_cpus_in_no_group() {
    let of = |one: usize, other: usize| match (one.max(other) < 4, one.min(other) < 4) {
        (true, _) => 120.0 + (one + other) as f64 / 10.0,
        (_, true) => 370.0 + (one * 2 + other) as f64,
        _ => 540.0 + (one + other) as f64,
    };
    let rows: Vec<Vec<Option<f64>>> =
        (0..8).map(|one| (0..8).map(|other| (one != other).then(|| of(one, other))).collect()).collect();
    let found = infer(&Matrix::of_rows(Unit::Nanoseconds, &rows).expect("a matrix").of_cpus());
    assert_eq!(members(&found.groups), [vec![vec![0, 1, 2, 3], vec![4], vec![5], vec![6], vec![7]]]);
    assert!(found.groups[0].clear && found.verdict != Verdict::Identified && found.edges.is_empty());
    assert!(
        found.remarks.iter().any(|remark| remark.contains("those 4 may be one group")),
        "{:?}",
        found.remarks
    );
}
