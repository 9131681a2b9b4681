//! Profiles of the Phoronix Test Suite as its users have them installed: what is run, and the numbers in its log.
//!
//! A profile is two XML files. `test-definition.xml` names the program and the options that a user may choose;
//! `results-definition.xml` shows by templates where numbers stand in the log. What the elements mean was read in the
//! documentation and in the behaviour of the suite (version of June 2026), held against its reader on every public
//! profile: `cargo xtask pts-coverage`. Nothing is downloaded, installed or compiled here.
//!
//! Not read: images that are compared, times of single frames, sensors of power, lists that make a graph.

mod line;
mod number;
mod rehearsal;
mod results_parser;

use record::Better;
use roxmltree::{Document, Node};

use results_parser::ResultsParser;

/// So many elements may be open at once or empty, where profiles have six levels: the parser walks them by recursion.
const MOST_OPEN: i64 = 200;

/// A profile.
#[derive(Debug, Clone, Default)]
pub struct PtsProfile {
    /// What it is called.
    pub title: String,
    /// Licence of the program, in a word: `Free`.
    pub licence: String,
    /// Part of the machine that it is meant for: `Processor`.
    pub kind: String,
    /// What a user may choose.
    pub options: Vec<PtsOption>,
    /// The number is the time of a turn.
    pub is_timed: bool,
    /// What this reader does not understand of it, one sentence each.
    pub not_understood: Vec<String>,
    /// Name of the launcher, where it is not that of the profile.
    executable: Option<String>,
    unit: String,
    better: Option<Better>,
    /// Before and behind what is chosen.
    arguments: [String; 2],
    parsers: Vec<ResultsParser>,
}

/// One choice that a user has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PtsOption {
    /// Its word in the profile.
    pub identifier: String,
    /// What it is called.
    pub name: String,
    /// Index of the entry that is taken where nothing is chosen.
    pub default_entry: usize,
    /// Names and arguments; empty where any text may be given.
    pub entries: Vec<PtsEntry>,
    prefix: String,
    postfix: String,
}

/// One entry of a menu.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PtsEntry {
    /// What it is called.
    pub name: String,
    /// What becomes part of the arguments.
    pub value: String,
}

/// Why a profile or a log is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PtsError {
    /// A file is no XML, or XML of something else.
    #[error("{file} is not of a test profile: {why}")]
    File {
        /// Which of the two.
        file: &'static str,
        /// What is wrong.
        why: String,
    },
    /// No option or entry has this name.
    #[error("the profile has no {what}; it has {known}")]
    Choice {
        /// What was chosen.
        what: String,
        /// What could have been.
        known: String,
    },
    /// The log holds no number where the templates look for one.
    #[error("the log holds no number where the profile looks for one")]
    NoResult,
}

const DEFINITION: &str = "test-definition.xml";
const RESULTS: &str = "results-definition.xml";

/// Reads a profile from the texts of its two files.
///
/// # Errors
/// A text is not XML, or not of a test profile. What is only not understood stands in the profile.
pub fn read(definition: &str, results: Option<&str>) -> Result<PtsProfile, PtsError> {
    let document = parsed(DEFINITION, definition)?;
    let root = document.root_element();
    let at = |path: &[&str]| text_at(root, path);
    let title = at(&["TestInformation", "Title"]);
    if title.is_empty() {
        return Err(PtsError::File { file: DEFINITION, why: "it has no TestInformation/Title".to_owned() });
    }
    let settings = |name: &str| at(&["TestSettings", "Default", name]);
    let mut profile = PtsProfile {
        title,
        licence: at(&["TestProfile", "License"]),
        kind: at(&["TestProfile", "TestType"]),
        executable: Some(at(&["TestInformation", "Executable"])).filter(|name| !name.is_empty()),
        options: children(root, "TestSettings").flat_map(|it| children(it, "Option")).map(option).collect(),
        unit: at(&["TestInformation", "ResultScale"]),
        better: better(&at(&["TestInformation", "Proportion"])),
        arguments: ["Arguments", "PostArguments"].map(settings),
        ..PtsProfile::default()
    };
    match results {
        Some(text) => profile.read_results(&parsed(RESULTS, text)?),
        None => profile.not_understood.push("it has no results-definition.xml".to_owned()),
    }
    Ok(profile)
}

impl PtsProfile {
    /// File name of its launcher, where the profile with its version is called `name`.
    pub fn launcher<'a>(&'a self, name: &'a str) -> &'a str {
        let base = match name.rsplit_once('-') {
            Some((base, version)) if version.starts_with(|digit: char| digit.is_ascii_digit()) => base,
            _ => name,
        };
        self.executable.as_deref().unwrap_or(base)
    }

    fn read_results(&mut self, document: &Document<'_>) {
        for node in document.root_element().children().filter(Node::is_element) {
            match node.tag_name().name() {
                "ResultsParser" => self.parsers.push(ResultsParser::of(node)),
                "SystemMonitor" if text_at(node, &["Sensor"]) == "sys.time" => self.is_timed = true,
                "SystemMonitor" => {
                    self.not_understood.push(format!("the sensor {}", text_at(node, &["Sensor"])));
                }
                "ImageParser" => self.not_understood.push("images that are compared".to_owned()),
                // Times of frames beside the result, which stands elsewhere.
                _ => {}
            }
        }
        let unread = |(index, parser): (usize, &ResultsParser)| {
            parser.complaint().map(|why| format!("ResultsParser {}: {why}", index + 1))
        };
        self.not_understood.extend(self.parsers.iter().enumerate().filter_map(unread));
        if self.parsers.is_empty() && !self.is_timed && self.not_understood.is_empty() {
            self.not_understood.push("it has no ResultsParser".to_owned());
        }
        // A number that is printed is better than the time around it.
        self.is_timed &= self.parsers.is_empty();
    }

    /// Arguments of its program: those of the profile around what is chosen, by identifier or name of the option and name or
    /// value of the entry; the default entry of every option that is not named.
    ///
    /// # Errors
    /// There is no such option or entry.
    pub fn arguments(&self, chosen: &[(&str, &str)]) -> Result<String, PtsError> {
        let names =
            |option: &&PtsOption, word: &str| [&option.identifier, &option.name].iter().any(|it| *it == word);
        if let Some((what, _)) =
            chosen.iter().find(|(word, _)| !self.options.iter().any(|it| names(&it, word)))
        {
            let known: Vec<&str> = self.options.iter().map(|option| option.identifier.as_str()).collect();
            return Err(PtsError::Choice { what: format!("option {what}"), known: known.join(", ") });
        }
        let mut parts = vec![self.arguments[0].clone()];
        for option in &self.options {
            let word = chosen.iter().find(|(word, _)| names(&option, word)).map(|(_, entry)| *entry);
            parts.push(option.argument(word)?);
        }
        parts.push(self.arguments[1].clone());
        parts.retain(|part| !part.is_empty());
        Ok(parts.join(" "))
    }

    /// The number that counts of a log of a run with these arguments: the first that is found in the unit of [`Self::unit`], those
    /// that are not secondary before the others.
    ///
    /// # Errors
    /// The log holds none.
    pub fn result(&self, log: &str, arguments: &str) -> Result<f64, PtsError> {
        let chosen = self.chosen_part(arguments);
        let of =
            |is_secondary: bool| self.parsers.iter().filter(move |one| one.is_secondary() == is_secondary);
        let (unit, _) = self.unit(arguments);
        let is_in_unit = |parser: &&ResultsParser| parser.text("ResultScale").unwrap_or(&self.unit) == unit;
        let fitting = of(false).chain(of(true)).filter(|one| one.is_for(arguments)).filter(is_in_unit);
        let mut values = fitting.filter_map(|parser| parser.value(log, arguments, &chosen));
        values.next().ok_or(PtsError::NoResult)
    }

    /// Unit of the number that counts, and which direction of it is the good one.
    pub fn unit(&self, arguments: &str) -> (&str, Better) {
        let own = self.parsers.iter().find(|parser| parser.is_for(arguments) && !parser.is_secondary());
        let otherwise =
            if self.is_timed { ("s", Better::Lower) } else { (self.unit.as_str(), Better::Higher) };
        let unit = own.and_then(|parser| parser.text("ResultScale"));
        let better = own.and_then(ResultsParser::better).or(self.better);
        (unit.unwrap_or(otherwise.0), better.unwrap_or(otherwise.1))
    }

    /// The arguments without those of the profile.
    fn chosen_part(&self, arguments: &str) -> String {
        let [before, behind] = &self.arguments;
        let rest = arguments.strip_prefix(before.as_str()).unwrap_or(arguments);
        rest.strip_suffix(behind.as_str()).unwrap_or(rest).trim().to_owned()
    }
}

impl PtsOption {
    /// Its part of the arguments, by the name or value of an entry; any text where there is no menu.
    fn argument(&self, chosen: Option<&str>) -> Result<String, PtsError> {
        let by_name =
            |word: &str| self.entries.iter().find(|entry| entry.name == word || entry.value == word);
        let value = match chosen {
            None => self.entries.get(self.default_entry).map(|entry| entry.value.as_str()),
            Some(word) if self.entries.is_empty() => Some(word),
            Some(word) => Some(by_name(word).map(|entry| entry.value.as_str()).ok_or_else(|| {
                let known: Vec<&str> = self.entries.iter().map(|entry| entry.name.as_str()).collect();
                PtsError::Choice {
                    what: format!("entry {word} of {}", self.identifier),
                    known: known.join(", "),
                }
            })?),
        };
        Ok(value.map_or_else(String::new, |value| format!("{}{value}{}", self.prefix, self.postfix)))
    }
}

fn option(node: Node<'_, '_>) -> PtsOption {
    let entries: Vec<PtsEntry> = children(node, "Menu")
        .flat_map(|menu| children(menu, "Entry"))
        .map(|entry| PtsEntry { name: text_at(entry, &["Name"]), value: text_at(entry, &["Value"]) })
        .collect();
    // Counted from 1; what is out of range is the first.
    let default: usize = text_at(node, &["DefaultEntry"]).trim().parse().unwrap_or(1);
    let default_entry = default.saturating_sub(1);
    PtsOption {
        identifier: text_at(node, &["Identifier"]),
        name: text_at(node, &["DisplayName"]),
        default_entry: if default_entry < entries.len() { default_entry } else { 0 },
        entries,
        prefix: text_at(node, &["ArgumentPrefix"]),
        postfix: text_at(node, &["ArgumentPostfix"]),
    }
}

fn parsed<'a>(file: &'static str, text: &'a str) -> Result<Document<'a>, PtsError> {
    let wrong = |why: String| PtsError::File { file, why };
    // A bound on the depth without a parse: tags that open, less those that close.
    let step = |(at, _)| match text.as_bytes().get(at + 1) {
        Some(b'/') => -1,
        Some(b'!' | b'?') => 0,
        _ => 1,
    };
    let steps = text.match_indices('<').map(step).scan(0_i64, |open, step| {
        *open += step;
        Some(*open)
    });
    if steps.max().is_some_and(|deepest| deepest > MOST_OPEN) {
        return Err(wrong(format!("more than {MOST_OPEN} of its elements are open at once")));
    }
    let document = Document::parse(text).map_err(|error| wrong(error.to_string()))?;
    if document.root_element().has_tag_name("PhoronixTestSuite") {
        return Ok(document);
    }
    Err(wrong("its outermost element is not PhoronixTestSuite".to_owned()))
}

fn children<'a, 'i>(node: Node<'a, 'i>, name: &str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |child| child.has_tag_name(name))
}

/// The text of a descendant as it stands, blanks included; empty if there is none.
fn text_at(node: Node<'_, '_>, path: &[&str]) -> String {
    let end = path.iter().try_fold(node, |node, name| children(node, name).next());
    let texts = end.into_iter().flat_map(|end| end.children()).filter_map(|child| child.text());
    texts.collect()
}

fn better(proportion: &str) -> Option<Better> {
    match proportion {
        "HIB" => Some(Better::Higher),
        "LIB" => Some(Better::Lower),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
