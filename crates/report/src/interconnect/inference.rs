//! What a matrix tells of links, in the terminal.

use std::fmt::Write;

use models::interconnect::{Explanation, Graph, Inference, Mesh, Unit, Verdict};

use super::GraphPicture;
use crate::escape::plain;
use crate::number;
use crate::terminal::{Ink, Paper, Terminal};

/// The inference for people; `from` names the matrix.
pub fn inference_terminal(inference: &Inference, from: &str, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    paper.strong(&plain(&format!("Links of {}, from {from}", number::count(inference.nodes.len(), "node"))));
    paper.blank();
    let ink = if inference.verdict == Verdict::Identified { Ink::Good } else { Ink::Doubt };
    paper.wrapped_inked(ink, "", &plain(&format!("{}: {}", inference.verdict.name(), inference.reason)));
    for (name, told) in inference_facts(inference) {
        paper.wrapped(&format!("{name:<9}"), &plain(&told));
    }
    paper.wrapped_inked(
        Ink::Faint,
        "",
        &format!("graphs and arrangements looked at: {}", inference.examined),
    );
    paper.finish()
}

/// What is known of the links, each with its name.
pub(crate) fn inference_facts(inference: &Inference) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if !inference.edges.is_empty() {
        let name = if inference.verdict == Verdict::Identified { "links" } else { "a guess" };
        let told =
            format!("{} (probability {})", listed(&inference.edges), probability(inference.probability));
        facts.push((name, told));
        let far: Vec<String> = inference
            .nodes
            .iter()
            .zip(&inference.eccentricities)
            .map(|(node, far)| format!("{node}: {far}"))
            .collect();
        if !far.is_empty() {
            facts.push(("far", format!("{} (links to the farthest node)", far.join(", "))));
        }
    }
    facts.push(("because", explanation(inference)));
    let unit = unit(inference.unit);
    let rms = if inference.rms < 0.005 { "0".to_owned() } else { number::short(inference.rms) };
    let error = format!("{rms}{unit} root mean square, {:.1} % of an entry at most", inference.max_percent);
    facts.push(("error", error));
    if let Some(next) = inference.runner_up.as_ref().filter(|_| !inference.edges.is_empty()) {
        let told = format!(
            "{} (probability {}, error {}{unit})",
            listed(&next.edges),
            probability(next.probability),
            number::short(next.rms)
        );
        facts.push(("next", told));
    }
    if !inference.alike.is_empty() {
        let told = format!("{} more graphs explain the entries about as well", inference.alike.len());
        facts.push(("alike", told));
    }
    facts.extend(inference.remarks.iter().map(|remark| ("note", remark.clone())));
    facts
}

fn listed(edges: &[[u32; 2]]) -> String {
    edges.iter().map(|[from, to]| format!("{from}-{to}")).collect::<Vec<_>>().join(" ")
}

fn unit(unit: Unit) -> String {
    if unit.name().is_empty() { String::new() } else { format!(" {}", unit.name()) }
}

fn probability(probability: f64) -> String {
    /// Nearer to 1 the model itself is the greater doubt.
    const NEAR_ONE: f64 = 0.999;
    match probability {
        near if near > NEAR_ONE => "over 99.9 %".to_owned(),
        small if small < 1.0 - NEAR_ONE => "under 0.1 %".to_owned(),
        other => format!("{:.1} %", other * 100.0),
    }
}

fn explanation(inference: &Inference) -> String {
    let unit = unit(inference.unit);
    let value = |value: f64| format!("{}{unit}", number::short(value));
    match &inference.explanation {
        Explanation::Snoops { probe, dram, hop } => {
            let mut said = format!("snoops are broadcast, a link costs {} one way", value(*hop));
            if let Some(probe) = probe {
                let _ = write!(said, "; a read that waits for probes takes {} and its links", value(*probe));
            }
            if let Some(dram) = dram {
                let _ = write!(said, "; one that waits for data takes {} and its links", value(*dram));
            }
            said
        }
        Explanation::Levels { levels } => {
            let named: Vec<String> = levels.iter().map(|level| value(*level)).collect();
            format!("a level for each number of links: {}", named.join(", "))
        }
        Explanation::Mesh(mesh) => of_mesh(mesh, &value),
        Explanation::Flat { local: Some(local), remote: Some(remote) }
            if (remote - local).abs() > f64::EPSILON =>
        {
            format!("{} of a node's own memory, {} of any other", value(*local), value(*remote))
        }
        Explanation::Flat { local, .. } => local.map_or_else(
            || "nothing is known".to_owned(),
            |all| format!("all entries are about {}", value(all)),
        ),
    }
}

fn of_mesh(mesh: &Mesh, value: &dyn Fn(f64) -> String) -> String {
    let shape = match mesh.row_step {
        Some(row) => format!(
            "{} by {} clusters: {} of a cluster's own memory, {} more per column, {} more per row",
            mesh.columns,
            mesh.rows,
            value(mesh.base),
            value(mesh.column_step),
            value(row)
        ),
        None => format!(
            "{} clusters in a row: {} of a cluster's own memory, {} more per step",
            mesh.columns,
            value(mesh.base),
            value(mesh.column_step)
        ),
    };
    match mesh.remote {
        Some(remote) => format!(
            "{} packages of {shape}; other packages {}, from which cluster their links leave does not show",
            mesh.packages,
            value(remote)
        ),
        None => format!("one package of {shape}"),
    }
}

/// The links as a picture.
pub fn inference_picture(inference: &Inference, from: &str) -> GraphPicture {
    GraphPicture {
        title: format!("{from}: {}", inference.verdict.name()),
        graph: Graph::of_numbered(&inference.nodes, &inference.edges)
            .unwrap_or_else(|| Graph::new(inference.nodes.len())),
        names: inference.nodes.iter().map(u32::to_string).collect(),
        notes: vec![String::new(); inference.nodes.len()],
        reads: None,
    }
}

#[cfg(test)]
mod tests {
    use models::interconnect::{infer, read_matrix};

    use super::*;

    fn text(csv: &str) -> String {
        inference_terminal(
            &infer(&read_matrix(csv).expect("a matrix").matrix),
            "a\u{1b}[31mtest",
            Terminal::default(),
        )
    }

    #[test]
    fn the_diamond_is_told_with_its_runner_up_and_nothing_steers_the_terminal() {
        let said = text("138,138,138,146\n138,102,120,138\n138,120,102,138\n146,138,138,138\n");
        assert!(said.contains("identified") && said.contains("0-1 0-2 1-2 1-3 2-3"), "{said}");
        assert!(said.contains("next") && !said.contains('\u{1b}'), "{said}");
    }

    #[test]
    fn what_shows_no_links_names_none() {
        let said = text("# unit: distance\n10,20,20,20\n20,10,20,20\n20,20,10,20\n20,20,20,10\n");
        assert!(said.contains("not identifiable") && !said.contains("0-1"), "{said}");
        assert!(text("80").contains("one node has no links"));
    }
}
