//! Experiments of two and of four states on a simulated clock: planted effects, drift, periods, steps, false alarms, failures, and an end
//! at any point.

use record::{Better, Ended, ExperimentOutcome, ExperimentSubject};
use stats::{Cell, Comparison, Factors, Random, Shift, Verdict};

use super::outcome::{Declared, counts, failures};
use super::subject::{GuardSpec, RowSpec, Subject, Trial};
use super::{Labels, Progress, Rules, Standing, TrialLog, outcome, run, run_factorial};

/// No progress is shown.
struct NoProgress;

impl Progress for NoProgress {
    fn standing(&mut self, _standing: &Standing) {}
}

/// What the simulated machine does to a trial that begins at a time.
type Disturbance = fn(f64) -> f64;

/// Two factors.
const FACTORS: usize = 2;

/// A simulated program of about a second; the planted effects, in the order of [`Factors::effects`], are its only law.
struct Simulated {
    now_s: f64,
    random: Random,
    noise: f64,
    planted: [f64; 3],
    disturbance: Disturbance,
    /// Trials until the user presses Ctrl-C.
    ends_after: Option<usize>,
    fails: fn(Cell, usize) -> bool,
    trials: usize,
    better: Better,
    states: Vec<Cell>,
    /// Trials done at the start of each block.
    blocks: Vec<usize>,
    /// From then on a trial leaves its rows without a value.
    cut_short_s: f64,
}

impl Default for Simulated {
    fn default() -> Self {
        Self::with([0.0; 3])
    }
}

impl Simulated {
    fn with(planted: [f64; 3]) -> Self {
        Self {
            now_s: 0.0,
            random: Random::new(1),
            noise: 0.01,
            planted,
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

    /// With one toggle, or two programs.
    fn one(effect: f64) -> Self {
        Self::with([effect, 0.0, 0.0])
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
            better: self.better,
            moved_by,
            zero: "",
        };
        vec![row("wall time", Factors::ALL), row("CPU time", Factors::ALL), row("control", Factors::NONE)]
    }

    fn guards(&self) -> Vec<GuardSpec> {
        vec![GuardSpec { name: "drift of arithmetic", tolerance: 0.02 }]
    }

    fn before_block(&mut self, _left_s: f64) -> Result<(), Self::Error> {
        self.blocks.push(self.trials);
        Ok(())
    }

    fn trial(&mut self, cell: Cell) -> Result<Trial, Self::Error> {
        self.trials += 1;
        self.states.push(cell);
        let (machine, effect) = ((self.disturbance)(self.now_s), self.log(cell));
        let noise = self.noise * self.random.normal();
        let mut own = || 0.2 * self.noise * self.random.normal();
        // Wall and CPU time of one run are nearly one number.
        let logs = [effect + noise, effect + noise + own(), own()];
        let mut values: Vec<f64> = logs.iter().map(|log| (machine + log).exp()).collect();
        self.now_s += values[0];
        let failure = (self.fails)(cell, self.trials).then(|| "exit code 1".to_owned());
        if failure.is_some() || self.now_s >= self.cut_short_s {
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

const RULES: Rules = Rules { precision: 0.005, budget_s: 400.0, pairs: None, seed: 3 };

fn run_trials(mut subject: Simulated, rules: &Rules) -> (TrialLog, ExperimentOutcome) {
    let trial_log = run(&mut subject, rules, &mut NoProgress).expect("it cannot fail");
    let about =
        ExperimentSubject { a: "x=off".to_owned(), b: "x=on".to_owned(), ..ExperimentSubject::default() };
    let labels = Labels { about, called: "this program".to_owned(), ..Labels::default() };
    let declared = Declared { margin: 0.01, precision: rules.precision, seed: rules.seed };
    let found = outcome(&trial_log, &subject.rows(), &subject.guards(), &labels, &declared);
    (trial_log, found)
}

fn whole_blocks_only(trial_log: &TrialLog) {
    for taken in [&trial_log.aa_trials, &trial_log.trials] {
        assert_eq!(taken.trials.len() % 4, 0);
        for block in taken.cells.chunks(4) {
            assert!(block[0] == block[3] && block[1] == block[2] && block[0] != block[1], "{block:?}");
        }
    }
}

#[test]
fn a_planted_cost_is_found_whatever_the_machine_does_meanwhile() {
    let disturbances: [(&str, Disturbance); 4] = [
        ("quiet", |_| 0.0),
        ("drift", |now_s| 0.002 * now_s),
        ("period of a block", |now_s| if now_s as u64 % 4 < 2 { 0.05 } else { 0.0 }),
        ("step", |now_s| if now_s > 150.0 { 0.3 } else { 0.0 }),
    ];
    for (name, disturbance) in disturbances {
        let subject = Simulated { disturbance, ..Simulated::one(0.05) };
        let (trial_log, found) = run_trials(subject, &RULES);
        whole_blocks_only(&trial_log);
        let row = &found.rows[0];
        assert_eq!(row.row.verdict, Verdict::Slower, "{name}: {}", found.head.sentence);
        assert!((row.ratio.ln() - 0.05).abs() < 0.02, "{name}: {}", row.ratio);
        assert!(found.head.sentence.starts_with("x=on makes this program "), "{}", found.head.sentence);
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
    assert_eq!(found.rows[0].row.verdict, Verdict::Equivalent, "{}", found.head.sentence);
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
    assert!(subject.states[warmup..warmup + aa_control].iter().all(|state| *state == Cell::BASELINE));
    assert_eq!(subject.states[warmup + aa_control..], trial_log.trials.cells);
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
fn whenever_the_user_ends_it_only_whole_blocks_are_kept() {
    for ends_after in 1..80 {
        let subject = Simulated { ends_after: Some(ends_after), ..Simulated::one(0.05) };
        let rules = Rules { budget_s: 100.0, precision: 0.0001, ..RULES };
        let (trial_log, found) = run_trials(subject, &rules);
        whole_blocks_only(&trial_log);
        let counted = trial_log.aa_trials.trials.len() + trial_log.trials.trials.len();
        assert!(counted <= ends_after, "{ends_after}");
        if trial_log.ended == Ended::Interrupted {
            let open = trial_log.aa_trials.unfinished + trial_log.trials.unfinished;
            assert!(open <= 4 && found.pair_counts.taken == trial_log.trials.passes(), "{ends_after}");
        }
        assert!(!found.head.sentence.is_empty());
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
    let subject = Simulated { fails: |cell, _| cell != Cell::BASELINE, ..Simulated::default() };
    let (trial_log, found) = run_trials(subject, &RULES);
    assert_eq!(trial_log.ended, Ended::Failing);
    assert!(trial_log.warmup.len() <= 4 && found.rows.is_empty());
    assert_eq!(
        found.head.sentence,
        "this program fails with x=on only (3 of 3 runs: exit code 1), so there is nothing to compare"
    );
    let subject = Simulated { fails: |_, _| true, ..Simulated::default() };
    let (_, found) = run_trials(subject, &RULES);
    assert!(
        found.head.sentence.contains("x=off (3 of 3") && found.head.sentence.contains("x=on (3 of 3"),
        "{}",
        found.head.sentence
    );
}

#[test]
fn a_run_that_fails_now_and_then_takes_its_pair_along_and_is_counted() {
    let subject = Simulated { fails: |_, trial| trial % 10 == 9, ..Simulated::one(0.05) };
    let (_, found) = run_trials(subject, &RULES);
    assert_eq!(found.rows[0].row.verdict, Verdict::Slower);
    assert!(found.pair_counts.failed > 0 && found.failures.len() == 2, "{:?}", found.failures);
}

#[test]
fn of_a_rate_more_is_better() {
    let subject = Simulated { better: Better::Higher, ..Simulated::one(0.05) };
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
    let described: Vec<&Shift> = kept.0.iter().flat_map(|now| now.shifts.iter().flatten()).collect();
    assert!(described.len() > 5 && kept.0.iter().any(|now| now.is_aa));
}

#[test]
fn what_getting_ready_took_is_part_of_the_budget() {
    let rules = Rules { budget_s: 100.0, precision: 0.0001, ..RULES };
    for (ready_s, blocks) in [(0.0, 10..25), (60.0, 4..10), (200.0, 0..1)] {
        let (trial_log, found) = run_trials(Simulated { now_s: ready_s, ..Simulated::default() }, &rules);
        assert!(blocks.contains(&trial_log.trials.blocks()), "{ready_s}: {}", trial_log.trials.blocks());
        assert_eq!(trial_log.ended, Ended::BudgetSpent);
        assert_eq!(found.head.sentence.starts_with("the budget was too short"), ready_s > 100.0, "{ready_s}");
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

const RULES_OF_FOUR: Rules = Rules { budget_s: 800.0, ..RULES };

const DISTURBANCES: [(&str, Disturbance); 4] = [
    ("quiet", |_| 0.0),
    ("drift", |now_s| 0.002 * now_s),
    ("period of a block", |now_s| if now_s as u64 % 8 < 4 { 0.03 } else { 0.0 }),
    ("step", |now_s| if now_s > 150.0 { 0.3 } else { 0.0 }),
];

fn run_four(mut subject: Simulated, rules: &Rules) -> TrialLog {
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
        let trial_log = run_four(subject, &Rules { budget_s: 4000.0, ..RULES_OF_FOUR });
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
            let trial_log = run_four(subject, &Rules { seed, ..RULES_OF_FOUR });
            for found in &found(&trial_log, 0)[1..] {
                assert!(found.p > 0.001 || found.ratio.ln().abs() < 0.01, "{name}, {seed}: {found:?}");
            }
        }
    }
}

#[test]
fn of_four_states_nothing_is_seldom_called_something() {
    for (name, disturbance) in DISTURBANCES {
        let (mut alarms, mut banners) = (0, 0);
        for seed in 0..25 {
            let subject = Simulated { random: Random::new(seed), disturbance, ..Simulated::with([0.0; 3]) };
            let trial_log = run_four(subject, &Rules { seed, budget_s: 300.0, ..RULES_OF_FOUR });
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
    let rules = Rules { pairs: Some(40), budget_s: 1e6, ..RULES_OF_FOUR };
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
    let trial_log = run_four(Simulated { noise: 0.001, ..Simulated::with([0.2, 0.0, 0.0]) }, &RULES_OF_FOUR);
    assert_eq!((trial_log.ended, trial_log.trials.blocks()), (Ended::Precise, 12));
    let trial_log = run_four(Simulated { noise: 0.1, ..Simulated::with([0.5, 0.0, 0.0]) }, &RULES_OF_FOUR);
    assert_eq!(trial_log.ended, Ended::BudgetSpent);
    assert!(found(&trial_log, 0)[0].p < 0.001);
}

#[test]
fn of_four_states_only_whole_blocks_are_kept_whenever_the_user_ends_it() {
    for ends_after in 1..60 {
        let subject = Simulated { ends_after: Some(ends_after), ..Simulated::with([0.05, 0.0, 0.0]) };
        let trial_log = run_four(subject, &Rules { precision: 0.0001, ..RULES_OF_FOUR });
        assert_eq!(trial_log.trials.trials.len() % 8, 0);
        assert!(trial_log.ended == Ended::Interrupted && trial_log.trials.unfinished <= 8, "{ends_after}");
    }
}

#[test]
fn a_state_that_always_fails_is_known_before_time_is_spent() {
    let both = |cell: Cell, _: usize| cell.index() == 3;
    let trial_log = run_four(Simulated { fails: both, ..Simulated::with([0.0; 3]) }, &RULES_OF_FOUR);
    assert_eq!((trial_log.ended, trial_log.warmup.len()), (Ended::Failing, 6));
    let failed = failures(&trial_log);
    assert_eq!((failed.len(), failed[0].state.as_str(), failed[0].failed, failed[0].of), (1, "bb", 3, 3));
    let trial_log = run_four(Simulated { fails: |_, _| true, ..Simulated::with([0.0; 3]) }, &RULES_OF_FOUR);
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
    let trial_log =
        run_factorial(&mut subject, FACTORS, &RULES_OF_FOUR, &mut NoProgress).expect("it cannot fail");
    let guards = subject.guards();
    let counts = counts(&trial_log.trials, &trial_log.trials.guarded(&guards), &guards);
    assert!(counts.kept < counts.taken && counts.dropped.len() == 1);
    let [first, _, both] = found(&trial_log, 0);
    assert!((first.ratio.ln() - 0.05).abs() < 0.002);
    assert!(both.ratio.ln().abs() < 0.002);
}
