//! What this process may use at most: memory, CPU time, address space.

use machine::{Bytes, Limits};

use super::confinement::groups;
use super::source::{Source, meminfo_bytes};

/// Reads the limits of the tightest control group, of the address space, and the memory still available.
pub(super) fn read(source: &Source<'_>) -> Limits {
    let meminfo = source.text("/proc/meminfo").unwrap_or_default();
    Limits {
        cgroup_memory_bytes: memory(source),
        cgroup_millicpus: millicpus(source),
        available_memory_bytes: meminfo_bytes(&meminfo, "MemAvailable"),
        address_space_bytes: address_space(source),
    }
}

/// The least memory limit of this process's groups. Version 1 writes a huge number, near 2^63, for no limit.
fn memory(source: &Source<'_>) -> Option<Bytes> {
    const UNLIMITED_BYTES: u64 = 1 << 62;
    groups(source, "memory")
        .iter()
        .flat_map(|group| {
            let file = if group.unified { "memory.max" } else { "memory.limit_in_bytes" };
            group.folders().into_iter().filter_map(move |folder| source.word(&format!("{folder}/{file}")))
        })
        .filter_map(|text| text.parse::<u64>().ok())
        .filter(|limit| *limit < UNLIMITED_BYTES)
        .min()
        .map(Bytes)
}

/// The least CPU bandwidth of this process's groups, in thousandths of a CPU.
fn millicpus(source: &Source<'_>) -> Option<u64> {
    let share = |quota: &str, period: &str| -> Option<u64> {
        let (quota, period) = (quota.parse::<u64>().ok()?, period.parse::<u64>().ok()?);
        quota.checked_mul(1000)?.checked_div(period)
    };
    groups(source, "cpu")
        .iter()
        .flat_map(|group| group.folders().into_iter().map(|folder| (group.unified, folder)))
        .filter_map(|(unified, folder)| {
            if unified {
                let text = source.word(&format!("{folder}/cpu.max"))?;
                let (quota, period) = text.split_once(' ')?;
                share(quota, period.trim())
            } else {
                let value = |name: &str| source.word(&format!("{folder}/{name}"));
                share(&value("cpu.cfs_quota_us")?, &value("cpu.cfs_period_us")?)
            }
        })
        .min()
}

/// The soft limit in the row `Max address space` of `/proc/self/limits`.
fn address_space(source: &Source<'_>) -> Option<Bytes> {
    let limits = source.text("/proc/self/limits")?;
    let row = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    row.split_whitespace().next()?.parse().ok().map(Bytes)
}
