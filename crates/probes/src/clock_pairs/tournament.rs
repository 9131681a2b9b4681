//! All pairs of CPUs in rounds in which no CPU is asked for twice: as teams meet in a tournament.
//!
//! One CPU stays in its place and the others go round it (the circle method), so n CPUs need n - 1 rounds if n is even and n
//! if it is odd. In each pair the lower number is the reference.

use machine::CpuId;

use crate::probe::CpuPair;

/// The rounds; none for fewer than two CPUs. Each CPU must occur once.
pub fn rounds(cpus: &[CpuId]) -> Vec<Vec<CpuPair>> {
    if cpus.len() < 2 {
        return Vec::new();
    }
    // With an odd number the place of the missing one gives its opponent a rest.
    let mut places: Vec<Option<CpuId>> = cpus.iter().copied().map(Some).collect();
    if places.len() % 2 == 1 {
        places.push(None);
    }
    let count = places.len();
    let mut rounds = Vec::with_capacity(count - 1);
    for _ in 1..count {
        let met = (0..count / 2).filter_map(|index| places[index].zip(places[count - 1 - index]));
        rounds.push(met.map(|(a, b)| CpuPair { a: a.min(b), b: a.max(b) }).collect());
        places[1..].rotate_right(1);
    }
    rounds
}

/// Time of one sweep over all pairs at most, in seconds, if every exchange uses up its time.
pub fn sweep_worst_s(cpu_count: usize, exchange_deadline_s: f64) -> f64 {
    /// Waking the threads of a round and gathering what they saw.
    const BETWEEN_ROUNDS_S: f64 = 0.000_5;
    let rounds = if cpu_count < 2 { 0 } else { cpu_count - 1 + cpu_count % 2 };
    rounds as f64 * (exchange_deadline_s + BETWEEN_ROUNDS_S)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::ExchangeLimits;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn every_pair_meets_once_and_nobody_is_in_two_places(
            numbers in proptest::collection::btree_set(0_u32..2_000, 0..70)
        ) {
            let cpus: Vec<CpuId> = numbers.iter().copied().map(CpuId).collect();
            let rounds = rounds(&cpus);
            let mut met = BTreeSet::new();
            for round in &rounds {
                let mut here = BTreeSet::new();
                for pair in round {
                    prop_assert!(pair.a < pair.b);
                    prop_assert!(met.insert(*pair), "{:?} meet twice", pair);
                    prop_assert!(here.insert(pair.a) && here.insert(pair.b), "{:?} in two places", pair);
                }
            }
            let count = cpus.len();
            prop_assert_eq!(met.len(), count * count.saturating_sub(1) / 2);
            prop_assert_eq!(rounds.len(), if count < 2 { 0 } else { count - 1 + count % 2 });
        }
    }

    #[test]
    fn all_pairs_of_256_cpus_take_at_most_three_seconds() {
        let cpus: Vec<CpuId> = (0..256).map(CpuId).collect();
        assert_eq!(rounds(&cpus).len(), 255);
        let deadline_s = ExchangeLimits::default().deadline_ns as f64 * 1e-9;
        let worst_s = sweep_worst_s(256, deadline_s);
        assert!(worst_s <= 3.0, "{worst_s} s");
    }
}
