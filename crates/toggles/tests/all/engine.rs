//! The engine on a recorded tree, with a writer and a disk that fail, die or lose power at every step.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use host::{
    Bindings, Disk, Followed, MachineWriter, ProcessId, StateFolder, SystemWriter, SystemWriterError, Target,
};
use toggles::{
    Change, Experiment, ExperimentError, Fate, Intent, JOURNAL_NAME, Journal, Owner, Revert, Reverted,
    decode, revert_on,
};

const FILES: [(&str, &str); 3] = [
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ("proc/sys/kernel/numa_balancing", "1\n"),
    ("msr/0", "c0010015 = 1000018\nc0011023 = 22\n"),
];

fn file(index: usize) -> Target {
    Target::File { path: FILES[index].0.to_owned() }
}

fn register() -> Target {
    Target::Msr { cpu: 0, register: 0xc001_0015, mask: 0x8 }
}

fn changes(values: [&str; 3]) -> Vec<Change> {
    let targets = [file(0), file(1), register()];
    targets
        .into_iter()
        .zip(values)
        .map(|(target, value)| Change { target, value: value.to_owned() })
        .collect()
}

/// A tree and a state folder in a temporary folder.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in FILES {
            let path = folder.path().join("tree").join(path);
            std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
            std::fs::write(path, text).expect("a file");
        }
        std::fs::create_dir_all(folder.path().join("state")).expect("a folder");
        Self { folder }
    }

    fn tree(&self) -> std::path::PathBuf {
        self.folder.path().join("tree")
    }

    fn writer(&self) -> MachineWriter {
        MachineWriter::tree(&self.tree())
    }

    fn disk(&self) -> StateFolder {
        StateFolder::new(&self.folder.path().join("state"))
    }

    fn text(&self, index: usize) -> String {
        std::fs::read_to_string(self.tree().join(FILES[index].0)).expect("a file of the tree")
    }

    fn is_as_before(&self) -> bool {
        (0..FILES.len()).all(|index| self.text(index) == FILES[index].1)
    }

    fn has_journal(&self) -> bool {
        self.folder.path().join("state").join(JOURNAL_NAME).exists()
    }

    fn revert(&self, how: Revert) -> Reverted {
        revert_on(&mut self.writer(), &mut self.disk(), "boot", how).expect("the disk works")
    }
}

fn owner(boot: &str) -> Owner {
    Owner { boot_id: boot.to_owned(), pid: 1, start_ticks: 1 }
}

/// A whole experiment: to B, back to A, to B, end. Returns false if it stopped early.
fn run<D: SystemWriter, K: Disk>(writer: D, disk: K) -> Result<Vec<Fate>, ExperimentError> {
    let (a, b) = (changes(["madvise", "1", "0x8"]), changes(["never", "0", "0x0"]));
    let intent = Intent { label: "test", states: &[&a, &b], kept: false };
    let mut experiment = Experiment::begin(writer, disk, owner("boot"), &intent, "now".to_owned())?;
    for changes in [&b, &a, &b] {
        experiment.switch(changes)?;
    }
    Ok(experiment.end().into_iter().map(|restored| restored.fate).collect())
}

/// What happens at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mishap {
    /// One step fails.
    Fails,
    /// The process is killed: this step and all later ones do not happen.
    Dies,
    /// Somebody else writes a file just before it is read.
    ForeignBeforeRead,
}

/// Steps of writer and disk in one count.
#[derive(Debug)]
struct Steps {
    done: usize,
    at: usize,
    mishap: Mishap,
    tree: std::path::PathBuf,
    foreign: Option<String>,
}

impl Steps {
    fn step(&mut self) -> io::Result<()> {
        self.done += 1;
        let hit = match self.mishap {
            Mishap::Fails => self.done == self.at,
            Mishap::Dies => self.done >= self.at,
            Mishap::ForeignBeforeRead => false,
        };
        if hit { Err(io::Error::other("made to fail")) } else { Ok(()) }
    }

    fn before_read(&mut self, target: &Target) {
        let Target::File { path } = target else { return };
        if self.mishap == Mishap::ForeignBeforeRead && self.done == self.at && self.foreign.is_none() {
            let value = if path.ends_with("enabled") { "[always] madvise never\n" } else { "7\n" };
            std::fs::write(self.tree.join(path), value).expect("a file of the tree");
            self.foreign = Some(path.clone());
        }
    }
}

struct FaultyWriter(MachineWriter, Rc<RefCell<Steps>>);

impl SystemWriter for FaultyWriter {
    fn read(&mut self, target: &Target) -> Result<String, SystemWriterError> {
        let stepped = self.1.borrow_mut().step();
        stepped.map_err(|source| SystemWriterError::Read { target: target.clone(), source })?;
        self.1.borrow_mut().before_read(target);
        self.0.read(target)
    }

    fn write(&mut self, target: &Target, value: &str) -> Result<(), SystemWriterError> {
        let stepped = self.1.borrow_mut().step();
        let failed =
            |source| SystemWriterError::Write { target: target.clone(), value: value.to_owned(), source };
        stepped.map_err(failed)?;
        self.0.write(target, value)
    }

    fn bindings(&mut self) -> Result<Bindings, SystemWriterError> {
        self.1.borrow_mut().step().map_err(|source| SystemWriterError::Bindings { source })?;
        self.0.bindings()
    }

    fn threads(&mut self, processes: &[ProcessId]) -> Result<Vec<Followed>, SystemWriterError> {
        self.0.threads(processes)
    }
}

struct FaultyDisk(StateFolder, Rc<RefCell<Steps>>);

impl Disk for FaultyDisk {
    fn read(&mut self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.1.borrow_mut().step()?;
        self.0.read(name)
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let stepped = self.1.borrow_mut().step();
        if stepped.is_err() {
            // A write that breaks off leaves half of it.
            self.0.write(name, &bytes[..bytes.len() / 2])?;
        }
        stepped.and_then(|()| self.0.write(name, bytes))
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        self.1.borrow_mut().step()?;
        self.0.sync(name)
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.1.borrow_mut().step()?;
        self.0.rename(from, to)
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.1.borrow_mut().step()?;
        self.0.remove(name)
    }

    fn sync_names(&mut self) -> io::Result<()> {
        self.1.borrow_mut().step()?;
        self.0.sync_names()
    }
}

/// Runs with a mishap at step `at`; the bench, the outcome, how many steps were made, and what was written by others.
fn with_mishap(
    at: usize,
    mishap: Mishap,
) -> (Bench, Result<Vec<Fate>, ExperimentError>, usize, Option<String>) {
    let bench = Bench::new();
    let steps = Steps { done: 0, at, mishap, tree: bench.tree(), foreign: None };
    let steps = Rc::new(RefCell::new(steps));
    let outcome = run(FaultyWriter(bench.writer(), steps.clone()), FaultyDisk(bench.disk(), steps.clone()));
    let (done, foreign) = (steps.borrow().done, steps.borrow().foreign.clone());
    (bench, outcome, done, foreign)
}

/// How many steps a run without mishap makes.
fn step_count() -> usize {
    let (bench, outcome, done, _) = with_mishap(usize::MAX, Mishap::Fails);
    assert_eq!(outcome.expect("nothing failed"), [Fate::Restored, Fate::Restored, Fate::Restored]);
    assert!(bench.is_as_before() && !bench.has_journal());
    assert!(done > 40, "{done} steps");
    done
}

#[test]
fn a_step_that_fails_ends_the_experiment_and_the_machine_is_as_before() {
    for at in 1..=step_count() {
        let (bench, outcome, _, _) = with_mishap(at, Mishap::Fails);
        // Only a failure while putting back needs a revert; then the journal is still there.
        let mended = bench.is_as_before();
        assert!(mended || bench.has_journal(), "step {at}: changed and no journal; {outcome:?}");
        let reverted = bench.revert(Revert::default());
        assert!(!reverted.is_left_changed(), "step {at}: {reverted:?}");
        assert!(bench.is_as_before() && !bench.has_journal(), "step {at}");
    }
}

#[test]
fn a_process_that_is_killed_at_any_step_leaves_all_that_one_revert_needs() {
    for at in 1..=step_count() {
        let (bench, _, _, _) = with_mishap(at, Mishap::Dies);
        assert!(bench.is_as_before() || bench.has_journal(), "step {at}: changed and no journal");
        let reverted = bench.revert(Revert::default());
        assert!(!reverted.is_left_changed(), "step {at}: {reverted:?}");
        assert!(bench.is_as_before() && !bench.has_journal(), "step {at}");
        assert_eq!(bench.revert(Revert::default()), Reverted::Nothing, "step {at}");
    }
}

#[test]
fn a_revert_that_is_killed_at_any_step_is_finished_by_the_next() {
    let middle = step_count() / 2;
    for at in 1..30 {
        let (bench, _, _, _) = with_mishap(middle, Mishap::Dies);
        let steps = Steps { done: 0, at, mishap: Mishap::Dies, tree: bench.tree(), foreign: None };
        let steps = Rc::new(RefCell::new(steps));
        let mut writer = FaultyWriter(bench.writer(), steps.clone());
        let _ = revert_on(&mut writer, &mut FaultyDisk(bench.disk(), steps), "boot", Revert::default());
        bench.revert(Revert::default());
        assert!(bench.is_as_before() && !bench.has_journal(), "step {at}");
    }
}

#[test]
fn what_somebody_else_wrote_is_never_overwritten_unless_forced() {
    let mut seen = 0;
    for at in 1..=step_count() {
        let (bench, outcome, _, foreign) = with_mishap(at, Mishap::ForeignBeforeRead);
        let Some(path) = foreign else { continue };
        let theirs = std::fs::read_to_string(bench.tree().join(&path)).expect("a file of the tree");
        let is_theirs = theirs == "7\n" || theirs == "[always] madvise never\n";
        assert!(is_theirs, "step {at}: {path} holds {theirs:?}; {outcome:?}");
        if bench.has_journal() {
            seen += 1;
            let reverted = bench.revert(Revert::default());
            let Reverted::Done(_, results) = &reverted else { panic!("{reverted:?}") };
            assert!(results.iter().any(|result| matches!(result.fate, Fate::Foreign(_))), "step {at}");
            assert!(reverted.is_left_changed() && bench.has_journal());
            assert!(!bench.revert(Revert { force: true, forget: false }).is_left_changed());
            assert!(bench.is_as_before() && !bench.has_journal(), "step {at}");
        }
    }
    assert!(seen >= 5, "{seen} foreign changes met a journal");
}

#[test]
fn a_foreign_value_can_be_left_and_forgotten() {
    let bench = Bench::new();
    let (a, b) = (changes(["madvise", "1", "0x8"]), changes(["never", "0", "0x0"]));
    let intent = Intent { label: "test", states: &[&a, &b], kept: true };
    let begun = Experiment::begin(bench.writer(), bench.disk(), owner("boot"), &intent, "now".to_owned());
    let mut experiment = begun.expect("nothing is in the way");
    experiment.switch(&b).expect("writable");
    experiment.keep();
    std::fs::write(bench.tree().join(FILES[1].0), "7\n").expect("a file of the tree");
    assert!(bench.revert(Revert { force: false, forget: true }).is_left_changed());
    assert_eq!((bench.text(0).as_str(), bench.text(1).as_str()), (FILES[0].1, "7\n"));
    assert!(!bench.has_journal());
}

#[test]
fn a_journal_that_is_in_the_way_is_named_and_one_of_another_boot_is_not_in_the_way() {
    let bench = Bench::new();
    let (bench_again, a) = (&bench, changes(["never", "0", "0x0"]));
    let begin = |boot: &str| {
        let intent = Intent { label: "thp-system=never", states: &[&a], kept: true };
        Experiment::begin(bench_again.writer(), bench_again.disk(), owner(boot), &intent, "then".to_owned())
    };
    begin("old boot").expect("nothing is in the way").keep();
    begin("boot").expect("the kernel forgot what the old boot switched").keep();
    let error = begin("boot").expect_err("the journal is there").to_string();
    assert!(error.contains("thp-system=never was left switched then; sidestep toggles revert"), "{error}");
    assert!(matches!(
        revert_on(&mut bench.writer(), &mut bench.disk(), "new boot", Revert::default()),
        Ok(Reverted::Void(_))
    ));
    bench.disk().write(JOURNAL_NAME, b"sidestep journal 1 half").expect("writable");
    let error = begin("boot").expect_err("it is no journal").to_string();
    assert!(error.contains("damaged") && error.contains("sets it aside"), "{error}");
    for _ in 0..2 {
        let refused = bench.revert(Revert { force: true, forget: false });
        assert!(matches!(refused, Reverted::Refused(_)) && refused.is_left_changed(), "it hides nothing");
    }
    let how = Revert { force: false, forget: true };
    let Reverted::SetAside(name, _) = bench.revert(how) else { panic!("it is no journal") };
    assert_eq!(bench.disk().read(&name).expect("readable").as_deref(), Some(&b"sidestep journal 1 half"[..]));
    bench.disk().write("journal.json.new", b"half of one that a kill ended").expect("writable");
    begin("boot").expect("nothing is in the way").end();
    assert_eq!(bench.disk().read("journal.json.new").expect("readable"), None);
}

#[test]
fn a_write_that_the_machine_does_not_take_is_put_back() {
    struct Deaf(MachineWriter);
    impl SystemWriter for Deaf {
        fn read(&mut self, target: &Target) -> Result<String, SystemWriterError> {
            self.0.read(target)
        }
        fn write(&mut self, target: &Target, value: &str) -> Result<(), SystemWriterError> {
            if *target == register() { Ok(()) } else { self.0.write(target, value) }
        }
        fn bindings(&mut self) -> Result<Bindings, SystemWriterError> {
            self.0.bindings()
        }
        fn threads(&mut self, processes: &[ProcessId]) -> Result<Vec<Followed>, SystemWriterError> {
            self.0.threads(processes)
        }
    }
    let bench = Bench::new();
    let error = run(Deaf(bench.writer()), bench.disk()).expect_err("the register keeps its bit").to_string();
    assert!(error.contains("shows 0x8 after 0x0 was written"), "{error}");
    assert!(bench.is_as_before() && !bench.has_journal());
}

/// What happened, in order.
#[derive(Debug, Clone)]
enum Event {
    Write(String, Vec<u8>),
    Sync(String),
    Rename(String, String),
    Remove(String),
    SyncNames,
    Changed(Target),
    Unchanged(Target),
}

#[derive(Clone, Default)]
struct Trace(Rc<RefCell<Vec<Event>>>);

/// A disk in memory that writes down what is asked of it.
struct TracedDisk(Trace, BTreeMap<String, Vec<u8>>);

impl Disk for TracedDisk {
    fn read(&mut self, name: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(self.1.get(name).cloned())
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.0.0.borrow_mut().push(Event::Write(name.to_owned(), bytes.to_vec()));
        self.1.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        self.0.0.borrow_mut().push(Event::Sync(name.to_owned()));
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.0.0.borrow_mut().push(Event::Rename(from.to_owned(), to.to_owned()));
        let bytes = self.1.remove(from).ok_or(io::ErrorKind::NotFound)?;
        self.1.insert(to.to_owned(), bytes);
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.0.0.borrow_mut().push(Event::Remove(name.to_owned()));
        self.1.remove(name).map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_names(&mut self) -> io::Result<()> {
        self.0.0.borrow_mut().push(Event::SyncNames);
        Ok(())
    }
}

struct TracedWriter(MachineWriter, Trace, BTreeMap<String, String>);

impl SystemWriter for TracedWriter {
    fn read(&mut self, target: &Target) -> Result<String, SystemWriterError> {
        let value = self.0.read(target)?;
        self.2.entry(target.to_string()).or_insert_with(|| value.clone());
        Ok(value)
    }

    fn write(&mut self, target: &Target, value: &str) -> Result<(), SystemWriterError> {
        let is_old = self.2.get(&target.to_string()).is_some_and(|old| old == value);
        let event = if is_old { Event::Unchanged(target.clone()) } else { Event::Changed(target.clone()) };
        // A write may have happened before it is known to have.
        self.1.0.borrow_mut().push(event);
        self.0.write(target, value)
    }

    fn bindings(&mut self) -> Result<Bindings, SystemWriterError> {
        self.0.bindings()
    }

    fn threads(&mut self, processes: &[ProcessId]) -> Result<Vec<Followed>, SystemWriterError> {
        self.0.threads(processes)
    }
}

/// All states in which a power cut after these events may leave the file of the journal.
fn journals_after_power_cut(events: &[Event]) -> Vec<Option<Vec<u8>>> {
    let mut contents: Vec<(Vec<u8>, bool)> = Vec::new();
    let mut names: Vec<BTreeMap<String, usize>> = vec![BTreeMap::new()];
    let mut now: BTreeMap<String, usize> = BTreeMap::new();
    for event in events {
        match event {
            Event::Write(name, bytes) => {
                contents.push((bytes.clone(), false));
                now.insert(name.clone(), contents.len() - 1);
            }
            Event::Sync(name) => contents[now[name]].1 = true,
            Event::Rename(from, to) => {
                let file = now.remove(from).expect("it was written");
                now.insert(to.clone(), file);
            }
            Event::Remove(name) => {
                now.remove(name);
            }
            Event::SyncNames => names.clear(),
            Event::Changed(_) | Event::Unchanged(_) => continue,
        }
        // Since the last sync of the names, any state of them may be the one that survives.
        names.push(now.clone());
    }
    let mut found = Vec::new();
    for names in names {
        match names.get(JOURNAL_NAME) {
            None => found.push(None),
            Some(&file) => {
                let (bytes, is_synced) = &contents[file];
                found.push(Some(bytes.clone()));
                if !is_synced {
                    found.push(Some(bytes[..bytes.len() / 2].to_vec()));
                    found.push(Some(Vec::new()));
                }
            }
        }
    }
    found
}

#[test]
fn a_power_cut_after_any_step_never_loses_the_journal_of_a_write_that_happened() {
    let bench = Bench::new();
    let trace = Trace::default();
    let writer = TracedWriter(bench.writer(), trace.clone(), BTreeMap::new());
    run(writer, TracedDisk(trace.clone(), BTreeMap::new())).expect("nothing failed");
    let events = trace.0.borrow().clone();
    assert!(events.len() > 15, "{} events", events.len());
    let mut cuts_with_changes = 0;
    for cut in 0..=events.len() {
        let mut changed: Vec<Target> = Vec::new();
        for event in &events[..cut] {
            match event {
                Event::Changed(target) if !changed.contains(target) => changed.push(target.clone()),
                Event::Unchanged(target) => changed.retain(|have| have != target),
                _ => {}
            }
        }
        cuts_with_changes += usize::from(!changed.is_empty());
        for survivor in journals_after_power_cut(&events[..cut]) {
            let journal: Option<Journal> =
                survivor.map(|bytes| decode(&bytes).expect("never a half journal"));
            let covered = |target: &Target| {
                journal.as_ref().is_some_and(|have| have.entries.iter().any(|entry| entry.target == *target))
            };
            assert!(changed.iter().all(covered), "cut after {cut} of {events:?}");
        }
    }
    assert!(cuts_with_changes >= 9, "{cuts_with_changes}");
}

#[test]
fn the_power_cut_model_notices_a_journal_that_was_not_synced() {
    let write = Event::Write("new".to_owned(), b"journal".to_vec());
    let rename = Event::Rename("new".to_owned(), JOURNAL_NAME.to_owned());
    let lost = journals_after_power_cut(&[write.clone(), rename.clone()]);
    assert!(lost.contains(&None) && lost.contains(&Some(Vec::new())));
    let sync = Event::Sync("new".to_owned());
    assert!(journals_after_power_cut(&[write.clone(), sync.clone(), rename.clone()]).contains(&None));
    let safe = journals_after_power_cut(&[write, sync, rename, Event::SyncNames]);
    assert_eq!(safe, [Some(b"journal".to_vec())]);
}

#[test]
fn a_panic_in_the_middle_puts_the_machine_back() {
    let bench = Bench::new();
    let (writer, disk) = (bench.writer(), bench.disk());
    let panicked = std::panic::catch_unwind(AssertUnwindSafe(move || {
        let b = changes(["never", "0", "0x0"]);
        let intent = Intent { label: "test", states: &[&b], kept: false };
        let begun = Experiment::begin(writer, disk, owner("boot"), &intent, "now".to_owned());
        let mut experiment = begun.expect("nothing is in the way");
        experiment.switch(&b).expect("writable");
        std::panic::resume_unwind(Box::new("in the middle"));
    }));
    assert!(panicked.is_err());
    assert!(bench.is_as_before() && !bench.has_journal());
}
