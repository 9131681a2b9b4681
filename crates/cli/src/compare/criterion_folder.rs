//! A folder in which criterion.rs keeps its samples, such as `target/criterion`: the last run of each benchmark below it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::store::read_bounded;

/// A hundred samples of a benchmark have 4 KiB.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// More folders than any project has below `target/criterion`.
const FOLDERS_MAX: usize = 20_000;
/// Where the last run of a benchmark lies.
const LAST_RUN: &str = "new";

/// The samples as the lines that `cargo criterion --message-format json` prints; `None` if there are none.
pub(super) fn lines(folder: &Path) -> Option<Vec<u8>> {
    let mut open = vec![folder.to_owned()];
    let mut found: Vec<String> = Vec::new();
    let mut seen = 0;
    while let Some(at) = open.pop().filter(|_| seen < FOLDERS_MAX) {
        seen += 1;
        let inside = fs::read_dir(&at).into_iter().flatten().flatten();
        // A link could lead round.
        open.extend(
            inside.filter(|one| one.file_type().is_ok_and(|kind| kind.is_dir())).map(|one| one.path()),
        );
        if at == folder || at.ends_with(LAST_RUN) {
            found.extend(line(&at));
        }
    }
    found.sort();
    (!found.is_empty()).then(|| found.concat().into_bytes())
}

/// What one folder holds of a benchmark, which is called as it says itself.
fn line(folder: &Path) -> Option<String> {
    let read = |name: &str| -> Option<Value> {
        let file: PathBuf = folder.join(name);
        let bytes = read_bounded(&file, FILE_BYTES_MAX, "file of criterion").ok()?;
        record::json_values(&bytes).ok()?.into_iter().next()
    };
    let sample = read("sample.json")?;
    let id = read("benchmark.json").and_then(|benchmark| benchmark["full_id"].as_str().map(str::to_owned));
    let above = || folder.parent()?.file_name().map(|name| name.to_string_lossy().into_owned());
    let message = json!({
        "id": id.or_else(above), "reason": "benchmark-complete", "unit": "ns",
        "iteration_count": sample["iters"], "measured_values": sample["times"],
    });
    Some(format!("{message}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_run_of_each_benchmark_below_a_folder_is_read_under_its_own_name() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (path, id) in [("sort/small/new", "sort/small"), ("sort/small/base", "old"), ("copy/new", "")] {
            let at = folder.path().join(path);
            fs::create_dir_all(&at).expect("writable");
            let sample = r#"{"sampling_mode":"Flat","iters":[2,2],"times":[8,10]}"#;
            fs::write(at.join("sample.json"), sample).expect("writable");
            if !id.is_empty() {
                fs::write(at.join("benchmark.json"), json!({ "full_id": id }).to_string()).expect("writable");
            }
        }
        let lines = lines(folder.path()).expect("samples");
        let found = experiments::compare::read("x", &lines).expect("results").swap_remove(0);
        let names: Vec<&str> = found.tests.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(names, ["copy", "sort/small"]);
        assert_eq!(super::lines(&folder.path().join("copy/none")), None);
    }
}
