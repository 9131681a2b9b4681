//! Which workloads are meant: all, a suite, some by name, files of the user's own, installed Phoronix profiles.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use workloads::{Suite, Workload};

use super::profile;

/// Options that choose workloads.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Selection {
    /// All workloads of this suite: article, server, desktop, hpc or kernel
    #[arg(long, value_name = "SUITE", value_parser = parse_suite)]
    suite: Option<Suite>,
    /// An installed profile of the Phoronix Test Suite: its folder, such as
    /// ~/.phoronix-test-suite/installed-tests/pts/NAME-VERSION
    #[arg(long, value_name = "DIR")]
    pts: Vec<PathBuf>,
    /// With --pts: an entry of an option of the profile, by their names; its default otherwise
    #[arg(long, value_name = "OPTION=ENTRY", requires = "pts", value_parser = parse_choice)]
    choose: Vec<(String, String)>,
}

impl Selection {
    /// The workloads of the options and of `names`, ids or files; all of them where nothing is named.
    ///
    /// # Errors
    /// A name, file or folder that is no workload.
    pub(crate) fn workloads(&self, names: &[String]) -> anyhow::Result<Vec<Workload>> {
        let named = self.named(names)?;
        Ok(if named.is_empty() { workloads::all().to_vec() } else { named })
    }

    /// The same; none where nothing is named.
    ///
    /// # Errors
    /// A name, file or folder that is no workload.
    pub(crate) fn named(&self, names: &[String]) -> anyhow::Result<Vec<Workload>> {
        let mut chosen = Vec::new();
        for name in names {
            chosen.push(if name.contains(['/', '.']) { file(name)? } else { built_in(name)? });
        }
        if let Some(suite) = self.suite {
            chosen.extend(workloads::suite(suite).into_iter().cloned());
        }
        for folder in &self.pts {
            chosen.push(profile::installed(folder, &self.choose)?);
        }
        Ok(chosen)
    }
}

fn built_in(name: &str) -> anyhow::Result<Workload> {
    Ok(workloads::find(name)?.clone())
}

fn file(name: &str) -> anyhow::Result<Workload> {
    let text = fs::read_to_string(name).with_context(|| format!("cannot read the workload {name}"))?;
    Ok(workloads::read(name, &text)?)
}

fn parse_suite(text: &str) -> Result<Suite, String> {
    let names = Suite::ALL.map(Suite::name);
    Suite::ALL
        .into_iter()
        .find(|suite| suite.name() == text)
        .ok_or_else(|| format!("there are {}", names.join(", ")))
}

fn parse_choice(text: &str) -> Result<(String, String), String> {
    let (option, entry) = text.split_once('=').ok_or("give an option and its entry, such as Size=Small")?;
    Ok((option.to_owned(), entry.to_owned()))
}
