//! Setting an experiment up, and measuring one boot: each step is in the journal before the next begins.
//!
//! A machine that has just booted is not measured before it is quiet: services start late, and every boot should be measured at about
//! the same age.

use std::io;

use host::{Damaged, Disk};
use stats::Cell;

use super::condition::Conditions;
use super::facts::BootFacts;
use super::journal::{BootTrial, Journal, JournalGuard, Phase, Refusal, SEALED, SetUp, Work, boot_trial};
use super::plan::Plan;
use crate::ab::subject::{KeptRow, RowSpec, Subject};

/// What lies in the state folder.
#[derive(Debug, Clone, PartialEq)]
pub enum StoredState {
    /// Nothing.
    Nothing,
    /// An experiment, running or over.
    Journal(Box<Journal>),
    /// Something that is no journal.
    Damaged(Damaged),
}

/// Why nothing more was done.
#[derive(Debug, thiserror::Error)]
pub enum VisitError<E> {
    /// The subject cannot go on.
    #[error(transparent)]
    Subject(E),
    /// The journal cannot be read or written. What it held before, it holds still.
    #[error("cannot keep the journal: {0}; what was stored before is still there")]
    Journal(#[from] io::Error),
    /// One experiment at a time.
    #[error(
        "an experiment across reboots is under way since {begun_utc} ({filled} of {boots} boots); see sidestep ab --status, \
         or give it up with sidestep ab --abandon"
    )]
    UnderWay {
        /// When it was set up.
        begun_utc: String,
        /// Boots done.
        filled: usize,
        /// Boots planned.
        boots: usize,
    },
    /// Something else lies there.
    #[error("{0}; sidestep ab --abandon sets it aside")]
    Damaged(#[from] Damaged),
    /// The program fails in this boot already.
    #[error("the warm-up in this boot failed, so no boot would show anything: {0}")]
    Warmup(String),
    /// A signal.
    #[error("ended by a signal before the first boot; nothing was set up")]
    Interrupted,
    /// Rows that the experiment was begun with are not measured any more.
    #[error("this boot cannot measure {0}, with which the experiment was begun; it stays open")]
    RowMissing(String),
}

/// How far a boot was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measured {
    /// All trials of this boot are taken.
    Boot,
    /// And it was the last boot.
    Last,
    /// A signal ended it; the trials taken are kept, and the next resume in this boot goes on.
    Interrupted,
}

/// Who gets to know how far it is.
pub trait Standing {
    /// Trials taken in this boot.
    fn trials(&mut self, done: usize, required: usize);
}

/// Reads what lies there.
///
/// # Errors
/// What the disk said.
pub fn find(disk: &mut impl Disk) -> io::Result<StoredState> {
    Ok(match SEALED.load(disk)?.map(|bytes| Journal::of_bytes(&bytes)) {
        None => StoredState::Nothing,
        Some(Ok(journal)) => StoredState::Journal(Box::new(journal)),
        Some(Err(damaged)) => StoredState::Damaged(damaged),
    })
}

/// Stores a journal so that no power cut loses it.
///
/// # Errors
/// What the disk said.
pub fn store(disk: &mut impl Disk, journal: &Journal) -> io::Result<()> {
    SEALED.store(disk, &journal.to_text())
}

/// What giving an experiment up came to.
#[derive(Debug, Clone, PartialEq)]
pub enum GivenUp {
    /// There was none.
    Nothing,
    /// It is over; all that was measured stays in the journal.
    Kept(Box<Journal>),
    /// What lay there was no journal and is kept under this name.
    SetAside(String, Damaged),
}

/// Gives the experiment up, and keeps whatever lies there.
///
/// # Errors
/// What the disk said.
pub fn abandon(disk: &mut impl Disk) -> io::Result<GivenUp> {
    SEALED.clear_unfinished(disk)?;
    Ok(match find(disk)? {
        StoredState::Nothing => GivenUp::Nothing,
        StoredState::Journal(mut journal) => {
            journal.abandon();
            store(disk, &journal)?;
            GivenUp::Kept(journal)
        }
        StoredState::Damaged(damaged) => GivenUp::SetAside(SEALED.set_aside(disk, "damaged")?, damaged),
    })
}

/// What an experiment is set up from.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    /// What is compared.
    pub conditions: Conditions,
    /// How.
    pub plan: Plan,
    /// What is measured.
    pub work: Work,
    /// This boot.
    pub boot: BootFacts,
    /// Now, RFC 3339.
    pub now_utc: String,
    /// Which sidestep.
    pub tool_version: String,
}

/// True if an experiment may be set up here; one that is over is set aside by [`set_up`].
///
/// # Errors
/// `UnderWay`, `Damaged`, or what the disk said.
pub fn may_begin<E>(disk: &mut impl Disk) -> Result<(), VisitError<E>> {
    match find(disk)? {
        StoredState::Damaged(damaged) => Err(damaged.into()),
        StoredState::Journal(journal) if journal.phase == Phase::Running => Err(VisitError::UnderWay {
            begun_utc: journal.begun_utc.clone(),
            filled: journal.filled(),
            boots: journal.plan.boots(),
        }),
        StoredState::Journal(_) | StoredState::Nothing => Ok(()),
    }
}

/// Warms up in this boot, which counts for nothing, and stores the journal. Until then nothing is written.
///
/// # Errors
/// An experiment that is under way, a warm-up that failed, a signal, or what disk or subject said.
pub fn set_up<S: Subject>(
    disk: &mut impl Disk,
    intent: Intent,
    subject: &mut S,
    standing: &mut dyn Standing,
) -> Result<Journal, VisitError<S::Error>> {
    SEALED.clear_unfinished(disk)?;
    may_begin(disk)?;
    let specs = subject.rows();
    let rows: Vec<KeptRow> = specs.iter().map(KeptRow::from).collect();
    let begun_s = subject.elapsed_s();
    let mut trials = Vec::new();
    for done in 1..=intent.plan.trials {
        let Some(trial) = one_trial(subject, &rows, &specs)? else { return Err(VisitError::Interrupted) };
        if let (1, Some(failure)) = (done, &trial.failure) {
            return Err(VisitError::Warmup(failure.clone()));
        }
        trials.push(trial);
        standing.trials(done, intent.plan.trials);
    }
    let guards = subject.guards();
    let guard = |name: &str, tolerance| JournalGuard { name: name.to_owned(), tolerance };
    let journal = Journal {
        begun_utc: intent.now_utc,
        tool_version: intent.tool_version,
        conditions: intent.conditions,
        plan: intent.plan,
        work: intent.work,
        rows,
        guards: guards.iter().map(|spec| guard(spec.name, spec.tolerance)).collect(),
        set_up: SetUp { boot: intent.boot, trials, elapsed_s: subject.elapsed_s() - begun_s },
        visits: Vec::new(),
        phase: Phase::Running,
    };
    // One that is over makes room, and keeps all it holds.
    if matches!(find(disk)?, StoredState::Journal(_)) {
        SEALED.set_aside(disk, "over")?;
    }
    store(disk, &journal)?;
    Ok(journal)
}

/// `None` after a signal: a trial that it hit is thrown away.
fn one_trial<S: Subject>(
    subject: &mut S,
    rows: &[KeptRow],
    specs: &[RowSpec],
) -> Result<Option<BootTrial>, VisitError<S::Error>> {
    if subject.must_stop() {
        return Ok(None);
    }
    // Which state is asked for does not matter: this boot is one, and nothing is switched.
    let trial = subject.trial(Cell::BASELINE).map_err(VisitError::Subject)?;
    Ok((!subject.must_stop()).then(|| boot_trial(rows, specs, &trial)))
}

/// Whether this boot may be measured; the journal is stored with what was decided.
///
/// # Errors
/// What the disk said; the refusal is a value.
pub fn enter(
    disk: &mut impl Disk,
    journal: &mut Journal,
    boot: &BootFacts,
    now_utc: &str,
) -> io::Result<Result<usize, Refusal>> {
    SEALED.clear_unfinished(disk)?;
    let before = journal.clone();
    let decided = journal.enter(boot, now_utc);
    if *journal != before {
        store(disk, journal)?;
    }
    Ok(decided)
}

/// Takes the trials that a boot still lacks; each is stored before the next begins.
///
/// # Errors
/// What disk or subject said; the trials stored before stay, and the boot stays open.
pub fn measure<S: Subject>(
    disk: &mut impl Disk,
    journal: &mut Journal,
    index: usize,
    subject: &mut S,
    standing: &mut dyn Standing,
) -> Result<Measured, VisitError<S::Error>> {
    let specs = subject.rows();
    let has = |row: &&KeptRow| specs.iter().any(|spec| spec.name == row.name && spec.unit == row.unit);
    if let Some(row) = journal.rows.iter().find(|row| !has(row)) {
        return Err(VisitError::RowMissing(row.name.clone()));
    }
    let required = journal.plan.trials;
    while journal.visits[index].trials.len() < required {
        let Some(trial) = one_trial(subject, &journal.rows, &specs)? else {
            return Ok(Measured::Interrupted);
        };
        journal.append(index, trial);
        store(disk, journal)?;
        standing.trials(journal.visits[index].trials.len(), required);
    }
    Ok(if journal.phase == Phase::Finished { Measured::Last } else { Measured::Boot })
}

/// No boot is measured before it is this old, so that all are of like age. Source: our choice; most services have
/// started by then.
pub const UPTIME_LEAST_S: f64 = 60.0;
/// How long the machine is watched for one reading.
pub const LOOK_S: f64 = 2.0;
/// So many readings in a row have to be quiet.
pub const QUIET_LOOKS: usize = 3;
/// A reading is quiet if others used at most this share of one CPU.
pub const BUSY_CPUS_MAX: f64 = 0.1;
/// How long it is waited for unless asked otherwise.
pub const PATIENCE_S: f64 = 120.0;

/// What was seen of the machine since it was first looked at.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Settling {
    quiet_looks: usize,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Look again.
    Wait,
    /// It is quiet.
    Settled,
    /// It did not within the time allowed; it is measured all the same, and that is noted.
    Unsettled,
}

/// One reading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Age of the boot; `None` where the kernel does not say.
    pub uptime_s: Option<f64>,
    /// Seconds since the first look.
    pub waited_s: f64,
    /// CPUs that others kept busy since the last look.
    pub busy_cpus: f64,
}

impl Settling {
    /// Takes a reading in. A boot is waited for until it is old enough whatever the patience.
    pub fn look(&mut self, look: &Look, patience_s: f64) -> Next {
        let is_quiet = look.busy_cpus <= BUSY_CPUS_MAX;
        self.quiet_looks = if is_quiet { self.quiet_looks + 1 } else { 0 };
        if look.uptime_s.is_some_and(|uptime_s| uptime_s < UPTIME_LEAST_S) {
            Next::Wait
        } else if self.quiet_looks >= QUIET_LOOKS {
            Next::Settled
        } else if look.waited_s >= patience_s {
            Next::Unsettled
        } else {
            Next::Wait
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(busy: &[f64], uptime_s: f64) -> Vec<Next> {
        let mut settling = Settling::default();
        let look = |(index, busy_cpus): (usize, &f64)| {
            let waited_s = (index + 1) as f64 * LOOK_S;
            let look = Look { uptime_s: Some(uptime_s + waited_s), waited_s, busy_cpus: *busy_cpus };
            settling.look(&look, 12.0)
        };
        busy.iter().enumerate().map(look).collect()
    }

    #[test]
    fn three_quiet_looks_in_a_row_settle_and_an_unsettled_machine_is_not_waited_for_for_ever() {
        use Next::{Settled, Unsettled, Wait};
        assert_eq!(run(&[0.0, 0.1, 0.0], 100.0), [Wait, Wait, Settled]);
        assert_eq!(run(&[0.0, 0.0, 0.5, 0.0, 0.0, 0.0], 100.0), [Wait, Wait, Wait, Wait, Wait, Settled]);
        assert_eq!(run(&[1.0; 6], 100.0), [Wait, Wait, Wait, Wait, Wait, Unsettled]);
        assert_eq!(run(&[0.0; 3], 0.0), [Wait, Wait, Wait]);
    }
}
