//! What holds for every command.

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
