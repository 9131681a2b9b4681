//! All that an experiment across reboots knows, and the only ways in which that may grow.
//!
//! The journal is the state: nothing is remembered elsewhere, so a machine that loses power at any moment goes on from
//! what was stored last. Transitions are pure; [`super::visit`] stores the journal after each.
//!
//! ```text
//!            set up            enter                 last trial, boots left
//! (nothing) ───────> Running ────────> a visit ─────────────────────────────> Running
//!                       │               │  └ its boot ends first: cut short, its place in the order stays open
//!                       │               └ last trial of the last boot ──> Finished
//!                       └ abandon ──> Abandoned (everything measured is kept)
//! ```
//!
//! A boot in the other arm is never taken for that arm: the order would then be the user's choice or mistake, and the
//! random order is what keeps drift, and hopes, out of the difference. It costs one more boot.

use host::{Damaged, SealedFile};
use serde::{Deserialize, Serialize};
use stats::Arm;

use super::condition::Conditions;
use super::facts::BootFacts;
use super::plan::Plan;
use crate::ab::subject::{KeptRow, RowSpec, Trial};

/// What the journal is sealed as, in the state folder.
pub const SEALED: SealedFile =
    SealedFile { name: "reboots.json", magic: "sidestep reboots 2", may_be_lost_by_power_cut: false };
/// A boot in which more than this share of the trials failed has no value.
const FAILED_SHARE_MAX: f64 = 0.5;

/// An experiment across reboots.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    /// When it was set up, RFC 3339.
    pub begun_utc: String,
    /// Which sidestep set it up.
    pub tool_version: String,
    /// What is compared.
    pub conditions: Conditions,
    /// How.
    pub plan: Plan,
    /// What is measured in each boot.
    pub work: Work,
    /// What each trial measures, in the order of its values.
    pub rows: Vec<KeptRow>,
    /// What is watched beside the trials, in the order of their readings.
    pub guards: Vec<JournalGuard>,
    /// The boot in which it was set up: a warm-up that counts for nothing.
    pub set_up: SetUp,
    /// All boots that were seen since, in order.
    pub visits: Vec<Visit>,
    /// How far it is.
    pub phase: Phase,
}

/// What is measured in each boot, in the words of the command line.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// The program and its arguments; empty for probes.
    pub command: Vec<String>,
    /// Where it runs.
    pub directory: String,
    /// A number in its output.
    pub metric: Option<String>,
    /// True if more of that is better.
    pub higher_is_better: bool,
    /// Run before each trial.
    pub prepare: Option<String>,
    /// Run after each trial.
    pub cleanup: Option<String>,
    /// A trial that takes longer has failed.
    pub timeout_s: Option<f64>,
    /// Trials that end with another code than 0 count.
    pub ignore_failure: bool,
    /// The CPU.
    pub cpu: Option<u32>,
}

/// One thing watched beside the trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalGuard {
    /// What moved.
    pub name: String,
    /// Distances from the median up to this are never a reason to drop a trial.
    pub tolerance: f64,
}

/// The boot in which the experiment was set up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetUp {
    /// That boot.
    pub boot: BootFacts,
    /// What was measured in it.
    pub trials: Vec<BootTrial>,
    /// How long that took.
    pub elapsed_s: f64,
}

/// One trial.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootTrial {
    /// One value per row; `None` where there is none.
    pub values: Vec<Option<f64>>,
    /// One reading per guard; `None` where there is none.
    pub guards: Vec<Option<f64>>,
    /// How it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// One boot that was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Visit {
    /// The boot.
    pub boot: BootFacts,
    /// Its place in the order.
    pub place: usize,
    /// The arm of that place.
    pub arm: Arm,
    /// When it was first seen, RFC 3339.
    pub seen_utc: String,
    /// True if the machine settled before the first trial; `None` if nothing was measured.
    pub settled: Option<bool>,
    /// All that was measured in it.
    pub trials: Vec<BootTrial>,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It is being measured, or was when the machine or the program went down.
    Measuring,
    /// All its trials are taken.
    Counted,
    /// All its trials are taken, and too many failed: it fills its place and has no value.
    Failed(String),
    /// The boot ended before its last trial: kept, not counted.
    CutShort,
    /// It was not of the arm that was due: not measured.
    NotOfArm(String),
}

/// How far an experiment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Boots are left.
    Running,
    /// All boots are measured.
    Finished,
    /// The user gave it up.
    Abandoned,
}

/// Why a boot is not measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// All boots are measured.
    #[error("all boots are measured; sidestep ab --status shows the result")]
    Finished,
    /// The user gave it up.
    #[error("the experiment was abandoned; begin another with sidestep ab --across-reboot")]
    Abandoned,
    /// One boot cannot be distinguished from another.
    #[error("the kernel does not show the boot's name (boot_id), so no boot could be told from another")]
    NoBootId,
    /// The boot of the set-up.
    #[error("this is the boot in which the experiment was set up, which does not count; {0}, and reboot")]
    SetUpBoot(String),
    /// A boot counts once.
    #[error("this boot is measured already, and a boot counts once; {0}, and reboot")]
    MeasuredAlready(String),
    /// The journal came from elsewhere, or the CPU was changed.
    #[error("the experiment was set up on another CPU ({before}, here {now}); it cannot go on here")]
    OtherMachine {
        /// The CPU of the set-up.
        before: String,
        /// The CPU here.
        now: String,
    },
    /// The command line says another thing.
    #[error("this boot is not {name}, which is due: {why}; it does not count; {what}, and reboot")]
    NotOfArm {
        /// What is due.
        name: String,
        /// How it departs.
        why: String,
        /// What makes a boot of it.
        what: String,
    },
}

impl Refusal {
    /// True if nothing is wrong with this boot: a unit that meets it has nothing to do.
    pub fn is_no_mistake(&self) -> bool {
        matches!(self, Self::Finished | Self::Abandoned | Self::SetUpBoot(_) | Self::MeasuredAlready(_))
    }
}

impl Journal {
    /// The place in the order that is to be filled next, and its arm; `None` once all are filled.
    pub fn due(&self) -> Option<(usize, Arm)> {
        let filled = |place: &usize| {
            self.visits
                .iter()
                .any(|visit| visit.place == *place && matches!(visit.fate, Fate::Counted | Fate::Failed(_)))
        };
        let place = (0..self.plan.boots()).find(|place| !filled(place))?;
        Some((place, self.plan.order[place]))
    }

    /// Places that are filled.
    pub fn filled(&self) -> usize {
        self.due().map_or(self.plan.boots(), |(place, _)| place)
    }

    /// True if a boot was begun and lacks trials: it can be gone on with.
    pub fn is_measuring(&self, boot_id: &str) -> bool {
        self.visits.iter().any(|visit| visit.fate == Fate::Measuring && visit.boot.boot_id == boot_id)
    }

    /// Decides whether this boot may be measured, and notes that it was seen.
    ///
    /// # Errors
    /// Why it is not measured; the journal may have grown by a note of that.
    pub fn enter(&mut self, boot: &BootFacts, now_utc: &str) -> Result<usize, Refusal> {
        match self.phase {
            Phase::Running => {}
            Phase::Finished => return Err(Refusal::Finished),
            Phase::Abandoned => return Err(Refusal::Abandoned),
        }
        let Some((place, arm)) = self.due() else { return Err(Refusal::Finished) };
        if boot.boot_id.is_empty() {
            return Err(Refusal::NoBootId);
        }
        if boot.boot_id == self.set_up.boot.boot_id {
            return Err(Refusal::SetUpBoot(self.what_to_do(arm, &boot.command_line)));
        }
        if boot.cpu != self.set_up.boot.cpu {
            return Err(Refusal::OtherMachine {
                before: self.set_up.boot.cpu.clone(),
                now: boot.cpu.clone(),
            });
        }
        let seen = self.visits.iter().position(|visit| visit.boot.boot_id == boot.boot_id);
        match seen.map(|index| (index, &self.visits[index].fate)) {
            // Nothing was counted yet, and every trial that was taken is still there.
            Some((index, Fate::Measuring)) => return Ok(index),
            Some((_, Fate::Counted | Fate::Failed(_) | Fate::CutShort)) => {
                return Err(Refusal::MeasuredAlready(self.what_to_do(arm, &boot.command_line)));
            }
            // Another arm may be due by now.
            Some((_, Fate::NotOfArm(_))) | None => {}
        }
        for visit in self.visits.iter_mut().filter(|visit| visit.fate == Fate::Measuring) {
            visit.fate = Fate::CutShort;
        }
        let required = self.conditions.of(arm);
        let departure = required.departure(&boot.command_line);
        let why = format!("its command line {departure}");
        let judged = if departure.is_none() {
            Ok(())
        } else {
            let what = self.what_to_do(arm, &boot.command_line);
            Err(Refusal::NotOfArm { name: required.name(), why: why.clone(), what })
        };
        let fate = if judged.is_ok() { Fate::Measuring } else { Fate::NotOfArm(why) };
        let visit = Visit {
            boot: boot.clone(),
            place,
            arm,
            seen_utc: now_utc.to_owned(),
            settled: None,
            trials: Vec::new(),
            fate,
        };
        if let Some(index) = seen {
            // It holds no trial.
            self.visits.remove(index);
        }
        self.visits.push(visit);
        judged.map(|()| self.visits.len() - 1)
    }

    /// What makes the next boot one of an arm, seen from a command line: half a sentence.
    pub fn what_to_do(&self, arm: Arm, command_line: &str) -> String {
        self.conditions.of(arm).departure(command_line).what_to_do()
    }

    /// Adds one trial to a visit, and closes it with the last.
    pub fn append(&mut self, index: usize, trial: BootTrial) {
        let required = self.plan.trials;
        let visit = &mut self.visits[index];
        assert!(visit.fate == Fate::Measuring, "a boot that is closed takes no trial");
        visit.trials.push(trial);
        if visit.trials.len() >= required {
            let failed: Vec<&String> =
                visit.trials.iter().filter_map(|trial| trial.failure.as_ref()).collect();
            visit.fate = match failed.first() {
                Some(example) if failed.len() as f64 > FAILED_SHARE_MAX * required as f64 => {
                    Fate::Failed(format!("{} of {required} trials failed: {example}", failed.len()))
                }
                _ => Fate::Counted,
            };
            if self.due().is_none() {
                self.phase = Phase::Finished;
            }
        }
    }

    /// Gives the experiment up; all that was measured stays.
    pub fn abandon(&mut self) {
        if self.phase == Phase::Running {
            self.phase = Phase::Abandoned;
        }
    }

    /// The boots that count, in order.
    pub fn counted(&self) -> impl Iterator<Item = &Visit> {
        self.visits.iter().filter(|visit| visit.fate == Fate::Counted)
    }

    /// The text that is sealed.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("strings, finite numbers and lists always encode")
    }

    /// The journal in sealed bytes.
    ///
    /// # Errors
    /// `Damaged`, also if it contradicts itself.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, Damaged> {
        let found: Self = serde_json::from_str(SEALED.unseal(bytes)?)
            .map_err(|error| Damaged::new(&format!("unknown contents: {error}")))?;
        let is_sound = found.visits.iter().all(|visit| visit.place < found.plan.boots());
        if is_sound { Ok(found) } else { Err(Damaged::new("a boot has no place in the order")) }
    }
}

/// `a` or `b`.
pub fn letter(arm: Arm) -> &'static str {
    match arm {
        Arm::A => "a",
        Arm::B => "b",
    }
}

/// A trial of `rows`, which a subject of today may have in another order, or not at all.
pub fn boot_trial(rows: &[KeptRow], specs: &[RowSpec], trial: &Trial) -> BootTrial {
    let finite = |value: &f64| Some(*value).filter(|value| value.is_finite());
    let value = |row: &KeptRow| {
        let index = specs.iter().position(|spec| spec.name == row.name && spec.unit == row.unit)?;
        trial.values.get(index).and_then(finite)
    };
    BootTrial {
        values: rows.iter().map(value).collect(),
        guards: trial.guards.iter().map(finite).collect(),
        failure: trial.failure.clone(),
    }
}
