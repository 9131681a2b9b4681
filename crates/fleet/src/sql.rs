//! The SQL that DuckDB runs: files of `sql/`, with the paths and patterns of one fleet in them as literals.

use std::path::Path;

use record::FleetTable;
use regex::Regex;

const ROWS_NDJSON: &str = include_str!("../sql/rows-ndjson.sql");
const ROWS_PARQUET: &str = include_str!("../sql/rows-parquet.sql");
const PLACE_INVENTORY: &str = include_str!("../sql/place-inventory.sql");
const PLACE_NAME: &str = include_str!("../sql/place-name.sql");
const PLACE_NONE: &str = include_str!("../sql/place-none.sql");
const CHECK: &str = include_str!("../sql/check.sql");

/// In which form rows lie in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowForm {
    /// One JSON object a line.
    Ndjson,
    /// Parquet.
    Parquet,
}

impl RowForm {
    /// The ending of its files.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Ndjson => "ndjson",
            Self::Parquet => "parquet",
        }
    }
}

/// From where it is known in which rack and slot a node is.
#[derive(Debug, Clone)]
pub enum Place<'a> {
    /// A file of the operator: CSV with this between its columns.
    Inventory(&'a Path, char),
    /// Groups in the names of nodes.
    Names(&'a Regex),
    /// It is not.
    Unknown,
}

/// The script of a check of the rows in `folder`.
pub fn check(folder: &Path, form: RowForm, place: &Place<'_>) -> String {
    [rows(folder, form), places(place), CHECK.to_owned()].join("\n")
}

/// The views of the rows in a folder.
fn rows(folder: &Path, form: RowForm) -> String {
    let file = |table: FleetTable| (table.name(), path(&folder.join(format!("{table}.{}", form.ending()))));
    let script = match form {
        RowForm::Ndjson => ROWS_NDJSON,
        RowForm::Parquet => ROWS_PARQUET,
    };
    filled(script, &[FleetTable::Metrics, FleetTable::Nodes, FleetTable::States].map(file))
}

/// The tables `inventory` and `place`.
fn places(place: &Place<'_>) -> String {
    match place {
        Place::Inventory(file, delimiter) => {
            let values = [("inventory", path(file)), ("delimiter", text(&delimiter.to_string()))];
            filled(PLACE_INVENTORY, &values)
        }
        Place::Names(pattern) => {
            let literal = text(&perl(pattern.as_str()));
            let group = |(index, name): (usize, Option<&str>)| {
                let name = name.map_or_else(|| format!("group {index}"), str::to_owned);
                format!("regexp_extract(node, {literal}, {index}) as {}", identifier(&name))
            };
            let groups: Vec<String> = pattern.capture_names().enumerate().skip(1).map(group).collect();
            filled(PLACE_NAME, &[("groups", groups.join(", "))])
        }
        Place::Unknown => PLACE_NONE.to_owned(),
    }
}

/// A pattern with the older form of named groups, which is the only one that DuckDB's expressions (RE2) have.
fn perl(pattern: &str) -> String {
    let mut older = String::new();
    for c in pattern.chars() {
        if c == '<' && older.ends_with("(?") && !older.ends_with("\\(?") {
            older.push('P');
        }
        older.push(c);
    }
    older
}

/// A script with its values in place of their names in braces. Values are not looked into: they may hold such names.
pub(crate) fn filled(script: &str, values: &[(&str, String)]) -> String {
    let (mut text, mut rest) = (String::new(), script);
    while let Some((before, after)) = rest.split_once('{') {
        text += before;
        let value = values
            .iter()
            .find_map(|(name, value)| Some((value, after.strip_prefix(name)?.strip_prefix('}')?)));
        if let Some((value, behind)) = value {
            text += value;
            rest = behind;
        } else {
            text.push('{');
            rest = after;
        }
    }
    text + rest
}

/// A path as a literal; its characters that would match other files stand for themselves.
pub(crate) fn path(path: &Path) -> String {
    let mut glob = String::new();
    for c in path.to_string_lossy().chars() {
        if matches!(c, '*' | '?' | '[') {
            glob.extend(['[', c, ']']);
        } else {
            glob.push(c);
        }
    }
    text(&glob)
}

/// Text as a literal.
pub(crate) fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name as an identifier.
fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_names_cannot_leave_its_literal() {
        let script = check(Path::new("a'; drop table x; --/*"), RowForm::Ndjson, &Place::Unknown);
        assert!(script.contains("read_json('a''; drop table x; --/[*]/metrics.ndjson'"), "{script}");
        let pattern = Regex::new(r"r(?P<rack>\d+)'(\d+)").expect("a pattern");
        let script = places(&Place::Names(&pattern));
        assert!(script.contains(r#"regexp_extract(node, 'r(?P<rack>\d+)''(\d+)', 1) as "rack""#), "{script}");
        assert!(script.contains(r#"2) as "group 2""#), "{script}");
    }

    #[test]
    fn groups_are_named_as_re2_has_it() {
        for (pattern, expected) in
            [(r"r(?<a>\d)(?P<b>x)", r"r(?P<a>\d)(?P<b>x)"), (r"\(?<x", r"\(?<x"), ("(?:a)<", "(?:a)<")]
        {
            assert_eq!(perl(pattern), expected);
        }
    }

    #[test]
    fn no_placeholder_is_left() {
        let inventory = Place::Inventory(Path::new("inventory.csv"), ',');
        for form in [RowForm::Ndjson, RowForm::Parquet] {
            let script = check(Path::new("rows"), form, &inventory);
            for name in ["{metrics}", "{nodes}", "{states}", "{inventory}", "{delimiter}"] {
                assert!(!script.contains(name), "{name}: {script}");
            }
        }
    }
}
