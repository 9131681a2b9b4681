//! Experiments on a simulated clock: drift, periods, steps, failures, and an end at any point.

use record::{Better, Ended, ExperimentOutcome};
use stats::{Arm, Cell, Factors, Random, Shift, Verdict};

use super::outcome::Declared;
use super::subject::{GuardSpec, RowSpec, Subject, Trial};
use super::{Labels, Progress, Rules, Standing, TrialLog, outcome, run};

/// No progress is shown.
struct NoProgress;

impl Progress for NoProgress {
    fn standing(&mut self, _standing: &Standing) {}
}

/// What the simulated machine does to a trial that begins at a time.
type Disturbance = fn(f64) -> f64;

/// A simulated program: one second per trial, more in state B, and whatever the machine adds.
struct Simulated {
    now_s: f64,
    random: Random,
    noise: f64,
    effect: f64,
    disturbance: Disturbance,
    /// Trials until the user presses Ctrl-C.
    ends_after: Option<usize>,
    fails: fn(Arm, usize) -> bool,
    trials: usize,
    better: Better,
    states: Vec<Arm>,
    /// Trials done at the start of each block.
    blocks: Vec<usize>,
    /// From then on a trial leaves its rows without a value.
    cut_short_s: f64,
}

impl Default for Simulated {
    fn default() -> Self {
        Self {
            now_s: 0.0,
            random: Random::new(1),
            noise: 0.01,
            effect: 0.0,
            disturbance: |_| 0.0,
            ends_after: None,
            fails: |_, _| false,
            trials: 0,
            better: Better::Lower,
            states: Vec::new(),
            blocks: Vec::new(),
            cut_short_s: f64::INFINITY,
        }
    }
}

impl Subject for Simulated {
    type Error = std::convert::Infallible;

    fn rows(&self) -> Vec<RowSpec> {
        let row = |name: &str, moved_by| RowSpec {
            name: name.to_owned(),
            group: String::new(),
            unit: "s".to_owned(),
            better: self.better,
            moved_by,
            zero: "",
        };
        vec![row("wall time", Factors::ALL), row("control", Factors::NONE)]
    }

    fn guards(&self) -> Vec<GuardSpec> {
        vec![GuardSpec { name: "drift of arithmetic", tolerance: 0.02 }]
    }

    fn before_block(&mut self, _left_s: f64) -> Result<(), Self::Error> {
        self.blocks.push(self.trials);
        Ok(())
    }

    fn trial(&mut self, state: Cell) -> Result<Trial, Self::Error> {
        let state = state.arm(0);
        self.trials += 1;
        self.states.push(state);
        let machine = (self.disturbance)(self.now_s);
        let effect = if state == Arm::B { self.effect } else { 0.0 };
        let mut value = |effect: f64| (machine + effect + self.noise * self.random.normal()).exp();
        let values = vec![value(effect), value(0.0)];
        self.now_s += values[0];
        let failure = (self.fails)(state, self.trials).then(|| "exit code 1".to_owned());
        let values =
            if failure.is_some() || self.now_s >= self.cut_short_s { vec![f64::NAN; 2] } else { values };
        Ok(Trial { values, guards: vec![0.0], failure })
    }

    fn elapsed_s(&self) -> f64 {
        self.now_s
    }

    fn must_stop(&self) -> bool {
        self.ends_after.is_some_and(|trials| self.trials >= trials)
    }
}

const RULES: Rules = Rules { precision: 0.005, budget_s: 400.0, pairs: None, seed: 3 };

fn run_trials(mut subject: Simulated, rules: &Rules) -> (TrialLog, ExperimentOutcome) {
    let trial_log = run(&mut subject, rules, &mut NoProgress).expect("it cannot fail");
    let labels = Labels {
        called: "this program".to_owned(),
        a: "x=off".to_owned(),
        b: "x=on".to_owned(),
        ..Labels::default()
    };
    let declared = Declared { margin: 0.01, precision: rules.precision, seed: rules.seed };
    let found = outcome(&trial_log, &subject.rows(), &subject.guards(), &labels, &declared);
    (trial_log, found)
}

fn whole_blocks_only(trial_log: &TrialLog) {
    for taken in [&trial_log.aa_trials, &trial_log.trials] {
        assert_eq!(taken.trials.len() % 4, 0);
        for quad in taken.cells.chunks(4) {
            assert!(quad[0] == quad[3] && quad[1] == quad[2] && quad[0] != quad[1], "{quad:?}");
        }
    }
}

#[test]
fn a_planted_cost_is_found_whatever_the_machine_does_meanwhile() {
    let disturbances: [(&str, Disturbance); 4] = [
        ("quiet", |_| 0.0),
        ("drift", |now_s| 0.002 * now_s),
        ("period of a quad", |now_s| if now_s as u64 % 4 < 2 { 0.05 } else { 0.0 }),
        ("step", |now_s| if now_s > 150.0 { 0.3 } else { 0.0 }),
    ];
    for (name, disturbance) in disturbances {
        let subject = Simulated { effect: 0.05, disturbance, ..Simulated::default() };
        let (trial_log, found) = run_trials(subject, &RULES);
        whole_blocks_only(&trial_log);
        let row = &found.rows[0];
        assert_eq!(row.row.verdict, Verdict::Slower, "{name}: {}", found.sentence);
        assert!((row.ratio.ln() - 0.05).abs() < 0.02, "{name}: {}", row.ratio);
        assert!(found.sentence.starts_with("x=on makes this program "), "{}", found.sentence);
    }
}

#[test]
fn nothing_is_seldom_called_something() {
    let mut claims = 0;
    for seed in 0..60 {
        let disturbance: Disturbance = |now_s| 0.03 * (now_s / 7.0).sin() + 0.001 * now_s;
        let subject = Simulated { random: Random::new(seed), disturbance, ..Simulated::default() };
        let (_, found) = run_trials(subject, &Rules { seed, ..RULES });
        claims += usize::from(matches!(found.rows[0].row.verdict, Verdict::Slower | Verdict::Faster));
    }
    assert!(claims <= 2, "{claims} of 60 experiments with nothing to find");
}

#[test]
fn a_quiet_machine_ends_early_and_a_noisy_one_at_its_budget() {
    let (trial_log, found) = run_trials(Simulated { noise: 0.001, ..Simulated::default() }, &RULES);
    assert_eq!(trial_log.ended, Ended::Precise);
    assert_eq!(found.rows[0].row.verdict, Verdict::Equivalent, "{}", found.sentence);
    let (trial_log, found) = run_trials(Simulated { noise: 0.2, ..Simulated::default() }, &RULES);
    assert_eq!((trial_log.ended, found.rows[0].row.verdict), (Ended::BudgetSpent, Verdict::Inconclusive));
    assert!(found.rows[0].row.further_runs.is_some_and(|pairs| pairs > 0));
}

#[test]
fn the_budget_holds_for_aa_and_experiment_together() {
    let mut subject = Simulated { noise: 0.05, ..Simulated::default() };
    let trial_log = run(&mut subject, &RULES, &mut NoProgress).expect("it cannot fail");
    assert!(subject.now_s <= RULES.budget_s, "{}", subject.now_s);
    assert!(subject.now_s > 0.95 * RULES.budget_s, "{}", subject.now_s);
    let share = trial_log.aa_trials.trials.len() as f64 / trial_log.trials.trials.len() as f64;
    assert!((0.2..0.3).contains(&share), "{share}");
}

#[test]
fn the_aa_control_never_leaves_the_baseline() {
    let mut subject = Simulated::default();
    let trial_log = run(&mut subject, &RULES, &mut NoProgress).expect("it cannot fail");
    let (warmup, aa_control) = (trial_log.warmup.len(), trial_log.aa_trials.trials.len());
    assert!(subject.states[warmup..warmup + aa_control].iter().all(|state| *state == Arm::A));
    let proper: Vec<Arm> = trial_log.trials.cells.iter().map(|cell| cell.arm(0)).collect();
    assert_eq!(subject.states[warmup + aa_control..], proper);
}

#[test]
fn what_changes_from_block_to_block_never_changes_within_one() {
    let mut subject = Simulated::default();
    let trial_log = run(&mut subject, &RULES, &mut NoProgress).expect("it cannot fail");
    let blocks = trial_log.aa_trials.blocks() + trial_log.trials.blocks();
    let begun: Vec<usize> = (0..blocks).map(|block| trial_log.warmup.len() + 4 * block).collect();
    assert_eq!(subject.blocks, begun);
}

#[test]
fn whenever_the_user_ends_it_only_whole_quads_are_kept() {
    for ends_after in 1..80 {
        let subject = Simulated { ends_after: Some(ends_after), effect: 0.05, ..Simulated::default() };
        let rules = Rules { budget_s: 100.0, precision: 0.0001, ..RULES };
        let (trial_log, found) = run_trials(subject, &rules);
        whole_blocks_only(&trial_log);
        let counted = trial_log.aa_trials.trials.len() + trial_log.trials.trials.len();
        assert!(counted <= ends_after, "{ends_after}");
        if trial_log.ended == Ended::Interrupted {
            let open = trial_log.aa_trials.unfinished + trial_log.trials.unfinished;
            assert!(open <= 4 && found.pair_counts.taken == trial_log.trials.passes(), "{ends_after}");
        }
        assert!(!found.sentence.is_empty());
    }
}

#[test]
fn pairs_asked_for_are_taken_exactly() {
    let rules = Rules { pairs: Some(20), budget_s: 1e6, ..RULES };
    let (trial_log, found) = run_trials(Simulated::default(), &rules);
    assert_eq!(
        (trial_log.ended, trial_log.trials.passes(), found.pair_counts.taken),
        (Ended::PairsTaken, 20, 20)
    );
}

#[test]
fn what_fails_in_one_state_only_is_said_before_time_is_spent() {
    let subject = Simulated { fails: |state, _| state == Arm::B, ..Simulated::default() };
    let (trial_log, found) = run_trials(subject, &RULES);
    assert_eq!(trial_log.ended, Ended::Failing);
    assert!(trial_log.warmup.len() <= 4 && found.rows.is_empty());
    assert_eq!(
        found.sentence,
        "this program fails with x=on only (3 of 3 runs: exit code 1), so there is nothing to compare"
    );
    let subject = Simulated { fails: |_, _| true, ..Simulated::default() };
    let (_, found) = run_trials(subject, &RULES);
    assert!(
        found.sentence.contains("x=off (3 of 3") && found.sentence.contains("x=on (3 of 3"),
        "{}",
        found.sentence
    );
}

#[test]
fn a_run_that_fails_now_and_then_takes_its_pair_along_and_is_counted() {
    let subject = Simulated { fails: |_, trial| trial % 10 == 9, effect: 0.05, ..Simulated::default() };
    let (_, found) = run_trials(subject, &RULES);
    assert_eq!(found.rows[0].row.verdict, Verdict::Slower);
    assert!(found.pair_counts.failed > 0 && found.failures.len() == 2, "{:?}", found.failures);
}

#[test]
fn of_a_rate_more_is_better() {
    let subject = Simulated { effect: 0.05, better: Better::Higher, ..Simulated::default() };
    let (_, found) = run_trials(subject, &RULES);
    let row = &found.rows[0];
    assert_eq!(row.row.verdict, Verdict::Faster);
    assert!(row.row.change_percent > 4.0, "{}", row.row.change_percent);
}

#[test]
fn a_machine_that_becomes_slow_costs_one_trial_beyond_the_budget() {
    // A trial takes a second, and fourteen from a moment on.
    let disturbances: [(f64, Disturbance); 5] = [
        (0.0, |_| 2.64),
        (5.0, |now_s| if now_s >= 5.0 { 2.64 } else { 0.0 }),
        (20.0, |now_s| if now_s >= 20.0 { 2.64 } else { 0.0 }),
        (60.0, |now_s| if now_s >= 60.0 { 2.64 } else { 0.0 }),
        (90.0, |now_s| if now_s >= 90.0 { 2.64 } else { 0.0 }),
    ];
    for (slow_from_s, disturbance) in disturbances {
        for budget_s in [3.0, 30.0, 100.0] {
            let mut subject = Simulated { disturbance, ..Simulated::default() };
            let rules = Rules { budget_s, ..RULES };
            let trial_log = run(&mut subject, &rules, &mut NoProgress).expect("it cannot fail");
            whole_blocks_only(&trial_log);
            assert!(subject.now_s < budget_s + 15.0, "{slow_from_s} {budget_s}: {}", subject.now_s);
        }
    }
}

#[test]
fn progress_tells_a_share_that_never_leaves_its_bounds() {
    struct Kept(Vec<Standing>);
    impl Progress for Kept {
        fn standing(&mut self, standing: &Standing) {
            self.0.push(standing.clone());
        }
    }
    let mut kept = Kept(Vec::new());
    run(&mut Simulated { noise: 0.05, ..Simulated::default() }, &RULES, &mut kept).expect("it cannot fail");
    assert!(kept.0.iter().all(|now| (0.0..=1.0).contains(&now.share) && now.left_s <= RULES.budget_s));
    let told: Vec<&Shift> = kept.0.iter().flat_map(|now| now.shifts.iter().flatten()).collect();
    assert!(told.len() > 5 && kept.0.iter().any(|now| now.is_aa));
}

#[test]
fn what_getting_ready_took_is_part_of_the_budget() {
    let rules = Rules { budget_s: 100.0, precision: 0.0001, ..RULES };
    for (ready_s, blocks) in [(0.0, 10..25), (60.0, 4..10), (200.0, 0..1)] {
        let (trial_log, found) = run_trials(Simulated { now_s: ready_s, ..Simulated::default() }, &rules);
        assert!(blocks.contains(&trial_log.trials.blocks()), "{ready_s}: {}", trial_log.trials.blocks());
        assert_eq!(trial_log.ended, Ended::BudgetSpent);
        assert_eq!(found.sentence.starts_with("the budget was too short"), ready_s > 100.0, "{ready_s}");
    }
}

#[test]
fn a_block_whose_last_trial_the_end_of_the_budget_cut_short_does_not_count() {
    // The end falls into every trial of a block once.
    for step in 0..16 {
        let budget_s = 60.0 + 0.25 * f64::from(step);
        let subject = Simulated { cut_short_s: budget_s, ..Simulated::default() };
        let (trial_log, _) = run_trials(subject, &Rules { budget_s, precision: 1e-9, ..RULES });
        let all = trial_log.aa_trials.trials.iter().chain(&trial_log.trials.trials);
        assert!(all.flat_map(|trial| &trial.values).all(|value| !value.is_nan()), "{budget_s} s");
        whole_blocks_only(&trial_log);
    }
}
