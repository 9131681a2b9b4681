//! A process that runs on, looked at in windows: its threads are moved between windows, its progress is counted in them.
//!
//! What a service gets done cannot be seen from outside: CPU time and context switches are no progress. So a command of the user
//! prints a number that rises with it, before and after each window.

use std::process::Command;
use std::time::{Duration, Instant};

use host::live::{ChildOutput, Ending, pending_signal, run_child};
use record::Better;
use stats::{Cell, Factors, median};

use super::arms::{ArmPlan, arrangement_of};
use super::follower::Follower;
use super::run_subject::PlaceRunError;
use crate::ab::drift_probe::DriftProbe;
use crate::ab::{GuardSpec, RowSpec, Subject, Trial};

/// Part of a window that passes before it is counted, so that caches and run queues follow the threads.
const SETTLE_SHARE: f64 = 0.1;

/// The command that tells the progress is killed after so many windows: what it told would be of another time. Assumed.
const COMMAND_WINDOWS_MAX: u32 = 5;
/// But not before this: a shell on a busy machine.
const COMMAND_TIME_MIN: Duration = Duration::from_secs(2);

/// How long one look at a placement takes, with a command that takes so long to tell the progress.
pub fn look_time(window: Duration, command: Duration) -> Duration {
    window.mul_f64(1.0 + SETTLE_SHARE) + command * 2
}

/// The process, and how its progress is measured.
pub struct WindowSubject<'a> {
    /// Its threads.
    pub follower: &'a mut Follower,
    plans: Vec<ArmPlan>,
    command: &'a str,
    window: Duration,
    drift: DriftProbe,
    begun: Instant,
    early_stop: Option<EarlyStop>,
    /// Placements that are far worse than the kernel's: once there are any, the experiment is to end.
    pub far_worse: Vec<FarWorse>,
}

/// What the user's command counts now, beside windows of this length; how it failed, if it did.
///
/// # Errors
/// There is no shell.
pub fn progress(command: &str, window: Duration) -> Result<Result<f64, String>, PlaceRunError> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command);
    let limit = (window * COMMAND_WINDOWS_MAX).max(COMMAND_TIME_MIN);
    let run = run_child(shell, &[], ChildOutput::Capture, Some(limit))?;
    let text = String::from_utf8_lossy(&run.output);
    let number = text.split_whitespace().last().and_then(|word| word.replace(',', "").parse::<f64>().ok());
    Ok(match (&run.ending, number) {
        (Ending::Code(0), Some(number)) if number.is_finite() => Ok(number),
        (Ending::Code(0), _) => Err(format!("{command:?} printed no number")),
        (Ending::Code(code), _) => Err(format!("{command:?} ended with exit code {code}")),
        (Ending::Signal(signal), _) => Err(format!("{command:?} was ended by signal {signal}")),
        (Ending::TimedOut, _) => Err(format!(
            "{command:?} took longer than {:.1} s and was killed: give one that answers at once, or a longer --window",
            limit.as_secs_f64()
        )),
        (Ending::Interrupted, _) => Err(format!("{command:?} was interrupted")),
    })
}

impl<'a> WindowSubject<'a> {
    /// Gets ready; the clock starts here.
    pub fn new(
        follower: &'a mut Follower,
        plans: Vec<ArmPlan>,
        command: &'a str,
        window: Duration,
        seed: u64,
    ) -> Self {
        Self {
            follower,
            plans,
            command,
            window,
            drift: DriftProbe::new(seed),
            begun: Instant::now(),
            early_stop: None,
            far_worse: Vec::new(),
        }
    }

    /// Ends when placements turn out to be far worse than the kernel's.
    pub fn stop_early(&mut self) {
        self.early_stop = Some(EarlyStop::of(self.plans.len()));
    }

    fn watch_over(&mut self, arm: usize, progress: f64) {
        let Some(early_stop) = &mut self.early_stop else { return };
        early_stop.enter(arm, progress);
        self.far_worse = early_stop.found();
        self.far_worse.retain(|found| !self.plans[found.arm].is_kernel());
    }

    fn window(&mut self) -> Result<Result<f64, String>, PlaceRunError> {
        let settle = self.window.mul_f64(SETTLE_SHARE);
        self.follower.look_for(settle, || pending_signal().is_some())?;
        let began = Instant::now();
        let before = progress(self.command, self.window)?;
        self.follower.look_for(self.window, || pending_signal().is_some())?;
        let seconds = began.elapsed().as_secs_f64();
        let after = progress(self.command, self.window)?;
        if self.follower.is_over() {
            return Ok(Err("the process has ended".to_owned()));
        }
        let counted = before.and_then(|before| after.and_then(|after| risen(self.command, before, after)));
        Ok(counted.map(|counted| counted / seconds))
    }
}

/// By how much a number rose; one that falls counts no work, or was set back by a program that was started again.
fn risen(command: &str, before: f64, after: f64) -> Result<f64, String> {
    if after >= before {
        Ok(after - before)
    } else {
        Err(format!("{command:?} printed {before} and then {after}: it has to rise with the work done"))
    }
}

impl Subject for WindowSubject<'_> {
    type Error = PlaceRunError;

    fn rows(&self) -> Vec<RowSpec> {
        vec![RowSpec {
            name: "progress".to_owned(),
            group: "program".to_owned(),
            unit: "1/s".to_owned(),
            better: Better::Higher,
            moved_by: Factors::ALL,
            zero: "nothing was done in many windows",
        }]
    }

    fn guards(&self) -> Vec<GuardSpec> {
        DriftProbe::GUARDS.to_vec()
    }

    fn trial(&mut self, state: Cell) -> Result<Trial, PlaceRunError> {
        let arrangement = arrangement_of(&self.plans, state);
        // Who ended in the window before is nobody's neighbour any more.
        self.follower.recount();
        self.follower.rearrange(arrangement)?;
        let counted = self.window()?;
        self.watch_over(state.index(), counted.as_ref().copied().unwrap_or(f64::NAN));
        let guards = self.drift.readings();
        let (values, failure) = match counted {
            Ok(rate) => (vec![rate], None),
            Err(why) => (vec![f64::NAN], Some(why)),
        };
        Ok(Trial { values, guards, failure })
    }

    fn elapsed_s(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    fn must_stop(&self) -> bool {
        pending_signal().is_some() || self.follower.is_over() || !self.far_worse.is_empty()
    }
}

/// A placement under which less than this share gets done is far worse. Assumed: what nobody would bear, and noise rarely shows.
pub const SHARE_MIN: f64 = 0.5;
/// Windows of each placement that are looked at: as many as there are after the rehearsal and the first block.
pub const WINDOWS: usize = 3;

/// What got done under each placement, the kernel's first.
#[derive(Debug, Clone, PartialEq)]
struct EarlyStop {
    progress: Vec<Vec<f64>>,
}

/// One that is far worse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FarWorse {
    /// Its index.
    pub arm: usize,
    /// Its progress over the kernel's, medians of the windows looked at.
    pub share: f64,
}

impl EarlyStop {
    /// Nothing yet, of so many placements.
    fn of(arms: usize) -> Self {
        Self { progress: vec![Vec::new(); arms] }
    }

    /// One more window; NaN where nothing could be counted.
    fn enter(&mut self, arm: usize, progress: f64) {
        if let Some(windows) = self.progress.get_mut(arm) {
            windows.push(progress);
        }
    }

    /// Those that are far worse, as soon as all have had enough windows, and their turn.
    fn found(&self) -> Vec<FarWorse> {
        let taken: usize = self.progress.iter().map(Vec::len).sum();
        let last = |windows: &'_ Vec<f64>| {
            let last = windows.last_chunk::<WINDOWS>().copied()?;
            last.iter().all(|progress| progress.is_finite()).then_some(last)
        };
        let Some((kernel, others)) = self.progress.split_first() else { return Vec::new() };
        let is_due = taken.is_multiple_of(self.progress.len())
            && self.progress.iter().all(|windows| windows.len() >= WINDOWS);
        let Some(kernel) = last(kernel).filter(|_| is_due) else { return Vec::new() };
        let worst = kernel.iter().copied().fold(f64::INFINITY, f64::min);
        let found = |(index, windows): (usize, &Vec<f64>)| {
            let windows = last(windows)?;
            let best = windows.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let share = median(&windows)? / median(&kernel)?;
            (best < SHARE_MIN * worst).then_some(FarWorse { arm: index + 1, share })
        };
        others.iter().enumerate().filter_map(found).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_falls_is_no_progress() {
        assert_eq!(risen("count", 5.0, 7.5), Ok(2.5));
        assert_eq!(risen("count", 5.0, 5.0), Ok(0.0));
        let described = risen("count", 7.0, 5.0).expect_err("it fell");
        assert_eq!(described, "\"count\" printed 7 and then 5: it has to rise with the work done");
    }

    fn check(passes: &[[f64; 3]], expected: &[(usize, f64)]) {
        let mut state = EarlyStop::of(3);
        for (pass, values) in passes.iter().enumerate() {
            for (arm, progress) in values.iter().enumerate() {
                assert_eq!(state.found(), [], "pass {pass} of {passes:?} is not over");
                state.enter(arm, *progress);
            }
        }
        let found: Vec<_> = state.found().iter().map(|found| (found.arm, found.share)).collect();
        assert_eq!(found, expected, "{passes:?}");
    }

    #[test]
    fn what_gets_less_than_half_done_in_three_windows_of_each_is_far_worse() {
        check(&[[10.0, 4.0, 9.0]; 2], &[]);
        check(&[[10.0, 4.0, 9.0]; 3], &[(1, 0.4)]);
        check(&[[10.0, 4.0, 0.0]; 3], &[(1, 0.4), (2, 0.0)]);
        check(&[[10.0, 5.0, 9.0]; 3], &[]);
        // One good window of it, or one bad one of the kernel, is enough to go on.
        check(&[[10.0, 4.0, 9.0], [10.0, 6.0, 9.0], [10.0, 4.0, 9.0]], &[]);
        check(&[[10.0, 4.0, 9.0], [7.0, 4.0, 9.0], [10.0, 4.0, 9.0]], &[]);
        // What was not counted says nothing, and a program that does nothing has nothing to lose.
        check(&[[10.0, 4.0, 9.0], [10.0, f64::NAN, 9.0], [10.0, 4.0, 9.0]], &[]);
        check(&[[0.0, 0.0, 0.0]; 3], &[]);
    }

    #[test]
    fn a_placement_that_becomes_far_worse_later_is_found_by_its_last_windows() {
        let (good, bad) = ([10.0, 9.0, 9.0], [10.0, 9.0, 1.0]);
        check(&[good, good, bad, bad], &[]);
        check(&[good, good, bad, bad, bad], &[(2, 0.1)]);
    }
}
