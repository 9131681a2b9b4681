//! Drifting counters in the terminal: a row per remedy, words, how each is switched.

use models::tsc::{DriftRow, DriftSimulation};

use super::words;
use crate::escape::plain;
use crate::number;
use crate::terminal::{Ink, Paper, Terminal, table_of};

/// The simulation for people.
pub fn drift_terminal(simulation: &DriftSimulation, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    let scenario = simulation.scenario;
    paper.strong(&plain(&format!("{} on paper", simulation.machine.title)));
    paper.faint(&format!(
        "governor {}, workload {}, {} s, seed {}",
        scenario.governor.name(),
        scenario.workload.name(),
        number::short(scenario.seconds),
        scenario.seed
    ));
    paper.blank();
    remedies(&mut paper, simulation);
    paper.blank();
    for sentence in words::sentences(simulation) {
        paper.wrapped("- ", &plain(&sentence));
    }
    paper.blank();
    paper.strong("How each is switched");
    for row in &simulation.rows {
        paper.wrapped(&format!("{:<17}", row.remedy.name()), &plain(&row.how));
    }
    paper.finish()
}

fn remedies(paper: &mut Paper, simulation: &DriftSimulation) {
    let headers = ["remedy", "apart", "went back", "by at most", "clock off", "price", "time is"];
    let mut table = table_of(&headers.map(str::to_owned));
    for row in &simulation.rows {
        table.add_row([
            row.remedy.name().to_owned(),
            number::duration_ns(row.offset_us * 1e3),
            backwards(row),
            if row.backwards == 0 { "-".to_owned() } else { number::duration_ns(row.backwards_us * 1e3) },
            clock_error(row.clock_error_ppm),
            number::duration_ns(row.read_ns),
            if row.safe { "safe" } else { "unsafe" }.to_owned(),
        ]);
    }
    paper.table(table);
    let observations = simulation.rows.first().map_or(0, |row| row.observations);
    paper.wrapped_inked(
        Ink::Faint,
        "",
        &format!(
            "apart: how far the counter of the worst core went from that of core 0; went back: of {observations} stamps handed from one to the other, those later than the next; clock off: the kernel's clock on core 0 against true time; price: of one reading"
        ),
    );
}

fn backwards(row: &DriftRow) -> String {
    if row.backwards == 0 {
        "never".to_owned()
    } else {
        number::percent(row.backwards as f64 / row.observations as f64)
    }
}

/// Parts per million until they are no longer small.
pub(super) fn clock_error(ppm: f64) -> String {
    /// Above this a share reads better in percent.
    const PPM_SHOWN_MAX: f64 = 10_000.0;
    /// Below this the resolution of the clock is all there is: 1 us in a second.
    const PPM_SHOWN_MIN: f64 = 1.0;
    match ppm.abs() {
        size if size < PPM_SHOWN_MIN => "-".to_owned(),
        size if size < PPM_SHOWN_MAX => format!("{ppm:+.0} ppm"),
        _ => format!("{:+.0} %", ppm / PPM_SHOWN_MAX),
    }
}
