//! What a record says of one machine can hold together: made-up machines, and every saved record.

use std::path::Path;

use diagnosis::diagnose;
use machine::CpuId;
use record::{Control, Quality, Record, Severity, Spread};
use stats::Random;

use crate::simulation::{Hierarchy, KIB, cache, claim_tlbs, machine_with, translation_ns, walk};

/// A hierarchy of two to four caches, and what the machine claims of them.
fn hierarchy(random: &mut Random) -> (Hierarchy, Vec<(u8, f64)>) {
    let mut caches =
        vec![cache([16.0, 32.0, 48.0, 64.0][random.below(4)] * KIB, 0.8 + 0.8 * random.unit(), false)];
    for _ in 0..=random.below(2) {
        let before = caches[caches.len() - 1];
        let bytes = before.bytes * [8.0, 16.0, 32.0][random.below(3)];
        caches.push(cache(bytes.round(), before.ns * (2.6 + 2.0 * random.unit()), random.bool()));
    }
    let memory_ns = (80.0 + 60.0 * random.unit()).max(4.0 * caches[caches.len() - 1].ns);
    let noise = [0.0, 0.02, 0.1][random.below(3)];
    let claims = (1..).zip(caches.iter().map(|cache| cache.bytes)).collect();
    (Hierarchy { caches, memory_ns, noise }, claims)
}

/// A record of a machine that claims nothing, too much, or the truth.
fn made_up(random: &mut Random) -> (Record, Hierarchy) {
    let (hierarchy, mut claims) = hierarchy(random);
    match random.below(4) {
        0 => claims.clear(),
        1 => claims.iter_mut().for_each(|claim| claim.1 *= 8.0),
        _ => {}
    }
    let mut record = Record { machine: machine_with(2, &claims), ..Record::default() };
    record.memory.latency = hierarchy.surface(random);
    let torn = [0.0, 0.05, 0.3, 0.7][random.below(4)];
    for cell in &mut record.memory.latency {
        if random.unit() < torn {
            cell.spread.quality = Quality::Unstable;
            cell.ns *= 1.0 + random.unit();
        }
    }
    for eighth in 16..=112_u32 {
        let pages = (f64::from(eighth) / 8.0).exp2().round();
        let delta = translation_ns(pages, 64.0, 1536.0) + 0.5 * random.normal() * random.unit();
        record.memory.walks.push(walk(pages as u64, delta, [0.1, 1.0, 9.0][random.below(3)]));
    }
    claim_tlbs(&mut record, [&[][..], &[64], &[64, 1536], &[2048, 64]][random.below(4)]);
    for cpu in 0..2 {
        record.cores.control.push(Control {
            cpu: CpuId(cpu),
            core_hz: None,
            multiply_ns: 1.0,
            rotate_ns: 0.3,
            multiply_per_rotate: 3.0,
            port_ns: 0.1,
            core_share: [1.0, 0.55][random.below(2)],
            spread: Spread::default(),
        });
    }
    (record, hierarchy)
}

fn number(name: &str) -> Option<usize> {
    name.strip_prefix('L')?.parse().ok()
}

/// What must hold of every record that is shown, by its own arithmetic and not by the rules'.
fn check(record: &Record, name: &str) {
    let levels = &record.levels;
    let reported = format!("{name}: {levels:#?}");
    for pair in levels.caches.windows(2) {
        assert!(pair[0].ns < pair[1].ns, "{reported}");
        assert!(number(&pair[0].name).is_some(), "{reported}");
        assert!(number(&pair[1].name).is_none_or(|after| Some(after) > number(&pair[0].name)), "{reported}");
    }
    let sizes: Vec<u64> = levels.caches.iter().filter_map(|level| Some(level.size_bytes?.0)).collect();
    assert!(sizes.is_sorted_by(|a, b| a < b), "{reported}");
    for pair in levels.tlbs.windows(2) {
        assert!(pair[0].level < pair[1].level && pair[0].entries < pair[1].entries, "{reported}");
    }
    assert!(levels.tlbs.iter().all(|tlb| tlb.miss_interval.low > 0.0), "{reported}");
    assert!(levels.walk_interval.is_none_or(|interval| interval.low > 0.0), "{reported}");
    let severity =
        |id: &str| record.findings.iter().find(|finding| finding.id == id).map(|finding| finding.severity);
    if severity("busy-sibling").is_some() {
        assert_ne!(severity("hidden-siblings"), Some(Severity::Good), "{reported}");
    }
    for one in &levels.withheld {
        assert!(!one.what.is_empty() && !one.because.is_empty(), "{reported}");
    }
}

#[test]
fn no_made_up_machine_is_shown_with_values_that_cannot_hold() {
    let mut random = Random::new(2014);
    for round in 0..150 {
        let (mut record, _) = made_up(&mut random);
        diagnose(&mut record);
        check(&record, &format!("round {round}"));
        let once = record.clone();
        diagnose(&mut record);
        assert_eq!(record, once, "round {round}: what was judged is judged otherwise");
    }
}

/// Index of the true level that a latency belongs to; memory behind the caches.
fn true_level(hierarchy: &Hierarchy, ns: f64) -> usize {
    let all: Vec<f64> = hierarchy.caches.iter().map(|cache| cache.ns).chain([hierarchy.memory_ns]).collect();
    let distance = |index: &usize| (ns / all[*index]).ln().abs();
    (0..all.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).expect("a level")
}

#[test]
fn what_is_shown_of_a_made_up_machine_is_true_or_withheld() {
    let mut random = Random::new(43);
    let (mut sizes, mut rows, mut named, mut misnamed) = (0, 0, 0, 0);
    for round in 0..150 {
        let (mut record, hierarchy) = made_up(&mut random);
        if hierarchy.noise > 0.05 {
            continue;
        }
        diagnose(&mut record);
        for level in &record.levels.caches {
            let reported = format!(
                "round {round}, {}, of {:?}: {:?}",
                level.name,
                hierarchy.caches.iter().map(|one| (one.ns, one.bytes)).collect::<Vec<_>>(),
                record.levels.caches
            );
            let place = true_level(&hierarchy, level.ns);
            let is_memory = place == hierarchy.caches.len();
            rows += 1;
            assert_eq!(is_memory, level.name == "memory", "{reported}");
            let Some(truth) = hierarchy.caches.get(place) else { continue };
            if let Some(size) = level.size_bytes {
                let share = size.0 as f64 / truth.bytes;
                assert!((0.4..2.5).contains(&share), "a size of {}, {reported}", truth.bytes);
                sizes += 1;
            }
            let claim = number(&level.name).and_then(|number| {
                record.machine.topology.data_cache(CpuId(0), u8::try_from(number).ok()?)?.size_bytes
            });
            if claim.is_some_and(|claim| (claim.0 as f64 / truth.bytes - 1.0).abs() < 0.01) {
                named += 1;
            } else {
                misnamed += usize::from(claim.is_some_and(|claim| (claim.0 as f64) < 7.0 * truth.bytes));
            }
        }
    }
    assert_eq!(misnamed, 0, "beside {named} with the name that the machine claims for them");
    assert!(sizes * 4 > rows && named * 4 > rows, "{sizes}, {named} of {rows}: withholding all is no answer");
}

#[test]
fn nothing_that_was_measured_is_touched() {
    let mut random = Random::new(7);
    for _ in 0..20 {
        let (before, _) = made_up(&mut random);
        let mut after = before.clone();
        diagnose(&mut after);
        for cell in &mut after.memory.latency {
            cell.level = None;
        }
        (after.levels, after.findings) = (before.levels.clone(), before.findings.clone());
        after.answers.clear();
        assert_eq!(after, before);
    }
}

#[test]
fn every_saved_record_holds_together() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/records");
    let mut judged = 0;
    for entry in std::fs::read_dir(folder).expect("records of the transcripts") {
        let path = entry.expect("readable").path();
        // Some are broken on purpose.
        let Ok(mut record) = record::decode(&std::fs::read(&path).expect("readable")) else { continue };
        let name = path.display().to_string();
        diagnose(&mut record);
        check(&record, &name);
        judged += 1;
    }
    assert!(judged >= 3, "{judged}");
}
