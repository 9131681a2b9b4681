//! What address translation adds, against the number of pages visited.

use std::collections::BTreeSet;

use machine::Bytes;
use record::{Record, WalkPoint};

use super::Figure;
use crate::draw::{Axis, LineChart, LinePanel, LinePoint, LineSeries, Mark};
use crate::page::{Cell, Drawn, Table};
use crate::{naming, number};

pub(super) fn draw(record: &Record) -> Option<Drawn> {
    let points = &record.memory.walks;
    let sizes: BTreeSet<Bytes> = points.iter().map(|point| point.page_bytes).collect();
    let series = sizes.iter().enumerate().map(|(style, page)| {
        let mut of: Vec<&WalkPoint> = points.iter().filter(|point| point.page_bytes == *page).collect();
        of.sort_by_key(|point| point.pages);
        let point = |p: &&WalkPoint| LinePoint::measured(p.pages as f64, p.delta_ns, &p.spread, |ns| ns);
        LineSeries { name: naming::pages(*page), style, points: of.iter().map(point).collect() }
    });
    let mut panel = LinePanel::new("", series);
    panel.marks = (record.levels.tlbs.iter())
        .map(|tlb| Mark { x: tlb.entries as f64, label: format!("L{} TLB {}", tlb.level, tlb.entries) })
        .collect();
    let chart = LineChart {
        x_label: "pages visited, one line on each, logarithmic",
        y_label: "added by translation, ns",
        unit: " ns",
        x: Axis::Powers,
        y: Axis::Linear,
        panels: vec![panel],
    };
    let table = Table::of("walks", points)
        .number("page", |point| point.page_bytes)
        .number("pages", |point| Cell::shown(point.pages.to_string(), point.pages as f64))
        .number(("spread", "ns"), |point| point.spread_ns)
        .number(("packed", "ns"), |point| point.packed_ns)
        .number(("difference", "ns"), |point| number::told(point.delta_ns, &point.spread))
        .table();
    let reading = "One line on each of so many pages, against as many lines side by side: the cache cost cancels, what \
                   remains is translation. Steps are the reach of a TLB level; the last plateau is a page walk.";
    Drawn::of(&chart, Figure::Walks.name(), reading, table)
}
