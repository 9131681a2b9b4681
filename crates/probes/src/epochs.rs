//! Records of epochs become one record. Pure.
//!
//! A check-up measures in several epochs, each a fresh process with its own mappings, address space and orders: what the
//! windows of one process share, the next process does not. Rows are matched by what they are about, raw windows are joined, and
//! value and interval are made with the epoch as the unit, by the estimator of the row's class ([`crate::estimator`]).
//!
//! What is no list of numbers is taken over: of the check of clocks, the cost of clocks and the sockets the last epoch that
//! has one (the planner gives each to one epoch, as far as their time allows); of what time says of flaws the last
//! value by quantity, so that a reason never replaces a value.

mod rows;

use std::collections::BTreeMap;

use machine::Hertz;
use record::{Control, Guards, PlanEntry, PlanOutcome, RawSeries, Reading, Record};

use crate::control::{PORT_LOOP, series_name};

/// An epoch's record, and where its raw series went.
#[derive(Debug)]
struct Part {
    record: Record,
    raw: Vec<usize>,
}

/// The records of the epochs that are over.
#[derive(Debug, Default)]
pub struct Epochs {
    parts: Vec<Part>,
    /// Where the series of a name and a unit are that stand at this place among those of one epoch.
    places: BTreeMap<(String, String, usize), usize>,
}

impl Epochs {
    /// Takes in the record of an epoch, and puts its raw series beside those of the same name in `raw`, which holds those of the
    /// epochs before.
    pub fn add(&mut self, record: Record, raw: &mut Vec<RawSeries>) {
        let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let indices =
            record.raw.iter().map(|series| place(series, &mut seen, &mut self.places, raw)).collect();
        self.parts.push(Part { record, raw: indices });
    }
}

/// Adds what epochs measured to a record that was begun and holds their raw series; of one epoch everything as it is. The base keeps
/// who measured, the machine, the plan and the list of epochs.
pub fn merge(base: &mut Record, epochs: &Epochs) {
    let parts = epochs.parts.as_slice();
    rows::merge(base, parts);
    let records: Vec<&Record> = parts.iter().map(|part| &part.record).collect();
    for (index, part) in parts.iter().enumerate() {
        let samples = part.record.samples.iter().cloned();
        base.samples.extend(samples.map(|sample| record::QuestionSample { epoch: index + 1, ..sample }));
    }
    base.plan.entries.iter_mut().for_each(|entry| conclude(entry, &records));
    base.guards = guards(&records);
    for record in &records {
        add_new(&mut base.provenance.without, &record.provenance.without);
        let (Some(evidence), Some(own)) = (&mut base.flaw_evidence, &record.flaw_evidence) else { continue };
        for (quantity, reading) in &own.timing {
            if matches!(reading, Reading::Is(_)) || !evidence.timing.contains_key(quantity) {
                evidence.timing.insert(quantity.clone(), reading.clone());
            }
        }
    }
    base.clock_check = records.iter().rev().find_map(|record| record.clock_check.clone());
    base.clock_cost = parts.iter().rev().find_map(|part| {
        let mut cost = part.record.clock_cost.clone()?;
        cost.reads.iter_mut().for_each(|read| part.move_raw(&mut read.spread.raw));
        Some(cost)
    });
    rows::take_sockets(base, parts);
}

impl Part {
    /// Where a raw series of this epoch is now.
    fn move_raw(&self, raw: &mut Option<usize>) {
        *raw = raw.and_then(|index| self.raw.get(index).copied());
    }
}

/// Puts a series beside those of its name. An epoch may have several of one name; they are distinguished by their order.
fn place<'a>(
    series: &'a RawSeries,
    seen: &mut BTreeMap<(&'a str, &'a str), usize>,
    places: &mut BTreeMap<(String, String, usize), usize>,
    joined: &mut Vec<RawSeries>,
) -> usize {
    let count = seen.entry((&series.name, &series.unit)).or_default();
    let key = (series.name.clone(), series.unit.clone(), *count);
    *count += 1;
    if let Some(&index) = places.get(&key) {
        append(&mut joined[index], series);
        return index;
    }
    places.insert(key, joined.len());
    joined.push(series.clone());
    joined.len() - 1
}

/// Appends visits; mappings of epochs stay apart.
fn append(series: &mut RawSeries, more: &RawSeries) {
    if !series.mapping_of_visit.is_empty() || !more.mapping_of_visit.is_empty() {
        let fresh = |series: &RawSeries| (0..series.visits.len() as u32).collect::<Vec<u32>>();
        if series.mapping_of_visit.is_empty() {
            series.mapping_of_visit = fresh(series);
        }
        let next = series.mapping_of_visit.iter().max().map_or(0, |last| last + 1);
        let theirs =
            if more.mapping_of_visit.is_empty() { fresh(more) } else { more.mapping_of_visit.clone() };
        series.mapping_of_visit.extend(theirs.into_iter().map(|mapping| mapping + next));
    }
    series.visits.extend(more.visits.iter().cloned());
}

/// Adds the lines that are not there yet.
fn add_new(lines: &mut Vec<String>, more: &[String]) {
    for line in more {
        if !lines.contains(line) {
            lines.push(line.clone());
        }
    }
}

/// What became of a probe in all epochs: done if any did it, and then a line for each that did not.
fn conclude(entry: &mut PlanEntry, epochs: &[&Record]) {
    let of_epoch =
        |record: &&Record| record.plan.entries.iter().find(|other| other.probe == entry.probe).cloned();
    let seen: Vec<(usize, PlanEntry)> =
        epochs.iter().enumerate().filter_map(|(index, record)| Some((index, of_epoch(record)?))).collect();
    let times: Vec<f64> = seen.iter().filter_map(|(_, own)| own.elapsed_s).collect();
    if !times.is_empty() {
        entry.elapsed_s = Some(times.iter().sum());
    }
    let rank = |outcome: &PlanOutcome| match outcome {
        PlanOutcome::Done => 0,
        PlanOutcome::Cut(_) => 1,
        PlanOutcome::Failed(_) => 2,
        PlanOutcome::Dropped(_) => 3,
        PlanOutcome::Pending => 4,
    };
    let Some((_, best)) = seen.iter().min_by_key(|(_, own)| rank(&own.outcome)) else { return };
    entry.outcome = best.outcome.clone();
    for (index, own) in &seen {
        add_new(&mut entry.reduced, &own.reduced);
        if let (
            PlanOutcome::Done | PlanOutcome::Cut(_),
            PlanOutcome::Failed(why) | PlanOutcome::Dropped(why),
        ) = (&entry.outcome, &own.outcome)
        {
            entry.reduced.push(format!("not in epoch {}: {why}", index + 1));
        }
    }
}

/// Counts are added up; shares are those of the whole time; of clocks the extremes.
fn guards(epochs: &[&Record]) -> Guards {
    let mut all = Guards::default();
    let whole_s: f64 = epochs.iter().map(|record| record.elapsed_s).sum();
    let share = |of: fn(&Guards) -> Option<f64>| {
        let parts: Option<Vec<f64>> =
            epochs.iter().map(|record| Some(of(&record.guards)? * record.elapsed_s)).collect();
        parts.filter(|_| whole_s > 0.0).map(|parts| parts.iter().sum::<f64>() / whole_s)
    };
    all.steal_share = share(|guards| guards.steal_share);
    all.others_share = share(|guards| guards.others_share);
    all.waited_share = share(|guards| guards.waited_share);
    let loads: Vec<[f64; 2]> = epochs.iter().filter_map(|record| record.guards.load_average).collect();
    all.load_average = loads.first().zip(loads.last()).map(|(first, last)| [first[0], last[1]]);
    for guards in epochs.iter().map(|record| &record.guards) {
        all.involuntary_switches += guards.involuntary_switches;
        all.windows += guards.windows;
        all.windows_dropped += guards.windows_dropped;
        all.core_hz = match (all.core_hz, guards.core_hz) {
            (Some([low, high]), Some([own_low, own_high])) => {
                Some([Hertz(low.0.min(own_low.0)), Hertz(high.0.max(own_high.0))])
            }
            (one, other) => one.or(other),
        };
        all.counter_hz = guards.counter_hz.or(all.counter_hz);
        all.counter_error_ppm =
            [all.counter_error_ppm, guards.counter_error_ppm].into_iter().flatten().reduce(f64::max);
        all.throttle_events = match (all.throttle_events, guards.throttle_events) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        add_new(&mut all.doubts, &guards.doubts);
    }
    all
}

/// Share of its core that the worst CPU of an epoch had on average, by the windows of its port loop; `None` without control loops.
pub fn core_share(record: &Record) -> Option<f64> {
    let share = |control: &Control| {
        let name = series_name(control.cpu, PORT_LOOP);
        let windows: Vec<f64> = record
            .raw
            .iter()
            .find(|raw| raw.name == name)?
            .visits
            .iter()
            .flatten()
            .map(|ns| f64::from(*ns))
            .collect();
        let mean = stats::mean(&windows);
        // The record has the share of the median window; a sibling that is busy at times moves only the mean.
        let share = control.core_share * stats::median(&windows)? / mean;
        share.is_finite().then_some(share.min(1.0))
    };
    record.cores.control.iter().filter_map(share).reduce(f64::min)
}

#[cfg(test)]
mod tests;
