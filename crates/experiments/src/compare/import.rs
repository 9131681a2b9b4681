//! Results from elsewhere: bytes in, configurations out. What a file is, is seen from its content, never from its name.

mod phoronix;

use std::collections::BTreeMap;

use machine::{TableLine, UnclosedQuote, table_lines};
use record::{Better, DecodeError};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Cell, Configuration, Fact, Sample, SourceKind, Test, Weight, configuration_of_record};

/// First bytes of a zstd frame, in which records may be packed. RFC 8878, section 3.1.1.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Why bytes are not results.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A record that cannot be read.
    #[error(transparent)]
    Record(#[from] DecodeError),
    /// Nothing that sidestep knows.
    #[error(
        "neither a record nor results: expected a record of sidestep run, CSV with the columns name, unit, better, \
         group and values, hyperfine JSON or Phoronix XML"
    )]
    Unknown,
    /// Not text.
    #[error("not UTF-8 text from byte {offset} on; export it again")]
    NotText { offset: usize },
    /// Broken JSON.
    #[error("broken JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Broken XML.
    #[error("broken XML: {0}")]
    Xml(#[from] roxmltree::Error),
    /// The wrong document of sidestep itself.
    #[error("{what}, not a record; give the records or results that it was made from")]
    Derived { what: &'static str },
    /// A column or field is missing or not as it should be.
    #[error("{place}: {problem}")]
    Shape {
        place: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// A value that no measurement gives.
    #[error("{place}: the value {value} is no positive number; correct it or leave the test out")]
    Value { place: String, value: String },
    /// The same test twice, with different units or directions.
    #[error(
        "{place}: {test} stands here with another unit, direction or kind than before; name it differently"
    )]
    Conflict { place: String, test: String },
    /// Nothing in it.
    #[error("it holds no test with a value; nothing can be compared")]
    Empty,
}

/// Reads what may be compared; one file may hold several configurations, as Phoronix composites do. `name` is what the
/// user calls it.
///
/// # Errors
/// `ImportError` says what is wrong, where, and what would be right.
pub fn read(name: &str, bytes: &[u8]) -> Result<Vec<Configuration>, ImportError> {
    if bytes.starts_with(&ZSTD_MAGIC) {
        return Ok(vec![of_record(name, bytes)?]);
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| ImportError::NotText { offset: error.valid_up_to() })?
        .trim_start_matches('\u{feff}');
    let found = match text.trim_start().as_bytes().first() {
        None => return Err(ImportError::Empty),
        Some(b'<') => phoronix::read(text)?,
        Some(b'{') => return json_document(name, text),
        Some(_) => vec![csv(name, text)?],
    };
    if found.iter().all(|one| one.tests.is_empty()) { Err(ImportError::Empty) } else { Ok(found) }
}

fn of_record(name: &str, bytes: &[u8]) -> Result<Configuration, ImportError> {
    let configuration = configuration_of_record(name, &record::decode(bytes)?);
    if configuration.tests.is_empty() { Err(ImportError::Empty) } else { Ok(configuration) }
}

/// Which JSON it is: each kind has a field that no other has.
fn json_document(name: &str, text: &str) -> Result<Vec<Configuration>, ImportError> {
    /// The outermost fields; whether they are there is all that counts.
    #[derive(Deserialize)]
    struct Fields {
        schema: Option<IgnoredAny>,
        rows: Option<IgnoredAny>,
        averages: Option<IgnoredAny>,
        view: Option<IgnoredAny>,
        results: Option<IgnoredAny>,
    }
    let fields: Fields = serde_json::from_str(text)?;
    let found = if fields.rows.is_some() && fields.averages.is_some() {
        return Err(ImportError::Derived { what: "a comparison" });
    } else if fields.schema.is_some() && fields.view.is_some() {
        return Err(ImportError::Derived { what: "the description of a machine" });
    } else if fields.schema.is_some() {
        of_record(name, text.as_bytes())?
    } else if fields.results.is_some() {
        hyperfine(name, text)?
    } else {
        return Err(ImportError::Unknown);
    };
    if found.tests.is_empty() { Err(ImportError::Empty) } else { Ok(vec![found]) }
}

/// The group of tests that what is compared cannot touch.
const CONTROLS: &str = "controls";

/// What is known of a test beside its values.
pub(super) struct Heading<'h> {
    pub(super) name: &'h str,
    pub(super) group: &'h str,
    pub(super) unit: &'h str,
    pub(super) better: Better,
    pub(super) weight: Weight,
}

/// Tests in the order in which they first appear.
#[derive(Default)]
pub(super) struct TestList {
    tests: Vec<Test>,
}

impl TestList {
    /// Adds values of a test; those of a test that is there already are further replicates.
    pub(super) fn add(
        &mut self,
        place: &dyn Fn() -> String,
        heading: &Heading<'_>,
        values: &[f64],
    ) -> Result<(), ImportError> {
        let name = heading.name.trim();
        if name.is_empty() {
            return Err(ImportError::Shape { place: place(), problem: "the test has no name".to_owned() });
        }
        if values.is_empty() {
            return Err(ImportError::Shape { place: place(), problem: format!("{name} has no value") });
        }
        if let Some(value) = values.iter().find(|value| !(value.is_finite() && **value > 0.0)) {
            return Err(ImportError::Value { place: place(), value: value.to_string() });
        }
        let samples = values.iter().map(|value| Sample::plain(*value));
        let test = Test {
            name: name.to_owned(),
            group: heading.group.trim().to_owned(),
            unit: heading.unit.trim().to_owned(),
            better: heading.better,
            weight: heading.weight,
            control: heading.group.trim() == CONTROLS,
            cells: [([0, 0], Cell { samples: samples.clone().collect(), ..Cell::default() })].into(),
        };
        match self.tests.iter_mut().find(|have| have.is_same(&test)) {
            Some(have)
                if (&have.unit, have.better, have.weight) != (&test.unit, test.better, test.weight) =>
            {
                return Err(ImportError::Conflict { place: place(), test: test.name });
            }
            Some(have) => have.cells.entry([0, 0]).or_default().samples.extend(samples),
            None => self.tests.push(test),
        }
        Ok(())
    }

    /// The configuration that these tests make.
    pub(super) fn finish(
        self,
        name: &str,
        kind: SourceKind,
        facts: Vec<Fact>,
        cautions: Vec<String>,
    ) -> Configuration {
        Configuration {
            name: name.to_owned(),
            kind,
            runs: 1,
            starts_utc: Vec::new(),
            taken_shares: Vec::new(),
            facts,
            cautions,
            tests: self.tests,
        }
    }
}

/// Reads a direction.
fn better(place: &dyn Fn() -> String, text: &str) -> Result<Better, ImportError> {
    match text.trim().to_ascii_lowercase().as_str() {
        "higher" => Ok(Better::Higher),
        "lower" => Ok(Better::Lower),
        other => Err(ImportError::Shape {
            place: place(),
            problem: format!("better is {other:?}; write higher or lower"),
        }),
    }
}

/// Reads a kind; applications if it is not given.
fn weight(place: &dyn Fn() -> String, text: &str) -> Result<Weight, ImportError> {
    match text.trim().to_ascii_lowercase().as_str() {
        "micro" => Ok(Weight::Micro),
        "" | "application" => Ok(Weight::Application),
        other => Err(ImportError::Shape {
            place: place(),
            problem: format!("kind is {other:?}; write micro or application"),
        }),
    }
}

/// Where each column stands.
struct Columns {
    name: usize,
    unit: usize,
    better: usize,
    group: usize,
    values: usize,
    kind: Option<usize>,
}

fn csv(name: &str, text: &str) -> Result<Configuration, ImportError> {
    let unclosed = |UnclosedQuote(line)| ImportError::Shape {
        place: format!("line {line}"),
        problem: "a quote is not closed".to_owned(),
    };
    let mut lines = table_lines(text, ',').map_err(unclosed)?.into_iter();
    let columns = Columns::of(&lines.next().ok_or(ImportError::Unknown)?)?;
    let mut tests = TestList::default();
    for line in lines {
        let place = || format!("line {}", line.number);
        let field = |index: usize| line.field(index);
        let heading = Heading {
            name: field(columns.name),
            group: field(columns.group),
            unit: field(columns.unit),
            better: better(&place, field(columns.better))?,
            weight: weight(&place, columns.kind.map_or("", field))?,
        };
        tests.add(&place, &heading, &numbers(&place, field(columns.values))?)?;
    }
    Ok(tests.finish(name, SourceKind::Csv, Vec::new(), Vec::new()))
}

impl Columns {
    fn of(line: &TableLine) -> Result<Self, ImportError> {
        // Without a name and a value it is no table of ours at all.
        let (Some(name), Some(values)) = (line.column(&["name"]), line.column(&["values", "value"])) else {
            return Err(ImportError::Unknown);
        };
        let need = |asked: &str| {
            line.column(&[asked]).ok_or_else(|| ImportError::Shape {
                place: format!("line {}", line.number),
                problem: format!(
                    "there is no column {asked}; the columns are name, unit, better, group, values"
                ),
            })
        };
        let (unit, better, group) = (need("unit")?, need("better")?, need("group")?);
        Ok(Self { name, unit, better, group, values, kind: line.column(&["kind"]) })
    }
}

fn numbers(place: &dyn Fn() -> String, text: &str) -> Result<Vec<f64>, ImportError> {
    let words = text.split([' ', ';', '\t']).filter(|word| !word.is_empty());
    words
        .map(|word| word.parse().map_err(|_| ImportError::Value { place: place(), value: word.to_owned() }))
        .collect()
}

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

fn hyperfine(name: &str, text: &str) -> Result<Configuration, ImportError> {
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

#[cfg(test)]
mod tests;
