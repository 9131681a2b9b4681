//! Which workloads are meant: all, a suite, some by name, files of the user's own.

use std::fs;

use anyhow::Context;
use clap::Args;
use workloads::{Suite, Workload};

/// Options that choose workloads.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Selection {
    /// All workloads of this suite: article, server, desktop, hpc or kernel
    #[arg(long, value_name = "SUITE", value_parser = parse_suite)]
    suite: Option<Suite>,
}

impl Selection {
    /// The workloads of the options and of `names`, ids or files; all of them where nothing is named.
    ///
    /// # Errors
    /// A name or file that is no workload.
    pub(crate) fn workloads(&self, names: &[String]) -> anyhow::Result<Vec<Workload>> {
        let named = self.named(names)?;
        Ok(if named.is_empty() { workloads::all().to_vec() } else { named })
    }

    /// The same; none where nothing is named.
    ///
    /// # Errors
    /// A name or file that is no workload.
    pub(crate) fn named(&self, names: &[String]) -> anyhow::Result<Vec<Workload>> {
        let mut chosen = Vec::new();
        for name in names {
            chosen.push(if name.contains(['/', '.']) { file(name)? } else { built_in(name)? });
        }
        if let Some(suite) = self.suite {
            chosen.extend(workloads::suite(suite).into_iter().cloned());
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
