//! `sidestep sockets infer`: the groups of CPUs or nodes, and the links between them, that a matrix of latencies shows: a file of one of
//! several formats, what `sidestep sockets` measured, or the distances of a machine.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use host::Root;
use models::interconnect;
use models::interconnect::{Matrix, MatrixReading, Member, Verdict, read_matrix};
use serde::Serialize;

use super::explain;
use super::explain::file_name;
use crate::forms::Forms;
use crate::options::Global;
use crate::outcome::Outcome;
use crate::store;

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

/// A table of 1,024 CPUs with a dozen digits each has 20 MB.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Which matrix.
#[derive(Debug, Clone, Args)]
pub(super) struct MatrixArguments {
    /// A record of sidestep sockets or its folder; or a matrix: CSV, of core-to-core-latency too, or output of Intel MLC; or a
    /// recorded machine, for its SLIT
    #[arg(value_name = "MATRIX", required_unless_present = "sysroot")]
    matrix: Option<PathBuf>,
    /// The distances (ACPI SLIT) of a recorded machine: a directory or tarball with proc/ and sys/; / is this one
    #[arg(long, value_name = "DIR|TARBALL", conflicts_with = "matrix")]
    sysroot: Option<PathBuf>,
    /// Standard error of an entry, in its unit; without it, it is taken from what no graph explains
    #[arg(long, value_name = "NUMBER", value_parser = standard_error)]
    error: Option<f64>,
}

/// A matrix and what to call it.
pub(super) struct Given {
    pub(super) name: String,
    pub(super) reading: MatrixReading,
}

impl MatrixArguments {
    /// Reads it.
    pub(super) fn read(&self) -> anyhow::Result<Given> {
        let path = self.matrix.as_ref().or(self.sysroot.as_ref()).context("name a matrix, or a --sysroot")?;
        let mut given =
            if self.sysroot.is_some() || is_recording(path) { of_machine(path)? } else { of_file(path)? };
        given.reading.matrix.standard_error = self.error.or(given.reading.matrix.standard_error);
        Ok(given)
    }
}

/// A matrix of nodes, for what has no meaning for CPUs.
pub(super) fn of_nodes(given: Given) -> anyhow::Result<Given> {
    anyhow::ensure!(
        given.reading.matrix.members == Member::Nodes,
        "{} is a matrix of CPUs, without memory; give one of nodes, or say \"# nodes:\" and their numbers in it",
        given.name
    );
    Ok(given)
}

/// Whether a path is a recorded machine, neither a table nor what was measured.
fn is_recording(path: &Path) -> bool {
    const ARCHIVES: [&str; 6] = ["tar", "gz", "tgz", "bz2", "tbz2", "zst"];
    let extension = path.extension().and_then(|extension| extension.to_str());
    let is_archive = extension.is_some_and(|extension| ARCHIVES.contains(&extension));
    (path.is_dir() || is_archive) && !store::is_record(path)
}

/// What was measured: by sidestep, or as another program's table.
pub(super) fn of_file(path: &Path) -> anyhow::Result<Given> {
    if store::is_record(path) {
        return of_record(path);
    }
    let bytes = store::read_bounded(path, FILE_BYTES_MAX, "matrix of latencies")?;
    let text = String::from_utf8(bytes).map_err(|_| {
        anyhow::anyhow!("{} is not UTF-8; give a matrix as text, such as CSV", path.display())
    })?;
    let reading = read_matrix(&text).with_context(|| format!("cannot use {}", path.display()))?;
    let name = format!("{} ({})", file_name(path), reading.format);
    Ok(Given { name, reading })
}

fn of_record(path: &Path) -> anyhow::Result<Given> {
    let (name, measured) = explain::load(path)?;
    let matrix = diagnosis::node_latencies(&measured.sockets)
        .with_context(|| format!("cannot use {}", path.display()))?;
    Ok(Given { name: format!("{name} (measured)"), reading: reading("sidestep", matrix) })
}

fn reading(format: &'static str, matrix: Matrix) -> MatrixReading {
    MatrixReading { format, matrix, remarks: Vec::new() }
}

/// The distances of a recorded machine, or of this one by the name of its root.
fn of_machine(path: &Path) -> anyhow::Result<Given> {
    let root = if path == Path::new("/") { Root::live() } else { Root::open(path)? };
    let machine = host::describe(&root, None);
    let matrix = Matrix::of_machine(&machine).with_context(|| format!("cannot use {}", path.display()))?;
    Ok(Given { name: format!("{} (SLIT)", file_name(path)), reading: reading("SLIT", matrix) })
}

fn standard_error(text: &str) -> Result<f64, String> {
    let error = text.parse::<f64>().ok().filter(|error| error.is_finite() && *error > 0.0);
    error.ok_or_else(|| "give a number above 0, such as 1.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_more_than_nothing() {
        assert_eq!(standard_error("1.5"), Ok(1.5));
        for text in ["", "0", "-1", "nan", "inf", "two"] {
            assert!(standard_error(text).is_err(), "{text}");
        }
    }
}
