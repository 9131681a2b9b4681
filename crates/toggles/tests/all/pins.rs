//! A pinned process tree, recorded and alive: set free exactly, with faults at every step, threads that come, go and choose.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;

use host::live::process_start_ticks;
use host::{
    Bindings, Followed, MachineWriter, ProcessId, StateFolder, SystemWriter, SystemWriterError, Target,
};
use machine::{CpuId, CpuSet};
use toggles::{Fate, PinError, PinIntent, Pinning, Restored, Revert, Reverted, ThreadId, revert_on};

use crate::faults::{FaultyDisk, Recorded, Steps, Task, owner};

const TOP: ProcessId = ProcessId { process: 100, start_ticks: 50 };
const BOTH: &str = "0-1";

/// Process, thread, start and CPUs: a process of three threads, one of which has chosen, its child, and a stranger.
const THREADS: [(u32, u32, u64, &str); 6] = [
    (100, 100, 50, BOTH),
    (100, 101, 51, BOTH),
    (100, 102, 52, "1"),
    (200, 200, 60, BOTH),
    (200, 201, 61, BOTH),
    (900, 900, 10, BOTH),
];

fn parent_of(process: u32) -> u32 {
    if process == 200 { 100 } else { 1 }
}

struct Bench(Recorded);

impl std::ops::Deref for Bench {
    type Target = Recorded;

    fn deref(&self) -> &Recorded {
        &self.0
    }
}

impl Bench {
    fn new() -> Self {
        let bench = Self(Recorded::new());
        for (process, thread, start, cpus) in THREADS {
            bench.start(process, thread, start, cpus);
        }
        bench
    }

    fn file(&self, process: u32, thread: u32, name: &str) -> PathBuf {
        self.tree().join(format!("proc/{process}/task/{thread}/{name}"))
    }

    fn start(&self, process: u32, thread: u32, start_ticks: u64, cpus: &str) {
        let parent = parent_of(process);
        self.start_thread(&Task { process, thread, parent, name: "w", flags: 0, start_ticks }, cpus);
    }

    fn end_all(&self) {
        for process in [100, 200] {
            fs::remove_dir_all(self.tree().join(format!("proc/{process}"))).expect("a process");
        }
    }

    fn has_journal(&self) -> bool {
        self.journal().is_some()
    }

    fn is_as_before(&self) -> bool {
        THREADS.iter().all(|(process, thread, _, cpus)| self.bound(*process, *thread) == *cpus)
    }

    fn revert(&self) -> Reverted {
        let mut writer = MachineWriter::tree(&self.tree());
        revert_on(&mut writer, &mut self.disk(), "boot", Revert::default()).expect("the disk works")
    }
}

#[derive(Debug)]
struct FaultyWriter(MachineWriter, Rc<Steps>);

impl SystemWriter for FaultyWriter {
    fn read(&mut self, target: &Target) -> Result<String, SystemWriterError> {
        self.1.step_of_read(target)?;
        self.0.read(target)
    }

    fn write(&mut self, target: &Target, value: &str) -> Result<(), SystemWriterError> {
        self.1.step_of_write(target, value)?;
        self.0.write(target, value)
    }

    fn bindings(&mut self) -> Result<Bindings, SystemWriterError> {
        self.0.bindings()
    }

    fn threads(&mut self, processes: &[ProcessId]) -> Result<Vec<Followed>, SystemWriterError> {
        self.1.step_of_bindings()?;
        self.0.threads(processes)
    }
}

type Pinned = Pinning<FaultyWriter, FaultyDisk>;

fn one(cpu: u32) -> CpuSet {
    [CpuId(cpu)].into_iter().collect()
}

fn both() -> CpuSet {
    [CpuId(0), CpuId(1)].into_iter().collect()
}

fn begin(bench: &Bench, steps: &Rc<Steps>) -> Result<Pinned, PinError> {
    let intent = PinIntent { label: "place", process: TOP, sets: &[one(0), one(1), both()] };
    let writer = FaultyWriter(MachineWriter::tree(&bench.tree()), steps.clone());
    Pinning::begin(writer, FaultyDisk(bench.disk(), steps.clone()), owner(), &intent, "now".to_owned())
}

/// Every thread to CPU 0 or 1 by its number, those that are apart included.
fn pin_all(pinning: &mut Pinned, turn: u32) -> Result<usize, PinError> {
    let seen = pinning.look()?;
    let needed = |seen: &toggles::Seen| (ThreadId::of(&seen.thread), one((seen.thread.thread + turn) % 2));
    pinning.pin(&seen.iter().map(needed).collect::<Vec<_>>())
}

/// Pins, meets a new thread and a new process that inherited, pins otherwise, and sets free.
fn run(bench: &Bench, steps: &Rc<Steps>) -> Result<Vec<Restored>, PinError> {
    let mut pinning = begin(bench, steps)?;
    pin_all(&mut pinning, 0)?;
    bench.start(100, 103, 70, "0");
    bench.start(200, 202, 71, "1");
    pin_all(&mut pinning, 1)?;
    Ok(pinning.release())
}

fn is_free(bench: &Bench) -> bool {
    let came = |process: u32, thread: u32| {
        !bench.file(process, thread, "stat").exists() || bench.bound(process, thread) == BOTH
    };
    bench.is_as_before() && came(100, 103) && came(200, 202)
}

#[test]
fn all_threads_old_and_new_are_pinned_and_set_free_and_those_that_chose_are_left_alone() {
    let bench = Bench::new();
    let mut pinning = begin(&bench, &Rc::default()).expect("nothing is in the way");
    assert_eq!(pin_all(&mut pinning, 0).expect("they may be bound"), 4);
    let found = |process, thread| bench.bound(process, thread);
    assert_eq!([found(100, 100), found(100, 101), found(200, 200), found(200, 201)], ["0", "1", "0", "1"]);
    assert_eq!([found(100, 102), found(900, 900)], ["1", BOTH], "the chooser and the stranger");
    bench.start(100, 103, 70, "0");
    bench.bind(200, 201, "0-1");
    let seen = pinning.look().expect("they are there");
    let apart: Vec<u32> = seen.iter().filter(|seen| seen.is_apart).map(|seen| seen.thread.thread).collect();
    assert_eq!(apart, [102, 201], "one chose before, one now");
    assert_eq!(pin_all(&mut pinning, 0).expect("they may be bound"), 1, "the new one");
    let results = pinning.release();
    assert!(results.iter().all(|result| result.fate == Fate::Restored) && results.len() == 4, "{results:?}");
    assert!(is_free(&bench) && !bench.has_journal());
}

#[test]
fn a_fault_or_a_death_at_any_step_leaves_all_that_one_revert_needs() {
    let steps = Rc::new(Steps::default());
    run(&Bench::new(), &steps).expect("nothing failed");
    let count = steps.done.get();
    assert!(count > 20, "{count} steps");
    for at in 1..=count {
        for (fails_at, dies_at) in [(at, 0), (0, at)] {
            let bench = Bench::new();
            let steps = Steps::of(fails_at, dies_at);
            let outcome = run(&bench, &steps).map(|results| results.len());
            let case = format!("fails at {fails_at}, dies at {dies_at}: {outcome:?}");
            assert!(is_free(&bench) || bench.has_journal(), "pinned and no journal; {case}");
            if bench.has_journal() {
                // Between the death and the revert a pinned thread starts another.
                bench.start(100, 104, 80, &bench.bound(100, 100));
            }
            let reverted = bench.revert();
            assert!(!reverted.is_left_changed(), "{reverted:?}; {case}");
            assert!(is_free(&bench) && !bench.has_journal(), "{case}");
            let late = bench.file(100, 104, "stat").exists();
            assert!(!late || bench.bound(100, 104) == BOTH, "the late one; {case}");
        }
    }
}

#[test]
fn a_revert_that_dies_at_any_step_is_finished_by_the_next() {
    for at in 1..30 {
        let bench = Bench::new();
        let mut pinning = begin(&bench, &Rc::default()).expect("nothing is in the way");
        pin_all(&mut pinning, 0).expect("they may be bound");
        std::mem::forget(pinning);
        let steps = Steps::of(0, at);
        let mut writer = FaultyWriter(MachineWriter::tree(&bench.tree()), steps.clone());
        let _ = revert_on(&mut writer, &mut FaultyDisk(bench.disk(), steps), "boot", Revert::default());
        assert!(bench.is_as_before() || bench.has_journal(), "step {at}");
        bench.revert();
        assert!(bench.is_as_before() && !bench.has_journal(), "step {at}");
    }
}

#[test]
fn a_tree_that_ended_while_pinned_leaves_nothing_and_numbers_given_anew_are_not_touched() {
    let bench = Bench::new();
    let mut pinning = begin(&bench, &Rc::default()).expect("nothing is in the way");
    pin_all(&mut pinning, 0).expect("they may be bound");
    bench.end_all();
    // Others have these numbers now, bound as ours were.
    bench.start(100, 100, 500, "0");
    bench.start(200, 200, 501, "1");
    assert!(pinning.look().expect("an end is no error").is_empty());
    assert_eq!(pinning.release(), []);
    assert!(!bench.has_journal());
    assert_eq!([bench.bound(100, 100), bench.bound(200, 200)], ["0", "1"]);
    let gone = begin(&bench, &Rc::default()).expect_err("another process has this number");
    assert!(matches!(gone, PinError::Gone(100)), "{gone}");
}

#[test]
fn what_the_journal_does_not_name_is_refused_and_everything_set_free() {
    let bench = Bench::new();
    let mut pinning = begin(&bench, &Rc::default()).expect("nothing is in the way");
    pin_all(&mut pinning, 0).expect("they may be bound");
    let first = ThreadId { process: 100, thread: 100, start_ticks: 50 };
    let error = pinning.pin(&[(first, one(7))]).expect_err("not in the journal");
    assert!(error.to_string().contains("not in the journal"), "{error}");
    assert!(bench.is_as_before() && !bench.has_journal());
    assert!(pinning.look().is_err(), "it is over");
}

#[test]
fn a_second_tree_waits_for_the_first_and_the_journal_tells_of_it() {
    let bench = Bench::new();
    let pinning = begin(&bench, &Rc::default()).expect("nothing is in the way");
    let error = begin(&bench, &Rc::default()).expect_err("a journal lies there").to_string();
    assert!(error.contains("place was left switched") && error.contains("toggles revert"), "{error}");
    let pins = bench.journal().expect("a journal").pins.expect("pins");
    assert_eq!((pins.processes.as_str(), pins.cpus.as_str()), ("100@50 200@60", BOTH));
    assert_eq!(pins.ours, ["0", "1"]);
    assert_eq!(pins.apart[0].threads, "100/102@52");
    drop(pinning);
    assert!(!bench.has_journal());
}

/// Two processes that do nothing.
struct Sleepers(Child);

impl Sleepers {
    fn start() -> Self {
        let script = "sleep 600 & wait";
        let child =
            Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn().expect("every Linux has sh");
        Self(child)
    }

    fn id(&self) -> ProcessId {
        let process = self.0.id();
        ProcessId { process, start_ticks: process_start_ticks(process).expect("it runs") }
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        for thread in MachineWriter::live().threads(&[self.id()]).unwrap_or_default().iter().rev() {
            let _ = Command::new("kill").arg(thread.thread.to_string()).status();
        }
        let _ = self.0.wait();
    }
}

#[test]
fn live_processes_are_pinned_and_set_free() {
    let sleepers = Sleepers::start();
    let id = sleepers.id();
    let mut writer = MachineWriter::live();
    while writer.threads(&[id]).expect("the live writer").len() < 2 {
        std::thread::yield_now();
    }
    let before: Vec<String> =
        writer.threads(&[id]).expect("live").into_iter().map(|found| found.cpus).collect();
    let first = CpuSet::from_list(&before[0]).expect("a list").first().expect("a CPU");
    let sets: [CpuSet; 1] = [[first].into_iter().collect()];
    let state = tempfile::tempdir().expect("a temporary folder");
    let intent = PinIntent { label: "place", process: id, sets: &sets };
    let mut pinning = Pinning::begin(
        MachineWriter::live(),
        StateFolder::new(state.path()),
        owner(),
        &intent,
        "now".to_owned(),
    )
    .expect("our own child");
    let seen = pinning.look().expect("it runs");
    let needed: Vec<_> = seen.iter().map(|seen| (ThreadId::of(&seen.thread), sets[0].clone())).collect();
    pinning.pin(&needed).expect("our own child");
    let lists = |writer: &mut MachineWriter| -> Vec<String> {
        writer.threads(&[id]).expect("live").into_iter().map(|found| found.cpus).collect()
    };
    assert_eq!(lists(&mut writer), [first.to_string(), first.to_string()]);
    pinning.release();
    assert_eq!(lists(&mut writer), before);
}
