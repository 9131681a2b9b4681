//! Simulated machines: a recorded one that is booted ten times, and many whose truth is known.

use std::path::Path;

use experiments::ab::across_reboot::condition::Conditions;
use experiments::ab::across_reboot::facts::BootFacts;
use experiments::ab::across_reboot::inference::inference;
use experiments::ab::across_reboot::journal::{Journal, Work};
use experiments::ab::across_reboot::plan::{Plan, order};
use experiments::ab::across_reboot::visit::{Intent, Measured, Standing, enter, measure, set_up};
use host::{Root, StateFolder};
use machine::Machine;
use record::RebootOutcome;
use stats::{Arm, Comparison, Verdict};

use crate::world::{FakeSubject, LINES, Truth, World};

struct Nobody;

impl Standing for Nobody {
    fn trials(&mut self, _done: usize, _needed: usize) {}
}

/// Boots the recorded machine.
fn boot(tree: &Path, number: usize, line: usize) -> BootFacts {
    let put = |path: &str, text: &str| {
        let path = tree.join(path);
        std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
        std::fs::write(path, text).expect("a file");
    };
    put("proc/sys/kernel/random/boot_id", &format!("{number:08}-boot\n"));
    put("proc/cmdline", &format!("{}\n", LINES[line]));
    put("proc/uptime", "75.00 140.00\n");
    put("proc/version", "Linux version 6.1.0 (made up)\n");
    let source = if line == 1 { "hpet" } else { "tsc" };
    put("sys/devices/system/clocksource/clocksource0/current_clocksource", source);
    let root = Root::open(tree).expect("a machine");
    BootFacts::read(&root, &host::describe(&root, None), "1")
}

#[test]
fn a_recorded_machine_is_driven_through_ten_boots_and_the_planted_difference_is_found() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (tree, mut disk) = (folder.path().join("tree"), StateFolder::new(&folder.path().join("state")));
    drop(disk.try_lock().expect("the folder is made"));
    let truth = Truth { shift: -0.1, between: 0.01, within: 0.02, drift: 0.002 };
    let plan = Plan { seed: 5, order: order(5, 5), trials: 5, margin: 0.01, settle_s: 0.0 };
    let intent = Intent {
        conditions: Conditions::parse(["", "nosmt"]).expect("arms"),
        plan: plan.clone(),
        work: Work::default(),
        boot: boot(&tree, 0, 0),
        now_utc: "2026-01-01T00:00:00Z".to_owned(),
        tool_version: "1".to_owned(),
    };
    let mut subject = FakeSubject::new(&truth, 0, Arm::A, 1);
    set_up(&mut disk, intent, &mut subject, &mut Nobody).expect("nothing is in the way");
    for (number, arm) in (1..).zip(&plan.order) {
        let facts = boot(&tree, number, usize::from(*arm == Arm::B));
        let found = experiments::ab::across_reboot::visit::find(&mut disk).expect("readable");
        let experiments::ab::across_reboot::visit::StoredState::Journal(mut journal) = found else {
            panic!("{found:?}")
        };
        let entered = enter(&mut disk, &mut journal, &facts, "later").expect("writable");
        let index = entered.expect("it is the arm that is due");
        let mut subject = FakeSubject::new(&truth, number as u64, *arm, 1);
        let measured = measure(&mut disk, &mut journal, index, &mut subject, &mut Nobody).expect("writable");
        assert_eq!(measured == Measured::Last, number == plan.order.len(), "boot {number}");
    }
    let found = experiments::ab::across_reboot::visit::find(&mut disk).expect("readable");
    let experiments::ab::across_reboot::visit::StoredState::Journal(journal) = found else {
        panic!("{found:?}")
    };
    let outcome = inference(&journal);
    let row = &outcome.rows[0];
    let interval = row.ratio_interval.expect("five boots of each");
    assert!(interval.contains((-0.1_f64).exp()), "{interval}");
    assert_eq!((row.row.verdict, outcome.boots_counted), (Verdict::Faster, [5, 5]));
    assert!(outcome.head.sentence.starts_with("nosmt makes system-call take "), "{}", outcome.head.sentence);
    assert!(outcome.controls[0].row.interval.is_some());
    let facts: Vec<&str> = outcome.differs_with_arm.iter().map(|fact| fact.fact.as_str()).collect();
    assert_eq!(facts, ["clock source"]);
}

/// A finished experiment of `boots` boots against as many.
fn simulated(truth: Truth, boots: usize, seed: u64) -> Journal {
    let mut world = World::new(truth, seed);
    world.begin(boots).expect("nothing is in the way");
    world.finish()
}

fn excludes_nothing(found: &RebootOutcome) -> bool {
    found.rows[0].row.interval.is_some_and(|interval| !interval.contains(0.0))
}

/// The same if every trial were a unit of its own.
fn trials_exclude_nothing(journal: &Journal) -> bool {
    let of = |arm: Arm| -> Vec<f64> {
        let visits = journal.counted().filter(|visit| visit.arm == arm);
        visits.flat_map(|visit| &visit.trials).filter_map(|trial| trial.values[0]).collect()
    };
    let found = Comparison::of_groups(&of(Arm::A), &of(Arm::B)).expect("values");
    found.interval.is_some_and(|interval| !interval.contains(1.0))
}

#[test]
fn boots_that_do_not_differ_are_called_different_no_more_often_than_promised() {
    const EXPERIMENTS: usize = 200;
    for (drift, most_boots_alarms, fewest_trials_alarms) in [(0.0, 16, 30), (0.01, 16, 1)] {
        let truth = Truth { shift: 0.0, between: 0.02, within: 0.01, drift };
        let (mut boots, mut trials, mut claims) = (0, 0, 0);
        for seed in 0..EXPERIMENTS as u64 {
            let journal = simulated(truth, 5, seed);
            let found = inference(&journal);
            boots += usize::from(excludes_nothing(&found));
            trials += usize::from(trials_exclude_nothing(&journal));
            claims += usize::from(matches!(found.rows[0].row.verdict, Verdict::Faster | Verdict::Slower));
        }
        println!("drift {drift}: {boots} of {EXPERIMENTS} by boots, {claims} claimed, {trials} by trials");
        // Of 5 and 5 boots the exact test at 5 % raises 8 of 252 alarms; 16 of 200 is beyond the 99.9th percentile of that.
        assert!(boots <= most_boots_alarms && claims <= boots, "{boots} alarms, {claims} claims");
        // Trials of one boot are no replicates: that is why they are not the unit.
        assert!(trials >= fewest_trials_alarms, "{trials}");
    }
}

#[test]
fn a_planted_difference_is_inside_its_interval_as_often_as_promised() {
    const EXPERIMENTS: u64 = 100;
    let truth = Truth { shift: 0.05, between: 0.02, within: 0.01, drift: 0.0 };
    let covered = (0..EXPERIMENTS)
        .filter(|seed| {
            let found = inference(&simulated(truth, 5, *seed));
            found.rows[0].ratio_interval.is_some_and(|interval| interval.contains(truth.shift.exp()))
        })
        .count();
    // At the promised 95 %, fewer than 88 of 100 are the 0.1st percentile.
    assert!((88..=100).contains(&covered), "{covered} of {EXPERIMENTS}");
}

#[test]
fn too_few_boots_carry_no_interval_and_one_against_one_is_refused() {
    let truth = Truth { shift: 0.2, between: 0.001, within: 0.001, drift: 0.0 };
    for (boots, expected) in [
        (1, "no inference is possible from one boot against one: system-call differed by"),
        (2, "2 boots against 2 carry no interval at 95 %: system-call differed by"),
        (3, "3 boots against 3 carry no interval at 95 %: system-call differed by"),
        (4, "nosmt makes system-call 22."),
    ] {
        let found = inference(&simulated(truth, boots, 1));
        assert!(found.head.sentence.starts_with(expected), "{}", found.head.sentence);
        let row = &found.rows[0];
        assert_eq!(row.row.interval.is_some(), boots >= 4, "{boots}");
        assert_eq!(row.row.verdict == Verdict::Inconclusive, boots < 4, "{boots}");
        assert_eq!((row.row.p.is_some(), row.row.q.is_some()), (boots >= 4, boots >= 4));
    }
}

#[test]
fn what_was_never_measured_has_no_numbers() {
    let mut world = World::new(Truth { shift: 0.0, between: 0.0, within: 0.0, drift: 0.0 }, 1);
    let journal = world.begin(2).expect("nothing is in the way");
    let found = inference(&journal);
    assert_eq!(found.head.sentence, "no boot counts yet, so nothing is known");
    assert!(found.rows.is_empty() && found.boots.is_empty());
}

#[test]
fn a_machine_that_is_not_described_gives_boots_all_the_same() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(folder.path().join("proc")).expect("a folder");
    let root = Root::open(folder.path()).expect("a machine");
    assert_eq!(BootFacts::read(&root, &Machine::default(), "1").boot_id, "");
}
