//! `sidestep place --pid PID --watch`: profiled again and again, placed anew when that lasts and is proven.

use std::time::{Duration, Instant};

use experiments::ab::{Rules, Subject, run_factorial};
use experiments::place::arms::{ArmPlan, Arms, OS};
use experiments::place::arrangement::Arrangement;
use experiments::place::follower::Follower;
use experiments::place::hysteresis::{Advice, Hysteresis};
use experiments::place::outcome::{FACTORS, Setting, outcome};
use experiments::place::window_subject::WindowSubject;
use host::live::{pending_signal, utc_now};
use record::PlaceOutcome;
use serde_json::json;

use super::running::{begin, ensure_ours, unfreed};
use super::{Request, Room};
use crate::ab::Line;
use crate::outcome::Outcome;
use crate::output;
use crate::toggles::left_changed;

/// Time for one trial: some 18 windows of each of four arms, a second each.
const TRIAL: Duration = Duration::from_secs(90);

/// Watches until Ctrl-C, the end of the budget, or of the process.
pub(super) fn watch(request: &Request<'_>, process: u32, command: &str) -> anyhow::Result<Outcome> {
    ensure_ours(process)?;
    let hold = request.pin_hold()?;
    let mut follower = begin(request, &hold, process)?;
    let room = Room::of(request, follower.free());
    let mut state: Hysteresis<Option<Arrangement>> = Hysteresis::default();
    let started = Instant::now();
    let result = loop {
        follower.recount();
        if let Err(error) = follower.look_for(request.arguments.profile, || pending_signal().is_some()) {
            break Err(error.into());
        }
        if follower.is_over() || pending_signal().is_some() || started.elapsed() >= request.budget() {
            break Ok(());
        }
        let setting = room.setting(format!("process {process}"), &follower.census());
        let arms = room.arms(&setting, None);
        // Another placement is proposed as soon as the first arm puts threads elsewhere, or there is nothing to place any more.
        let nothing = room.nothing_to_place(&setting).is_some();
        let proposal = arms.plans.get(1).filter(|_| !nothing).map(|plan| plan.arrangement.clone());
        if state.round(started.elapsed(), &proposal) == Advice::Stay {
            continue;
        }
        let (back, tried) = match proposal {
            Some(_) => trial(request, follower, &arms, &setting, command),
            None => (follower, Ok(None)),
        };
        follower = back;
        let held = match tried {
            Ok(found) => held(request, found.as_ref(), &arms, &setting),
            Err(error) => break Err(error),
        };
        match held.map(|arrangement| follower.rearrange(arrangement)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => break Err(error.into()),
            Err(error) => break Err(error),
        }
        state.tried(started.elapsed(), proposal);
    };
    let left = unfreed(follower.release());
    if !left.is_empty() {
        return Ok(left_changed());
    }
    result?;
    tell(request, "ended", "all threads are free again", None)?;
    Ok(pending_signal().map_or(Outcome::Done, Outcome::Interrupted))
}

/// Windows in turns; the follower is given back in any case.
fn trial(
    request: &Request<'_>,
    follower: Follower,
    arms: &Arms,
    setting: &Setting,
    command: &str,
) -> (Follower, anyhow::Result<Option<PlaceOutcome>>) {
    let plans: Vec<ArmPlan> = arms.plans.clone();
    let mut subject =
        WindowSubject::new(follower, plans, command.to_owned(), request.arguments.window, request.seed);
    let rules = Rules { budget_s: TRIAL.as_secs_f64(), ..request.rules(setting.margin) };
    let mut line = Line::new(request.global.quiet);
    let course = run_factorial(&mut subject, FACTORS, &rules, &mut line);
    line.end();
    let found = course.map(|course| outcome(&course, &subject.rows(), &subject.guards(), arms, setting));
    (subject.follower, found.map(Some).map_err(Into::into))
}

/// What is held from now on, and a line that says so.
fn held(
    request: &Request<'_>,
    found: Option<&PlaceOutcome>,
    arms: &Arms,
    setting: &Setting,
) -> anyhow::Result<Arrangement> {
    let Some(found) = found else {
        tell(request, "free", "there is nothing to place any more", None)?;
        return Ok(Arrangement::default());
    };
    let name = found.recommended.as_deref().unwrap_or(OS);
    let text = format!("{} threads: {}", setting.threads.len(), found.sentence);
    tell(
        request,
        if found.recommended.is_some() { "placed" } else { "free" },
        &text,
        found.recommended.as_deref(),
    )?;
    let plan = arms.plans.iter().find(|plan| plan.name == name);
    Ok(plan.map(|plan| plan.arrangement.clone()).unwrap_or_default())
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
