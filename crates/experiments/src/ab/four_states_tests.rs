//! Experiments of four states on a simulated clock: planted effects, drift, steps, false alarms, failures, an early end.

use record::{Better, Ended};
use stats::{Cell, Comparison, Factors, Random};

use super::outcome::{counts, failures};
use super::subject::{GuardSpec, RowSpec, Subject, Trial};
use super::{Progress, Rules, Standing, TrialLog, run, run_factorial};

/// Two factors.
const FACTORS: usize = 2;

struct NoProgress;

impl Progress for NoProgress {
    fn standing(&mut self, _standing: &Standing) {}
}

/// What the simulated machine does to a trial that begins at a time.
type Disturbance = fn(f64) -> f64;

/// A simulated program of about a second; the planted effects, in the order of [`Factors::effects`], are its only law.
struct Simulated {
    now_s: f64,
    random: Random,
    noise: f64,
    planted: [f64; 3],
    disturbance: Disturbance,
    fails: fn(Cell) -> bool,
    ends_after: Option<usize>,
    trials: usize,
}

impl Simulated {
    fn with(planted: [f64; 3]) -> Self {
        Self {
            now_s: 0.0,
            random: Random::new(1),
            noise: 0.01,
            planted,
            disturbance: |_| 0.0,
            fails: |_| false,
            ends_after: None,
            trials: 0,
        }
    }

    fn log(&self, cell: Cell) -> f64 {
        let share =
            |(effect, size): (Factors, &f64)| effect.sign(cell) * size / f64::from(1_u32 << effect.order());
        Factors::effects(FACTORS).into_iter().zip(&self.planted).map(share).sum()
    }
}

impl Subject for Simulated {
    type Error = std::convert::Infallible;

    fn rows(&self) -> Vec<RowSpec> {
        let row = |name: &str, moved_by| RowSpec {
            name: name.to_owned(),
            group: String::new(),
            unit: "s".to_owned(),
            better: Better::Lower,
            moved_by,
            zero: "",
        };
        vec![row("wall time", Factors::ALL), row("CPU time", Factors::ALL), row("control", Factors::NONE)]
    }

    fn guards(&self) -> Vec<GuardSpec> {
        vec![GuardSpec { name: "drift of arithmetic", tolerance: 0.02 }]
    }

    fn trial(&mut self, cell: Cell) -> Result<Trial, Self::Error> {
        self.trials += 1;
        let (machine, effect) = ((self.disturbance)(self.now_s), self.log(cell));
        let noise = self.noise * self.random.normal();
        let mut own = || 0.2 * self.noise * self.random.normal();
        // Wall and CPU time of one run are nearly one number.
        let logs = [effect + noise, effect + noise + own(), own()];
        let mut values: Vec<f64> = logs.iter().map(|log| (machine + log).exp()).collect();
        self.now_s += values[0];
        let failure = (self.fails)(cell).then(|| "exit code 1".to_owned());
        if failure.is_some() {
            values.fill(f64::NAN);
        }
        Ok(Trial { values, guards: vec![0.0], failure })
    }

    fn elapsed_s(&self) -> f64 {
        self.now_s
    }

    fn must_stop(&self) -> bool {
        self.ends_after.is_some_and(|trials| self.trials >= trials)
    }
}

const RULES: Rules = Rules { precision: 0.005, budget_s: 800.0, pairs: None, seed: 3 };

const DISTURBANCES: [(&str, Disturbance); 4] = [
    ("quiet", |_| 0.0),
    ("drift", |now_s| 0.002 * now_s),
    ("period of a block", |now_s| if now_s as u64 % 8 < 4 { 0.03 } else { 0.0 }),
    ("step", |now_s| if now_s > 150.0 { 0.3 } else { 0.0 }),
];

fn run_trials(mut subject: Simulated, rules: &Rules) -> TrialLog {
    run_factorial(&mut subject, FACTORS, rules, &mut NoProgress).expect("it cannot fail")
}

/// Each effect on a row: the first factor, the second, and both together.
fn found(trial_log: &TrialLog, row: usize) -> [Comparison; 3] {
    let guarded = trial_log.trials.guarded(&Simulated::with([0.0; 3]).guards());
    let effects = Factors::effects(FACTORS);
    [0, 1, 2].map(|index| {
        let logs = trial_log.trials.block_logs(row, effects[index], &guarded);
        Comparison::of_log_ratios(&logs).expect("enough blocks").widened(trial_log.aa_control.widening)
    })
}

#[test]
fn planted_effects_are_found_each_for_itself_whatever_the_machine_does_meanwhile() {
    let planted = [0.05, -0.03, 0.06];
    for (name, disturbance) in DISTURBANCES {
        let subject = Simulated { disturbance, ..Simulated::with(planted) };
        let trial_log = run_trials(subject, &Rules { budget_s: 4000.0, ..RULES });
        for (found, size) in found(&trial_log, 0).iter().zip(planted) {
            let (log, interval) = (found.ratio.ln(), found.interval.expect("enough blocks"));
            // A disturbance with steps in a block is noise, and wide intervals say so.
            assert!((log - size).abs() < 0.03, "{name}: {log}, not {size}");
            assert!(interval.map(f64::ln).half_width() < 0.06, "{name}: {interval}");
        }
    }
}

#[test]
fn what_one_factor_does_alone_leaks_into_no_other_effect() {
    for (name, disturbance) in DISTURBANCES {
        for seed in 0..5 {
            let subject =
                Simulated { disturbance, random: Random::new(seed), ..Simulated::with([0.5, 0.0, 0.0]) };
            let trial_log = run_trials(subject, &Rules { seed, ..RULES });
            for found in &found(&trial_log, 0)[1..] {
                assert!(found.p > 0.001 || found.ratio.ln().abs() < 0.01, "{name}, {seed}: {found:?}");
            }
        }
    }
}

#[test]
fn nothing_is_seldom_called_something() {
    for (name, disturbance) in DISTURBANCES {
        let (mut alarms, mut banners) = (0, 0);
        for seed in 0..25 {
            let subject = Simulated { random: Random::new(seed), disturbance, ..Simulated::with([0.0; 3]) };
            let trial_log = run_trials(subject, &Rules { seed, budget_s: 300.0, ..RULES });
            let guarded = trial_log.trials.guarded(&[]);
            let last = *Factors::effects(FACTORS).last().expect("both together");
            let logs = trial_log.trials.block_logs(0, last, &guarded);
            alarms += usize::from(Comparison::of_log_ratios(&logs).is_some_and(|found| found.p <= 0.05));
            banners += usize::from(trial_log.aa_control.is_contaminated());
        }
        // 6 or more of 25 come by chance once in 800 (binomial).
        assert!(alarms <= 5, "{name}: {alarms} of 25 interactions at 5 %");
        assert!(banners <= 1, "{name}: {banners} of 25 experiments are not to be believed");
    }
}

#[test]
fn one_factor_is_the_experiment_with_an_aa_control_before_it() {
    let rules = Rules { pairs: Some(40), budget_s: 1e6, ..RULES };
    let subject = || Simulated::with([0.05, 0.0, 0.0]);
    let inside = run_factorial(&mut subject(), 1, &rules, &mut NoProgress).expect("it cannot fail");
    let before = run(&mut subject(), &rules, &mut NoProgress).expect("it cannot fail");
    // The first random draws of both are the same; where an A/A control runs before, it has them.
    let first = before.aa_trials.cells.len().min(inside.trials.cells.len());
    assert_eq!(inside.trials.cells[..first], before.aa_trials.cells[..first]);
    assert_eq!(inside.trials.passes(), before.trials.passes());
}

#[test]
fn widths_end_it_and_never_significance() {
    let trial_log = run_trials(Simulated { noise: 0.001, ..Simulated::with([0.2, 0.0, 0.0]) }, &RULES);
    assert_eq!((trial_log.ended, trial_log.trials.blocks()), (Ended::Precise, 12));
    let trial_log = run_trials(Simulated { noise: 0.1, ..Simulated::with([0.5, 0.0, 0.0]) }, &RULES);
    assert_eq!(trial_log.ended, Ended::BudgetSpent);
    assert!(found(&trial_log, 0)[0].p < 0.001);
}

#[test]
fn whenever_the_user_ends_it_only_whole_blocks_are_kept() {
    for ends_after in 1..60 {
        let subject = Simulated { ends_after: Some(ends_after), ..Simulated::with([0.05, 0.0, 0.0]) };
        let trial_log = run_trials(subject, &Rules { precision: 0.0001, ..RULES });
        assert_eq!(trial_log.trials.trials.len() % 8, 0);
        assert!(trial_log.ended == Ended::Interrupted && trial_log.trials.unfinished <= 8, "{ends_after}");
    }
}

#[test]
fn a_state_that_always_fails_is_known_before_time_is_spent() {
    let both = |cell: Cell| cell.index() == 3;
    let trial_log = run_trials(Simulated { fails: both, ..Simulated::with([0.0; 3]) }, &RULES);
    assert_eq!((trial_log.ended, trial_log.warmup.len()), (Ended::Failing, 6));
    let failed = failures(&trial_log);
    assert_eq!((failed.len(), failed[0].state.as_str(), failed[0].failed, failed[0].of), (1, "bb", 3, 3));
    let trial_log = run_trials(Simulated { fails: |_| true, ..Simulated::with([0.0; 3]) }, &RULES);
    assert_eq!(failures(&trial_log).len(), 4);
}

#[test]
fn a_run_that_a_guard_saw_move_takes_its_pass_along_and_no_effect_suffers() {
    struct Guarded(Simulated);
    impl Subject for Guarded {
        type Error = std::convert::Infallible;
        fn rows(&self) -> Vec<RowSpec> {
            self.0.rows()
        }
        fn guards(&self) -> Vec<GuardSpec> {
            self.0.guards()
        }
        fn trial(&mut self, cell: Cell) -> Result<Trial, Self::Error> {
            let mut trial = self.0.trial(cell)?;
            if self.0.trials.is_multiple_of(11) {
                trial.guards[0] = 1.0;
                trial.values.iter_mut().for_each(|value| *value *= 3.0);
            }
            Ok(trial)
        }
        fn elapsed_s(&self) -> f64 {
            self.0.elapsed_s()
        }
        fn must_stop(&self) -> bool {
            false
        }
    }
    let mut subject = Guarded(Simulated { noise: 0.001, ..Simulated::with([0.05, 0.0, 0.0]) });
    let trial_log = run_factorial(&mut subject, FACTORS, &RULES, &mut NoProgress).expect("it cannot fail");
    let guards = subject.guards();
    let counts = counts(&trial_log.trials, &trial_log.trials.guarded(&guards), &guards);
    assert!(counts.kept < counts.taken && counts.dropped.len() == 1);
    let [first, _, both] = found(&trial_log, 0);
    assert!((first.ratio.ln() - 0.05).abs() < 0.002);
    assert!(both.ratio.ln().abs() < 0.002);
}
