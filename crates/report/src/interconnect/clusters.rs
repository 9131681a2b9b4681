//! Clusters on a die on paper: what a read costs in each package, beside what was published; in the terminal, as CSV and as a page.

use std::fmt::Write;

use models::interconnect::ClusterSimulation;

use crate::escape::{self, markup, plain};
use crate::figure::DataTable;
use crate::html;
use crate::html::markup::{list, section, table, terms};
use crate::number;
use crate::terminal::{Ink, Paper, Terminal, table_of};

/// The run for people.
pub fn clusters_terminal(simulation: &ClusterSimulation, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    paper.strong(&plain(&format!("{} on paper", simulation.title)));
    paper.blank();
    let matrix = matrix(simulation);
    let mut drawn = table_of(&matrix.headers);
    for row in matrix.rows {
        drawn.add_row(row);
    }
    paper.table(drawn);
    paper.wrapped_inked(
        Ink::Faint,
        "",
        "ns by the model; row: the node whose core loads, column: the node whose memory it loads; at: package, column, row of the cluster",
    );
    paper.blank();
    for sentence in sentences(simulation) {
        paper.wrapped("- ", &plain(&sentence));
    }
    paper.finish()
}

/// Predicted reads, as people read them.
fn matrix(simulation: &ClusterSimulation) -> DataTable {
    let nodes = simulation.places.len();
    let headers = ["node".to_owned(), "at".to_owned()];
    let row = |(reader, [package, column, row]): (usize, &[usize; 3])| {
        let cells = simulation.rows[reader * nodes..(reader + 1) * nodes].iter();
        let place = [reader.to_string(), format!("{package}:{column}/{row}")];
        place.into_iter().chain(cells.map(|cell| number::column(cell.latency_ns))).collect()
    };
    DataTable {
        headers: headers.into_iter().chain((0..nodes).map(|node| node.to_string())).collect(),
        rows: simulation.places.iter().enumerate().map(row).collect(),
    }
}

fn sentences(simulation: &ClusterSimulation) -> Vec<String> {
    let mut said = vec![format!(
        "Latency adds up on the mesh of a die: {} ns of a cluster's own memory, {} more for a column, {} more for a row, so that the far corner takes {} % longer; the other package takes {} ns from everywhere.",
        number::short(simulation.base_ns),
        number::short(simulation.column_step_ns),
        number::short(simulation.row_step_ns),
        number::short(farthest_percent(simulation)),
        number::short(simulation.remote_ns)
    )];
    if let (Some(rms), Some(max)) = (simulation.rms_percent, simulation.max_percent) {
        said.push(format!(
            "Against what was published: {rms:.2} % root mean square, {max:.2} % at most; the two directions of one pair differ by as much, which no mesh explains."
        ));
    }
    if let Some(fit) = &simulation.fit {
        said.push(match (&fit.mesh, fit.is_of_file) {
            (Some(mesh), true) => format!(
                "The published matrix alone gives the same places: {} packages of {} by {} clusters, {} ns and {} more per column, {} per row, {} to other packages; {:.2} ns root mean square, {:.1} % at most. Which axis is which it cannot tell.",
                mesh.packages,
                mesh.columns,
                mesh.rows,
                number::short(mesh.base),
                number::short(mesh.column_step),
                mesh.row_step.map_or_else(|| number::UNKNOWN.to_owned(), number::short),
                mesh.remote.map_or_else(|| number::UNKNOWN.to_owned(), number::short),
                fit.rms_ns,
                fit.max_percent
            ),
            (Some(_), false) => "The published matrix alone gives other places than the file.".to_owned(),
            (None, _) => "The published matrix alone shows no clusters in rows and columns.".to_owned(),
        });
    }
    let fitted: Vec<&str> = simulation
        .numbers
        .iter()
        .filter(|[_, _, source]| source.starts_with("fitted"))
        .map(|[key, ..]| key.as_str())
        .collect();
    said.push(format!(
        "On paper, not measured; fitted: {}. The machine file gives the reasons.",
        fitted.join(", ")
    ));
    said
}

/// By how much a read of the farthest cluster of the package takes longer than one of its own memory.
fn farthest_percent(simulation: &ClusterSimulation) -> f64 {
    let is_near = |row: &&models::interconnect::ClusterRow| {
        simulation.places[row.reader][0] == simulation.places[row.home][0]
    };
    let most = simulation.rows.iter().filter(is_near).map(|row| row.latency_ns).fold(0.0, f64::max);
    (most / simulation.base_ns - 1.0) * 100.0
}

/// A row per read.
pub fn clusters_csv(simulation: &ClusterSimulation) -> String {
    let mut text = String::from("reader,home,latency_ns,published_ns,error_percent\n");
    let cell = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for row in &simulation.rows {
        let _ = writeln!(
            text,
            "{},{},{},{},{}",
            row.reader,
            row.home,
            row.latency_ns,
            cell(row.published_ns),
            cell(row.error_percent)
        );
    }
    text
}

/// The page of the run.
pub fn clusters_html(simulation: &ClusterSimulation) -> String {
    let mut body = format!(
        "<header><p class=\"kicker\">sidestep simulation</p><h1>{}</h1><p class=\"sub\">on paper</p></header>\n",
        markup(&simulation.title)
    );
    body += &section("reads", "What a read takes, ns", &table(&matrix(simulation)));
    body += &section("words", "In words", &list(&sentences(simulation)));
    let numbers: Vec<(&str, String)> = simulation
        .numbers
        .iter()
        .map(|[key, value, source]| (key.as_str(), format!("{value}; {source}")))
        .collect();
    body += &section("numbers", "The machine", &terms(&numbers));
    html::frame(&escape::markup(&simulation.title), &body, false) + html::PAGE_END
}

#[cfg(test)]
mod tests {
    use models::interconnect::{KNOWN_CLUSTERS, parse_clusters, simulate_clusters};

    use super::*;

    #[test]
    fn the_machine_is_told_in_80_columns_and_as_a_page_without_script() {
        let machine = parse_clusters(KNOWN_CLUSTERS[0].1, "f").expect("it comes with sidestep");
        let simulation = simulate_clusters(&machine, true);
        let text = clusters_terminal(&simulation, Terminal::default());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("gives the same places"), "{text}");
        let page = clusters_html(&simulation);
        assert!(page.contains("Sapphire Rapids") && !page.contains("<script"));
        assert_eq!(clusters_csv(&simulation).lines().count(), 65);
    }
}
