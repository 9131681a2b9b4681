//! Constructed records: a neighbour that came for an epoch, one that stayed, none, and input that says nothing.

use machine::CpuId;
use record::{Control, EpochRun, PlanOutcome, QuestionSample, Spread};

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

/// The same run as an entry of a history.
fn earlier(memory_ns: f64) -> HistoryEntry {
    crate::history::entry(&record(&[memory_ns; 3], &[0.0; 3]))
}

fn described(record: &Record, own: &[f64]) -> Neighbours {
    let own: Vec<HistoryEntry> = own.iter().map(|ns| earlier(*ns)).collect();
    neighbours(record, &own.iter().collect::<Vec<_>>()).expect("epochs or a history")
}

#[test]
fn a_sibling_that_is_busy_for_a_quarter_of_the_time_is_a_neighbour() {
    let share = |share: f64| CpuShare { core_share: Some(share), ..CpuShare::default() };
    let mut run =
        Record { epochs: [0.99, 0.86, 0.99].map(|of| epoch(share(of))).into(), ..Record::default() };
    let found = neighbours(&run, &[]).expect("epochs");
    assert_eq!(found.at_work, [2]);
    assert!(found.shows[0].ends_with("a CPU had 86 % of a core"), "{:?}", found.shows);
    run.epochs[1].got = share(0.97);
    let found = neighbours(&run, &[]).expect("epochs");
    assert!(
        found.at_work.is_empty() && found.shows[0].ends_with("each CPU had at least 97 % of a core"),
        "{found:?}"
    );
}

#[test]
fn a_neighbour_of_one_epoch_is_named_with_when_and_by_how_much() {
    let found = described(&record(&[150.0, 207.0, 152.0], &[0.001, 0.04, 0.0]), &[]);
    assert_eq!(found.at_work, [2]);
    assert_eq!(
        found.shows,
        ["neighbours were at work in epoch 2 of 3: random reads of memory +38 %, steal 4.0 %"]
    );
    assert_eq!(found.give_back, None);
    assert!(found.needed.is_some_and(|needed| needed.contains("there are none")));
}

#[test]
fn a_quiet_run_shows_no_sign_with_its_numbers() {
    let found = described(&record(&[150.0, 153.0, 152.0], &[0.001, 0.0, 0.0]), &[151.0, 149.0]);
    assert!(found.at_work.is_empty());
    let [line] = found.shows.as_slice() else { panic!("{:?}", found.shows) };
    assert!(line.starts_with("no sign of neighbours in 3 epochs: at most core cycle +1 %"), "{line}");
    assert!(line.contains("random reads of memory +2 %") && line.ends_with("steal 0.1 %"), "{line}");
    assert!(found.needed.is_some_and(|needed| needed.ends_with("there are 2")));
}

#[test]
fn a_state_that_lasts_the_whole_run_shows_in_earlier_runs_alone() {
    let found = described(&record(&[225.0, 226.0, 228.0], &[0.0; 3]), &[144.0, 150.0, 155.0, 160.0, 166.0]);
    assert!(found.at_work.is_empty());
    let rank = found.ranks.iter().find(|rank| rank.class == RowClass::RandomReads).expect("a rank");
    assert_eq!((rank.count, rank.better, rank.is_worse), (5, 5, true));
    assert!((rank.ratio - 226.0 / 155.0).abs() < 1e-9);
    let why = found.give_back.expect("evidence");
    assert!(why.contains("random reads of memory +46 % against the median of 5 earlier check-ups"), "{why}");
    assert_eq!(found.needed, None);
}

#[test]
fn within_the_spread_of_earlier_runs_nothing_is_said_of_giving_it_back() {
    for own in [&[144.0, 150.0, 155.0, 160.0, 225.0][..], &[224.0, 225.0, 225.5, 226.0, 224.5]] {
        let found = described(&record(&[225.0, 226.0, 228.0], &[0.0; 3]), own);
        assert_eq!(found.give_back, None, "{own:?}");
        assert!(found.needed.is_some_and(|needed| needed.contains("is undetermined")));
    }
    let few = described(&record(&[225.0, 226.0, 228.0], &[0.0; 3]), &[144.0, 145.0, 144.0, 146.0]);
    assert_eq!(few.give_back, None);
}

#[test]
fn bare_metal_has_other_programs_and_nothing_to_give_back() {
    let mut record = record(&[150.0, 151.0, 152.0], &[0.0; 3]);
    record.machine.identity.hypervisor = None;
    record.epochs[2].got.others_share = Some(0.4);
    let found = described(&record, &[]);
    assert_eq!(found.shows, ["other programs were at work in epoch 3 of 3: other programs 40.0 %"]);
    assert_eq!((found.give_back, found.needed), (None, None));
}

#[test]
fn check_ups_with_another_plan_do_not_count() {
    let mut own: Vec<HistoryEntry> = [144.0, 150.0, 155.0, 160.0, 166.0].map(earlier).into();
    for entry in &mut own {
        entry.plan = "another".to_owned();
    }
    let run = record(&[225.0, 226.0, 228.0], &[0.0; 3]);
    let found = neighbours(&run, &own.iter().collect::<Vec<_>>()).expect("epochs");
    assert!(found.ranks.is_empty() && found.give_back.is_none());
}

#[test]
fn what_says_nothing_is_passed_over() {
    assert_eq!(neighbours(&Record::default(), &[]), None);
    let mut old = record(&[150.0, 151.0, 152.0], &[0.0; 3]);
    old.epochs.clear();
    assert_eq!(neighbours(&old, &[]), None, "a record of one process, without history");
    let one = record(&[150.0], &[0.3]);
    let found = neighbours(&one, &[]).expect("the kernel told of it");
    assert!(found.costs.is_empty() && found.at_work == [1]);
    let spoilt = record(&[f64::NAN, 150.0, -1.0], &[f64::NAN, 0.0, 0.0]);
    let found = neighbours(&spoilt, &[&earlier(f64::NAN)]).expect("the core told of it");
    assert!(found.at_work.is_empty() && found.costs.iter().all(|cost| cost.class != RowClass::RandomReads));
    assert!(found.shows.iter().all(|line| !line.contains("NaN")), "{:?}", found.shows);
    let two = record(&[150.0, 290.0], &[0.0; 3]);
    assert!(described(&two, &[]).at_work.is_empty(), "a row that an epoch lacks cannot be judged by epoch");
}
