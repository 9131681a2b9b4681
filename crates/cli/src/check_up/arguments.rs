//! What `sidestep run` takes on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use fleet::node::NodeName;
use machine::{Bytes, CpuSet};
use probes::fault_injection;
use record::Planted;

use crate::forms::Words;
use crate::options::parse_budget;

const HEADING: &str = "For a fleet";
/// Names of jobs are shorter.
pub(super) const WORD_LETTERS_MAX: usize = 100;

/// Options of the check-up.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArguments {
    /// Take at most 20 seconds
    #[arg(long, conflicts_with_all = ["full", "budget"])]
    pub(crate) quick: bool,
    /// Measure everything: all kernels, larger blocks, several minutes
    #[arg(long)]
    pub(crate) full: bool,
    /// Take at most this long, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    pub(crate) budget: Option<Duration>,
    /// Only these sections or probes, such as memory,cores or surface
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Only these CPUs, such as 0-3,8
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,
    /// Write record.json and report.html here instead of ./sidestep-<UTC time>
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// Compress the record (record.json.zst)
    #[arg(long)]
    pub(crate) zstd: bool,
    /// Keep the host name in the record; it is left out otherwise
    #[arg(long)]
    pub(crate) host_name: bool,
    /// Keep the whole command line of the kernel in the record; values that may name a disk, host or password are left out
    /// otherwise
    #[arg(long)]
    pub(crate) full_command_line: bool,
    /// Fix all random choices
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Measure in so many fresh processes, one after the other, within the same time; 1 measures in this one
    #[arg(long, value_name = "NUMBER", default_value_t = EPOCHS, value_parser = clap::value_parser!(u8).range(1..=9))]
    pub(crate) epochs: u8,
    /// Print what would be measured, in which time, and stop
    #[arg(long, conflicts_with = "record")]
    pub(crate) plan: bool,
    /// Be one epoch of a check-up, with the task on standard input, and hand back the record in these descriptors
    #[arg(long, hide = true, requires = "parent")]
    pub(crate) epoch: bool,
    /// The process that started this epoch
    #[arg(long, value_name = "PID", hide = true, requires = "epoch")]
    pub(crate) parent: Option<u32>,
    /// Plant a difference, to see whether it is found: windows of the raw series that hold this text come out longer by the
    /// factor; class:NAME is for a class of them. The record says so, and does not enter the history
    #[arg(long, value_name = "ROW=FACTOR", hide = true, value_parser = parse_planted)]
    pub(crate) inject: Vec<Planted>,
    #[command(flatten)]
    pub(crate) again: RepeatArguments,
    #[command(flatten)]
    pub(crate) dropping: DropArguments,
    #[command(flatten)]
    pub(crate) words: Words,
    /// What counts as free memory at most; only other commands set it.
    #[arg(skip)]
    pub(crate) free_memory_max: Option<Bytes>,
}

/// Epochs of a check-up where nothing else is said.
const EPOCHS: u8 = probes::plan::EPOCHS as u8;

/// How often, and when.
#[derive(Debug, Clone, Args)]
pub(crate) struct RepeatArguments {
    /// Run so many check-ups one after the other, each with a record of its own, and show the spread between them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) repeat: Option<u32>,
    /// With --repeat: time from the beginning of one check-up to that of the next, such as 10m
    #[arg(long, value_name = "TIME", value_parser = parse_budget, requires = "repeat")]
    pub(crate) every: Option<Duration>,
    /// Leave this run out of the history
    #[arg(long)]
    pub(crate) no_history: bool,
}

/// Options of a check-up that is one of many.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DropArguments {
    /// Write one compressed record to this directory, which is there and nodes share, below a folder of the node, and print one line; no
    /// report, no history
    #[arg(help_heading = HEADING, long, value_name = "DIR", conflicts_with_all = ["record", "repeat"])]
    pub(crate) drop: Option<PathBuf>,
    /// Name of this node; else SLURMD_NODENAME or NODE_NAME, or the host name with --host-name
    #[arg(help_heading = HEADING, long, value_name = "NAME", requires = "drop", value_parser = NodeName::parse)]
    pub(crate) node: Option<NodeName>,
    /// The experiment that this run is a part of; without it, it is an ordinary check-up
    #[arg(help_heading = HEADING, long, value_name = "NAME", requires = "drop", value_parser = parse_word)]
    pub(crate) experiment: Option<String>,
    /// The arm of the experiment that this node was given
    #[arg(help_heading = HEADING, long, value_name = "NAME", requires = "experiment", value_parser = parse_word)]
    pub(crate) arm: Option<String>,
}

/// Names of experiments and arms become values of rows, and of lines that a shell reads.
fn parse_word(text: &str) -> Result<String, String> {
    let is_taken = |letter: char| letter.is_ascii_alphanumeric() || "-_.:".contains(letter);
    let is_word = !text.is_empty() && text.len() <= WORD_LETTERS_MAX && text.chars().all(is_taken);
    is_word.then(|| text.to_owned()).ok_or_else(|| "give letters, digits, '-', '_', '.' and ':'".to_owned())
}

/// Reads `order Random=1.05` or `class:stream=0.5`.
fn parse_planted(text: &str) -> Result<Planted, String> {
    let (row, factor) = text.rsplit_once('=').ok_or("give a row and a factor, such as class:stream=1.05")?;
    let factor = factor.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 0.0);
    let factor = factor.ok_or("the factor is a number above 0")?;
    if let Some(class) = row.strip_prefix(fault_injection::CLASS) {
        let names = fault_injection::classes;
        if !names().any(|name| name == class) {
            return Err(format!("no class {class}; there are {}", names().collect::<Vec<_>>().join(", ")));
        }
    }
    if row.is_empty() {
        return Err("name a row".to_owned());
    }
    Ok(Planted { row: row.to_owned(), factor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_experiments_and_arms_are_plain_words() {
        assert_eq!(parse_word("confirm-2026:1.a_b").as_deref(), Ok("confirm-2026:1.a_b"));
        for text in ["", "a b", "$(x)", "a'b", "<b>", "ä", &"a".repeat(101)] {
            assert!(parse_word(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_planted_is_a_row_or_a_class_and_a_factor() {
        let planted = parse_planted("latency, a=b=1.05").expect("a row with a sign in it");
        assert_eq!((planted.row.as_str(), planted.factor.to_bits()), ("latency, a=b", 1.05_f64.to_bits()));
        assert!(parse_planted("class:stream=0.5").is_ok());
        for text in ["", "x", "=2", "x=0", "x=-1", "x=nan", "x=inf", "class:steam=2"] {
            assert!(parse_planted(text).is_err(), "{text}");
        }
    }
}
