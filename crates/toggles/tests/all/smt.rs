//! SMT that goes and comes on a recorded tree with a kernel that brings every CPU, also those that were away before, and
//! binds threads of its own anew: afterwards the same CPUs are there, and nobody is accused.
//!
//! The kernel's part is as seen on Linux 6.1 and 6.12 with four CPUs of which `maxcpus=3` left one away.

use std::rc::Rc;

use host::{Bindings, Followed, MachineWriter, ProcessId, SystemWriter, SystemWriterError, Target};
use toggles::{
    Availability, Change, Experiment, ExperimentError, Fate, Found, Intent, Place, Restored, Revert,
    Reverted, SystemState, find, find_state, revert_on,
};

use crate::faults::{FaultyDisk, Recorded, Steps, Task, owner, refused};

const CONTROL: &str = "sys/devices/system/cpu/smt/control";
const ONLINE: &str = "sys/devices/system/cpu/online";
/// The second threads of the cores 0,1 and 2,3.
const SECOND: [u32; 2] = [1, 3];
/// `PF_KTHREAD`.
const KERNEL: u64 = 0x0020_0000;

/// Name, flags, and CPUs before and after SMT was off, as the kernel leaves them.
const THREADS: [(&str, u64, &str, &str); 4] = [
    ("program", 0, "0-3", "0-3"),
    ("bound", 0, "1", "0-2"),
    // The thread of an interrupt follows it to another CPU, and stays there.
    ("irq/9-acpi", KERNEL, "1", "2"),
    ("kcompactd0", KERNEL, "0-2", "0"),
];

fn online_file(cpu: u32) -> String {
    format!("sys/devices/system/cpu/cpu{cpu}/online")
}

struct Bench {
    recorded: Recorded,
    online: &'static str,
    control: &'static str,
}

impl std::ops::Deref for Bench {
    type Target = Recorded;

    fn deref(&self) -> &Recorded {
        &self.recorded
    }
}

impl Bench {
    fn new(online: &'static str, control: &'static str) -> Self {
        let bench = Self { recorded: Recorded::new(), online, control };
        bench.write(ONLINE, &format!("{online}\n"));
        bench.write(CONTROL, &format!("{control}\n"));
        bench.write("proc/sys/kernel/random/boot_id", "boot\n");
        let there = machine::CpuSet::from_list(online).expect("a list");
        for cpu in 0..4 {
            let is_there = u8::from(there.contains(machine::CpuId(cpu)));
            bench.write(&online_file(cpu), &format!("{is_there}\n"));
            let core = cpu / 2 * 2;
            let siblings = format!("{}-{}\n", core, core + 1);
            bench.write(&format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"), &siblings);
        }
        for (thread, (name, flags, ..)) in (100..).zip(THREADS) {
            let one = Task { process: thread, thread, parent: 1, name, flags, start_ticks: 5 };
            bench.start_thread(&one, bench.before(thread as usize - 100));
        }
        bench.write("proc/self/status", "\n");
        bench
    }

    fn place(&self) -> Place {
        Place { state: self.state(), tree: Some(self.tree()) }
    }

    fn read(&self, path: &str) -> String {
        self.recorded.read(path).trim().to_owned()
    }

    fn bound(&self, index: usize) -> String {
        let thread = 100 + index as u32;
        self.recorded.bound(thread, thread)
    }

    fn writer(&self, steps: &Rc<Steps>) -> Kernel<'_> {
        Kernel { writer: MachineWriter::tree(&self.tree()), bench: self, steps: steps.clone() }
    }

    /// What a thread is bound to; nothing is bound to a CPU that is away.
    fn before(&self, index: usize) -> &'static str {
        if index == 1 && self.online == "0,2" { "0" } else { THREADS[index].2 }
    }

    fn has_journal(&self) -> bool {
        self.journal().is_some()
    }

    /// The same CPUs, and what programs are bound to.
    fn is_as_before(&self) -> bool {
        let is_bound = |index: usize| self.bound(index) == self.before(index);
        self.read(ONLINE) == self.online && self.read(CONTROL) == self.control && is_bound(0) && is_bound(1)
    }

    fn revert(&self) -> Reverted {
        let mut writer = self.writer(&Rc::default());
        revert_on(&mut writer, &mut self.disk(), "boot", Revert::default()).expect("the disk works")
    }
}

/// The tree with a kernel behind `smt/control` and `cpuN/online`.
struct Kernel<'a> {
    writer: MachineWriter,
    bench: &'a Bench,
    steps: Rc<Steps>,
}

impl Kernel<'_> {
    fn is_there(&self, cpu: u32) -> bool {
        self.bench.read(&online_file(cpu)) == "1"
    }

    fn switch(&self, cpus: impl IntoIterator<Item = u32>, is_there: bool) {
        for cpu in cpus {
            self.bench.write(&online_file(cpu), if is_there { "1\n" } else { "0\n" });
        }
        let there: machine::CpuSet = (0..4).filter(|cpu| self.is_there(*cpu)).map(machine::CpuId).collect();
        self.bench.write(ONLINE, &format!("{there}\n"));
        if !is_there {
            for (thread, (_, _, before, after)) in (100..).zip(THREADS) {
                if self.bench.recorded.bound(thread, thread) == before {
                    self.bench.bind(thread, thread, after);
                }
            }
        }
    }
}

impl SystemWriter for Kernel<'_> {
    fn read(&mut self, target: &Target) -> Result<String, SystemWriterError> {
        self.steps.step_of_read(target)?;
        self.writer.read(target)
    }

    fn write(&mut self, target: &Target, value: &str) -> Result<(), SystemWriterError> {
        /// `EPERM`: what the kernel says to a second thread that shall come while SMT is off.
        const PERM: i32 = 1;
        self.steps.step_of_write(target, value)?;
        let cpu = (0..4).find(|cpu| target.to_string().ends_with(&format!("cpu{cpu}/online")));
        let is_off = self.bench.read(CONTROL) == "off";
        if cpu.is_some_and(|cpu| SECOND.contains(&cpu)) && value == "1" && is_off {
            return Err(refused(target, value, std::io::Error::from_raw_os_error(PERM)));
        }
        self.writer.write(target, value)?;
        match (cpu, value) {
            (Some(cpu), value) => self.switch([cpu], value == "1"),
            (None, "off") => self.switch(SECOND, false),
            (None, "on") => self.switch(0..4, true),
            _ => {}
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

fn change(path: &str, value: &str) -> Change {
    Change { target: Target::File { path: path.to_owned() }, value: value.to_owned() }
}

/// Kept, as `toggles set` does it.
fn set(bench: &Bench, steps: &Rc<Steps>, changes: &[Change]) -> Result<(), ExperimentError> {
    let intent = Intent { label: "smt=off", states: &[changes], kept: true };
    let disk = FaultyDisk(bench.disk(), steps.clone());
    let mut experiment = Experiment::begin(bench.writer(steps), disk, owner(), &intent, "now".to_owned())?;
    experiment.switch(changes)?;
    experiment.keep();
    Ok(())
}

fn reported(results: &[Restored]) -> Vec<String> {
    results.iter().map(|result| format!("{}: {:?}", result.entry.target, result.fate)).collect()
}

/// CPUs that are there, the state of SMT, and what is written.
fn cases() -> Vec<(&'static str, &'static str, Vec<Change>)> {
    let (off, on) = (change(CONTROL, "off"), change(CONTROL, "on"));
    vec![
        ("0-3", "on", vec![off.clone()]),
        ("0-2", "on", vec![off.clone()]),
        ("0,2", "on", vec![off.clone()]),
        ("0,2", "off", vec![on]),
        ("0-2", "on", vec![off.clone(), change(&online_file(3), "0")]),
        ("0-2", "on", vec![change(&online_file(3), "0"), off.clone()]),
        ("0-3", "on", vec![off.clone(), change(&online_file(3), "0")]),
        ("0-3", "on", vec![change(&online_file(3), "0"), off]),
    ]
}

#[test]
fn the_same_cpus_are_there_afterwards_and_all_that_is_reported_is_so() {
    for (online, control, changes) in cases() {
        let bench = Bench::new(online, control);
        set(&bench, &Rc::default(), &changes).expect("writable");
        assert_ne!(bench.read(CONTROL), control, "{online}");
        let reverted = bench.revert();
        let Reverted::Done(_, results) = &reverted else { panic!("{reverted:?}") };
        let reported = reported(results);
        assert!(!reverted.is_left_changed() && bench.is_as_before(), "{online} {control}: {reported:?}");
        assert!(!bench.has_journal(), "{reported:?}");
        assert!(
            reported.iter().all(|line| !line.contains("thread 102") && !line.contains("thread 103")),
            "{reported:?}"
        );
        for result in results {
            let Target::File { path } = &result.entry.target else { continue };
            assert_eq!(bench.read(path), result.entry.old, "{reported:?}");
        }
        assert_eq!(find_state(&bench.place()).expect("readable"), Found::Nothing);
        set(&bench, &Rc::default(), &changes).expect("a further one is not refused");
    }
}

#[test]
fn a_state_in_which_smt_is_on_again_has_the_cpus_of_before() {
    let bench = Bench::new("0-2", "on");
    let (off, on) = ([change(CONTROL, "off")], [change(CONTROL, "on")]);
    let intent = Intent { label: "smt", states: &[&off, &on], kept: false };
    let begun =
        Experiment::begin(bench.writer(&Rc::default()), bench.disk(), owner(), &intent, "now".to_owned());
    let mut experiment = begun.expect("nothing is in the way");
    experiment.switch(&off).expect("writable");
    assert_eq!(bench.read(ONLINE), "0,2");
    experiment.switch(&on).expect("writable");
    assert!(bench.is_as_before(), "{}", bench.read(ONLINE));
    experiment.end();
    assert!(bench.is_as_before() && !bench.has_journal());
}

#[test]
fn a_cpu_that_somebody_else_took_is_reported_and_left_alone() {
    let bench = Bench::new("0-3", "on");
    set(&bench, &Rc::default(), &[change(CONTROL, "off")]).expect("writable");
    let mut writer = bench.writer(&Rc::default());
    writer.write(&change(&online_file(2), "0").target, "0").expect("writable");
    writer.write(&change(CONTROL, "on").target, "on").expect("writable");
    writer.write(&change(&online_file(2), "0").target, "0").expect("writable");
    let reverted = bench.revert();
    let Reverted::Done(_, results) = &reverted else { panic!("{reverted:?}") };
    let cpu = results.iter().find(|result| result.entry.target.to_string().ends_with("cpu2/online"));
    assert_eq!(cpu.map(|cpu| &cpu.fate), Some(&Fate::Foreign("0".to_owned())), "{:?}", reported(results));
    let Ok(Found::Kept(journal)) = find_state(&bench.place()) else { panic!("it stays open") };
    assert_eq!(journal.label, "/sys/devices/system/cpu/cpu2/online", "what is back is not named");
    writer.write(&change(&online_file(2), "1").target, "1").expect("writable");
    assert!(!bench.revert().is_left_changed() && bench.is_as_before() && !bench.has_journal());
}

#[test]
fn a_death_or_a_fault_at_any_step_of_set_and_revert_loses_nothing() {
    let few = cases().into_iter().enumerate().filter(|(index, _)| [1, 5].contains(index));
    for (online, control, changes) in few.map(|(_, case)| case) {
        for at in 1.. {
            let mut is_over = false;
            for (fails_at, dies_at) in [(at, 0), (0, at)] {
                let bench = Bench::new(online, control);
                let steps = Steps::of(fails_at, dies_at);
                let was_set = set(&bench, &steps, &changes).is_ok();
                let mut writer = bench.writer(&steps);
                let mut disk = FaultyDisk(bench.disk(), steps.clone());
                let _ = was_set.then(|| revert_on(&mut writer, &mut disk, "boot", Revert::default()));
                let case = format!("{online} {control}, fails at {fails_at}, dies at {dies_at}");
                assert!(bench.is_as_before() || bench.has_journal(), "changed and no journal; {case}");
                let reverted = bench.revert();
                assert!(!reverted.is_left_changed(), "{reverted:?}; {case}");
                assert!(bench.is_as_before() && !bench.has_journal(), "{case}");
                is_over |= steps.done.get() < at;
            }
            if is_over {
                assert!(at > 20, "{at} steps");
                break;
            }
        }
    }
}

#[test]
fn what_is_reported_of_smt_that_cannot_be_switched_can_be_done() {
    for (state, expected) in [
        ("notsupported", ""),
        ("forceoff", "boot without nosmt=force"),
        ("notimplemented", "boot a kernel with CONFIG_HOTPLUG_SMT"),
    ] {
        let bench = Bench::new("0-3", state);
        let root = host::Root::open(&bench.tree()).expect("a recording");
        let machine = host::describe(&root, None);
        let found =
            find("smt").expect("it is in the catalogue").availability(&SystemState::of(&root, &machine));
        assert_eq!(found, Availability::missing(format!("the kernel says {state}"), expected));
    }
}
