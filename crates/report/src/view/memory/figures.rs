//! Pictures of a simulation: bandwidth curves and latency surfaces.

use models::memory::Simulation;

use super::state;
use crate::draw::{Axis, LineChart, LinePanel, LinePoint, LineSeries, SurfaceCell, SurfaceChart};
use crate::figure::{DataTable, Drawn};
use crate::interactive;

/// Bandwidth without and with the workaround in one panel.
pub(super) fn bandwidth(simulation: &Simulation) -> Option<Drawn> {
    let curve = |on: bool| {
        let points = simulation.bandwidth.iter().map(|point| {
            let value = if on { point.on_mb_per_s } else { point.off_mb_per_s } / 1e3;
            LinePoint { x: point.block_bytes.0 as f64, y: value, low: value, high: value, doubtful: false }
        });
        let name = format!("{} {}", simulation.workaround, state(on));
        LineSeries { name, style: usize::from(on), points: points.collect() }
    };
    let panel = LinePanel {
        title: "One core, reading".to_owned(),
        series: vec![curve(false), curve(true)],
        marks: Vec::new(),
    };
    let chart = LineChart {
        x_label: "block, logarithmic",
        y_label: "GB/s, logarithmic",
        x: Axis::Bytes,
        y: Axis::Decades,
        panels: vec![panel],
    };
    if chart.is_empty() {
        return None;
    }
    Some(Drawn {
        svg: chart.draw("simulated-bandwidth"),
        reading: "Both curves are one until the block outgrows what the caches and the TLBs hold.".to_owned(),
        table: DataTable::default(),
        interactive: Some(interactive::lines(&chart)),
        needs_webgl: false,
    })
}

/// The latency surface in one state.
pub(super) fn surface(simulation: &Simulation, name: &str, on: bool) -> Option<Drawn> {
    let cells = simulation.surface.iter().map(|cell| SurfaceCell {
        block_bytes: cell.block_bytes.0,
        stride_bytes: cell.stride_bytes.0,
        ns: if on { cell.on_ns } else { cell.off_ns },
        level: cell.level.clone(),
        doubtful: false,
    });
    let chart = SurfaceChart { cells: cells.collect() };
    if chart.is_empty() {
        return None;
    }
    Some(Drawn {
        svg: chart.draw(name),
        reading: "Latency of a chain of loads in rising order; height is logarithmic. Each face is coloured by the level that serves it."
            .to_owned(),
        table: DataTable::default(),
        interactive: Some(interactive::surface(&chart)),
        needs_webgl: true,
    })
}
