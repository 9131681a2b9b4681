//! How much of the time counters were watched: between two exchanges that were usable, not too far apart.
//!
//! A jump shows in the first usable exchange after it, if there was one before it. What came and went between two exchanges shows
//! in neither: beyond a few turns of the pairs nothing between them counts as watched.

use std::collections::BTreeMap;

use crate::probe::CpuPair;

/// Turns of a pair from one usable exchange to the next that still count as watched: one may be missed.
const TURNS: f64 = 2.5;

/// Usable exchanges of one pair.
#[derive(Debug, Clone, Copy, Default)]
struct Covered {
    last_ns: Option<u64>,
    ns: f64,
}

/// The time that each pair was watched in.
#[derive(Debug, Clone)]
pub(super) struct Coverage {
    pairs: usize,
    /// The longest time between two usable exchanges in which a pair counts as watched.
    reach_ns: f64,
    covered: BTreeMap<CpuPair, Covered>,
}

impl Coverage {
    /// Of so many pairs that take turns, one each `period_ns`.
    pub(super) fn of(pairs: usize, period_ns: u64) -> Self {
        Self { pairs, reach_ns: TURNS * pairs as f64 * period_ns as f64, covered: BTreeMap::new() }
    }

    /// A usable exchange of a pair.
    pub(super) fn add(&mut self, pair: CpuPair, at_ns: u64) {
        let covered = self.covered.entry(pair).or_default();
        if let Some(last_ns) = covered.last_ns.replace(at_ns) {
            covered.ns += (at_ns.saturating_sub(last_ns) as f64).min(self.reach_ns);
        }
    }

    /// What comes next has nothing to do with what came before.
    pub(super) fn part(&mut self) {
        self.covered.values_mut().for_each(|covered| covered.last_ns = None);
    }

    /// Share of so much time, mean of all pairs; `None` if there are none.
    pub(super) fn share(&self, watched_ns: f64) -> Option<f64> {
        let covered_ns = self.covered.values().fold(0.0, |sum, covered| sum + covered.ns);
        (self.pairs > 0).then(|| (covered_ns / (self.pairs as f64 * watched_ns.max(1.0))).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use machine::CpuId;

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// The share of twelve seconds in which these exchanges were usable.
    fn share(pairs: usize, usable: &[(u32, u64)]) -> Option<f64> {
        let mut coverage = Coverage::of(pairs, SECOND_NS);
        for &(cpu, second) in usable {
            coverage.add(CpuPair { a: CpuId(0), b: CpuId(cpu) }, second * SECOND_NS);
        }
        coverage.share(12e9)
    }

    #[test]
    fn only_time_between_exchanges_near_each_other_was_watched() {
        let at = |seconds: &[u64]| seconds.iter().map(|&second| (1, second)).collect::<Vec<_>>();
        for (pairs, usable, expected) in [
            (0, at(&[]), None),
            (1, at(&[]), Some(0.0)),
            (1, at(&[5]), Some(0.0)),
            (1, at(&[0, 11]), Some(2.5 / 12.0)),
            (1, at(&(0..12).collect::<Vec<_>>()), Some(11.0 / 12.0)),
            (1, at(&[0, 2, 4, 6, 8, 10]), Some(10.0 / 12.0)),
            // Two pairs take turns, and one of them never meets.
            (2, at(&[0, 2, 4, 6, 8, 10]), Some(5.0 / 12.0)),
        ] {
            let share = share(pairs, &usable);
            assert!(share.is_none_or(f64::is_sign_positive), "nothing is not minus nothing");
            assert_eq!(
                share.map(|share| (share * 1e6) as u64),
                expected.map(|share: f64| (share * 1e6) as u64)
            );
        }
    }

    #[test]
    fn time_across_an_interruption_was_not_watched() {
        let mut coverage = Coverage::of(1, SECOND_NS);
        let pair = CpuPair { a: CpuId(0), b: CpuId(1) };
        coverage.add(pair, 0);
        coverage.part();
        coverage.add(pair, SECOND_NS);
        assert_eq!(coverage.share(1e9), Some(0.0));
        coverage.add(pair, 2 * SECOND_NS);
        assert_eq!(coverage.share(2e9), Some(0.5));
    }
}
