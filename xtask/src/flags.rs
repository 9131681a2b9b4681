//! A hand-sized command-line parser: named flags with or without a value, nothing else.

use std::collections::BTreeMap;
use std::fmt;

/// A command line that cannot be understood; says which part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadUse(pub String);

impl fmt::Display for BadUse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for BadUse {}

/// The flags given, by name; a flag without a value maps to an empty string.
#[derive(Debug, Clone, Default)]
pub struct Flags(BTreeMap<String, String>);

impl Flags {
    /// Reads `arguments`: `valued` flags take the next argument, `plain` ones none, all else is bad use.
    pub fn parse(arguments: &[String], valued: &[&str], plain: &[&str]) -> Result<Self, BadUse> {
        let mut given = BTreeMap::new();
        let mut rest = arguments.iter();
        while let Some(name) = rest.next() {
            if plain.contains(&name.as_str()) {
                given.insert(name.clone(), String::new());
            } else if valued.contains(&name.as_str()) {
                let value = rest.next().ok_or_else(|| BadUse(format!("{name} needs a value")))?;
                given.insert(name.clone(), value.clone());
            } else {
                return Err(BadUse(format!("{name} is not a flag of this task")));
            }
        }
        Ok(Self(given))
    }

    /// Was the plain flag `name` given?
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The value of flag `name`, if it was given.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The value of flag `name` as a number, or `otherwise`.
    pub fn count(&self, name: &str, otherwise: usize) -> Result<usize, BadUse> {
        self.value(name).map_or(Ok(otherwise), |text| {
            text.parse().map_err(|_| BadUse(format!("{name} takes a whole number, not {text}")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Flags, BadUse> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Flags::parse(&arguments, &["--cpu", "--quads"], &["--quick"])
    }

    #[test]
    fn values_plain_flags_and_defaults_are_read() {
        let flags = parse("--cpu 3 --quick").unwrap();
        assert!(flags.has("--quick"));
        assert_eq!(flags.count("--cpu", 0), Ok(3));
        assert_eq!(flags.count("--quads", 15), Ok(15));
    }

    #[test]
    fn bad_lines_name_the_flag() {
        for (line, part) in [("--nonsense", "--nonsense"), ("--cpu", "--cpu"), ("stray", "stray")] {
            assert!(parse(line).unwrap_err().0.contains(part), "{line}");
        }
        assert!(parse("--cpu x").unwrap().count("--cpu", 0).is_err());
    }
}
