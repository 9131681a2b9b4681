//! Simulated sockets joined by links: what each gets, why, what the numbers leave undetermined, and the fit.

mod words;

use models::interconnect::{Graph, SocketFit, SocketSimulation};

use super::simulated;
use crate::interconnect::{GraphPicture, Reads, links_words};
use crate::number::{self, UNKNOWN};
use crate::page::{Block, Cell, Column, Page, Placed, Section, Table};
use crate::sockets;

/// The run as a page.
pub fn linked_sockets_page(simulation: &SocketSimulation) -> Page {
    let changes = match simulation.changes.as_slice() {
        [] => String::new(),
        changes => format!(" with {}", changes.join(", ")),
    };
    let mut sections = vec![Section::new("sockets", "").with(Block::Table(rows(simulation)))];
    sections.extend(simulation.fit.as_ref().map(fit));
    let more = words::details(simulation);
    if !more.is_empty() {
        sections.push(Section::detail("details", "What the numbers leave open").with(Block::List(more)));
    }
    sections.push(pictures(simulation));
    let numbers =
        simulation.numbers.iter().map(|one| [one.name.to_owned(), one.value.clone(), one.source.clone()]);
    sections.push(simulated::numbers(numbers));
    Page {
        subject: simulated::subject(&format!("{}{changes}", simulation.title)),
        answer: words::answer(simulation),
        because: words::because(simulation),
        sections,
        about: vec![format!(
            "cores at {}, links {}",
            number::frequency(simulation.core_hz),
            links_words(&simulation.links)
        )],
        ..Page::default()
    }
}

/// A row per socket; columns of which nothing is known are left out.
fn rows(simulation: &SocketSimulation) -> Table {
    let is_changed = !simulation.changes.is_empty();
    let is_published = simulation.rows.iter().any(|row| row.published_mb_per_s.is_some());
    let mut columns = vec![
        Column::number("socket", ""),
        Column::number("links to farthest", "").priority(3),
        Column::number("local read", "ns").priority(2),
        Column::number("triad", "MB/s"),
    ];
    if is_changed {
        columns.extend([
            Column::number("as built", "MB/s").priority(1),
            Column::number("change", "").priority(1),
        ]);
    }
    if is_published {
        columns.extend([
            Column::number("published", "MB/s").priority(1),
            Column::number("error", "").priority(1),
        ]);
    }
    let mut table = Table::new("sockets", columns);
    let whole =
        |value: Option<f64>| value.map_or(Cell::Empty, |value| Cell::shown(format!("{value:.0}"), value));
    for row in &simulation.rows {
        let mut cells = vec![
            Cell::count(row.socket),
            Cell::count(row.eccentricity as usize),
            Cell::number(row.latency_ns),
            whole(row.triad_mb_per_s),
        ];
        if is_changed {
            let change = |(now, built): (f64, f64)| (now / built - 1.0) * 100.0;
            let change = row.triad_mb_per_s.zip(row.as_built_mb_per_s).map(change);
            cells.extend([whole(row.as_built_mb_per_s), Cell::change(change)]);
        }
        if is_published {
            cells.extend([whole(row.published_mb_per_s), Cell::change(row.error_percent)]);
        }
        table.row(cells);
    }
    let triad = if words::streams(simulation) {
        "; triad: STREAM Triad of one core in its own memory"
    } else {
        "; what a core streams is unknown"
    };
    table.legend = Some(format!("local read: from its own memory{triad}"));
    table
}

fn names(simulation: &SocketSimulation) -> Vec<String> {
    simulation.rows.iter().map(|row| row.socket.to_string()).collect()
}

/// The graph of links and the latencies over them.
fn pictures(simulation: &SocketSimulation) -> Section {
    let note = |mb_per_s: Option<f64>| mb_per_s.map_or_else(String::new, |one| format!("{one:.0} MB/s"));
    let of_row = |row: &Vec<f64>| row.iter().copied().map(Some).collect();
    let predicted: Vec<Vec<Option<f64>>> = simulation.latency_ns.iter().map(of_row).collect();
    let names = names(simulation);
    let map = sockets::read_map(&names, &predicted, "predicted");
    let picture = GraphPicture {
        title: simulation.title.clone(),
        graph: Graph::of_links(simulation.rows.len(), &simulation.links).expect("links of a machine"),
        names,
        notes: simulation.rows.iter().map(|row| note(row.triad_mb_per_s)).collect(),
        reads: Some(Reads { unit: "ns".to_owned(), measured: Vec::new(), predicted }),
    };
    let columns =
        vec![Column::number("reader", ""), Column::number("home", ""), Column::number("latency", "ns")];
    let mut table = Table { is_data: true, ..Table::new("reads", columns) };
    for (reader, row) in simulation.latency_ns.iter().enumerate() {
        for (home, ns) in row.iter().enumerate() {
            table.row(vec![Cell::count(reader), Cell::count(home), Cell::number(*ns)]);
        }
    }
    let figure = |name: &'static str, heading: &str, drawn| {
        Block::Figure(Box::new(Placed { name, heading: heading.to_owned(), drawn }))
    };
    Section::new("links", "Links")
        .with(figure("socket-links", "How the sockets are linked", sockets::graph(&picture, "socket-links")))
        .with(figure("socket-latency", "Latency from each socket to each socket's memory", map))
        .with(Block::Table(table))
}

/// How well each form of the latency fits the published numbers.
fn fit(fit: &SocketFit) -> Section {
    let columns = vec![
        Column::word("latency is"),
        Column::number("free", "").priority(1),
        Column::number("rms", ""),
        Column::number("at most", ""),
        Column::number("left out", "").priority(1),
        Column::word("values").priority(2),
    ];
    let mut table = Table::new("forms", columns);
    let percent = |value: f64| Cell::shown(format!("{value:.2} %"), value);
    for form in &fit.forms {
        let values: Vec<String> =
            form.parameters.iter().map(|one| number::significant(one.value, 4)).collect();
        table.row(vec![
            Cell::text(format!("{}{}", form.formula, if form.is_ours { " *" } else { "" })),
            Cell::count(form.parameters.len()),
            percent(form.rms_percent),
            percent(form.max_percent),
            form.left_out_max_percent.map_or_else(|| Cell::text(UNKNOWN), percent),
            Cell::text(values.join(", ")),
        ]);
    }
    table.legend = Some(format!(
        "* the form of the machine files; ecc: links to the farthest socket, f: core clock; left out: largest error of a number that the fit was not shown; sockets that should be equal scatter by up to {:.2} %",
        fit.scatter_percent
    ));
    let transfers = fit.transfers.iter().map(|transfer| {
        let rows = transfer.rows.iter();
        let rows: Vec<String> =
            rows.map(|row| format!("{:.0} for {:.0}", row.triad_mb_per_s, row.published_mb_per_s)).collect();
        format!(
            "A fit to {} alone predicts for {}: {} MB/s; {:.1} % off at most.",
            transfer.from,
            transfer.to,
            rows.join(", "),
            transfer.max_percent
        )
    });
    let title = format!("Fit to {} published numbers of {}", fit.published, fit.machines.join(" and "));
    Section::new("fit", title).with(Block::Table(table)).with(Block::List(transfers.collect()))
}

#[cfg(test)]
mod tests {
    use models::interconnect::{KNOWN, Variant, parse, simulate};

    use super::*;
    use crate::Terminal;

    fn run(name: &str, variant: &Variant) -> Page {
        let (_, text) = KNOWN.iter().find(|(known, _)| *known == name).expect(name);
        linked_sockets_page(&simulate(&parse(text, name).expect(name), variant, None).expect(name))
    }

    fn said(page: &Page, is_long: bool) -> String {
        page.terminal(Terminal::default(), is_long).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_first_screen_names_the_slow_sockets_and_the_reason() {
        let page = run("x6440-8380", &Variant::default());
        let short = said(&page, false);
        assert!(short.contains("Sockets 0 and 3 get 15 % less bandwidth than sockets 1 and 2"), "{short}");
        for part in ["snoop", "within 1.", "Fitted: near_core_cycles"] {
            assert!(short.contains(part), "{part}: {short}");
        }
        let long = said(&page, true);
        assert!(long.contains("Undetermined") && long.contains("this one alone has"), "{long}");
        for (name, _) in KNOWN {
            let text = run(name, &Variant::default()).terminal(Terminal::default(), false);
            assert!(text.lines().count() <= 24, "{name}: {text}");
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
    }

    #[test]
    fn alike_sockets_are_not_called_slow() {
        let square = Variant { square: true, ..Variant::default() };
        assert!(said(&run("x6440-8384", &square), false).contains("All sockets are alike"));
    }
}
