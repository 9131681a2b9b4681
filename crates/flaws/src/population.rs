//! Many machines at once: how many of a population have a flaw, are safe from it, or pay without being safe.

use std::collections::{BTreeMap, BTreeSet};

use record::{Answer, FlawVerdict, Protection, Special};
use serde::Serialize;

use crate::lscpu::Report;
use crate::{Catalogue, judge, unmet};

/// The most reports, and the most unreadable ones, that are named; the others are counted.
const NAMED_MAX: usize = 1000;

/// Counts over many reports.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Population {
    /// Reports that were read.
    pub reports: usize,
    /// One row for each flaw of the catalogue, by id.
    pub population: Vec<PopulationRow>,
    /// Reports by `family-model-stepping` in decimal; CPUs without these numbers under `other`.
    pub by_signature: BTreeMap<String, usize>,
    /// The reports by name, at most a thousand of them: of a file with several, each has its number behind a `#`.
    pub named: Vec<NamedReport>,
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

/// A report, and what is open in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedReport {
    /// Its file, and its number there if the file has several.
    pub name: String,
    /// `family-model-stepping` in decimal, or `other`.
    pub signature: String,
    /// Flaws that it has and is not fully protected from, by id.
    pub open: Vec<String>,
    /// Flaws of which it is unknown whether it has them, or is protected from them.
    pub unknown: usize,
    /// What was asked for of a flaw by its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<FlawVerdict>,
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
    /// No report yet; `all` knows every file that a report may tell of, of `catalogue` the flaws are judged.
    pub fn new(all: &'a Catalogue, catalogue: &'a Catalogue) -> Self {
        let row = |flaw: &crate::Flaw| PopulationRow { id: flaw.id.clone(), ..PopulationRow::default() };
        let counts = Population {
            reports: 0,
            population: catalogue.flaws.iter().map(row).collect(),
            by_signature: BTreeMap::new(),
            named: Vec::new(),
            unreadable: Vec::new(),
            unreadable_count: 0,
        };
        let files = all.flaws.iter().filter_map(|flaw| flaw.vulnerability_file.as_deref()).collect();
        Self { catalogue, files, counts }
    }

    /// Counts the reports of one text, or names it as unreadable.
    pub fn take(&mut self, name: &str, text: Result<String, String>) {
        let reports = match text {
            Ok(text) => Report::parse(&text, &self.files),
            Err(reason) => return self.refuse(name.to_owned(), reason),
        };
        let is_one = reports.len() == 1;
        for (index, report) in reports.into_iter().enumerate() {
            let name = if is_one { name.to_owned() } else { format!("{name}#{}", index + 1) };
            match report {
                Ok(report) => self.count(name, &report),
                Err(error) => self.refuse(name, error.to_string()),
            }
        }
    }

    fn refuse(&mut self, name: String, reason: String) {
        self.counts.unreadable_count += 1;
        if self.counts.unreadable.len() < NAMED_MAX {
            self.counts.unreadable.push(Unreadable { name, reason });
        }
    }

    fn count(&mut self, name: String, report: &Report) {
        self.counts.reports += 1;
        *self.counts.by_signature.entry(report.signature()).or_default() += 1;
        let mut verdicts = judge(self.catalogue, &report.evidence);
        for (row, verdict) in self.counts.population.iter_mut().zip(&verdicts) {
            row.add(verdict);
        }
        if self.counts.named.len() < NAMED_MAX {
            let concerns = verdicts.iter().filter(|verdict| verdict.affected != Answer::No);
            let open = concerns.clone().filter(|verdict| verdict.protected.is_open());
            let open = open.map(|verdict| verdict.id.clone()).collect();
            let unknown = concerns.filter(|verdict| verdict.protected == Protection::Unknown).count();
            let is_alone = verdicts.len() == 1;
            let verdict = verdicts.pop().filter(|_| is_alone);
            let signature = report.signature();
            self.counts.named.push(NamedReport { name, signature, open, unknown, verdict });
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
        let mut census = Census::new(&catalogue, &catalogue);
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
