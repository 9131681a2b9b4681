//! `sidestep place --pid PID --hold PLACEMENT`: nothing is tried, one placement is held until somebody ends it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use experiments::place::arms::BEST;
use experiments::place::arrangement::{Arrangement, packed, spread};
use experiments::place::follower::Follower;
use experiments::place::newcomers::Newcomers;
use experiments::place::roster::{Counted, Key};
use host::live::pending_signal;
use toggles::Restored;

use super::arguments::Held;
use super::running::{begin, ensure_ours, ensure_wanted, observed, unfreed};
use super::{Request, Room};
use crate::outcome::{CouldNotMeasure, Outcome};
use crate::output;
use crate::toggles::{after_error, left_changed};

/// Threads that have ended are forgotten so often: of a thousand that come and go each second some 10,000 are remembered.
const FORGET_EVERY: Duration = Duration::from_secs(10);

/// A placement that is to be held.
struct Plan {
    arrangement: Arrangement,
    /// Without it threads that come later are free, unless all of their like go to one place.
    newcomers: Option<Newcomers>,
    /// What is to be known of it.
    said: String,
}

/// Holds one placement until somebody ends it.
pub(super) fn hold(request: &Request<'_>, process: u32, held: Held) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    ensure_ours(process)?;
    let hold = request.pin_hold()?;
    let mut follower = begin(request, &hold, process)?;
    let result = planned(request, &mut follower, process, held)
        .and_then(|plan| keep(request, &mut follower, plan, (process, started)));
    let is_over = follower.is_over();
    let left: Vec<Restored> = unfreed(follower.release());
    let left_free = match result {
        Ok(left_free) => left_free,
        Err(error) => return after_error(error, &left),
    };
    if !left.is_empty() {
        return Ok(left_changed());
    }
    if !request.global.quiet {
        output::say(if is_over { "the process has ended" } else { "all threads are free again" });
        if left_free > 0 {
            output::say(&format!(
                "threads that came later were left free, at most {left_free} at once, as nothing was learnt of them; --watch places such as well"
            ));
        }
    }
    Ok(pending_signal().map_or(Outcome::Done, Outcome::Interrupted))
}

fn planned(request: &Request<'_>, follower: &mut Follower, process: u32, held: Held) -> anyhow::Result<Plan> {
    let room = Room::of(request, follower.free());
    if let Some(why) = room.too_small() {
        return Err(refused(process, &why));
    }
    if held == Held::Best {
        return best(request, follower, process, &room);
    }
    follower.look()?;
    let is_ours = |seen: &Counted| !seen.is_apart;
    let keys: Vec<Key> = follower.census().into_iter().filter(is_ours).map(|seen| seen.key).collect();
    let (slot_of, newcomers) = if held == Held::Pack {
        (packed(keys.len(), room.slots.cpus.len()), Newcomers::together(&room.slots))
    } else {
        (spread(keys.len(), &room.slots), Newcomers::apart(&room.slots))
    };
    let arrangement = Arrangement::in_slots(&keys, &slot_of, &room.slots);
    Ok(Plan { arrangement, newcomers: Some(newcomers), said: String::new() })
}

fn refused(process: u32, why: &str) -> anyhow::Error {
    CouldNotMeasure::because(format!("process {process} cannot be placed: {why}"))
}

/// The best by what a profile shows.
fn best(
    request: &Request<'_>,
    follower: &mut Follower,
    process: u32,
    room: &Room<'_>,
) -> anyhow::Result<Plan> {
    let setting = observed(request, follower, process, room)?;
    ensure_wanted()?;
    if let Some(why) = room.nothing_to_place(&setting) {
        return Err(refused(process, &why));
    }
    let arms = room.unpredicted_arms(&setting);
    let plan = arms.plans.into_iter().find(|plan| plan.name == BEST);
    let Some((plan, decision)) = plan.zip(arms.decision) else {
        let why =
            "nothing that was learnt tells its threads apart; --hold spread or pack goes by their order";
        let said: Vec<&str> = [why].into_iter().chain(setting.notes.iter().map(String::as_str)).collect();
        return Err(refused(process, &said.join("; ")));
    };
    let said = format!(
        ", the best by {}; that it gains anything was not proven, --metric-command in place of --hold does that",
        decision.learnt_by
    );
    Ok(Plan { arrangement: plan.arrangement, newcomers: None, said })
}

/// Makes it hold for what is left of the budget; how many threads that came later were left free, at most.
fn keep(
    request: &Request<'_>,
    follower: &mut Follower,
    plan: Plan,
    (process, started): (u32, Instant),
) -> anyhow::Result<usize> {
    let known: BTreeSet<Key> = follower.census().into_iter().map(|seen| seen.key).collect();
    let threads = plan.arrangement.cpus.len();
    match plan.newcomers {
        Some(newcomers) => follower.rearrange_with(plan.arrangement, newcomers)?,
        None => follower.rearrange(plan.arrangement)?,
    }
    let left = || request.budget().saturating_sub(started.elapsed());
    if !request.global.quiet {
        output::say(&format!(
            "threads of process {process} that are held: {threads}{}; until Ctrl-C, for {:.0} s at most",
            plan.said,
            left().as_secs_f64()
        ));
    }
    let mut left_free = 0;
    while !left().is_zero() && !follower.is_over() && pending_signal().is_none() {
        follower.look_for(left().min(FORGET_EVERY), || pending_signal().is_some())?;
        left_free = left_free.max(follower.left_free(&known));
        follower.recount();
    }
    Ok(left_free)
}
