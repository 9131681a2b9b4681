//! How much memory a probe may take on this machine, what its caches claim, and how it is cut into lines and pages.

use machine::{Bytes, CacheKind, Machine};

/// A block takes at most this share of the machine's memory.
const SHARE_OF_MEMORY: u64 = 4;
/// A block takes at most this share of what is free, of the cgroup's limit and of the address space: a surface maps its next block
/// before it lets go of the last one, and the address space also holds the program.
const SHARE_OF_LIMIT: u64 = 2;
/// No data cache has longer lines; the longest known are the 256 bytes of A64FX.
const LINE_BYTES_MAX: u64 = 1024;

/// Bytes that one block may take: a share of the machine's memory and of each limit; `None` where none is known.
pub(crate) fn room_of(machine: &Machine) -> Option<Bytes> {
    let limits = &machine.environment.limits;
    let bounds = [
        machine.environment.memory_bytes.map(|memory| memory.0 / SHARE_OF_MEMORY),
        limits.cgroup_memory_bytes.map(|limit| limit.0 / SHARE_OF_LIMIT),
        limits.available_memory_bytes.map(|free| free.0 / SHARE_OF_LIMIT),
        limits.address_space_bytes.map(|space| space.0 / SHARE_OF_LIMIT),
    ];
    bounds.into_iter().flatten().min().map(Bytes)
}

/// The largest block up to `asked` that the machine and its limits leave room for, in whole MiB, at least one.
pub(crate) fn largest_block(machine: &Machine, asked: Bytes) -> Bytes {
    let most = room_of(machine).map_or(asked, |room| room.min(asked));
    Bytes((most.0 / Bytes::MIB.0).max(1) * Bytes::MIB.0)
}

/// The largest data or unified cache claimed; `fallback` where the machine claims none.
pub(crate) fn claimed_cache(machine: &Machine, fallback: Bytes) -> Bytes {
    machine.topology.largest_cache_bytes().unwrap_or(fallback)
}

/// The line of the data caches: of the first level, where they differ; 64 bytes where the machine does not tell or tells what no line
/// is, as on every x86-64 and most arm64. Some of the latter have 128 or 256.
pub(crate) fn line_bytes(machine: &Machine) -> usize {
    const USUAL_BYTES: u64 = 64;
    let data = machine.topology.caches.iter().filter(|cache| cache.kind != CacheKind::Instruction);
    let claimed = data.min_by_key(|cache| cache.level).and_then(|cache| cache.line_bytes);
    let line =
        claimed.filter(|line| line.0.is_power_of_two() && (USUAL_BYTES..=LINE_BYTES_MAX).contains(&line.0));
    line.map_or(USUAL_BYTES, |line| line.0) as usize
}

/// What no cache holds: four times what they claim, within these bounds and as far as there is room.
pub(crate) fn beyond_caches(machine: &Machine, claimed: Bytes, [smallest, largest]: [Bytes; 2]) -> Bytes {
    largest_block(machine, Bytes((claimed.0 * 4).clamp(smallest.0, largest.0.max(smallest.0))))
}

/// The sum of all instances of the largest cache: what all CPUs together can keep.
pub(crate) fn claimed_caches_together(machine: &Machine) -> Bytes {
    let topology = &machine.topology;
    let last = topology.caches.iter().map(|cache| cache.level).max().unwrap_or(0);
    let instances = topology.caches.iter().filter(|cache| cache.level == last);
    Bytes(instances.filter_map(|cache| cache.size_bytes).map(|size| size.0).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_pages_are_those_of_the_machine_where_it_shows_sensible_ones() {
        let mut machine = Machine::default();
        assert_eq!((line_bytes(&machine), machine.environment.base_page()), (64, Bytes(4096)));
        machine.environment.page_bytes = Some(Bytes(65_536));
        let cache = |level, kind, line| machine::Cache {
            level,
            kind,
            size_bytes: None,
            line_bytes: Some(Bytes(line)),
            ways: None,
            shared_by: machine::CpuSet::default(),
            sharers_unknown: false,
        };
        for (first, line) in [(128, 128), (256, 256), (96, 64), (1 << 40, 64), (16, 64)] {
            let caches =
                [(2, CacheKind::Unified, 32), (1, CacheKind::Instruction, 512), (1, CacheKind::Data, first)];
            machine.topology.caches = caches.map(|(level, kind, line)| cache(level, kind, line)).to_vec();
            assert_eq!((line_bytes(&machine), machine.environment.base_page()), (line, Bytes(65_536)));
        }
    }

    #[test]
    fn the_tightest_limit_counts() {
        let mut machine = Machine::default();
        assert_eq!(largest_block(&machine, Bytes::GIB), Bytes::GIB);
        machine.environment.memory_bytes = Some(Bytes(2 << 30));
        assert_eq!(largest_block(&machine, Bytes::GIB), Bytes(512 << 20));
        machine.environment.limits.cgroup_memory_bytes = Some(Bytes(100 << 20));
        assert_eq!(largest_block(&machine, Bytes::GIB), Bytes(50 << 20));
        machine.environment.limits.available_memory_bytes = Some(Bytes(0));
        assert_eq!(largest_block(&machine, Bytes::GIB), Bytes::MIB);
    }
}
