//! `sidestep show`: a record or another saved document again, as summary, report, table or figure.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use fleet::rows::{Origin, flatten};
use record::{
    FieldError, METRIC_COLUMNS, Record, json_values, outermost_fields, own_document, read_document,
};
use report::{Figure, Page};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::forms::Words;
use crate::options::Global;
use crate::outcome::Outcome;
use crate::output::Document;
use crate::recording;
use crate::{forms, output, store};

/// Options of `show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShowArguments {
    /// A record, a folder that holds record.json, or what --json of another command printed
    pub(crate) record: PathBuf,
    /// Print the report as HTML
    #[arg(long, conflicts_with_all = ["csv", "svg"])]
    pub(crate) html: bool,
    /// Print every number as CSV, in the columns of fleet rows
    #[arg(long, conflicts_with = "svg")]
    pub(crate) csv: bool,
    /// Print one figure as SVG
    #[arg(long, value_name = "FIGURE")]
    pub(crate) svg: Option<String>,
    #[command(flatten)]
    pub(crate) words: Words,
}

/// Shows a record in the form asked for.
pub(crate) fn show(arguments: &ShowArguments, global: &Global) -> anyhow::Result<Outcome> {
    let figure = arguments.svg.as_deref().map(figure_named).transpose()?;
    let (file, bytes) = store::read(&arguments.record)?;
    let cannot_use = || format!("cannot use {}", file.display());
    if let Some((document, page)) = page_of(&bytes).with_context(cannot_use)? {
        anyhow::ensure!(
            figure.is_none(),
            "{} has no figures of its own; --svg is for records",
            file.display()
        );
        output::print(&text(arguments, &page, &document, global)?)?;
        return Ok(Outcome::Done);
    }
    let mut record = record::decode(&bytes).with_context(cannot_use)?;
    // The file stays as it is; what is said of its rows is what is known today.
    diagnosis::diagnose(&mut record);
    let text = if let Some(figure) = figure {
        report::figure_svg(&record, recording::socket_account(&record).as_ref(), figure)
            .with_context(|| format!("the record has no data for the figure {}", figure.name()))?
    } else if arguments.csv {
        numbers(&record, &file)?
    } else {
        let page = recording::page(&record, &arguments.record);
        text(arguments, &page, &record.clone().without_raw(), global)?
    };
    output::print(&text)?;
    Ok(recording::verdict(&record, global))
}

/// Every number of a record, as `fleet rows` writes it.
///
/// # Errors
/// The record says nothing of its machine.
fn numbers(record: &Record, file: &Path) -> anyhow::Result<String> {
    let file = file.display().to_string();
    let rows =
        flatten(record, Origin { file: &file, node: "" }).with_context(|| format!("cannot list {file}"))?;
    let columns: Vec<&str> = METRIC_COLUMNS.split(' ').collect();
    Ok(forms::tables(&Page::of_rows("metrics", &columns, rows.metrics_of_run())))
}

/// A page in the form asked for.
fn text(
    arguments: &ShowArguments,
    page: &Page,
    document: &dyn Document,
    global: &Global,
) -> anyhow::Result<String> {
    if arguments.html {
        Ok(page.html())
    } else if arguments.csv {
        Ok(forms::tables(page))
    } else {
        arguments.words.text(page, document, global)
    }
}

fn figure_named(name: &str) -> anyhow::Result<Figure> {
    Figure::from_name(name).with_context(|| {
        let names: Vec<&str> = Figure::ALL.iter().map(Figure::name).collect();
        let hint = machine::did_you_mean(name, names.iter().copied());
        format!("{name} is not a figure; {hint}choose among {}", names.join(", "))
    })
}

/// A document that can be shown again: the command that prints it, and its page.
type Kind = (&'static str, fn(&Value) -> Result<Page, FieldError>);

/// Every kind whose document alone makes the page.
const KINDS: &[Kind] = &[
    ("bill", |value| page(value, report::bill_page)),
    ("ab", |value| page(value, report::experiment_page)),
    ("ab --across-reboot", |value| page(value, report::reboots_page)),
    ("place", |value| page(value, report::place_page)),
    ("compare", |value| page(value, comparison_page)),
    ("clock check", |value| page(value, report::clock_check_page)),
    ("clock cost", |value| page(value, report::clock_cost_page)),
    ("guard check", |value| page(value, report::guard_page)),
    ("machine", |value| page(value, report::machine_page)),
    ("sockets", |value| page(value, sockets_page)),
];

fn page<T: DeserializeOwned>(value: &Value, view: fn(&T) -> Page) -> Result<Page, FieldError> {
    Ok(view(&read_document(value)?))
}

/// The rows alone: the records behind a comparison are not in it.
fn comparison_page(table: &record::ComparisonTable) -> Page {
    report::comparison_page(table, &[], &[])
}

/// What was measured, and judged by what is known today; links are inferred only on request.
fn sockets_page(sockets: &record::Sockets) -> Page {
    let mut sockets = sockets.clone();
    let account = diagnosis::socket_account(&sockets, None);
    sockets.gate = sockets.gate.clone().or_else(|| Some(diagnosis::socket_gate(&sockets, &account, None)));
    report::measured_sockets_page(&sockets, None)
}

/// The document in these bytes and its page, if they are of a kind other than a record.
///
/// # Errors
/// It is of such a kind, and a field of it cannot be read; or another command's document, of which there is no page.
fn page_of(bytes: &[u8]) -> anyhow::Result<Option<(Value, Page)>> {
    let Some(command) = outermost_fields(bytes).ok().and_then(|fields| own_document(&fields)) else {
        return Ok(None);
    };
    let Some((_, page)) = KINDS.iter().find(|(shown, _)| *shown == command) else {
        let shown: Vec<&str> = KINDS.iter().map(|(shown, _)| *shown).collect();
        anyhow::bail!(
            "this is the JSON of sidestep {command}, of which no page is kept; sidestep show prints records, and the JSON of {}",
            shown.join(", ")
        );
    };
    let document = json_values(bytes)?.swap_remove(0);
    let shown = page(&document).with_context(|| {
        format!("this JSON of sidestep {command} cannot be read; show it with the version that wrote it")
    })?;
    Ok(Some((document, shown)))
}
