//! Few placements: all of them, one by one, units that are alike once.
//!
//! Threads are put into units in their order. Of the units that hold nobody yet, those whose nearest unit around them that
//! holds somebody is the same can be exchanged without a change, so only the first of them is tried.

use crate::Answer;
use crate::problem::{Level, Problem};

struct Enumeration<'a> {
    problem: &'a Problem,
    unit_of: Vec<usize>,
    /// By level: threads in each of its units.
    members: Vec<Vec<usize>>,
    best: Option<(f64, Vec<usize>)>,
    tried: u64,
    tried_max: u64,
}

/// The best of all placements; `None` if there are more than `tried_max`.
pub fn enumerate(problem: &Problem, tried_max: u64) -> Option<Answer> {
    let mut all = Enumeration {
        problem,
        unit_of: Vec::with_capacity(problem.threads()),
        members: problem.levels().iter().map(|level| vec![0; problem.units_of(level)]).collect(),
        best: None,
        tried: 0,
        tried_max,
    };
    all.place_next(0.0);
    let (_, unit_of) = all.best.filter(|_| all.tried <= tried_max)?;
    let value = problem.value(&unit_of).expect("no unit is filled beyond its room");
    Some(Answer { unit_of, value, tried: all.tried, is_all: true })
}

impl Enumeration<'_> {
    /// Puts the next thread into each unit in turn; `value` is that of the threads before it.
    fn place_next(&mut self, value: f64) {
        if self.unit_of.len() == self.problem.threads() {
            self.tried += 1;
            if self.best.as_ref().is_none_or(|(best, _)| value > *best) {
                self.best = Some((value, self.unit_of.clone()));
            }
            return;
        }
        let mut empty_seen = Vec::new();
        for unit in 0..self.problem.units() {
            if self.members[0][unit] == self.problem.capacity() {
                continue;
            }
            if self.members[0][unit] == 0 {
                let around = self.nearest_in_use(unit);
                if empty_seen.contains(&around) {
                    continue;
                }
                empty_seen.push(around);
            }
            if self.tried > self.tried_max {
                return;
            }
            let gain = self.gain(unit);
            self.unit_of.push(unit);
            self.count(unit, |members| members + 1);
            self.place_next(value + gain);
            self.count(unit, |members| members - 1);
            self.unit_of.pop();
        }
    }

    fn count(&mut self, unit: usize, change: impl Fn(usize) -> usize) {
        for (level, members) in self.problem.levels().iter().zip(&mut self.members) {
            let members = &mut members[self.problem.at_level(level, unit)];
            *members = change(*members);
        }
    }

    /// What the next thread is worth there beside those before it.
    fn gain(&self, unit: usize) -> f64 {
        let thread = self.unit_of.len();
        let at_level = |level: &Level| {
            let place = |unit: usize| self.problem.at_level(level, unit);
            let beside = self.unit_of.iter().enumerate().filter(|(_, other)| place(**other) == place(unit));
            beside.map(|(other, _)| level.pairs.of(thread, other)).sum::<f64>()
        };
        self.problem.levels().iter().map(at_level).sum()
    }

    /// The smallest unit around it that holds somebody: level and number; `None` if only the whole does.
    fn nearest_in_use(&self, unit: usize) -> Option<(usize, usize)> {
        self.problem.levels().iter().zip(&self.members).enumerate().find_map(|(index, (level, members))| {
            let place = self.problem.at_level(level, unit);
            (members[place] > 0).then_some((index, place))
        })
    }
}
