//! Constructed records: a neighbour that came for an epoch, one that stayed, none, and input that says nothing.

use machine::CpuId;
use record::{Control, EpochRun, PlanOutcome, Planted, Provenance, QuestionSample, Spread};

use super::*;

fn epoch(got: CpuShare) -> EpochRun {
    EpochRun { started_utc: String::new(), seed: 1, elapsed_s: 30.0, outcome: PlanOutcome::Done, got }
}

fn spread(epochs: &[f64]) -> Spread {
    Spread { epochs: epochs.to_vec(), ..Spread::default() }
}

/// A guest whose epochs had these latencies of memory, a steady core, and this steal.
fn record(memory_ns: &[f64], steal: &[f64]) -> Record {
    let mut record = Record::default();
    record.machine.identity.hypervisor = Some("KVM".to_owned());
    record.epochs = steal
        .iter()
        .map(|share| epoch(CpuShare { steal_share: Some(*share), ..CpuShare::default() }))
        .collect();
    record.samples = (1..)
        .zip(memory_ns)
        .map(|(epoch, ns)| QuestionSample {
            question: "memory".to_owned(),
            epoch,
            value: *ns,
            unit: "ns".to_owned(),
            ..QuestionSample::default()
        })
        .collect();
    record.cores.control.push(Control {
        cpu: CpuId(0),
        core_hz: None,
        multiply_ns: 0.8,
        rotate_ns: 0.27,
        multiply_per_rotate: 3.0,
        port_ns: 0.1,
        core_share: 1.0,
        spread: spread(&[0.8, 0.81, 0.8]),
    });
    record
}

fn described(record: &Record) -> Neighbours {
    neighbours(record).expect("epochs")
}

#[test]
fn a_sibling_that_is_busy_for_a_quarter_of_the_time_is_a_neighbour() {
    let share = |share: f64| CpuShare { core_share: Some(share), ..CpuShare::default() };
    let mut run =
        Record { epochs: [0.99, 0.86, 0.99].map(|of| epoch(share(of))).into(), ..Record::default() };
    let found = neighbours(&run).expect("epochs");
    assert_eq!(found.at_work, [2]);
    assert!(found.shows[0].ends_with("a CPU had 86 % of a core"), "{:?}", found.shows);
    run.epochs[1].got = share(0.97);
    let found = neighbours(&run).expect("epochs");
    assert!(found.at_work.is_empty() && found.shows.is_empty(), "{found:?}");
}

#[test]
fn a_neighbour_of_one_epoch_is_named_with_when_and_by_how_much() {
    let found = described(&record(&[150.0, 207.0, 152.0], &[0.001, 0.04, 0.0]));
    assert_eq!(found.at_work, [2]);
    assert_eq!(
        found.shows,
        ["neighbours were at work in epoch 2 of 3: random reads of memory +38 %, steal 4.0 %"]
    );
}

#[test]
fn a_quiet_run_shows_no_sign() {
    let found = described(&record(&[150.0, 153.0, 152.0], &[0.001, 0.0, 0.0]));
    assert!(found.at_work.is_empty());
    assert!(found.shows.is_empty(), "the question about noise says how quiet it was: {found:?}");
}

#[test]
fn bare_metal_has_other_programs() {
    let mut record = record(&[150.0, 151.0, 152.0], &[0.0; 3]);
    record.machine.identity.hypervisor = None;
    record.epochs[2].got.others_share = Some(0.4);
    let found = described(&record);
    assert_eq!(found.shows, ["other programs were at work in epoch 3 of 3: other programs 40.0 %"]);
}

#[test]
fn what_says_nothing_is_passed_over() {
    assert_eq!(neighbours(&Record::default()), None);
    let mut old = record(&[150.0, 151.0, 152.0], &[0.0; 3]);
    old.epochs.clear();
    assert_eq!(neighbours(&old), None, "a record of one process");
    let one = record(&[150.0], &[0.3]);
    let found = neighbours(&one).expect("the kernel told of it");
    assert!(found.costs.is_empty() && found.at_work == [1]);
    let spoilt = record(&[f64::NAN, 150.0, -1.0], &[f64::NAN, 0.0, 0.0]);
    let found = neighbours(&spoilt).expect("the core told of it");
    assert!(found.at_work.is_empty() && found.costs.iter().all(|cost| cost.class != RowClass::MemoryLatency));
    assert!(found.shows.iter().all(|line| !line.contains("NaN")), "{:?}", found.shows);
    let two = record(&[150.0, 290.0], &[0.0; 3]);
    assert!(described(&two).at_work.is_empty(), "a row that an epoch lacks cannot be judged by epoch");
    let planted = vec![Planted { row: "x".to_owned(), factor: 2.0 }];
    let provenance = Provenance { planted, ..Provenance::default() };
    assert_eq!(neighbours(&Record { provenance, ..two }), None);
}
