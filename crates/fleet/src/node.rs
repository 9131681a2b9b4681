//! Names of nodes, and where the record of a node lies below the drop directory.
//!
//! `DROP/3f/n00012/20261126T045412Z-1a2b3c4d.json.zst`: a folder for each node, and 256 folders above them, so that ten thousand
//! nodes make no directory of more than some hundred entries. The name of a node becomes the name of a folder, so only names that
//! schedulers give are taken; whatever a record says of itself is text, and never becomes a path.

use std::fmt;

use machine::keyed_hash;
use record::Provenance;

/// The longest name: of a host (RFC 1035, 2.3.4) and of most objects of Kubernetes.
const NAME_BYTES_MAX: usize = 253;
/// The ending of a record's file.
pub const ENDING: &str = ".json.zst";
/// A hash that only spreads names needs no secret.
const NO_SECRET: [u64; 2] = [0, 0];

/// A name that is safe as the name of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeName(
    // Letters, digits, '.', '-' and '_', and a letter or digit first: never a path, an option or a hidden file.
    String,
);

/// Why a text is no name of a node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{shown:?} is no name of a node; give letters, digits, '.', '-' and '_', a letter or digit first, at most 253 in all"
)]
pub struct NodeNameError {
    /// Its beginning.
    pub shown: String,
}

impl NodeName {
    /// Takes a text as a name.
    ///
    /// # Errors
    /// It could be something else than the name of one folder.
    pub fn parse(text: &str) -> Result<Self, NodeNameError> {
        let is_taken = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        let is_name = text.len() <= NAME_BYTES_MAX
            && text.bytes().all(is_taken)
            && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
        if is_name {
            return Ok(Self(text.to_owned()));
        }
        Err(NodeNameError { shown: text.chars().take(40).collect() })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folder of its records below the drop directory: `3f/n00012`.
    pub fn folder(&self) -> String {
        format!("{:02x}/{}", keyed_hash(NO_SECRET, self.0.as_bytes()) & 0xff, self.0)
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The name of a run in all rows: two runs that begin on one boot within one second differ by their seeds, and two of several nodes
/// on one host by the names of these.
pub fn run_id(provenance: &Provenance, node: &str) -> String {
    let unique = keyed_hash([provenance.seed, 0], node.as_bytes()) as u32;
    format!("{}-{unique:08x}", provenance.run_name())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::{Component, Path};

    use super::*;

    #[test]
    fn a_hostile_name_is_refused_and_the_error_shows_it_harmlessly() {
        let long = "n".repeat(254);
        for name in [
            "",
            ".",
            "..",
            "../../etc",
            "a/b",
            "/etc",
            "-rf",
            ".hidden",
            "a b",
            "a\0b",
            "a\nb",
            "\u{202e}a",
            "ä",
            "x'; drop table nodes; --",
            "<script>alert(1)</script>",
            "$(reboot)",
            "a\\b",
            "a:b",
            "%2e%2e",
            &long,
        ] {
            let error = NodeName::parse(name).expect_err(name).to_string();
            assert!(!error.contains(['\n', '\0', '\u{202e}']) && error.len() < 200, "{error}");
        }
    }

    #[test]
    fn ten_thousand_nodes_make_no_directory_of_more_than_some_hundred_entries() {
        let mut nodes_of: BTreeMap<String, usize> = BTreeMap::new();
        for number in 0..10_000 {
            let folder = NodeName::parse(&format!("n{number:05}")).expect("a name").folder();
            let (shard, _) = folder.split_once('/').expect("two parts");
            *nodes_of.entry(shard.to_owned()).or_default() += 1;
            let parts: Vec<Component<'_>> = Path::new(&folder).components().collect();
            assert!(parts.len() == 2 && parts.iter().all(|part| matches!(part, Component::Normal(_))));
        }
        assert!(nodes_of.len() <= 256 && nodes_of.values().all(|count| *count < 100), "{nodes_of:?}");
    }

    #[test]
    fn a_run_is_named_by_start_boot_and_seed_whatever_these_hold() {
        let mut provenance = Provenance {
            started_utc: "2026-11-26T04:54:12Z".to_owned(),
            boot_id: Some("1A2b3c4d-5e6f".to_owned()),
            seed: 0x1_0000_00ff,
            ..Provenance::default()
        };
        assert_eq!(provenance.run_name(), "20261126T045412Z-1A2b3c4d");
        let id = run_id(&provenance, "n1");
        assert!(id.starts_with("20261126T045412Z-1A2b3c4d-") && id.len() == 34, "{id}");
        assert_eq!(run_id(&provenance, "n1"), id);
        assert_ne!(run_id(&provenance, "n2"), id);
        provenance.seed += 1;
        assert_ne!(run_id(&provenance, "n1"), id);
        provenance.started_utc = "../../<b>'; --".to_owned();
        provenance.boot_id = None;
        assert_eq!(provenance.run_name(), "b-00000000");
    }
}
