//! Simulated clusters on a die: what a read costs from each to each, beside what was published.

use models::interconnect::{ClusterFit, ClusterRow, ClusterSimulation};

use super::simulated;
use crate::number::{UNKNOWN, short};
use crate::page::{Block, Cell, Column, Page, Section, Statement, Table, Tone};

/// The run as a page.
pub fn clusters_page(simulation: &ClusterSimulation) -> Page {
    let sources: Vec<(&str, &str)> =
        simulation.numbers.iter().map(|[name, _, source]| (name.as_str(), source.as_str())).collect();
    let plain = |text: String| Statement::new(Tone::Plain, text);
    let mut because = vec![plain(of_published(simulation))];
    because.extend(simulation.fit.as_ref().map(of_fit).map(plain));
    because.push(simulated::grounds(&sources, simulated::IN_THE_FILE));
    Page {
        subject: simulated::subject(&simulation.title),
        answer: answer(simulation),
        because,
        sections: vec![
            Section::new("latencies", "Latency of a read, ns").with(Block::Table(matrix(simulation))),
            Section::detail("reads", "Read by read").with(Block::Table(reads(simulation))),
            simulated::numbers(simulation.numbers.iter().cloned()),
        ],
        ..Page::default()
    }
}

fn answer(simulation: &ClusterSimulation) -> Statement {
    let text = format!(
        "A read of a cluster's own memory takes {} ns, of the far corner of the package {} % more, of the other package {} ns.",
        short(simulation.base_ns),
        short(farthest_percent(simulation)),
        short(simulation.remote_ns)
    );
    Statement::new(Tone::Plain, text)
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

/// Whether the published matrix alone leads to the same machine.
fn of_fit(fit: &ClusterFit) -> String {
    match (&fit.mesh, fit.is_of_file) {
        (Some(mesh), true) => format!(
            "The published matrix alone gives the same places: {} packages of {} by {} clusters, {} ns, {} more per column, {} per row, {} to other packages; error {:.2} ns root mean square, {:.1} % at most. Which axis is which is undetermined.",
            mesh.packages,
            mesh.columns,
            mesh.rows,
            short(mesh.base),
            short(mesh.column_step),
            mesh.row_step.map_or_else(|| UNKNOWN.to_owned(), short),
            mesh.remote.map_or_else(|| UNKNOWN.to_owned(), short),
            fit.rms_ns,
            fit.max_percent
        ),
        (Some(_), false) => "The published matrix alone gives other places than the file.".to_owned(),
        (None, _) => "The published matrix alone shows no clusters in rows and columns.".to_owned(),
    }
}

/// Predicted latencies by reader and home.
fn matrix(simulation: &ClusterSimulation) -> Table {
    let nodes = simulation.places.len();
    let start = [Column::word("node"), Column::word("at").priority(1)];
    let columns = (0..nodes).map(|node| Column::number(node.to_string(), ""));
    let mut table = Table::new("latencies", start.into_iter().chain(columns).collect());
    for (reader, [package, column, row]) in simulation.places.iter().enumerate() {
        let start = [Cell::count(reader), Cell::text(format!("{package}:{column}/{row}"))];
        let reads = simulation.rows[reader * nodes..(reader + 1) * nodes].iter();
        table.row(start.into_iter().chain(reads.map(|read| Cell::number(read.latency_ns))).collect());
    }
    table.legend = Some(
        "row: the node whose core loads; column: the node whose memory it loads; at: package:column/row"
            .to_owned(),
    );
    table
}

fn reads(simulation: &ClusterSimulation) -> Table {
    let columns = vec![
        Column::number("reader", ""),
        Column::number("home", ""),
        Column::number("latency", "ns"),
        Column::number("published", "ns"),
        Column::number("error", ""),
    ];
    let mut table = Table::new("reads", columns);
    for row in &simulation.rows {
        table.row(vec![
            Cell::count(row.reader),
            Cell::count(row.home),
            Cell::number(row.latency_ns),
            Cell::known(row.published_ns),
            Cell::change(row.error_percent),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use models::interconnect::{KNOWN_CLUSTERS, parse_clusters, simulate_clusters};

    use super::*;
    use crate::Terminal;

    #[test]
    fn the_answer_comes_first_and_the_published_matrix_confirms_the_places() {
        let machine = parse_clusters(KNOWN_CLUSTERS[0].1, "f").expect("it comes with sidestep");
        let text = |with_fit| {
            clusters_page(&simulate_clusters(&machine, with_fit)).terminal(Terminal::default(), false)
        };
        assert!(text(false).lines().count() <= 24, "{}", text(false));
        let text = text(true);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("gives the same") && text.contains("24.2 % more"), "{text}");
        let page = clusters_page(&simulate_clusters(&machine, false));
        let reads = page.csv().into_iter().find(|(name, _)| *name == "reads").expect("it is there").1;
        assert_eq!(reads.lines().count(), 65);
    }
}
