//! Running one side of a contest, and finding the number in what each program prints.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;

/// How often a running program is asked for its huge pages; it runs for seconds.
const WATCH_EVERY: Duration = Duration::from_millis(200);

/// Array and repetitions of a STREAM binary; they are compiled into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StreamShape {
    pub(super) array_bytes: u64,
    pub(super) repetitions: u64,
}

/// Runs `command` to its end: what it printed, and the most memory it held in transparent huge pages, if asked.
pub(super) fn watch(command: &mut Command, huge_pages: bool) -> anyhow::Result<(String, u64)> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let mut huge_bytes = 0;
    // What these programs print fits into the pipe, so they never wait for us to read it.
    while huge_pages && child.try_wait().context("cannot wait for it")?.is_none() {
        let smaps = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", child.id())).unwrap_or_default();
        huge_bytes = huge_bytes.max(huge_bytes_of(&smaps));
        std::thread::sleep(WATCH_EVERY);
    }
    let done = child.wait_with_output().context("cannot wait for it")?;
    let words = String::from_utf8_lossy(&done.stderr);
    anyhow::ensure!(done.status.success(), "ended with {}: {}", done.status, words.trim());
    Ok((String::from_utf8_lossy(&done.stdout).into_owned(), huge_bytes))
}

/// `AnonHugePages` of a smaps_rollup, in bytes. Source: Linux, Documentation/filesystems/proc.rst.
fn huge_bytes_of(smaps: &str) -> u64 {
    let line = smaps.lines().find_map(|line| line.strip_prefix("AnonHugePages:"));
    let kibibytes =
        line.and_then(|rest| rest.split_whitespace().next()).and_then(|word| word.parse::<u64>().ok());
    kibibytes.unwrap_or(0) << 10
}

/// Best rate of STREAM's triad in MB/s: `Triad:  BEST  AVERAGE  MIN  MAX`.
pub(super) fn stream_triad(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Triad:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// `Array size = N (elements), ...` and `Each kernel will be executed N times.`
pub(super) fn stream_shape(text: &str) -> Option<StreamShape> {
    let elements = number_after(text, "Array size = ")?;
    let bytes = number_after(text, "This system uses ")?;
    Some(StreamShape {
        array_bytes: elements * bytes,
        repetitions: number_after(text, "Each kernel will be executed ")?,
    })
}

/// Rate of likwid-bench in MB/s: the line `MByte/s:  N`.
pub(super) fn likwid_rate(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix("MByte/s:"))?.trim().parse().ok()
}

/// The first word of the last line that has one, as a number.
pub(super) fn last_number(text: &str) -> Option<f64> {
    text.lines().rev().find_map(|line| line.split_whitespace().next())?.parse().ok()
}

fn number_after(text: &str, words: &str) -> Option<u64> {
    let (_, rest) = text.split_once(words)?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_what_programs_print() {
        let stream = "This system uses 8 bytes per array element.\nArray size = 20000000 (elements), Offset = 0\n\
                      Each kernel will be executed 10 times.\nAdd:   9000.0  0.1  0.1  0.1\nTriad:  12015.4  0.1  0.1  0.1\n";
        assert_eq!(stream_triad(stream), Some(12015.4));
        assert_eq!(stream_shape(stream), Some(StreamShape { array_bytes: 160_000_000, repetitions: 10 }));
        assert_eq!(likwid_rate("Time:\t1.0 sec\nMByte/s:\t\t11595.02\n"), Some(11595.02));
        assert_eq!(last_number("cpu freq\n119.7\n\n"), Some(119.7));
        assert_eq!(huge_bytes_of("Rss: 1 kB\nAnonHugePages:    262144 kB\n"), 256 << 20);
        assert_eq!(
            (stream_triad(""), likwid_rate(""), last_number(""), huge_bytes_of("")),
            (None, None, None, 0)
        );
    }
}
