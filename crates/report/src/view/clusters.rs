//! Simulated clusters on a die: what a read costs from each to each, beside what was published.

use models::interconnect::{ClusterRow, ClusterSimulation};

use super::simulated;
use crate::number::short;
use crate::page::{Cell, Page, Section, Statement, Table};

/// The run as a page.
pub fn clusters_page(simulation: &ClusterSimulation) -> Page {
    let page = Page {
        answer: answer(simulation),
        because: vec![Statement::plain(of_published(simulation))],
        sections: vec![
            Section::new("latencies", "Latency of a read, ns").table(matrix(simulation)),
            Section::new("reads", "Read by read").table(reads(simulation)).detailed(),
        ],
        ..Page::default()
    };
    simulated::page(&simulation.title, simulation.numbers.clone(), page)
}

fn answer(simulation: &ClusterSimulation) -> Statement {
    let text = format!(
        "A read of a cluster's own memory takes {} ns, of the far corner of the package {} % more, of the other package {} ns.",
        short(simulation.base_ns),
        short(farthest_percent(simulation)),
        short(simulation.remote_ns)
    );
    Statement::plain(text)
}

/// By how much a read of the farthest cluster of the package takes longer than one of its own memory.
fn farthest_percent(simulation: &ClusterSimulation) -> f64 {
    let is_near = |row: &&ClusterRow| simulation.places[row.reader][0] == simulation.places[row.home][0];
    let most = simulation.rows.iter().filter(is_near).map(|row| row.latency_ns).fold(0.0, f64::max);
    (most / simulation.base_ns - 1.0) * 100.0
}

/// How latency adds up, and how near that comes to what was published.
fn of_published(simulation: &ClusterSimulation) -> String {
    let steps = format!(
        "Each column adds {} ns, each row {}",
        short(simulation.column_step_ns),
        short(simulation.row_step_ns)
    );
    match (simulation.rms_percent, simulation.max_percent) {
        (Some(rms), Some(max)) => format!(
            "{steps}. Published latencies are met within {max:.2} % ({rms:.2} % root mean square); the two directions of a pair differ by as much, which no mesh explains."
        ),
        _ => format!("{steps}."),
    }
}

/// Predicted latencies by reader and home.
fn matrix(simulation: &ClusterSimulation) -> Table {
    let nodes = simulation.places.len();
    let rows = Table::of("latencies", simulation.places.iter().enumerate())
        .word("node", |(reader, _)| *reader)
        .word(("at", 1), |(_, [package, column, row])| format!("{package}:{column}/{row}"));
    let columns = (0..nodes).fold(rows, |rows, home| {
        rows.number(home.to_string(), |(reader, _)| simulation.rows[reader * nodes + home].latency_ns)
    });
    columns.legend(
        "row: the node whose core loads; column: the node whose memory it loads; at: package:column/row",
    )
}

fn reads(simulation: &ClusterSimulation) -> Table {
    Table::of("reads", &simulation.rows)
        .number("reader", |row| row.reader)
        .number("home", |row| row.home)
        .number(("latency", "ns"), |row| row.latency_ns)
        .number(("published", "ns"), |row| Cell::known(row.published_ns))
        .number("error", |row| Cell::change(row.error_percent))
        .table()
}

#[cfg(test)]
mod tests {
    use models::interconnect::{ClusterMachine, simulate_clusters};

    use super::*;
    use crate::Terminal;

    #[test]
    fn the_answer_comes_first() {
        let machine: ClusterMachine = models::known("spr-snc4").expect("it comes with sidestep");
        let page = clusters_page(&simulate_clusters(&machine));
        let text = page.terminal(Terminal::default(), false);
        assert!(text.lines().count() <= 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("24.2 % more"), "{text}");
        let reads = page.csv().into_iter().find(|(name, _)| *name == "reads").expect("it is there").1;
        assert_eq!(reads.lines().count(), 65);
    }
}
