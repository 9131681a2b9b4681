//! Kills at every step, and random sequences of all that can happen between boots.

use experiments::ab::across_reboot::journal::{Fate, Phase, SEALED};
use experiments::ab::across_reboot::visit::{GivenUp, VisitError};
use proptest::prelude::*;

use crate::world::{TRIALS, Truth, World, bytes_of};

const TRUTH: Truth = Truth { shift: 0.1, between: 0.01, within: 0.01, drift: 0.0 };

/// A world with an experiment of two boots against two, in the boot after the set-up.
fn begun() -> World {
    let mut world = World::new(TRUTH, 3);
    world.begin(2).expect("nothing is in the way");
    reboot_as_due(&mut world);
    world
}

fn reboot_as_due(world: &mut World) {
    let due = world.journal().and_then(|journal| journal.due());
    world.reboot(due.map_or(0, |(_, arm)| usize::from(arm == stats::Arm::B)));
}

#[test]
fn a_program_killed_at_any_step_of_a_boot_goes_on_in_it_and_each_boot_counts_once() {
    let mut whole = begun();
    let before = whole.disk.steps;
    assert_eq!(whole.resume(usize::MAX), "boot");
    let steps = whole.disk.steps - before;
    assert!(steps > 4 * TRIALS, "{steps} steps");
    for killed_at in 0..steps {
        let mut world = begun();
        world.disk.steps_left = Some(killed_at);
        let said = world.resume(usize::MAX);
        assert!(said.contains("killed"), "step {killed_at}: {said}");
        world.disk.steps_left = None;
        assert_eq!(world.broken(), "", "step {killed_at}");
        // All trials may be stored already, and only the syncing of the name was killed.
        let said = world.resume(usize::MAX);
        assert!(
            said == "boot" || said.starts_with("this boot is measured already"),
            "step {killed_at}: {said}"
        );
        let journal = world.finish();
        assert_eq!((world.broken(), journal.counted().count()), (String::new(), 4), "step {killed_at}");
        assert!(journal.visits.iter().all(|visit| visit.fate == Fate::Counted), "step {killed_at}");
    }
}

#[test]
fn a_power_cut_at_any_step_loses_nothing_that_was_stored_and_opens_the_place_again() {
    for keeps_new_names in [false, true] {
        for cut_at in 0.. {
            let mut world = begun();
            world.disk.steps_left = Some(cut_at);
            let said = world.resume(usize::MAX);
            world.disk.lose_power(keeps_new_names);
            assert_eq!(world.broken(), "", "step {cut_at}");
            reboot_as_due(&mut world);
            let journal = world.finish();
            assert_eq!((world.broken(), journal.counted().count()), (String::new(), 4), "step {cut_at}");
            let cut = journal.visits.iter().filter(|visit| visit.fate == Fate::CutShort).count();
            assert!(cut <= 1, "step {cut_at}: {cut} boots cut short");
            if said == "boot" {
                break;
            }
        }
    }
}

#[test]
fn a_set_up_that_is_cut_at_any_step_leaves_an_experiment_or_none() {
    for keeps_new_names in [false, true] {
        for cut_at in 0.. {
            let mut world = World::new(TRUTH, 3);
            world.disk.steps_left = Some(cut_at);
            let is_done = world.begin(2).is_ok();
            world.disk.lose_power(keeps_new_names);
            world.reboot(0);
            match world.begin(2) {
                Ok(_) | Err(VisitError::UnderWay { .. }) => {}
                Err(error) => panic!("step {cut_at}: {error}"),
            }
            assert_eq!(world.finish().counted().count(), 4, "step {cut_at}");
            if is_done {
                break;
            }
        }
    }
}

#[test]
fn refusals_say_what_is_wrong_and_what_to_do() {
    let mut world = World::new(TRUTH, 3);
    assert_eq!(world.resume(usize::MAX), "nothing");
    let due = world.begin(2).expect("nothing is in the way").due().expect("boots are left").1;
    let (right, wrong) = if due == stats::Arm::B { (1, 0) } else { (0, 1) };
    assert!(world.resume(usize::MAX).starts_with("this is the boot in which the experiment was set up"));
    for (line, expected) in
        [(wrong, "which is due: its command line"), (2, "and has nosmt=force; it does not count")]
    {
        world.reboot(line);
        let said = world.resume(usize::MAX);
        assert!(said.contains(expected) && said.ends_with("and reboot"), "{said}");
        assert_eq!(world.resume(usize::MAX), said, "twice in one boot is one note");
    }
    world.reboot(right);
    assert_eq!(world.resume(usize::MAX), "boot");
    assert!(world.resume(usize::MAX).starts_with("this boot is measured already, and a boot counts once"));
    let fates: Vec<Fate> =
        world.journal().expect("a journal").visits.into_iter().map(|visit| visit.fate).collect();
    assert!(matches!(fates.as_slice(), [Fate::NotOfArm(_), Fate::NotOfArm(_), Fate::Counted]), "{fates:?}");
    assert!(world.begin(2).expect_err("one at a time").to_string().contains("1 of 4 boots"));
    world.finish();
    world.reboot(0);
    assert!(world.resume(usize::MAX).starts_with("all boots are measured"));
    world.begin(2).expect("the one before is over");
    assert!(bytes_of(&mut world.disk, "reboots.json.over-1").is_some(), "it is kept");
    assert!(matches!(world.abandon(), Ok(GivenUp::Kept(journal)) if journal.phase == Phase::Abandoned));
    world.reboot(0);
    assert!(world.resume(usize::MAX).starts_with("the experiment was abandoned"));
}

/// What can happen.
#[derive(Debug, Clone)]
enum Event {
    /// A boot with one of the command lines.
    Reboot(usize),
    /// A boot as the journal wants it.
    RebootAsDue,
    /// A resume that a signal ends after some trials.
    Resume(usize),
    /// A resume that is killed after some steps of the disk.
    KilledResume(usize),
    /// The same, and then the power is cut; true if names survive.
    PowerCut(usize, bool),
    /// Another set-up.
    Begin,
    /// A bit of the journal turns.
    Spoil(prop::sample::Index),
    /// Somebody puts another file in its place.
    Foreign(Vec<u8>),
    /// The user gives it up.
    Abandon,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => (0..3_usize).prop_map(Event::Reboot),
        4 => Just(Event::RebootAsDue),
        6 => prop_oneof![Just(usize::MAX), 0..4_usize].prop_map(Event::Resume),
        3 => (0..24_usize).prop_map(Event::KilledResume),
        3 => (0..24_usize, any::<bool>()).prop_map(|(step, names)| Event::PowerCut(step, names)),
        1 => Just(Event::Begin),
        1 => any::<prop::sample::Index>().prop_map(Event::Spoil),
        1 => proptest::collection::vec(any::<u8>(), 0..40).prop_map(Event::Foreign),
        1 => Just(Event::Abandon),
    ]
}

fn happen(world: &mut World, event: &Event) {
    match event {
        Event::Reboot(line) => world.reboot(*line),
        Event::RebootAsDue => reboot_as_due(world),
        Event::Resume(trials) => drop(world.resume(*trials)),
        Event::KilledResume(steps) => {
            world.disk.steps_left = Some(*steps);
            world.resume(usize::MAX);
            world.disk.steps_left = None;
        }
        Event::PowerCut(steps, keeps_new_names) => {
            world.disk.steps_left = Some(*steps);
            world.resume(usize::MAX);
            world.disk.lose_power(*keeps_new_names);
            world.reboot(0);
        }
        Event::Begin => drop(world.begin(2)),
        Event::Spoil(place) => spoil(world, |bytes| {
            let index = place.index(bytes.len().max(1));
            if let Some(byte) = bytes.get_mut(index) {
                *byte ^= 1;
            }
        }),
        Event::Foreign(theirs) => spoil(world, |bytes| bytes.clone_from(theirs)),
        Event::Abandon => drop(world.abandon().expect("nobody kills it")),
    }
}

/// A journal that somebody spoils is never taken for one, and its bytes are kept when it is set aside.
fn spoil(world: &mut World, change: impl FnOnce(&mut Vec<u8>)) {
    world.disk.spoil(SEALED.name, change);
    let Some(bytes) = bytes_of(&mut world.disk, SEALED.name) else { return };
    if world.journal().is_none() {
        assert!(world.resume(usize::MAX).contains("damaged"));
        assert!(matches!(world.begin(2), Err(VisitError::Damaged(_))));
        let Ok(GivenUp::SetAside(name, _)) = world.abandon() else { panic!("it is damaged") };
        assert_eq!(bytes_of(&mut world.disk, &name), Some(bytes));
        world.acknowledged.0.clear();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_no_boot_counts_twice_or_for_the_wrong_arm_and_nothing_stored_is_lost(
        events in proptest::collection::vec(event(), 1..40), seed in 0..1000_u64,
    ) {
        let mut world = World::new(TRUTH, seed);
        world.begin(2).expect("nothing is in the way");
        for event in &events {
            happen(&mut world, event);
            prop_assert_eq!(world.broken(), "", "after {:?}", event);
        }
        // Whatever it came to, an experiment can still be brought to its end.
        if world.journal().is_none_or(|journal| journal.phase != Phase::Running) {
            world.begin(2).expect("nothing is in the way");
        }
        prop_assert_eq!(world.finish().counted().count(), 4);
        prop_assert_eq!(world.broken(), "");
    }
}
