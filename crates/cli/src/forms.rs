//! The forms in which a command gives its result: terminal, HTML, Markdown, CSV by the page's renderers; JSON is the document itself.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::{ArgMatches, Args};
use host::live::{make_folders, write_atomically};
use report::Page;

use crate::options::{Global, OUTPUT};
use crate::output::{self, Document};

/// In place of a folder: the tables go to stdout, one below the other.
const STDOUT: &str = "-";

/// Options of every command that prints a page.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Words {
    /// Show everything: all rows, the evidence, the details
    #[arg(help_heading = OUTPUT, long)]
    pub(crate) long: bool,
    /// Print Markdown, for a ticket or a pull request
    #[arg(help_heading = OUTPUT, long, conflicts_with = "json")]
    pub(crate) markdown: bool,
}

impl Words {
    /// What is to be printed: words, or the document for --json.
    ///
    /// # Errors
    /// A document that is no JSON.
    pub(crate) fn text(
        &self,
        page: &Page,
        document: &dyn Document,
        global: &Global,
    ) -> anyhow::Result<String> {
        if self.markdown && !global.quiet {
            return Ok(page.markdown(self.long));
        }
        output::text(document, global, &|terminal| page.terminal(terminal, self.long))
    }

    /// Prints that.
    ///
    /// # Errors
    /// As for `text`, or stdout takes no more.
    pub(crate) fn print(&self, page: &Page, document: &dyn Document, global: &Global) -> anyhow::Result<()> {
        output::print(&self.text(page, document, global)?)
    }
}

/// Options of every command whose document has a page and no files of its own.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Forms {
    #[command(flatten)]
    pub(crate) words: Words,
    /// Also write the page as one HTML file, to a new file
    #[arg(help_heading = OUTPUT, long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print the tables as CSV with all digits; with =DIR write each as a file into this folder instead
    #[arg(
        help_heading = OUTPUT,
        long,
        value_name = "DIR",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = STDOUT,
        conflicts_with_all = ["json", "markdown"]
    )]
    pub(crate) csv: Option<PathBuf>,
}

/// The path of --html or --csv, whichever command it was given to.
pub(crate) fn path_of(option: &str, matches: &ArgMatches) -> Option<PathBuf> {
    let own = matches.try_get_one::<PathBuf>(option).ok().flatten().cloned();
    own.or_else(|| path_of(option, matches.subcommand()?.1)).filter(|path| path != Path::new(STDOUT))
}

impl Forms {
    /// The same for whoever goes to another folder before it writes.
    ///
    /// # Errors
    /// The current folder is unknown.
    pub(crate) fn absolute(self) -> anyhow::Result<Self> {
        let html = self.html.map(std::path::absolute).transpose()?;
        let csv =
            self.csv.map(|path| if path == Path::new(STDOUT) { Ok(path) } else { std::path::absolute(path) });
        Ok(Self { html, csv: csv.transpose()?, ..self })
    }

    /// The same with what was asked for before; of what stdout takes, what is asked for now counts.
    pub(crate) fn or(self, global: &mut Global, before: Self, then: &Global) -> Self {
        let is_asked = global.json || self.words.markdown || self.prints_csv();
        global.json |= then.json && !is_asked;
        let markdown = self.words.markdown || (before.words.markdown && !is_asked);
        let csv = before.csv.filter(|path| !is_asked || path != Path::new(STDOUT));
        let words = Words { long: self.words.long || before.words.long, markdown };
        Self { words, html: self.html.or(before.html), csv: self.csv.or(csv) }
    }

    /// Writes the files that were asked for, and gives what is to be printed.
    ///
    /// # Errors
    /// A file or folder that cannot be written.
    pub(crate) fn text(
        &self,
        page: &Page,
        document: &dyn Document,
        global: &Global,
    ) -> anyhow::Result<String> {
        self.write_files(page)?;
        self.printed(page, document, global)
    }

    /// The same, and prints it.
    ///
    /// # Errors
    /// As for `text`, or stdout takes no more.
    pub(crate) fn print(&self, page: &Page, document: &dyn Document, global: &Global) -> anyhow::Result<()> {
        output::print(&self.text(page, document, global)?)
    }

    /// Writes the page and the tables that were asked for.
    ///
    /// # Errors
    /// A file or folder that cannot be written.
    pub(crate) fn write_files(&self, page: &Page) -> anyhow::Result<()> {
        let tables = if self.csv.is_some() { page.csv() } else { Vec::new() };
        ensure!(self.csv.is_none() || !tables.is_empty(), "there is no table here; leave out --csv");
        if let Some(path) = &self.html {
            write_atomically(path, page.html().as_bytes())?;
        }
        if let Some(folder) = self.csv.as_deref().filter(|_| !self.prints_csv()) {
            make_folders(folder)?;
            for (name, table) in tables {
                write_atomically(&folder.join(format!("{name}.csv")), table.as_bytes())?;
            }
        }
        Ok(())
    }

    fn prints_csv(&self) -> bool {
        self.csv.as_deref() == Some(Path::new(STDOUT))
    }

    /// What is to be printed, in the form asked for.
    ///
    /// # Errors
    /// A document that is none.
    pub(crate) fn printed(
        &self,
        page: &Page,
        document: &dyn Document,
        global: &Global,
    ) -> anyhow::Result<String> {
        if self.prints_csv() && !global.json && !global.quiet {
            return Ok(tables(page));
        }
        self.words.text(page, document, global)
    }
}

/// All tables of a page as CSV, one below the other.
pub(crate) fn tables(page: &Page) -> String {
    let tables: Vec<String> = page.csv().into_iter().map(|(_, table)| table).collect();
    tables.join("\n")
}
