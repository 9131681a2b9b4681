//! Processes below a program under test, as /proc shows them.

use std::fs;
use std::time::{Duration, Instant};

/// Something that takes longer than this has failed; a loaded machine gives everybody a turn within a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// The process below a process, or below that.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::yield_now();
    }
}
