//! Events that may come with a state: whether they fall on some states more often than a random order explains.

use crate::Random;

/// Shuffles that p is counted over; its standard error at 0.2 is 0.01.
const SHUFFLES: usize = 1000;

/// The chance of counts as uneven as these, were each block's counts dealt to the states anew.
///
/// A row per block with a count per state; states of a block were taken in a random order, so that whatever has nothing to do with
/// them could have met any. 1 without any event.
pub fn lopsided_p(counts: &[Vec<usize>], seed: u64) -> f64 {
    let states = counts.iter().map(Vec::len).max().unwrap_or(0);
    let unevenness = |rows: &[Vec<usize>]| -> usize {
        let total = |state: usize| rows.iter().filter_map(|row| row.get(state)).sum::<usize>();
        (0..states).map(|state| total(state).pow(2)).sum()
    };
    let mut rows: Vec<Vec<usize>> =
        counts.iter().filter(|row| row.iter().any(|count| *count > 0)).cloned().collect();
    let seen = unevenness(&rows);
    let mut random = Random::new(seed);
    let as_uneven = (0..SHUFFLES)
        .filter(|_| {
            for row in &mut rows {
                random.shuffle(row);
            }
            unevenness(&rows) >= seen
        })
        .count();
    (as_uneven + 1) as f64 / (SHUFFLES + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_falls_on_one_state_alone_is_no_chance_and_what_falls_on_any_is() {
        let only_second = |blocks: usize| vec![vec![0, 1, 0, 0]; blocks];
        // All of n on one of four states: 4 to the power of 1 - n.
        for (blocks, p) in [(1, 1.0), (2, 0.25), (3, 0.0625), (6, 0.001)] {
            let found = lopsided_p(&only_second(blocks), 1);
            assert!((found - p).abs() < 0.03, "{blocks}: {found}");
        }
        for even in [vec![vec![1; 4]; 20], vec![vec![0; 4]; 20], Vec::new(), vec![Vec::new()]] {
            assert!(lopsided_p(&even, 1) > 0.99, "{even:?}");
        }
    }

    #[test]
    fn events_by_chance_are_called_lopsided_as_often_as_p_says() {
        let mut random = Random::new(8);
        let experiments = 400;
        let alarms = (0..experiments)
            .filter(|seed| {
                let event = |random: &mut Random| usize::from(random.unit() < 0.1);
                let rows: Vec<Vec<usize>> =
                    (0..30).map(|_| (0..4).map(|_| event(&mut random)).collect()).collect();
                lopsided_p(&rows, *seed) <= 0.2
            })
            .count();
        // 80 and 8 of standard error.
        assert!((50..=105).contains(&alarms), "{alarms} of {experiments}");
    }
}
