//! Quantiles of the windows of many check-ups, by series: what the studies of the spread between runs replay.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use serde::Deserialize;

/// Shares of windows that are the same but for how they were written.
const SAME_SHARE: f64 = 1e-9;

/// Every series of every check-up.
#[derive(Debug, Deserialize)]
pub(crate) struct WindowQuantiles {
    quantiles: Vec<f64>,
    #[serde(default)]
    runs: Vec<Conditions>,
    /// By name of the raw series.
    pub(crate) rows: BTreeMap<String, Series>,
}

/// What else ran during a check-up.
#[derive(Debug, Deserialize)]
struct Conditions {
    others: Option<f64>,
    steal: Option<f64>,
}

/// One series: by check-up, then by quantile.
#[derive(Debug, Deserialize)]
pub(crate) struct Series {
    q: Vec<Vec<f64>>,
}

impl WindowQuantiles {
    /// Reads a file of JSON packed by gzip.
    ///
    /// # Errors
    /// No gzip here, or no such file.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let output =
            Command::new("gzip").arg("-dc").arg(path).output().context("cannot run gzip; install it")?;
        ensure!(output.status.success(), "cannot unpack {}", path.display());
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{} holds no quantiles of check-ups", path.display()))
    }

    /// Shares of CPU time that others used and that was stolen, check-up by check-up.
    pub(crate) fn shares(&self) -> Vec<[Option<f64>; 2]> {
        self.runs.iter().map(|run| [run.others, run.steal]).collect()
    }

    /// The place of a quantile in every series; `None` if the file lacks it.
    pub(crate) fn place_of(&self, share: f64) -> Option<usize> {
        self.quantiles.iter().position(|quantile| (quantile - share).abs() < SAME_SHARE)
    }
}

impl Series {
    /// The quantile at a place, check-up by check-up; `None` if one lacks it.
    pub(crate) fn at(&self, place: usize) -> Option<Vec<f64>> {
        self.q.iter().map(|of| of.get(place).copied()).collect()
    }
}

#[cfg(test)]
impl WindowQuantiles {
    /// Six check-ups alike.
    pub(crate) fn alike(quantiles: &[f64], rows: &[(&str, &[f64])]) -> Self {
        let series = |q: &[f64]| Series { q: vec![q.to_vec(); 6] };
        let rows = rows.iter().map(|(name, q)| ((*name).to_owned(), series(q))).collect();
        Self { quantiles: quantiles.to_vec(), runs: Vec::new(), rows }
    }
}
