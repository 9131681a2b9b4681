//! What address translation adds, against the number of pages visited.

use machine::Bytes;
use record::{Quality, Record, WalkPoint};

use super::{DataTable, Drawn, Figure};
use crate::draw::{Axis, LineChart, LinePanel, LinePoint, LineSeries, Mark};
use crate::{interactive, naming, number};

pub(super) fn draw(record: &Record) -> Option<Drawn> {
    let points = &record.memory.walks;
    let mut sizes: Vec<Bytes> = points.iter().map(|point| point.page_bytes).collect();
    sizes.sort();
    sizes.dedup();
    let series = sizes
        .iter()
        .enumerate()
        .map(|(style, page)| {
            let mut of: Vec<&WalkPoint> = points.iter().filter(|point| point.page_bytes == *page).collect();
            of.sort_by_key(|point| point.pages);
            let points = of.iter().map(|point| LinePoint {
                x: point.pages as f64,
                y: point.delta_ns,
                low: point.spread.interval.low,
                high: point.spread.interval.high,
                doubtful: point.spread.quality != Quality::Converged,
            });
            LineSeries { name: naming::pages(*page), style, points: points.collect() }
        })
        .collect();
    let marks = record
        .levels
        .tlbs
        .iter()
        .map(|tlb| Mark { x: tlb.entries as f64, label: format!("L{} TLB {}", tlb.level, tlb.entries) });
    let chart = LineChart {
        x_label: "pages visited, one line on each, logarithmic",
        y_label: "added by translation, ns",
        x: Axis::Powers,
        y: Axis::Linear,
        panels: vec![LinePanel { title: String::new(), series, marks: marks.collect() }],
    };
    if chart.is_empty() {
        return None;
    }
    let rows = points.iter().map(|point| {
        let mark = number::quality_mark(point.spread.quality);
        vec![
            point.page_bytes.to_string(),
            point.pages.to_string(),
            number::column(point.spread_ns),
            number::column(point.packed_ns),
            format!(
                "{}{mark} {}",
                number::column(point.delta_ns),
                number::uncertainty(point.delta_ns, point.spread.interval)
            ),
        ]
    });
    let headers = ["page", "pages", "spread, ns", "packed, ns", "difference, ns"].map(str::to_owned).to_vec();
    Some(Drawn {
        svg: chart.draw(Figure::Walks.name()),
        reading: "One line on each of so many pages, against as many lines side by side: the cache cost cancels, what \
                  remains is translation. Steps are the reach of a TLB level; the last plateau is a page walk."
            .to_owned(),
        table: DataTable { headers, rows: rows.collect() },
        interactive: Some(interactive::lines(&chart)),
        needs_webgl: false,
    })
}
