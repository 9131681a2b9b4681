//! Counters that drift on paper: in the terminal, as CSV and as a page.

mod html;
mod terminal;
mod words;

use std::fmt::Write;

use models::tsc::DriftSimulation;

use crate::escape;

pub use html::drift_html;
pub use terminal::drift_terminal;

/// Every number of the simulation as CSV: a row per remedy, then a row per point of its curve.
pub fn drift_csv(simulation: &DriftSimulation) -> String {
    let mut text = String::from(
        "section,remedy,core,at_s,offset_us,rate_ppm,drifts,observations,backwards,backwards_us,clock_error_ppm,read_ns,safe\n",
    );
    for row in &simulation.rows {
        let name = escape::csv_text(row.remedy.name());
        let _ = writeln!(
            text,
            "remedy,{name},{},,{},{},{},{},{},{},{},{},{}",
            row.core,
            row.offset_us,
            row.rate_ppm,
            row.drifts,
            row.observations,
            row.backwards,
            row.backwards_us,
            row.clock_error_ppm,
            row.read_ns,
            row.safe
        );
    }
    for row in &simulation.rows {
        let name = escape::csv_text(row.remedy.name());
        for point in &row.curve {
            let _ = writeln!(text, "point,{name},{},{},{},,,,,,,,", row.core, point.at_s, point.offset_us);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use models::tsc::{Governor, KNOWN, Scenario, Workload, parse, simulate};

    use super::*;
    use crate::Html;

    fn simulation() -> DriftSimulation {
        let machine = parse(KNOWN[0].2, KNOWN[0].1).expect("it comes with sidestep");
        let (governor, workload) = (Governor::Ondemand, Workload::Bursts);
        simulate(&machine, Scenario { governor, workload, seconds: 2.0, seed: 1 })
    }

    #[test]
    fn every_line_of_the_csv_has_as_many_fields_as_its_head() {
        let text = drift_csv(&simulation());
        let fields: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert!(fields.len() > 7 && fields.iter().all(|count| *count == fields[0]), "{fields:?}");
    }

    #[test]
    fn the_page_holds_every_remedy_its_figure_and_the_source_of_each_number() {
        let simulation = simulation();
        let page = drift_html(&simulation, Html { script: false });
        for row in &simulation.rows {
            assert!(page.contains(row.remedy.name()));
        }
        assert!(page.contains("<svg") && page.contains("dda50e716dc9") && !page.contains("<script"));
    }
}
