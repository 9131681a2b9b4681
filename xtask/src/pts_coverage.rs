//! `cargo xtask pts-coverage`: of how many public Phoronix profiles the reader understands every part.
//!
//! The profiles are not part of this repository: whoever wants to know clones the collection and names its folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use workloads::pts;

use crate::totals::Totals;

/// Of how many public Phoronix profiles the reader understands every part
///
/// Reads the newest version of every profile and holds each ResultsParser against its own template.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The collection: folders NAME-VERSION with test-definition.xml and results-definition.xml
    #[arg(long, value_name = "DIR")]
    profiles: PathBuf,
    /// Fail below so many profiles of which everything is understood
    #[arg(long, default_value_t = AT_LEAST)]
    at_least: usize,
    /// Say what is not understood, profile by profile
    #[arg(long)]
    all: bool,
}

/// Profiles of the public collection that must be understood.
const AT_LEAST: usize = 430;

/// `cargo xtask pts-coverage`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    let at_least = arguments.at_least;
    let newest = newest(&arguments.profiles)?;
    let (mut understood, mut timed) = (0, 0);
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for (name, (_, path)) in &newest {
        let failed = failures(path, &mut timed);
        understood += usize::from(failed.is_empty());
        for why in &failed {
            // What differs from profile to profile is left out of the sum.
            let kind = why.split_once(": ").map_or(why.as_str(), |(_, kind)| kind);
            let kind = kind.split(" gives ").next().unwrap_or(kind);
            *reasons.entry(kind.to_owned()).or_default() += 1;
            if arguments.all {
                println!("{name}: {why}");
            }
        }
    }
    for (why, count) in &reasons {
        println!("{count:>4}  {why}");
    }
    println!("{understood} of {} profiles understood, {timed} of them timed as a whole", newest.len());
    let line = format!("pts-coverage: {understood} profiles understood; at least {at_least} must be");
    Ok(Totals::one(understood >= at_least, line))
}

/// What is not understood of a profile.
fn failures(path: &Path, timed: &mut usize) -> Vec<String> {
    let text = |name: &str| std::fs::read_to_string(path.join(name));
    let definition = text("test-definition.xml").unwrap_or_default();
    match pts::read(&definition, text("results-definition.xml").ok().as_deref()) {
        Ok(profile) => {
            *timed += usize::from(profile.is_timed);
            profile.rehearse()
        }
        Err(error) => vec![error.to_string()],
    }
}

/// A version as numbers, which sort.
type Version = Vec<u32>;

/// The newest version of each profile.
fn newest(folder: &Path) -> anyhow::Result<BTreeMap<String, (Version, PathBuf)>> {
    let mut newest: BTreeMap<String, (Version, PathBuf)> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry.context("cannot list profiles")?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((name, version)) = name.rsplit_once('-') else { continue };
        let Ok(version) = version.split('.').map(str::parse).collect::<Result<Version, _>>() else {
            continue;
        };
        if newest.get(name).is_none_or(|(known, _)| *known < version) {
            newest.insert(name.to_owned(), (version, path));
        }
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_of_a_profile_counts() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let profile = |name: &str, results: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(&path).expect("writable");
            let title =
                "<PhoronixTestSuite><TestInformation><Title>A</Title></TestInformation></PhoronixTestSuite>";
            std::fs::write(path.join("test-definition.xml"), title).expect("writable");
            let results = format!("<PhoronixTestSuite>{results}</PhoronixTestSuite>");
            std::fs::write(path.join("results-definition.xml"), results).expect("writable");
        };
        let good = "<ResultsParser><OutputTemplate>t #_RESULT_#</OutputTemplate></ResultsParser>";
        profile("a-b-1.9.0", "<ImageParser/>");
        profile("a-b-1.10.0", good);
        profile("c-1.0.0", "<ImageParser/>");
        profile("not-versioned", good);
        let run = |at_least: usize| {
            let profiles = folder.path().to_owned();
            run(&Arguments { profiles, at_least, all: false }).expect("profiles").failed
        };
        assert_eq!((run(1), run(2)), (0, 1));
    }
}
