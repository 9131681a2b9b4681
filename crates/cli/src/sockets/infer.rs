//! `sidestep sockets infer`: the groups of CPUs or nodes, and the links between them, that a matrix of latencies tells.

use clap::Args;
use models::interconnect::{self, Verdict};
use serde::Serialize;

use super::matrix::MatrixArguments;
use crate::forms::Forms;
use crate::global::Global;
use crate::outcome::Outcome;

/// Version of the JSON document of this command.
const SCHEMA: u32 = 1;

/// Options of `sockets infer`.
#[derive(Debug, Clone, Args)]
pub(super) struct InferArguments {
    #[command(flatten)]
    matrix: MatrixArguments,
    #[command(flatten)]
    forms: Forms,
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
    let given = arguments.matrix.read()?;
    let mut inference = interconnect::infer(&given.reading.matrix);
    inference.remarks.splice(..0, given.reading.remarks);
    let format = given.reading.format;
    let document = Document { schema: SCHEMA, source: &given.name, format, inference: &inference };
    let page = report::inferred_links_page(&inference, &given.name);
    arguments.forms.print(&page, &document, global)?;
    Ok(Outcome::judged(global, false, inference.verdict != Verdict::Identified))
}
