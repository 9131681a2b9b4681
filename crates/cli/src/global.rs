//! What holds for every command.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Above the options of a result's form in the help.
pub(crate) const OUTPUT: &str = "Output";

/// What holds for every command.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Global {
    /// Print one JSON document on stdout instead of text
    #[arg(help_heading = OUTPUT, long, global = true)]
    pub(crate) json: bool,
    /// Print nothing but errors (and the JSON document, with --json)
    #[arg(help_heading = OUTPUT, long, short, global = true)]
    pub(crate) quiet: bool,
    /// When to use colours; NO_COLOR and TERM=dumb count too
    #[arg(help_heading = OUTPUT, long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Colour,
    /// `--gate`, on a command that judges; `compare` has its own, with a percentage
    #[arg(skip)]
    pub(crate) gate: bool,
    /// `--strict`, on a command whose judgement may be open
    #[arg(skip)]
    pub(crate) strict: bool,
    /// The file of `--html`, on a command that has a page
    #[arg(skip)]
    pub(crate) page_file: Option<PathBuf>,
}

impl Global {
    /// Before minutes of measuring: what cannot be written is refused at once.
    ///
    /// # Errors
    /// A file of `--html` that is there already.
    pub(crate) fn ensure_new_page(&self) -> anyhow::Result<()> {
        match self.page_file.as_ref().filter(|path| path.exists()) {
            Some(path) => {
                anyhow::bail!("{} is there already; choose another name with --html FILE", path.display())
            }
            None => Ok(()),
        }
    }
}

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
