//! What a toggle is judged against: a machine, its files, and who asks.

use host::Root;
use machine::Machine;

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// The superuser of the live machine.
    Root,
    /// Any other user of the live machine.
    Unprivileged,
    /// A reader of a recorded machine: nothing can be switched, and what only a running kernel tells is unknown.
    Recorded,
}

/// The machine, its files, and who asks.
#[derive(Debug, Clone, Copy)]
pub struct SystemState<'a> {
    /// The files.
    pub root: &'a Root,
    /// What they and CPUID say the machine is.
    pub machine: &'a Machine,
    /// Who asks.
    pub user: User,
}

impl<'a> SystemState<'a> {
    /// The live machine when `root` is live, else a recording.
    pub fn of(root: &'a Root, machine: &'a Machine) -> Self {
        let user = match (root.is_live(), host::live::effective_root()) {
            (false, _) => User::Recorded,
            (true, true) => User::Root,
            (true, false) => User::Unprivileged,
        };
        Self { root, machine, user }
    }

    /// All files that a pattern names; `*` stands for a number, `+` for one above 0.
    /// Sorted, numbers by value.
    pub fn expand(&self, pattern: &str) -> Vec<String> {
        let mut found = vec![String::new()];
        for part in pattern.split('/') {
            found = found.iter().flat_map(|above| self.step(above, part)).collect();
        }
        found.retain(|path| self.root.exists(path));
        found
    }

    fn step(&self, above: &str, part: &str) -> Vec<String> {
        let below = |name: &str| if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
        if !part.contains(['*', '+']) {
            return vec![below(part)];
        }
        let names = self.root.list(above).into_iter();
        let mut names: Vec<String> = names.filter(|name| fits(name, part)).collect();
        names.sort_by_key(|name| (name.len(), name.clone()));
        names.iter().map(|name| below(name)).collect()
    }
}

/// True if the name is the pattern with numbers for `*` and numbers above 0 for `+`.
fn fits(name: &str, pattern: &str) -> bool {
    let Some(start) = pattern.find(['*', '+']) else { return name == pattern };
    let Some(rest) = name.strip_prefix(&pattern[..start]) else { return false };
    let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let is_zero = rest[..digits].bytes().all(|digit| digit == b'0');
    let counts = digits > 0 && !(is_zero && pattern[start..].starts_with('+'));
    counts && fits(&rest[digits..], &pattern[start + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_numbers() {
        for (name, pattern, expected) in [
            ("cpu12", "cpu*", true),
            ("cpufreq", "cpu*", false),
            ("cpu", "cpu*", false),
            ("package_00_die_01", "package_*_die_*", true),
            ("package_00_die_", "package_*_die_*", false),
            ("state0", "state+", false),
            ("state10", "state+", true),
            ("enabled", "enabled", true),
        ] {
            assert_eq!(fits(name, pattern), expected, "{name} {pattern}");
        }
    }
}
