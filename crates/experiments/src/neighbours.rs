//! Whether others were at work beside a check-up, and when.
//!
//! What others take shows in what the kernel counts (steal, other programs, waiting for a CPU) and in what epochs of one run
//! differ by: the same process, a minute later, on the same machine. An epoch is only ever compared with the best one of its
//! run. A state that lasts longer than the run shows in earlier runs alone: that is for a guard, which keeps count of its alarms.

use record::{CpuShare, EpochCost, Guards, Measurement, Neighbours, Record, measurements, metric};
use stats::{RowClass, mean, median};

/// A wait this long is no accident of scheduling: windows that are set aside on a loaded but usable machine are 2 to 3 %.
const WAITED: f64 = 0.05;

/// A CPU whose core gave it less than this had company on it: its control loops scatter by 2.4 % between epochs, three times
/// which is no accident.
const CORE_SHARE: f64 = 0.93;

/// What epochs of a quiet guest differ by from the best one is below this: four standard deviations between epochs, of 2.4 % for the
/// control loop, 6 % for latency beyond the second level and 10 % for bandwidth (METHODOLOGY.md, Epochs).
const LIMITS: [(RowClass, f64); 3] =
    [(RowClass::CoreClock, 1.10), (RowClass::RandomReads, 1.25), (RowClass::Stream, 1.40)];

/// What a record shows of others; `None` for a record that shows nothing, as one of one epoch without shares, and where something was
/// planted: that is no neighbour.
pub fn neighbours(record: &Record) -> Option<Neighbours> {
    let costs = costs(record);
    let shares = record.epochs.iter().any(|epoch| !epoch.got.is_unreported());
    if !record.provenance.planted.is_empty() || costs.is_empty() && !shares {
        return None;
    }
    let mut found =
        Neighbours { in_guest: record.machine.identity.hypervisor.is_some(), costs, ..Neighbours::default() };
    for (index, epoch) in record.epochs.iter().enumerate() {
        let signs = signs(&found.costs, index, &epoch.got);
        if !signs.is_empty() {
            let (number, count) = (index + 1, record.epochs.len());
            let who = who(&epoch.got, found.in_guest);
            found.at_work.push(number);
            found.shows.push(format!("{who} at work in epoch {number} of {count}: {}", signs.join(", ")));
        }
    }
    Some(found)
}

/// By class the cost of each epoch over the best one's.
fn costs(record: &Record) -> Vec<EpochCost> {
    let count = record.epochs.len();
    if count < 2 {
        return Vec::new();
    }
    let numbers = measurements(record);
    let is_watched = |one: &&Measurement<'_>| {
        [&metric::RANDOM_READ, &metric::MULTIPLY, &metric::STREAM].contains(&one.metric)
    };
    let of = |class: RowClass| -> Vec<Vec<f64>> {
        numbers.iter().filter(is_watched).filter(|one| one.class() == class).map(by_epoch).collect()
    };
    let cost = |(class, limit): (RowClass, f64)| {
        // Only rows that every epoch has: their values stand in the order of the epochs.
        let rows: Vec<Vec<f64>> = of(class).into_iter().filter(|row| row.len() == count).collect();
        let middle = |epoch: usize| median(&rows.iter().map(|row| row[epoch]).collect::<Vec<f64>>());
        let logs = (0..count).map(middle).collect::<Option<Vec<f64>>>()?;
        let best = logs.iter().copied().fold(f64::INFINITY, f64::min);
        Some(EpochCost { class, ratios: logs.iter().map(|log| (log - best).exp()).collect(), limit })
    };
    LIMITS.into_iter().filter_map(cost).collect()
}

/// Logarithms of a row's costs by epoch, about their mean; empty for a row with a value that has none.
fn by_epoch(one: &Measurement<'_>) -> Vec<f64> {
    let logs: Vec<f64> =
        one.spread.epochs.iter().map(|value| one.metric.unit.better.cost(value.ln())).collect();
    if !logs.iter().all(|log| log.is_finite()) {
        return Vec::new();
    }
    let mean = mean(&logs);
    logs.iter().map(|log| log - mean).collect()
}

/// What an epoch was slower in than it may be by itself, and what the kernel counted that others had of the CPUs.
fn signs(costs: &[EpochCost], epoch: usize, got: &CpuShare) -> Vec<String> {
    let slow = costs.iter().filter(|cost| cost.ratios[epoch] > cost.limit);
    let slow =
        slow.map(|cost| format!("{} {:+.0} %", class_name(cost.class), (cost.ratios[epoch] - 1.0) * 100.0));
    let shares = [
        ("steal", got.steal_share, Guards::STEAL_DOUBTFUL),
        ("other programs", got.others_share, Guards::OTHERS_DOUBTFUL),
        ("waiting for a CPU", got.waited_share, WAITED),
    ];
    let taken = shares.into_iter().filter_map(|(what, share, limit)| {
        let share = share.filter(|share| share.is_finite() && *share > limit)?;
        Some(format!("{what} {:.1} %", share * 100.0))
    });
    let core = got.core_share.filter(|share| *share < CORE_SHARE);
    let core = core.map(|share| format!("a CPU had {:.0} % of a core", share * 100.0));
    slow.chain(taken).chain(core).collect()
}

/// Who is meant: other guests where there is a hypervisor, else and where the kernel itself counted them other programs.
fn who(got: &CpuShare, in_guest: bool) -> &'static str {
    let programs = got.others_share.is_some_and(|share| share > Guards::OTHERS_DOUBTFUL);
    match (in_guest, programs) {
        (true, false) => "neighbours were",
        (true, true) => "other programs of this guest, perhaps neighbours too, were",
        (false, _) => "other programs were",
    }
}

/// Costs of the core are those of its clock's period.
fn class_name(class: RowClass) -> &'static str {
    match class {
        RowClass::CoreClock => "core cycle",
        RowClass::Stream => "STREAM time",
        other => other.name(),
    }
}

#[cfg(test)]
mod tests;
