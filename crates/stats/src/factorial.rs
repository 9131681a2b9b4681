//! Full factorial designs: the cells of several two-valued factors, the order they run in, and what parts their effects.
//!
//! With factors coded -1 (A) and +1 (B), an effect is the sum of the logarithms of all cells, each with the product of
//! the codes of the factors concerned. These contrasts are orthogonal: as long as each cell counts alike, none sees the
//! effect of another. Source: Box, Hunter and Hunter, "Statistics for Experimenters", factorial designs at two levels.

use crate::{Arm, Random};

/// The state of all factors at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Cell(u32);

impl Cell {
    /// All factors at A.
    pub const BASELINE: Self = Self(0);

    /// All cells of so many factors; the first factor changes fastest.
    pub fn all(factors: usize) -> impl Iterator<Item = Self> {
        (0..cell_count(factors) as u32).map(Self)
    }

    /// Its place among all cells.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The state of one factor.
    pub fn arm(self, factor: usize) -> Arm {
        if self.0 >> factor & 1 == 1 { Arm::B } else { Arm::A }
    }

    /// One letter per factor: `ab` has the first at A, the second at B.
    pub fn letters(self, factors: usize) -> String {
        (0..factors).map(|factor| if self.arm(factor) == Arm::A { 'a' } else { 'b' }).collect()
    }
}

impl From<Factors> for Cell {
    /// These factors at B, all others at A.
    fn from(factors: Factors) -> Self {
        Self(factors.0)
    }
}

impl From<Arm> for Cell {
    fn from(arm: Arm) -> Self {
        Self(u32::from(arm == Arm::B))
    }
}

/// How many cells so many factors have.
pub const fn cell_count(factors: usize) -> usize {
    1 << factors
}

/// A set of factors; where it is not empty, also the effect that they have together: the main effect of one, the
/// interaction of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Factors(u32);

impl Factors {
    /// No factor.
    pub const NONE: Self = Self(0);
    /// The first factor: where there is no other, the only effect.
    pub const ONE: Self = Self(1);
    /// Whatever factors there are.
    pub const ALL: Self = Self(u32::MAX);

    /// This factor alone.
    pub fn only(factor: usize) -> Self {
        Self(1 << factor)
    }

    /// These factors.
    pub fn of(factors: impl IntoIterator<Item = usize>) -> Self {
        factors.into_iter().fold(Self::NONE, |all, factor| Self(all.0 | 1 << factor))
    }

    /// All effects of so many factors: main effects first, then interactions by rising order.
    pub fn effects(factors: usize) -> Vec<Self> {
        let mut all: Vec<Self> = (1..cell_count(factors) as u32).map(Self).collect();
        all.sort_by_key(|effect| (effect.order(), effect.members().collect::<Vec<_>>()));
        all
    }

    /// How many factors they are: 1 for a main effect.
    pub fn order(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The factors, in rising order.
    pub fn members(self) -> impl Iterator<Item = usize> {
        (0..u32::BITS as usize).filter(move |factor| self.0 >> factor & 1 == 1)
    }

    /// True if none is in it.
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// True if all of those are among these.
    pub fn holds(self, those: Self) -> bool {
        self.0 & those.0 == those.0
    }

    /// Product of the codes of these factors in that cell: -1 or +1.
    pub fn sign(self, cell: Cell) -> f64 {
        if (self.0 & !cell.0).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
    }

    /// The effect in `logs`, one logarithm per cell in the order of [`Cell::all`]; NaN if one is missing.
    ///
    /// Of one factor: B less A, averaged over the states of the others. Of two: by how much more B of the first changes
    /// where the second is at B than where it is at A, averaged over the others; of three the difference of such
    /// differences, and so on. So an interaction is what the cell with all at B has beyond what fewer factors explain.
    pub fn contrast(self, logs: &[f64]) -> f64 {
        let signed = |(index, log): (usize, &f64)| self.sign(Cell(index as u32)) * log;
        let others = logs.len() >> self.order();
        logs.iter().enumerate().map(signed).sum::<f64>() / others.max(1) as f64
    }
}

/// Order of the trials of a block: all cells shuffled, then the same backwards.
///
/// Each cell stands twice at the same distance from the middle, so that a straight drift cancels. A shuffle stays as
/// likely when A and B of a factor change names, which turns the sign of all effects of that factor: under no effect the
/// sign of a block is a fair random draw, whatever the machine does meanwhile. Of one factor these are the quads of
/// [`random_quads`](crate::random_quads), draw for draw.
pub fn mirrored_block(factors: usize, random: &mut Random) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Cell::all(factors).collect();
    random.shuffle(&mut cells);
    let mirrored: Vec<Cell> = cells.iter().rev().copied().collect();
    cells.extend(mirrored);
    cells
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random_quads;

    #[test]
    fn effects_of_three_factors_are_main_effects_pairs_and_one_of_all() {
        let members: Vec<Vec<usize>> =
            Factors::effects(3).into_iter().map(|effect| effect.members().collect()).collect();
        assert_eq!(members, [vec![0], vec![1], vec![2], vec![0, 1], vec![0, 2], vec![1, 2], vec![0, 1, 2]]);
    }

    #[test]
    fn contrasts_of_two_factors_are_what_the_words_say() {
        // Cells 00, 10, 01, 11 by (first, second).
        let logs = [1.0, 4.0, 2.0, 7.0];
        let contrast = |factors: &[usize]| Factors::of(factors.iter().copied()).contrast(&logs);
        for (found, expected) in [(contrast(&[0]), 4.0), (contrast(&[1]), 2.0), (contrast(&[0, 1]), 2.0)] {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert!(Factors::only(0).contrast(&[1.0, f64::NAN, 2.0, 3.0]).is_nan());
    }

    #[test]
    fn a_block_of_one_factor_is_a_quad_throw_for_throw() {
        let (mut block, mut quad) = (Random::new(8), Random::new(8));
        for _ in 0..64 {
            let quad: Vec<Cell> = random_quads(1, &mut quad).into_iter().map(Cell::from).collect();
            assert_eq!(mirrored_block(1, &mut block), quad);
        }
    }

    #[test]
    fn the_sign_of_every_effect_in_every_place_is_a_fair_throw() {
        let mut random = Random::new(12);
        let mut plus = vec![[0_u32; 8]; 7];
        for _ in 0..4000 {
            let cells = mirrored_block(3, &mut random);
            for (effect, plus) in Factors::effects(3).iter().zip(&mut plus) {
                for (cell, plus) in cells.iter().zip(plus) {
                    *plus += u32::from(effect.sign(*cell) > 0.0);
                }
            }
        }
        assert!(plus.iter().flatten().all(|count| (1850..2150).contains(count)), "{plus:?}");
    }

    proptest! {
        #[test]
        fn each_contrast_finds_its_own_planted_effect_and_no_other(
            factors in 1..=4_usize,
            planted in proptest::collection::vec(-1.0..1.0_f64, 15),
            level in -5.0..5.0_f64,
        ) {
            let effects = Factors::effects(factors);
            let log = |cell: Cell| {
                let share = |(effect, size): (&Factors, &f64)| {
                    effect.sign(cell) * size / f64::from(1 << effect.order())
                };
                level + effects.iter().zip(&planted).map(share).sum::<f64>()
            };
            let logs: Vec<f64> = Cell::all(factors).map(log).collect();
            for (effect, size) in effects.iter().zip(&planted) {
                prop_assert!((effect.contrast(&logs) - size).abs() < 1e-9);
            }
        }

        #[test]
        fn a_block_holds_each_cell_twice_and_a_straight_drift_leaves_no_trace(
            factors in 1..=4_usize,
            seed in 0..u64::MAX,
            slope in -1.0..1.0_f64,
        ) {
            let cells = mirrored_block(factors, &mut Random::new(seed));
            let mut logs = vec![0.0; cell_count(factors)];
            let mut times = vec![0; cell_count(factors)];
            for (place, cell) in cells.iter().enumerate() {
                logs[cell.index()] += slope * place as f64 / 2.0;
                times[cell.index()] += 1;
            }
            prop_assert!(times.iter().all(|times| *times == 2));
            for effect in Factors::effects(factors) {
                prop_assert!(effect.contrast(&logs).abs() < 1e-9);
            }
        }
    }
}
