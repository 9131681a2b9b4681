//! The tables that the SQL of a check prints, each below a line with its name.

use std::io::{self, BufRead};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use stats::Deviations;

/// Why tables cannot be read: only another program than DuckDB, or another script, prints such.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// They ended, or could not be read.
    #[error("the tables of DuckDB cannot be read: {0}")]
    Read(#[from] io::Error),
    /// A line is no row.
    #[error("DuckDB printed {line:?} in table {table}")]
    Row {
        /// The table.
        table: String,
        /// The line.
        line: String,
    },
    /// They end before the last table.
    #[error("DuckDB stopped in table {0}")]
    Unfinished(String),
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Stratum {
    pub(super) cpu_model: String,
    pub(super) preset: String,
    pub(super) kernel_set_version: u32,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Node {
    pub(super) stratum: usize,
    #[serde(rename = "node")]
    pub(super) name: String,
    pub(super) run_id: String,
    pub(super) started_utc: String,
    pub(super) runs: usize,
    pub(super) is_two_machines: bool,
    pub(super) is_busy: bool,
    pub(super) is_guest: bool,
    pub(super) others_share: Option<f64>,
    pub(super) steal_share: Option<f64>,
    pub(super) is_partial: bool,
    pub(super) rack: Option<String>,
    pub(super) chassis: Option<String>,
    pub(super) slot: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Metric {
    pub(super) stratum: usize,
    pub(super) key: String,
    pub(super) family: String,
    pub(super) socket: Option<i64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Level {
    pub(super) stratum: usize,
    pub(super) factor: String,
    #[serde(rename = "level")]
    pub(super) name: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Minority {
    pub(super) stratum: usize,
    pub(super) kind: String,
    pub(super) id: String,
    pub(super) state: String,
    pub(super) usual: String,
    pub(super) nodes: usize,
    pub(super) of_nodes: usize,
    pub(super) rate_ppb: Option<f64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Repeat {
    pub(super) experiment: String,
    pub(super) arm: Option<String>,
    pub(super) node: String,
    pub(super) run_id: String,
    pub(super) key: String,
    pub(super) y: f64,
}

#[derive(Deserialize)]
struct Missing {
    node: String,
}

/// All tables.
#[derive(Debug, Default)]
pub struct Tables {
    pub(super) strata: Vec<Stratum>,
    pub(super) nodes: Vec<Node>,
    /// Nodes of the inventory without a record.
    pub(super) missing: Vec<String>,
    pub(super) metrics: Vec<Metric>,
    pub(super) levels: Vec<Level>,
    /// By level its nodes, ascending.
    pub(super) members: Vec<Vec<u32>>,
    pub(super) minorities: Vec<Minority>,
    /// By minority its nodes, ascending.
    pub(super) minority_members: Vec<Vec<u32>>,
    pub(super) repeats: Vec<Repeat>,
    /// By node and metric, its place in its stratum.
    pub(super) node_places: Vec<usize>,
    pub(super) metric_places: Vec<usize>,
    /// By stratum.
    pub(super) deviations: Vec<Deviations>,
    pub(super) rows: usize,
}

impl TableError {
    /// A table that no script prints.
    pub(crate) fn unknown(table: &str) -> Self {
        Self::Row { table: table.to_owned(), line: "a table that is not known".to_owned() }
    }
}

/// Lines of tables, one after the other, in one buffer.
pub(crate) struct Lines<R> {
    input: R,
    line: Vec<u8>,
    table: String,
}

impl<R: BufRead> Lines<R> {
    /// At the name of the first table: what stands before it is nothing of ours.
    pub(crate) fn new(input: R) -> Result<Self, TableError> {
        let mut lines = Self { input, line: Vec::new(), table: "before the first".to_owned() };
        while lines.row()?.is_some() {}
        Ok(lines)
    }

    /// The next row; `None` at the name of the next table, which is then `table`.
    fn row(&mut self) -> Result<Option<&str>, TableError> {
        self.line.clear();
        if self.input.read_until(b'\n', &mut self.line)? == 0 {
            return Err(TableError::Unfinished(self.table.clone()));
        }
        let line = std::str::from_utf8(&self.line).map_err(|_| TableError::Row {
            table: self.table.clone(),
            line: String::from_utf8_lossy(&self.line).into_owned(),
        })?;
        let line = line.trim_end_matches(['\r', '\n']);
        if let Some(table) = line.strip_prefix(':') {
            table.clone_into(&mut self.table);
            return Ok(None);
        }
        Ok(Some(line))
    }

    fn wrong(table: &str, line: &str) -> TableError {
        TableError::Row { table: table.to_owned(), line: line.to_owned() }
    }

    /// All rows of a table of objects.
    pub(crate) fn objects<T: DeserializeOwned>(&mut self) -> Result<Vec<T>, TableError> {
        let mut rows = Vec::new();
        let table = self.table.clone();
        while let Some(line) = self.row()? {
            rows.push(serde_json::from_str(line).map_err(|_| Self::wrong(&table, line))?);
        }
        Ok(rows)
    }

    /// Hands over all rows of a table of whole numbers.
    pub(crate) fn numbers<const N: usize>(
        &mut self,
        mut row: impl FnMut([i64; N]) -> Option<()>,
    ) -> Result<(), TableError> {
        let table = self.table.clone();
        while let Some(line) = self.row()? {
            let mut parts = line.split(',').map(str::parse);
            let mut numbers = [0; N];
            let is_read = numbers.iter_mut().all(|number| match parts.next() {
                Some(Ok(value)) => {
                    *number = value;
                    true
                }
                _ => false,
            });
            if !is_read || row(numbers).is_none() {
                return Err(Self::wrong(&table, line));
            }
        }
        Ok(())
    }

    /// A table of two indices: those of the second by the first, which are `count`.
    fn members(&mut self, count: usize, nodes: usize) -> Result<Vec<Vec<u32>>, TableError> {
        let mut members = vec![Vec::new(); count];
        self.numbers(|[of, node]| {
            let node = u32::try_from(node).ok().filter(|node| (*node as usize) < nodes)?;
            members.get_mut(usize::try_from(of).ok()?)?.push(node);
            Some(())
        })?;
        for of in &mut members {
            of.sort_unstable();
        }
        Ok(members)
    }
}

impl Tables {
    /// Reads what DuckDB prints.
    ///
    /// # Errors
    /// It is not what the script prints.
    pub fn read(input: impl BufRead) -> Result<Self, TableError> {
        let mut lines = Lines::new(input)?;
        let mut all = Self::default();
        while lines.table != "end" {
            match lines.table.clone().as_str() {
                "strata" => all.strata = lines.objects()?,
                "nodes" => all.nodes = lines.objects()?,
                "missing" => {
                    all.missing = lines.objects::<Missing>()?.into_iter().map(|one| one.node).collect();
                }
                "metrics" => all.metrics = lines.objects()?,
                "levels" => all.levels = lines.objects()?,
                "members" => all.members = lines.members(all.levels.len(), all.nodes.len())?,
                "minorities" => all.minorities = lines.objects()?,
                "minority members" => {
                    all.minority_members = lines.members(all.minorities.len(), all.nodes.len())?;
                }
                "repeats" => all.repeats = lines.objects()?,
                "deviations" => all.read_deviations(&mut lines)?,
                other => return Err(TableError::unknown(other)),
            }
        }
        Ok(all)
    }

    fn read_deviations(&mut self, lines: &mut Lines<impl BufRead>) -> Result<(), TableError> {
        let count = self.strata.len();
        let (node_places, nodes) = places(self.nodes.iter().map(|node| node.stratum), count);
        let (metric_places, metrics) = places(self.metrics.iter().map(|metric| metric.stratum), count);
        let mut deviations: Vec<Deviations> =
            nodes.iter().zip(&metrics).map(|(nodes, metrics)| Deviations::new(*nodes, *metrics)).collect();
        let mut rows = 0;
        lines.numbers(|[metric, node, millionths]| {
            let (metric, node) = (usize::try_from(metric).ok()?, usize::try_from(node).ok()?);
            let (place, unit) = (*metric_places.get(metric)?, *node_places.get(node)?);
            let stratum = self.metrics[metric].stratum;
            if stratum == self.nodes[node].stratum {
                deviations.get_mut(stratum)?.set(place, unit, (millionths as f64 * 1e-6) as f32);
            }
            rows += 1;
            Some(())
        })?;
        (self.node_places, self.metric_places) = (node_places, metric_places);
        (self.deviations, self.rows) = (deviations, rows);
        Ok(())
    }
}

/// The place of each in its stratum, and how many each stratum has.
fn places(strata: impl Iterator<Item = usize>, count: usize) -> (Vec<usize>, Vec<usize>) {
    let mut counts = vec![0; count];
    let places = strata.map(|stratum| {
        counts.get_mut(stratum).map_or(usize::MAX, |next| {
            *next += 1;
            *next - 1
        })
    });
    (places.collect(), counts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEAD: &str = ":strata\n{\"cpu_model\":\"x\",\"preset\":\"quick\",\"kernel_set_version\":1}\n";

    #[test]
    fn foreign_and_broken_lines_are_named_and_never_panic() {
        for (text, part) in [
            ("", "stopped in table before the first"),
            (":strata\n", "stopped in table strata"),
            (":strata\nx\n:end\n", "printed \"x\" in table strata"),
            (":surprise\n:end\n", "in table surprise"),
            (":members\n0,0\n:end\n", "printed \"0,0\" in table members"),
            (":deviations\n0,0,1\n:end\n", "in table deviations"),
            (":deviations\n1\n:end\n", "in table deviations"),
        ] {
            let error = Tables::read(text.as_bytes()).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        let read = Tables::read(format!("noise\n{HEAD}:end\n").as_bytes()).expect("tables");
        assert_eq!(read.strata[0].cpu_model, "x");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(:strata|:nodes|:members|:deviations|:end|[0-9]{1,3}|,|-|\\{\\}|\n){0,40}") {
            let _ = Tables::read(format!("{HEAD}{text}\n:end\n").as_bytes());
        }
    }
}
