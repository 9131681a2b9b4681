//! A machine of the lab as its file says it: what QEMU is to be, which kernel boots, what is run in it, and what must come out.
//!
//! Every field is described in lab/README.md. What QEMU would refuse late and in other words is refused here, with the file's name.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;

use crate::cargo;

/// One machine: `lab/machines/NAME.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The file's name without its ending.
    #[serde(skip)]
    pub name: String,
    /// What the machine is, in the words of its vendor.
    pub title: String,
    /// Which article, report or question it stands for.
    pub why: String,
    /// 1: QEMU as packaged; 2: with the plugin for counters and registers; 3: with modelled cycles as well.
    pub tier: u8,
    /// Part of `cargo xtask test`.
    #[serde(default)]
    pub in_tests: bool,
    /// A guest that has not powered off by then hangs, s.
    pub time_limit_s: u64,
    /// As QEMU calls it: `x86_64`, `aarch64`.
    #[serde(default = "x86_64")]
    pub architecture: String,
    /// What boots.
    pub kernel: Kernel,
    /// What firmware calls the board; without it the emulator shows its own names.
    pub board: Option<Board>,
    /// What QEMU emulates.
    pub qemu: Qemu,
    /// Nodes of memory; without it the machine is one.
    pub numa: Option<Numa>,
    /// For the plugin.
    pub silicon: Option<Silicon>,
    /// Programs of this host that the guest gets, with their libraries.
    #[serde(default)]
    pub programs: Vec<String>,
    /// What is run, in this order.
    pub step: Vec<Step>,
}

/// A kernel by the distribution's own name for its newest one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Release of Debian, such as `bookworm-backports`.
    pub suite: String,
    /// Meta package.
    pub package: String,
    /// Appended to the command line.
    #[serde(default)]
    pub boot_words: String,
    /// Loaded before the first step, in this order.
    #[serde(default)]
    pub modules: Vec<String>,
}

/// What SMBIOS and ACPI call the board.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Maker of system, board and chassis.
    pub vendor: String,
    /// Name of system and board.
    pub product: String,
    /// Maker of the BIOS.
    pub bios_vendor: String,
    /// Version of the BIOS.
    pub bios_version: String,
    /// Date of the BIOS, as SMBIOS has it: month/day/year.
    pub bios_date: String,
}

/// Arguments of QEMU.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Qemu {
    /// `-machine`.
    pub machine: String,
    /// `-cpu`.
    pub cpu: String,
    /// `-smp`.
    pub smp: String,
    /// `-m`, MiB; with nodes their sum.
    pub memory_mib: Option<u32>,
    /// Emulates all CPUs in one thread: faster with more than four.
    #[serde(default)]
    pub one_thread: bool,
    /// Boots alone: its CPUs have to run at the same time.
    #[serde(default)]
    pub whole_host: bool,
    /// `-smbios`, each one.
    #[serde(default)]
    pub smbios: Vec<String>,
    /// Anything more.
    #[serde(default)]
    pub arguments: Vec<String>,
}

/// Nodes, their distances, and latencies by HMAT.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numa {
    /// One per node.
    pub nodes: Vec<Node>,
    /// A row per node; ACPI, SLIT.
    #[serde(default)]
    pub distances: Vec<Vec<u32>>,
    /// ns from each node with CPUs to each node; needs `hmat=on` of the machine.
    #[serde(default)]
    pub hmat_ns: Vec<Vec<u32>>,
}

/// One node.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// CPUs as a range; without it the node is memory alone.
    pub cpus: Option<String>,
    /// Memory, MiB; 0 is a node without memory.
    pub mib: u32,
}

/// What the plugin is to do.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Silicon {
    /// Lines of its configuration; lab/silicon/README.md.
    pub lines: String,
}

/// A piece of work in the guest.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// One word.
    pub name: String,
    /// Lines of the shell.
    pub run: String,
    /// Exit codes that are right.
    #[serde(default = "zero")]
    pub codes: Vec<i32>,
    /// What its output must say.
    #[serde(default)]
    pub expect: Vec<Expectation>,
}

/// One statement that must hold.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// What is stated, for the table.
    pub what: String,
    /// Place in the document that the step prints; without it the text of the step.
    pub path: Option<String>,
    /// The very value.
    pub equals: Option<toml::Value>,
    /// Part of the text.
    pub contains: Option<String>,
    /// No part of the text.
    pub lacks: Option<String>,
    /// A regular expression that the text has somewhere.
    pub matches: Option<String>,
    /// Least number.
    pub at_least: Option<f64>,
    /// Greatest number.
    pub at_most: Option<f64>,
    /// There is nothing at the place, or null.
    #[serde(default)]
    pub absent: bool,
    /// Who says so: never sidestep itself.
    pub source: String,
}

fn x86_64() -> String {
    "x86_64".to_owned()
}

fn zero() -> Vec<i32> {
    vec![0]
}

/// Where the machines lie.
pub fn folder() -> PathBuf {
    cargo::root().join("lab/machines")
}

/// The machines named, or all, in the order of their files.
///
/// # Errors
/// A name without a file, or a file that is no machine.
pub fn load(folder: &Path, names: &[String]) -> anyhow::Result<Vec<Machine>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let files = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut known: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    known.sort();
    if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
        anyhow::bail!("no machine {unknown} in lab/machines; known: {}", known.join(", "));
    }
    let chosen = known.iter().filter(|name| names.is_empty() || names.contains(name));
    chosen.map(|name| read(&folder.join(format!("{name}.toml")), name)).collect()
}

fn read(file: &Path, name: &str) -> anyhow::Result<Machine> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    Machine::parse(name, &text).with_context(|| format!("lab/machines/{name}.toml"))
}

impl Machine {
    /// The machine that `text` describes.
    ///
    /// # Errors
    /// What is wrong and where, in one line.
    pub fn parse(name: &str, text: &str) -> anyhow::Result<Self> {
        let mut machine: Self = toml::from_str(text).map_err(|error| {
            let line = |start: usize| text[..start].matches('\n').count() + 1;
            let place = error.span().map(|span| format!("line {}: ", line(span.start))).unwrap_or_default();
            anyhow::anyhow!("{place}{}", error.message())
        })?;
        name.clone_into(&mut machine.name);
        machine.check()?;
        Ok(machine)
    }

    /// CPUs that the machine has: the first number of `-smp`.
    pub fn cpus(&self) -> u32 {
        self.qemu.smp.split(',').next().and_then(|count| count.parse().ok()).unwrap_or(1)
    }

    /// Memory, MiB.
    pub fn memory_mib(&self) -> u32 {
        let of_nodes = self.numa.iter().flat_map(|numa| &numa.nodes).map(|node| node.mib).sum();
        self.qemu.memory_mib.unwrap_or(of_nodes)
    }

    fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!((1..=3).contains(&self.tier), "tier {}: 1, 2 or 3", self.tier);
        anyhow::ensure!(self.time_limit_s > 0, "time_limit_s is 0");
        anyhow::ensure!(self.memory_mib() > 0, "give qemu.memory_mib, or nodes with mib");
        anyhow::ensure!(
            self.silicon.is_some() == (self.tier > 1),
            "tier {} and [silicon] do not fit: tiers 2 and 3 have one, tier 1 has none",
            self.tier
        );
        self.numa.as_ref().map_or(Ok(()), Numa::check)?;
        anyhow::ensure!(!self.step.is_empty(), "no [[step]]: nothing would be run");
        for (index, step) in self.step.iter().enumerate() {
            let is_word = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
            let is_named = !step.name.is_empty() && step.name.chars().all(is_word);
            anyhow::ensure!(is_named, "step {:?}: its name is one word of letters, digits and -", step.name);
            let is_new = self.step[..index].iter().all(|other| other.name != step.name);
            anyhow::ensure!(is_new, "two steps are called {}", step.name);
            for expected in &step.expect {
                expected.check().with_context(|| format!("step {}: {:?}", step.name, expected.what))?;
            }
        }
        Ok(())
    }
}

impl Numa {
    fn check(&self) -> anyhow::Result<()> {
        let count = self.nodes.len();
        for (name, table, rows) in [
            ("distances", &self.distances, count),
            ("hmat_ns", &self.hmat_ns, self.nodes.iter().filter(|node| node.cpus.is_some()).count()),
        ] {
            let is_whole = table.len() == rows && table.iter().all(|row| row.len() == count);
            anyhow::ensure!(
                table.is_empty() || is_whole,
                "numa.{name} is no table of {rows} rows with {count} numbers each"
            );
        }
        Ok(())
    }
}

impl Expectation {
    fn check(&self) -> anyhow::Result<()> {
        let relations = [
            self.equals.is_some(),
            self.contains.is_some(),
            self.lacks.is_some(),
            self.matches.is_some(),
            self.at_least.is_some() || self.at_most.is_some(),
            self.absent,
        ];
        let count = relations.iter().filter(|given| **given).count();
        anyhow::ensure!(
            count == 1,
            "{count} relations; give one of equals, contains, lacks, matches, at_least and at_most, absent"
        );
        anyhow::ensure!(!self.source.trim().is_empty(), "source is empty: say who says so");
        let is_path = self.path.as_ref().is_none_or(|path| path.starts_with('/'));
        anyhow::ensure!(is_path, "path {:?} does not begin with /", self.path);
        let needs_path = self.equals.is_some() || self.absent;
        anyhow::ensure!(self.path.is_some() || !needs_path, "equals and absent need a path");
        if let Some(pattern) = &self.matches {
            regex::Regex::new(pattern).map_err(|error| {
                // The last of its lines says what is wrong; those before draw where.
                let why = error.to_string().lines().last().unwrap_or_default().to_owned();
                anyhow::anyhow!("matches {pattern:?} is no regular expression: {why}")
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A machine that is right, for tests of the lab.
    pub(crate) const SMALL: &str = r#"
title = "a"
why = "b"
tier = 1
time_limit_s = 60
[kernel]
suite = "bookworm"
package = "linux-image-cloud-amd64"
[qemu]
machine = "pc"
cpu = "phenom"
smp = "2,sockets=1"
memory_mib = 512
[[step]]
name = "machine"
run = "sidestep machine --json"
[[step.expect]]
what = "family"
path = "/identity/family"
equals = 16
source = "AMD 41322"
"#;

    #[test]
    fn a_half_written_machine_is_refused_in_one_line() {
        let machine = Machine::parse("a", SMALL).expect("it is right");
        assert_eq!(
            (machine.cpus(), machine.memory_mib(), machine.step[0].codes.as_slice()),
            (2, 512, &[0][..])
        );
        for (from, to, says) in [
            ("tier = 1", "tier = 4", "tier 4: 1, 2 or 3"),
            ("tier = 1", "tier = 2", "tier 2 and [silicon] do not fit"),
            ("tier = 1\n", "", "missing field `tier`"),
            ("why = \"b\"", "why = \"b\"\nwho = \"c\"", "line 4: unknown field `who`"),
            ("memory_mib = 512", "", "give qemu.memory_mib"),
            ("equals = 16", "", "0 relations"),
            ("equals = 16", "equals = 16\ncontains = \"x\"", "2 relations"),
            ("equals = 16", "matches = \"(\"", "matches \"(\""),
            ("path = \"/identity/family\"", "path = \"identity\"", "does not begin with /"),
            ("path = \"/identity/family\"\n", "", "need a path"),
            ("source = \"AMD 41322\"", "source = \"\"", "source is empty"),
            ("name = \"machine\"", "name = \"a b\"", "one word"),
            (
                "[qemu]",
                "[numa]\nnodes = [{mib=1}, {mib=1}]\ndistances = [[10]]\n[qemu]",
                "no table of 2 rows",
            ),
        ] {
            let error = Machine::parse("a", &SMALL.replace(from, to)).expect_err(says);
            let line = format!("{error:#}");
            assert!(line.contains(says) && !line.contains('\n'), "{says}: {line}");
        }
    }

    #[test]
    fn every_machine_of_the_repository_can_be_read() {
        let machines = load(&folder(), &[]).expect("all files are right");
        assert!(machines.iter().filter(|machine| machine.in_tests).all(|machine| machine.tier == 1));
        let error = load(&folder(), &["pdp-11".to_owned()]).expect_err("there is none");
        assert!(error.to_string().starts_with("no machine pdp-11 in lab/machines; known: "), "{error}");
    }
}
