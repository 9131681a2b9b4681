//! All workloads: every file of `workloads/`, checked one by one and as a whole.

use std::sync::LazyLock;

use machine::did_you_mean;
use record::{TomlError, read_toml};

use crate::{Suite, Workload};

/// The files as they were built in: name and text.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/catalogue_files.rs"));

/// Turns outside of this many seconds are too short to time or too long to repeat.
const TURN_S: std::ops::RangeInclusive<f64> = 0.1..=60.0;

/// Why a text is no workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// It is not TOML, a key is missing, unknown or of another type, or it says something impossible.
    #[error("{place}: {key}: {reason}; docs/workloads.md shows what a file holds")]
    File {
        /// Name of the file, and the line where it is known.
        place: String,
        /// The key, or `file` where none is concerned.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// No workload has this name.
    #[error("no workload is called {name}; {meant}sidestep workloads lists them")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The nearest name in a phrase, or nothing.
        meant: String,
    },
}

/// The built-in workloads, by id.
pub fn all() -> &'static [Workload] {
    static ALL: LazyLock<Vec<Workload>> = LazyLock::new(|| {
        let mut all: Vec<Workload> = FILES
            .iter()
            .map(|(file, text)| read(file, text).expect("a test reads every built-in workload"))
            .collect();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all
    });
    &ALL
}

/// The workloads of a suite, by group and then id.
pub fn suite(suite: Suite) -> Vec<&'static Workload> {
    let mut those: Vec<&Workload> = all().iter().filter(|one| one.suites.contains(&suite)).collect();
    those.sort_by_key(|one| &one.group);
    those
}

/// The built-in workload of this id.
///
/// # Errors
/// There is none.
pub fn find(id: &str) -> Result<&'static Workload, WorkloadError> {
    all().iter().find(|one| one.id == id).ok_or_else(|| WorkloadError::Unknown {
        name: id.to_owned(),
        meant: did_you_mean(id, all().iter().map(|one| one.id.as_str())),
    })
}

/// Reads a workload from the text of a file.
///
/// # Errors
/// It is none; the file and the key are named.
pub fn read(file: &str, text: &str) -> Result<Workload, WorkloadError> {
    let workload: Workload = read_toml(text).map_err(|TomlError { line, path, reason }| {
        let key = if path == "." { "file".to_owned() } else { path };
        WorkloadError::File { place: format!("{file}:{line}"), key, reason }
    })?;
    match complaint(&workload, file) {
        Some((key, reason)) => {
            Err(WorkloadError::File { place: file.to_owned(), key: key.to_owned(), reason })
        }
        None => Ok(workload),
    }
}

/// What a workload says that cannot be, and under which key.
fn complaint(workload: &Workload, file: &str) -> Option<(&'static str, String)> {
    let name = file.rsplit('/').next().unwrap_or(file);
    let is_word = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_alphanumeric())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte))
    };
    if !is_word(&workload.id) || format!("{}.toml", workload.id) != name {
        return Some(("id", format!("{:?} is not the file's name", workload.id)));
    }
    let is_empty = [
        ("title", workload.title.trim().is_empty()),
        ("group", workload.group.trim().is_empty()),
        ("command", workload.command.trim().is_empty()),
        ("licence", workload.licence.trim().is_empty()),
        ("suites", workload.suites.is_empty()),
        ("stresses", workload.stresses.is_empty()),
    ];
    if let Some((key, _)) = is_empty.into_iter().find(|(_, is_empty)| *is_empty) {
        return Some((key, "it says nothing".to_owned()));
    }
    if workload.suites.contains(&Suite::Article) != workload.article_row.is_some() {
        return Some(("article_row", "a workload of the suite article has one, and no other".to_owned()));
    }
    for (key, packages) in [("debian", &workload.debian), ("fedora", &workload.fedora)] {
        // They become part of a command line that people copy.
        if let Some(package) = packages.iter().find(|package| !is_word(package)) {
            return Some((key, format!("{package:?} is no name of a package")));
        }
    }
    if workload.debian.is_empty() != workload.fedora.is_empty() {
        return Some(("fedora", "name packages of both distributions, or of neither".to_owned()));
    }
    let seconds = workload.seconds_a_turn;
    (!TURN_S.contains(&seconds)).then(|| ("seconds_a_turn", format!("{seconds} is not in {TURN_S:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "id = \"a\"\ntitle = \"A\"\nsuites = [\"server\"]\ngroup = \"g\"\ncommand = \"true\"\n\
                         seconds_a_turn = 1.0\nthreads = 1\nstresses = [\"x\"]\nlicence = \"MIT\"\n";

    #[test]
    fn every_built_in_file_is_a_workload_with_a_name_of_its_own() {
        for (file, text) in FILES {
            if let Err(error) = read(file, text) {
                panic!("{error}");
            }
        }
        assert!(all().len() >= 24, "{}", all().len());
        assert!(all().windows(2).all(|pair| pair[0].id < pair[1].id));
        for suite in Suite::ALL {
            assert!(super::suite(suite).len() >= 3, "{suite:?}");
        }
        let mut rows: Vec<&String> = all().iter().filter_map(|one| one.article_row.as_ref()).collect();
        rows.sort();
        assert!(rows.windows(2).all(|pair| pair[0] != pair[1]), "{rows:?}");
        assert!(find("js-dom").is_ok());
        let unknown = find("nonsense").expect_err("there is none").to_string();
        assert!(unknown.contains("nonsense") && unknown.contains("sidestep workloads"), "{unknown}");
    }

    #[test]
    fn a_bad_file_is_named_with_its_key() {
        assert!(read("a.toml", SMALL).is_ok());
        for (from, to, expected) in [
            ("title = \"A\"\n", "", "a.toml:1: file: missing field `title`"),
            ("title = \"A\"", "titel = \"A\"", "a.toml:2: titel: unknown field `titel`"),
            ("seconds_a_turn = 1.0", "seconds_a_turn = \"1\"", "a.toml:6: seconds_a_turn: invalid type"),
            (
                "seconds_a_turn = 1.0",
                "seconds_a_turn = 600.0",
                "a.toml: seconds_a_turn: 600 is not in 0.1..=60",
            ),
            ("seconds_a_turn = 1.0", "seconds_a_turn = nan", "a.toml:6: file: nan stands for no quantity"),
            ("\"server\"", "\"servers\"", "a.toml:3: suites[0]: unknown variant `servers`"),
            ("[\"server\"]", "[]", "a.toml: suites: it says nothing"),
            ("id = \"a\"", "id = \"b\"", "a.toml: id: \"b\" is not the file's name"),
            ("[\"server\"]", "[\"article\"]", "a.toml: article_row: "),
            ("group", "debian = [\"a b\"]\ngroup", "a.toml: debian: \"a b\" is no name"),
            ("group", "debian = [\"-y\"]\ngroup", "a.toml: debian: \"-y\" is no name"),
            ("group", "debian = [\"git\"]\ngroup", "a.toml: fedora: name packages of both"),
            ("\"MIT\"", "\"MIT\"\n[metric]\npattern = '('", "a.toml:10: metric: "),
            ("\"MIT\"", "\"MIT\n", "a.toml:9: file: "),
        ] {
            let error = read("a.toml", &SMALL.replace(from, to)).expect_err(to).to_string();
            assert!(error.starts_with(expected) && error.ends_with("shows what a file holds"), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn another_script_makes_another_input() {
        let workload =
            |script: &str| read("a.toml", &format!("{SMALL}generate = {script:?}\n")).expect("a workload");
        // Test vectors of RFC draft-eastlake-fnv: "" and "a".
        assert_eq!(workload("").input_hash(), Some(0xcbf2_9ce4_8422_2325));
        assert_eq!(workload("a").input_hash(), Some(0xaf63_dc4c_8601_ec8c));
        assert_eq!(read("a.toml", SMALL).expect("a workload").input_hash(), None);
    }

    #[test]
    fn a_server_runs_in_each_turn_and_is_waited_for() {
        let server = "[server]\nstart = \"exec redis-server\"\nready = \"redis-cli ping\"\n";
        let script = read("a.toml", &format!("{SMALL}{server}")).expect("a workload").script();
        assert!(script.contains("(exec redis-server)") && script.ends_with("done\ntrue"), "{script}");
        assert_eq!(read("a.toml", SMALL).expect("a workload").script(), "true");
    }
}
