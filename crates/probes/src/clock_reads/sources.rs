//! The kernel's clock sources against the one in use: each has its turn in shuffled blocks and their mirror images, and what
//! counts is the difference of turns side by side.

use std::time::Instant;

use host::live;
use record::{SourceCost, SourceCosts};
use stats::{Random, paired_delta, quantile};

use super::catalogue::{COUNTER, MONOTONIC, Read, SYSTEM_CALL, TIME_OF_DAY};
use super::level::{Company, Level};
use super::{Batches, counts, take_visit};
use crate::sampler::Sampler;
use crate::session::Progress;

/// What is measured by each: what the kernel serves, and the counter, which no clock source can move, as the control.
pub const READS: [&str; 6] =
    [MONOTONIC, "clock_gettime(CLOCK_MONOTONIC_RAW)", TIME_OF_DAY, "std Instant::now", SYSTEM_CALL, COUNTER];

/// Visits of all reads in a turn: about 5 ms.
const VISITS_PER_TURN: u32 = 4;
/// Which quantile of a turn counts: others only add time.
const QUANTILE: f64 = 0.25;
/// Batches beside the whole core without which a turn says nothing.
const FAST_MIN: usize = 4;
/// Pairs that are enough to end before the budget does.
const PAIRS_ENOUGH: usize = 60;

/// Who can change the kernel's clock source, and will put it back.
pub trait ClockSources {
    /// Makes the source hold.
    ///
    /// # Errors
    /// Why it cannot.
    fn hold(&mut self, source: &str) -> Result<(), String>;
}

/// What the turns gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seen {
    /// By source and read: batches, whose visit is the number of the half-block.
    pub batches: Vec<Vec<Batches>>,
    /// Half-blocks: every source had one turn in each.
    pub halves: u32,
    /// Why a source could not be held any longer, if so.
    pub not_held: Option<String>,
}

/// Measures by each source in turns; the first is the one in use. Whole half-blocks only.
pub fn take_turns(
    sampler: &mut Sampler,
    reads: &[Read],
    names: &[String],
    budget_s: f64,
    random: &mut Random,
    sources: &mut dyn ClockSources,
    progress: &dyn Progress,
) -> Seen {
    let counts = counts(sampler, reads);
    let mut seen =
        Seen { batches: vec![vec![Batches::default(); reads.len()]; names.len()], ..Seen::default() };
    let started = Instant::now();
    let spent_s = || started.elapsed().as_secs_f64();
    'blocks: while spent_s() < budget_s && (seen.halves as usize) < PAIRS_ENOUGH {
        let mut order: Vec<usize> = (0..names.len()).collect();
        random.shuffle(&mut order);
        for _ in 0..2 {
            for &source in &order {
                if live::pending_signal().is_some() {
                    break 'blocks;
                }
                if let Err(reason) = sources.hold(&names[source]) {
                    seen.not_held = Some(reason);
                    break 'blocks;
                }
                for _ in 0..VISITS_PER_TURN {
                    take_visit(sampler, reads, &counts, seen.halves, random, &mut seen.batches[source]);
                }
            }
            order.reverse();
            seen.halves += 1;
            progress.update(spent_s() / budget_s);
        }
    }
    seen
}

/// What every read costs more by every other source than by the first. What the control seems to cost more is noise: the
/// intervals of the others are widened by it.
pub fn compare(seen: &Seen, reads: &[Read], names: &[String]) -> SourceCosts {
    let mut costs = SourceCosts {
        current: names.first().cloned().unwrap_or_default(),
        turns: seen.halves as usize,
        rows: Vec::new(),
    };
    let Some(level) = Level::of(seen.batches.iter().flatten().flat_map(|batches| &batches.taken)) else {
        return costs;
    };
    for (source, name) in names.iter().enumerate().skip(1) {
        let from = costs.rows.len();
        for (index, read) in reads.iter().enumerate() {
            let [current, other] =
                [0, source].map(|source| by_half(&seen.batches[source][index], seen.halves, &level));
            let pairs: Vec<[f64; 2]> =
                current.iter().zip(&other).filter_map(|(a, b)| Some([(*a)?, (*b)?])).collect();
            let differences: Vec<f64> = pairs.iter().map(|[a, b]| b - a).collect();
            let typical = |side: usize| {
                quantile(&pairs.iter().map(|pair| pair[side]).collect::<Vec<f64>>(), 0.5).unwrap_or(f64::NAN)
            };
            let Some(delta) = paired_delta(&differences) else { continue };
            let current_ns = typical(0);
            costs.rows.push(SourceCost {
                source: name.clone(),
                read: read.name.to_owned(),
                ns: typical(1),
                current_ns,
                extra_ns: delta.median,
                interval: delta.interval,
                extra_percent: delta.median / current_ns * 100.0,
                pairs: delta.pairs,
            });
        }
        widen(&mut costs.rows[from..]);
    }
    costs
}

/// Widens the intervals of one source by what its control shows.
fn widen(rows: &mut [SourceCost]) {
    let noise_ns = rows.iter().find(|row| row.read == COUNTER).map_or(0.0, |row| row.extra_ns.abs());
    for row in rows.iter_mut().filter(|row| row.read != COUNTER) {
        row.interval.low -= noise_ns;
        row.interval.high += noise_ns;
    }
}

/// The cost in each half-block, in nanoseconds; `None` where the core was hardly ours alone.
fn by_half(batches: &Batches, halves: u32, level: &Level) -> Vec<Option<f64>> {
    let mut fast = vec![Vec::new(); halves as usize];
    for batch in batches.taken.iter().filter(|batch| level.company(batch) == Company::Fast) {
        // A half-block that was not finished is none.
        if let Some(half) = fast.get_mut(batch.visit as usize) {
            half.push(batch.ns);
        }
    }
    let cost = |half: &Vec<f64>| if half.len() >= FAST_MIN { quantile(half, QUANTILE) } else { None };
    fast.iter().map(cost).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock_reads::level::Batch;
    use crate::control::ControlReading;

    fn batches(costs_ns: &[f64]) -> Batches {
        let control = [ControlReading { multiply_ns: 0.8, port_ns: 0.05 }; 2];
        let half =
            |(half, ns): (usize, f64)| (0..FAST_MIN).map(move |_| Batch { ns, visit: half as u32, control });
        Batches { taken: costs_ns.iter().copied().enumerate().flat_map(half).collect(), interrupted: 0 }
    }

    #[test]
    fn the_extra_cost_is_that_of_turns_side_by_side_whatever_drifts_meanwhile() {
        let drift = |half: usize| 20.0 + half as f64;
        let current: Vec<f64> = (0..10).map(drift).collect();
        let other: Vec<f64> = (0..10).map(|half| drift(half) + 11.0 + 0.1 * (half % 2) as f64).collect();
        let seen = Seen {
            batches: vec![vec![batches(&current)], vec![batches(&other)]],
            halves: 10,
            not_held: None,
        };
        let names = ["tsc".to_owned(), "kvm-clock".to_owned()];
        let costs = compare(&seen, &[Read::shared_word()], &names);
        assert_eq!((costs.current.as_str(), costs.turns, costs.rows.len()), ("tsc", 10, 1));
        let row = &costs.rows[0];
        assert!((row.extra_ns - 11.05).abs() < 0.06 && row.interval.contains(11.05), "{row:?}");
        assert!(row.interval.half_width() < 0.2 && row.pairs == 10, "{row:?}");
        // A last half-block that a signal cut short has one turn only: it is no pair.
        let cut = Seen { halves: 9, ..seen };
        assert_eq!(compare(&cut, &[Read::shared_word()], &names).rows[0].pairs, 9);
    }

    #[test]
    fn what_the_control_shows_widens_the_others() {
        let row = |read: &str, extra_ns: f64| SourceCost {
            source: "kvm-clock".to_owned(),
            read: read.to_owned(),
            ns: 30.0,
            current_ns: 20.0,
            extra_ns,
            interval: stats::Interval { low: extra_ns - 1.0, high: extra_ns + 1.0 },
            extra_percent: 0.0,
            pairs: 10,
        };
        let mut rows = [row(MONOTONIC, 10.0), row(COUNTER, -0.5)];
        widen(&mut rows);
        assert_eq!(rows.map(|row| (row.interval.low, row.interval.high)), [(8.5, 11.5), (-1.5, 0.5)]);
    }

    #[test]
    fn no_turn_makes_no_row() {
        let seen = Seen { batches: vec![vec![Batches::default()]; 2], ..Seen::default() };
        let names = ["a".to_owned(), "b".to_owned()];
        assert_eq!(compare(&seen, &[Read::shared_word()], &names).rows, []);
        assert_eq!(compare(&Seen::default(), &[], &[]).rows, []);
    }
}
