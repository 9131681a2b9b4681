//! `sidestep place --pid PID --watch`: profiled again and again, placed anew when that lasts and is proven.

use std::time::{Duration, Instant};

use experiments::place::arms::{ArmPlan, Arms};
use experiments::place::arrangement::{Arrangement, Nearness};
use experiments::place::follower::Follower;
use experiments::place::hysteresis::{Advice, Hysteresis};
use experiments::place::outcome::Setting;
use host::live::{pending_signal, utc_now};
use record::PlaceOutcome;
use serde_json::json;
use stats::Random;

use super::running::{Turns, begin, ensure_ours, look_asked, observed, trial_time, unfreed};
use super::{Request, Room};
use crate::outcome::Outcome;
use crate::output;
use crate::toggles::left_changed;

/// A round is so many times as long as its profile: samples, which cost about 1 % of CPU time (METHODOLOGY.md, "Who shares what"), are
/// taken for a fifth of the time only.
const ROUND_PROFILES: u32 = 5;

/// Watches until Ctrl-C, the end of the budget, or of the process.
pub(super) fn watch(request: &Request<'_>, process: u32, command: &str) -> anyhow::Result<Outcome> {
    ensure_ours(process)?;
    let trial = trial_time(look_asked(request, command)?);
    let hold = request.pin_hold()?;
    let mut follower = begin(request, &hold, process)?;
    let mut watching = Watching {
        request,
        process,
        command,
        room: Room::of(request, follower.free()),
        state: Hysteresis::default(),
        started: Instant::now(),
        trial,
        trials: 0,
        held: None,
    };
    let result = loop {
        match watching.round(&mut follower) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    let left = unfreed(follower.release());
    if !left.is_empty() {
        return Ok(left_changed());
    }
    result?;
    tell(request, "ended", "all threads are free again", None)?;
    Ok(pending_signal().map_or(Outcome::Done, Outcome::Interrupted))
}

/// What is known from round to round.
struct Watching<'a> {
    request: &'a Request<'a>,
    process: u32,
    /// What tells the progress.
    command: &'a str,
    room: Room<'a>,
    /// What is proposed is the nearness of threads, or nothing.
    state: Hysteresis<Option<Nearness>>,
    started: Instant,
    /// How long a trial takes.
    trial: Duration,
    /// How many there were.
    trials: u64,
    held: Option<ArmPlan>,
}

impl Watching<'_> {
    /// Profiles, does what has to be done, and leaves the program alone for the rest of the round; false if that was the last one.
    fn round(&mut self, follower: &mut Follower) -> anyhow::Result<bool> {
        let profile = self.request.arguments.profile;
        follower.recount();
        let mut setting = observed(self.request, follower, self.process, &self.room)?;
        if self.is_over(follower) {
            return Ok(false);
        }
        // Another placement is proposed as soon as the first arm puts threads elsewhere, or there is nothing to place any more.
        let is_worth = self.room.nothing_to_place(&setting).is_none();
        let first = self.room.unpredicted_arms(&setting).plans.into_iter().nth(1);
        let proposal =
            first.filter(|_| is_worth).map(|plan| Nearness::of(&plan.arrangement, &self.room.slots));
        let advice = self.state.round(self.started.elapsed(), &proposal);
        match (advice, self.held.clone()) {
            (Advice::Try, _) if proposal.is_none() || self.has_time() => {
                self.try_anew(follower, proposal, &mut setting)?;
            }
            (Advice::Test, Some(held)) if self.has_time() => self.test(follower, held, &mut setting)?,
            _ => {}
        }
        let rest = (profile * (ROUND_PROFILES - 1)).min(self.left());
        follower.look_for(rest, || pending_signal().is_some())?;
        Ok(!self.is_over(follower))
    }

    fn left(&self) -> Duration {
        self.request.budget().saturating_sub(self.started.elapsed())
    }

    fn has_time(&self) -> bool {
        self.left() >= self.trial
    }

    fn is_over(&self, follower: &Follower) -> bool {
        follower.is_over() || pending_signal().is_some() || self.left().is_zero()
    }

    /// Tries what is proposed, and holds what is recommended then.
    fn try_anew(
        &mut self,
        follower: &mut Follower,
        proposal: Option<Nearness>,
        setting: &mut Setting,
    ) -> anyhow::Result<()> {
        let (held, text) = if let Some(why) = self.room.nothing_to_place(setting) {
            (None, format!("nothing is to be placed: {why}"))
        } else {
            let arms = self.room.arms(setting, None);
            let found = self.turns(follower, &arms, setting)?;
            if self.is_over(follower) {
                return Ok(());
            }
            let is_recommended = |plan: &&ArmPlan| found.recommended.as_deref() == Some(plan.name);
            let plan = arms.plans.iter().find(is_recommended).cloned();
            (plan, format!("{} threads: {}", setting.threads.len(), found.sentence))
        };
        self.state.tried(self.started.elapsed(), proposal, held.is_some());
        self.hold(follower, held, "placed", &text)
    }

    /// Tests what is held, and gives it up unless that shows a gain.
    fn test(&mut self, follower: &mut Follower, held: ArmPlan, setting: &mut Setting) -> anyhow::Result<()> {
        let found = self.turns(follower, &Arms::only(held.clone()), setting)?;
        if self.is_over(follower) {
            return Ok(());
        }
        let still_gains = found.recommended.is_some();
        self.state.tested(self.started.elapsed(), still_gains);
        let text = if still_gains {
            found.sentence
        } else {
            let name = held.name;
            format!(
                "{name} was held and does not show its gain any more, all threads are free: {}",
                found.sentence
            )
        };
        self.hold(follower, still_gains.then_some(held), "kept", &text)
    }

    /// Windows in turns, with random choices of their own.
    fn turns(
        &mut self,
        follower: &mut Follower,
        arms: &Arms,
        setting: &mut Setting,
    ) -> anyhow::Result<PlaceOutcome> {
        self.trials += 1;
        let seed = Random::for_stream(self.request.seed, self.trials).next_u64();
        let Self { request, command, trial, .. } = *self;
        Turns { request, command, left: trial, seed }.take(follower, arms, setting)
    }

    /// Holds this from now on, or nothing, and says so.
    fn hold(
        &mut self,
        follower: &mut Follower,
        held: Option<ArmPlan>,
        event: &str,
        text: &str,
    ) -> anyhow::Result<()> {
        let arrangement = held.as_ref().map_or_else(Arrangement::default, |plan| plan.arrangement.clone());
        follower.rearrange(arrangement)?;
        self.held = held;
        let name = self.held.as_ref().map(|plan| plan.name);
        tell(self.request, if name.is_some() { event } else { "free" }, text, name)
    }
}

/// One line, or one document on one line.
fn tell(request: &Request<'_>, event: &str, text: &str, recommended: Option<&str>) -> anyhow::Result<()> {
    let time = utc_now();
    if request.global.json {
        let document = json!({ "time": time, "event": event, "recommended": recommended, "text": text });
        output::print(&output::json_line(&document)?)
    } else if request.global.quiet {
        Ok(())
    } else {
        output::print_lines(&format!("{time} {event:<7} {text}\n"))
    }
}
