//! STREAM: one bar per CPU, node and machine, grouped by kernel so that CPUs stand beside each other.

use record::{Record, StreamResult};

use super::Figure;
use crate::draw::{BarChart, BarGroup, BarRow, Measure};
use crate::page::{Drawn, Table};
use crate::{naming, number};

/// More bars than this make a picture longer than a page; the table has the rest.
const MOST_BARS: usize = 300;
const MOST_GROUPS: usize = 6;

pub(super) fn draw(record: &Record) -> Option<Drawn> {
    let results = &record.memory.stream;
    let mut keys = naming::distinct(results.iter().map(naming::kernel_of));
    keys.sort_by_key(|(kernel, ..)| *kernel != "triad");
    let rows_each = results.len() / keys.len().max(1);
    let shown = (MOST_BARS / rows_each.max(1)).clamp(1, MOST_GROUPS);
    let group = |(style, wanted): (usize, &(&str, &str, &str))| BarGroup {
        title: naming::series(wanted.0, wanted.1, wanted.2),
        style,
        rows: results.iter().filter(|result| naming::kernel_of(result) == *wanted).map(row).collect(),
    };
    let groups = keys.iter().take(shown).enumerate().map(group).collect();
    let chart = BarChart { x_label: "GB/s, counted as STREAM does", unit: " GB/s", groups };
    let reading = "Whiskers are 95 % intervals. CPUs whose whiskers overlap are not distinguishable in this run; hatched \
                   bars are doubtful. Plain stores also read what they overwrite: the table has the traffic on the bus.";
    Drawn::of(&chart, Figure::Stream.name(), reading, Table::default())
}

fn row(result: &StreamResult) -> BarRow {
    let value = number::gigabytes(result.bytes_per_s);
    BarRow {
        name: naming::workers(result.scope, result.cpu, result.node, &result.cpus),
        measure: Measure::of(result.bytes_per_s, &result.spread, number::gigabytes),
        label: number::told_as(value, &result.spread, number::gigabytes),
    }
}
