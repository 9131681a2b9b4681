//! STREAM: one bar per CPU, node and machine, grouped by kernel so that CPUs stand beside each other.

use record::{Quality, Record, StreamResult};

use super::{Drawn, Figure};
use crate::draw::{BarChart, BarGroup, BarRow};
use crate::view::check_up;
use crate::{naming, number};

/// More bars than this make a picture longer than a page; the table has the rest.
const MOST_BARS: usize = 300;
const MOST_GROUPS: usize = 6;

pub(super) fn draw(record: &Record) -> Option<Drawn> {
    let results = &record.memory.stream;
    let mut keys = naming::distinct(results.iter().map(check_up::kernel_of));
    keys.sort_by_key(|(kernel, ..)| *kernel != "triad");
    let rows_each = results.len() / keys.len().max(1);
    let shown = (MOST_BARS / rows_each.max(1)).clamp(1, MOST_GROUPS);
    let group = |(style, wanted): (usize, &(&str, &str, &str))| BarGroup {
        title: naming::series(wanted.0, wanted.1, wanted.2),
        style,
        rows: results.iter().filter(|result| check_up::kernel_of(result) == *wanted).map(row).collect(),
    };
    let groups = keys.iter().take(shown).enumerate().map(group).collect();
    let chart = BarChart { x_label: "GB/s, counted as STREAM does", groups };
    let reading = "Whiskers are 95 % intervals. CPUs whose whiskers overlap are not distinguishable in this run; hatched \
                   bars are doubtful. Plain stores also read what they overwrite: the table has the traffic on the bus.";
    Drawn::of(&chart, Figure::Stream.name(), reading, check_up::stream(record))
}

fn row(result: &StreamResult) -> BarRow {
    let value = number::gigabytes(result.bytes_per_s);
    let interval = result.spread.interval.map(number::gigabytes);
    BarRow {
        name: naming::workers(result.scope, result.cpu, result.node, &result.cpus),
        value,
        low: interval.low,
        high: interval.high,
        doubtful: result.spread.quality != Quality::Converged,
        told: number::told_as(value, &result.spread, number::gigabytes),
    }
}
