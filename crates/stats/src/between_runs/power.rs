//! What a comparison of runs will be able to show, said before it is made: the smallest difference by class of rows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Host, Knowledge, RowClass, RowRuns, between_runs, prior_of, tail_degrees};
use crate::{LEVEL_OF_ALARMS, student_quantile};

/// A difference that can be shown is one that is found in four of five tries.
const POWER: f64 = 0.8;
/// Runs a side of the two columns.
const SIDES: [usize; 2] = [1, 3];
/// Rows of a class without a run: what a quick check-up of a two-CPU guest has in the middle class.
const ROWS_ASSUMED: usize = 4;
/// More runs a side than this nobody makes.
const RUNS_MAX: usize = 100;
/// A class shows something by what its rows share or by one of them: two looks.
const LOOKS: f64 = 2.0;

/// The smallest differences that runs of a host can show in a class of rows, as shares: 0.05 is 5 %.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reach {
    /// The class.
    pub class: RowClass,
    /// Its rows; of a class that no run has, as many as are usual.
    pub rows: usize,
    /// Where its spread is from.
    pub knowledge: Knowledge,
    /// Earlier runs behind it.
    pub runs: usize,
    /// Standard deviation of its widest row between single runs, of the logarithm.
    pub row_spread: f64,
    /// The same of what all its rows share.
    pub class_spread: f64,
    /// Smallest difference of one row, in one run against one and three against three.
    pub row: [f64; 2],
    /// The same of all its rows together.
    pub whole: [f64; 2],
    /// What it should show, if more is asked of it than of others.
    pub goal: Option<f64>,
    /// Runs a side with which the whole class would show that; `None` without a goal, or beyond a hundred.
    pub runs_for_goal: Option<usize>,
}

impl Reach {
    /// True if three runs against three cannot show what the class should.
    pub fn falls_short(&self) -> bool {
        self.goal.is_some_and(|goal| self.whole[1] > goal)
    }
}

/// What a class should show: of the core's own numbers hardly anything is noise, of memory more.
const fn goal(class: RowClass) -> Option<f64> {
    match class {
        RowClass::CoreClock | RowClass::CoreCycles => Some(0.03),
        RowClass::RandomReads => Some(0.10),
        _ => None,
    }
}

/// A spread and what it is worth.
#[derive(Debug, Clone, Copy)]
struct Known {
    spread: f64,
    degrees: f64,
}

impl Known {
    /// The smallest difference found with the power at this level of false alarms.
    fn smallest(self, runs: usize, level: f64) -> f64 {
        // Several runs a side tell of the spread as well.
        let degrees = (self.degrees + 2.0 * (runs as f64 - 1.0)).clamp(1.0, tail_degrees(runs)) as u32;
        let error = self.spread * (2.0 / runs as f64).sqrt();
        let reach = student_quantile(1.0 - level, degrees) + student_quantile(2.0 * POWER - 1.0, degrees);
        (reach * error).exp_m1()
    }
}

/// What runs of a host can show in each class: `history` has the class of each row, and its logarithms in earlier runs.
pub fn reach(history: &[(RowClass, Vec<f64>)], host: Host) -> Vec<Reach> {
    let rows: Vec<RowRuns> = history
        .iter()
        .map(|(class, earlier)| RowRuns {
            class: *class,
            sides: [vec![0.0], vec![0.0]],
            history: earlier.clone(),
            within: [0.0; 2],
            control: false,
        })
        .collect();
    let found = between_runs(&rows, host);
    let mut members: BTreeMap<RowClass, Vec<usize>> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        members.entry(row.class).or_default().push(index);
    }
    let classes = RowClass::ALL.len() as f64;
    // One run against one has twice the variance of a run.
    let of_one = |standard_error: f64| standard_error / 2.0_f64.sqrt();
    let one = |class: RowClass| {
        let prior = prior_of(class, host);
        let own = members.get(&class).map_or(&[][..], Vec::as_slice);
        let widest = own
            .iter()
            .map(|index| found.rows[*index])
            .max_by(|a, b| a.standard_error.total_cmp(&b.standard_error));
        let widest = widest.filter(|row| row.knowledge == Knowledge::History);
        let runs =
            own.iter().map(|index| rows[*index].history.iter().filter(|log| log.is_finite()).count()).max();
        let (knowledge, runs) = match widest {
            Some(_) => (Knowledge::History, runs.unwrap_or(0)),
            None => (Knowledge::Prior, 0),
        };
        let row_spread = widest.map_or(prior.row, |row| of_one(row.standard_error));
        let shared = found.classes.iter().find(|one| one.class == class && widest.is_some());
        let class_spread = match (shared, widest) {
            (Some(shared), _) => of_one(shared.difference.standard_error),
            (None, Some(_)) => row_spread,
            (None, None) => prior.common,
        };
        let degrees = if widest.is_some() { runs as f64 - 1.0 } else { prior.degrees };
        let count = if own.is_empty() { ROWS_ASSUMED } else { own.len() };
        let level = LEVEL_OF_ALARMS / (LOOKS * classes);
        let row = Known { spread: row_spread, degrees };
        let whole = Known { spread: class_spread, degrees };
        let goal = goal(class);
        Reach {
            class,
            rows: count,
            knowledge,
            runs,
            row_spread,
            class_spread,
            row: SIDES.map(|side| row.smallest(side, level / count as f64)),
            whole: SIDES.map(|side| whole.smallest(side, level)),
            goal,
            runs_for_goal: goal
                .and_then(|goal| (1..=RUNS_MAX).find(|side| whole.smallest(*side, level) <= goal)),
        }
    };
    RowClass::ALL.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn of(found: &[Reach], class: RowClass) -> &Reach {
        found.iter().find(|one| one.class == class).expect("every class has a line")
    }

    #[test]
    fn without_history_the_shipped_table_speaks_and_memory_cannot_show_ten_percent() {
        let found = reach(&[], Host::Guest);
        assert_eq!(found.len(), RowClass::ALL.len());
        let memory = of(&found, RowClass::RandomReads);
        assert_eq!((memory.knowledge, memory.runs), (Knowledge::Prior, 0));
        assert!((memory.class_spread - prior_of(RowClass::RandomReads, Host::Guest).common).abs() < 1e-12);
        assert!(memory.falls_short() && !of(&found, RowClass::CoreCycles).falls_short());
        assert!(!of(&found, RowClass::Stream).falls_short(), "nothing is asked of it");
        for one in &found {
            assert!(
                one.whole[1] < one.whole[0] && one.row[1] < one.row[0] && one.row[0] >= one.whole[0],
                "{one:?}"
            );
        }
    }

    #[test]
    fn quiet_runs_of_the_machine_itself_reach_further_and_say_with_how_many_runs_more() {
        let mut random = Random::new(5);
        let mut run = || -> Vec<f64> { (0..12).map(|_| 0.004 * random.normal()).collect() };
        let mut history: Vec<(RowClass, Vec<f64>)> = (0..4).map(|_| (RowClass::CoreCycles, run())).collect();
        history.push((RowClass::CoreClock, run()));
        let found = reach(&history, Host::Guest);
        let core = of(&found, RowClass::CoreCycles);
        assert_eq!((core.knowledge, core.runs, core.rows), (Knowledge::History, 12, 4));
        assert!(core.whole[1] < 0.03 && !core.falls_short(), "{core:?}");
        assert!(core.runs_for_goal.is_some_and(|runs| runs <= 3), "{core:?}");
        assert_eq!(of(&found, RowClass::Stream).knowledge, Knowledge::Prior);
    }

    #[test]
    fn runs_that_lack_a_row_or_are_nonsense_are_no_history() {
        let history = vec![(RowClass::Stream, vec![f64::NAN, 1.0, f64::INFINITY])];
        let found = reach(&history, Host::BareMetal);
        assert_eq!(of(&found, RowClass::Stream).knowledge, Knowledge::Prior);
        assert!(found.iter().flat_map(|one| one.row.into_iter().chain(one.whole)).all(f64::is_finite));
    }

    #[test]
    fn what_is_called_the_smallest_is_found_in_about_four_of_five_tries() {
        const TRIES: usize = 400;
        let (spread, level) = (0.05, LEVEL_OF_ALARMS / 30.0);
        let smallest = Known { spread, degrees: 14.0 }.smallest(1, level).ln_1p();
        let mut random = Random::new(8);
        let critical = student_quantile(1.0 - level, 5) * spread * 2.0_f64.sqrt();
        let found =
            (0..TRIES).filter(|_| smallest + spread * (random.normal() - random.normal()) > critical).count();
        // The power is reckoned with heavier tails than the normal ones here, so it is a little more.
        assert!((TRIES * 3 / 4..TRIES * 19 / 20).contains(&found), "{found}");
    }
}
