//! Whether others were at work beside a check-up, and when.
//!
//! What others take shows in what the kernel counts (steal, other programs, waiting for a CPU) and in what epochs of one run
//! differ by: the same process, a minute later, on the same machine. An epoch is only ever compared with the best one of its
//! run. A state that lasts longer than the run shows in earlier runs alone: that is for a guard, which keeps count of its alarms.

use record::{CpuShare, EpochCost, Measurement, Neighbours, Record, measurements, metric};
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

/// What a record shows of others; `None` for a record that shows nothing, as one of one epoch without shares, and where something was
/// planted: that is no neighbour.
pub fn neighbours(record: &Record) -> Option<Neighbours> {
    let costs = costs(record);
    let mut found = Neighbours {
        in_guest: record.machine.identity.hypervisor.is_some(),
        at_work: at_work(record, &costs),
        costs,
        ..Neighbours::default()
    };
    let shares = record.epochs.iter().any(|epoch| !epoch.got.is_unreported());
    if !record.provenance.planted.is_empty() || found.costs.is_empty() && !shares {
        return None;
    }
    found.shows = shows(record, &found);
    Some(found)
}

/// By class the cost of each epoch over the best one's.
fn costs(record: &Record) -> Vec<EpochCost> {
    let count = record.epochs.len();
    if count < 2 {
        return Vec::new();
    }
    let numbers = measurements(record);
    // Of latency what a level is known of: the surface.
    let is_watched = |one: &&Measurement<'_>| {
        one.metric == &metric::LATENCY && one.level.is_some()
            || [&metric::MULTIPLY, &metric::STREAM].contains(&one.metric)
    };
    let of = |class: RowClass| -> Vec<Vec<f64>> {
        numbers.iter().filter(is_watched).filter(|one| one.class() == class).map(by_epoch).collect()
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
fn by_epoch(one: &Measurement<'_>) -> Vec<f64> {
    let logs: Vec<f64> =
        one.spread.epochs.iter().map(|value| one.metric.unit.better.cost(value.ln())).collect();
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

/// One sentence on each epoch with others at work, or on all where none is.
fn shows(record: &Record, found: &Neighbours) -> Vec<String> {
    let count = record.epochs.len();
    let mut lines: Vec<String> =
        found.at_work.iter().map(|epoch| at_work_in(record, found, *epoch, count)).collect();
    if lines.is_empty() && count > 0 {
        lines.extend(quiet(record, found, count));
    }
    lines
}

/// Who is meant: other guests where there is a hypervisor, else and where the kernel itself counted them other programs.
fn who(got: &CpuShare, in_guest: bool) -> &'static str {
    let programs = got.others_share.is_some_and(|share| share > OTHERS);
    match (in_guest, programs) {
        (true, false) => "neighbours were",
        (true, true) => "other programs of this guest, perhaps neighbours too, were",
        (false, _) => "other programs were",
    }
}

fn at_work_in(record: &Record, found: &Neighbours, epoch: usize, count: usize) -> String {
    let got = &record.epochs[epoch - 1].got;
    let mut signs: Vec<String> = found
        .costs
        .iter()
        .filter(|cost| cost.ratios[epoch - 1] > cost.limit)
        .map(|cost| format!("{} {}", class_name(cost.class), signed(cost.ratios[epoch - 1])))
        .collect();
    signs.extend(shares_taken(got, [TAKEN, OTHERS, WAITED]));
    signs.extend(core_share(got, CORE_SHARE).map(|share| format!("a CPU had {share}")));
    format!("{} at work in epoch {epoch} of {count}: {}", who(got, found.in_guest), signs.join(", "))
}

/// `None` if no epoch told anything.
fn quiet(record: &Record, found: &Neighbours, count: usize) -> Option<String> {
    let most = |of: fn(&CpuShare) -> Option<f64>| {
        record.epochs.iter().filter_map(|epoch| of(&epoch.got)).reduce(f64::max)
    };
    let most = CpuShare {
        steal_share: most(|got| got.steal_share),
        others_share: most(|got| got.others_share),
        waited_share: most(|got| got.waited_share),
        core_share: record.epochs.iter().filter_map(|epoch| epoch.got.core_share).reduce(f64::min),
    };
    let mut signs: Vec<String> = found
        .costs
        .iter()
        .map(|cost| {
            let worst = cost.ratios.iter().copied().fold(1.0, f64::max);
            format!("{} {}", class_name(cost.class), signed(worst))
        })
        .collect();
    signs.extend(shares_taken(&most, [-1.0; 3]));
    signs.extend(core_share(&most, f64::INFINITY).map(|share| format!("each CPU had at least {share}")));
    let whom = if found.in_guest { "neighbours" } else { "other programs" };
    let epochs = if count == 1 { "one epoch".to_owned() } else { format!("{count} epochs") };
    (!signs.is_empty()).then(|| format!("no sign of {whom} in {epochs}: at most {}", signs.join(", ")))
}

fn shares_taken(got: &CpuShare, above: [f64; 3]) -> Vec<String> {
    let shares = [
        ("steal", got.steal_share),
        ("other programs", got.others_share),
        ("waiting for a CPU", got.waited_share),
    ];
    let described = shares.into_iter().zip(above).filter_map(|((what, share), above)| {
        let share = share.filter(|share| share.is_finite() && *share > above)?;
        Some(format!("{what} {:.1} %", share * 100.0))
    });
    described.collect()
}

/// What a CPU had of its core, if that is below.
fn core_share(got: &CpuShare, below: f64) -> Option<String> {
    let share = got.core_share.filter(|share| *share < below)?;
    Some(format!("{:.0} % of a core", share * 100.0))
}

/// Costs of the core are those of its clock's period.
fn class_name(class: RowClass) -> &'static str {
    match class {
        RowClass::CoreClock => "core cycle",
        RowClass::Stream => "STREAM time",
        other => other.name(),
    }
}

fn signed(ratio: f64) -> String {
    format!("{:+.0} %", (ratio - 1.0) * 100.0)
}

#[cfg(test)]
mod tests;
