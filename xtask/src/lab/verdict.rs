//! What a step printed, held against what its machine's file expects.
//!
//! A path is a JSON pointer (RFC 6901) with two additions: `[id=srso]` is the first member of an array with these fields, several of
//! them parted by commas, and `#` is how many members there are. A path that leads nowhere is an error that says where it ended.

use serde_json::Value;

use super::definition::{Expectation, Machine, Step};
use super::transcript::{Output, Transcript};

/// One line of the table: what is so, and what sidestep says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Step.
    pub step: String,
    /// What is stated.
    pub what: String,
    /// What must be said.
    pub expected: String,
    /// What was said.
    pub said: String,
    /// Who knows what must be said.
    pub source: String,
    /// They agree.
    pub holds: bool,
}

/// Longest value that a row repeats, letters.
const VALUE_LETTERS: usize = 160;

/// A row for each exit code and each expectation of `machine`; none for steps after the one in which the guest stopped.
pub fn judge(machine: &Machine, transcript: &Transcript) -> Vec<Row> {
    let has_ended = |step: &&Step| transcript.output(&step.name).is_some();
    let ended = machine.step.iter().take_while(has_ended).count();
    machine.step.iter().take(ended + 1).flat_map(|step| judge_step(step, transcript)).collect()
}

fn judge_step(step: &Step, transcript: &Transcript) -> Vec<Row> {
    let Some(output) = transcript.output(&step.name) else {
        return vec![exit_row(step, format!("did not end; {}", transcript.last_words()), false)];
    };
    let is_right = step.codes.contains(&output.code);
    let errors = if is_right { String::new() } else { format!(": {}", last_line(&output.errors)) };
    let mut rows = vec![exit_row(step, format!("{}{errors}", output.code), is_right)];
    let document = output.document();
    rows.extend(step.expect.iter().map(|expected| row(step, expected, output, &document)));
    rows
}

fn exit_row(step: &Step, said: String, holds: bool) -> Row {
    let codes: Vec<String> = step.codes.iter().map(ToString::to_string).collect();
    Row {
        step: step.name.clone(),
        what: "exit code".to_owned(),
        expected: codes.join(" or "),
        said,
        source: "docs/output.md".to_owned(),
        holds,
    }
}

fn row(step: &Step, expected: &Expectation, output: &Output, document: &Result<Value, String>) -> Row {
    let (said, holds) = match &expected.path {
        None => {
            let text = format!("{}{}", output.text, output.errors);
            (about(&text, expected), relation(expected, &text, None))
        }
        Some(path) => match document.as_ref().map_err(Clone::clone).and_then(|document| find(document, path))
        {
            Ok(found) => {
                let absent = expected.absent && found.is_null();
                let text = plain(&found);
                (shorten(&text), absent || relation(expected, &text, Some(&found)))
            }
            Err(why) => {
                (why, expected.absent && document.as_ref().is_ok_and(|document| lacks_end(document, path)))
            }
        },
    };
    Row {
        step: step.name.clone(),
        what: expected.what.clone(),
        expected: stated(expected),
        said,
        source: expected.source.clone(),
        holds,
    }
}

/// Does the one relation that `expected` has hold?
fn relation(expected: &Expectation, text: &str, value: Option<&Value>) -> bool {
    if let Some(equals) = &expected.equals {
        return value.is_some_and(|value| same(&json(equals), value));
    }
    if let Some(part) = &expected.contains {
        return text.contains(part.as_str());
    }
    if let Some(part) = &expected.lacks {
        return !text.contains(part.as_str());
    }
    if let Some(pattern) = &expected.matches {
        return regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text));
    }
    let number = value.map_or_else(|| text.trim().parse().ok(), Value::as_f64);
    let is_above = |least: f64| number.is_some_and(|number| number >= least);
    let is_below = |most: f64| number.is_some_and(|number| number <= most);
    let has_limit = expected.at_least.is_some() || expected.at_most.is_some();
    has_limit && expected.at_least.is_none_or(is_above) && expected.at_most.is_none_or(is_below)
}

/// What the file expects, as the table shows it.
fn stated(expected: &Expectation) -> String {
    let quoted = |text: &String| text.trim().replace('\n', " ");
    let limit = |word: &str, number: Option<f64>| number.map(|number| format!("{word} {number}"));
    let limits: Vec<String> = [limit("at least", expected.at_least), limit("at most", expected.at_most)]
        .into_iter()
        .flatten()
        .collect();
    let texts = [
        expected.equals.as_ref().map(|value| plain(&json(value))),
        expected.contains.as_ref().map(quoted),
        expected.lacks.as_ref().map(|part| format!("no \"{}\"", quoted(part))),
        expected.matches.as_ref().map(quoted),
        expected.absent.then(|| "nothing".to_owned()),
    ];
    texts.into_iter().flatten().next().unwrap_or_else(|| limits.join(", "))
}

/// Of a whole text the line that the table repeats: the one that decides, or how the text begins.
fn about(text: &str, expected: &Expectation) -> String {
    let pattern = expected.matches.as_ref().and_then(|pattern| regex::Regex::new(pattern).ok());
    let decides = |line: &&str| {
        let part = expected.contains.as_ref().or(expected.lacks.as_ref());
        part.is_some_and(|part| line.contains(part.as_str()))
            || pattern.as_ref().is_some_and(|pattern| pattern.is_match(line))
    };
    let first = || text.lines().find(|line| !line.trim().is_empty());
    text.lines()
        .find(decides)
        .or_else(first)
        .map_or_else(|| "nothing".to_owned(), |line| shorten(line.trim()))
}

/// The value at `path`.
///
/// # Errors
/// Where the path ends, and what is there.
pub fn find(document: &Value, path: &str) -> Result<Value, String> {
    let mut at = document;
    let mut walked = String::new();
    for token in path.split('/').skip(1) {
        let here = if walked.is_empty() { "the document" } else { &walked };
        if token == "#" {
            return at
                .as_array()
                .map(|members| members.len().into())
                .ok_or_else(|| format!("{here} is no array"));
        }
        let key = token.replace("~1", "/").replace("~0", "~");
        let next = match at {
            Value::Array(members) => match key.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                Some(conditions) => members.iter().find(|member| meets(member, conditions)),
                None => key.parse().ok().and_then(|index: usize| members.get(index)),
            },
            _ => at.get(&key),
        };
        at = next.ok_or_else(|| format!("no {token} in {here}, which has {}", contents(at)))?;
        walked = format!("{walked}/{token}");
    }
    Ok(at.clone())
}

/// Is everything of `path` there but its end? A misspelt path is no absence.
fn lacks_end(document: &Value, path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(above, _)| find(document, above).is_ok())
}

/// Has `member` each of the fields `a=1,b=2`?
fn meets(member: &Value, conditions: &str) -> bool {
    conditions.split(',').all(|condition| {
        let (key, value) = condition.split_once('=').unwrap_or((condition, ""));
        member.get(key).is_some_and(|found| plain(found) == value)
    })
}

fn contents(value: &Value) -> String {
    match value {
        Value::Array(members) => format!("{} members", members.len()),
        Value::Object(fields) => shorten(&fields.keys().cloned().collect::<Vec<_>>().join(", ")),
        other => plain(other),
    }
}

/// Equal as JSON, numbers by their value.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        _ => left == right,
    }
}

/// The value that TOML has, in JSON.
fn json(value: &toml::Value) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

/// A string without its quotes, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(VALUE_LETTERS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

fn last_line(text: &str) -> String {
    shorten(text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no word on standard error"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::definition::tests::SMALL;

    fn printing(text: &str) -> Transcript {
        Transcript::read(&format!("@@begin machine\n{text}\n@@errors machine\n@@end machine 0 0.1\n"))
    }

    /// The row of the one expectation of the small machine, written as `relation`.
    fn check(relation: &str, text: &str) -> Row {
        let machine = Machine::parse("a", &SMALL.replace("equals = 16", relation)).expect("it is right");
        judge(&machine, &printing(text)).pop().expect("one row")
    }

    #[test]
    fn a_planted_wrong_expectation_does_not_hold() {
        let text = r#"{"identity": {"family": 16, "name": "AMD Phenom(tm) 9500", "board": null}}"#;
        for (relation, holds) in [
            ("equals = 16", true),
            ("equals = 16.0", true),
            ("equals = 15", false),
            ("equals = \"16\"", false),
            ("contains = \"16\"", true),
            ("contains = \"17\"", false),
            ("lacks = \"17\"", true),
            ("lacks = \"16\"", false),
            ("matches = \"^1[6]$\"", true),
            ("matches = \"^1[5]$\"", false),
            ("at_least = 16\nat_most = 16", true),
            ("at_least = 16.5", false),
            ("at_most = 15.5", false),
            ("absent = true", false),
        ] {
            let row = check(relation, text);
            assert_eq!(row.holds, holds, "{relation}: {row:?}");
            assert_eq!(row.said, "16");
        }
    }

    #[test]
    fn nothing_is_expected_by_its_own_word() {
        assert!(check("absent = true", r#"{"identity": {}}"#).holds);
        assert!(check("absent = true", r#"{"identity": {"family": null}}"#).holds);
        assert!(!check("absent = true", r#"{"who": {}}"#).holds, "the path is misspelt");
        // A step that prints no document has not said that there is nothing.
        assert!(!check("absent = true", "panicked").holds);
    }

    #[test]
    fn a_path_that_leads_nowhere_says_where_it_ended() {
        let document = serde_json::json!({"flaws": [{"id": "srso", "n": 1}, {"id": "ssb", "n": [4, 2]}], "a/b": {"c": 3}});
        for (path, found) in [
            ("/flaws/[id=ssb]/n/1", Ok("2")),
            ("/flaws/[id=ssb,n=[4,2]]/id", Err("no [id=ssb,n=[4,2]] in /flaws, which has 2 members")),
            ("/flaws/[id=srso,n=1]/id", Ok("srso")),
            ("/flaws/#", Ok("2")),
            ("/a~1b/c", Ok("3")),
            ("/flaws/[id=its]/n", Err("no [id=its] in /flaws, which has 2 members")),
            ("/flaws/7", Err("no 7 in /flaws, which has 2 members")),
            ("/flaw", Err("no flaw in the document, which has a/b, flaws")),
            ("/a~1b/c/d", Err("no d in /a~1b/c, which has 3")),
            ("/a~1b/#", Err("/a~1b is no array")),
        ] {
            let said = find(&document, path).map(|value| plain(&value));
            assert_eq!(said.as_deref().map_err(String::as_str), found, "{path}");
        }
    }

    #[test]
    fn a_step_that_fails_or_never_ends_does_not_hold() {
        let machine = Machine::parse("a", SMALL).expect("it is right");
        let ended =
            Transcript::read("@@begin machine\n\n@@errors machine\ncannot read: why\n@@end machine 3 0.1\n");
        let rows = judge(&machine, &ended);
        assert_eq!((rows[0].said.as_str(), rows[0].holds), ("3: cannot read: why", false));
        assert_eq!((rows[1].said.as_str(), rows[1].holds), ("it printed no JSON", false));
        let rows = judge(&machine, &Transcript::read("Kernel panic - not syncing\n"));
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].said, "did not end; the guest's last words: Kernel panic - not syncing");
    }

    #[test]
    fn of_a_text_the_deciding_line_is_repeated() {
        let text = |relation: &str| {
            SMALL.replace("equals = 16", relation).replace("path = \"/identity/family\"\n", "")
        };
        let machine = Machine::parse("a", &text("contains = \"tsc\"")).expect("it is right");
        let rows = judge(&machine, &printing("one\nhpet tsc\nthree"));
        assert_eq!((rows[1].said.as_str(), rows[1].holds), ("hpet tsc", true));
        let rows = judge(&machine, &printing("\none\n"));
        assert_eq!((rows[1].said.as_str(), rows[1].holds), ("one", false));
    }
}
