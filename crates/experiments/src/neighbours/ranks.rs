//! How a run stands among earlier runs of its machine, and among other machines with its CPU.

use std::collections::BTreeMap;

use record::{HistoryEntry, HostRank, Neighbours, Record};
use stats::{RowClass, SMALLEST_SPREAD, median, next_run_reach};

use super::LIMITS;
use crate::history;

/// Fewer earlier runs, or other machines, say nothing about an instance.
pub(super) const FEWEST: usize = 5;
/// A run is beyond the others if runs like them are so once in a hundred, by Student's t.
const LEVEL: f64 = 0.99;

/// Adds the ranks, and what they say of giving the instance back.
pub(super) fn add(found: &mut Neighbours, record: &Record, own: &[&HistoryEntry], kin: &[&HistoryEntry]) {
    let here = history::entry(record);
    let whole = |entry: &&&HistoryEntry| entry.partial.is_none() && entry.plan == here.plan;
    let own: Vec<&HistoryEntry> = own.iter().filter(whole).copied().collect();
    let kin: Vec<&HistoryEntry> = kin.iter().filter(whole).copied().collect();
    let machines = one_per_machine(&kin);
    for (class, _) in LIMITS {
        found.ranks.extend(rank(class, &here, &own, true));
        found.ranks.extend(rank(class, &here, &machines, false));
    }
    let known = own.len().max(machines.len());
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
            "whether to give this instance back is undetermined: it is within what {known} earlier {} differ by",
            if own.len() >= FEWEST { "check-ups" } else { "machines with this CPU" }
        ));
    } else {
        found.give_back = Some(super::words::give_back(&worse));
    }
}

/// The newest entry of each machine.
fn one_per_machine<'a>(entries: &[&'a HistoryEntry]) -> Vec<&'a HistoryEntry> {
    let mut machines: Vec<&HistoryEntry> = Vec::new();
    for entry in entries {
        let same =
            |known: &&mut &HistoryEntry| history::is_same_machine(&known.fingerprint, &entry.fingerprint);
        match machines.iter_mut().find(same) {
            Some(known) => *known = entry,
            None => machines.push(entry),
        }
    }
    machines
}

/// Where this run stands in a class; `None` without others that have its rows.
fn rank(class: RowClass, here: &HistoryEntry, others: &[&HistoryEntry], is_own: bool) -> Option<HostRank> {
    let mine = costs(class, here);
    // The middle of the rows that both have, as a logarithm: of an earlier run over this one.
    let apart = |other: &&HistoryEntry| {
        let theirs = costs(class, other);
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
    Some(HostRank { class, is_own, count, better, ratio: (-middle).exp(), spread, is_worse })
}

/// The costs of a class's rows, by name.
fn costs(class: RowClass, entry: &HistoryEntry) -> BTreeMap<&str, f64> {
    let of_class = entry.rows.iter().filter(|(_, row)| row.class == class);
    of_class.filter_map(|(name, row)| Some((name.as_str(), row.cost()?))).collect()
}
