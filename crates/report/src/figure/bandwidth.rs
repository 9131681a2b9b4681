//! Bandwidth curves, one panel for one CPU and one for many at once.

use std::fmt::Write;

use record::{BandwidthPoint, Quality, Record, Scope};

use super::{DataTable, Drawn, Figure};
use crate::draw::{Axis, LineChart, LinePanel, LinePoint, LineSeries, Mark};
use crate::{interactive, naming, number};

/// More curves than this cannot be told apart; the rest is in the CSV.
const MOST_SERIES: usize = 6;

fn key(point: &BandwidthPoint) -> (&str, &str, &str) {
    (&point.kernel, &point.isa, &point.store)
}

pub(super) fn draw(record: &Record) -> Option<Drawn> {
    let points = &record.memory.bandwidth;
    let mut keys: Vec<(&str, &str, &str)> = Vec::new();
    for point in points {
        if !keys.contains(&key(point)) {
            keys.push(key(point));
        }
    }
    let left_out = keys.len().saturating_sub(MOST_SERIES);
    keys.truncate(MOST_SERIES);
    let panels: Vec<LinePanel> = [Scope::Cpu, Scope::Node, Scope::Machine]
        .into_iter()
        .filter_map(|scope| panel(record, scope, &keys))
        .collect();
    let chart = LineChart {
        x_label: "block: all bytes of all arrays and threads, logarithmic",
        y_label: "GB/s, logarithmic",
        x: Axis::Bytes,
        y: Axis::Decades,
        panels,
    };
    if chart.is_empty() {
        return None;
    }
    let mut reading = "Each step down is a level that no longer holds the block; dotted lines mark the sizes that were \
                       found. Ribbons are 95 % intervals, hollow markers doubtful points. 1 GB is 10⁹ bytes, counted \
                       as STREAM does."
        .to_owned();
    if left_out > 0 {
        let _ = write!(reading, " {left_out} more kernels are in the CSV.");
    }
    Some(Drawn {
        svg: chart.draw(Figure::Bandwidth.name()),
        reading,
        table: table(points, &keys),
        interactive: Some(interactive::lines(&chart)),
        needs_webgl: false,
    })
}

fn panel(record: &Record, scope: Scope, keys: &[(&str, &str, &str)]) -> Option<LinePanel> {
    let of: Vec<&BandwidthPoint> =
        record.memory.bandwidth.iter().filter(|point| point.scope == scope).collect();
    let first = of.first()?;
    let series = keys
        .iter()
        .enumerate()
        .map(|(style, wanted)| {
            let mut points: Vec<LinePoint> = of
                .iter()
                .filter(|point| key(point) == *wanted && point.cpus == first.cpus)
                .map(|point| LinePoint {
                    x: point.block_bytes.0 as f64,
                    y: number::gigabytes(point.bytes_per_s),
                    low: number::gigabytes(point.spread.interval.low),
                    high: number::gigabytes(point.spread.interval.high),
                    doubtful: point.spread.quality != Quality::Converged,
                })
                .collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            LineSeries { name: naming::series(wanted.0, wanted.1, wanted.2), style, points }
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    let marks = if scope == Scope::Cpu { level_marks(record) } else { Vec::new() };
    let title = match scope {
        Scope::Cpu => format!("One CPU (CPU {})", first.cpus),
        Scope::Node => format!("One node at once (CPUs {})", first.cpus),
        Scope::Machine => format!("All CPUs at once (CPUs {})", first.cpus),
    };
    Some(LinePanel { title, series, marks })
}

/// The sizes of the levels that were found.
fn level_marks(record: &Record) -> Vec<Mark> {
    let sized = record.levels.caches.iter().filter_map(|level| level.size_bytes.map(|size| (level, size)));
    sized
        .map(|(level, size)| Mark {
            x: size.0 as f64,
            label: format!("{} {}", level.name, number::size(size)),
        })
        .collect()
}

fn table(points: &[BandwidthPoint], keys: &[(&str, &str, &str)]) -> DataTable {
    let mut headers = vec!["at once".to_owned(), "block".to_owned()];
    headers.extend(
        keys.iter().map(|(kernel, isa, store)| format!("{}, GB/s", naming::series(kernel, isa, store))),
    );
    let mut rows: Vec<(String, u64, Vec<String>)> = Vec::new();
    for point in points {
        let Some(column) = keys.iter().position(|wanted| *wanted == key(point)) else { continue };
        let who = format!("CPUs {}", point.cpus);
        let at = rows.iter().position(|(have, block, _)| *have == who && *block == point.block_bytes.0);
        let at = at.unwrap_or_else(|| {
            rows.push((who, point.block_bytes.0, vec![String::new(); keys.len()]));
            rows.len() - 1
        });
        let value = number::gigabytes(point.bytes_per_s);
        rows[at].2[column] = format!(
            "{}{} {}",
            number::column(value),
            number::quality_mark(point.spread.quality),
            number::uncertainty(value, point.spread.interval.map(number::gigabytes))
        );
    }
    let rows = rows.into_iter().map(|(who, block, cells)| {
        let mut row = vec![who, machine::Bytes(block).to_string()];
        row.extend(cells);
        row
    });
    DataTable { headers, rows: rows.collect() }
}
