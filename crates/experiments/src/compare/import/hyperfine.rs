//! The JSON export of hyperfine: each command is a test, each of its times a replicate.

use std::collections::BTreeMap;

use record::Better;
use serde::Deserialize;

use super::test_list::{Heading, TestList};
use super::{Configuration, ImportError};
use crate::compare::{SourceKind, Weight};

#[derive(Deserialize)]
struct Export {
    results: Vec<Measured>,
}

/// One command. Times are in seconds.
#[derive(Deserialize)]
struct Measured {
    command: String,
    #[serde(default)]
    times: Option<Vec<f64>>,
    #[serde(default)]
    median: Option<f64>,
    #[serde(default)]
    mean: Option<f64>,
    #[serde(default)]
    exit_codes: Vec<Option<i64>>,
    #[serde(default)]
    parameters: BTreeMap<String, serde_json::Value>,
}

impl Measured {
    /// The command with the parameters that its text does not show.
    fn name(&self) -> String {
        let text =
            |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let hidden = self.parameters.iter().filter(|(_, value)| !self.command.contains(&text(value)));
        let hidden: Vec<String> = hidden.map(|(key, value)| format!("{key}={}", text(value))).collect();
        if hidden.is_empty() {
            self.command.clone()
        } else {
            format!("{} ({})", self.command, hidden.join(", "))
        }
    }
}

pub(super) fn read(name: &str, text: &str) -> Result<Configuration, ImportError> {
    let export: Export = serde_json::from_str(text)?;
    let mut tests = TestList::default();
    let mut cautions = Vec::new();
    for (index, measured) in export.results.iter().enumerate() {
        let place = || format!("result {}", index + 1);
        let command = measured.name();
        let heading = Heading {
            name: &command,
            group: "commands",
            unit: "s",
            better: Better::Lower,
            weight: Weight::Application,
        };
        // Without the single times, one summary is all there is, and it carries no interval.
        let summary = || measured.median.or(measured.mean).into_iter().collect();
        let times = measured.times.clone().filter(|times| !times.is_empty()).unwrap_or_else(summary);
        tests.add(&place, &heading, &times)?;
        let failed = measured.exit_codes.iter().filter(|code| **code != Some(0)).count();
        if failed > 0 {
            cautions.push(format!(
                "{failed} of {} runs of {command} did not exit with 0",
                measured.exit_codes.len()
            ));
        }
    }
    Ok(tests.finish(name, SourceKind::Hyperfine, Vec::new(), cautions))
}
