//! `sidestep sockets infer`: the groups of CPUs or nodes, and the links between them, that a matrix of latencies tells.

use clap::{Args, ValueEnum};
use models::interconnect::{self, Verdict};
use serde::Serialize;

use super::matrix::MatrixArguments;
use crate::forms::Forms;
use crate::global::Global;
use crate::outcome::Outcome;
use crate::output;

/// Version of the JSON document of this command.
const SCHEMA: u32 = 1;

/// Options of `sockets infer`.
#[derive(Debug, Clone, Args)]
pub(super) struct InferArguments {
    #[command(flatten)]
    matrix: MatrixArguments,
    /// Print the graph as a picture instead
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["json", "long", "html", "markdown", "csv"])]
    picture: Option<Picture>,
    #[command(flatten)]
    forms: Forms,
}

/// How a graph is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Picture {
    /// For browsers
    Svg,
    /// For Graphviz
    Dot,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    source: &'a str,
    format: &'a str,
    #[serde(flatten)]
    inference: &'a interconnect::Inference,
}

/// Infers and prints in the form asked for.
pub(super) fn infer(arguments: &InferArguments, global: &Global) -> anyhow::Result<Outcome> {
    arguments.forms.ensure_writable()?;
    let given = arguments.matrix.read()?;
    let mut inference = interconnect::infer(&given.reading.matrix);
    inference.remarks.splice(..0, given.reading.remarks);
    let picture = || report::inference_picture(&inference, &given.name);
    let format = given.reading.format;
    let document = Document { schema: SCHEMA, source: &given.name, format, inference: &inference };
    let page = report::inferred_links_page(&inference, &given.name);
    output::print(&match arguments.picture {
        Some(_) if global.quiet => String::new(),
        Some(Picture::Svg) => report::graph_svg(&picture()) + "\n",
        Some(Picture::Dot) => report::graph_dot(&picture()),
        None => arguments.forms.text(&page, &document, global)?,
    })?;
    Ok(Outcome::judged(global, false, inference.verdict != Verdict::Identified))
}
