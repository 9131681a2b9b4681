//! A simulated memory in the terminal, as CSV and as a page.

mod curves;
mod html;
mod measured;
mod terminal;
mod words;

use models::memory::{Simulation, Unit};

use crate::escape;
use crate::number::finite;

pub use html::simulation_html;
pub use terminal::simulation_terminal;

/// Which states of the workaround tables and plots of one state show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SimulationView {
    /// Only this state: with (`true`) or without the workaround; both if none.
    pub workaround: Option<bool>,
    /// Show what the workaround adds by stride.
    pub strides: bool,
}

impl SimulationView {
    /// The states to show, without the workaround first.
    fn states(self) -> Vec<bool> {
        self.workaround.map_or_else(|| vec![false, true], |on| vec![on])
    }
}

/// How a state of the workaround is called.
fn state(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// Every number of a simulation as CSV, one row per test, point or cell.
pub fn simulation_csv(simulation: &Simulation) -> String {
    let mut text =
        String::from("section,name,block_bytes,stride_bytes,unit,off,on,published_off,published_on\n");
    let mut line = |fields: [String; 9]| text += &(fields.join(",") + "\n");
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for row in &simulation.rows {
        line([
            "test".to_owned(),
            escape::csv_text(&row.name),
            row.block_bytes.0.to_string(),
            row.stride_bytes.0.to_string(),
            row.unit.text().to_owned(),
            number(finite(row.off)),
            number(finite(row.on)),
            number(row.published_off),
            number(row.published_on),
        ]);
    }
    let mut plain = |section: &str, block: String, stride: String, unit: Unit, off: f64, on: f64| {
        let unit = unit.text().to_owned();
        let none = String::new();
        line([
            section.to_owned(),
            none.clone(),
            block,
            stride,
            unit,
            off.to_string(),
            on.to_string(),
            none.clone(),
            none,
        ]);
    };
    for one in &simulation.strides {
        let stride = one.stride_bytes.0.to_string();
        plain("stride", String::new(), stride, Unit::Nanoseconds, one.off_ns, one.on_ns);
    }
    for point in &simulation.bandwidth {
        let block = point.block_bytes.0.to_string();
        let (off, on) = (point.off_mb_per_s, point.on_mb_per_s);
        plain("bandwidth", block, String::new(), Unit::MegabytesPerSecond, off, on);
    }
    for cell in &simulation.surface {
        let (block, stride) = (cell.block_bytes.0.to_string(), cell.stride_bytes.0.to_string());
        plain("surface", block, stride, Unit::Nanoseconds, cell.off_ns, cell.on_ns);
    }
    text
}
