//! `sidestep show`: a record or another saved document again, as summary, report, table or figure.

mod documents;

use std::path::Path;

use anyhow::Context;
use record::Record;
use report::{Figure, Page};
use serde_json::Value;

use crate::arguments::{Global, ShowArguments};
use crate::outcome::Outcome;
use crate::{check_up, forms, output, store};

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
        report::figure_svg(&record, check_up::socket_account(&record).as_ref(), figure)
            .with_context(|| format!("the record has no data for the figure {}", figure.name()))?
    } else if arguments.html {
        check_up::page(&record, &arguments.record).html()
    } else if arguments.csv {
        forms::tables(&report::results_page(&record))
    } else {
        let page = check_up::page(&record, &arguments.record);
        arguments.words.text(&page, &without_raw(record.clone()), global)?
    };
    output::print(&text)?;
    Ok(check_up::verdict(&record, global))
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

/// The record as it is printed: all but the raw windows.
pub(crate) fn without_raw(record: Record) -> Record {
    Record { raw: Vec::new(), ..record }
}
