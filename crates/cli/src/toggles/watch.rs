//! The watchdog's side of an experiment, and rehearsals on a recorded tree that tests can kill at any point.

use std::io::{self, Write};
use std::time::Duration;

use stats::Arm;
use toggles::{Change, Hold, Intent, Pair, stand_watch};

use super::{Described, RehearseArguments, WatchdogArguments};
use crate::outcome::Outcome;

/// A rehearsal that nobody kills ends by itself.
const REHEARSAL: Duration = Duration::from_secs(600);

/// Switches of one experiment: enough that most of its time is spent switched.
const FLIPS: usize = 41;

/// Waits for the end of the parent, and puts back what it left.
pub(super) fn watch(arguments: &WatchdogArguments) -> anyhow::Result<Outcome> {
    let place = arguments.place.place();
    let deadline = Duration::from_millis(arguments.deadline_ms);
    stand_watch(&place, arguments.owner, arguments.start_ticks, deadline)?;
    Ok(Outcome::Done)
}

/// Begins, switches to and fro, and ends, again and again, and says before and after each step what it does.
pub(super) fn rehearse(arguments: &RehearseArguments) -> anyhow::Result<Outcome> {
    let place = arguments.place.place();
    anyhow::ensure!(place.tree.is_some(), "a rehearsal takes a recorded tree; name one with --tree");
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
