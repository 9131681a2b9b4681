//! What runs next, and when it ends: the A/A twin, then quads, until the interval is narrow or the budget is spent.
//!
//! Pure: the clock is the subject's, so that a simulated one serves as well. Whatever ends an experiment, only whole
//! quads are kept: half a quad is not balanced.

use record::Ended;
use stats::{Arm, FEWEST_PAIRS, Random, Shift, Step, Stopping, Twin, coin_quads, hodges_lehmann};

use super::subject::{PAIRS_PER_QUAD, Subject, TRIALS_PER_QUAD, Taken, Trial};

/// Share of the budget for the A/A twin. Source: reference on statistics, section 4.
const TWIN_SHARE: f64 = 0.2;
/// It may take this share where it would not reach the fewest quads that can show more than chance.
const TWIN_SHARE_MAX: f64 = 1.0 / 3.0;
/// With so many runs failed in one state, and none that worked, going on is useless.
const FAILURES_IN_VAIN: usize = 3;
/// Intervals are looked at each time the quads have grown by this share: each look takes time.
const LOOK_GROWTH: f64 = 1.05;
/// Confidence of the intervals that are shown.
const CONFIDENCE: f64 = 0.95;

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Half-width of the 95 % interval that is narrow enough, on the log scale: 0.01 for 1 %.
    pub precision: f64,
    /// Seconds at most, the twin included.
    pub budget_s: f64,
    /// Exactly so many pairs, rounded up to whole quads, unless the budget is spent before.
    pub pairs: Option<usize>,
    /// Of all throws of the coin.
    pub seed: u64,
}

/// What to tell while it runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// True while the A/A twin runs.
    pub twin: bool,
    /// Pairs done.
    pub pairs: usize,
    /// The change of the first row so far, with its interval, as a log ratio; `None` without a pair.
    pub shift: Option<Shift>,
    /// Share of its time that the experiment has used, 0 to 1.
    pub share: f64,
    /// Seconds that are left at most.
    pub left_s: f64,
}

/// Who is told.
pub trait Progress {
    /// Called between quads, never during a trial.
    fn standing(&mut self, standing: &Standing);
}

/// All that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// What was run first, once or until it worked, and counts for nothing but its failures.
    pub rehearsal: Vec<(Arm, Trial)>,
    /// Trials with nothing switched.
    pub twin_trials: Taken,
    /// What they showed.
    pub twin: Twin,
    /// Trials proper.
    pub trials: Taken,
    /// Why it ended.
    pub ended: Ended,
}

/// Runs an experiment to its end.
///
/// # Errors
/// What the subject says makes going on useless.
pub fn run<S: Subject>(
    subject: &mut S,
    rules: &Rules,
    progress: &mut dyn Progress,
) -> Result<Course, S::Error> {
    let mut random = Random::new(rules.seed);
    let started_s = subject.elapsed_s();
    let mut rehearsal = Vec::new();
    if let Some(ended) = rehearse(subject, &mut rehearsal)? {
        let nothing = Taken::default;
        return Ok(Course {
            rehearsal,
            twin_trials: nothing(),
            twin: Twin::of(&[], rules.seed),
            trials: nothing(),
            ended,
        });
    }
    let asked = rules.pairs.map(|pairs| pairs.div_ceil(PAIRS_PER_QUAD));
    let budget_end_s = started_s + rules.budget_s;
    let mut twin_phase = Phase {
        twin: true,
        budget_end_s,
        started_s,
        soft_end_s: started_s + rules.budget_s * TWIN_SHARE,
        end_s: started_s + rules.budget_s * TWIN_SHARE_MAX,
        quads: asked.map(|quads| quads.div_ceil(PAIRS_PER_QUAD * 2).max(Twin::FEWEST_ROUNDS)),
        precision: rules.precision,
        widening: 1.0,
        taken: Taken::default(),
    };
    let twin_ended = twin_phase.run(subject, &mut random, progress)?;
    let twin_trials = twin_phase.taken;
    let twin = twin_of(subject, &twin_trials, rules.seed);
    if matches!(twin_ended, Ended::Failing | Ended::Interrupted) {
        return Ok(Course { rehearsal, twin_trials, twin, trials: Taken::default(), ended: twin_ended });
    }
    let mut phase = Phase {
        twin: false,
        budget_end_s,
        started_s: subject.elapsed_s(),
        soft_end_s: budget_end_s,
        end_s: budget_end_s,
        quads: asked,
        precision: rules.precision,
        widening: twin.widening,
        taken: Taken::default(),
    };
    let ended = phase.run(subject, &mut random, progress)?;
    Ok(Course { rehearsal, twin_trials, twin, trials: phase.taken, ended })
}

/// Runs each state until it works once: caches are warm then, and what never works is known before time is spent.
fn rehearse<S: Subject>(subject: &mut S, done: &mut Vec<(Arm, Trial)>) -> Result<Option<Ended>, S::Error> {
    let mut ended = None;
    for arm in [Arm::A, Arm::B] {
        let mut works = false;
        for _ in 0..FAILURES_IN_VAIN {
            let trial = subject.trial(arm)?;
            if subject.must_stop() {
                return Ok(Some(Ended::Interrupted));
            }
            works = trial.failure.is_none();
            done.push((arm, trial));
            if works {
                break;
            }
        }
        if !works {
            ended = Some(Ended::Failing);
        }
    }
    Ok(ended)
}

fn twin_of<S: Subject>(subject: &S, taken: &Taken, seed: u64) -> Twin {
    let guarded = taken.guarded(&subject.guards());
    let rows = 0..subject.rows().len();
    Twin::of(&rows.map(|row| taken.logs_by_quad(row, &guarded)).collect::<Vec<_>>(), seed)
}

/// The twin, or the experiment proper.
struct Phase {
    twin: bool,
    started_s: f64,
    /// The end of all phases.
    budget_end_s: f64,
    /// The end, unless there are too few quads to say anything.
    soft_end_s: f64,
    /// The end in any case.
    end_s: f64,
    quads: Option<usize>,
    precision: f64,
    widening: f64,
    taken: Taken,
}

impl Phase {
    fn run<S: Subject>(
        &mut self,
        subject: &mut S,
        random: &mut Random,
        progress: &mut dyn Progress,
    ) -> Result<Ended, S::Error> {
        let mut next_look = self.fewest_quads();
        loop {
            if subject.must_stop() {
                return Ok(Ended::Interrupted);
            }
            if self.quads.is_some_and(|quads| self.taken.quads() >= quads) {
                return Ok(Ended::PairsTaken);
            }
            if self.is_time_up(subject.elapsed_s()) {
                return Ok(Ended::BudgetSpent);
            }
            if let Some(ended) = self.take_quad(subject, random)? {
                return Ok(ended);
            }
            if self.taken.quads() < next_look {
                progress.standing(&self.standing(subject, None));
                continue;
            }
            next_look = (self.taken.quads() as f64 * LOOK_GROWTH).ceil() as usize;
            next_look = next_look.max(self.taken.quads() + 1);
            let shifts = self.shifts(subject);
            progress.standing(&self.standing(subject, shifts.first().copied().flatten()));
            if self.quads.is_none() && self.is_precise(&shifts) {
                return Ok(Ended::Precise);
            }
        }
    }

    /// Fewer say nothing: no interval, and no more than chance of a twin.
    fn fewest_quads(&self) -> usize {
        if self.twin { Twin::FEWEST_ROUNDS } else { FEWEST_PAIRS }
    }

    /// Whether another quad, as long as those before, would go beyond the end.
    fn is_time_up(&self, now_s: f64) -> bool {
        let done = self.taken.quads();
        if done == 0 {
            return now_s >= self.end_s;
        }
        let after_s = now_s + (now_s - self.started_s) / done as f64;
        after_s > if done < self.fewest_quads() { self.end_s } else { self.soft_end_s }
    }

    /// Takes the four trials of a quad; `Some` if it could not be finished, and then it does not count.
    fn take_quad<S: Subject>(
        &mut self,
        subject: &mut S,
        random: &mut Random,
    ) -> Result<Option<Ended>, S::Error> {
        let arms = coin_quads(1, random);
        let mut trials: Vec<Trial> = Vec::with_capacity(TRIALS_PER_QUAD);
        for arm in &arms {
            if subject.must_stop() {
                self.taken.unfinished += trials.len();
                return Ok(Some(Ended::Interrupted));
            }
            trials.push(subject.trial(if self.twin { Arm::A } else { *arm })?);
            // A trial during which the user wanted the end was cut short.
            if subject.must_stop() {
                self.taken.unfinished += trials.len();
                return Ok(Some(Ended::Interrupted));
            }
        }
        self.taken.push_quad(&arms, trials);
        Ok(self.fails_in_vain().then_some(Ended::Failing))
    }

    /// True if one state has failed several times and never worked.
    fn fails_in_vain(&self) -> bool {
        [Arm::A, Arm::B].into_iter().any(|arm| {
            let of_arm = || self.taken.trials.iter().zip(&self.taken.arms).filter(|(_, have)| **have == arm);
            of_arm().count() >= FAILURES_IN_VAIN && of_arm().all(|(trial, _)| trial.failure.is_some())
        })
    }

    /// The shift of each decisive row.
    fn shifts<S: Subject>(&self, subject: &S) -> Vec<Option<Shift>> {
        let guarded = self.taken.guarded(&subject.guards());
        let rows = subject.rows();
        let decisive = rows.iter().enumerate().filter(|(_, spec)| spec.decides);
        decisive.map(|(row, _)| hodges_lehmann(&self.taken.quad_logs(row, &guarded), CONFIDENCE)).collect()
    }

    fn is_precise(&self, shifts: &[Option<Shift>]) -> bool {
        let rule = Stopping { precision: self.precision, budget_pairs: usize::MAX };
        shifts.iter().all(|shift| {
            let quads = shift.map_or(0, |shift| shift.pairs);
            let half_width = shift.and_then(|shift| shift.interval).map(|found| found.half_width());
            rule.after_width(quads, half_width.map(|half| half * self.widening)) == Step::Precise
        })
    }

    fn standing<S: Subject>(&self, subject: &S, shift: Option<Shift>) -> Standing {
        let (now_s, length_s) = (subject.elapsed_s(), self.soft_end_s - self.started_s);
        let by_quads = self.quads.map(|quads| self.taken.quads() as f64 / quads.max(1) as f64);
        let by_time = (now_s - self.started_s) / length_s.max(f64::MIN_POSITIVE);
        let share = by_quads.unwrap_or(0.0).max(by_time).clamp(0.0, 1.0);
        let left_s = match by_quads {
            // After the twin comes more, of which nothing is known but the budget.
            Some(done) if done > 0.0 && !self.twin => (now_s - self.started_s) * (1.0 / done - 1.0),
            _ => f64::INFINITY,
        };
        let left_s = left_s.min(self.budget_end_s - now_s).max(0.0);
        Standing { twin: self.twin, pairs: self.taken.pairs(), shift, share, left_s }
    }
}
