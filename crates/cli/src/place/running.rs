//! `sidestep place --pid`: a process that runs already, looked at in windows.

use std::collections::BTreeSet;
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use experiments::ab::{Rules, Subject, run_factorial};
use experiments::place::arms::{ArmPlan, Arms, FACTORS, OS};
use experiments::place::arrangement::Arrangement;
use experiments::place::follower::Follower;
use experiments::place::outcome::{ProgramProfile, nothing_tried, outcome};
use experiments::place::thread_table::Turnover;
use experiments::place::window_subject::{FarWorse, WINDOWS, WindowSubject, look_time, progress};
use host::live::{self, PerfError, ThreadError, pending_signal, start_thread};
use machine::CpuSet;
use record::{PlaceOutcome, Sharing};
use sharing::{ProfileOptions, profile};
use stats::Random;
use toggles::{PinError, PinHold, Restored};

use super::{ARMS, RUNS_MIN, Ran, Request, Room, learn};
use crate::outcome::{CouldNotMeasure, EndedBySignal};
use crate::progress::ExperimentLine;

/// Windows of each placement before the first that counts.
const WINDOWS_FIRST: f64 = 1.0;
/// Windows of each that are lost when a placement is left out for being far worse than the kernel's.
const WINDOWS_LOST: f64 = WINDOWS as f64;
/// Windows of each that a trial has time for besides: for a command that is slow to count, for windows that the guards drop.
const WINDOWS_SPARE: f64 = 3.0;

/// Time in which looks of this length can show something.
pub(super) fn trial_time(look: Duration) -> Duration {
    look.mul_f64((RUNS_MIN + WINDOWS_FIRST + WINDOWS_LOST + WINDOWS_SPARE) * ARMS)
}

/// How long one look at a placement takes; `--metric-command` is asked once for that.
fn look_asked(request: &Request<'_>, command: &str) -> anyhow::Result<Duration> {
    let asked = Instant::now();
    if let Err(why) = progress(command, request.arguments.window)? {
        return Err(CouldNotMeasure::because(format!("--metric-command {why}")));
    }
    Ok(look_time(request.arguments.window, asked.elapsed()))
}

/// What to do if what is left of the budget is too short to show anything.
fn too_short(left: Duration, look: Duration, spent: Duration) -> Option<String> {
    let needed = look.mul_f64((RUNS_MIN + WINDOWS_FIRST) * ARMS);
    (needed > left).then(|| {
        format!(
            "a window takes {:.1} s with all that belongs to it, and {RUNS_MIN} of each placement are needed to show anything: give --budget {:.0}s or a shorter --window",
            look.as_secs_f64(),
            (needed + spent).as_secs_f64().ceil()
        )
    })
}

/// Refuses what cannot be ours to bind, with what to do.
fn ensure_ours(process: u32) -> anyhow::Result<()> {
    anyhow::ensure!(process != process::id(), "--pid {process} is sidestep itself; name another process");
    anyhow::ensure!(
        !live::is_below(process::id(), process),
        "--pid {process}: sidestep itself runs below that process and would be placed with it; name one further down, or start sidestep from elsewhere"
    );
    anyhow::ensure!(
        !live::is_kernel_thread(process),
        "--pid {process} is a thread of the kernel, which keeps its CPUs; name a process"
    );
    let user = live::process_user(process).with_context(|| {
        format!("--pid {process}: there is no such process; see ps or pgrep for its number")
    })?;
    anyhow::ensure!(
        live::effective_root() || user == live::effective_user(),
        "process {process} belongs to another user (uid {user}): run sidestep as that user, or as root"
    );
    Ok(())
}

/// Every CPU by itself: all that an arm can name.
fn single(cpus: &CpuSet) -> Vec<CpuSet> {
    cpus.iter().map(|cpu| [cpu].into_iter().collect()).collect()
}

fn begin(request: &Request<'_>, hold: &PinHold, process: u32) -> anyhow::Result<Follower> {
    let label = format!("place --pid {process}");
    let mut follower =
        Follower::begin(hold, process, &label, &single(request.allowed), Arrangement::default())?;
    // What it did before anybody looked says nothing of now.
    follower.recount();
    Ok(follower)
}

/// How looking at threads went, and who shares what.
type Profiled = (Result<(), PinError>, Result<Sharing, PerfError>);

/// Looks at the threads and samples what they touch, at the same time.
fn profiled(follower: &mut Follower, process: u32, time: Duration) -> Result<Profiled, ThreadError> {
    let options = ProfileOptions { limit: Some(time), ..ProfileOptions::default() };
    thread::scope(|scope| {
        let watching = move || profile(process, options);
        let watcher = start_thread(scope, "the thread that takes samples", watching)?;
        let looked = follower.look_for(time, || pending_signal().is_some());
        let profile = watcher.join().expect("watching does not panic");
        Ok((looked, profile))
    })
}

/// Watches a process for as long as --profile says, and enters what was seen.
fn observed(
    request: &Request<'_>,
    follower: &mut Follower,
    process: u32,
    room: &Room<'_>,
) -> anyhow::Result<ProgramProfile> {
    let asked = request.arguments.profile;
    let time = request.arguments.budget.map_or(asked, |budget| budget.min(asked));
    let (looked, sharing) = profiled(follower, process, time)?;
    looked?;
    let mut setting = room.setting(format!("process {process}"), &follower.census());
    if time < asked {
        let seconds = time.as_secs_f64();
        setting
            .head
            .notes
            .push(format!("it was watched for {seconds} s only: --budget is shorter than --profile"));
    }
    if !follower.is_over() {
        let keyed = follower.table.keyed();
        let ended: BTreeSet<u32> =
            keyed.iter().filter(|(_, member)| !member.is_there).map(|(_, member)| member.id.thread).collect();
        let gone = setting.threads.iter().filter(|busy| ended.contains(&busy.thread)).count();
        setting.head.notes.extend(unsteady(follower.table.turnover(), gone));
    }
    learn(&mut setting, sharing);
    Ok(setting)
}

/// What threads mean for a profile that were there for a part of it; `gone` are those that are to be placed and are not there any more.
fn unsteady(Turnover { began, ended }: Turnover, gone: usize) -> Option<String> {
    (began + ended > 0).then(|| {
        let gone = if gone == 0 {
            String::new()
        } else {
            format!("; {gone} of those that are to be placed are gone already, and placing them does nothing")
        };
        format!(
            "at least {began} threads began and {ended} ended while it was watched: what these share is seen for a part of the time only, those that ended still have a row in the matrices, and those that come later have none{gone}"
        )
    })
}

/// An error once the user has ended it.
fn ensure_not_interrupted() -> anyhow::Result<()> {
    match pending_signal() {
        Some(signal) => Err(anyhow::Error::new(EndedBySignal(signal)).context("ended by the user")),
        None => Ok(()),
    }
}

/// Profiles, decides, and proves by windows.
pub(super) fn tried(request: &Request<'_>, process: u32) -> anyhow::Result<Ran> {
    let started = Instant::now();
    ensure_ours(process)?;
    let hold = request.pin_hold()?;
    let mut follower = begin(request, &hold, process)?;
    let result = decided(request, &mut follower, process, started);
    Ok((result, unfreed(follower.release())))
}

fn decided(
    request: &Request<'_>,
    follower: &mut Follower,
    process: u32,
    started: Instant,
) -> anyhow::Result<PlaceOutcome> {
    let room = Room::of(request, follower.free());
    let mut setting = observed(request, follower, process, &room)?;
    ensure_not_interrupted()?;
    let arms = room.arms(&setting, None);
    let ended = follower.is_over().then(|| "the process ended while it was watched".to_owned());
    if let Some(why) = ended.or_else(|| room.nothing_to_place(&setting)) {
        return Ok(nothing_tried(&setting, &arms, &why));
    }
    let Some(command) = &request.arguments.metric_command else {
        let why = "what it gets done cannot be seen from outside; give --metric-command, which prints a number that rises with it";
        return Ok(nothing_tried(&setting, &arms, why));
    };
    shown(request, follower, command, &arms, &mut setting, started)
}

/// Windows of all arms within what is left of the budget.
fn shown(
    request: &Request<'_>,
    follower: &mut Follower,
    command: &str,
    arms: &Arms,
    setting: &mut ProgramProfile,
    started: Instant,
) -> anyhow::Result<PlaceOutcome> {
    let look = look_asked(request, command)?;
    let spent = started.elapsed();
    let left = request.budget().saturating_sub(spent);
    if request.arguments.runs.is_none() {
        setting.head.notes.extend(too_short(left, look, spent));
    }
    let mut found = in_turns(request, follower, command, arms, setting, left)?;
    if follower.is_over() {
        found.head.notes.push("the process ended while it was looked at".to_owned());
    }
    Ok(found)
}

/// Windows in turns, in the time that is left.
fn in_turns(
    request: &Request<'_>,
    follower: &mut Follower,
    command: &str,
    arms: &Arms,
    setting: &mut ProgramProfile,
    left: Duration,
) -> anyhow::Result<PlaceOutcome> {
    let window = request.arguments.window;
    let said = "progress is what --metric-command counts in windows of";
    setting.head.notes.push(format!("{said} {} s", window.as_secs_f64()));
    let begun = Instant::now();
    let mut arms = arms.clone();
    for attempt in 0.. {
        let left = left.saturating_sub(begun.elapsed());
        let seed =
            if attempt == 0 { request.seed } else { Random::for_stream(request.seed, attempt).next_u64() };
        let mut subject = WindowSubject::new(follower, arms.plans.clone(), command, window, seed);
        if !request.arguments.keep_slow {
            subject.stop_early();
        }
        let rules = Rules { budget_s: left.as_secs_f64(), seed, ..request.rules(setting.margin) };
        let mut line = ExperimentLine::new(request.global.quiet);
        let course = run_factorial(&mut subject, FACTORS, &rules, &mut line);
        line.end();
        let course = course?;
        if subject.far_worse.is_empty() || subject.follower.is_over() || pending_signal().is_some() {
            return Ok(outcome(&course, &subject.rows(), &subject.guards(), &arms, setting));
        }
        setting.head.notes.extend(subject.far_worse.iter().map(|found| left_out(&arms, *found)));
        // What those that stay did so far chose who stays: they begin anew.
        arms = arms.without(&subject.far_worse.iter().map(|found| found.arm).collect::<Vec<_>>());
        if arms.plans.iter().all(ArmPlan::is_kernel) {
            break;
        }
    }
    Ok(nothing_tried(setting, &arms, "each placement that was tried gets far less done"))
}

/// Which placement the program is spared, and how bad it was.
fn left_out(arms: &Arms, found: FarWorse) -> String {
    let name = arms.plans.get(found.arm).map_or(OS, |plan| plan.name);
    format!(
        "{name} was left out: under it {:.0} % got done of what the kernel's own placement gets done, by {WINDOWS} windows of each; --keep-slow goes on",
        100.0 * found.share
    )
}

fn unfreed(results: Vec<Restored>) -> Vec<Restored> {
    results.into_iter().filter(|result| !result.is_settled()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_come_and_go_are_named_with_what_it_means() {
        assert_eq!(unsteady(Turnover::default(), 0), None);
        let note = unsteady(Turnover { began: 3, ended: 2 }, 0).expect("some came and went");
        assert!(
            note.starts_with("at least 3 threads began and 2 ended") && !note.contains("are gone"),
            "{note}"
        );
        let note = unsteady(Turnover { began: 0, ended: 2 }, 1).expect("some went");
        assert!(note.contains("; 1 of those that are to be placed are gone already"), "{note}");
    }

    #[test]
    fn the_default_budget_is_enough_and_a_shorter_one_is_answered_by_what_is() {
        let seconds = Duration::from_secs;
        for window in [Duration::from_millis(50), seconds(1), seconds(20)] {
            let look = look_time(window, Duration::ZERO);
            let all = trial_time(look);
            assert_eq!(too_short(all, look, seconds(3)), None, "{window:?}");
            // Nine blocks of two passes, the rehearsal before them, and another one with a block if an arm is left out.
            assert!(all > window.mul_f64(1.1 * 22.0 * 4.0) && all < window.mul_f64(1.1 * 26.0 * 4.0));
        }
        let look = look_time(seconds(1), Duration::from_millis(450));
        let note = too_short(seconds(57), look, seconds(3)).expect("six blocks show nothing");
        assert!(note.contains("a window takes 2.0 s") && note.contains("give --budget 155s or"), "{note}");
        assert_eq!(too_short(seconds(152), look, seconds(3)), None);
    }
}
