//! What is left out of a record because people share it: values of the kernel's command line that may name a disk, an address
//! or a password, and folders, whose names are often those of users.

use machine::shareable_command_line;

use crate::Record;

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
