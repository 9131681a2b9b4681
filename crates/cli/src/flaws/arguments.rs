//! What `sidestep flaws` takes on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::forms::Forms;

const AFTER_HELP: &str = "\
States: not affected, protected, on request (programs that ask for it: the kernel's default for some), partly, not protected, \
unknown.

Exit codes: 0 whatever is found; 1 with --gate, if the kernel calls the machine vulnerable, if sources disagree and one says \
not protected, or if CPUs differ; with --expect, if something got worse; with --gate --strict, also if a flaw is on request; 2 \
bad use; 3 with --strict, if a flaw is on request or unknown.";

/// Options of `flaws`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = AFTER_HELP)]
pub(crate) struct FlawArguments {
    #[command(subcommand)]
    pub(crate) command: Option<FlawCommand>,
    #[command(flatten)]
    pub(crate) judged: JudgedArguments,
    /// Say what got worse against this norm, a record or the JSON of this command; --gate then fails on nothing else
    #[arg(long, value_name = "FILE", conflicts_with = "lscpu")]
    pub(crate) expect: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) forms: Forms,
}

/// Which machine is judged, and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct JudgedArguments {
    /// Judge a recorded machine: a directory or tarball with proc/ and sys/
    #[arg(long, value_name = "DIR|TARBALL")]
    pub(crate) sysroot: Option<PathBuf>,
    /// Judge a CPUID dump: a directory or tarball with pu0, pu1, ...
    #[arg(long, value_name = "DIR|TARBALL")]
    pub(crate) cpuid: Option<PathBuf>,
    /// Judge reports of lscpu instead: files, folders, tarballs of them, or - for standard input
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with_all = ["sysroot", "cpuid"])]
    pub(crate) lscpu: Vec<PathBuf>,
    /// Ask only the kernel and the registers, and measure nothing
    #[arg(long)]
    pub(crate) no_timing: bool,
    /// Also measure what disturbs the whole machine: at most 200 split locks, in a process of their own
    #[arg(long, conflicts_with = "no_timing")]
    pub(crate) disruptive: bool,
    /// Also list the flaws that do not concern the machine
    #[arg(long)]
    pub(crate) all: bool,
}

/// What else can be asked of the catalogue.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum FlawCommand {
    /// The catalogue, or the entries in which every word occurs
    List {
        /// Words: part of a CVE, an erratum number, a name
        words: Vec<String>,
        #[command(flatten)]
        forms: Forms,
    },
    /// One flaw: what it is, what this machine says of it, what can be done
    Show {
        /// Its id, a CVE or another of its names
        name: String,
        #[command(flatten)]
        judged: JudgedArguments,
        #[command(flatten)]
        forms: Forms,
    },
}
