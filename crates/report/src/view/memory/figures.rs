//! Pictures of a simulation: bandwidth curves and latency surfaces.

use models::memory::Simulation;

use super::state;
use crate::draw::{Axis, LineChart, LinePanel, LinePoint, LineSeries, Measure, SurfaceCell, SurfaceChart};
use crate::page::Drawn;

/// Bandwidth without and with the workaround in one panel.
pub(super) fn bandwidth(simulation: &Simulation) -> Option<Drawn> {
    let curve = |on: bool| {
        let points = simulation.bandwidth.iter().map(|point| {
            let value = if on { point.on_mb_per_s } else { point.off_mb_per_s } / 1e3;
            LinePoint::exact(point.block_bytes.0 as f64, value)
        });
        let name = format!("{} {}", simulation.workaround, state(on));
        LineSeries { name, style: usize::from(on), points: points.collect() }
    };
    let chart = LineChart {
        x_label: "block, logarithmic",
        y_label: "GB/s, logarithmic",
        unit: " GB/s",
        x: Axis::Bytes,
        y: Axis::Decades,
        panels: vec![LinePanel::new("One core, reading", [curve(false), curve(true)])],
    };
    let reading = "Both curves are one until the block outgrows what the caches and the TLBs hold.";
    Drawn::of(&chart, "simulated-bandwidth", reading)
}

/// The latency surface in one state.
pub(super) fn surface(simulation: &Simulation, name: &str, on: bool) -> Option<Drawn> {
    let cells = simulation.surface.iter().map(|cell| SurfaceCell {
        block_bytes: cell.block_bytes.0,
        stride_bytes: cell.stride_bytes.0,
        measure: Measure::exact(if on { cell.on_ns } else { cell.off_ns }),
        level: cell.level.clone(),
    });
    let reading = "Latency of a chain of loads in rising order; height is logarithmic. Each face is coloured by the level that serves it.";
    Drawn::of(&SurfaceChart { cells: cells.collect() }, name, reading)
}
