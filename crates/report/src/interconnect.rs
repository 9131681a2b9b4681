//! Linked sockets and nodes: in the terminal, as CSV, as a page, and their graph as a picture.

mod account;
mod clusters;
mod firmware;
mod gate;
mod graph;
mod hwloc;
mod inference;
mod terminal;
mod words;

use std::fmt::Write;

use models::interconnect::{Graph, Matrix, SocketRow, SocketSimulation, Unit};

use crate::escape::{self, markup};
use crate::figure::DataTable;
use crate::html;
use crate::html::markup::{Charts, list, placed, section, table, terms};
use crate::number::{self, UNKNOWN};

pub use account::account_terminal;
pub(crate) use account::sentences as account_sentences;
pub use clusters::{clusters_csv, clusters_html, clusters_terminal};
pub use firmware::{DomainClaim, FirmwareLinks, MemoryClaim, PciClaim, firmware_terminal};
pub use gate::socket_gate_terminal;
pub(crate) use gate::verdict_words;
pub(crate) use graph::draw as draw_graph;
pub use graph::{GraphPicture, Reads, graph_dot, graph_svg};
pub use hwloc::{HwlocNumbers, hwloc_xml};
pub(crate) use inference::inference_facts;
pub use inference::{inference_picture, inference_terminal};
pub use terminal::sockets_terminal;

fn joined_links(links: &[[usize; 2]]) -> String {
    links.iter().map(|[from, to]| format!("{from}-{to}")).collect::<Vec<_>>().join(" ")
}

/// The graph of a run, with what each socket gets.
pub fn sockets_picture(simulation: &SocketSimulation) -> GraphPicture {
    let note = |mb_per_s: Option<f64>| mb_per_s.map_or_else(String::new, |one| format!("{one:.0} MB/s"));
    GraphPicture {
        title: simulation.title.clone(),
        graph: Graph::of_links(simulation.rows.len(), &simulation.links).expect("links of a machine"),
        names: names(simulation),
        notes: simulation.rows.iter().map(|row| note(row.triad_mb_per_s)).collect(),
        reads: Some(Reads { unit: "ns".to_owned(), measured: Vec::new(), predicted: matrix(simulation) }),
    }
}

fn names(simulation: &SocketSimulation) -> Vec<String> {
    simulation.rows.iter().map(|row| row.socket.to_string()).collect()
}

/// Latencies of the run, by reader and home.
fn matrix(simulation: &SocketSimulation) -> Vec<Vec<Option<f64>>> {
    simulation.latency_ns.iter().map(|row| row.iter().copied().map(Some).collect()).collect()
}

/// A column of the table of sockets.
type Column = (&'static str, fn(&SocketRow) -> String);

/// A row per socket, as people read it; columns of which nothing is known are left out.
fn socket_table(simulation: &SocketSimulation) -> DataTable {
    let mut columns: Vec<Column> = vec![
        ("socket", |row| row.socket.to_string()),
        ("far", |row| row.eccentricity.to_string()),
        ("local ns", |row| number::column(row.latency_ns)),
    ];
    if streams(simulation) {
        columns.push(("triad", |row| whole(row.triad_mb_per_s)));
    }
    if !simulation.changes.is_empty() && streams(simulation) {
        columns.push(("as built", |row| whole(row.as_built_mb_per_s)));
        columns.push(("change", |row| percent(change_percent(row))));
    }
    if simulation.rows.iter().any(|row| row.published_mb_per_s.is_some()) {
        columns.push(("published", |row| whole(row.published_mb_per_s)));
        columns.push(("error", |row| percent(row.error_percent)));
    }
    let cells = |row: &SocketRow| columns.iter().map(|(_, cell)| cell(row)).collect();
    DataTable {
        headers: columns.iter().map(|(header, _)| (*header).to_owned()).collect(),
        rows: simulation.rows.iter().map(cells).collect(),
    }
}

fn whole(value: Option<f64>) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), |value| format!("{value:.0}"))
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:+.1} %"))
}

fn change_percent(row: &SocketRow) -> Option<f64> {
    Some((row.triad_mb_per_s? / row.as_built_mb_per_s? - 1.0) * 100.0)
}

fn streams(simulation: &SocketSimulation) -> bool {
    simulation.rows.iter().any(|row| row.triad_mb_per_s.is_some())
}

/// Every number of the run as CSV: a row per socket, then a row per entry of the matrix.
pub fn sockets_csv(simulation: &SocketSimulation) -> String {
    let mut text = String::from(
        "section,socket,home,far_links,latency_ns,triad_mb_per_s,as_built_mb_per_s,published_mb_per_s,error_percent\n",
    );
    let cell = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for row in &simulation.rows {
        let _ = writeln!(
            text,
            "socket,{},,{},{},{},{},{},{}",
            row.socket,
            row.eccentricity,
            row.latency_ns,
            cell(row.triad_mb_per_s),
            cell(row.as_built_mb_per_s),
            cell(row.published_mb_per_s),
            cell(row.error_percent)
        );
    }
    for (reader, row) in simulation.latency_ns.iter().enumerate() {
        for (home, latency_ns) in row.iter().enumerate() {
            let _ = writeln!(text, "read,{reader},{home},,{latency_ns},,,,");
        }
    }
    text
}

/// A matrix as CSV that can be read again.
pub fn matrix_csv(matrix: &Matrix) -> String {
    let unit = if matrix.unit == Unit::Distance { "distance" } else { matrix.unit.name() };
    let nodes: Vec<String> = matrix.nodes.iter().map(u32::to_string).collect();
    let mut text = format!("# unit: {unit}\n# nodes: {}\n", nodes.join(" "));
    if let Some(error) = matrix.standard_error {
        let _ = writeln!(text, "# error: {error}");
    }
    for row in 0..matrix.count() {
        let cell = |column| matrix.at(row, column).map_or_else(String::new, |value| value.to_string());
        text += &(0..matrix.count()).map(cell).collect::<Vec<_>>().join(",");
        text.push('\n');
    }
    text
}

/// The page of the run.
pub fn sockets_html(simulation: &SocketSimulation) -> String {
    let changes = if simulation.changes.is_empty() {
        "as built".to_owned()
    } else {
        format!("with {}", simulation.changes.join(", "))
    };
    let mut body = format!(
        "<header><p class=\"kicker\">sidestep simulation</p><h1>{}</h1><p class=\"sub\">on paper, {}, cores at {}</p></header>\n",
        markup(&simulation.title),
        markup(&changes),
        number::frequency(simulation.core_hz)
    );
    body += &section("sockets", "What each socket gets", &table(&socket_table(simulation)));
    let mut charts = Charts::new(false);
    let picture = crate::sockets::graph(&sockets_picture(simulation), "socket-links");
    body += &section(
        "links",
        "Links",
        &placed("socket-links", "How the sockets are linked", picture, &mut charts),
    );
    let map = crate::sockets::read_map(&names(simulation), &matrix(simulation), "predicted");
    let title = "Latency from each socket to each socket's memory";
    body += &section("reads", "Reads", &placed("socket-latency", title, map, &mut charts));
    body += &section("words", "In words", &list(&words::sentences(simulation)));
    let numbers: Vec<(&str, String)> =
        simulation.numbers.iter().map(|one| (one.name, format!("{}; {}", one.value, one.source))).collect();
    body += &section("numbers", "The machine", &terms(&numbers));
    let page = html::frame(&escape::markup(&simulation.title), &body, false);
    page + html::PAGE_END
}

#[cfg(test)]
mod tests {
    use models::interconnect::{KNOWN, Variant, parse, simulate};

    use super::*;
    use crate::Terminal;

    fn run(name: &str, variant: &Variant) -> SocketSimulation {
        let (_, text) = KNOWN.iter().find(|(known, _)| *known == name).expect(name);
        simulate(&parse(text, name).expect(name), variant, None).expect(name)
    }

    #[test]
    fn every_line_of_the_csv_has_as_many_fields_as_its_head() {
        for (name, _) in KNOWN {
            let text = sockets_csv(&run(name, &Variant::default()));
            let fields: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
            assert!(fields.iter().all(|count| *count == fields[0]), "{name}: {fields:?}");
        }
    }

    #[test]
    fn a_matrix_as_csv_is_read_again() {
        let text = "# unit: cycles\n# nodes: 0 3\n# error: 1.5\n80,130.25\n,81\n";
        let read = models::interconnect::read_matrix(text).expect("a matrix").matrix;
        assert_eq!((read.nodes.as_slice(), matrix_csv(&read).as_str()), ([0, 3].as_slice(), text));
    }

    #[test]
    fn the_slow_sockets_are_named_with_the_reason_and_what_cannot_be_told() {
        let text = sockets_terminal(&run("x6440-8380", &Variant::default()), Terminal::default());
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in
            ["Sockets 0 and 3 get 15 % less than sockets 1 and 2", "cannot tell", "this one alone has"]
        {
            assert!(words.contains(said), "{said}: {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let page = sockets_html(&run("x6440-8380", &Variant::default()));
        assert!(page.contains("<svg") && page.contains("25112") && !page.contains("<script"));
    }

    #[test]
    fn alike_sockets_are_not_called_slow() {
        let square = Variant { square: true, ..Variant::default() };
        let text = sockets_terminal(&run("x6440-8384", &square), Terminal::default());
        assert!(text.contains("All sockets are alike"), "{text}");
    }
}
