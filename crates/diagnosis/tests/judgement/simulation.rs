//! Simulated machines: records whose truth is known.

use machine::{Bytes, Cache, CacheKind, Core, CoreKind, Cpu, CpuId, CpuSet, Tlb, TlbKind};
use record::{BandwidthPoint, LatencyCell, Record, Scope, Spread, WalkPoint};
use stats::{Interval, Random};

/// A cache as simulated: capacity and hit latency; a hashed one counts lines, the others sets.
#[derive(Clone, Copy)]
pub(crate) struct SimulatedCache {
    pub(crate) bytes: f64,
    pub(crate) ns: f64,
    pub(crate) hashed: bool,
}

/// A memory hierarchy whose sizes are known.
pub(crate) struct Hierarchy {
    pub(crate) caches: Vec<SimulatedCache>,
    pub(crate) memory_ns: f64,
    pub(crate) noise: f64,
}

pub(crate) const KIB: f64 = 1024.0;
pub(crate) const MIB: f64 = 1024.0 * KIB;

pub(crate) fn cache(bytes: f64, ns: f64, hashed: bool) -> SimulatedCache {
    SimulatedCache { bytes, ns, hashed }
}

impl Hierarchy {
    /// Latency without noise: each cache passes on what it misses, gently around its size.
    pub(crate) fn latency(&self, block: f64, stride: f64, page: u64) -> f64 {
        let step = stride.max(64.0);
        let lines = (block / step).max(1.0);
        let mut ns = self.memory_ns;
        for cache in self.caches.iter().rev() {
            let footprint = if cache.hashed { lines * 64.0 } else { block };
            let hits = 1.0 / (1.0 + (footprint / (cache.bytes * 1.15)).powf(14.0));
            ns = hits * cache.ns + (1.0 - hits) * ns;
        }
        // Several elements in one line: only the first waits for it.
        let per_line = (64.0 / stride).max(1.0);
        let ns = ns / per_line + self.caches[0].ns * (1.0 - 1.0 / per_line);
        ns + translation_ns(block / page as f64, 64.0, 1536.0)
    }

    /// The surface of the check-up: 26 blocks, 10 strides, two page sizes.
    pub(crate) fn surface(&self, random: &mut Random) -> Vec<LatencyCell> {
        let mut cells = Vec::new();
        for page in [4096, 2 << 20] {
            for octave in 12..=25_u32 {
                for block in [f64::from(1 << octave), 1.5 * f64::from(1 << octave)] {
                    for stride in (4..14).map(|power| f64::from(1 << power)) {
                        if block / stride >= 4.0 && block <= 32.0 * MIB {
                            let scale = 1.0 + self.noise * random.normal().abs();
                            cells.push(cell(block, stride, page, self.latency(block, stride, page) * scale));
                        }
                    }
                }
            }
        }
        cells
    }
}

/// Cost of translation for a number of pages: nothing, a second-level hit, a walk.
pub(crate) fn translation_ns(pages: f64, first: f64, second: f64) -> f64 {
    let misses = |entries: f64| 1.0 / (1.0 + (entries * 1.15 / pages).powf(14.0));
    misses(first) * 2.9 + misses(second) * 14.5
}

pub(crate) fn spread(value: f64, half: f64) -> Spread {
    Spread {
        interval: Interval { low: value - half, high: value + half },
        mappings: 3,
        windows: 45,
        ..Spread::default()
    }
}

pub(crate) fn cell(block: f64, stride: f64, page: u64, ns: f64) -> LatencyCell {
    LatencyCell {
        cpu: CpuId(0),
        block_bytes: Bytes(block as u64),
        stride_bytes: Bytes(stride as u64),
        page_bytes: Bytes(page),
        ns,
        core_cycles: Some(ns * 3.0),
        level: None,
        spread: spread(ns, ns * 0.01),
    }
}

/// A machine of separate cores that claims these caches for each of them.
pub(crate) fn machine_with(cpus: u32, claims: &[(u8, f64)]) -> machine::Machine {
    let mut described = machine::Machine::default();
    for id in 0..cpus {
        described.topology.cpus.push(Cpu {
            id: CpuId(id),
            core_index: id as usize,
            package: 0,
            die: None,
            module: None,
            node: None,
            core_kind: CoreKind::Uniform,
            capacity: None,
        });
        let alone: CpuSet = [CpuId(id)].into_iter().collect();
        described.topology.cores.push(Core {
            os_index: Some(i64::from(id)),
            package: 0,
            cpus: alone.clone(),
        });
        for (level, bytes) in claims {
            described.topology.caches.push(Cache {
                level: *level,
                kind: CacheKind::Unified,
                size_bytes: Some(Bytes(*bytes as u64)),
                line_bytes: Some(Bytes(64)),
                ways: None,
                shared_by: alone.clone(),
                sharers_unknown: false,
            });
        }
    }
    described.topology.allowed = described.topology.online();
    described
}

pub(crate) fn claim_tlbs(record: &mut Record, entries: &[u32]) {
    for (level, entries) in (1..).zip(entries) {
        record.machine.tlbs.push(Tlb {
            level,
            kind: TlbKind::Data,
            page_bytes: vec![Bytes(4096)],
            entries: *entries,
            ways: None,
        });
    }
}

pub(crate) fn walk(pages: u64, delta_ns: f64, half: f64) -> WalkPoint {
    WalkPoint {
        cpu: CpuId(0),
        pages,
        page_bytes: Bytes(4096),
        spread_ns: 5.0 + delta_ns,
        packed_ns: 5.0,
        delta_ns,
        spread: spread(delta_ns, half),
    }
}

pub(crate) fn read_bandwidth(block: f64, bytes_per_s: f64) -> BandwidthPoint {
    BandwidthPoint {
        scope: Scope::Cpu,
        cpus: [CpuId(0)].into_iter().collect(),
        kernel: "read".to_owned(),
        isa: "avx2".to_owned(),
        store: "none".to_owned(),
        block_bytes: Bytes(block as u64),
        page_bytes: Bytes(2 << 20),
        bytes_per_s,
        spread: spread(bytes_per_s, bytes_per_s * 0.01),
    }
}
