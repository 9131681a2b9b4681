//! `sidestep show`: a record or another saved document again, as summary, report, table or figure.

mod documents;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use report::{Figure, Page};
use serde_json::Value;

use crate::forms::Words;
use crate::global::Global;
use crate::outcome::Outcome;
use crate::record_page::{self, without_raw};
use crate::{forms, output, store};

/// Options of `show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShowArguments {
    /// A record, a folder that holds record.json, or what --json of another command printed
    pub(crate) record: PathBuf,
    /// Print the report as HTML
    #[arg(long, conflicts_with_all = ["csv", "svg"])]
    pub(crate) html: bool,
    /// Print every result as CSV
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
    if let Some((document, page)) = documents::page_of(&bytes).with_context(|| cannot_use(&file))? {
        anyhow::ensure!(
            figure.is_none(),
            "{} has no figures of its own; --svg is for records",
            file.display()
        );
        output::print(&document_text(arguments, global, &document, &page)?)?;
        return Ok(Outcome::Done);
    }
    let mut record = record::decode(&bytes).with_context(|| cannot_use(&file))?;
    // The file stays as it is; what is shown of it must hold together by what is known today.
    diagnosis::judge(&mut record);
    let text = if let Some(figure) = figure {
        report::figure_svg(&record, record_page::socket_account(&record).as_ref(), figure)
            .with_context(|| format!("the record has no data for the figure {}", figure.name()))?
    } else if arguments.html {
        record_page::page(&record, &arguments.record).html()
    } else if arguments.csv {
        forms::tables(&report::results_page(&record))
    } else {
        let page = record_page::page(&record, &arguments.record);
        arguments.words.text(&page, &without_raw(record.clone()), global)?
    };
    output::print(&text)?;
    Ok(record_page::verdict(&record, global))
}

fn cannot_use(file: &Path) -> String {
    format!("cannot use {}", file.display())
}

/// A document that is no record, in the form asked for.
fn document_text(
    arguments: &ShowArguments,
    global: &Global,
    document: &Value,
    page: &Page,
) -> anyhow::Result<String> {
    if arguments.html {
        return Ok(page.html());
    }
    if arguments.csv {
        return Ok(forms::tables(page));
    }
    arguments.words.text(page, document, global)
}

fn figure_named(name: &str) -> anyhow::Result<Figure> {
    Figure::from_name(name).with_context(|| {
        let names: Vec<&str> = Figure::ALL.iter().map(|figure| figure.name()).collect();
        let hint = machine::did_you_mean(name, names.iter().copied());
        format!("{name} is not a figure; {hint}choose among {}", names.join(", "))
    })
}
