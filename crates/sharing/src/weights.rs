//! What sharing is worth: one weight per pair of threads from three kinds of it.
//!
//! weight of a pair = (write-shared x its weight + read-shared x its weight) x trust + wakes per second both ways x what one saves
//! trust = samples of the thread with fewer / (these + 10)
//!
//! The shares are of the two threads' accesses, the last term is of a second: both say which part of its time a thread would
//! notice. By the trust one sample in common memory does not weigh like all of a thread's time there, and few samples still rank
//! pairs: it is as if each thread had been seen ten more times, in memory of its own. What is unknown counts as nothing.

use record::{Sharing, SharingMatrix};

use crate::overlap::TOUCHES_FEW;
use placement::{CLASSES, PairValues};

/// What each kind of sharing is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharingWeights {
    /// Of a share of accesses that meet where one of the two writes.
    pub write_shared: f64,
    /// Of a share of accesses that meet where both only read.
    pub read_shared: f64,
    /// Seconds that a wake-up takes less on the CPU of the one who wakes.
    pub wake_s: f64,
}

/// Every write takes the line from the other: that is what the weights are counted in.
const WRITE_SHARED: f64 = 1.0;
/// Read-only lines are copied once and then stay with both readers: nearness saves the first miss and the room of the copy. Assumed:
/// `xz -T4` shows an overlap of 0.08 between workers that exchange nothing, which must not outweigh 0.01 of written data.
const READ_SHARED: f64 = 0.05;
/// 6.3 us by eventfd from another CPU less 1.5 us on the same, medians back to back on a Cascade Lake guest with two CPUs, Linux
/// 6.18. Who measured handovers on the machine at hand gives what they say instead.
const WAKE_S: f64 = 4.8e-6;

impl Default for SharingWeights {
    fn default() -> Self {
        Self { write_shared: WRITE_SHARED, read_shared: READ_SHARED, wake_s: WAKE_S }
    }
}

/// How much each pair of threads shares, in the order of [`Sharing::threads`].
pub fn weights(sharing: &Sharing, weights: SharingWeights) -> PairValues {
    let value = |matrix: &SharingMatrix, row, column| {
        matrix
            .get(row, column)
            .map_or(0.0, |amount| if amount.value.is_finite() { amount.value } else { 0.0 })
    };
    let trust = |first: usize, second: usize| {
        let fewer = [first, second].map(|thread| sharing.threads[thread].memory_samples).into_iter().min();
        let fewer = fewer.unwrap_or(0);
        fewer as f64 / (fewer + TOUCHES_FEW) as f64
    };
    PairValues::from_fn(sharing.threads.len(), |first, second| {
        let wakes = sharing
            .wakes
            .as_ref()
            .map_or(0.0, |wakes| value(wakes, first, second) + value(wakes, second, first));
        let shared = value(&sharing.write_shared, first, second) * weights.write_shared
            + value(&sharing.read_shared, first, second) * weights.read_shared;
        shared * trust(first, second) + wakes * weights.wake_s
    })
}

/// The share of each thread's time in each class of work, in the order of [`Objective::demand`](placement::Objective): a thread that
/// rests half of the time contends half as much.
pub fn demand(sharing: &Sharing) -> Vec<[f64; CLASSES]> {
    let of_thread = |thread: &record::SharingThread| {
        let mix = thread.demand;
        [mix.integer, mix.floating, mix.front_end, mix.memory]
            .map(|share| share * thread.cpu_share.clamp(0.0, 1.0))
    };
    sharing.threads.iter().map(of_thread).collect()
}

#[cfg(test)]
mod tests {
    use record::{SharedAmount, SharingThread, UnitDemand};
    use stats::Interval;

    use super::*;

    fn matrix(cells: &[(usize, usize, f64)]) -> SharingMatrix {
        SharingMatrix::from_fn(4, |row, column| {
            let cell = cells.iter().find(|cell| (cell.0, cell.1) == (row, column))?;
            Some(SharedAmount { value: cell.2, interval: Interval::between(cell.2, cell.2) })
        })
    }

    fn threads(mix: UnitDemand, cpu_share: f64) -> Vec<SharingThread> {
        vec![SharingThread { demand: mix, cpu_share, memory_samples: 90, ..SharingThread::default() }; 4]
    }

    #[test]
    fn a_little_written_data_outweighs_common_tables() {
        let sharing = Sharing {
            threads: threads(UnitDemand::default(), 1.0),
            write_shared: matrix(&[(0, 1, 0.01)]),
            read_shared: matrix(&[(0, 1, 0.08), (0, 2, 0.08), (1, 2, 0.08)]),
            ..Sharing::default()
        };
        let pairs = weights(&sharing, SharingWeights::default());
        assert!(pairs.of(0, 1) > pairs.of(0, 2) && pairs.of(0, 2) > 0.0);
        assert!(pairs.of(2, 3).abs() < 1e-12, "what is unknown counts as nothing");
    }

    #[test]
    fn few_samples_weigh_little_and_rank_all_the_same() {
        let mut threads = threads(UnitDemand::default(), 1.0);
        threads[0].memory_samples = 1;
        threads[1].memory_samples = 5;
        let write_shared = matrix(&[(0, 3, 1.0), (1, 3, 0.2), (2, 3, 0.2)]);
        let sharing = Sharing { threads, write_shared, ..Sharing::default() };
        let pairs = weights(&sharing, SharingWeights::default());
        assert!((pairs.of(2, 3) - 0.18).abs() < 1e-12);
        assert!(pairs.of(2, 3) > pairs.of(0, 3) && pairs.of(0, 3) > pairs.of(1, 3) && pairs.of(1, 3) > 0.0);
    }

    #[test]
    fn wakes_count_in_both_directions_and_in_seconds() {
        let wakes = matrix(&[(0, 1, 10_000.0), (1, 0, 10_000.0), (2, 3, f64::NAN)]);
        let sharing = Sharing {
            threads: threads(UnitDemand::default(), 1.0),
            wakes: Some(wakes),
            ..Sharing::default()
        };
        let pairs = weights(&sharing, SharingWeights::default());
        assert!((pairs.of(0, 1) - 20_000.0 * WAKE_S).abs() < 1e-12);
        assert!(pairs.of(2, 3).abs() < 1e-12);
    }

    #[test]
    fn a_thread_that_rests_half_of_the_time_asks_half() {
        let mix = UnitDemand { integer: 0.25, floating: 0.5, front_end: 0.0, memory: 0.25 };
        let sharing = Sharing { threads: threads(mix, 0.5), ..Sharing::default() };
        assert_eq!(demand(&sharing), vec![[0.125, 0.25, 0.0, 0.125]; 4]);
    }
}
