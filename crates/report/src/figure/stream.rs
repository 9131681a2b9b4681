//! STREAM: one bar per CPU, node and machine, grouped by kernel so that CPUs stand beside each other.

use record::{Quality, Record, StreamResult};

use super::{Drawn, Figure};
use crate::draw::{BarChart, BarGroup, BarRow};
use crate::view::check_up;
use crate::{interactive, naming, number};

/// More bars than this make a picture longer than a page; the table has the rest.
const MOST_BARS: usize = 300;
const MOST_GROUPS: usize = 6;

fn key(result: &StreamResult) -> (&str, &str, &str) {
    (&result.kernel, &result.isa, &result.store)
}

fn told(result: &StreamResult) -> String {
    let value = number::gigabytes(result.bytes_per_s);
    let interval = result.spread.interval.map(number::gigabytes);
    let mark = number::quality_mark(result.spread.quality);
    format!("{}{mark} {}", number::column(value), number::uncertainty(value, interval))
}

pub(super) fn draw(record: &Record) -> Option<Drawn> {
    let results = &record.memory.stream;
    let mut keys: Vec<(&str, &str, &str)> = Vec::new();
    for result in results {
        if !keys.contains(&key(result)) {
            keys.push(key(result));
        }
    }
    keys.sort_by_key(|(kernel, ..)| *kernel != "triad");
    let rows_each = results.len() / keys.len().max(1);
    let groups: Vec<BarGroup> = keys
        .iter()
        .take((MOST_BARS / rows_each.max(1)).clamp(1, MOST_GROUPS))
        .enumerate()
        .map(|(style, wanted)| BarGroup {
            title: naming::series(wanted.0, wanted.1, wanted.2),
            style,
            rows: results.iter().filter(|result| key(result) == *wanted).map(row).collect(),
        })
        .collect();
    let chart = BarChart { x_label: "GB/s, counted as STREAM does", groups };
    if chart.is_empty() {
        return None;
    }
    Some(Drawn {
        svg: chart.draw(Figure::Stream.name()),
        reading: "Whiskers are 95 % intervals. CPUs whose whiskers overlap are not distinguishable in this run; hatched \
                  bars are doubtful. Plain stores also read what they overwrite: the table has the traffic on the bus."
            .to_owned(),
        table: check_up::stream(record).into(),
        interactive: Some(interactive::bars(&chart)),
        needs_webgl: false,
    })
}

fn row(result: &StreamResult) -> BarRow {
    BarRow {
        name: naming::workers(result.scope, result.cpu, result.node, &result.cpus),
        value: number::gigabytes(result.bytes_per_s),
        low: number::gigabytes(result.spread.interval.low),
        high: number::gigabytes(result.spread.interval.high),
        doubtful: result.spread.quality != Quality::Converged,
        told: told(result),
    }
}
