//! Merging: what is matched, what is joined, what one number becomes.

use machine::{Bytes, CpuId};
use proptest::prelude::*;
use record::{LatencyCell, LineTransfer, PlanEntry, Quality, SignatureReading, Spread};
use stats::Interval;

use super::*;

fn cell(stride: u64, ns: f64, raw: usize) -> LatencyCell {
    LatencyCell {
        cpu: CpuId(0),
        block_bytes: Bytes(4096),
        stride_bytes: Bytes(stride),
        page_bytes: Bytes(4096),
        ns,
        core_cycles: Some(4.0 * ns),
        level: None,
        spread: Spread {
            interval: Interval { low: ns * 0.99, high: ns * 1.01 },
            mappings: 1,
            windows: 3,
            dropped: 1,
            raw: Some(raw),
            ..Spread::default()
        },
    }
}

fn series(name: String, windows: &[f64]) -> RawSeries {
    RawSeries {
        name,
        unit: "ns".to_owned(),
        visits: vec![windows.iter().map(|&window| window as f32).collect()],
        mapping_of_visit: vec![0],
    }
}

/// An epoch with one cell of the surface for each stride.
fn epoch(cells: &[(u64, f64)]) -> Record {
    let mut record = Record { elapsed_s: 1.0, ..Record::default() };
    for &(stride, ns) in cells {
        let raw = record.push_raw(series(format!("latency, stride {stride}"), &[ns * 1.02, ns, ns * 1.04]));
        record.memory.latency.push(cell(stride, ns, raw));
    }
    record
}

fn fill(base: &mut Record, epochs: &[Record]) {
    let mut all = Epochs::default();
    for epoch in epochs {
        all.add(epoch.clone(), &mut base.raw);
    }
    merge(base, &all);
}

fn merged(epochs: &[Record]) -> Record {
    let mut base = Record::default();
    fill(&mut base, epochs);
    base
}

fn entry(outcome: PlanOutcome) -> PlanEntry {
    PlanEntry {
        probe: "surface".to_owned(),
        planned_s: 3.0,
        disturbs: "core".to_owned(),
        reduced: Vec::new(),
        outcome,
        elapsed_s: Some(1.0),
    }
}

#[test]
fn one_epoch_in_is_the_same_record_out() {
    let only = epoch(&[(16, 1.0), (64, 2.0)]);
    let found = merged(std::slice::from_ref(&only));
    assert_eq!((&found.memory, &found.raw), (&only.memory, &only.raw));
    assert_eq!(found.memory.latency[0].spread.estimator, "");
}

#[test]
fn values_are_those_of_the_class_and_windows_of_all_epochs_are_kept_apart() {
    let found = merged(&[epoch(&[(16, 1.0)]), epoch(&[(16, 1.01)]), epoch(&[(16, 0.99)])]);
    let [cell] = found.memory.latency.as_slice() else { panic!("one cell: {found:?}") };
    let spread = &cell.spread;
    assert_eq!(spread.estimator, "p5_best_of_epochs");
    assert_eq!(spread.epochs.len(), 3);
    assert!((cell.ns - spread.epochs[2]).abs() < 1e-12 && cell.ns < 1.0, "{cell:?}");
    assert!((cell.core_cycles.expect("known") / cell.ns - 4.0).abs() < 1e-9);
    assert_eq!((spread.mappings, spread.windows, spread.dropped), (3, 9, 3));
    assert_eq!(spread.raw, Some(0));
    assert_eq!((found.raw.len(), found.raw[0].visits.len()), (1, 3));
    assert_eq!(found.raw[0].mapping_of_visit, [0, 1, 2]);
}

#[test]
fn rows_that_an_epoch_lacks_keep_their_place_and_the_others() {
    let epochs =
        [epoch(&[(16, 1.0), (64, 3.0)]), epoch(&[(16, 1.0), (32, 2.0), (64, 3.0)]), epoch(&[(64, 3.0)])];
    let found = merged(&epochs);
    let strides: Vec<u64> = found.memory.latency.iter().map(|cell| cell.stride_bytes.0).collect();
    let epochs: Vec<usize> = found.memory.latency.iter().map(|cell| cell.spread.epochs.len()).collect();
    assert_eq!((strides, epochs), (vec![16, 32, 64], vec![2, 1, 3]));
    for cell in &found.memory.latency {
        let name = &found.raw[cell.spread.raw.expect("it has one")].name;
        assert_eq!(*name, format!("latency, stride {}", cell.stride_bytes.0));
    }
}

#[test]
fn epochs_in_two_states_are_listed_and_unstable_unless_most_agree() {
    let transfer = |ns: f64| {
        let mut record = epoch(&[]);
        let raw = record.push_raw(series("line transfer, CPU 0 and 1".to_owned(), &[ns; 3]));
        let spread = cell(16, ns, raw).spread;
        let protocol = "compare_and_swap".to_owned();
        record.cores.line_transfer.push(LineTransfer { a: CpuId(0), b: CpuId(1), protocol, ns, spread });
        record
    };
    let of = |values: &[f64]| {
        let found = merged(&values.iter().map(|&ns| transfer(ns)).collect::<Vec<Record>>());
        found.cores.line_transfer[0].clone()
    };
    let split = of(&[20.0, 40.0, 80.0]);
    assert_eq!((split.spread.modes.len(), split.spread.quality), (3, Quality::Unstable));
    let half = of(&[20.0, 40.0]);
    assert_eq!((half.spread.modes.len(), half.spread.quality), (2, Quality::Unstable));
    let near = of(&[20.0, 20.2, 20.1]);
    assert_eq!((near.spread.modes.len(), near.spread.quality), (0, Quality::Converged));
    let outvoted = of(&[20.0, 26.0, 20.1]);
    assert_eq!(outvoted.spread.modes.len(), 2);
    assert!((outvoted.ns - 20.1).abs() < 1e-5 && outvoted.spread.quality == Quality::Wide, "{outvoted:?}");
    assert!((outvoted.spread.modes[0].share - 2.0 / 3.0).abs() < 1e-12);
}

#[test]
fn a_probe_is_done_if_any_epoch_did_it_and_the_others_are_reported() {
    let with = |outcome| {
        let mut record = epoch(&[]);
        record.plan.entries.push(entry(outcome));
        record
    };
    let mut base = Record::default();
    base.plan.entries.push(entry(PlanOutcome::Pending));
    let failed = PlanOutcome::Failed("no memory".to_owned());
    fill(&mut base, &[with(failed.clone()), with(PlanOutcome::Done), epoch(&[])]);
    let own = &base.plan.entries[0];
    assert_eq!((&own.outcome, own.elapsed_s), (&PlanOutcome::Done, Some(2.0)));
    assert_eq!(own.reduced, ["not in epoch 1: no memory"]);
    // Two that died before it leave it as it was.
    base.plan.entries[0] = entry(PlanOutcome::Pending);
    fill(&mut base, &[epoch(&[]), with(PlanOutcome::Pending)]);
    assert_eq!(base.plan.entries[0].outcome, PlanOutcome::Pending);
}

#[test]
fn guards_are_added_up_and_a_value_of_a_signature_outlasts_a_reason() {
    let with = |windows, steal, reading: Reading<SignatureReading>| {
        let mut record = epoch(&[]);
        record.guards = Guards { windows, steal_share: Some(steal), ..Guards::default() };
        record.flaw_evidence.get_or_insert_default().timing.insert("x_ns".to_owned(), reading);
        record
    };
    let one = Interval { low: 1.0, high: 1.0 };
    let is = Reading::Is(SignatureReading {
        value: 1.0,
        interval: one,
        unit: "ns".to_owned(),
        count: 1,
        control: "none".to_owned(),
        control_ratio: 1.0,
        control_interval: one,
        control_holds: true,
    });
    let missing = Reading::Missing("no time".to_owned());
    let mut base = Record { flaw_evidence: Some(record::FlawEvidence::default()), ..Record::default() };
    fill(&mut base, &[with(10, 0.1, is.clone()), with(20, 0.3, missing)]);
    assert_eq!(base.guards.windows, 30);
    assert!((base.guards.steal_share.expect("both have it") - 0.2).abs() < 1e-12);
    assert_eq!(base.flaw_evidence.expect("begun with it").timing["x_ns"], is);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn the_interval_holds_the_value_and_the_order_of_epochs_does_not_matter(
        rows in prop::collection::vec(prop::collection::vec(0.5_f64..500.0, 3), 1..12),
        kept in 1_usize..4,
    ) {
        let of_epoch = |index: usize| {
            let cells: Vec<(u64, f64)> =
                rows.iter().enumerate().map(|(row, values)| (row as u64 + 1, values[index])).collect();
            epoch(&cells)
        };
        let forward: Vec<Record> = (0..kept).map(of_epoch).collect();
        let backward: Vec<Record> = (0..kept).rev().map(of_epoch).collect();
        let (one, other) = (merged(&forward), merged(&backward));
        prop_assert_eq!(&one, &merged(&forward));
        for (cell, again) in one.memory.latency.iter().zip(&other.memory.latency) {
            prop_assert!(cell.spread.interval.contains(cell.ns), "{cell:?}");
            prop_assert!(cell.spread.interval.low > 0.0);
            prop_assert_eq!(cell.ns.to_bits(), again.ns.to_bits());
            prop_assert_eq!(cell.spread.quality, again.spread.quality);
            let same = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs();
            prop_assert!(same(cell.spread.interval.low, again.spread.interval.low));
            prop_assert!(same(cell.spread.interval.high, again.spread.interval.high));
        }
    }
}
