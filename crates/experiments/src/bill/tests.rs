//! Bills of programs whose costs are known, on simulated time.

use record::{Better, BillEnded, BillProgram, BillSetting, BillTurn, BillVerdict, ProgramBill};
use stats::{Factors, Random};

use super::{Course, Rules, Step, headline, program_bill};

/// A program that takes a second, more or less, and longer or shorter with each setting's other value.
struct Double {
    /// Logarithm of the time with the other value, by setting.
    effects: Vec<f64>,
    /// What two of them do together beyond their sum.
    interaction: f64,
    noise: f64,
    random: Random,
    /// Settings with which it does not work.
    broken: Vec<usize>,
    /// Works with each setting, but not with several.
    breaks_together: bool,
}

impl Double {
    fn new(effects: &[f64], noise: f64, seed: u64) -> Self {
        Self {
            effects: effects.to_vec(),
            interaction: 0.0,
            noise,
            random: Random::for_stream(seed, 1),
            broken: Vec::new(),
            breaks_together: false,
        }
    }

    fn turn(&mut self, state: Factors, now_s: f64) -> (Option<f64>, f64) {
        let switched: Vec<usize> = state.members().collect();
        let sum: f64 = switched.iter().map(|setting| self.effects[*setting]).sum();
        let beyond = if switched.len() > 1 { self.interaction } else { 0.0 };
        let value = (sum + beyond + self.noise * self.random.normal()).exp();
        let is_broken = switched.iter().any(|setting| self.broken.contains(setting));
        let works = !is_broken && (switched.len() < 2 || !self.breaks_together);
        (works.then_some(value), now_s + value)
    }
}

fn rules(settings: usize, budget_s: f64, seed: u64) -> Rules {
    Rules { settings, budget_s, margin: 0.01, seed, higher_is_better: false, programs: 1 }
}

/// Runs a bill to its end, or for so many runs.
fn course(double: &mut Double, rules: Rules, most: usize) -> (Course, BillEnded) {
    let mut course = Course::new(rules);
    let ended = on(&mut course, double, most);
    (course, ended)
}

fn on(course: &mut Course, double: &mut Double, most: usize) -> BillEnded {
    while course.turns.len() < most {
        let planned = match course.step() {
            Step::Done(ended) => return ended,
            Step::Run(planned) => planned,
        };
        let (value, ended_s) = double.turn(planned.state, course.spent_s());
        let failure = value.is_none().then(|| "exit code 1".to_owned());
        course.take(BillTurn {
            phase: planned.phase,
            block: planned.block,
            switched: planned.state.members().collect(),
            value,
            failure,
            ended_s,
        });
    }
    BillEnded::Interrupted
}

fn settings(count: usize) -> Vec<BillSetting> {
    let one = |place| BillSetting {
        name: format!("setting-{place}"),
        now: "on".to_owned(),
        ..BillSetting::default()
    };
    (0..count).map(one).collect()
}

fn facts() -> BillProgram {
    BillProgram {
        name: "double".to_owned(),
        group: String::new(),
        control: false,
        measured: "wall time".to_owned(),
        unit: "s".to_owned(),
        better: Better::Lower,
    }
}

fn bill(double: &mut Double, budget_s: f64, seed: u64) -> ProgramBill {
    let count = double.effects.len();
    let (course, ended) = course(double, rules(count, budget_s, seed), usize::MAX);
    program_bill(&course, &settings(count), &facts(), ended)
}

fn cost(bill: &ProgramBill, place: usize) -> (BillVerdict, f64) {
    let name = format!("setting-{place}");
    let entry =
        bill.entries.iter().find(|entry| entry.about.name == name).expect("every setting has an entry");
    (entry.verdict, entry.amount.map_or(f64::NAN, |amount| amount.cost_percent))
}

#[test]
fn planted_costs_are_ranked_and_nothing_else_is_named() {
    // The other value of settings 2, 5 and 7 is 10, 3 and 1 % faster.
    let mut effects = vec![0.0; 12];
    for (place, percent) in [(2, 10.0_f64), (5, 3.0), (7, 1.0)] {
        effects[place] = -(percent / 100.0).ln_1p();
    }
    let found = bill(&mut Double::new(&effects, 0.004, 1), 600.0, 1);
    let named: Vec<&str> = found
        .entries
        .iter()
        .filter(|entry| entry.verdict == BillVerdict::Costs)
        .map(|entry| entry.about.name.as_str())
        .collect();
    assert_eq!(
        named,
        ["setting-2", "setting-5", "setting-7"],
        "{:?}",
        headline(std::slice::from_ref(&found))
    );
    for (place, percent) in [(2, 10.0), (5, 3.0), (7, 1.0)] {
        let (_, shown) = cost(&found, place);
        assert!((shown - percent).abs() < 0.8, "{place}: {shown}");
    }
    let joint = found.joint.expect("two and more are run together");
    let whole = 100.0 * (1.1 * 1.03 * 1.01 - 1.0);
    // One bill of twenty misses by its interval; none by twice its half-width, which is 0.5 where it ends.
    assert!((joint.cost_percent - whole).abs() < 1.2, "{joint:?}");
    let remainder = found.remainder.expect("it was run");
    assert!(remainder.cost_percent.abs() < 1.8, "{remainder:?}");
    assert!(headline(&[found]).starts_with("settings cost this program 1"));
}

#[test]
fn settings_that_do_nothing_are_not_named() {
    let named: usize = (0..6)
        .map(|seed| {
            let found = bill(&mut Double::new(&[0.0; 12], 0.02, seed), 400.0, seed);
            found
                .entries
                .iter()
                .filter(|entry| matches!(entry.verdict, BillVerdict::Costs | BillVerdict::Saves))
                .count()
        })
        .sum();
    assert!(named <= 1, "{named}");
}

#[test]
fn what_settings_do_together_beyond_their_sum_is_the_remainder() {
    let mut double = Double::new(&[-0.05, -0.05, 0.0], 0.004, 5);
    double.interaction = 0.05;
    let found = bill(&mut double, 300.0, 5);
    let remainder = found.remainder.expect("both are recommended");
    assert!(remainder.interval.high < -3.0, "{remainder:?}");
}

#[test]
fn a_setting_that_breaks_the_program_is_a_line_of_the_bill() {
    let mut double = Double::new(&[0.0, -0.1, 0.0], 0.004, 2);
    double.broken = vec![2];
    let found = bill(&mut double, 200.0, 2);
    assert_eq!(cost(&found, 2).0, BillVerdict::Fails);
    assert_eq!(cost(&found, 1).0, BillVerdict::Costs);
    let entry = found.entries.iter().find(|entry| entry.verdict == BillVerdict::Fails).expect("it is there");
    assert_eq!(entry.failure.as_deref(), Some("exit code 1, in 3 of 3 runs"));
}

#[test]
fn a_program_that_fails_with_every_setting_has_no_price() {
    let mut double = Double::new(&[0.0, 0.0], 0.004, 2);
    double.broken = vec![0, 1];
    let found = bill(&mut double, 100.0, 2);
    let sentence = headline(&[found]);
    assert_eq!(sentence, "no setting could be priced; it fails with setting-0=, setting-1=");
}

#[test]
fn changes_that_break_the_program_together_end_the_bill() {
    let mut double = Double::new(&[-0.1, -0.1], 0.004, 2);
    double.breaks_together = true;
    let found = bill(&mut double, 1000.0, 2);
    assert!(found.joint.is_none() && found.ended == BillEnded::TimeUp);
    assert_eq!(found.turns.iter().filter(|turn| turn.switched.len() > 1).count(), 3);
    assert!(headline(&[found]).contains("was not measured"));
}

#[test]
fn no_run_begins_after_the_time_and_nothing_is_named_by_few() {
    for (settings, budget_s) in [(1, 4.0), (1, 9.0), (3, 6.0), (3, 15.0), (11, 12.0), (11, 33.0), (11, 47.0)]
    {
        for seed in 0..5 {
            let mut double = Double::new(&vec![0.0; settings], 0.05, seed);
            let found = bill(&mut double, budget_s, seed);
            let ends = std::iter::once(0.0).chain(found.turns.iter().map(|turn| turn.ended_s));
            let late =
                ends.zip(&found.turns).filter(|(begun, turn)| *begun > budget_s && !turn.switched.is_empty());
            assert_eq!(late.count(), 0, "{settings} {budget_s} {seed}");
            let widths =
                found.entries.iter().filter_map(|entry| entry.amount).map(|one| one.interval.half_width());
            assert!(widths.fold(f64::INFINITY, f64::min) > 0.1, "{settings} {budget_s} {seed}");
        }
    }
}

#[test]
fn a_bill_that_was_killed_after_any_run_ends_as_the_one_that_was_not() {
    let effects = [0.0, -0.05, -0.03, 0.0];
    let (whole, ended) = course(&mut Double::new(&effects, 0.004, 3), rules(4, 120.0, 3), usize::MAX);
    for killed_after in (0..whole.turns.len()).step_by(7) {
        let journal = whole.turns[..killed_after].to_vec();
        let mut resumed = Course::resumed(rules(4, 120.0, 3), journal).expect("its own runs");
        for turn in &whole.turns[killed_after..] {
            let Step::Run(planned) = resumed.step() else { panic!("ended early after {killed_after}") };
            assert_eq!((planned.phase, planned.block), (turn.phase, turn.block));
            assert!(planned.state.members().eq(turn.switched.iter().copied()));
            resumed.take(turn.clone());
        }
        assert_eq!(resumed.step(), Step::Done(ended), "{killed_after}");
    }
}

#[test]
fn runs_of_another_bill_are_no_journal_of_this_one() {
    let (whole, _) = course(&mut Double::new(&[0.0; 4], 0.01, 3), rules(4, 60.0, 3), 30);
    assert!(Course::resumed(rules(4, 60.0, 4), whole.turns.clone()).is_none());
    assert!(Course::resumed(rules(5, 60.0, 3), whole.turns).is_none());
}

#[test]
fn a_bill_interrupted_at_any_run_gives_what_it_has() {
    let effects = [0.0, -0.1, 0.0];
    let (whole, _) = course(&mut Double::new(&effects, 0.004, 4), rules(3, 100.0, 4), usize::MAX);
    for runs in (0..whole.turns.len()).step_by(5) {
        let part = Course::resumed(rules(3, 100.0, 4), whole.turns[..runs].to_vec()).expect("its own runs");
        let found = program_bill(&part, &settings(3), &facts(), BillEnded::Interrupted);
        assert_eq!(found.entries.len(), 3);
        assert!(!headline(&[found]).is_empty());
    }
}
