//! Whether others were at work beside a check-up, when, and how this host ranks among what is known of it.
//!
//! What others take shows in what the kernel counts (steal, other programs, waiting for a CPU) and in what epochs of one run
//! differ by: the same process, a minute later, on the same machine. An epoch is only ever compared with the best one of its
//! run. A state that lasts longer than the run shows in earlier runs alone; so whether to give an instance back is answered from
//! them, or not at all.

mod ranks;
mod words;

use record::{CpuShare, EpochCost, HistoryEntry, LatencyCell, Neighbours, Record, Spread};
use stats::{RowClass, mean, median};

/// Shares of CPU time above this were taken by others: what makes a check-up's numbers doubtful is the same 2 %.
const TAKEN: f64 = 0.02;
/// Others of this system are always a little at work, so their share counts only above this, as a check-up's doubts have it.
const OTHERS: f64 = 0.15;
/// A wait this long is no accident of scheduling: windows that are set aside on a loaded but usable machine are 2 to 3 %.
const WAITED: f64 = 0.05;

/// A CPU whose core gave it less than this had company on it: its control loops scatter by 2.4 % between epochs, three times
/// which is no accident.
const CORE_SHARE: f64 = 0.93;

/// What epochs of a quiet guest differ by from the best one is below this: four standard deviations between epochs, of 2.4 % for the
/// control loop, 6 % for latency beyond the second level and 10 % for bandwidth (METHODOLOGY.md, Epochs).
const LIMITS: [(RowClass, f64); 4] = [
    (RowClass::CoreClock, 1.10),
    (RowClass::SharedCacheLatency, 1.25),
    (RowClass::MemoryLatency, 1.25),
    (RowClass::Stream, 1.40),
];

/// What a record and earlier runs tell of others; `None` for a record that tells nothing: one epoch and no history. `own` are earlier
/// runs of this machine, `kin` those of other machines with the same CPU.
pub fn neighbours(record: &Record, own: &[&HistoryEntry], kin: &[&HistoryEntry]) -> Option<Neighbours> {
    let costs = costs(record);
    let mut found = Neighbours {
        in_guest: record.machine.identity.hypervisor.is_some(),
        at_work: at_work(record, &costs),
        costs,
        ..Neighbours::default()
    };
    let shares = record.epochs.iter().any(|epoch| !epoch.got.is_untold());
    ranks::add(&mut found, record, own, kin);
    if found.costs.is_empty() && !shares && found.ranks.is_empty() {
        return None;
    }
    found.shows = words::shows(record, &found);
    Some(found)
}

/// By class the cost of each epoch over the best one's.
fn costs(record: &Record) -> Vec<EpochCost> {
    let count = record.epochs.len();
    if count < 2 {
        return Vec::new();
    }
    let of = |class: RowClass| -> Vec<Vec<f64>> {
        let at = |level: &'static str| move |cell: &&LatencyCell| cell.level.as_deref() == Some(level);
        let latency = |level| -> Vec<Vec<f64>> {
            record.memory.latency.iter().filter(at(level)).map(|cell| by_epoch(&cell.spread, false)).collect()
        };
        match class {
            RowClass::CoreClock => {
                record.cores.control.iter().map(|control| by_epoch(&control.spread, false)).collect()
            }
            RowClass::SharedCacheLatency => latency("L3"),
            RowClass::MemoryLatency => latency("memory"),
            _ => record.memory.stream.iter().map(|stream| by_epoch(&stream.spread, true)).collect(),
        }
    };
    let cost = |(class, limit): (RowClass, f64)| {
        // Only rows that every epoch has: their values stand in the order of the epochs.
        let rows: Vec<Vec<f64>> = of(class).into_iter().filter(|row| row.len() == count).collect();
        let middle = |epoch: usize| median(&rows.iter().map(|row| row[epoch]).collect::<Vec<f64>>());
        let logs: Option<Vec<f64>> = (0..count).map(middle).collect();
        let logs = logs?;
        let best = logs.iter().copied().fold(f64::INFINITY, f64::min);
        Some(EpochCost { class, ratios: logs.iter().map(|log| (log - best).exp()).collect(), limit })
    };
    LIMITS.into_iter().filter_map(cost).collect()
}

/// Logarithms of a row's costs by epoch, about their mean; empty for a row with a value that has none.
fn by_epoch(spread: &Spread, is_rate: bool) -> Vec<f64> {
    let sign = if is_rate { -1.0 } else { 1.0 };
    let logs: Vec<f64> = spread.epochs.iter().map(|value| sign * value.ln()).collect();
    if !logs.iter().all(|log| log.is_finite()) {
        return Vec::new();
    }
    let mean = mean(&logs);
    logs.iter().map(|log| log - mean).collect()
}

/// The epochs, from 1, in which others took something.
fn at_work(record: &Record, costs: &[EpochCost]) -> Vec<usize> {
    let is_slow = |epoch: usize| costs.iter().any(|cost| cost.ratios[epoch] > cost.limit);
    let is_at_work = |epoch: &usize| taken(&record.epochs[*epoch].got) || is_slow(*epoch);
    (0..record.epochs.len()).filter(is_at_work).map(|epoch| epoch + 1).collect()
}

/// Whether the kernel counted that others had the CPUs.
fn taken(got: &CpuShare) -> bool {
    let above = |share: Option<f64>, limit: f64| share.is_some_and(|share| share > limit);
    above(got.steal_share, TAKEN)
        || above(got.others_share, OTHERS)
        || above(got.waited_share, WAITED)
        || got.core_share.is_some_and(|share| share < CORE_SHARE)
}

#[cfg(test)]
mod tests;
