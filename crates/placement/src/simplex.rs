//! The simplex method for choosing groups: rows for threads, for the number of groups, for triples; the inverse of the basis at
//! hand.

use stats::Random;

use crate::problem::PairValues;
use crate::subsets::Sizes;

/// Size of the random shifts of the right-hand side: without them, ties make the simplex method stand still.
const SHIFT: f64 = 1e-5;
/// Pivots smaller than this would spoil the inverse.
const PIVOT_MIN: f64 = 1e-7;
/// Steps without a look at all groups.
const STEPS_MAX: usize = 4000;

/// A group and what it is worth.
#[derive(Clone)]
pub(crate) struct Column {
    /// In rising order.
    pub(crate) members: Vec<usize>,
    pub(crate) worth: f64,
}

/// What stands in a row of the basis.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Basic {
    /// A thread without a group, which nobody wants.
    Unwanted,
    /// A triple of which no group has two, which costs nothing.
    Spare,
    Group(usize),
}

/// Rows are threads, one that counts groups where their number is free, and triples of which at most one group may have two.
pub(crate) struct Tableau<'a> {
    threads: usize,
    counts_groups: bool,
    triples: &'a [[usize; 3]],
    columns: Vec<(Column, Vec<usize>)>,
    /// Worth of a thread without a group.
    unwanted: f64,
    basis: Vec<Basic>,
    inverse: Vec<f64>,
    amounts: Vec<f64>,
}

impl<'a> Tableau<'a> {
    pub(crate) fn new(
        pairs: &PairValues,
        sizes: Sizes,
        groups: usize,
        triples: &'a [[usize; 3]],
        columns: Vec<Column>,
        seed: u64,
    ) -> Self {
        let threads = pairs.threads();
        // Where all places are taken the number of groups follows from that of threads, and its row would be one too many.
        let counts_groups = sizes.least != sizes.most;
        let rows = threads + usize::from(counts_groups) + triples.len();
        let mut random = Random::new(seed);
        let mut inverse = vec![0.0; rows * rows];
        for row in 0..rows {
            inverse[row * rows + row] = 1.0;
        }
        let wanted = |row: usize| if counts_groups && row == threads { groups as f64 } else { 1.0 };
        let largest = pairs.largest().max(f64::MIN_POSITIVE);
        let mut tableau = Self {
            threads,
            counts_groups,
            triples,
            columns: Vec::new(),
            unwanted: -2.0 * largest * (sizes.most * sizes.most) as f64,
            basis: (0..rows)
                .map(|row| if row < rows - triples.len() { Basic::Unwanted } else { Basic::Spare })
                .collect(),
            inverse,
            amounts: (0..rows).map(|row| wanted(row) + SHIFT * random.unit()).collect(),
        };
        for column in columns {
            tableau.add(column);
        }
        tableau
    }

    fn first_triple(&self) -> usize {
        self.threads + usize::from(self.counts_groups)
    }

    pub(crate) fn add(&mut self, column: Column) {
        let mut rows = column.members.clone();
        if self.counts_groups {
            rows.push(self.threads);
        }
        let has_two =
            |triple: &[usize; 3]| triple.iter().filter(|thread| column.members.contains(thread)).count() >= 2;
        let first = self.first_triple();
        rows.extend(
            self.triples.iter().enumerate().filter(|(_, one)| has_two(one)).map(|(index, _)| first + index),
        );
        self.columns.push((column, rows));
    }

    fn prices(&self) -> Vec<f64> {
        let rows = self.basis.len();
        let mut prices = vec![0.0; rows];
        for (row, basic) in self.basis.iter().enumerate() {
            let worth = match basic {
                Basic::Spare => continue,
                Basic::Unwanted => self.unwanted,
                Basic::Group(column) => self.columns[*column].0.worth,
            };
            for (price, part) in prices.iter_mut().zip(&self.inverse[row * rows..(row + 1) * rows]) {
                *price += worth * part;
            }
        }
        prices
    }

    pub(crate) fn prices_of_threads(&self) -> Vec<f64> {
        let mut prices = self.prices();
        prices.truncate(self.threads);
        prices
    }

    pub(crate) fn price_of_a_group(&self) -> f64 {
        if self.counts_groups { self.prices()[self.threads] } else { 0.0 }
    }

    /// Those below zero, by rounding, are zero.
    pub(crate) fn prices_of_triples(&self) -> Vec<([usize; 3], f64)> {
        let prices = self.prices();
        let of_triples = prices[self.first_triple()..].iter().map(|price| price.max(0.0));
        self.triples.iter().copied().zip(of_triples).collect()
    }

    /// Takes the most gainful column in until none gains; says how many multiplications that took.
    pub(crate) fn improve(&mut self, tolerance: f64) -> u64 {
        let rows = self.basis.len();
        let mut work = 0;
        for _ in 0..STEPS_MAX {
            let prices = self.prices();
            let gain = |(column, rows): &(Column, Vec<usize>)| {
                column.worth - rows.iter().map(|row| prices[*row]).sum::<f64>()
            };
            let groups =
                self.columns.iter().map(gain).enumerate().map(|(index, gain)| (gain, Some(index), 0));
            // A row of a triple with a negative price wants its empty column back.
            let first = self.first_triple();
            let empty = (first..rows).map(|row| (-prices[row], None, row));
            let entering = groups.chain(empty).filter(|(gain, ..)| *gain > tolerance);
            let Some((_, group, row)) = entering.max_by(|one, other| one.0.total_cmp(&other.0)) else {
                break;
            };
            work += (2 * rows * rows + 8 * self.columns.len()) as u64;
            if !self.pivot(group, row) {
                break;
            }
        }
        work
    }

    /// Takes a group in, or the empty column of a row.
    fn pivot(&mut self, group: Option<usize>, own_row: usize) -> bool {
        let rows = self.basis.len();
        let own = [own_row];
        let touched: &[usize] = group.map_or(&own, |group| &self.columns[group].1);
        let direction: Vec<f64> =
            (0..rows).map(|row| touched.iter().map(|other| self.inverse[row * rows + other]).sum()).collect();
        let candidates = (0..rows).filter(|row| direction[*row] > PIVOT_MIN);
        let ratio = |row: &usize| self.amounts[*row].max(0.0) / direction[*row];
        let Some(leaving) = candidates.min_by(|one, other| ratio(one).total_cmp(&ratio(other))) else {
            return false;
        };
        let step = ratio(&leaving);
        let of_leaving = &self.inverse[leaving * rows..(leaving + 1) * rows];
        let pivot_row: Vec<f64> = of_leaving.iter().map(|part| part / direction[leaving]).collect();
        for (row, away) in direction.iter().enumerate() {
            let inverse = &mut self.inverse[row * rows..(row + 1) * rows];
            if row == leaving {
                self.amounts[row] = step;
                inverse.copy_from_slice(&pivot_row);
            } else if away.abs() > 0.0 {
                self.amounts[row] -= step * away;
                for (part, pivot) in inverse.iter_mut().zip(&pivot_row) {
                    *part -= away * pivot;
                }
            }
        }
        self.basis[leaving] = group.map_or(Basic::Spare, Basic::Group);
        true
    }

    /// Groups that are chosen, with how much of each, the most first.
    pub(crate) fn chosen(&self) -> Vec<(f64, Vec<usize>)> {
        let amounts = self.basis.iter().zip(&self.amounts);
        let of_group = |(basic, amount): (&Basic, &f64)| match basic {
            Basic::Unwanted | Basic::Spare => None,
            Basic::Group(column) => Some((*amount, self.columns[*column].0.members.clone())),
        };
        let mut chosen: Vec<(f64, Vec<usize>)> = amounts.filter_map(of_group).collect();
        chosen.sort_by(|one, other| other.0.total_cmp(&one.0));
        chosen
    }

    /// The columns that come nearest to gaining, which are those of the basis first.
    pub(crate) fn best_columns(&self, most: usize) -> Vec<Column> {
        let prices = self.prices();
        let loss = |(column, rows): &(Column, Vec<usize>)| {
            rows.iter().map(|row| prices[*row]).sum::<f64>() - column.worth
        };
        let mut order: Vec<(f64, usize)> = self.columns.iter().map(loss).zip(0..).collect();
        order.sort_by(|one, other| one.0.total_cmp(&other.0));
        order.into_iter().take(most).map(|(_, index)| self.columns[index].0.clone()).collect()
    }
}
