//! The lists of a record that hold measured numbers: what each row is about, where its number is, and what goes with a new one.

use std::borrow::Cow;

use machine::{Bytes, CpuSet, Hertz};
use stats::median;

use super::metric::{self, Metric};
use super::{LabelValue, Measurement, Place};
use crate::{
    BandwidthPoint, ClockRead, Compute, Control, LatencyCell, LineTransfer, LoadedLatency, NodeBandwidth,
    NodeLatency, NodeLoadedLatency, PackageScaling, PairSlowdown, ParallelChase, Record, Scope, Spread,
    StreamResult, UnlikeSlowdown, WakePoint, WalkPoint,
};

/// A row of a list of results.
pub trait MeasuredRow: Clone + 'static {
    /// What it measures.
    const METRIC: &'static Metric;
    /// Names of its labels.
    const LABELS: &'static [&'static str];

    /// What it says.
    fn measurement(&self) -> Measurement<'_>;

    /// The number and its spread.
    fn value_mut(&mut self) -> (&mut f64, &mut Spread);

    /// Takes over what goes with a number that was joined from `rows`. The row is the one nearest to it, whose number was larger by one
    /// over `factor`.
    fn follow(&mut self, factor: f64, rows: &[&Self]);
}

macro_rules! label_values {
    ($($type:ty: $value:ident => $label:expr;)*) => {$(
        impl<'r> From<&'r $type> for LabelValue<'r> {
            fn from($value: &'r $type) -> Self {
                $label
            }
        }
    )*};
}

label_values! {
    String: text => Self::Text(text);
    u64: count => Self::Count(*count);
    usize: count => Self::Count(*count as u64);
    f64: count => Self::Count(count.max(0.0) as u64);
    CpuSet: cpus => Self::Count(cpus.len() as u64);
    Bytes: bytes => Self::Size(*bytes);
    Option<Bytes>: bytes => bytes.map_or(Self::Text(""), Self::Size);
    Scope: scope => Self::Text(scope.name());
}

/// Of each type: metric, number and whose it is; labels and conditions; what is scaled with the number, is the median of the rows, or their
/// sum; what else follows it; and fields that its measurements have beside.
macro_rules! rows {
    ($(
        $type:ident = $metric:ident, $value:ident, $place:ident($($who:ident),*),
        [$($label:ident),*], [$($condition:ident),*]
        $(, scaled: [$($scaled:ident),*])? $(, middle: [$($middle:ident),*])? $(, summed: $summed:ident)?
        $(, follow: |$own:ident, $factor:ident, $all:ident| $follow:block)?
        $(, |$row:ident| { $($field:ident: $beside:expr),* })?;
    )*) => {$(
        impl MeasuredRow for $type {
            const METRIC: &'static Metric = &metric::$metric;
            const LABELS: &'static [&'static str] = &[$(stringify!($label)),*];

            fn measurement(&self) -> Measurement<'_> {
                $(let $row = self;)?
                Measurement {
                    $($($field: $beside,)*)?
                    place: Place::$place($(&self.$who),*),
                    parameters: vec![
                        $((stringify!($label), (&self.$label).into()),)*
                        $((stringify!($condition), (&self.$condition).into()),)*
                    ],
                    labels: Self::LABELS.len(),
                    ..Measurement::of(Self::METRIC, self.$value, Cow::Borrowed(&self.spread))
                }
            }

            fn value_mut(&mut self) -> (&mut f64, &mut Spread) {
                (&mut self.$value, &mut self.spread)
            }

            #[allow(unused_variables, reason = "most rows have one number")]
            fn follow(&mut self, factor: f64, rows: &[&Self]) {
                $($(self.$scaled.scale(factor);)*)?
                $($(self.$middle = middle(rows, |row| row.$middle);)*)?
                $(self.$summed = rows.iter().map(|row| row.$summed).sum();)?
                $(
                    let ($own, $factor, $all) = (self, factor, rows);
                    $follow
                )?
            }
        }
    )*};
}

/// What grows with the number of its row.
trait Scaled {
    fn scale(&mut self, factor: f64);
}

impl Scaled for f64 {
    fn scale(&mut self, factor: f64) {
        *self *= factor;
    }
}

impl Scaled for Option<f64> {
    fn scale(&mut self, factor: f64) {
        *self = self.map(|number| number * factor);
    }
}

fn middle<R>(rows: &[&R], of: fn(&R) -> f64) -> f64 {
    median(&rows.iter().map(|row| of(row)).collect::<Vec<f64>>()).unwrap_or(0.0)
}

rows! {
    StreamResult = STREAM, bytes_per_s, Together(cpus), [kernel, isa, store], [scope, block_bytes],
        scaled: [bus_bytes_per_s], |row| { node: row.node };
    BandwidthPoint = BANDWIDTH, bytes_per_s, Together(cpus), [kernel, isa, store, block_bytes], [scope, page_bytes];
    LatencyCell = LATENCY, ns, One(cpu), [block_bytes, stride_bytes, page_bytes], [], scaled: [core_cycles],
        |row| { level: row.level.as_deref(), core_cycles: row.core_cycles };
    ParallelChase = PARALLEL, ns_per_load, One(cpu), [chains, block_bytes], [page_bytes];
    LoadedLatency = LOADED, ns, One(cpu), [loading], [block_bytes, page_bytes], middle: [load_bytes_per_s],
        summed: overlapped_windows, follow: |own, _factor, rows| {
            own.load_interval = rows.iter().fold(own.load_interval, |hull, row| hull.hull(&row.load_interval));
        };
    WalkPoint = WALKS, delta_ns, One(cpu), [pages, page_bytes], [], middle: [spread_ns, packed_ns],
        |row| { scale: row.spread_ns.abs() };
    LineTransfer = LINE_TRANSFER, ns, Pair(a, b), [protocol], [];
    PairSlowdown = SHARING, slowdown, Pair(a, b), [resource], [], summed: overlapped_windows;
    UnlikeSlowdown = UNLIKE, slowdown, Pair(a, b), [class, beside], [], summed: overlapped_windows;
    WakePoint = WAKE, ns, Pair(sleeper, waker), [idle_us], [], middle: [p90_ns];
    ClockRead = CLOCK_READ, ns, One(cpu), [name], [], scaled: [counter_cycles],
        follow: |own, _factor, rows| {
            // Cycles are by the frequency of each epoch, so they have a median of their own.
            own.core_cycles = median(&rows.iter().filter_map(|row| row.core_cycles).collect::<Vec<f64>>());
            let intervals = rows.iter().filter_map(|row| row.core_cycles_interval);
            own.core_cycles_interval = intervals.reduce(|hull, one| hull.hull(&one));
            own.refused = rows.iter().find_map(|row| row.refused.clone());
            own.slow = own.slow.or_else(|| rows.iter().find_map(|row| row.slow));
        }, |row| { core_cycles: row.core_cycles };
    Compute = COMPUTE, iterations_per_s, One(cpu), [kernel, isa], [];
    Control = MULTIPLY, multiply_ns, One(cpu), [], [], scaled: [rotate_ns, port_ns], middle: [core_share],
        follow: |own, factor, _rows| { own.core_hz = own.core_hz.map(|hz| Hertz(hz.0 / factor)); };
    NodeLatency = NODE_LATENCY, ns, One(cpu), [], [], |row| { node: Some(row.node) };
    NodeBandwidth = NODE_BANDWIDTH, bytes_per_s, One(cpu), [kernel, isa, store], [], |row| { node: Some(row.node) };
    PackageScaling = PACKAGE_BANDWIDTH, bytes_per_s, Together(cpus), [], [];
}

impl MeasuredRow for NodeLoadedLatency {
    const METRIC: &'static Metric = &metric::NODE_LOADED;
    const LABELS: &'static [&'static str] = LoadedLatency::LABELS;

    fn measurement(&self) -> Measurement<'_> {
        Measurement { metric: Self::METRIC, node: Some(self.node), ..self.point.measurement() }
    }

    fn value_mut(&mut self) -> (&mut f64, &mut Spread) {
        self.point.value_mut()
    }

    fn follow(&mut self, factor: f64, rows: &[&Self]) {
        self.point.follow(factor, &rows.iter().map(|row| &row.point).collect::<Vec<_>>());
    }
}

/// What is done with each list of a record.
pub trait ListVisitor {
    /// A list: where it is in a record, to read and to fill; it is nowhere in a record without its section.
    fn list<R: MeasuredRow>(
        &mut self,
        of: fn(&Record) -> Option<&Vec<R>>,
        of_mut: fn(&mut Record) -> Option<&mut Vec<R>>,
    );
}

macro_rules! visitors {
    ($($(#[$doc:meta])* $visit:ident: [$($($list:ident).+),*] [$($of_sockets:ident),*];)*) => {$(
        $(#[$doc])*
        pub fn $visit(visitor: &mut impl ListVisitor) {
            $(visitor.list(|record| Some(&record.$($list).+), |record| Some(&mut record.$($list).+));)*
            $(visitor.list(
                |record| Some(&record.sockets.as_ref()?.$of_sockets),
                |record| Some(&mut record.sockets.as_mut()?.$of_sockets),
            );)*
        }
    )*};
}

visitors! {
    /// Visits the lists about memory.
    visit_memory: [memory.stream, memory.bandwidth, memory.latency, memory.parallel, memory.loaded,
        memory.walks] [];
    /// Visits the lists about cores and clocks.
    visit_cores: [cores.line_transfer, cores.sharing, cores.unlike, cores.wake, clocks, cores.compute, cores.control] [];
    /// Visits the lists about sockets.
    visit_sockets: [] [latency, bandwidth, scaling, loaded, line_transfer];
}
