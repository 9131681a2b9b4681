//! What one boot is, as read from its files, and which facts do not stay as they should.

use std::collections::BTreeMap;

use host::Root;
use machine::{Machine, shareable_command_line};
use record::{Provenance, Record};
use serde::{Deserialize, Serialize};
use stats::Arm;

use super::condition::Conditions;

/// The fact that says which words the arms do not decide.
const OTHER_WORDS: &str = "other words of the command line";
/// The arms differ in the whole command line by design, and who reads the files of a boot is nothing of it.
const NOT_OF_A_BOOT: [&str; 2] = ["command line", "root"];

/// One boot.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootFacts {
    /// Its name, a new one at each boot; empty where the kernel does not show it.
    pub boot_id: String,
    /// The kernel's command line.
    pub command_line: String,
    /// Vendor, family, model and stepping; empty where not known.
    pub cpu: String,
    /// Seconds since the kernel started.
    pub uptime_s: Option<f64>,
    /// All else, by name: kernel, microcode, clock source, mitigations and so on.
    pub facts: BTreeMap<String, String>,
}

impl BootFacts {
    /// Reads a boot.
    pub fn read(root: &Root, machine: &Machine, tool_version: &str) -> Self {
        let provenance = Provenance { tool_version: tool_version.to_owned(), ..Provenance::default() };
        let record = Record { machine: machine.clone(), provenance, ..Record::default() };
        let known =
            record::facts(&record).into_iter().filter(|fact| !NOT_OF_A_BOOT.contains(&fact.name.as_str()));
        let facts: BTreeMap<String, String> = known.map(|fact| (fact.name, fact.value)).collect();
        let uptime = root.read("/proc/uptime").unwrap_or_default();
        Self {
            boot_id: root.read("/proc/sys/kernel/random/boot_id").unwrap_or_default(),
            command_line: root.read("/proc/cmdline").unwrap_or_default(),
            cpu: facts.get("CPU signature").cloned().unwrap_or_default(),
            uptime_s: uptime.split_whitespace().next().and_then(|word| word.parse().ok()),
            facts,
        }
    }

    /// The facts by name, with the words of the command line that the arms do not decide.
    pub fn with_other_words(&self, conditions: &Conditions) -> BTreeMap<String, String> {
        let mut facts = self.facts.clone();
        facts.insert(OTHER_WORDS.to_owned(), conditions.remainder(&self.command_line));
        facts
    }
}

/// What does not stay the same over the boots.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unsteady {
    /// Facts that change from boot to boot within an arm, with the values seen.
    pub within: Vec<(String, Vec<String>)>,
    /// Facts that come with the arm: its effect, or something else that was changed along.
    pub between: Vec<(String, [String; 2])>,
}

/// Compares the facts of boots.
pub fn unsteady(boots: &[(Arm, &BootFacts)], conditions: &Conditions) -> Unsteady {
    let facts: Vec<(Arm, BTreeMap<String, String>)> =
        boots.iter().map(|(arm, boot)| (*arm, boot.with_other_words(conditions))).collect();
    let mut names: Vec<&String> = facts.iter().flat_map(|(_, facts)| facts.keys()).collect();
    names.sort();
    names.dedup();
    let mut found = Unsteady::default();
    for name in names {
        let values = |arm: Arm| -> Vec<String> {
            let of_arm = facts.iter().filter(|(of, _)| *of == arm);
            let value = |facts: &BTreeMap<String, String>| {
                facts.get(name).filter(|value| !value.is_empty()).map_or("unknown", String::as_str).to_owned()
            };
            let mut values: Vec<String> = of_arm.map(|(_, facts)| value(facts)).collect();
            values.sort();
            values.dedup();
            values
        };
        // Compared in full, shown without the values that may name a disk or a host.
        let shown = |value: &String| {
            if name == OTHER_WORDS { shareable_command_line(value) } else { value.clone() }
        };
        match (values(Arm::A).as_slice(), values(Arm::B).as_slice()) {
            ([a], [b]) if a != b => found.between.push((name.clone(), [shown(a), shown(b)])),
            ([_] | [], [_] | []) => {}
            (a, b) => {
                let mut all = [a, b].concat();
                all.sort();
                all.dedup();
                found.within.push((name.clone(), all.iter().map(shown).collect()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot(kernel: &str, clock: &str, command_line: &str) -> BootFacts {
        let facts = [("kernel", kernel), ("clock source", clock)];
        BootFacts {
            command_line: command_line.to_owned(),
            facts: facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            ..BootFacts::default()
        }
    }

    #[test]
    fn what_changes_within_an_arm_is_distinguished_from_what_comes_with_it() {
        let conditions = Conditions::parse(["", "hpet"]).expect("arms");
        let boots = [
            boot("6.1", "tsc", "quiet"),
            boot("6.1", "hpet", "quiet hpet"),
            boot("6.2", "tsc", "quiet"),
            boot("6.1", "hpet", "quiet hpet extra root=UUID=12"),
        ];
        let arms = [Arm::A, Arm::B, Arm::A, Arm::B];
        let all: Vec<(Arm, &BootFacts)> = arms.into_iter().zip(&boots).collect();
        let found = unsteady(&all, &conditions);
        let text = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(found.between, [("clock source".to_owned(), ["tsc".to_owned(), "hpet".to_owned()])]);
        assert_eq!(
            found.within,
            [
                ("kernel".to_owned(), text(&["6.1", "6.2"])),
                (OTHER_WORDS.to_owned(), text(&["quiet", "quiet extra root=..."])),
            ]
        );
        assert_eq!(unsteady(&all[..1], &conditions), Unsteady::default());
    }

    #[test]
    fn a_recorded_boot_is_read_and_an_empty_one_is_no_error() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
            std::fs::write(path, text).expect("a file");
        };
        put("proc/cmdline", "quiet nosmt\n");
        let root = Root::open(folder.path()).expect("a machine");
        let empty = BootFacts::read(&root, &Machine::default(), "1");
        assert_eq!((empty.boot_id.as_str(), empty.uptime_s), ("", None));
        put("proc/sys/kernel/random/boot_id", "11-22\n");
        put("proc/uptime", "71.5 100.0\n");
        let read = BootFacts::read(&root, &Machine::default(), "1");
        assert_eq!((read.boot_id.as_str(), read.command_line.as_str()), ("11-22", "quiet nosmt"));
        assert_eq!(read.uptime_s, Some(71.5));
        assert_eq!(read.facts.get("sidestep").map(String::as_str), Some("1"));
    }
}
