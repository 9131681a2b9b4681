//! Who measured, when, with which version, under which conditions.

use machine::{CpuSet, shareable_command_line};
use serde::{Deserialize, Serialize};

use crate::Record;

/// So many digits of a boot's name distinguish it from another.
pub(crate) const BOOT_DIGITS: usize = 8;

/// Origin of a record.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Provenance {
    /// Version of sidestep.
    pub tool_version: String,
    /// Arguments after the program's name; of paths the last part.
    pub arguments: Vec<String>,
    /// When the run began, UTC, RFC 3339.
    pub started_utc: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Host name, only when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
    /// Name of the node in its fleet, only where the record is for a fleet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// What started the run on this node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<Engine>,
    /// The experiment of the fleet that the run is a part of; `None` for an ordinary check-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// The arm of that experiment which this node was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// Hash of the serial numbers of system, board and memory, under a key that only the fleet has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serials_hash: Option<String>,
    /// Version of the inner loops, `kernels::KERNEL_SET`; `None` in records that do not say, which have the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_set: Option<u32>,
    /// The boot it ran in, as the kernel names it (`/proc/sys/kernel/random/boot_id`): a new one at every boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// True if the record holds every value of the kernel's command line, as was asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub full_command_line: bool,
    /// CPUs that were measured.
    pub cpus: CpuSet,
    /// Time budget in seconds.
    pub budget_s: f64,
    /// Effective user is root.
    pub root: bool,
    /// What the run had to do without, and why: one line each.
    pub without: Vec<String>,
    /// Windows that were made longer on purpose: such a record says nothing of its machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub planted: Vec<Planted>,
}

impl Provenance {
    /// Start and boot of a run, as its file is called: `20261126T045412Z-1a2b3c4d`.
    pub fn run_name(&self) -> String {
        let time: String = self.started_utc.chars().filter(char::is_ascii_alphanumeric).take(16).collect();
        let boot = self.boot_id.as_deref().unwrap_or_default();
        let boot: String = boot.chars().filter(char::is_ascii_hexdigit).take(BOOT_DIGITS).collect();
        format!("{time}-{boot:0>8}")
    }
}

/// Seconds since 1970 of `2026-11-21T02:18:46Z`; `None` for anything else.
pub fn seconds_of_utc(text: &str) -> Option<u64> {
    let separators = [(4, '-'), (7, '-'), (13, ':'), (16, ':')];
    let compact: String = text.chars().filter(|c| !matches!(c, '-' | ':')).collect();
    let is_extended = text.len() == 20
        && separators
            .iter()
            .all(|(at, separator)| text.get(*at..).is_some_and(|rest| rest.starts_with(*separator)));
    seconds_of_compact_utc(&compact).filter(|_| is_extended)
}

/// Seconds since 1970 of `20261121T021846Z`, as it stands in names; `None` for anything else.
///
/// H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
pub fn seconds_of_compact_utc(text: &str) -> Option<u64> {
    let mut shape = text.bytes().zip(*b"00000000T000000Z");
    let is_shaped =
        shape.all(|(byte, shape)| if shape == b'0' { byte.is_ascii_digit() } else { byte == shape });
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(4, 6)?, number(6, 8)?);
    let (hour, minute, second) = (number(9, 11)?, number(11, 13)?, number(13, 15)?);
    let is_time = text.len() == 16
        && is_shaped
        && year >= 1970
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour <= 23
        && minute <= 59
        && second <= 60;
    if !is_time {
        return None;
    }
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// What started a run: a scheduler, with its names of the job and its parts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Engine {
    /// `slurm`, `kubernetes`, `ansible`.
    pub name: String,
    /// Number or name of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Number of the step within the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Number of the task within the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// A difference planted to see whether it is found: the windows of some rows, as the sampler returns them, times a factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Planted {
    /// A part of the names of raw series, or `class:` and the name of a class of them.
    pub row: String,
    /// Longer by this factor, above 0.
    pub factor: f64,
}

/// Part of a kernel message that repeats the command line.
const REPEATS_COMMAND_LINE: &str = "command line";

impl Record {
    /// Leaves out what should not be shared, unless all was asked for when it was measured. Records of older versions hold
    /// everything, and are read as if they did not.
    pub fn withhold(&mut self) {
        if !self.provenance.full_command_line {
            let evidence = self.flaw_evidence.as_mut();
            let lines = [&mut self.machine.environment.command_line].into_iter();
            for line in lines.chain(evidence.map(|evidence| &mut evidence.command_line)).flatten() {
                *line = shareable_command_line(line);
            }
            if let Some(evidence) = &mut self.flaw_evidence {
                evidence.messages.retain(|message| !repeats_command_line(message));
            }
        }
        for argument in &mut self.provenance.arguments {
            *argument = shareable_argument(argument);
        }
    }
}

/// Whether a kernel message holds the command line or a part of it: `Kernel command line: ...`, `Unknown kernel command line
/// parameters ...`. Linux, init/main.c.
pub fn repeats_command_line(message: &str) -> bool {
    message.to_lowercase().contains(REPEATS_COMMAND_LINE)
}

/// An argument without the folders of a path: `--record=/home/somebody/first` is `--record=first`.
pub fn shareable_argument(argument: &str) -> String {
    let (option, path) = match argument.split_once('=').filter(|(option, _)| option.starts_with("--")) {
        Some((option, path)) => (format!("{option}="), path),
        None => (String::new(), argument),
    };
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    format!("{option}{}", if name.is_empty() { path } else { name })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoding, FlawEvidence, SCHEMA, decode, encode};

    fn record(full_command_line: bool) -> Record {
        let line = Some("root=UUID=12 nosmt user.key=secret".to_owned());
        let mut record = Record { schema: SCHEMA, ..Record::default() };
        record.machine.environment.command_line.clone_from(&line);
        record.provenance.full_command_line = full_command_line;
        record.provenance.arguments = vec!["--record=/home/somebody/first".to_owned()];
        let message = "Kernel command line: spectre_v2=off user.key=secret".to_owned();
        let messages = vec![message, "Spectre V2 : Vulnerable".to_owned()];
        record.flaw_evidence = Some(FlawEvidence { command_line: line, messages, ..FlawEvidence::default() });
        record
    }

    #[test]
    fn a_record_of_an_older_version_is_read_without_what_should_not_be_shared() {
        let mut value = serde_json::to_value(record(false)).expect("a record is JSON");
        let provenance = value["provenance"].as_object_mut().expect("an object");
        provenance.remove("full_command_line");
        let read = decode(value.to_string().as_bytes()).expect("an older record");
        let text = serde_json::to_string(&read).expect("a record is JSON");
        for left_out in ["UUID", "secret", "somebody"] {
            assert!(!text.contains(left_out), "{left_out}: {text}");
        }
        for kept in ["root=... nosmt user.key=...", "Spectre V2 : Vulnerable", "--record=first"] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
    }

    #[test]
    fn times_follow_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_102_444_800, "2100-01-01T00:00:00Z"),
        ] {
            assert_eq!(seconds_of_utc(text), Some(seconds));
        }
        for wrong in [
            "1969-12-31T23:59:59Z",
            "2024-13-01T00:00:00Z",
            "2024-01-01 00:00:00Z",
            "2024-01-01T00:00:00",
            "20240101T000000Z",
            "2024-01-01T00:0:000Z",
            "",
            "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}",
        ] {
            assert_eq!(seconds_of_utc(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_was_kept_on_demand_stays_kept() {
        let bytes = encode(&record(true), Encoding::Json).expect("a record");
        let read = decode(&bytes).expect("the same record");
        assert_eq!(read.machine.environment.command_line, record(true).machine.environment.command_line);
        assert_eq!(read.flaw_evidence, record(true).flaw_evidence);
    }

    #[test]
    fn arguments_lose_the_folders_of_paths_only() {
        for (argument, expected) in [
            ("--record", "--record"),
            ("/home/somebody/first/", "first"),
            ("~/first.json", "first.json"),
            ("--record=../somebody/first", "--record=first"),
            ("--cpus=0-3", "--cpus=0-3"),
            ("0-3,8", "0-3,8"),
            ("/", "/"),
            ("", ""),
        ] {
            assert_eq!(shareable_argument(argument), expected, "{argument}");
        }
    }
}
