//! The watchdog's side of an experiment, and rehearsals on a recorded tree that tests can kill at any point.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use host::{Bindings, Disk, Followed, ProcessId, SystemWriter, SystemWriterError, Target};
use stats::Arm;
use toggles::{Change, Hold, Intent, Pair, Place, Revert, revert_on, stand_watch};

use super::{Described, RehearseArguments, WatchdogArguments};
use crate::outcome::Outcome;

/// A rehearsal that nobody kills ends by itself.
const REHEARSAL: Duration = Duration::from_secs(600);

/// Switches of one experiment: enough that most of its time is spent switched.
const FLIPS: usize = 41;

/// Waits for the end of the parent, and puts back what it left.
pub(super) fn watch(arguments: &WatchdogArguments) -> anyhow::Result<Outcome> {
    let place = Place { state: arguments.state.clone(), tree: arguments.tree.clone() };
    let deadline = Duration::from_millis(arguments.deadline_ms);
    stand_watch(&place, arguments.owner, arguments.start_ticks, deadline)?;
    Ok(Outcome::Done)
}

/// Begins, switches to and fro, and ends, again and again, and says before and after each step what it does.
pub(super) fn rehearse(arguments: &RehearseArguments) -> anyhow::Result<Outcome> {
    let place = Place { state: arguments.state.clone(), tree: Some(arguments.tree.clone()) };
    if arguments.switches.is_empty() {
        return rehearse_revert(&place);
    }
    loop {
        let described = Described::open(place.tree.as_deref())?;
        let mut states: [Vec<Change>; 2] = Default::default();
        for text in &arguments.switches {
            let pair = Pair::parse(text, &described.system_state())?;
            anyhow::ensure!(pair.written().count() > 0, "{text} is not of the machine; name a system toggle");
            for (arm, state) in [Arm::A, Arm::B].into_iter().zip(&mut states) {
                state.extend_from_slice(pair.changes(arm));
            }
        }
        let [a, b] = &states;
        let label = arguments.switches.join(" ");
        let intent = Intent { label: &label, states: &[a, b], kept: false };
        say("begin")?;
        let mut hold = Hold::begin(&place, &intent, REHEARSAL)?;
        say("journalled")?;
        for state in [b, a].into_iter().cycle().take(FLIPS) {
            hold.switch(state)?;
            say("switched")?;
        }
        hold.end();
        say("ended")?;
    }
}

fn say(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

/// A revert that says each step before it is made, and waits for a line: a test can kill it at exactly that step.
fn rehearse_revert(place: &Place) -> anyhow::Result<Outcome> {
    let _lock = place.folder().try_lock()?;
    let (mut writer, mut disk) = (Stepwise(place.writer()), Stepwise(place.folder()));
    revert_on(&mut writer, &mut disk, &place.boot_id()?, Revert::default())?;
    say("ended")?;
    Ok(Outcome::Done)
}

/// A writer or disk that asks before each step.
struct Stepwise<T>(T);

fn step(what: &str) -> io::Result<()> {
    say(what)?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map(drop)
}

impl<D: SystemWriter> SystemWriter for Stepwise<D> {
    fn read(&mut self, target: &Target) -> Result<String, SystemWriterError> {
        let failed = |source| SystemWriterError::Read { target: target.clone(), source };
        step("read").map_err(failed)?;
        self.0.read(target)
    }

    fn write(&mut self, target: &Target, value: &str) -> Result<(), SystemWriterError> {
        let failed =
            |source| SystemWriterError::Write { target: target.clone(), value: value.to_owned(), source };
        step("write").map_err(failed)?;
        self.0.write(target, value)
    }

    fn bindings(&mut self) -> Result<Bindings, SystemWriterError> {
        self.0.bindings()
    }

    fn threads(&mut self, processes: &[ProcessId]) -> Result<Vec<Followed>, SystemWriterError> {
        self.0.threads(processes)
    }
}

impl<K: Disk> Disk for Stepwise<K> {
    fn read(&mut self, name: &str) -> io::Result<Option<Vec<u8>>> {
        step("read the journal")?;
        self.0.read(name)
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        step("write the journal")?;
        self.0.write(name, bytes)
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        step("sync the journal")?;
        self.0.sync(name)
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        step("rename the journal")?;
        self.0.rename(from, to)
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        step("remove the journal")?;
        self.0.remove(name)
    }

    fn sync_names(&mut self) -> io::Result<()> {
        step("sync the folder")?;
        self.0.sync_names()
    }
}
