//! Composite results of the Phoronix Test Suite: one XML file, one configuration per result identifier in it.

use record::Better;
use roxmltree::{Document, Node};

use super::{Configuration, Heading, ImportError, TestList};
use crate::compare::{Fact, SourceKind, Weight};

/// Elements may be nested this deep; composites have six levels. The parser walks them by recursion.
const MOST_LEVELS: usize = 64;

/// Fields of `System` whose words are facts of their own.
const LISTS_OF_FACTS: [&str; 2] = ["Hardware", "Software"];

/// A configuration in the making.
struct Run {
    identifier: String,
    tests: TestList,
    facts: Vec<Fact>,
    failed: Vec<String>,
}

pub(super) fn read(text: &str) -> Result<Vec<Configuration>, ImportError> {
    if is_too_deep(text) {
        return Err(ImportError::Shape {
            place: "the document".to_owned(),
            problem: format!("elements are nested more than {MOST_LEVELS} deep; this is no composite"),
        });
    }
    let document = Document::parse(text)?;
    let root = document.root_element();
    if !root.has_tag_name("PhoronixTestSuite") {
        return Err(ImportError::Unknown);
    }
    let mut runs: Vec<Run> = Vec::new();
    for system in children(root, "System") {
        let run = run_of(&mut runs, field(system, "Identifier"));
        run.facts = facts(system);
    }
    for (index, result) in children(root, "Result").enumerate() {
        add(&mut runs, index, result)?;
    }
    runs.retain(|run| !run.identifier.is_empty());
    Ok(runs.into_iter().map(finish).collect())
}

/// Whether more elements are open at once than any composite has, by counting tags: a bound, not a parse.
fn is_too_deep(text: &str) -> bool {
    let mut open = 0_usize;
    for (at, _) in text.match_indices('<') {
        let rest = &text.as_bytes()[at + 1..];
        match rest.first() {
            Some(b'/') => open = open.saturating_sub(1),
            Some(b'!' | b'?') | None => {}
            Some(_) => {
                let end = rest.iter().position(|byte| *byte == b'>').unwrap_or(rest.len());
                open += usize::from(end == 0 || rest[end - 1] != b'/');
            }
        }
        if open > MOST_LEVELS {
            return true;
        }
    }
    false
}

fn children<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |child| child.has_tag_name(name))
}

/// The text of a child element, trimmed; empty if there is none.
fn field<'a>(node: Node<'a, '_>, name: &'static str) -> &'a str {
    children(node, name).next().and_then(|child| child.text()).unwrap_or("").trim()
}

fn run_of<'r>(runs: &'r mut Vec<Run>, identifier: &str) -> &'r mut Run {
    let at = runs.iter().position(|run| run.identifier == identifier).unwrap_or_else(|| {
        runs.push(Run {
            identifier: identifier.to_owned(),
            tests: TestList::default(),
            facts: Vec::new(),
            failed: Vec::new(),
        });
        runs.len() - 1
    });
    &mut runs[at]
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

/// Adds one result to every run that has an entry in it.
fn add(runs: &mut Vec<Run>, index: usize, result: Node<'_, '_>) -> Result<(), ImportError> {
    let (title, detail) = (field(result, "Title"), field(result, "Description"));
    let name = if detail.is_empty() { title.to_owned() } else { format!("{title}, {detail}") };
    let better = match field(result, "Proportion") {
        "HIB" => Some(Better::Higher),
        "LIB" => Some(Better::Lower),
        _ => None,
    };
    let profile = field(result, "Identifier");
    let group = profile.rsplit('/').next().unwrap_or(profile);
    // The version of the test stands behind the last dash: `stream-1.3.1`.
    let group = group.rsplit_once('-').map_or(group, |(group, _)| group);
    for entry in children(result, "Data").flat_map(|data| children(data, "Entry")) {
        let run = run_of(runs, field(entry, "Identifier"));
        let value = field(entry, "Value");
        let Some(better) = better else {
            run.failed.push(format!("{name} (no direction)"));
            continue;
        };
        if value.is_empty() {
            run.failed.push(format!("{name} (no value)"));
            continue;
        }
        let place = || format!("result {} ({name})", index + 1);
        let heading = Heading {
            name: &name,
            group: if group.is_empty() { "tests" } else { group },
            unit: field(result, "Scale"),
            better,
            weight: Weight::Application,
        };
        run.tests.add(&place, &heading, &values(&place, value, field(entry, "RawString"))?)?;
    }
    Ok(())
}

/// The single runs where the file has them, else the mean that stands for them.
fn values(place: &dyn Fn() -> String, value: &str, raw: &str) -> Result<Vec<f64>, ImportError> {
    let words: Vec<&str> = raw.split(':').map(str::trim).filter(|word| !word.is_empty()).collect();
    let words = if words.is_empty() { vec![value] } else { words };
    let read =
        |word: &str| word.parse().map_err(|_| ImportError::Value { place: place(), value: word.to_owned() });
    words.into_iter().map(read).collect()
}

fn finish(run: Run) -> Configuration {
    let mut cautions = Vec::new();
    if !run.failed.is_empty() {
        cautions.push(format!("without a result: {}", run.failed.join("; ")));
    }
    run.tests.finish(&run.identifier, SourceKind::Phoronix, run.facts, cautions)
}
