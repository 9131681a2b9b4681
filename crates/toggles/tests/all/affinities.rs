//! A CPU that goes away on a recorded tree: what was bound to it comes back, or is reported, with faults at every step.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use host::{Bindings, Followed, MachineWriter, ProcessId, SystemWriter, SystemWriterError, Target};
use toggles::{Change, Experiment, ExperimentError, Fate, Intent, Restored, Revert, Reverted, revert_on};

use crate::faults::{FaultyDisk, Recorded, Steps, Task, owner, refused};

const ONLINE: &str = "sys/devices/system/cpu/cpu3/online";
const MACHINE_CPUSET: &str = "sys/fs/cgroup/cpuset/a/cpuset.cpus";
const LONELY_CPUSET: &str = "sys/fs/cgroup/cpuset/lonely/cpuset.cpus";

/// A cpuset of cgroup v1 loses the CPU; interrupt 9 is managed, and interrupt 7 was bound to it alone.
const FILES: [(&str, &str); 11] = [
    (ONLINE, "1\n"),
    ("sys/devices/system/cpu/online", "0-3\n"),
    ("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,2\n"),
    ("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1,3\n"),
    ("sys/fs/cgroup/cpuset/cpuset.cpus", "0-3\n"),
    (MACHINE_CPUSET, "1-3\n"),
    ("proc/irq/default_smp_affinity", "f\n"),
    ("proc/irq/7/smp_affinity_list", "3\n"),
    ("proc/irq/8/smp_affinity_list", "0-1\n"),
    ("proc/irq/9/smp_affinity_list", "3\n"),
    ("proc/self/status", "\n"),
];

/// Thread, affinity before, flags, and affinity while CPU 3 is away and after it is back.
const THREADS: [(u32, &str, u64, &str); 5] = [
    (100, "0-3", 0, "0-3"),
    (101, "3", 0, "0-3"),
    (102, "0", 0, "0"),
    (103, "2-3", 0, "1-2"),
    // The kernel binds it, and brings it back.
    (104, "3", 0x0400_0000, "3"),
];

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
        for (path, text) in FILES {
            bench.write(path, text);
        }
        for (thread, cpus, flags, _) in THREADS {
            bench.start_thread(thread, cpus, flags, 5);
        }
        bench
    }

    fn start_thread(&self, thread: u32, cpus: &str, flags: u64, start_ticks: u64) {
        let one = Task { process: thread, thread, parent: 1, name: "a) b", flags, start_ticks };
        self.0.start_thread(&one, cpus);
    }

    fn bind(&self, thread: u32, cpus: &str) {
        self.0.bind(thread, thread, cpus);
    }

    fn bound(&self, thread: u32) -> String {
        self.0.bound(thread, thread)
    }

    fn writer(&self) -> Kernel {
        self.faulty(Rc::default())
    }

    fn faulty(&self, steps: Rc<Steps>) -> Kernel {
        Kernel { writer: MachineWriter::tree(&self.tree()), bench: self.tree(), steps }
    }

    fn is_as_before(&self) -> bool {
        let is_bound = THREADS.iter().all(|(thread, cpus, ..)| self.bound(*thread) == *cpus);
        is_bound && FILES.iter().all(|(path, text)| self.read(path) == *text)
    }

    fn revert(&self) -> Reverted {
        revert_on(&mut self.writer(), &mut self.disk(), "boot", Revert::default()).expect("the disk works")
    }
}

/// The tree with a kernel that moves what is bound to a CPU that goes away.
struct Kernel {
    writer: MachineWriter,
    bench: PathBuf,
    steps: Rc<Steps>,
}

impl Kernel {
    fn edit(&self, path: &str, edit: impl Fn(&str) -> Option<String>) {
        let path = self.bench.join(path);
        let Ok(text) = fs::read_to_string(&path) else { return };
        if let Some(text) = edit(&text) {
            fs::write(path, text).expect("a file of the tree");
        }
    }

    fn switch_cpu(&self, is_away: bool) {
        let set = |text: &'static str| move |_: &str| Some(text.to_owned());
        self.edit("sys/devices/system/cpu/online", set(if is_away { "0-2\n" } else { "0-3\n" }));
        self.edit("proc/irq/9/smp_affinity_list", set("3\n"));
        if !is_away {
            return;
        }
        self.edit("proc/irq/7/smp_affinity_list", |text| (text == "3\n").then(|| "0-2\n".to_owned()));
        self.edit(MACHINE_CPUSET, |text| (text == "1-3\n").then(|| "1-2\n".to_owned()));
        self.edit(LONELY_CPUSET, |text| (text == "3\n").then(|| "\n".to_owned()));
        for (thread, before, _, after) in THREADS {
            let line = |cpus: &str| format!("Cpus_allowed_list:\t{cpus}\n");
            let path = format!("proc/{thread}/task/{thread}/status");
            self.edit(&path, |text| Some(text.replace(&line(before), &line(after))));
        }
    }
}

impl SystemWriter for Kernel {
    fn read(&mut self, target: &Target) -> Result<String, SystemWriterError> {
        self.steps.step_of_read(target)?;
        self.writer.read(target)
    }

    fn write(&mut self, target: &Target, value: &str) -> Result<(), SystemWriterError> {
        self.steps.step_of_write(target, value)?;
        if target.to_string() == "/proc/irq/9/smp_affinity_list" {
            /// `EIO`: the kernel's answer for a managed interrupt.
            const IO: i32 = 5;
            return Err(refused(target, value, io::Error::from_raw_os_error(IO)));
        }
        self.writer.write(target, value)?;
        if target.to_string().ends_with("cpu3/online") {
            self.switch_cpu(value == "0");
        }
        Ok(())
    }

    fn bindings(&mut self) -> Result<Bindings, SystemWriterError> {
        self.steps.step_of_bindings()?;
        self.writer.bindings()
    }

    fn threads(&mut self, processes: &[ProcessId]) -> Result<Vec<Followed>, SystemWriterError> {
        self.writer.threads(processes)
    }
}

fn change(value: &str) -> [Change; 1] {
    [Change { target: Target::File { path: ONLINE.to_owned() }, value: value.to_owned() }]
}

type Running = Experiment<Kernel, FaultyDisk>;

fn begin(bench: &Bench, steps: &Rc<Steps>) -> Result<Running, ExperimentError> {
    let (off, on) = (change("0"), change("1"));
    let intent = Intent { label: "cpu-online=off", states: &[&off, &on], kept: false };
    let disk = FaultyDisk(bench.disk(), steps.clone());
    Experiment::begin(bench.faulty(steps.clone()), disk, owner(), &intent, "now".to_owned())
}

/// Away, back, away, and the end.
fn run(bench: &Bench, steps: &Rc<Steps>) -> Result<Vec<Restored>, ExperimentError> {
    let mut experiment = begin(bench, steps)?;
    for value in ["0", "1", "0"] {
        experiment.switch(&change(value))?;
    }
    Ok(experiment.end())
}

fn reported(results: &[Restored]) -> Vec<(String, Fate)> {
    results.iter().map(|result| (result.entry.target.to_string(), result.fate.clone())).collect()
}

#[test]
fn what_was_bound_to_a_cpu_that_went_away_is_bound_again_and_reported() {
    let bench = Bench::new();
    let results = run(&bench, &Rc::default()).expect("nothing failed");
    let reported: Vec<String> =
        reported(&results).into_iter().map(|(target, fate)| format!("{target}: {fate:?}")).collect();
    let thread = |thread: u32| format!("affinity of thread {thread} of process {thread}: Restored");
    assert_eq!(
        reported,
        [
            format!("/{ONLINE}: Restored"),
            format!("/{MACHINE_CPUSET}: Restored"),
            "/proc/irq/7/smp_affinity_list: Restored".to_owned(),
            thread(103),
            thread(101),
        ]
    );
    assert!(bench.is_as_before() && bench.journal().is_none());
}

#[test]
fn a_cpu_that_comes_back_in_the_middle_has_its_own_again() {
    let bench = Bench::new();
    let mut experiment = begin(&bench, &Rc::default()).expect("nothing is in the way");
    experiment.switch(&change("0")).expect("writable");
    assert_eq!(bench.bound(101), "0-3");
    experiment.switch(&change("1")).expect("writable");
    assert!(bench.is_as_before() && bench.journal().is_some());
    experiment.end();
}

#[test]
fn a_fault_or_a_death_at_any_step_leaves_all_that_one_revert_needs() {
    let steps = Rc::new(Steps::default());
    run(&Bench::new(), &steps).expect("nothing failed");
    let count = steps.done.get();
    assert!(count > 50, "{count} steps");
    for at in 1..=count {
        for (fails_at, dies_at) in [(at, 0), (0, at)] {
            let bench = Bench::new();
            let steps = Steps::of(fails_at, dies_at);
            let outcome = run(&bench, &steps).map(|results| reported(&results));
            let case = format!("fails at {fails_at}, dies at {dies_at}: {outcome:?}");
            assert!(bench.is_as_before() || bench.journal().is_some(), "changed and no journal; {case}");
            let reverted = bench.revert();
            assert!(!reverted.is_left_changed(), "{reverted:?}; {case}");
            assert!(bench.is_as_before() && bench.journal().is_none(), "{case}");
        }
    }
}

#[test]
fn a_revert_that_dies_at_any_step_is_finished_by_the_next() {
    for at in 1..60 {
        let bench = Bench::new();
        let mut experiment = begin(&bench, &Rc::default()).expect("nothing is in the way");
        experiment.switch(&change("0")).expect("writable");
        experiment.keep();
        let steps = Steps::of(0, at);
        let mut disk = FaultyDisk(bench.disk(), steps.clone());
        let _ = revert_on(&mut bench.faulty(steps), &mut disk, "boot", Revert::default());
        assert!(!bench.revert().is_left_changed(), "step {at}");
        assert!(bench.is_as_before() && bench.journal().is_none(), "step {at}");
    }
}

#[test]
fn what_cannot_be_put_back_is_reported_and_stays_in_the_journal_until_it_is_settled() {
    let bench = Bench::new();
    bench.write(LONELY_CPUSET, "3\n");
    let mut experiment = begin(&bench, &Rc::default()).expect("nothing is in the way");
    experiment.switch(&change("0")).expect("writable");
    // Somebody else binds a thread, a managed interrupt stays elsewhere, and one thread ends: its number is given anew.
    bench.bind(102, "1");
    experiment.keep();
    bench.start_thread(101, "0", 0, 6);
    let mut writer = bench.writer();
    writer.write(&change("1")[0].target, "1").expect("writable");
    bench.write("proc/irq/9/smp_affinity_list", "0-2\n");
    let reverted = bench.revert();
    let Reverted::Done(_, results) = &reverted else { panic!("{reverted:?}") };
    let fate = |name: &str| {
        let found = results.iter().find(|result| result.entry.target.to_string().contains(name));
        found.map(|result| format!("{:?}", result.fate)).unwrap_or_default()
    };
    assert_eq!(fate("thread 102"), "Foreign(\"1\")");
    assert_eq!(fate("thread 103"), "Restored");
    assert_eq!(fate("thread 101"), "", "the new thread is not ours to bind");
    assert!(fate("irq/9").contains("the kernel manages this interrupt itself"), "{results:?}");
    assert!(fate("lonely").contains("move them back by hand"), "{results:?}");
    assert_eq!(bench.bound(101), "0");
    assert!(reverted.is_left_changed());
    let left = bench.journal().expect("some of it is open");
    assert!(left.entries.is_empty());
    assert_eq!(left.affinities.map(|affinities| affinities.counts()), Some((1, 2)));
    bench.bind(102, "0");
    bench.write("proc/irq/9/smp_affinity_list", "3\n");
    assert!(!bench.revert().is_left_changed());
    assert!(bench.journal().is_none());
}

#[test]
fn only_an_experiment_that_can_take_a_cpu_away_remembers_what_is_bound() {
    let bench = Bench::new();
    let remembered = |online: &str, needed: &str| {
        bench.write(ONLINE, online);
        bench.write("sys/devices/system/cpu/online", if online == "1\n" { "0-3\n" } else { "0-2\n" });
        let change = change(needed);
        let mut writer = bench.writer();
        let entries = toggles::survey(&mut writer, &[&change]).expect("readable");
        toggles::remember(&mut writer, &entries)
            .expect("readable")
            .map(|have| (have.leaving.to_string(), have.counts()))
    };
    assert_eq!(remembered("1\n", "0"), Some(("3".to_owned(), (4, 5))));
    assert_eq!(remembered("1\n", "1"), None, "nothing changes");
    assert_eq!(remembered("0\n", "1"), None, "nothing is bound to a CPU that is away");
    bench.write(ONLINE, "1\n");
    bench.write("sys/devices/system/cpu/online", "0-3\n");
    bench.write("sys/devices/system/cpu/smt/control", "on\n");
    let path = "sys/devices/system/cpu/smt/control".to_owned();
    let change = [Change { target: Target::File { path }, value: "off".to_owned() }];
    let entries = toggles::survey(&mut bench.writer(), &[&change]).expect("readable");
    let remembered =
        toggles::remember(&mut bench.writer(), &entries).expect("readable").expect("SMT goes off");
    assert_eq!(remembered.leaving.to_string(), "2-3");
}

#[test]
fn the_threads_and_interrupts_of_this_machine_are_read() {
    let bindings = MachineWriter::live().bindings().expect("every Linux tells its CPUs");
    assert!(!bindings.online.is_empty() && bindings.second_threads.is_subset(&bindings.online));
    let own = std::process::id();
    let is_own = |target: &Target| matches!(target, Target::Task { process, .. } if *process == own);
    assert!(bindings.tasks.iter().all(|bound| !is_own(&bound.target)));
    for bound in &bindings.interrupts {
        assert!(
            MachineWriter::live().read(&bound.target).is_ok_and(|now| !now.is_empty()),
            "{}",
            bound.target
        );
    }
}
