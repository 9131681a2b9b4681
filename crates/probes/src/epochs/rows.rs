//! The rows of each list of results: what makes two of them the same, and what goes with a new value.

use std::collections::BTreeMap;

use record::{
    BandwidthPoint, ClockRead, Compute, Control, LatencyCell, LineTransfer, LoadedLatency, OrderedLatency,
    PairSlowdown, ParallelChase, Record, Spread, StreamResult, UnlikeSlowdown, WakePoint, WalkPoint,
};
use stats::{Order, median};

use super::Part;
use super::estimator::{self, Estimator};
use super::judge::{self, EpochEstimate, Judge};
use crate::answers;

/// A row of a list of results.
trait Row: Clone {
    /// What it is about, in words that only equal rows share.
    fn key(&self) -> String;

    fn value_mut(&mut self) -> (&mut f64, &mut Spread);

    fn value(&self) -> f64 {
        *self.clone().value_mut().0
    }

    fn spread(&self) -> Spread {
        self.clone().value_mut().1.clone()
    }

    /// What differences of the value are measured against.
    fn scale(&self) -> f64 {
        self.value().abs()
    }

    /// Rows of one number scatter alike.
    fn group(&self) -> u32 {
        0
    }

    /// Takes over what goes with the value. The row itself is that of the epoch nearest to it, whose value was larger by
    /// one over `factor`; `rows` are those of all epochs.
    fn follow(&mut self, _factor: f64, _rows: &[&Self]) {}
}

/// A row whose value is one field, whose key is others, and what else it has to do.
macro_rules! row {
    ($type:ty, $value:ident, ($($key:ident),+) $(, $more:item)*) => {
        impl Row for $type {
            fn key(&self) -> String {
                format!("{:?}", ($(&self.$key,)+))
            }

            fn value_mut(&mut self) -> (&mut f64, &mut Spread) {
                (&mut self.$value, &mut self.spread)
            }

            $($more)*
        }
    };
}

fn scaled(number: &mut Option<f64>, factor: f64) {
    *number = number.map(|number| number * factor);
}

fn middle<R>(rows: &[&R], of: fn(&R) -> f64) -> f64 {
    median(&rows.iter().map(|row| of(row)).collect::<Vec<f64>>()).unwrap_or(0.0)
}

fn octave(block: machine::Bytes) -> u32 {
    block.0.max(1).ilog2()
}

row!(
    StreamResult,
    bytes_per_s,
    (scope, cpu, node, cpus, kernel, isa, store, block_bytes),
    fn follow(&mut self, factor: f64, _rows: &[&Self]) {
        self.bus_bytes_per_s *= factor;
    }
);
row!(
    BandwidthPoint,
    bytes_per_s,
    (scope, cpus, kernel, isa, store, block_bytes, page_bytes),
    fn group(&self) -> u32 {
        octave(self.block_bytes)
    }
);
row!(
    LatencyCell,
    ns,
    (cpu, block_bytes, stride_bytes, page_bytes),
    fn group(&self) -> u32 {
        octave(self.block_bytes)
    },
    fn follow(&mut self, factor: f64, _rows: &[&Self]) {
        scaled(&mut self.core_cycles, factor);
    }
);
row!(OrderedLatency, ns, (cpu, block_bytes, page_bytes, order));
row!(ParallelChase, ns_per_load, (cpu, chains, block_bytes, page_bytes));
row!(
    WalkPoint,
    delta_ns,
    (cpu, pages, page_bytes),
    fn scale(&self) -> f64 {
        self.spread_ns.abs()
    },
    fn group(&self) -> u32 {
        self.pages.max(1).ilog2()
    },
    fn follow(&mut self, _factor: f64, rows: &[&Self]) {
        self.spread_ns = middle(rows, |row| row.spread_ns);
        self.packed_ns = middle(rows, |row| row.packed_ns);
    }
);
row!(
    LoadedLatency,
    ns,
    (cpu, loading, block_bytes, page_bytes),
    fn follow(&mut self, _factor: f64, rows: &[&Self]) {
        self.load_bytes_per_s = middle(rows, |row| row.load_bytes_per_s);
        self.load_interval = rows.iter().fold(self.load_interval, |hull, row| hull.hull(&row.load_interval));
        self.overlapped_windows = rows.iter().map(|row| row.overlapped_windows).sum();
    }
);
row!(
    Control,
    multiply_ns,
    (cpu),
    fn follow(&mut self, factor: f64, rows: &[&Self]) {
        self.core_hz = self.core_hz.map(|hz| machine::Hertz(hz.0 / factor));
        self.rotate_ns *= factor;
        self.port_ns *= factor;
        self.core_share = middle(rows, |row| row.core_share);
    }
);
row!(LineTransfer, ns, (a, b, protocol));
row!(
    PairSlowdown,
    slowdown,
    (a, b, resource),
    fn follow(&mut self, _factor: f64, rows: &[&Self]) {
        self.overlapped_windows = rows.iter().map(|row| row.overlapped_windows).sum();
    }
);
row!(
    UnlikeSlowdown,
    slowdown,
    (a, b, class, beside),
    fn follow(&mut self, _factor: f64, rows: &[&Self]) {
        self.overlapped_windows = rows.iter().map(|row| row.overlapped_windows).sum();
    }
);
row!(Compute, iterations_per_s, (cpu, kernel, isa));
row!(
    WakePoint,
    ns,
    (waker, sleeper, idle_us),
    fn follow(&mut self, _factor: f64, rows: &[&Self]) {
        self.p90_ns = middle(rows, |row| row.p90_ns);
    }
);
row!(
    ClockRead,
    ns,
    (name, cpu),
    fn follow(&mut self, factor: f64, rows: &[&Self]) {
        scaled(&mut self.counter_cycles, factor);
        // Cycles are by the frequency of each epoch, so they have a median of their own.
        let cycles: Vec<f64> = rows.iter().filter_map(|row| row.core_cycles).collect();
        self.core_cycles = median(&cycles);
        let intervals = rows.iter().filter_map(|row| row.core_cycles_interval);
        self.core_cycles_interval = intervals.reduce(|hull, one| hull.hull(&one));
        self.refused = rows.iter().find_map(|row| row.refused.clone());
        self.slow = self.slow.or_else(|| rows.iter().find_map(|row| row.slow));
    }
);

/// Fills every list of the record with the rows of all epochs.
pub(super) fn merge(base: &mut Record, parts: &[Part]) {
    base.memory.stream = list(&estimator::STREAM, parts, |record| &record.memory.stream);
    base.memory.bandwidth = list(&estimator::BANDWIDTH, parts, |record| &record.memory.bandwidth);
    base.memory.latency = list(&estimator::LATENCY, parts, |record| &record.memory.latency);
    base.memory.orders = list(&estimator::ORDERS, parts, |record| &record.memory.orders);
    base.memory.walks = list(&estimator::WALKS, parts, |record| &record.memory.walks);
    // An epoch measures finer where it sees a step, and not all see it at the same place.
    base.memory.walks.order_by_key(|point| (point.cpu, point.page_bytes, point.pages));
    base.memory.parallel = list(&estimator::PARALLEL, parts, |record| &record.memory.parallel);
    base.memory.loaded = list(&estimator::LOADED, parts, |record| &record.memory.loaded);
    base.cores.control = list(&estimator::CONTROL, parts, |record| &record.cores.control);
    base.cores.line_transfer = list(&estimator::LINE_TRANSFER, parts, |record| &record.cores.line_transfer);
    base.cores.sharing = list(&estimator::SHARING, parts, |record| &record.cores.sharing);
    base.cores.unlike = list(&estimator::SHARING, parts, |record| &record.cores.unlike);
    base.cores.compute = list(&estimator::COMPUTE, parts, |record| &record.cores.compute);
    base.cores.checked.clear();
    base.cores.wrong.clear();
    for part in parts {
        answers::add(&mut base.cores, &part.record.cores.checked, &part.record.cores.wrong);
    }
    base.cores.wake = list(&estimator::WAKE, parts, |record| &record.cores.wake);
    base.clocks = list(&estimator::CLOCKS, parts, |record| &record.clocks);
}

/// The same row as epochs have it.
struct Met<'a, R> {
    rows: Vec<&'a R>,
    epochs: Vec<EpochEstimate>,
    raw: Option<usize>,
}

/// One list of all epochs. With one epoch it is as that has it.
fn list<R: Row>(estimator: &Estimator, parts: &[Part], of: fn(&Record) -> &Vec<R>) -> Vec<R> {
    if let [only] = parts {
        return of(&only.record).clone();
    }
    let met = met(estimator, parts, of);
    let judged: Vec<judge::Row> = met
        .iter()
        .map(|met| judge::Row {
            scale: middle(&met.rows, R::scale),
            group: met.rows[0].group(),
            epochs: met.epochs.clone(),
        })
        .collect();
    let judge = Judge::of(estimator, &judged);
    met.iter().zip(&judged).filter_map(|(met, row)| joined(met, &judge, row)).collect()
}

fn joined<R: Row>(met: &Met<'_, R>, judge: &Judge<'_>, row: &judge::Row) -> Option<R> {
    let judged = judge.judge(row)?;
    let mut joined = met.rows[judged.nearest].clone();
    let factor = judged.value / joined.value();
    joined.follow(if factor.is_finite() && factor > 0.0 { factor } else { 1.0 }, &met.rows);
    let (value, spread) = joined.value_mut();
    *value = judged.value;
    *spread = Spread { raw: met.raw, ..judged.spread };
    Some(joined)
}

/// Rows of all epochs, those of one key together, in the order of the lists.
fn met<'a, R: Row>(estimator: &Estimator, parts: &'a [Part], of: fn(&Record) -> &Vec<R>) -> Vec<Met<'a, R>> {
    let mut places = Places::default();
    let mut found: Vec<Option<Met<'a, R>>> = Vec::new();
    for part in parts {
        let rows = of(&part.record);
        let names = rows.iter().map(|row| name(part, row.key(), &row.spread())).collect();
        for (row, place) in rows.iter().zip(places.of_epoch(names)) {
            found.resize_with(found.len().max(place + 1), || None);
            let met =
                found[place].get_or_insert_with(|| Met { rows: Vec::new(), epochs: Vec::new(), raw: None });
            let spread = row.spread();
            let mut raw = spread.raw;
            part.move_raw(&mut raw);
            met.raw = met.raw.or(raw);
            met.rows.push(row);
            met.epochs.push(epoch_estimate(estimator, part, row.value(), spread));
        }
    }
    places.order.iter().filter_map(|place| found[*place].take()).collect()
}

/// What a row is about, and the series that it comes from.
fn name(part: &Part, key: String, spread: &Spread) -> String {
    let raw = spread.raw.and_then(|index| part.record.raw.get(index));
    key + " " + raw.map_or("", |raw| raw.name.as_str())
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

/// The value of an epoch by the estimator of its class, and how far its own interval reaches.
fn epoch_estimate(estimator: &Estimator, part: &Part, stated: f64, spread: Spread) -> EpochEstimate {
    let raw = spread.raw.and_then(|index| part.record.raw.get(index));
    let windows: Vec<f64> =
        raw.map_or_else(Vec::new, |raw| raw.visits.iter().flatten().map(|&value| f64::from(value)).collect());
    let value = estimator.of_windows(&windows).unwrap_or(stated);
    let reach = [stated - spread.interval.low, spread.interval.high - stated];
    EpochEstimate { value, reach, spread }
}
