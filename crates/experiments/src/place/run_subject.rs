//! A command that is run again and again, its threads kept where the arm wants them.

use std::time::{Duration, Instant};

use host::live::{
    ChildError, ChildRun, Ending, PerfError, ProcessSetting, ThreadError, is_running, observe_child,
    pending_signal, running_in_group, snapshot,
};
use machine::CpuSet;
use record::{Sharing, SharingThread};
use sharing::{ProfileOptions, Samplers, watch_while};
use stats::{Cell, Order, quantile_interval};
use toggles::{PinError, PinHold, Restored};

use super::arms::{ArmPlan, arrangement_of};
use super::arrangement::Arrangement;
use super::follower::Follower;
use super::prediction::Unwatched;
use super::thread_lifetimes::{Lifetimes, ShortLived};
use super::thread_table::Counted;
use crate::ab::command_subject::{CommandError, HowToRun, Metric, ProgramRuns};
use crate::ab::drift_probe::DriftProbe;
use crate::ab::{GuardSpec, RowSpec, Subject, Trial};
use crate::program::Program;

/// How often a child is looked at that cannot be followed any more.
const IDLE_LOOK: Duration = Duration::from_millis(100);

/// Samples per second of CPU time in the one run that is watched: short programs need more than the rate for long ones.
const PROFILE_HZ: f64 = 1000.0;

/// Runs that are not watched: of nine, the interval of the median leaves out the least and the largest.
const UNWATCHED_RUNS: usize = 9;
/// They take no more of the budget than this, but one is always made.
const UNWATCHED_SHARE: f64 = 0.05;

/// The kernel counts what CPUs do in hundredths of a second: in less CPU time than this a share would be off by a tenth.
const OTHERS_SEEN_S: f64 = 0.2;

/// Why no further run makes sense.
#[derive(Debug, thiserror::Error)]
pub enum PlaceRunError {
    /// The program.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// Its threads.
    #[error(transparent)]
    Pin(#[from] PinError),
    /// The thread that watches.
    #[error(transparent)]
    Thread(#[from] ThreadError),
}

impl From<ChildError> for PlaceRunError {
    fn from(error: ChildError) -> Self {
        Self::Command(error.into())
    }
}

/// What one run showed.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSeen {
    /// How it went.
    pub run: ChildRun,
    /// Every thread that was seen.
    pub census: Vec<Counted>,
    /// What was in threads that came and went; of runs other than the profiled one not known.
    pub short_lived: Option<ShortLived>,
    /// Processes that still ran when the command had ended, by number; of runs other than the profiled one only those that somebody saw
    /// before it did.
    pub left_behind: Vec<u32>,
    /// The CPUs that it took for all of its threads, if those were fewer than it was given.
    pub cpus: Option<CpuSet>,
}

/// The command and what has been seen of it.
pub struct RunSubject {
    program: Program,
    /// What is read of each run.
    pub runs: ProgramRuns,
    hold: PinHold,
    label: String,
    plans: Vec<ArmPlan>,
    sets: Vec<CpuSet>,
    /// The CPUs that runs begin with: what the profiled one took, so that its threads are not held for ones that chose theirs.
    cpus: Option<CpuSet>,
    /// The most processes that a run left behind.
    pub left_behind: usize,
    /// Threads that could not be set free.
    pub unfreed: Vec<Restored>,
}

impl RunSubject {
    /// Gets ready; the clock starts here. Arms come by [`RunSubject::try_arms`].
    pub fn new(program: Program, how: HowToRun, metric: Option<Metric>, hold: PinHold, seed: u64) -> Self {
        let words: Vec<String> =
            program.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Self {
            label: format!("place {}", words.join(" ")),
            program,
            runs: ProgramRuns::new(how, metric, seed),
            hold,
            plans: Vec::new(),
            sets: Vec::new(),
            cpus: None,
            left_behind: 0,
            unfreed: Vec::new(),
        }
    }

    /// The arms that are run from now on, by cell.
    pub fn try_arms(&mut self, plans: Vec<ArmPlan>, sets: Vec<CpuSet>) {
        (self.plans, self.sets) = (plans, sets);
    }

    /// Runs the command once as the kernel places it, and watches who shares what; without that where nothing may sample it, and
    /// why.
    ///
    /// # Errors
    /// As for [`RunSubject::run`].
    pub fn profile(&mut self) -> Result<(RunSeen, Result<Sharing, PerfError>), PlaceRunError> {
        let options = ProfileOptions { rate_hz: PROFILE_HZ, ..ProfileOptions::default() };
        match Samplers::of_children(options.period()) {
            Ok(mut samplers) => {
                let (seen, sharing) = watch_while(&mut samplers, options, || self.run_profiled())?;
                Ok((self.profiled(seen?, &sharing.threads), Ok(sharing)))
            }
            Err(error) => {
                let seen = self.run_profiled()?;
                Ok((self.profiled(seen, &[]), Err(error)))
            }
        }
    }

    /// Later runs begin with the CPUs of this one; whom the samples saw may go on as well.
    fn profiled(&mut self, mut seen: RunSeen, watched: &[SharingThread]) -> RunSeen {
        self.cpus.clone_from(&seen.cpus);
        seen.left_behind.extend(watched.iter().map(|thread| thread.pid));
        seen.left_behind.sort_unstable();
        seen.left_behind.dedup();
        seen.left_behind.retain(|process| is_running(*process));
        self.left_behind = self.left_behind.max(seen.left_behind.len());
        seen
    }

    /// Runs the command some times as the kernel places it, watched by nobody; the median run, and what `profiled_s` is beside it.
    /// `None` if too little was seen.
    ///
    /// # Errors
    /// As for [`RunSubject::run`].
    pub fn unwatched(
        &mut self,
        profiled_s: f64,
        budget: Duration,
    ) -> Result<Option<(RunSeen, Unwatched)>, PlaceRunError> {
        let (before, begun) = (snapshot(), Instant::now());
        let mut runs: Vec<RunSeen> = Vec::new();
        let mut longest_s = 0.0_f64;
        while runs.len() < UNWATCHED_RUNS {
            let spent_s = begun.elapsed().as_secs_f64();
            let is_over = spent_s + longest_s > UNWATCHED_SHARE * budget.as_secs_f64();
            if !runs.is_empty() && (is_over || pending_signal().is_some()) {
                break;
            }
            let seen = self.run(&Arrangement::default())?;
            longest_s = longest_s.max(seen.run.wall_s);
            runs.push(seen);
        }
        let total_s = begun.elapsed().as_secs_f64() * host::live::allowed_cpus().len() as f64;
        let after = snapshot();
        let own_s: f64 = runs.iter().map(|seen| seen.run.user_s + seen.run.system_s).sum();
        let others_share = after.others_share(&before).map(|share| {
            let stolen = after.steal_share(&before).unwrap_or(0.0);
            (share + stolen - own_s / total_s).max(0.0)
        });
        runs.retain(|seen| {
            seen.run.wall_s > 0.0 && !seen.census.is_empty() && seen.run.ending == Ending::Code(0)
        });
        runs.order_by(|a, b| a.run.wall_s.total_cmp(&b.run.wall_s));
        let walls_s: Vec<f64> = runs.iter().map(|seen| seen.run.wall_s).collect();
        let Some(walls_s) = quantile_interval(&walls_s, 0.5) else { return Ok(None) };
        let median = runs.swap_remove(runs.len() / 2);
        let wall_s = median.run.wall_s;
        let others_share = others_share.filter(|_| total_s >= OTHERS_SEEN_S);
        Ok(Some((median, Unwatched { slower: profiled_s / wall_s, wall_s, walls_s, others_share })))
    }

    /// Runs the command once under an arrangement.
    ///
    /// # Errors
    /// It cannot be started, or its threads cannot be bound; they are free then.
    pub fn run(&mut self, arrangement: &Arrangement) -> Result<RunSeen, PlaceRunError> {
        self.run_command(arrangement, None)
    }

    fn run_profiled(&mut self) -> Result<RunSeen, PlaceRunError> {
        self.run_command(&Arrangement::default(), Some(Lifetimes::begin()))
    }

    fn run_command(
        &mut self,
        arrangement: &Arrangement,
        mut lifetimes: Option<Lifetimes>,
    ) -> Result<RunSeen, PlaceRunError> {
        let (output, limit) = (self.runs.output(), self.runs.limit());
        let mut follower: Option<Follower> = None;
        let mut failed: Option<PinError> = None;
        let settings: Vec<ProcessSetting> = self.cpus.iter().cloned().map(ProcessSetting::Affinity).collect();
        // Nobody is looked for in later runs, which are timed one after the other.
        let (is_profiled, mut group) = (lifetimes.is_some(), None);
        let run = observe_child(self.program.command(), &settings, output, limit, &mut |process| {
            group = Some(process);
            let looked = match (&mut follower, &failed) {
                (_, Some(_)) => return IDLE_LOOK,
                (Some(follower), None) => follower.look(),
                (none, None) => {
                    Follower::begin(&self.hold, process, &self.label, &self.sets, arrangement.clone())
                        .and_then(|begun| none.insert(begun).look())
                }
            };
            if let (Some(lifetimes), Some(follower)) = (&mut lifetimes, &follower) {
                lifetimes.look(&follower.table);
            }
            looked.unwrap_or_else(|error| {
                failed = Some(error);
                IDLE_LOOK
            })
        });
        let (mut census, mut short_lived, mut left_behind, mut cpus) = (Vec::new(), None, Vec::new(), None);
        if let Some(mut follower) = follower.take() {
            left_behind =
                if failed.is_none() { follower.left_behind().unwrap_or_default() } else { Vec::new() };
            (census, cpus) = (follower.census(), follower.taken().cloned());
            let total_s = run.as_ref().map_or(0.0, |run| run.user_s + run.system_s);
            short_lived = lifetimes.map(|lifetimes| lifetimes.short_lived(&follower.table, total_s));
            self.unfreed.extend(follower.release().into_iter().filter(|result| !result.is_settled()));
        }
        if let Some(group) = group.filter(|_| is_profiled) {
            left_behind.extend(running_in_group(group));
        }
        self.left_behind = self.left_behind.max(left_behind.len());
        match failed {
            // It ended before anybody could look.
            None | Some(PinError::Gone(_)) => {}
            Some(error) => return Err(error.into()),
        }
        Ok(RunSeen { run: run?, census, short_lived, left_behind, cpus })
    }
}

impl Subject for RunSubject {
    type Error = PlaceRunError;

    fn rows(&self) -> Vec<RowSpec> {
        self.runs.rows()
    }

    fn guards(&self) -> Vec<GuardSpec> {
        DriftProbe::GUARDS.to_vec()
    }

    fn trial(&mut self, state: Cell) -> Result<Trial, PlaceRunError> {
        self.runs.prepare()?;
        let arrangement = arrangement_of(&self.plans, state);
        let seen = self.run(&arrangement)?;
        Ok(self.runs.trial(&seen.run)?)
    }

    fn elapsed_s(&self) -> f64 {
        self.runs.elapsed_s()
    }

    fn must_stop(&self) -> bool {
        pending_signal().is_some()
    }
}
