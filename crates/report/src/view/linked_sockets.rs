//! Simulated sockets joined by links: what each gets, why, and what the numbers leave undetermined.

mod words;

use models::interconnect::{Graph, SocketSimulation};

use super::simulated;
use super::socket_words::node_links;
use crate::figure::sockets;
use crate::figure::{GraphPicture, Reads};
use crate::number;
use crate::page::{Cell, Page, Section, Table};

/// The run as a page.
pub fn linked_sockets_page(simulation: &SocketSimulation) -> Page {
    let changes = match simulation.changes.as_slice() {
        [] => String::new(),
        changes => format!(" with {}", changes.join(", ")),
    };
    let details = Section::new("details", "What the numbers leave open").list(words::details(simulation));
    let sections = [
        Some(Section::new("sockets", "").table(rows(simulation))),
        details.filled().map(Section::detailed),
        Some(pictures(simulation)),
    ];
    let (clock, links) = (number::frequency(simulation.core_hz), node_links(&simulation.links));
    let page = Page {
        answer: words::answer(simulation),
        because: words::because(simulation),
        sections: sections.into_iter().flatten().collect(),
        about: vec![format!("cores at {clock}, links {links}")],
        ..Page::default()
    };
    simulated::page(
        &format!("{}{changes}", simulation.title),
        simulated::numbers(&simulation.description),
        page,
    )
}

/// A row per socket; columns of which nothing is known are left out.
fn rows(simulation: &SocketSimulation) -> Table {
    let mut rows = Table::of("sockets", &simulation.rows)
        .number("socket", |row| row.socket)
        .number(("links to farthest", 3), |row| row.eccentricity)
        .number(("local read", "ns", 2), |row| row.latency_ns)
        .number(("triad", "MB/s"), |row| Cell::whole(row.triad_mb_per_s));
    if !simulation.changes.is_empty() {
        let change = |(now, built): (f64, f64)| (now / built - 1.0) * 100.0;
        rows = rows
            .number(("as built", "MB/s", 1), |row| Cell::whole(row.as_built_mb_per_s))
            .number(("change", 1), |row| {
                Cell::change(row.triad_mb_per_s.zip(row.as_built_mb_per_s).map(change))
            });
    }
    if simulation.rows.iter().any(|row| row.published_mb_per_s.is_some()) {
        rows = rows
            .number(("published", "MB/s", 1), |row| Cell::whole(row.published_mb_per_s))
            .number(("error", 1), |row| Cell::change(row.error_percent));
    }
    let triad = if words::streams(simulation) {
        "; triad: STREAM Triad of one core in its own memory"
    } else {
        "; what a core streams is unknown"
    };
    rows.legend(format!("local read: from its own memory{triad}"))
}

/// The graph of links, with the latencies over them.
fn pictures(simulation: &SocketSimulation) -> Section {
    let note = |mb_per_s: Option<f64>| mb_per_s.map_or_else(String::new, |one| format!("{one:.0} MB/s"));
    let of_row = |row: &Vec<f64>| row.iter().copied().map(Some).collect();
    let predicted: Vec<Vec<Option<f64>>> = simulation.latency_ns.iter().map(of_row).collect();
    let names: Vec<String> = simulation.rows.iter().map(|row| row.socket.to_string()).collect();
    let picture = GraphPicture {
        title: simulation.title.clone(),
        graph: Graph::of_links(simulation.rows.len(), &simulation.links).expect("links of a machine"),
        names,
        notes: simulation.rows.iter().map(|row| note(row.triad_mb_per_s)).collect(),
        reads: Some(Reads { unit: "ns".to_owned(), measured: Vec::new(), predicted }),
    };
    let of_reader = |(reader, row): (usize, &Vec<f64>)| {
        row.iter().enumerate().map(|(home, ns)| (reader, home, *ns)).collect::<Vec<_>>()
    };
    let reads = Table::of("reads", simulation.latency_ns.iter().enumerate().flat_map(of_reader))
        .number("reader", |read| read.0)
        .number("home", |read| read.1)
        .number(("latency", "ns"), |read| read.2)
        .data();
    let graph = sockets::graph(&picture, "socket-links");
    Section::new("links", "Links")
        .figure("socket-links", "How the sockets are linked", Some(graph))
        .table(reads)
}

#[cfg(test)]
mod tests {
    use models::interconnect::{SocketMachine, Variant, simulate};
    use models::{MachineKind, known_machines_of};

    use super::*;
    use crate::Terminal;

    fn run(name: &str, variant: &Variant) -> Page {
        let machine: SocketMachine = models::known(name).expect(name);
        linked_sockets_page(&simulate(&machine, variant).expect(name))
    }

    fn said(page: &Page, is_long: bool) -> String {
        page.terminal(Terminal::default(), is_long).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_first_screen_names_the_slow_sockets_and_the_reason() {
        let page = run("x6440-8380", &Variant::default());
        let short = said(&page, false);
        assert!(short.contains("Sockets 0 and 3 get 15 % less bandwidth than sockets 1 and 2"), "{short}");
        for part in ["snoop", "within 1.", "Fitted: hop_round_trip_ns, near_core_cycles"] {
            assert!(short.contains(part), "{part}: {short}");
        }
        let long = said(&page, true);
        assert!(long.contains("Undetermined") && long.contains("this one alone has"), "{long}");
        for name in known_machines_of(MachineKind::Sockets).map(|known| known.name) {
            let text = run(name, &Variant::default()).terminal(Terminal::default(), false);
            assert!(text.lines().count() <= 24, "{name}: {text}");
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
    }

    #[test]
    fn alike_sockets_are_not_called_slow() {
        let square = Variant { remove: vec![[1, 2]], ..Variant::default() };
        assert!(said(&run("x6440-8384", &square), false).contains("All sockets are alike"));
    }
}
