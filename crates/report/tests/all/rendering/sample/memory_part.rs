//! The memory results of the sample, from a smooth model of four levels and a TLB.

use machine::{Bytes, CpuId, NodeId};
use record::{
    BandwidthPoint, LatencyCell, LoadedLatency, ParallelChase, RawSeries, Record, Scope, StreamResult,
    WalkPoint,
};

use super::{around, cpus, spread, wobble};

const LINE_BYTES: f64 = 64.0;
const LEVELS: [(&str, f64, f64); 4] = [
    ("L1", 32_768.0, 1.31),
    ("L2", 524_288.0, 4.57),
    ("L3", 3_400_000.0, 24.6),
    ("memory", f64::INFINITY, 118.0),
];

pub(super) fn fill(record: &mut Record, cpu_count: u32) {
    for page_bytes in [4096, 2 << 20] {
        surface(record, page_bytes);
    }
    bandwidth(record, cpu_count);
    stream(record, cpu_count);
    translation(record);
    for chains in [1, 2, 4, 8, 16] {
        let ns_per_load = 118.0 / chains as f64 * (1.0 + 0.02 * chains as f64);
        record.memory.parallel.push(ParallelChase {
            cpu: CpuId(0),
            chains,
            block_bytes: Bytes(64 << 20),
            page_bytes: Bytes(2 << 20),
            ns_per_load,
            spread: spread(ns_per_load, 0.015),
        });
    }
    for (loading, rate, ns) in [(0, 0.0, 118.0), (1, 14.2e9, 171.0)] {
        record.memory.loaded.push(LoadedLatency {
            cpu: CpuId(0),
            loading: cpus(loading + 1).iter().skip(1).collect(),
            block_bytes: Some(Bytes(128 << 20)),
            page_bytes: Some(Bytes(2 << 20)),
            load_bytes_per_s: rate,
            load_interval: around(rate, 0.02),
            overlapped_windows: 20,
            ns,
            spread: spread(ns, 0.03),
        });
    }
}

/// Latency of a footprint of that many bytes, and the level that serves most of it.
fn served(footprint_bytes: f64) -> (f64, &'static str) {
    let mut ns = LEVELS[0].2;
    let mut level = LEVELS[0].0;
    for pair in LEVELS.windows(2) {
        let over = (footprint_bytes / pair[0].1).log2() * 3.0 - 1.2;
        let share = 1.0 / (1.0 + (-over * 2.0).exp());
        ns += (pair[1].2 - pair[0].2) * share;
        if share > 0.5 {
            level = pair[1].0;
        }
    }
    (ns, level)
}

fn surface(record: &mut Record, page_bytes: u64) {
    for octave in 12..26_u32 {
        for half in [0, 1_u64] {
            let block_bytes = (1 << octave) + half * (1 << (octave - 1));
            for stride in 4..14_u32 {
                let stride_bytes = 1_u64 << stride;
                if block_bytes / stride_bytes < 4 || block_bytes > 32 << 20 {
                    continue;
                }
                let lines = block_bytes as f64 / (stride_bytes as f64).max(LINE_BYTES);
                let (mut ns, level) = served(lines * LINE_BYTES);
                let pages = block_bytes as f64 / page_bytes as f64;
                ns += 2.0 * f64::from(u8::from(pages > 64.0)) + 11.0 * (pages / 2048.0).min(1.0).powi(2);
                let seed = record.memory.latency.len();
                ns *= 1.0 + 0.012 * wobble(seed);
                let share = if seed % 23 == 7 {
                    0.14
                } else if seed % 11 == 3 {
                    0.03
                } else {
                    0.009
                };
                let mut spread = spread(ns, share);
                spread.raw = Some(record.push_raw(RawSeries {
                    name: format!(
                        "latency, pages {page_bytes} B, block {block_bytes} B, stride {stride_bytes} B"
                    ),
                    unit: "ns".to_owned(),
                    visits: vec![
                            (0..34)
                                .map(|window| (ns * (1.0 + 0.01 * wobble(seed * 40 + window))) as f32)
                                .collect(),
                        ],
                    mapping_of_visit: vec![0],
                }));
                record.memory.latency.push(LatencyCell {
                    cpu: CpuId(0),
                    block_bytes: Bytes(block_bytes),
                    stride_bytes: Bytes(stride_bytes),
                    page_bytes: Bytes(page_bytes),
                    ns,
                    core_cycles: Some(ns * 3.45),
                    level: Some(level.to_owned()),
                    spread,
                });
            }
        }
    }
}

fn bandwidth(record: &mut Record, cpu_count: u32) {
    let series = [
        ("read", "none", 196e9),
        ("write", "plain", 102e9),
        ("triad", "plain", 118e9),
        ("fill", "non_temporal", 24e9),
    ];
    for (scope, workers) in [(Scope::Cpu, 1), (Scope::Machine, cpu_count)] {
        for (kernel, store, top) in series {
            for step in 0..37_u32 {
                let block_bytes = (1_u64 << (12 + step / 2)) * if step % 2 == 0 { 2 } else { 3 } / 2;
                let (ns, _) = served(block_bytes as f64 / f64::from(workers));
                let floor = if store == "non_temporal" { 22e9 } else { 15e9 };
                let bytes_per_s = ((top * 1.31 / ns).max(floor).min(top) + 1e9 * wobble(step as usize))
                    * f64::from(workers).sqrt();
                record.memory.bandwidth.push(BandwidthPoint {
                    scope,
                    cpus: cpus(workers),
                    kernel: kernel.to_owned(),
                    isa: "avx2".to_owned(),
                    store: store.to_owned(),
                    block_bytes: Bytes(block_bytes),
                    page_bytes: Bytes(4096),
                    bytes_per_s,
                    spread: spread(bytes_per_s, if step % 13 == 9 { 0.12 } else { 0.025 }),
                });
            }
        }
    }
}

fn stream(record: &mut Record, cpu_count: u32) {
    let kernels = [
        ("triad", "avx2", "plain", 13.1e9),
        ("triad", "avx2", "non_temporal", 17.9e9),
        ("copy", "avx2", "plain", 12.4e9),
        ("add", "scalar_f64", "plain", 12.9e9),
    ];
    for (kernel, isa, store, base) in kernels {
        let result = |scope, cpu, node, workers: machine::CpuSet, scale: f64, seed: usize| {
            let bytes_per_s = base * scale * (1.0 + 0.02 * wobble(seed));
            StreamResult {
                scope,
                cpu,
                node,
                cpus: workers,
                kernel: kernel.to_owned(),
                isa: isa.to_owned(),
                store: store.to_owned(),
                block_bytes: Bytes(768 << 20),
                bytes_per_s,
                bus_bytes_per_s: bytes_per_s * if store == "plain" { 4.0 / 3.0 } else { 1.0 },
                spread: spread(bytes_per_s, if seed % 9 == 4 { 0.04 } else { 0.016 }),
            }
        };
        for cpu in 0..cpu_count {
            let scale = if cpu / 8 % 4 == 3 { 0.84 } else { 1.0 };
            record.memory.stream.push(result(
                Scope::Cpu,
                Some(CpuId(cpu)),
                None,
                [CpuId(cpu)].into_iter().collect(),
                scale,
                cpu as usize,
            ));
        }
        for node in 0..cpu_count.div_ceil(8) {
            let workers = cpus(cpu_count).iter().filter(|cpu| cpu.0 / 8 == node).collect();
            record.memory.stream.push(result(Scope::Node, None, Some(NodeId(node)), workers, 1.7, 3));
        }
        record.memory.stream.push(result(
            Scope::Machine,
            None,
            None,
            cpus(cpu_count),
            1.7 * f64::from(cpu_count.div_ceil(8)),
            5,
        ));
    }
}

fn translation(record: &mut Record) {
    for page_bytes in [4096, 2 << 20] {
        for step in 6..28_u32 {
            let pages = (1_u64 << (step / 2)) * if step % 2 == 0 { 2 } else { 3 } / 2;
            let reach = if page_bytes == 4096 { 1.0 } else { 4.0 };
            let delta_ns = 0.1
                + 2.0 * f64::from(u8::from(pages as f64 > 64.0 * reach))
                + 11.3 / (1.0 + (2048.0 * reach / pages as f64).powi(3))
                + 0.08 * wobble(step as usize);
            let packed_ns = served(pages as f64 * LINE_BYTES).0;
            record.memory.walks.push(WalkPoint {
                cpu: CpuId(0),
                pages,
                page_bytes: Bytes(page_bytes),
                spread_ns: packed_ns + delta_ns,
                packed_ns,
                delta_ns,
                spread: spread(delta_ns, 0.05),
            });
        }
    }
}
