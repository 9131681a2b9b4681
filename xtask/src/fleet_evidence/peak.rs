//! What a program prints, and the memory that it and the programs that it starts need at most.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};

/// Between two looks. The kernel keeps the peak of each process itself; only those that end between two looks are missed.
const PERIOD: Duration = Duration::from_millis(20);

/// What it printed and took.
pub(super) struct Taken {
    pub(super) printed: Vec<u8>,
    /// The sum of the peaks of the program and its children: not less than the peak of all.
    pub(super) peak_bytes: u64,
    /// Time on CPUs of both: on a machine that others use as well it says more than the time that passed.
    pub(super) cpu_s: f64,
}

/// Runs it.
pub(super) fn output(command: &mut Command) -> anyhow::Result<Taken> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start it")?;
    let mut stdout = child.stdout.take().context("it has no standard output")?;
    let (is_done, pid) = (AtomicBool::new(false), child.id());
    let (printed, (peak_bytes, cpu_s)) = std::thread::scope(|scope| {
        let watched = scope.spawn(|| watch(pid, &is_done));
        let mut printed = Vec::new();
        let read = stdout.read_to_end(&mut printed);
        is_done.store(true, Ordering::Relaxed);
        (read.map(|_| printed), watched.join().unwrap_or_default())
    });
    let status = child.wait()?;
    ensure!(status.success(), "it ended with {status}");
    Ok(Taken { printed: printed?, peak_bytes, cpu_s })
}

fn watch(pid: u32, is_done: &AtomicBool) -> (u64, f64) {
    let mut taken: BTreeMap<u32, (u64, f64)> = BTreeMap::new();
    while !is_done.load(Ordering::Relaxed) {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        for process in children.split_whitespace().filter_map(|child| child.parse().ok()).chain([pid]) {
            let (peak, cpu_s) = taken.entry(process).or_default();
            *peak = peak_bytes(process).unwrap_or_default().max(*peak);
            *cpu_s = self::cpu_s(process).unwrap_or_default().max(*cpu_s);
        }
        std::thread::sleep(PERIOD);
    }
    taken.values().fold((0, 0.0), |(peaks, cpus_s), (peak, cpu_s)| (peaks + peak, cpus_s + cpu_s))
}

/// Source: proc(5), utime and stime of stat in ticks of 1/100 s.
fn cpu_s(pid: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind_name) = stat.rsplit_once(") ")?;
    let ticks: Vec<f64> =
        behind_name.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse().ok()).collect();
    Some(ticks.iter().sum::<f64>() / 100.0)
}

/// Source: proc(5), VmHWM in kB of 1024 bytes.
fn peak_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kb| kb * 1024)
}
