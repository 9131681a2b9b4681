//! `cargo evidence claims`: the table of claims, each run as often as it says and held against the lines that it expects.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::Context;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::Broken;

/// Run the claims of METHODOLOGY: commands, and the lines that they have to print
///
/// They are in evidence/claims.toml. Build the program first: cargo xtask dist --program-alone.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Those of these names; all without
    names: Vec<String>,
    /// List them and end
    #[arg(long)]
    list: bool,
}

const TABLE: &str = include_str!("../claims.toml");

/// The file of claims.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    claim: Vec<Claim>,
}

/// One claim.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    name: String,
    /// The document that makes it.
    page: String,
    /// About, for all of its runs.
    minutes: u32,
    /// What has to be here, which this machine may not have: files and folders from the repository's root, programs.
    #[serde(default)]
    needs: Vec<String>,
    /// Lines of the shell; `$sidestep`, `$xtask` and `$evidence` are programs, `$dir` an empty folder that all runs share.
    command: String,
    #[serde(default = "once")]
    times: u32,
    /// Runs that must be right; all without.
    at_least: Option<u32>,
    /// What a right run prints somewhere, and what it never does: regular expressions.
    expect: Option<String>,
    refuse: Option<String>,
}

fn once() -> u32 {
    1
}

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("evidence lies one folder below the root")
        .to_owned()
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Broken> {
    let mut claims = table().claim;
    if let Some(unknown) = arguments.names.iter().find(|name| claims.iter().all(|claim| claim.name != **name))
    {
        let known: Vec<&str> = claims.iter().map(|claim| claim.name.as_str()).collect();
        anyhow::bail!("no claim is called {unknown}; there are {}", known.join(", "));
    }
    claims.retain(|claim| arguments.names.is_empty() || arguments.names.contains(&claim.name));
    let mut broken = Broken::new();
    for claim in &claims {
        println!("{:<20} {:>4} min  {}", claim.name, claim.minutes, claim.page);
        if !arguments.list {
            broken.extend(hold(claim)?);
        }
    }
    Ok(broken)
}

fn table() -> Table {
    toml::from_str(TABLE).expect("a test reads the table")
}

/// Runs a claim; why it does not hold, if so.
fn hold(claim: &Claim) -> anyhow::Result<Option<String>> {
    if let Some(absent) = claim.needs.iter().find(|name| !is_here(name)) {
        println!("  skipped: no {absent} here");
        return Ok(None);
    }
    let pattern = |text: &Option<String>| text.as_deref().map(of_lines).transpose();
    let (expect, refuse) = (pattern(&claim.expect)?, pattern(&claim.refuse)?);
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let begun = Instant::now();
    let mut right = 0;
    for number in 1..=claim.times {
        let printed = printed(claim, folder.path())?;
        let is_right = expect.as_ref().is_none_or(|expect| expect.is_match(&printed))
            && refuse.as_ref().is_none_or(|refuse| !refuse.is_match(&printed));
        right += u32::from(is_right);
        if claim.times == 1 || !is_right {
            println!(
                "  run {number}{}\n{}",
                if is_right { "" } else { ", not as claimed" },
                printed.trim_end()
            );
        }
    }
    let least = claim.at_least.unwrap_or(claim.times);
    let line = format!("{}: {right} of {} runs as claimed, at least {least}", claim.name, claim.times);
    println!("  {line} ({:.0} s)", begun.elapsed().as_secs_f64());
    Ok(crate::unless(right >= least, line))
}

/// A pattern in which `^` and `$` are the ends of a line.
fn of_lines(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).multi_line(true).build()
}

/// Both streams of one run.
fn printed(claim: &Claim, folder: &Path) -> anyhow::Result<String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let own = std::env::current_exe().context("cannot find this program")?;
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec 2>&1\n{}", claim.command)]).current_dir(root()).env("dir", folder);
    shell
        .env("sidestep", target.join("release/sidestep"))
        .env("xtask", target.join("debug/xtask"))
        .env("evidence", own);
    let done = shell.output().context("cannot start sh")?;
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// A file from the root, or a program of the search path.
fn is_here(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    root().join(name).exists() || std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_claim_names_its_page_and_has_sound_patterns() {
        let table = table();
        let names: BTreeSet<&str> = table.claim.iter().map(|claim| claim.name.as_str()).collect();
        assert_eq!(names.len(), table.claim.len());
        for claim in &table.claim {
            assert!(root().join(&claim.page).is_file(), "{}", claim.page);
            let patterns: Vec<&String> = claim.expect.iter().chain(&claim.refuse).collect();
            assert!(!patterns.is_empty(), "{}", claim.name);
            for pattern in patterns {
                assert!(Regex::new(pattern).is_ok(), "{pattern}");
            }
        }
    }

    #[test]
    fn a_claim_holds_by_how_many_runs_print_its_line() {
        let claim = |command: &str, at_least: u32| {
            let text = format!(
                "name = 'a'\npage = 'b'\nminutes = 1\ncommand = '''{command}'''\ntimes = 3\nat_least = {at_least}\nexpect = '^[12]$'\nrefuse = 'x'"
            );
            toml::from_str::<Claim>(&text).expect("its form is right")
        };
        let counted = "echo . >> $dir/runs; wc -l < $dir/runs";
        assert_eq!(hold(&claim(counted, 2)).unwrap(), None);
        let line = hold(&claim(counted, 3)).unwrap().expect("the third prints 3");
        assert_eq!(line, "a: 2 of 3 runs as claimed, at least 3");
        assert!(hold(&claim("echo 1; echo x >&2", 1)).unwrap().is_some());
    }
}
