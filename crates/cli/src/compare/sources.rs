//! The files that are compared: found, read, named.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use experiments::compare::{Configuration, SourceKind, read as import};
use record::Record;

use crate::store;

/// Names of files that say nothing of what is in them; the folder does.
const RECORD_STEM: &str = "record";

/// One configuration, with its record where it is one: pictures are drawn from that.
pub(super) struct Source {
    pub(super) configuration: Configuration,
    pub(super) record: Option<Record>,
}

/// Reads all inputs in their order; one file may hold several configurations.
pub(super) fn read(inputs: &[String]) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    for input in inputs {
        let (name, paths) = split(input);
        let mut joined: Option<Source> = None;
        for path in paths {
            let mut found = read_one(name, Path::new(path))?;
            match joined.as_mut() {
                None if found.len() > 1 => sources.append(&mut found),
                None => joined = found.pop(),
                Some(first) => {
                    anyhow::ensure!(
                        found.len() == 1,
                        "{path} holds {} configurations, which cannot be runs of one",
                        found.len()
                    );
                    for more in found {
                        first.configuration.absorb(more.configuration);
                    }
                }
            }
        }
        sources.extend(joined);
    }
    Ok(sources)
}

/// The records of earlier runs: files, folders of one run, and folders of many. What else a folder of many holds is passed over.
pub(super) fn history(paths: &[PathBuf]) -> anyhow::Result<Vec<Configuration>> {
    let mut earlier = Vec::new();
    for path in paths {
        if !path.is_dir() || store::read(path).is_ok() {
            earlier.extend(read_one(None, path)?);
            continue;
        }
        let entries = fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut inside: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        inside.sort();
        let before = earlier.len();
        earlier.extend(inside.iter().filter_map(|one| read_one(None, one).ok()).flatten());
        anyhow::ensure!(
            earlier.len() > before,
            "{} holds no record; give the folder that holds those of earlier runs",
            path.display()
        );
    }
    Ok(earlier.into_iter().map(|source| source.configuration).collect())
}

/// The name in front of `=`, and the paths between commas. What exists as it is written is one path.
fn split(input: &str) -> (Option<&str>, Vec<&str>) {
    if Path::new(input).exists() {
        return (None, vec![input]);
    }
    let (name, rest) = match input.split_once('=') {
        Some((name, rest)) if !name.is_empty() && !name.contains('/') => (Some(name), rest),
        _ => (None, input),
    };
    let paths = if Path::new(rest).exists() { vec![rest] } else { rest.split(',').collect() };
    (name, paths)
}

fn read_one(name: Option<&str>, path: &Path) -> anyhow::Result<Vec<Source>> {
    let (file, bytes) = store::read(path)?;
    let own_name = name.map_or_else(|| name_of(&file), str::to_owned);
    let unusable = || format!("cannot use {}", file.display());
    let configurations = import(&own_name, &bytes).with_context(unusable)?;
    configurations
        .into_iter()
        .map(|configuration| {
            let is_record = configuration.kind == SourceKind::Record;
            let record = is_record.then(|| record::decode(&bytes)).transpose().with_context(unusable)?;
            Ok(Source { configuration, record })
        })
        .collect()
}

/// The stem of the file, or the folder's name if the file is called as all records are.
fn name_of(file: &Path) -> String {
    let stem = file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let stem = stem.split('.').next().unwrap_or_default().to_owned();
    if stem != RECORD_STEM {
        return stem;
    }
    let folder = file.parent().and_then(Path::file_name);
    folder.map_or(stem, |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_called_as_its_folder_and_a_table_as_its_file() {
        assert_eq!(name_of(Path::new("before/record.json.zst")), "before");
        assert_eq!(name_of(Path::new("a/no-patch.csv")), "no-patch");
        assert_eq!(name_of(Path::new("record.json")), "record");
    }

    #[test]
    fn names_stand_before_an_equals_sign_and_runs_between_commas() {
        assert_eq!(split("old=x1,x2"), (Some("old"), vec!["x1", "x2"]));
        assert_eq!(split("a/b=c"), (None, vec!["a/b=c"]));
        assert_eq!(split("x1"), (None, vec!["x1"]));
    }
}
