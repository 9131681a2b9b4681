//! Many machines at once: how many of a population have a flaw, are safe from it, or pay without being safe.

use std::collections::{BTreeMap, BTreeSet};

use record::{Answer, FlawVerdict, Protection, Special};
use serde::Serialize;

use crate::lscpu::Report;
use crate::{Catalogue, judge, unmet};

/// The most unreadable reports that are named; the others are counted.
const UNREADABLE_MAX: usize = 1000;

/// Counts over many reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Population {
    /// Reports that were read.
    pub reports: usize,
    /// One row for each flaw of the catalogue, by id.
    pub population: Vec<PopulationRow>,
    /// Reports by `family-model-stepping` in decimal; CPUs without these numbers under `other`.
    pub by_signature: BTreeMap<String, usize>,
    /// Texts that are no report, at most a thousand of them.
    pub unreadable: Vec<Unreadable>,
    /// How many texts are no report.
    pub unreadable_count: usize,
}

/// One flaw over many reports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PopulationRow {
    /// The flaw.
    pub id: String,
    /// Machines that have it.
    pub affected: usize,
    /// Of those, protected by what their kernel says; with the next four they are all that have it.
    pub protected: usize,
    /// Of those, protected in programs that ask for it.
    pub on_request: usize,
    /// Of those, protected in part.
    pub partly: usize,
    /// Of those, not protected.
    pub not_protected: usize,
    /// Of those, unknown whether protected.
    pub protection_unknown: usize,
    /// Machines whose kernel pays for a workaround that cannot work.
    pub paying_without_protection: usize,
    /// Machines of which it is unknown whether they have it.
    pub unknown: usize,
    /// Machines on which `--gate` fails for it.
    pub fails_gate: usize,
}

/// A text that is no report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unreadable {
    /// Its name.
    pub name: String,
    /// Why not.
    pub reason: String,
}

/// Counts in the making.
#[derive(Debug)]
pub struct Census<'a> {
    catalogue: &'a Catalogue,
    files: BTreeSet<&'a str>,
    counts: Population,
}

impl<'a> Census<'a> {
    /// No report yet.
    pub fn new(catalogue: &'a Catalogue) -> Self {
        let row = |flaw: &crate::Flaw| PopulationRow { id: flaw.id.clone(), ..PopulationRow::default() };
        let counts = Population {
            reports: 0,
            population: catalogue.flaws.iter().map(row).collect(),
            by_signature: BTreeMap::new(),
            unreadable: Vec::new(),
            unreadable_count: 0,
        };
        let files = catalogue.flaws.iter().filter_map(|flaw| flaw.vulnerability_file.as_deref()).collect();
        Self { catalogue, files, counts }
    }

    /// Counts one text, or names it as unreadable.
    pub fn take(&mut self, name: &str, text: Result<String, String>) {
        let report =
            text.and_then(|text| Report::parse(&text, &self.files).map_err(|error| error.to_string()));
        match report {
            Ok(report) => self.count(&report),
            Err(reason) => {
                self.counts.unreadable_count += 1;
                if self.counts.unreadable.len() < UNREADABLE_MAX {
                    self.counts.unreadable.push(Unreadable { name: name.to_owned(), reason });
                }
            }
        }
    }

    fn count(&mut self, report: &Report) {
        self.counts.reports += 1;
        *self.counts.by_signature.entry(report.signature()).or_default() += 1;
        let verdicts = judge(self.catalogue, &report.evidence);
        for (row, verdict) in self.counts.population.iter_mut().zip(&verdicts) {
            row.add(verdict);
        }
    }

    /// The counts.
    pub fn finish(self) -> Population {
        self.counts
    }
}

impl PopulationRow {
    fn add(&mut self, verdict: &FlawVerdict) {
        match verdict.affected {
            Answer::No => return,
            Answer::Unknown => {
                self.unknown += 1;
                return;
            }
            Answer::Yes => self.affected += 1,
        }
        *match verdict.protected {
            Protection::Protected | Protection::NotAffected => &mut self.protected,
            Protection::OnRequest => &mut self.on_request,
            Protection::Partly => &mut self.partly,
            Protection::NotProtected => &mut self.not_protected,
            Protection::Unknown => &mut self.protection_unknown,
        } += 1;
        self.fails_gate += usize::from(unmet(verdict).is_some());
        let is_unprotected = verdict.special == Some(Special::PayingUnprotected);
        self.paying_without_protection += usize::from(is_unprotected);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_counted_and_others_named() {
        let catalogue = crate::catalogue();
        let mut census = Census::new(&catalogue);
        let phenom = "Vendor ID: AuthenticAMD\nCPU family: 16\nModel: 2\nStepping: 2\n";
        census.take("a", Ok(phenom.to_owned()));
        census.take("b", Ok(phenom.replace("Stepping: 2", "Stepping: 3")));
        census.take("c", Ok("nothing".to_owned()));
        census.take("d", Err("it is longer than 1 MiB".to_owned()));
        let counts = census.finish();
        assert_eq!((counts.reports, counts.unreadable_count), (2, 2));
        assert_eq!(counts.by_signature["16-2-2"], 1);
        let row = counts.population.iter().find(|row| row.id == "amd-298").expect("in the catalogue");
        assert_eq!((row.affected, row.protected), (1, 0));
    }
}
