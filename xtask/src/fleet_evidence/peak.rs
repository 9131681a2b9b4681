//! What a program prints, and the memory that it and the programs that it starts need at most.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};

/// Between two looks. The kernel keeps the peak of each process itself; only those that end between two looks are missed.
const PERIOD: Duration = Duration::from_millis(20);

/// The output, and the sum of the peaks of the program and its children in bytes: not less than the peak of all.
pub(super) fn output(command: &mut Command) -> anyhow::Result<(Vec<u8>, u64)> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start it")?;
    let mut stdout = child.stdout.take().context("it has no standard output")?;
    let (is_done, pid) = (AtomicBool::new(false), child.id());
    let (printed, bytes) = std::thread::scope(|scope| {
        let watched = scope.spawn(|| watch(pid, &is_done));
        let mut printed = Vec::new();
        let read = stdout.read_to_end(&mut printed);
        is_done.store(true, Ordering::Relaxed);
        (read.map(|_| printed), watched.join().unwrap_or_default())
    });
    let status = child.wait()?;
    ensure!(status.success(), "it ended with {status}");
    Ok((printed?, bytes))
}

fn watch(pid: u32, is_done: &AtomicBool) -> u64 {
    let mut peaks = std::collections::BTreeMap::new();
    while !is_done.load(Ordering::Relaxed) {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        for process in children.split_whitespace().filter_map(|child| child.parse().ok()).chain([pid]) {
            let peak: &mut u64 = peaks.entry(process).or_default();
            *peak = peak_bytes(process).unwrap_or_default().max(*peak);
        }
        std::thread::sleep(PERIOD);
    }
    peaks.values().sum()
}

/// Source: proc(5), VmHWM in kB of 1024 bytes.
fn peak_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kb| kb * 1024)
}
