//! A machine that boots: its boot and command line, a subject whose truth is known, and what was acknowledged.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Write;

use experiments::ab::across_reboot::condition::Conditions;
use experiments::ab::across_reboot::facts::BootFacts;
use experiments::ab::across_reboot::journal::{Fate, Journal, Phase, Work};
use experiments::ab::across_reboot::plan::{Plan, order};
use experiments::ab::across_reboot::visit::{
    self, Intent, Measured, Standing, StoredState, VisitError, enter, find, measure, set_up,
};
use experiments::ab::{GuardSpec, RowSpec, Subject, Trial};
use host::Disk;
use record::Better;
use stats::{Arm, Cell, Factors, Random};

use crate::disk::MemoryDisk;

/// The command lines of A and B, and one of neither.
pub(crate) const LINES: [&str; 3] = ["quiet", "quiet nosmt", "quiet nosmt=force"];

/// Trials in each boot.
pub(crate) const TRIALS: usize = 3;

/// What is planted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Truth {
    /// Log ratio of B to A of the first row; the second is a control.
    pub(crate) shift: f64,
    /// Deviation of boots, on the log scale.
    pub(crate) between: f64,
    /// Deviation of trials within a boot.
    pub(crate) within: f64,
    /// What each boot takes longer than the one before.
    pub(crate) drift: f64,
}

/// Values of one boot.
pub(crate) struct FakeSubject {
    random: Random,
    level: f64,
    control: f64,
    within: f64,
    /// A signal comes after so many trials.
    pub(crate) stops_after: usize,
    taken: usize,
}

impl FakeSubject {
    /// The subject in the boot with this number.
    pub(crate) fn new(truth: &Truth, number: u64, arm: Arm, seed: u64) -> Self {
        let mut random = Random::for_stream(seed, number);
        let own = truth.between * random.normal() + truth.drift * number as f64;
        let shift = if arm == Arm::B { truth.shift } else { 0.0 };
        Self {
            level: own + shift,
            control: own / 10.0,
            within: truth.within,
            random,
            stops_after: usize::MAX,
            taken: 0,
        }
    }
}

impl Subject for FakeSubject {
    type Error = Infallible;

    fn rows(&self) -> Vec<RowSpec> {
        let row = |name: &str, control| RowSpec {
            name: name.to_owned(),
            group: if control { "control" } else { "probe" }.to_owned(),
            unit: "ns".to_owned(),
            better: Better::Lower,
            moved_by: if control { Factors::NONE } else { Factors::ALL },
            zero: "",
        };
        vec![row("system-call", false), row("multiply-chain", true)]
    }

    fn guards(&self) -> Vec<GuardSpec> {
        vec![GuardSpec { name: "steal", tolerance: 1.0 }]
    }

    fn trial(&mut self, _state: Cell) -> Result<Trial, Infallible> {
        self.taken += 1;
        let mut value = |level: f64| (100.0_f64.ln() + level + self.within * self.random.normal()).exp();
        Ok(Trial { values: vec![value(self.level), value(self.control)], guards: vec![0.0], failure: None })
    }

    fn elapsed_s(&self) -> f64 {
        self.taken as f64
    }

    fn must_stop(&self) -> bool {
        self.taken >= self.stops_after
    }
}

/// Acknowledged trials by boot: what must never be lost.
#[derive(Debug, Clone, Default)]
pub(crate) struct Acknowledged(pub(crate) BTreeMap<String, usize>);

struct Acknowledging<'a> {
    boot_id: String,
    all: &'a mut Acknowledged,
}

impl Standing for Acknowledging<'_> {
    fn trials(&mut self, done: usize, _needed: usize) {
        self.all.0.insert(self.boot_id.clone(), done);
    }
}

/// The machine.
pub(crate) struct World {
    /// Its disk.
    pub(crate) disk: MemoryDisk,
    /// Boots so far; the last one runs.
    pub(crate) boots: Vec<usize>,
    /// What was acknowledged.
    pub(crate) acknowledged: Acknowledged,
    truth: Truth,
    seed: u64,
}

impl World {
    /// A machine in its first boot, of arm A.
    pub(crate) fn new(truth: Truth, seed: u64) -> Self {
        let acknowledged = Acknowledged::default();
        Self { disk: MemoryDisk::default(), boots: vec![0], acknowledged, truth, seed }
    }

    /// The facts of the running boot.
    pub(crate) fn boot(&self) -> BootFacts {
        let (number, line) = (self.boots.len(), self.boots[self.boots.len() - 1]);
        BootFacts {
            boot_id: format!("boot {number}"),
            command_line: LINES[line].to_owned(),
            cpu: "one".to_owned(),
            uptime_s: Some(100.0),
            facts: BTreeMap::new(),
        }
    }

    /// The arm of the running boot, as it is.
    fn arm(&self) -> Arm {
        if self.boots[self.boots.len() - 1] == 1 { Arm::B } else { Arm::A }
    }

    fn subject(&self, stops_after: usize) -> FakeSubject {
        let number = self.boots.len() as u64;
        FakeSubject { stops_after, ..FakeSubject::new(&self.truth, number, self.arm(), self.seed) }
    }

    /// Boots with one of the command lines.
    pub(crate) fn reboot(&mut self, line: usize) {
        self.boots.push(line);
        self.disk.steps_left = None;
    }

    /// Sets an experiment up.
    pub(crate) fn begin(&mut self, boots: usize) -> Result<Journal, VisitError<Infallible>> {
        let plan = Plan {
            seed: self.seed,
            order: order(boots, self.seed),
            trials: TRIALS,
            margin: 0.01,
            settle_s: 0.0,
        };
        let intent = Intent {
            conditions: Conditions::parse(["", "nosmt"]).expect("arms"),
            plan,
            work: Work::default(),
            boot: self.boot(),
            now_utc: "now".to_owned(),
            tool_version: "1".to_owned(),
        };
        let mut subject = self.subject(usize::MAX);
        let mut nobody = Acknowledging { boot_id: "set-up".to_owned(), all: &mut Acknowledged::default() };
        set_up(&mut self.disk, intent, &mut subject, &mut nobody)
    }

    /// One `resume`, which a signal may end after some trials; a text that says what came of it.
    pub(crate) fn resume(&mut self, stops_after: usize) -> String {
        let boot = self.boot();
        let mut subject = self.subject(stops_after);
        let mut journal = match find(&mut self.disk) {
            Ok(StoredState::Journal(journal)) => journal,
            Ok(StoredState::Nothing) => return "nothing".to_owned(),
            Ok(StoredState::Damaged(damaged)) => return damaged.to_string(),
            Err(error) => return error.to_string(),
        };
        let index = match enter(&mut self.disk, &mut journal, &boot, "now") {
            Ok(Ok(index)) => index,
            Ok(Err(refusal)) => return refusal.to_string(),
            Err(error) => return error.to_string(),
        };
        let mut standing = Acknowledging { boot_id: boot.boot_id, all: &mut self.acknowledged };
        match measure(&mut self.disk, &mut journal, index, &mut subject, &mut standing) {
            Ok(Measured::Boot) => "boot".to_owned(),
            Ok(Measured::Last) => "last".to_owned(),
            Ok(Measured::Interrupted) => "interrupted".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    /// The journal, if it is one.
    pub(crate) fn journal(&mut self) -> Option<Journal> {
        match find(&mut self.disk) {
            Ok(StoredState::Journal(journal)) => Some(*journal),
            _ => None,
        }
    }

    /// Gives the experiment up.
    pub(crate) fn abandon(&mut self) -> std::io::Result<visit::GivenUp> {
        visit::abandon(&mut self.disk)
    }

    /// Boots as the journal asks until it is over.
    pub(crate) fn finish(&mut self) -> Journal {
        for _ in 0..200 {
            let journal = self.journal().expect("a journal");
            let Some((_, arm)) = journal.due() else { return journal };
            if self.resume(usize::MAX) != "boot" {
                self.reboot(usize::from(arm == Arm::B));
            }
        }
        panic!("200 boots did not finish it");
    }

    /// What must hold at any time; a text that says what does not.
    pub(crate) fn broken(&mut self) -> String {
        let mut text = String::new();
        let kept: Vec<Journal> =
            self.disk.files().filter_map(|(_, bytes)| Journal::of_bytes(bytes).ok()).collect();
        for (boot_id, done) in &self.acknowledged.0 {
            let found = kept
                .iter()
                .flat_map(|journal| &journal.visits)
                .filter(|visit| visit.boot.boot_id == *boot_id);
            let trials = found.map(|visit| visit.trials.len()).max().unwrap_or(0);
            if trials < *done {
                let _ = writeln!(text, "{boot_id}: {done} trials were stored and {trials} are left");
            }
        }
        for journal in kept {
            text += &contradictions(&journal, &self.boots);
        }
        text
    }
}

/// What one journal says that cannot be.
fn contradictions(journal: &Journal, boots: &[usize]) -> String {
    let mut text = String::new();
    let mut seen = std::collections::BTreeSet::new();
    let mut last_place = None;
    for visit in &journal.visits {
        if !seen.insert(&visit.boot.boot_id) {
            let _ = writeln!(text, "{} stands twice", visit.boot.boot_id);
        }
        if !matches!(visit.fate, Fate::Counted | Fate::Failed(_)) {
            continue;
        }
        let number: usize = visit.boot.boot_id.trim_start_matches("boot ").parse().expect("a number");
        let line = boots[number - 1];
        if line != usize::from(visit.arm == Arm::B) || journal.plan.order[visit.place] != visit.arm {
            let _ = writeln!(text, "boot {number} with line {line} counts as {:?}", visit.arm);
        }
        if last_place.is_some_and(|last| last >= visit.place) {
            let _ = writeln!(text, "place {} is filled out of order or twice", visit.place);
        }
        last_place = Some(visit.place);
        if visit.trials.len() != TRIALS {
            let _ = writeln!(text, "boot {number} counts with {} trials", visit.trials.len());
        }
    }
    let open = journal.visits.iter().rev().skip(1).filter(|visit| visit.fate == Fate::Measuring).count();
    if open > 0 {
        let _ = writeln!(text, "{open} boots that are over are still being measured");
    }
    if (journal.phase == Phase::Finished) != journal.due().is_none() {
        let _ = writeln!(text, "{:?} with {:?} due", journal.phase, journal.due());
    }
    text
}

/// Reads a file of a disk that is never killed.
pub(crate) fn bytes_of(disk: &mut MemoryDisk, name: &str) -> Option<Vec<u8>> {
    disk.read(name).expect("nobody kills it")
}
