//! Composite results of the Phoronix Test Suite: one XML file, one configuration per result identifier in it; and its JSON export.

mod export;

use record::Better;
use roxmltree::{Document, Node};

use super::test_list::{Heading, Reading, Results, TestList, number};
use super::{Format, ImportError, Source};
pub(super) use export::PHORONIX_EXPORT;
use record::Fact;

pub(super) const PHORONIX: Format = Format { word: "phoronix", is, read };

/// Elements may be nested this deep; composites have six levels. The parser walks them by recursion.
const MOST_LEVELS: usize = 64;

/// Fields of `System` whose words are facts of their own.
const LISTS_OF_FACTS: [&str; 2] = ["Hardware", "Software"];

fn is(source: &Source<'_>) -> bool {
    source.text.trim_start().starts_with('<') && source.text.contains("<PhoronixTestSuite")
}

fn read(source: &Source<'_>, into: &mut Results) -> Result<(), ImportError> {
    if host::is_nested_deeper(source.text, MOST_LEVELS) {
        return Err(ImportError::Shape {
            place: "the document".to_owned(),
            problem: format!("elements are nested more than {MOST_LEVELS} deep; this is no composite"),
        });
    }
    let document = Document::parse(source.text)?;
    let root = document.root_element();
    for system in children(root, "System") {
        into.of(field(system, "Identifier")).facts = facts(system);
    }
    for result in children(root, "Result") {
        let head = |name| field(result, name);
        for entry in children(result, "Data").flat_map(|data| children(data, "Entry")) {
            let values = values(field(entry, "Value"), field(entry, "RawString"));
            add(into.of(field(entry, "Identifier")), &head, &values);
        }
    }
    Ok(())
}

/// Adds an entry of a result, of which the fields are called as in the XML.
fn add<'f>(tests: &mut TestList, field: &dyn Fn(&'static str) -> &'f str, values: &[Reading]) {
    let (title, detail, profile) = (field("Title"), field("Description"), field("Identifier"));
    let better = match field("Proportion") {
        "HIB" => Some(Better::Higher),
        "LIB" => Some(Better::Lower),
        _ => None,
    };
    let group = profile.rsplit('/').next().unwrap_or(profile);
    // The version of the test stands behind the last dash: `stream-1.3.1`.
    let group = group.rsplit_once('-').map_or(group, |(group, _)| group);
    let group = if group.is_empty() { "tests" } else { group };
    let name = if detail.is_empty() { title.to_owned() } else { format!("{title}, {detail}") };
    tests.add("", &Heading::program(&name, group, field("Scale"), better), values);
}

/// The single runs where the file has them, else the mean that stands for them.
fn values(value: &str, raw: &str) -> Vec<Reading> {
    let words = if raw.trim_matches(':').is_empty() { value } else { raw };
    words.split(':').filter(|word| !word.trim().is_empty()).map(number).collect()
}

fn children<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |child| child.has_tag_name(name))
}

/// The text of a child element, trimmed; empty if there is none.
fn field<'a>(node: Node<'a, '_>, name: &'static str) -> &'a str {
    children(node, name).next().and_then(|child| child.text()).unwrap_or("").trim()
}

/// `Processor: ..., Motherboard: ...` as facts; other fields of a system are facts as they are.
fn facts(system: Node<'_, '_>) -> Vec<Fact> {
    let mut facts = Vec::new();
    for list in LISTS_OF_FACTS {
        for part in field(system, list).split(", ") {
            if let Some((name, value)) = part.split_once(": ") {
                facts.push(Fact { name: fact_name(name), value: value.trim().to_owned() });
            }
        }
    }
    let details: serde_json::Value = serde_json::from_str(field(system, "JSON")).unwrap_or_default();
    for (name, value) in details.as_object().into_iter().flatten() {
        if let Some(text) = value.as_str() {
            facts.push(Fact { name: fact_name(name), value: text.to_owned() });
        }
    }
    facts
}

/// The names that records use for the same facts.
fn fact_name(name: &str) -> String {
    match name.trim().to_ascii_lowercase().as_str() {
        "processor" => "CPU".to_owned(),
        "motherboard" => "board".to_owned(),
        "cpu-microcode" => "microcode".to_owned(),
        "kernel-parameters" => "command line".to_owned(),
        "cpu-scaling-governor" => "frequency policy".to_owned(),
        "security" => "mitigations".to_owned(),
        other => other.to_owned(),
    }
}
