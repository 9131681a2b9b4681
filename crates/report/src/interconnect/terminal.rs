//! Linked sockets in the terminal: a row per socket, words, the fit.

use models::interconnect::{SocketFit, SocketSimulation};

use super::{joined_links, words};
use crate::escape::plain;
use crate::number::{self, UNKNOWN};
use crate::terminal::{Ink, Paper, Terminal, table_of};

/// The run for people.
pub fn sockets_terminal(simulation: &SocketSimulation, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    let changes = if simulation.changes.is_empty() {
        String::new()
    } else {
        format!(" with {}", simulation.changes.join(", "))
    };
    paper.strong(&plain(&format!("{} on paper{changes}", simulation.title)));
    paper.faint(&format!(
        "cores at {}, links {}",
        number::frequency(simulation.core_hz),
        joined_links(&simulation.links)
    ));
    paper.blank();
    rows(&mut paper, simulation);
    paper.blank();
    for sentence in words::sentences(simulation) {
        paper.wrapped("- ", &plain(&sentence));
    }
    if let Some(found) = &simulation.fit {
        paper.blank();
        fit(&mut paper, found);
    }
    paper.finish()
}

fn rows(paper: &mut Paper, simulation: &SocketSimulation) {
    let table = super::socket_table(simulation);
    let mut drawn = table_of(&table.headers);
    for row in table.rows {
        drawn.add_row(row);
    }
    paper.table(drawn);
    let triad = match (super::streams(simulation), simulation.changes.is_empty()) {
        (false, _) => "; what a core streams is unknown",
        (true, true) => {
            "; triad: STREAM Triad of one core with its own memory, MB/s; published numbers were joined afterwards"
        }
        (true, false) => "; triad: STREAM Triad of one core with its own memory, MB/s",
    };
    let legend = format!("far: links to the farthest socket; local: a read of its own memory{triad}");
    paper.wrapped_inked(Ink::Faint, "", &legend);
}

fn fit(paper: &mut Paper, fit: &SocketFit) {
    paper.strong(&plain(&format!(
        "Fitted to {} published numbers of {}",
        fit.published,
        fit.machines.join(" and ")
    )));
    let headers = ["latency is", "free", "rms", "at most", "left out", "values"];
    let mut table = table_of(&headers.map(str::to_owned));
    for form in &fit.forms {
        let values: Vec<String> =
            form.parameters.iter().map(|one| number::significant(one.value, 4)).collect();
        table.add_row([
            format!("{}{}", form.formula, if form.is_ours { " *" } else { "" }),
            form.parameters.len().to_string(),
            format!("{:.2} %", form.rms_percent),
            format!("{:.2} %", form.max_percent),
            form.left_out_max_percent.map_or_else(|| UNKNOWN.to_owned(), |error| format!("{error:.2} %")),
            values.join(", "),
        ]);
    }
    paper.table(table);
    paper.wrapped_inked(
        Ink::Faint,
        "",
        &format!(
            "* the form of the machine files; ecc: far, f: core clock; left out: largest error of a number that the fit was not shown; sockets that should be equal scatter by up to {:.2} %",
            fit.scatter_percent
        ),
    );
    for transfer in &fit.transfers {
        let rows: Vec<String> = transfer
            .rows
            .iter()
            .map(|row| format!("{:.0} for {:.0}", row.triad_mb_per_s, row.published_mb_per_s))
            .collect();
        paper.wrapped(
            "- ",
            &plain(&format!(
                "Fitted to {} only, {} comes out as {} MB/s: {:.1} % off at most.",
                transfer.from,
                transfer.to,
                rows.join(", "),
                transfer.max_percent
            )),
        );
    }
}
