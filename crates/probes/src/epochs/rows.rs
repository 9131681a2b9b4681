//! The rows of each list of results: which of several epochs are the same, and what goes with a new value.

use std::collections::BTreeMap;

use record::{
    LabelValue, ListVisitor, MeasuredRow, Measurement, Record, Spread, visit_cores, visit_memory,
    visit_sockets,
};
use stats::{Order, median};

use super::Part;
use crate::answers;
use crate::estimator::Estimator;
use crate::estimator::judge::{self, EpochEstimate, Judge};

/// Fills every list of the record with the rows of all epochs.
pub(super) fn merge(base: &mut Record, parts: &[Part]) {
    let mut joiner = Joiner { base, parts };
    visit_memory(&mut joiner);
    visit_cores(&mut joiner);
    // An epoch measures finer where it sees a step, and not all see it at the same place.
    base.memory.walks.order_by_key(|point| (point.cpu, point.page_bytes, point.pages));
    base.cores.checked.clear();
    base.cores.wrong.clear();
    for part in parts {
        answers::add(&mut base.cores, &part.record.cores.checked, &part.record.cores.wrong);
    }
}

/// Sockets are those of the last epoch that has them.
pub(super) fn take_sockets(base: &mut Record, parts: &[Part]) {
    base.sockets = None;
    let Some(part) = parts.iter().rev().find(|part| part.record.sockets.is_some()) else { return };
    base.sockets.clone_from(&part.record.sockets);
    visit_sockets(&mut Mover { base, part });
}

/// Joins the lists of all epochs.
struct Joiner<'j> {
    base: &'j mut Record,
    parts: &'j [Part],
}

impl ListVisitor for Joiner<'_> {
    fn list<R: MeasuredRow>(
        &mut self,
        of: fn(&Record) -> Option<&Vec<R>>,
        of_mut: fn(&mut Record) -> Option<&mut Vec<R>>,
    ) {
        let lists: Vec<&[R]> =
            self.parts.iter().map(|part| of(&part.record).map_or(&[][..], Vec::as_slice)).collect();
        let (Some(estimator), Some(filled)) = (Estimator::of_metric(R::METRIC), of_mut(self.base)) else {
            return;
        };
        // With one epoch it is as that has it.
        if let [only] = lists.as_slice() {
            *filled = only.to_vec();
            return;
        }
        let said = lists.iter().map(|rows| rows.iter().map(R::measurement).collect()).collect();
        let met = met(estimator, self.parts, said);
        let judge = Judge::of(estimator, met.iter().map(|met| &met.row));
        let joined = |met: &Met| {
            let judged = judge.judge(&met.row)?;
            let rows: Vec<&R> = met.places.iter().map(|&(part, index)| &lists[part][index]).collect();
            let mut joined = rows[judged.nearest].clone();
            let factor = judged.value / *joined.value_mut().0;
            joined.follow(if factor.is_finite() && factor > 0.0 { factor } else { 1.0 }, &rows);
            let (value, spread) = joined.value_mut();
            *value = judged.value;
            *spread = Spread { raw: met.raw, ..judged.spread };
            Some(joined)
        };
        *filled = met.iter().filter_map(joined).collect();
    }
}

/// Leads rows of one epoch to where its raw series are now.
struct Mover<'m> {
    base: &'m mut Record,
    part: &'m Part,
}

impl ListVisitor for Mover<'_> {
    fn list<R: MeasuredRow>(
        &mut self,
        _of: fn(&Record) -> Option<&Vec<R>>,
        of_mut: fn(&mut Record) -> Option<&mut Vec<R>>,
    ) {
        for row in of_mut(self.base).into_iter().flatten() {
            self.part.move_raw(&mut row.value_mut().1.raw);
        }
    }
}

/// The same row as epochs have it.
struct Met {
    row: judge::Row,
    /// In which epoch it stands where in the list.
    places: Vec<(usize, usize)>,
    raw: Option<usize>,
}

/// Rows of all epochs, those of one name together, in the order of the lists.
fn met(estimator: &Estimator, parts: &[Part], said: Vec<Vec<Measurement<'_>>>) -> Vec<Met> {
    let mut places = Places::default();
    let mut found: Vec<Option<Met>> = Vec::new();
    let mut scales: Vec<Vec<f64>> = Vec::new();
    for (epoch, (part, rows)) in parts.iter().zip(said).enumerate() {
        let names = rows.iter().map(|one| name(part, one)).collect();
        for (index, (one, place)) in rows.into_iter().zip(places.of_epoch(names)).enumerate() {
            found.resize_with(found.len().max(place + 1), || None);
            scales.resize(found.len(), Vec::new());
            let row = judge::Row { scale: 0.0, group: group(&one), epochs: Vec::new() };
            let met = found[place].get_or_insert_with(|| Met { row, places: Vec::new(), raw: None });
            let mut raw = one.spread.raw;
            part.move_raw(&mut raw);
            met.raw = met.raw.or(raw);
            met.places.push((epoch, index));
            met.row.epochs.push(epoch_estimate(estimator, part, &one));
            scales[place].push(one.scale);
            met.row.scale = median(&scales[place]).unwrap_or(0.0);
        }
    }
    places.order.iter().filter_map(|place| found[*place].take()).collect()
}

/// What a row is about, and the series that it comes from.
fn name(part: &Part, one: &Measurement<'_>) -> String {
    let raw = one.spread.raw.and_then(|index| part.record.raw.get(index));
    let series = raw.map_or("", |raw| raw.name.as_str());
    format!("{:?} {series}", (one.place, one.node, &one.parameters))
}

/// Rows of one number scatter alike: those over as large a block, or as many pages, within a factor of two.
fn group(one: &Measurement<'_>) -> u32 {
    let mut labels = one.parameters[..one.labels].iter();
    let size = labels.find_map(|(name, value)| match value {
        LabelValue::Size(bytes) if *name == "block_bytes" => Some(bytes.0),
        LabelValue::Count(pages) if *name == "pages" => Some(*pages),
        _ => None,
    });
    size.map_or(0, |size| size.max(1).ilog2())
}

/// A row by its name, and how many of that name stand before it in its epoch.
type Key = (String, usize);

/// Which rows of several epochs are the same. One for the rows of every kind, so that its code is there once.
#[derive(Default)]
struct Places {
    /// Their numbers in the order of the lists: what only a later epoch has stands after what it stands after there.
    order: Vec<usize>,
    numbers: BTreeMap<Key, usize>,
}

impl Places {
    /// The number of each row of an epoch, the next where it is new.
    fn of_epoch(&mut self, names: Vec<String>) -> Vec<usize> {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut after = 0;
        let number = |name: String| {
            // Two rows of one key in one epoch are distinguished by their order.
            let count = seen.entry(name.clone()).or_default();
            let key = (name, *count);
            *count += 1;
            let next = self.numbers.len();
            let number = *self.numbers.entry(key).or_insert(next);
            if let Some(place) = self.order.iter().skip(after).position(|known| *known == number) {
                after += place + 1;
            } else if number == next {
                self.order.insert(after, number);
                after += 1;
            }
            number
        };
        names.into_iter().map(number).collect()
    }
}

/// What an epoch says by its windows, or by its probe where that makes the value itself.
fn epoch_estimate(estimator: &Estimator, part: &Part, one: &Measurement<'_>) -> EpochEstimate {
    let stated = || one.spread.clone().into_owned();
    let raw = one.spread.raw.and_then(|index| part.record.raw.get(index));
    let found = raw.and_then(|raw| EpochEstimate::of(estimator, raw, one.spread.dropped));
    let found =
        found.unwrap_or_else(|| EpochEstimate { value: one.value, mappings: Vec::new(), spread: stated() });
    EpochEstimate {
        spread: Spread { quality: one.spread.quality, mappings: one.spread.mappings, ..found.spread },
        ..found
    }
}
