//! Whether others were at work beside a check-up, when, and how this host ranks among what is known of it.
//!
//! What others take shows in what the kernel counts (steal, other programs, waiting for a CPU) and in what epochs of one run
//! differ by: the same process, a minute later, on the same machine. An epoch is only ever compared with the best one of its
//! run. A state that lasts longer than the run shows in earlier runs alone; so whether to give an instance back is answered from
//! them, or not at all.

use std::collections::BTreeMap;

use record::{
    CpuShare, EpochCost, HistoryEntry, HostRank, Measurement, Neighbours, Record, measurements, metric,
};
use stats::{RowClass, SMALLEST_SPREAD, mean, median, next_run_reach};

use crate::history;

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
const LIMITS: [(RowClass, f64); 3] =
    [(RowClass::CoreClock, 1.10), (RowClass::RandomReads, 1.25), (RowClass::Stream, 1.40)];

/// What a record and earlier runs tell of others; `None` for a record that tells nothing: one epoch and no history. `own` are earlier
/// runs of this machine.
pub fn neighbours(record: &Record, own: &[&HistoryEntry]) -> Option<Neighbours> {
    let costs = costs(record);
    let mut found = Neighbours {
        in_guest: record.machine.identity.hypervisor.is_some(),
        at_work: at_work(record, &costs),
        costs,
        ..Neighbours::default()
    };
    let shares = record.epochs.iter().any(|epoch| !epoch.got.is_unreported());
    add_ranks(&mut found, record, own);
    if found.costs.is_empty() && !shares && found.ranks.is_empty() {
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

/// Fewer earlier runs, or other machines, say nothing about an instance.
const FEWEST: usize = 5;
/// A run is beyond the others if runs like them are so once in a hundred, by Student's t.
const LEVEL: f64 = 0.99;

/// Adds the ranks, and what they say of giving the instance back.
fn add_ranks(found: &mut Neighbours, record: &Record, own: &[&HistoryEntry]) {
    let here = history::entry(record);
    let whole = |entry: &&&HistoryEntry| entry.partial.is_none() && entry.plan == here.plan;
    let own: Vec<&HistoryEntry> = own.iter().filter(whole).copied().collect();
    found.ranks = LIMITS.iter().filter_map(|(class, _)| rank(*class, &here, &own)).collect();
    let known = own.len();
    if !found.in_guest {
        return;
    }
    if known < FEWEST {
        found.needed = Some(format!(
            "whether to give this instance back: {FEWEST} earlier check-ups of it with this plan would tell, there {} {}",
            if known == 1 { "is" } else { "are" },
            if known == 0 { "none".to_owned() } else { known.to_string() }
        ));
        return;
    }
    let worse: Vec<&HostRank> =
        found.ranks.iter().filter(|rank| rank.is_worse && rank.count >= FEWEST).collect();
    if worse.is_empty() {
        found.needed = Some(format!(
            "whether to give this instance back is undetermined: it is within what {known} earlier check-ups differ by"
        ));
    } else {
        found.give_back = Some(give_back(&worse));
    }
}

/// Where this run stands in a class; `None` without others that have its rows.
fn rank(class: RowClass, here: &HistoryEntry, others: &[&HistoryEntry]) -> Option<HostRank> {
    let mine = costs_of_class(class, here);
    // The middle of the rows that both have, as a logarithm: of an earlier run over this one.
    let apart = |other: &&HistoryEntry| {
        let theirs = costs_of_class(class, other);
        let both = mine.iter().filter_map(|(name, log)| Some(theirs.get(name)? - log));
        median(&both.collect::<Vec<f64>>())
    };
    let logs: Vec<f64> = others.iter().filter_map(apart).collect();
    let middle = median(&logs)?;
    let count = logs.len();
    let spread = (count > 1).then(|| stats::sample_variance(&logs).sqrt());
    let is_worse = spread.is_some_and(|spread| {
        -stats::mean(&logs) > spread.max(SMALLEST_SPREAD) * next_run_reach(LEVEL, count)
    });
    let better = logs.iter().filter(|log| **log < 0.0).count();
    Some(HostRank { class, count, better, ratio: (-middle).exp(), spread, is_worse })
}

/// The costs of a class's rows, by name.
fn costs_of_class(class: RowClass, entry: &HistoryEntry) -> BTreeMap<&str, f64> {
    let of_class = entry.rows.iter().filter(|(_, row)| row.class == class);
    of_class.filter_map(|(name, row)| Some((name.as_str(), row.cost()?))).collect()
}

/// One sentence on the epochs, and one on each class that is beyond earlier runs.
fn shows(record: &Record, found: &Neighbours) -> Vec<String> {
    let count = record.epochs.len();
    let mut lines: Vec<String> =
        found.at_work.iter().map(|epoch| at_work_in(record, found, *epoch, count)).collect();
    if lines.is_empty() && count > 0 {
        lines.extend(quiet(record, found, count));
    }
    lines.extend(found.ranks.iter().filter(|rank| rank.is_worse).map(beyond));
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

fn beyond(rank: &HostRank) -> String {
    format!("{}: more than these spread", stands(rank))
}

/// `memory latency +45 % against the median of 5 earlier check-ups of this machine, 5 of them better`.
fn stands(rank: &HostRank) -> String {
    let others = format!("{} earlier check-ups of this machine", rank.count);
    let spread = rank.spread.map_or_else(String::new, |spread| {
        format!(" (one standard deviation {:.1} %)", spread.exp_m1() * 100.0)
    });
    format!(
        "{} {} against the median of {others}{spread}, {} of them better",
        class_name(rank.class),
        signed(rank.ratio),
        rank.better
    )
}

/// The evidence for giving an instance back.
fn give_back(worse: &[&HostRank]) -> String {
    let described: Vec<String> = worse.iter().map(|rank| stands(rank)).collect();
    format!(
        "there is reason to give this instance back, if a check-up an hour from now finds the same: {}",
        described.join("; ")
    )
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
