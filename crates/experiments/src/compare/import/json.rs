//! A list of results as JSON: `{"tests": [...]}` or the bare list, each with name, unit, better, group and values.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::test_list::{Heading, TestList, better, weight};
use super::{Configuration, ImportError};
use crate::compare::SourceKind;

/// What can be told from the names of the outermost fields.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) is_comparison: bool,
    pub(super) is_description: bool,
    pub(super) is_record: bool,
    pub(super) is_hyperfine: bool,
    pub(super) is_list: bool,
}

/// The outermost fields; whether they are there is all that counts.
#[derive(Deserialize)]
struct Fields {
    schema: Option<IgnoredAny>,
    rows: Option<IgnoredAny>,
    averages: Option<IgnoredAny>,
    view: Option<IgnoredAny>,
    results: Option<IgnoredAny>,
    tests: Option<IgnoredAny>,
}

impl Head {
    pub(super) fn of(text: &str) -> Result<Self, ImportError> {
        if text.trim_start().starts_with('[') {
            return Ok(Self { is_list: true, ..Self::default() });
        }
        let fields: Fields = serde_json::from_str(text)?;
        Ok(Self {
            is_comparison: fields.rows.is_some() && fields.averages.is_some(),
            is_description: fields.schema.is_some() && fields.view.is_some(),
            is_record: fields.schema.is_some(),
            is_hyperfine: fields.results.is_some(),
            is_list: fields.tests.is_some(),
        })
    }
}

/// The list inside its wrapping.
#[derive(Deserialize)]
struct Wrapped {
    tests: Vec<Listed>,
}

/// One test.
#[derive(Deserialize)]
struct Listed {
    name: String,
    unit: String,
    better: String,
    group: String,
    values: Vec<f64>,
    #[serde(default)]
    kind: String,
}

pub(super) fn read(name: &str, text: &str) -> Result<Configuration, ImportError> {
    let listed: Vec<Listed> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text)?
    } else {
        serde_json::from_str::<Wrapped>(text)?.tests
    };
    let mut tests = TestList::default();
    for (index, one) in listed.into_iter().enumerate() {
        let place = || format!("test {}", index + 1);
        let heading = Heading {
            name: &one.name,
            group: &one.group,
            unit: &one.unit,
            better: better(&place, &one.better)?,
            weight: weight(&place, &one.kind)?,
        };
        tests.add(&place, &heading, &one.values)?;
    }
    Ok(tests.finish(name, SourceKind::Json, Vec::new(), Vec::new()))
}
