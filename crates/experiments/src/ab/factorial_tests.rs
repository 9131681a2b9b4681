//! Factorial experiments on a simulated clock: planted effects, drift, steps, false alarms, failures, an early end.

use record::{Better, Ended, FactorialOutcome, FactorialRow, FactorialToggle};
use stats::{Cell, Comparison, Factors, Random, Verdict};

use super::factorial::{Ran, factorial_outcome, has_verdicts};
use super::outcome::Declared;
use super::subject::{GuardSpec, RowSpec, Subject, Trial};
use super::{Course, Labels, Progress, Rules, Standing, outcome, run, run_factorial};

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
    factors: usize,
    planted: Vec<f64>,
    disturbance: Disturbance,
    fails: fn(Cell) -> bool,
    ends_after: Option<usize>,
    trials: usize,
}

impl Simulated {
    fn with(factors: usize, planted: &[f64]) -> Self {
        Self {
            now_s: 0.0,
            random: Random::new(1),
            noise: 0.01,
            factors,
            planted: planted.to_vec(),
            disturbance: |_| 0.0,
            fails: |_| false,
            ends_after: None,
            trials: 0,
        }
    }

    fn log(&self, cell: Cell) -> f64 {
        let share =
            |(effect, size): (Factors, &f64)| effect.sign(cell) * size / f64::from(1_u32 << effect.order());
        Factors::effects(self.factors).into_iter().zip(&self.planted).map(share).sum()
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

fn toggles(factors: usize) -> Vec<FactorialToggle> {
    let toggle = |name: &str| FactorialToggle { name: name.into(), a: "off".into(), b: "on".into() };
    ["x", "y", "z", "w"][..factors].iter().map(|name| toggle(name)).collect()
}

fn conduct(mut subject: Simulated, rules: &Rules) -> (Course, FactorialOutcome) {
    let factors = subject.factors;
    let course = run_factorial(&mut subject, factors, rules, &mut NoProgress).expect("it cannot fail");
    let labels = Labels { called: "this program".to_owned(), ..Labels::default() };
    let declared = Declared { margin: 0.01, precision: rules.precision, seed: rules.seed };
    let (rows, guards) = (subject.rows(), subject.guards());
    let ran = Ran { course: &course, rows: &rows, guards: &guards };
    let found = factorial_outcome(ran, &toggles(factors), &labels, &declared);
    (course, found)
}

fn told<'a>(found: &'a FactorialOutcome, effect: &str) -> &'a FactorialRow {
    found.rows.iter().find(|row| row.told && row.effect == effect).expect("each effect is told")
}

#[test]
fn planted_effects_are_found_each_for_itself_whatever_the_machine_does_meanwhile() {
    // x, y, z, x x y, x x z, y x z, all three.
    let planted = [0.05, 0.0, -0.03, 0.06, 0.0, 0.0, 0.0];
    let names = ["x", "y", "z", "x x y", "x x z", "y x z", "x x y x z"];
    for (name, disturbance) in DISTURBANCES {
        let subject = Simulated { disturbance, ..Simulated::with(3, &planted) };
        let (_, found) = conduct(subject, &Rules { budget_s: 4000.0, ..RULES });
        for (effect, size) in names.iter().zip(planted) {
            let row = told(&found, effect);
            let (log, interval) = (row.row.ratio.ln(), row.row.ratio_interval.expect("enough blocks"));
            // A disturbance with steps in a block is noise, and wide intervals say so.
            assert!((log - size).abs() < 0.03, "{name}, {effect}: {log}, not {size}");
            assert!(interval.map(f64::ln).half_width() < 0.06, "{name}, {effect}: {interval}");
        }
        let verdict = |effect| told(&found, effect).row.row.verdict;
        assert_eq!(verdict("x"), Verdict::Slower, "{name}: {:?}", found.sentences);
        assert_eq!(verdict("x x y"), Verdict::Slower, "{name}: {:?}", found.sentences);
        assert_eq!(verdict("z"), Verdict::Faster, "{name}: {:?}", found.sentences);
        assert!(found.controls.iter().all(|row| row.row.row.verdict != Verdict::Slower), "{name}");
    }
}

#[test]
fn what_a_toggle_does_alone_leaks_into_no_other_effect() {
    for (name, disturbance) in DISTURBANCES {
        for seed in 0..5 {
            let subject =
                Simulated { disturbance, random: Random::new(seed), ..Simulated::with(2, &[0.5, 0.0, 0.0]) };
            let (_, found) = conduct(subject, &Rules { seed, ..RULES });
            for effect in ["y", "x x y"] {
                let row = &told(&found, effect).row.row;
                let claims = matches!(row.verdict, Verdict::Slower | Verdict::Faster);
                assert!(!claims, "{name}, {seed}: {effect} {:?}", row.interval);
            }
        }
    }
}

/// Alarms of raw p, claims, and banners in experiments with nothing to find.
fn of_nothing(factors: usize, experiments: u64, disturbance: Disturbance) -> [usize; 3] {
    let (mut alarms, mut claims, mut banners) = (0, 0, 0);
    for seed in 0..experiments {
        let subject = Simulated { random: Random::new(seed), disturbance, ..Simulated::with(factors, &[]) };
        let (course, found) = conduct(subject, &Rules { seed, budget_s: 300.0, ..RULES });
        let guarded = course.trials.guarded(&[]);
        let last = *Factors::effects(factors).last().expect("at least one factor");
        let logs = course.trials.block_logs(0, last, &guarded);
        alarms += usize::from(Comparison::of_log_ratios(&logs).is_some_and(|found| found.p <= 0.05));
        let claimed = |row: &FactorialRow| matches!(row.row.row.verdict, Verdict::Slower | Verdict::Faster);
        claims += usize::from(found.rows.iter().any(claimed));
        banners += usize::from(found.aa.contaminated);
    }
    [alarms, claims, banners]
}

#[test]
fn nothing_is_seldom_called_something() {
    for (name, disturbance) in DISTURBANCES {
        let [alarms, claims, banners] = of_nothing(2, 25, disturbance);
        // 6 or more of 25 come by chance once in 800 (binomial).
        assert!(alarms <= 5, "{name}: {alarms} of 25 interactions at 5 %");
        assert!(claims <= 1, "{name}: {claims} of 25 experiments with nothing to find claim something");
        assert!(banners <= 1, "{name}: {banners} of 25 experiments are not to be believed");
    }
}

#[test]
fn one_toggle_is_the_experiment_without_factorial() {
    let rules = Rules { pairs: Some(40), budget_s: 1e6, ..RULES };
    let subject = || Simulated::with(1, &[0.05]);
    let (factorial, found) = conduct(subject(), &rules);
    let plain = run(&mut subject(), &rules, &mut NoProgress).expect("it cannot fail");
    // The first random draws of both are the same; without factorial the twin has them.
    let first = plain.twin_trials.cells.len().min(factorial.trials.cells.len());
    assert_eq!(factorial.trials.cells[..first], plain.twin_trials.cells[..first]);
    assert_eq!(factorial.trials.passes(), plain.trials.passes());
    // From the same trials both tell the same.
    let labels = Labels { a: "x=off".to_owned(), b: "x=on".to_owned(), ..Labels::default() };
    let declared = Declared { margin: 0.01, precision: rules.precision, seed: rules.seed };
    let same = outcome(&factorial, &subject().rows(), &subject().guards(), &labels, &declared);
    let (a, b) = (&same.rows[0], &found.rows[0].row);
    assert_eq!(
        (a.ratio_interval, a.row.p, a.row.q, a.row.verdict),
        (b.ratio_interval, b.row.p, b.row.q, b.row.verdict)
    );
    assert!((a.row.a - b.row.a).abs() < 1e-9 && (a.row.b - b.row.b).abs() < 1e-9);
}

#[test]
fn widths_end_it_and_never_significance() {
    let quiet = Simulated { noise: 0.001, ..Simulated::with(2, &[0.2]) };
    let (course, found) = conduct(quiet, &RULES);
    assert_eq!((course.ended, course.trials.blocks()), (Ended::Precise, 12));
    assert!(has_verdicts(&found));
    let noisy = Simulated { noise: 0.1, ..Simulated::with(2, &[0.5]) };
    let (course, found) = conduct(noisy, &RULES);
    assert_eq!((course.ended, has_verdicts(&found)), (Ended::BudgetSpent, false));
    assert_eq!(told(&found, "x").row.row.verdict, Verdict::Slower);
}

#[test]
fn whenever_the_user_ends_it_only_whole_blocks_are_kept() {
    for ends_after in 1..60 {
        let subject = Simulated { ends_after: Some(ends_after), ..Simulated::with(2, &[0.05]) };
        let (course, found) = conduct(subject, &Rules { precision: 0.0001, ..RULES });
        assert_eq!(course.trials.trials.len() % 8, 0);
        assert!(course.ended == Ended::Interrupted && course.trials.unfinished <= 8, "{ends_after}");
        assert!(!found.sentences.is_empty() && found.cells.len() == 4);
    }
}

#[test]
fn each_combination_has_its_values_and_its_distance_from_the_first() {
    let subject = Simulated { noise: 0.001, ..Simulated::with(2, &[0.04, 0.02, 0.02]) };
    let (_, found) = conduct(subject, &RULES);
    let changes: Vec<Option<f64>> = found.cells.iter().map(|cell| cell.values[0].change_percent).collect();
    // y at A: x costs 0.03; x at A: y costs 0.01; together 0.06.
    for (found, log) in changes[1..].iter().zip([0.03_f64, 0.01, 0.06]) {
        let found = found.expect("it was compared");
        assert!((found - 100.0 * log.exp_m1()).abs() < 0.1, "{changes:?}");
    }
    assert_eq!((changes[0], found.cells[1].state.as_str()), (None, "ba"));
    assert_eq!(found.cells[2].name, "x=off, y=on");
}

#[test]
fn sentences_say_what_each_does_and_whether_they_add_up() {
    let subject = Simulated { noise: 0.001, ..Simulated::with(2, &[0.05, 0.0, 0.03]) };
    let (_, found) = conduct(subject, &RULES);
    assert_eq!(
        found.sentences,
        [
            "averaged over both states of y, x=on makes this program 5.1 % slower [5.1, 5.2]",
            "averaged over both states of x, y=on makes no difference beyond 1.0 % to this program: 0.00 % [-0.1, 0.04]",
            "together x=on and y=on make this program 3.0 % slower [2.9, 3.1] than the two alone would",
            "control control moved 0.01 % [0.00, 0.01] at most; A/A 0.02 % at most",
        ]
    );
    let (_, found) = conduct(Simulated { noise: 0.001, ..Simulated::with(3, &[0.05]) }, &RULES);
    assert_eq!(found.sentences[3], "no interaction beyond 1.0 %: x x y, x x z, y x z, x x y x z");
    let (_, found) = conduct(Simulated { noise: 0.001, ..Simulated::with(2, &[0.05]) }, &RULES);
    assert!(found.sentences[2].starts_with("no interaction of x and y in this program beyond 1.0 %: "));
}

#[test]
fn a_combination_that_always_fails_is_named_before_time_is_spent() {
    let both = |cell: Cell| Factors::of([0, 1]).are_set(cell);
    let (course, found) = conduct(Simulated { fails: both, ..Simulated::with(2, &[]) }, &RULES);
    assert_eq!((course.ended, course.rehearsal.len(), found.rows.len()), (Ended::Failing, 6, 0));
    assert_eq!(
        found.sentences,
        ["this program fails only with x=on, y=on (3 of 3 runs: exit code 1); there is nothing to compare"]
    );
    let (_, found) = conduct(Simulated { fails: |_| true, ..Simulated::with(2, &[]) }, &RULES);
    assert_eq!(found.sentences, ["this program fails in all 4 combinations (3 of 3 runs: exit code 1)"]);
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
    let mut subject = Guarded(Simulated { noise: 0.001, ..Simulated::with(2, &[0.05, 0.0, 0.0]) });
    let course = run_factorial(&mut subject, 2, &RULES, &mut NoProgress).expect("it cannot fail");
    let (rows, guards) = (subject.rows(), subject.guards());
    let ran = Ran { course: &course, rows: &rows, guards: &guards };
    let declared = Declared { margin: 0.01, precision: 0.005, seed: 3 };
    let found = factorial_outcome(ran, &toggles(2), &Labels::default(), &declared);
    assert!(found.pass_counts.kept < found.pass_counts.taken && found.pass_counts.dropped.len() == 1);
    assert!((told(&found, "x").row.ratio.ln() - 0.05).abs() < 0.002);
    assert_eq!(told(&found, "x x y").row.row.verdict, Verdict::Equivalent);
}
