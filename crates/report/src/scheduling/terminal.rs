//! Gains of a policy in the terminal: numbers, the curve, what was published beside it, words.

use models::scheduling::{JoinedNumber, Packing, SchedulingSimulation};

use super::words;
use crate::escape::plain;
use crate::number;
use crate::terminal::{Ink, Paper, Terminal, bar, table_of};

/// Width of the longest bar.
const BAR_COLUMNS: usize = 24;

/// The simulation for people.
pub fn scheduling_terminal(simulation: &SchedulingSimulation, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    paper.strong(&plain(&format!("{} {}", simulation.machine.title, words::origin(simulation))));
    paper.wrapped_inked(Ink::Faint, "", &words::scenario(simulation));
    paper.blank();
    if !simulation.rows.is_empty() {
        gains(&mut paper, simulation);
        paper.blank();
        curve(&mut paper, simulation);
    }
    if let Some(found) = &simulation.packing {
        packing(&mut paper, found);
    }
    paper.blank();
    published(&mut paper, simulation);
    for sentence in words::sentences(simulation) {
        paper.wrapped("- ", &plain(&sentence));
    }
    paper.finish()
}

fn gains(paper: &mut Paper, simulation: &SchedulingSimulation) {
    let headers = ["threads", "over random", "", "over in-order", "over kernel-like", "shared", "awake"];
    let mut table = table_of(&headers.map(str::to_owned));
    for row in &simulation.rows {
        let half = row.gain_over_random_interval.half_width();
        table.add_row([
            row.threads.to_string(),
            words::signed(row.gain_over_random_percent),
            if half > 0.0 { format!("±{half:.2}") } else { String::new() },
            words::signed(row.gain_over_in_order_percent),
            words::signed(row.gain_over_kernel_like_percent),
            number::percent(row.throughput.shared),
            number::short(row.throughput.awake),
        ]);
    }
    paper.table(table);
    let level = &simulation.machine.clock.level;
    let smallest = &simulation.machine.level[0].name;
    paper.wrapped_inked(
        Ink::Faint,
        "",
        &plain(&format!(
            "throughput of {} against threads on idle CPUs at random, on the first idle CPU, and as a kernel that does not know of data; shared: time in which the smallest unit ({smallest}) held another thread; awake: mean number of units ({level})",
            simulation.scenario.policy.name()
        )),
    );
}

/// Bars of the gain over random placement, and what was published for the same number of threads.
fn curve(paper: &mut Paper, simulation: &SchedulingSimulation) {
    paper.strong("Gain over random placement");
    let most = simulation.rows.iter().map(|row| row.gain_over_random_percent).fold(0.0, f64::max);
    for row in &simulation.rows {
        let share = if most > 0.0 { row.gain_over_random_percent / most } else { 0.0 };
        let line = format!(
            "{:>3} {:<BAR_COLUMNS$} {:>7}",
            row.threads,
            bar(share, BAR_COLUMNS),
            words::signed(row.gain_over_random_percent)
        );
        paper.inked(Ink::Plain, &line);
    }
}

fn packing(paper: &mut Paper, packing: &Packing) {
    paper.strong(&format!("{} threads in pairs: packed over spread", packing.threads));
    let headers = ["a thread gains from its partner", "with turbo", "without"];
    let mut table = table_of(&headers.map(str::to_owned));
    for point in &packing.points {
        table.add_row([
            format!("{} %", number::short(point.sharing_percent)),
            words::signed(point.gain_of_packing_percent),
            words::signed(point.gain_of_packing_without_turbo_percent),
        ]);
    }
    paper.table(table);
}

fn published(paper: &mut Paper, simulation: &SchedulingSimulation) {
    if simulation.published.is_empty() {
        return;
    }
    paper.strong("Published, joined afterwards");
    let headers = ["workload", "threads", "over", "published", "predicted"];
    let mut table = table_of(&headers.map(str::to_owned));
    for one in &simulation.published {
        table.add_row([
            plain(&one.published.workload),
            one.published.threads.map_or("unknown".to_owned(), |threads| threads.to_string()),
            one.published.over.name().to_owned(),
            words::published(one),
            predicted(one),
        ]);
    }
    paper.table(table);
    paper.wrapped_inked(
        Ink::Faint,
        "",
        "a range is that of all numbers of threads above, as nobody says how many ran",
    );
    paper.blank();
}

fn predicted(one: &JoinedNumber) -> String {
    match one.predicted_percent {
        Some(percent) if one.published.fitted => format!("{} (fitted)", words::signed(percent)),
        Some(percent) => words::signed(percent),
        None if one.published.threads.is_some() => "-".to_owned(),
        None => words::range(one.predicted_range_percent),
    }
}
