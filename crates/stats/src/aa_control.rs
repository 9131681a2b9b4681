//! The A/A control of an experiment: the same run with nothing changed, and how much it takes back.

use serde::{Deserialize, Serialize};

use crate::verdict::LEVEL_OF_ALARMS;
use crate::wilcoxon::SignedRanks;
use crate::{Random, normal_quantile, quantile, signed_rank_p};

/// What chance shows less often than this means that the experiment cannot be trusted.
const CONTAMINATED_BELOW: f64 = 0.01;

/// Up to so many rounds all turns of their signs are tried, 1024; of more as many by chance.
const ALL_TURNS_UP_TO: usize = 10;

/// The quantile of |z| that is held against the normal distribution, and its value there.
const HIGH_QUANTILE: f64 = 0.95;
const HIGH_QUANTILE_NORMAL: f64 = 1.959_963_984_540_054;

/// What an experiment with nothing changed showed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AaControl {
    /// Rows compared.
    pub rows: usize,
    /// Rows that differed at 5 %, uncorrected: false alarms all.
    pub alarms: usize,
    /// The most alarms, with rows as far off as these, that chance shows more often than once in a hundred.
    pub alarms_by_chance: usize,
    /// Factor by which the intervals of the experiment proper are too narrow, at least 1.
    pub widening: f64,
}

impl AaControl {
    /// Fewer rounds than this cannot show more than chance does: 2 of the 2^n turns of n rounds, as they fell and all the
    /// other way, raise the same alarms, and these have to be less than one in a hundred.
    pub const FEWEST_ROUNDS: usize = 8;

    /// From the differences of each row, one per round, NaN where there is none.
    ///
    /// Round i of every row was taken in the same random order. With nothing changed that order is all that decides
    /// its signs, for all rows at once: so chance is what the same sizes show under other orders. Rows that go together,
    /// such as wall and CPU time of one run, then count together. Were they taken for independent, each disturbance that
    /// raises one alarm would raise several, and seem more than chance.
    pub fn of(rows: &[Vec<f64>], seed: u64) -> Self {
        let held: Vec<&Vec<f64>> = rows.iter().filter(|row| row.iter().any(|x| x.is_finite())).collect();
        let z: Vec<f64> = held.iter().map(|row| -normal_quantile(signed_rank_p(row) / 2.0)).collect();
        let observed = quantile(&z, HIGH_QUANTILE).unwrap_or(0.0);
        let rounds = held.iter().map(|row| row.len()).max().unwrap_or(0);
        let ranked: Vec<RankedRow> = held.into_iter().map(|row| RankedRow::of(row)).collect();
        let shown = Shown::of(&ranked, |_| false);
        Self {
            rows: ranked.len(),
            alarms: shown.alarms,
            alarms_by_chance: alarms_by_chance(&ranked, rounds, shown, seed),
            widening: (observed / HIGH_QUANTILE_NORMAL).max(1.0),
        }
    }

    /// True if it raised more alarms than chance explains: the whole report then carries a banner.
    pub fn is_contaminated(&self) -> bool {
        self.alarms > self.alarms_by_chance
    }
}

/// A row, and the signed-rank sum from which on it raises no alarm.
struct RankedRow {
    ranks: SignedRanks,
    quiet_from: usize,
}

impl RankedRow {
    fn of(row: &[f64]) -> Self {
        let ranks = SignedRanks::of(row);
        let quiet_from = ranks.quiet_from(LEVEL_OF_ALARMS);
        Self { ranks, quiet_from }
    }
}

/// What all rows show together where the signs of some rounds are turned.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
struct Shown {
    /// Rows that differ at 5 %.
    alarms: usize,
    /// How far off all rows are: the sum of their squared distances in standard deviations. It tells equal counts apart,
    /// without which rows that go together could never show more than chance.
    distance: f64,
}

impl Shown {
    fn of(rows: &[RankedRow], is_turned: impl Fn(usize) -> bool) -> Self {
        rows.iter().fold(Self { alarms: 0, distance: 0.0 }, |shown, row| {
            let smaller = row.ranks.smaller(&is_turned);
            Self {
                alarms: shown.alarms + usize::from(smaller < row.quiet_from),
                distance: shown.distance + row.ranks.distance(smaller).powi(2),
            }
        })
    }
}

/// The most alarms, at the distance of what was shown, that the turns of all rounds reach often enough.
fn alarms_by_chance(rows: &[RankedRow], rounds: usize, shown: Shown, seed: u64) -> usize {
    let mut random = Random::new(seed);
    let mut is_turned = vec![false; rounds];
    let turns: Vec<Shown> = (0..1_usize << rounds.min(ALL_TURNS_UP_TO))
        .map(|turn| {
            for (round, is_turned) in is_turned.iter_mut().enumerate() {
                // By chance, too, the first is as it fell.
                *is_turned =
                    if rounds > ALL_TURNS_UP_TO { turn > 0 && random.bool() } else { turn >> round & 1 == 1 };
            }
            Shown::of(rows, |round| is_turned[round])
        })
        .collect();
    let reached = |alarms: usize| {
        let least = Shown { alarms, ..shown };
        turns.iter().filter(|turn| **turn >= least).count() as f64
    };
    let limit = CONTAMINATED_BELOW * turns.len() as f64;
    (0..=rows.len()).rev().find(|alarms| reached(*alarms) > limit).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binomial_quantile;

    /// Rows of rounds with nothing changed: a share of each value is common to all rows of the round.
    fn rows(random: &mut Random, rows: usize, rounds: usize, common: f64) -> Vec<Vec<f64>> {
        let shared: Vec<f64> = (0..rounds).map(|_| random.normal()).collect();
        let own = (1.0 - common * common).sqrt();
        (0..rows)
            .map(|_| shared.iter().map(|shared| common * shared + own * random.normal()).collect())
            .collect()
    }

    /// Of so many experiments with nothing changed, how many carry a banner: by this rule, and if rows were independent.
    fn banners(experiments: u64, rounds: usize, common: f64) -> [usize; 2] {
        let mut random = Random::new(5);
        let mut banners = [0, 0];
        for seed in 0..experiments {
            let aa_control = AaControl::of(&rows(&mut random, 6, rounds, common), seed);
            banners[0] += usize::from(aa_control.is_contaminated());
            let independent = binomial_quantile(1.0 - CONTAMINATED_BELOW, aa_control.rows, LEVEL_OF_ALARMS);
            banners[1] += usize::from(aa_control.alarms > independent);
        }
        banners
    }

    #[test]
    fn rows_that_go_together_raise_no_more_banners_than_rows_that_do_not() {
        for (rounds, common) in [(8, 0.98), (16, 0.98)] {
            let [joint, independent] = banners(300, rounds, common);
            // At 1 %, 8 of 300 or more come about once in a hundred.
            assert!(joint <= 8, "{rounds} rounds, {common} in common: {joint} of 300");
            assert!(independent > 8, "{rounds}, {common}: {independent} of 300");
        }
    }

    #[test]
    fn a_machine_that_moves_rows_of_their_own_accord_is_contaminated() {
        let mut random = Random::new(9);
        for seed in 0..20 {
            let mut moved = rows(&mut random, 8, 12, 0.0);
            moved[..4].iter_mut().flatten().for_each(|x| *x += 4.0);
            let aa_control = AaControl::of(&moved, seed);
            assert!(aa_control.alarms >= 4 && aa_control.is_contaminated(), "{aa_control:?}");
        }
    }

    #[test]
    fn too_few_rounds_never_contaminate_and_a_gap_is_no_round() {
        let row = |rounds: usize| -> Vec<f64> { (1..=rounds).map(|x| x as f64).collect() };
        for (rounds, contaminated) in [(6, false), (7, false), (AaControl::FEWEST_ROUNDS, true), (12, true)] {
            let aa_control = AaControl::of(&vec![row(rounds); 5], 1);
            assert_eq!((aa_control.alarms, aa_control.is_contaminated()), (5, contaminated), "{rounds}");
        }
        let mut gaps = vec![f64::NAN; 4];
        gaps.extend(row(6));
        assert_eq!((AaControl::of(&[gaps.clone()], 1).rows, AaControl::of(&[gaps], 1).alarms), (1, 1));
    }

    #[test]
    fn rows_that_spread_too_far_widen() {
        // All of ten on one side: p = 2^-9; scipy.stats.norm.isf(2**-10) / 1.959964 = 1.580
        let aa_control = AaControl::of(&[(1..=10).map(f64::from).collect()], 1);
        assert!((aa_control.widening - 1.580).abs() < 0.001, "{}", aa_control.widening);
    }

    #[test]
    fn a_quiet_twin_and_none_change_nothing() {
        for rows in [vec![vec![1.0, -1.1, 0.9, -1.2, 1.3, -0.8]; 12], vec![], vec![vec![f64::NAN]]] {
            let aa_control = AaControl::of(&rows, 1);
            assert!(
                (aa_control.widening - 1.0).abs() < 1e-12 && !aa_control.is_contaminated(),
                "{aa_control:?}"
            );
        }
    }
}
