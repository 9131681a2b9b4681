//! Who wakes whom, and for how long threads are away from their CPUs by their own will.

use std::collections::{BTreeMap, HashMap};

use host::live::Switch;
use record::{IdleGaps, SharedAmount, SharingMatrix, SharingThread};
use stats::Interval;

/// Rings of several CPUs are read one after the other: what is younger than this may have its cause in a ring read before.
const SETTLED_NS: u64 = 10_000_000;
/// Gaps are counted by powers of two of a microsecond, up to this one: 2^30 us are 18 minutes.
const POWER_MAX: u32 = 30;
/// Two-sided 95 % of a normal distribution, for counts.
const Z: f64 = 1.96;

/// What was seen of schedules so far.
#[derive(Debug, Default)]
pub(super) struct Schedules {
    wakes: HashMap<(u32, u32), u64>,
    /// Wakes by an interrupt while some watched thread ran: nobody's.
    pub(super) by_interrupt: u64,
    /// Switches that may still be out of order: time, thread, what.
    unsettled: Vec<(u64, u32, Switch)>,
    asleep_since: HashMap<u32, u64>,
    gaps: HashMap<u32, BTreeMap<u32, u64>>,
    arrivals: HashMap<u32, u64>,
}

impl Schedules {
    /// A wake; of oneself, which a timer or a signal does, it says nothing of others.
    pub(super) fn woke(&mut self, waker: Option<u32>, woken: u32) {
        match waker {
            Some(waker) if waker != woken => *self.wakes.entry((waker, woken)).or_default() += 1,
            Some(_) => {}
            None => self.by_interrupt += 1,
        }
    }

    /// A switch, in the order of its ring.
    pub(super) fn switched(&mut self, tid: u32, time_ns: u64, what: Switch) {
        if what == Switch::In {
            *self.arrivals.entry(tid).or_default() += 1;
        }
        self.unsettled.push((time_ns, tid, what));
    }

    /// Counts what is in order by now; all of it once nothing more will come.
    pub(super) fn settle(&mut self, is_over: bool) {
        self.unsettled.sort_by_key(|(time_ns, ..)| *time_ns);
        let newest_ns = self.unsettled.last().map_or(0, |(time_ns, ..)| *time_ns);
        let until_ns = if is_over { u64::MAX } else { newest_ns.saturating_sub(SETTLED_NS) };
        let settled = self.unsettled.partition_point(|(time_ns, ..)| *time_ns <= until_ns);
        for (time_ns, tid, what) in self.unsettled.drain(..settled) {
            match what {
                Switch::Asleep => {
                    self.asleep_since.insert(tid, time_ns);
                }
                Switch::Preempted => {
                    self.asleep_since.remove(&tid);
                }
                Switch::In => {
                    if let Some(since_ns) = self.asleep_since.remove(&tid) {
                        let us = time_ns.saturating_sub(since_ns) / 1000;
                        let power = us.checked_ilog2().map_or(0, |power| power + 1).min(POWER_MAX);
                        *self.gaps.entry(tid).or_default().entry(power).or_default() += 1;
                    }
                }
            }
        }
    }

    /// How often a thread came to a CPU.
    pub(super) fn arrivals(&self, tid: u32) -> u64 {
        self.arrivals.get(&tid).copied().unwrap_or(0)
    }

    /// The gaps of a thread, by length.
    pub(super) fn gaps(&self, tid: u32) -> Vec<IdleGaps> {
        let gap = |(power, count): (&u32, &u64)| IdleGaps {
            from_us: if *power == 0 { 0.0 } else { f64::from(*power - 1).exp2() },
            below_us: f64::from(*power).exp2(),
            count: *count,
        };
        self.gaps.get(&tid).map_or_else(Vec::new, |gaps| gaps.iter().map(gap).collect())
    }

    /// Wakes per second, row wakes column.
    pub(super) fn wakes(&self, threads: &[SharingThread], seconds: f64) -> SharingMatrix {
        SharingMatrix::from_fn(threads.len(), |row, column| {
            let pair = (threads[row].tid, threads[column].tid);
            let count = self.wakes.get(&pair).copied().unwrap_or(0) as f64;
            // The score interval of a Poisson count: it needs no exact quantiles, and holds at a count of 0.
            let (centre, half) = (count + Z * Z / 2.0, Z * (count + Z * Z / 4.0).sqrt());
            let interval = Interval::between((centre - half).max(0.0) / seconds, (centre + half) / seconds);
            (seconds > 0.0).then_some(SharedAmount { value: count / seconds, interval })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(tid: u32) -> SharingThread {
        SharingThread { tid, ..SharingThread::default() }
    }

    #[test]
    fn wakes_are_counted_by_direction_and_none_for_oneself() {
        let mut seen = Schedules::default();
        for _ in 0..100 {
            seen.woke(Some(1), 2);
            seen.woke(Some(1), 1);
            seen.woke(None, 2);
        }
        let matrix = seen.wakes(&[thread(1), thread(2)], 2.0);
        let amount = matrix.get(0, 1).expect("seen");
        assert!((amount.value - 50.0).abs() < 1e-9 && seen.by_interrupt == 100);
        assert!(amount.interval.low > 40.0 && amount.interval.high < 62.0, "{amount:?}");
        let none = matrix.get(1, 0).expect("none seen is known too");
        assert!(none.value == 0.0 && none.interval.low == 0.0 && none.interval.high < 2.0, "{none:?}");
        assert_eq!(matrix.get(0, 0), None);
    }

    #[test]
    fn a_gap_counts_once_it_is_over_whatever_ring_reported_it_first() {
        let mut seen = Schedules::default();
        // Came back on a CPU whose ring is read first.
        seen.switched(7, 1_100_000, Switch::In);
        seen.switched(7, 1_000_000, Switch::Asleep);
        seen.switched(7, 2_000_000, Switch::Preempted);
        seen.switched(7, 2_900_000, Switch::In);
        seen.settle(false);
        assert_eq!(seen.gaps(7), vec![], "all of it is younger than a ring may be late");
        seen.switched(7, 50_000_000, Switch::Asleep);
        seen.settle(false);
        assert_eq!(seen.gaps(7), vec![IdleGaps { from_us: 64.0, below_us: 128.0, count: 1 }]);
        seen.switched(7, 50_000_400, Switch::In);
        seen.settle(true);
        assert_eq!(seen.gaps(7)[0], IdleGaps { from_us: 0.0, below_us: 1.0, count: 1 });
        assert_eq!(seen.gaps(8), vec![]);
        assert_eq!((seen.arrivals(7), seen.arrivals(8)), (3, 0), "preempted or not");
    }

    #[test]
    fn the_longest_gap_has_a_bin() {
        let mut seen = Schedules::default();
        seen.switched(1, 0, Switch::Asleep);
        seen.switched(1, u64::MAX, Switch::In);
        seen.settle(true);
        assert_eq!(seen.gaps(1).len(), 1);
    }
}
