//! Every record below a drop directory, read on all CPUs and handed on in the order of the files.
//!
//! Others may write to the directory meanwhile: what is half written, no record, or a second copy of one is named and left out.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::Path;
use std::thread;

use fleet::rows::{Flattened, Names, Origin, flatten};
use host::live::start_thread;
use record::{FLEET_ROWS_SCHEMA, FleetRows, NodeRow, UnreadFile, decode_for_rows};

use super::drop_directory::{Found, found_below};
use crate::store;

/// Records that one thread reads before what it made is taken: some megabytes.
const RECORDS_AT_A_TIME: usize = 32;
/// More threads wait for the disk.
const THREADS_MAX: usize = 16;
/// A record without its raw windows has under a megabyte; with them, of many CPUs, a hundred times that.
const RECORD_BYTES_MAX: u64 = 512 << 20;

/// What became of one file.
struct Read<T> {
    node: NodeRow,
    states: u64,
    made: T,
}

/// Makes something of the rows of every record, on all CPUs, and hands it on in the order of the files.
///
/// # Errors
/// The directory cannot be listed, holds no record, or what `take` says.
pub(super) fn each<T: Send>(
    drop: &Path,
    make: impl Fn(Flattened) -> anyhow::Result<T> + Sync,
    mut take: impl FnMut(T) -> anyhow::Result<()>,
) -> anyhow::Result<FleetRows> {
    let (files, mut unread) = found_below(drop)?;
    let mut rows = FleetRows { schema: FLEET_ROWS_SCHEMA, ..FleetRows::default() };
    let (mut names, mut runs) = (Names::default(), BTreeMap::new());
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX);
    for some in files.chunks(RECORDS_AT_A_TIME * threads) {
        for (file, read) in some.iter().zip(all_read(some, &make)) {
            let name = file.name.clone();
            let Read { node, states, made } = match read {
                Ok(read) => read,
                Err(reason) => {
                    unread.push(UnreadFile { file: name, reason });
                    continue;
                }
            };
            let run = (node.node.clone(), node.run_id.clone());
            if let Some(first) = runs.get(&run) {
                unread.push(UnreadFile { file: name, reason: format!("the same run as {first}") });
                continue;
            }
            runs.insert(run, name);
            names.add(&node);
            rows.records += 1;
            rows.partial += u64::from(node.partial.is_some());
            rows.metrics += node.metrics;
            rows.states += states;
            take(made)?;
        }
    }
    unread.sort_by(|a, b| a.file.cmp(&b.file));
    let first = unread.first().map_or_else(String::new, |one| format!("; {}: {}", one.file, one.reason));
    anyhow::ensure!(
        rows.records > 0,
        "{} holds no record that can be read{first}; name the directory of sidestep run --drop",
        drop.display()
    );
    rows.nodes = names.count() as u64;
    rows.ambiguous = names.ambiguous();
    Ok(FleetRows { unread, ..rows })
}

/// Reads files on all CPUs; results stand in the order of the files.
fn all_read<T: Send>(
    files: &[Found],
    make: &(impl Fn(Flattened) -> anyhow::Result<T> + Sync),
) -> Vec<Result<Read<T>, String>> {
    let part = |files: &[Found]| files.iter().map(|file| read(file, make)).collect::<Vec<_>>();
    let mut parts = files.chunks(RECORDS_AT_A_TIME);
    let Some(own) = parts.next() else { return Vec::new() };
    thread::scope(|scope| {
        let started: Vec<_> = parts
            .map(|files| (files, start_thread(scope, "a reader of records", move || part(files))))
            .collect();
        let mut read = part(own);
        for (files, thread) in started {
            // Where no thread may be started, this one does its work.
            let others = thread.ok().map(|thread| thread.join().expect("a reader does not panic"));
            read.extend(others.unwrap_or_else(|| part(files)));
        }
        read
    })
}

/// What is made of one file, or why it gives no rows.
fn read<T>(file: &Found, make: impl Fn(Flattened) -> anyhow::Result<T>) -> Result<Read<T>, String> {
    let bytes = store::read_bounded(&file.path, RECORD_BYTES_MAX, "record")
        .map_err(|why| why.root_cause().to_string())?;
    let mut record = decode_for_rows(&bytes).map_err(|why| why.to_string())?;
    // A run that was killed has no levels yet; they name the families of metrics.
    diagnosis::name_levels(&mut record);
    let rows =
        flatten(&record, Origin { file: &file.name, node: &file.node }).map_err(|why| why.to_string())?;
    let (node, states) = (rows.node.clone(), rows.states.len() as u64);
    Ok(Read { node, states, made: make(rows).map_err(|why| why.to_string())? })
}
