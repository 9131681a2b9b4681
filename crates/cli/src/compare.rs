//! `sidestep compare`: records or imported results side by side.

mod criterion_folder;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use experiments::compare::{
    Configuration, Options, SourceKind, configuration_of_record, is_class_slower_by, is_slower_by,
    read as import,
};
use experiments::history::{entry, is_same_machine};
use record::{ComparisonTable, HistoryEntry, Record};
use stats::Verdict;

use crate::forms::Forms;
use crate::history::Store;
use crate::options::{Global, parse_percent};
use crate::outcome::Outcome;
use crate::{output, store};

/// Options of `compare`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CompareArguments {
    /// Records, folders of runs, or results: of hyperfine, Phoronix, Google Benchmark, JMH, pytest-benchmark, Go, criterion, perf stat,
    /// fio, or CSV with name, unit, better, group and values. Several runs of one configuration are joined by commas; NAME= in front names it
    #[arg(required = true, value_name = "[NAME=]A[,A2...]")]
    pub(crate) inputs: Vec<String>,
    /// Compare with this configuration, by number or name, instead of the first
    #[arg(long, value_name = "N|NAME")]
    pub(crate) baseline: Option<String>,
    /// Differences up to this are of no practical matter [default: 1% for micro-benchmarks, 2% for applications]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub(crate) margin: Option<f64>,
    /// Also average without this group, such as memory; may be given several times
    #[arg(long, value_name = "GROUP")]
    pub(crate) without: Vec<String>,
    /// Earlier records of the baseline's machine, or folders of them: how far its runs spread is taken from these; may be given
    /// several times [default: the check-ups with the same plan that this user's history holds of that machine]
    #[arg(long, value_name = "DIR|FILE[,FILE...]", value_delimiter = ',')]
    pub(crate) history: Vec<PathBuf>,
    /// Use no earlier records
    #[arg(long, conflicts_with = "history")]
    pub(crate) no_history: bool,
    #[command(flatten)]
    pub(crate) forms: Forms,
    /// Exit with 1 when a test or a class of tests got slower with confidence, by more than this percentage if one is given; and when
    /// runs of a program failed
    #[arg(
        long,
        value_name = "PERCENT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0",
        value_parser = parse_percent
    )]
    pub(crate) gate: Option<f64>,
}

/// Compares and prints in the form asked for.
pub(crate) fn compare(arguments: &CompareArguments, global: &Global) -> anyhow::Result<Outcome> {
    let is_margin = |word: &&String| word.ends_with('%') && parse_percent(word).is_ok();
    if let Some(word) = arguments.inputs.iter().find(is_margin).filter(|word| !Path::new(word).exists()) {
        anyhow::bail!(
            "cannot read {word}: there is no such file; give the margin of the gate as --gate={word}"
        );
    }
    let sources = read_all(&arguments.inputs)?;
    let options = Options {
        baseline: arguments.baseline.clone(),
        margin_percent: arguments.margin,
        without: arguments.without.clone(),
        own_history: arguments.history.is_empty(),
    };
    let earlier = match arguments.history.as_slice() {
        [] if arguments.no_history => Vec::new(),
        [] => own_history(&Store::of_user(), &sources),
        given => history(given)?,
    };
    let (configurations, records): (Vec<Configuration>, Vec<_>) =
        sources.into_iter().map(|one| (one.configuration, one.record)).unzip();
    let table = experiments::compare::compare(configurations, &earlier, &options)?;
    // Pictures are on the page alone.
    let records = records.iter().filter(|_| arguments.forms.html.is_some()).map(Option::as_ref);
    let typed: Vec<String> =
        std::env::args().skip(1).map(|argument| record::shareable_argument(&argument)).collect();
    let page = report::comparison_page(&table, &records.collect::<Vec<_>>(), &typed);
    arguments.forms.print(&page, &table, global)?;
    Ok(outcome(&table, arguments, global))
}

/// What `--gate` and `--strict` make of a comparison.
fn outcome(table: &ComparisonTable, arguments: &CompareArguments, global: &Global) -> Outcome {
    let is_slower = |percent: f64| {
        table.rows.iter().any(|row| is_slower_by(row, percent))
            || table.classes.iter().any(|class| is_class_slower_by(class, percent))
            || table.memory.iter().any(|one| one.verdict == Verdict::Slower && one.change_percent > percent)
    };
    if arguments.gate.is_some_and(|percent| is_slower(percent) || !table.failed.is_empty()) {
        Outcome::Gated
    } else if global.strict && table.rows.iter().any(|row| row.verdict == Verdict::Inconclusive) {
        Outcome::Inconclusive
    } else {
        Outcome::Done
    }
}

/// Names of files that say nothing of what is in them; the folder does.
const RECORD_STEM: &str = "record";

/// So many of the last check-ups of a machine are read: with these the state of the host that both sides met weighs most, and a comparison
/// stays within a second. Unknown: where the best number lies; hosts that keep one state for weeks could show.
const OWN_HISTORY_MOST: usize = 40;

/// One configuration, with its record where it is one: pictures are drawn from that.
struct Source {
    configuration: Configuration,
    record: Option<Record>,
}

/// Reads all inputs in their order; one file may hold several configurations.
fn read_all(inputs: &[String]) -> anyhow::Result<Vec<Source>> {
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
fn history(paths: &[PathBuf]) -> anyhow::Result<Vec<Configuration>> {
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

/// What a history holds of the machine that all sources are of, up to the last of them: check-ups with a plan that one of them has, the
/// newest ones. Nothing if a source is no record, or they are of several machines. A history that cannot be read is one line.
fn own_history(store: &Store, sources: &[Source]) -> Vec<Configuration> {
    let compared: Option<Vec<HistoryEntry>> =
        sources.iter().map(|source| source.record.as_ref().map(entry)).collect();
    let Some((first, others)) = compared.as_deref().and_then(<[_]>::split_first) else { return Vec::new() };
    if !others.iter().all(|other| is_same_machine(&first.fingerprint, &other.fingerprint)) {
        return Vec::new();
    }
    let starts = sources.iter().flat_map(|source| &source.configuration.starts_utc);
    let last = starts.max().cloned().unwrap_or_default();
    let found = match store.read() {
        Ok(found) => found,
        Err(why) => {
            output::complain(&format!("the history is not used: {why:#}"));
            return Vec::new();
        }
    };
    let is_alike = |earlier: &HistoryEntry| {
        is_same_machine(&first.fingerprint, &earlier.fingerprint)
            && std::iter::once(first).chain(others).any(|one| one.plan == earlier.plan)
    };
    let usable = found.entries.iter().filter(|(_, earlier)| earlier.started_utc < last && is_alike(earlier));
    // The file was judged when its entry was read; one that is gone or spoiled since is one fewer.
    let records = usable.rev().filter_map(|(file, _)| Some((file, store.record(file).ok()?)));
    records.take(OWN_HISTORY_MOST).map(|(file, record)| configuration_of_record(file, &record)).collect()
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
    let kept = if path.is_dir() && !store::is_record(path) { criterion_folder::lines(path) } else { None };
    let (file, bytes) = kept.map_or_else(|| store::read(path), |lines| Ok((path.to_owned(), lines)))?;
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
    use machine::Bytes;
    use record::SCHEMA;

    use super::*;

    #[test]
    fn a_record_is_called_as_its_folder_and_a_table_as_its_file() {
        assert_eq!(name_of(Path::new("before/record.json.zst")), "before");
        assert_eq!(name_of(Path::new("a/no-patch.csv")), "no-patch");
        assert_eq!(name_of(Path::new("record.json")), "record");
    }

    /// A record of that minute, with a plan of so many seconds, on a machine of that memory.
    fn record(minute: usize, budget_s: f64, memory: Bytes) -> Record {
        let mut record = Record { schema: SCHEMA, ..Record::default() };
        record.provenance.started_utc = format!("2026-01-01T00:{minute:02}:00Z");
        record.plan.budget_s = budget_s;
        record.machine.environment.memory_bytes = Some(memory);
        record
    }

    fn source(record: Record) -> Source {
        Source { configuration: configuration_of_record("", &record), record: Some(record) }
    }

    #[test]
    fn the_own_history_is_of_the_same_machine_and_plan_and_of_before_the_last_run() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::at(Some(&folder.path().join("history")));
        let here = Bytes(8 << 30);
        let kept =
            [(1, 10.0, here), (2, 60.0, here), (3, 10.0, Bytes(64 << 30)), (4, 10.0, here), (9, 10.0, here)];
        for (minute, budget_s, memory) in kept {
            store.append(&record(minute, budget_s, memory)).expect("writable");
        }
        let of = |sources: &[Source]| -> Vec<String> {
            own_history(&store, sources).into_iter().flat_map(|one| one.starts_utc).collect()
        };
        let minutes = |found: Vec<String>| -> Vec<String> {
            found.iter().map(|start| start[14..16].to_owned()).collect()
        };
        let pair = [source(record(4, 10.0, here)), source(record(6, 10.0, here))];
        // The run at minute 4 is one of those compared: `compare` leaves it out.
        assert_eq!(minutes(of(&pair)), ["04", "01"]);
        let other_plan = [source(record(6, 10.0, here)), source(record(7, 60.0, here))];
        assert_eq!(minutes(of(&other_plan)), ["04", "02", "01"]);
        let two_machines = [source(record(6, 10.0, here)), source(record(7, 10.0, Bytes(1 << 30)))];
        assert!(of(&two_machines).is_empty());
        let imported = Source { record: None, ..source(record(6, 10.0, here)) };
        assert!(of(&[imported, source(record(7, 10.0, here))]).is_empty());
    }

    #[test]
    fn names_stand_before_an_equals_sign_and_runs_between_commas() {
        assert_eq!(split("old=x1,x2"), (Some("old"), vec!["x1", "x2"]));
        assert_eq!(split("a/b=c"), (None, vec!["a/b=c"]));
        assert_eq!(split("x1"), (None, vec!["x1"]));
    }
}
