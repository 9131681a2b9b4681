//! The core results of the sample: pairs of CPUs that share a core, and a CPU that sleeps deeper the longer it may.

use machine::{CpuId, Hertz};
use record::{CheckedLoop, Compute, Control, Cores, LineTransfer, PairSlowdown, UnlikeSlowdown, WakePoint};

use super::{spread, wobble};

/// Name of a shared resource, slowdown beside the sibling, slowdown beside any other CPU.
const RESOURCES: [(&str, f64, f64); 7] = [
    ("integer", 1.71, 1.0),
    ("simd", 1.55, 1.0),
    ("front_end", 1.68, 1.01),
    ("l1", 1.62, 1.0),
    ("l2", 1.33, 1.02),
    ("l3", 1.12, 1.05),
    ("memory", 1.24, 1.19),
];

pub(super) fn cores(cpu_count: u32) -> Cores {
    Cores {
        control: control(cpu_count),
        line_transfer: line_transfer(cpu_count),
        sharing: sharing(cpu_count),
        compute: ["mandelbrot_i16x16", "mandelbrot_f32x8"]
            .map(|kernel| Compute {
                cpu: CpuId(0),
                kernel: kernel.to_owned(),
                isa: "avx2".to_owned(),
                iterations_per_s: 5.4e9,
                spread: spread(5.4e9, 0.006),
            })
            .to_vec(),
        unlike: if cpu_count > 1 { unlike() } else { Vec::new() },
        wake: wake(),
        checked: (0..cpu_count).map(checked).collect(),
        wrong: Vec::new(),
    }
}

fn checked(cpu: u32) -> CheckedLoop {
    CheckedLoop {
        cpu: CpuId(cpu),
        kernel: "mandelbrot_f32x8".to_owned(),
        isa: "avx2".to_owned(),
        operations: 128_720 * 20_000,
        results: 20_000,
        wrong: 0,
    }
}

fn control(cpu_count: u32) -> Vec<Control> {
    (0..cpu_count)
        .map(|cpu| Control {
            cpu: CpuId(cpu),
            core_hz: Some(Hertz(3.45e9 + 2e7 * wobble(cpu as usize))),
            multiply_ns: 0.87,
            rotate_ns: 0.29,
            multiply_per_rotate: 3.0,
            port_ns: 0.073,
            core_share: 0.97,
            spread: spread(0.87, 0.004),
        })
        .collect()
}

fn line_transfer(cpu_count: u32) -> Vec<LineTransfer> {
    let mut transfers = Vec::new();
    for (protocol, factor) in [("compare_and_swap", 1.0), ("read_then_write", 2.1)] {
        for a in 0..cpu_count {
            for b in a + 1..cpu_count {
                let hops = if a / 2 == b / 2 {
                    0.0
                } else if a / 8 == b / 8 {
                    1.0
                } else {
                    2.4
                };
                let ns = (55.0 + 48.0 * hops) * factor * (1.0 + 0.03 * wobble((a * 64 + b) as usize));
                transfers.push(LineTransfer {
                    a: CpuId(a),
                    b: CpuId(b),
                    protocol: protocol.to_owned(),
                    ns,
                    spread: spread(ns, if (a + b) % 7 == 3 { 0.15 } else { 0.015 }),
                });
            }
        }
    }
    transfers
}

fn sharing(cpu_count: u32) -> Vec<PairSlowdown> {
    let mut slowdowns = Vec::new();
    // A check-up measures 40 pairs at most: on a large machine this sample has more than a hundred times as many already.
    let all = RESOURCES.into_iter().filter(|(resource, ..)| cpu_count <= 8 || *resource != "l3");
    for (resource, sibling, other) in all {
        for a in 0..cpu_count {
            for b in (0..cpu_count).filter(|b| *b != a) {
                let base = if a / 2 == b / 2 { sibling } else { other };
                let slowdown = base * (1.0 + 0.01 * wobble((a * 31 + b) as usize));
                slowdowns.push(PairSlowdown {
                    a: CpuId(a),
                    b: CpuId(b),
                    resource: resource.to_owned(),
                    slowdown,
                    overlapped_windows: 11,
                    spread: spread(slowdown, if resource == "l2" { 0.12 } else { 0.018 }),
                });
            }
        }
    }
    slowdowns
}

/// The first two CPUs, whose loops of unlike classes slow each other less than like ones.
fn unlike() -> Vec<UnlikeSlowdown> {
    const CLASSES: [&str; 4] = ["integer", "simd", "front_end", "memory"];
    let mut slowdowns = Vec::new();
    for (a, b) in [(0, 1), (1, 0)] {
        for (row, class) in CLASSES.iter().enumerate() {
            for (column, beside) in CLASSES.iter().enumerate().filter(|(column, _)| *column != row) {
                let slowdown = 1.2 + 0.05 * wobble(row * 7 + column);
                slowdowns.push(UnlikeSlowdown {
                    a: CpuId(a),
                    b: CpuId(b),
                    class: (*class).to_owned(),
                    beside: (*beside).to_owned(),
                    slowdown,
                    overlapped_windows: 9,
                    spread: spread(slowdown, 0.02),
                });
            }
        }
    }
    slowdowns
}

fn wake() -> Vec<WakePoint> {
    (0..13)
        .map(|step| {
            let idle_us = 10.0 * 10f64.powf(f64::from(step) / 3.0);
            let ns = 3_800.0 + 52_000.0 / (1.0 + (800.0 / idle_us).powi(2)) + 400.0 * wobble(step as usize);
            WakePoint {
                waker: CpuId(0),
                sleeper: CpuId(1),
                idle_us,
                ns,
                p90_ns: ns * 1.6,
                spread: spread(ns, 0.04 + if step == 5 { 0.2 } else { 0.0 }),
            }
        })
        .collect()
}
