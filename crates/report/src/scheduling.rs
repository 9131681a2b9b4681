//! Schedulers on paper: gain by number of threads in the terminal, as CSV and as a page.

mod html;
mod terminal;
mod words;

use std::fmt::Write;

use models::scheduling::SchedulingSimulation;

pub use html::scheduling_html;
pub use terminal::scheduling_terminal;

/// Every number of the simulation as CSV: a row per number of threads, or a row per strength of sharing.
pub fn scheduling_csv(simulation: &SchedulingSimulation) -> String {
    let mut text = String::from(
        "section,threads,sharing_percent,gain_over_random_percent,gain_over_random_low,gain_over_random_high,gain_over_in_order_percent,gain_over_kernel_like_percent,cycles_per_ns,shared,wake_ns,awake,runs,gain_of_packing_percent,gain_of_packing_without_turbo_percent\n",
    );
    for row in &simulation.rows {
        let (interval, throughput) = (row.gain_over_random_interval, row.throughput);
        let _ = writeln!(
            text,
            "gain,{},{},{},{},{},{},{},{},{},{},{},{},,",
            row.threads,
            simulation.scenario.sharing[0] * 100.0,
            row.gain_over_random_percent,
            interval.low,
            interval.high,
            row.gain_over_in_order_percent,
            row.gain_over_kernel_like_percent,
            throughput.cycles_per_ns,
            throughput.shared,
            throughput.wake_ns,
            throughput.awake,
            throughput.runs
        );
    }
    if let Some(packing) = &simulation.packing {
        for point in &packing.points {
            let _ = writeln!(
                text,
                "packing,{},{},,,,,,,,,,,{},{}",
                packing.threads,
                point.sharing_percent,
                point.gain_of_packing_percent,
                point.gain_of_packing_without_turbo_percent
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use models::scheduling::{Class, KNOWN, Pattern, Policy, Scenario, parse, simulate};

    use super::*;
    use crate::{Html, Terminal};

    fn simulation(sharing: [f64; 2]) -> SchedulingSimulation {
        let machine = parse(KNOWN[0].2, KNOWN[0].1).expect("it comes with sidestep");
        let (policy, pattern, class) = (Policy::ModulesFirst, Pattern::Copies, Class::Integer);
        simulate(&machine, Scenario { policy, pattern, class, threads: [3, 4], sharing, seed: 1 })
    }

    #[test]
    fn every_line_of_the_csv_has_as_many_fields_as_its_head() {
        let text = scheduling_csv(&simulation([0.0; 2])) + &scheduling_csv(&simulation([0.0, 0.4]));
        let fields: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert!(fields.len() > 10 && fields.iter().all(|count| *count == fields[0]), "{fields:?}");
    }

    #[test]
    fn the_page_holds_the_curve_what_was_published_and_the_source_of_each_number() {
        let page = scheduling_html(&simulation([0.0; 2]), Html { script: false });
        for part in ["<svg", "DiRT 3", "ComputerBase", "BeHardware", "assumed"] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("<script"));
    }

    #[test]
    fn a_range_of_sharing_says_where_packing_pays() {
        let found = simulation([0.0, 0.4]);
        let text = scheduling_terminal(&found, Terminal { width_columns: 80, colour: false });
        assert!(text.contains("16.1 %") && text.contains("25 %"), "{text}");
        assert!(scheduling_html(&found, Html { script: false }).contains("<svg"));
    }
}
