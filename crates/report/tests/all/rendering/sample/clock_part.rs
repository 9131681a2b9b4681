//! Clocks in the synthetic record: counters in step, but for one pair that drifts, and what reading the time costs.

use machine::CpuId;
use record::{
    BackwardsCount, ClockCheck, ClockCost, ClockFault, ClockPair, ClockRead, ClockRegime, ClockVerdict,
    CostControl, CostVerdict, FailedRead, KernelClocks, PublishedCost, RegimeDrift, RegimeVerdict,
    RoundsSeen, RoundsVerdict, ScalingVerdict, SystemClock, ThreadCost, VisibleDrift,
};

/// Seconds over which the counters were watched.
const WATCHED_S: f64 = 4.0;
/// Exchanges of each pair.
const EXCHANGES: usize = 60;
/// Drift of the last CPU, in parts per billion.
const DRIFT_PPB: f64 = 40.0;

pub(crate) fn check(cpu_count: u32) -> ClockCheck {
    let pairs = (0..cpu_count).flat_map(|a| (a + 1..cpu_count).map(move |b| pair(a, b, cpu_count)));
    ClockCheck {
        schema: record::CLOCK_CHECK_SCHEMA,
        verdict: ClockVerdict::Correctable,
        because: vec!["the counters drift apart at a constant rate: CPUs 0-1".to_owned()],
        blind_below_ns: Some(48.0),
        would_have_seen: Some(VisibleDrift { ppb: 12.0, in_s: WATCHED_S }),
        pairs: pairs.collect(),
        backwards: ["rdtsc", "lfence_rdtsc", "clock_gettime(CLOCK_MONOTONIC)"]
            .into_iter()
            .zip([4_321, 0, 0])
            .map(|(name, backwards)| BackwardsCount {
                name: name.to_owned(),
                a: CpuId(0),
                b: CpuId(1),
                ordered: name != "rdtsc",
                fresh: 100_000,
                backwards,
                largest_ns: if backwards > 0 { 310.0 } else { 0.0 },
            })
            .collect(),
        system_clocks: vec![SystemClock {
            name: "CLOCK_REALTIME".to_owned(),
            rate_ppm: Some(-1.5),
            error_ppm: Some(0.01),
            note: None,
        }],
        kernel: KernelClocks { clocksource: Some("tsc".to_owned()), ..KernelClocks::default() },
        remedies: vec!["read time through a clock that corrects each CPU".to_owned()],
        without: vec!["P-states were not varied".to_owned()],
        counter_hz: Some(2.5e9),
        elapsed_s: 5.1,
        regimes: vec![ClockRegime {
            stress: "mixed_speeds".to_owned(),
            verdict: RegimeVerdict::Moving,
            moving: 1,
            seen: 1,
            usable: 40,
            drift: Some(RegimeDrift { a: CpuId(0), b: CpuId(1), rate_ppb: 1_234.5, error_ppb: 0.7 }),
        }],
        ..ClockCheck::default()
    }
}

/// The usual reads, the loop that each stands in, and one that another run may price otherwise.
pub(crate) fn cost(cpu_count: u32, usual: Vec<ClockRead>) -> ClockCost {
    let doubtful = |read: ClockRead| ClockRead {
        refused: (read.name == "gettimeofday")
            .then(|| "the interval is 2.4 % wide to either side".to_owned()),
        resolution_ns: Some(1.0),
        ..read
    };
    let alone = ClockRead { name: "loop alone".to_owned(), ns: 0.31, ..usual[0].clone() };
    let counts = [1, cpu_count as usize, 2 * cpu_count as usize];
    ClockCost {
        schema: record::CLOCK_COST_SCHEMA,
        verdict: CostVerdict::PartlyRepeatable,
        because: vec!["another run agrees within 2 % on 6 of 7 reads".to_owned()],
        reads: usual.into_iter().map(doubtful).chain([alone]).collect(),
        failed: vec![FailedRead {
            name: "rdpid".to_owned(),
            reason: "this CPU lacks the instruction".to_owned(),
        }],
        control: Some(CostControl {
            cpu: CpuId(0),
            multiply_ns: 0.8,
            port_ns: 0.05,
            core_hz: Some(3.7e9),
            adds_per_cycle: Some(3.9),
            near_share: 0.6,
            plateau_share: 0.8,
            readings: 10_000,
        }),
        threads: counts
            .map(|threads| ThreadCost {
                read: "gettimeofday".to_owned(),
                threads,
                ns: 25.9,
                ratio: 1.0,
                interval: None,
                core_share: 1.0,
                overlap: 0.9,
                rounds: 12,
                verdict: ScalingVerdict::Flat,
            })
            .to_vec(),
        rounds: vec![RoundsSeen {
            read: "gettimeofday".to_owned(),
            threads: counts[1],
            rounds: 4_000,
            overlapping: 3_900,
            largest_ns: 1_000.0,
            bound_ns: 1_000.0,
            typical_ns: 0.0,
            outside: 0,
            verdict: RoundsVerdict::InOrder,
        }],
        published: vec![PublishedCost {
            name: "gettimeofday with RDTSCP".to_owned(),
            cycles: 221.0,
            source: "article on TSC drift".to_owned(),
        }],
        without: vec!["other clock sources, kvm-clock: not switched".to_owned()],
        ..ClockCost::default()
    }
}

fn pair(a: u32, b: u32, cpu_count: u32) -> ClockPair {
    let drifts = b + 1 == cpu_count;
    let ppb = if drifts { DRIFT_PPB } else { 0.1 };
    let centre = |index: usize| {
        let seconds = WATCHED_S * index as f64 / EXCHANGES as f64;
        [seconds, seconds * ppb + ((index * 7) % 5) as f64 - 2.0]
    };
    ClockPair {
        a: CpuId(a),
        b: CpuId(b),
        interval_ns: Some([-44.0, 46.0]),
        estimate_ns: Some(1.0 + f64::from(b % 5)),
        sd_ns: Some(2.1),
        standard_error_ns: Some(0.3),
        rate_ppb: Some(ppb),
        rate_error_ppb: Some(0.2),
        rate_interval_ppb: Some([ppb - 12.0, ppb + 12.0]),
        moves_for_certain: drifts,
        contradiction: None,
        step: None,
        seen_after_s: drifts.then_some(1.2),
        fault: drifts.then_some(ClockFault::Slope),
        rate_ppb_by_stress: std::collections::BTreeMap::new(),
        half_width_ns: Some(45.0),
        exchanges: EXCHANGES,
        usable: EXCHANGES,
        overlap_share: 0.97,
        best_after_ms: Some(0.8),
        watched_s: WATCHED_S,
        centres: (0..EXCHANGES).map(centre).collect(),
    }
}
