//! The forms in which a command gives its result: terminal, HTML, Markdown, CSV by the page's renderers; JSON is the document itself.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use host::live::write_atomically;
use report::{Carried, Html, Page};
use serde::Serialize;

use crate::arguments::Global;
use crate::output;

/// Above these options in the help.
pub(crate) const HEADING: &str = "Output";

/// Options of every command whose document has a page.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Forms {
    /// Show everything: all rows, the evidence, the details
    #[arg(help_heading = HEADING, long)]
    pub(crate) long: bool,
    /// Also write the page as one HTML file, to a new file
    #[arg(help_heading = HEADING, long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print Markdown, for a ticket or a pull request
    #[arg(help_heading = HEADING, long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Also write each table as a file of CSV into this folder
    #[arg(help_heading = HEADING, long, value_name = "DIR")]
    pub(crate) csv: Option<PathBuf>,
}

impl Forms {
    /// Before minutes of measuring: what cannot be written is refused at once.
    ///
    /// # Errors
    /// A file of --html that is there already.
    pub(crate) fn ensure_writable(&self) -> anyhow::Result<()> {
        if let Some(path) = &self.html {
            let name = path.display();
            anyhow::ensure!(!path.exists(), "{name} is there already; choose another name with --html FILE");
        }
        Ok(())
    }

    /// Writes the files that were asked for, and gives what is to be printed.
    ///
    /// # Errors
    /// A file or folder that cannot be written.
    pub(crate) fn text(
        &self,
        page: &Page,
        document: &impl Serialize,
        file: &'static str,
        global: &Global,
    ) -> anyhow::Result<String> {
        if let Some(path) = &self.html {
            let carried = Carried { document: &serde_json::to_value(document)?, file };
            write_atomically(path, page.html(&carried, Html { script: true }).as_bytes())?;
        }
        if let Some(folder) = &self.csv {
            fs::create_dir_all(folder).with_context(|| {
                format!("cannot make {}; choose another folder with --csv", folder.display())
            })?;
            for (name, table) in page.csv() {
                write_atomically(&folder.join(format!("{name}.csv")), table.as_bytes())?;
            }
        }
        if self.markdown && !global.quiet {
            return Ok(page.markdown());
        }
        output::text(document, global, |terminal| page.terminal(terminal, self.long))
    }
}
