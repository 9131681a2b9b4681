//! A made-up record with every section filled: synthetic numbers, shaped like a two-CPU guest whose L3 is shared.
//!
//! The numbers are computed from a smooth model, not measured anywhere; the record says so in its provenance.

mod clock_part;
mod cores_part;
mod machine_part;
mod memory_part;
mod sockets_part;

pub(crate) use machine_part::sample_machine;
pub(crate) use sockets_part::{of_clusters, of_known, of_latencies, of_one_node};

use machine::{Bytes, CpuId, CpuSet, Hertz};
use record::{
    AnswerVerdict, Area, ClockRead, Finding, Guards, Level, Levels, Plan, PlanEntry, PlanOutcome, Provenance,
    Quality, QuestionAnswer, QuestionSample, Record, Severity, Spread, Step, TlbLevel,
};
use stats::Interval;

/// The interval `value` ± `share` of it.
pub(crate) fn around(value: f64, share: f64) -> Interval {
    Interval { low: value * (1.0 - share), high: value * (1.0 + share) }
}

/// A spread of that relative half-width.
pub(crate) fn spread(value: f64, share: f64) -> Spread {
    Spread {
        interval: around(value, share),
        mappings: 1,
        windows: 12,
        dropped: 1,
        quality: if share > 0.1 {
            Quality::Unstable
        } else if share > 0.02 {
            Quality::Wide
        } else {
            Quality::Converged
        },
        modes: Vec::new(),
        raw: None,
        ..Spread::default()
    }
}

/// A small, repeatable wobble between -1 and 1.
pub(crate) fn wobble(seed: usize) -> f64 {
    let mixed = (seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    (mixed % 2001) as f64 / 1000.0 - 1.0
}

/// CPUs 0 to `count` - 1.
pub(crate) fn cpus(count: u32) -> CpuSet {
    (0..count).map(CpuId).collect()
}

/// The whole sample for a machine of `cpu_count` CPUs.
pub(crate) fn sample_record(cpu_count: u32) -> Record {
    let mut record = Record {
        schema: record::SCHEMA,
        provenance: Provenance {
            tool_version: "0.1.0".to_owned(),
            arguments: vec!["run".to_owned(), "--seed".to_owned(), "42".to_owned()],
            started_utc: "2026-01-01T12:00:00Z".to_owned(),
            seed: 42,
            cpus: cpus(cpu_count),
            budget_s: 90.0,
            without: vec![
                "synthetic sample: no number in this record was measured".to_owned(),
                "1 GiB pages: the pool is empty and this process is not root".to_owned(),
            ],
            ..Provenance::default()
        },
        machine: sample_machine(cpu_count),
        plan: plan(),
        guards: guards(),
        findings: findings(),
        answers: answers(),
        samples: samples(),
        levels: levels(),
        clocks: clocks(),
        clock_check: (cpu_count > 1).then(|| clock_part::check(cpu_count)),
        clock_cost: (cpu_count > 1).then(|| clock_part::cost(cpu_count, clocks())),
        elapsed_s: 71.4,
        ..Record::default()
    };
    memory_part::fill(&mut record, cpu_count);
    record.cores = cores_part::cores(cpu_count);
    record.sockets = (cpu_count > 1).then(|| of_known("x6440-8380"));
    record
}

fn plan() -> Plan {
    let entry = |probe: &str, planned_s: f64, disturbs: &str, outcome: PlanOutcome| PlanEntry {
        probe: probe.to_owned(),
        planned_s,
        disturbs: disturbs.to_owned(),
        reduced: Vec::new(),
        elapsed_s: (outcome == PlanOutcome::Done).then_some(planned_s * 0.83),
        outcome,
    };
    let mut entries = vec![
        entry("control", 2.0, "self", PlanOutcome::Done),
        entry("latency", 26.0, "core", PlanOutcome::Done),
        entry("bandwidth", 18.0, "machine", PlanOutcome::Done),
        entry("stream", 12.0, "machine", PlanOutcome::Done),
        entry("walks", 6.0, "core", PlanOutcome::Done),
        entry("line-transfer", 3.0, "core", PlanOutcome::Done),
        entry("sharing", 9.0, "machine", PlanOutcome::Done),
        entry("wake", 8.0, "self", PlanOutcome::Cut("the budget of 90 s was spent".to_owned())),
        entry("surface-b", 0.0, "core", PlanOutcome::Dropped("needs --full".to_owned())),
    ];
    entries[2]
        .reduced
        .push("largest block 1 GiB instead of 6 GiB: a quarter of memory, at most 1 GiB".to_owned());
    Plan { budget_s: 90.0, entries }
}

fn guards() -> Guards {
    Guards {
        steal_share: Some(0.013),
        others_share: Some(0.04),
        waited_share: None,
        load_average: Some([0.31, 1.72]),
        involuntary_switches: 412,
        windows: 9_210,
        windows_dropped: 233,
        core_hz: Some([Hertz(3.38e9), Hertz(3.52e9)]),
        counter_hz: Some(Hertz(2.445e9)),
        counter_error_ppm: Some(3.1),
        throttle_events: None,
        doubts: vec!["1.3 % of CPU time was stolen by the hypervisor; single windows may be slow".to_owned()],
    }
}

fn finding(area: Area, id: &str, severity: Severity, text: &str) -> Finding {
    Finding {
        id: id.to_owned(),
        area: Some(area),
        severity,
        text: text.to_owned(),
        evidence: Vec::new(),
        mechanism: None,
        prediction: None,
        remedy: None,
        steps: Vec::new(),
        source: None,
    }
}

fn answers() -> Vec<QuestionAnswer> {
    let answer = |question: &str, verdict, sentence: &str| QuestionAnswer {
        question: question.to_owned(),
        verdict,
        sentence: sentence.to_owned(),
        value: None,
        low: None,
        high: None,
        unit: String::new(),
        spent_s: 0.0,
        reason: None,
    };
    vec![
        answer("noise", AnswerVerdict::Noisy, "CPU 1 had 73 % of its core; stolen 1.3 %, other programs 4 %"),
        answer("L1", AnswerVerdict::Ok, "5.00 cycles; 32 KiB claimed, as found"),
        answer("L3", AnswerVerdict::Warn, "3.4 MiB [2.8 MiB, 4 MiB] usable; 32 MiB claimed"),
        answer("memory", AnswerVerdict::Ok, "124 ns [119, 130] at random in 1 GiB, 2 MiB pages"),
        answer("huge pages", AnswerVerdict::Undetermined, "undetermined: too little time for one sample"),
        answer("siblings", AnswerVerdict::NotApplicable, "not applicable: one CPU"),
    ]
}

/// What stands behind the answer on L1.
fn samples() -> Vec<QuestionSample> {
    let sample = |epoch: usize| QuestionSample {
        question: "l1".to_owned(),
        block_bytes: Some(Bytes(16 << 10)),
        page_bytes: Some(Bytes(2 << 20)),
        epoch,
        unit: "core cycles".to_owned(),
        value: 5.01,
        alone: Some(5.0),
        shared: Some(5.6),
        alone_share: 0.73,
        windows: 400,
        ..QuestionSample::default()
    };
    (1..=3).map(sample).collect()
}

fn step(purpose: &str, command: &str) -> Step {
    Step { purpose: purpose.to_owned(), command: command.to_owned() }
}

fn findings() -> Vec<Finding> {
    vec![
        Finding {
            evidence: vec!["CPU 1: 73 % of the best port loop on this machine".to_owned()],
            mechanism: Some("in a guest a sibling thread of the host may be busy (inference)".to_owned()),
            prediction: Some("an undisturbed core: 100 %".to_owned()),
            remedy: Some("repeat at a quiet time; ask the provider for a dedicated host".to_owned()),
            source: Some("method: METHODOLOGY.md, control loops".to_owned()),
            ..finding(
                Area::Noise,
                "busy-sibling",
                Severity::Warning,
                "1 CPU got only part of a core: execution ports were busy",
            )
        },
        Finding {
            evidence: vec![
                "32 MiB, random: 131 ns [128, 134] with 4 KiB pages, 98 ns [96, 100] with 2 MiB pages"
                    .to_owned(),
            ],
            mechanism: Some(
                "each access misses the second-level TLB and walks the page tables of guest and host"
                    .to_owned(),
            ),
            remedy: Some(
                "echo always > /sys/kernel/mm/transparent_hugepage/enabled, or madvise in the program"
                    .to_owned(),
            ),
            steps: vec![step("Measure huge pages on a program", "sidestep ab --toggle thp -- ./program")],
            ..finding(
                Area::Memory,
                "thp-off-cost",
                Severity::Warning,
                "Random access is 34 % slower without huge pages, and they are off by default here",
            )
        },
        Finding {
            evidence: vec!["integer 1.71x [1.65, 1.78], L1 1.62x [1.55, 1.70] when both CPUs run".to_owned()],
            mechanism: Some(
                "two hardware threads of one core, which the hypervisor shows as two cores".to_owned(),
            ),
            remedy: Some("count these two CPUs as one when placing threads".to_owned()),
            steps: vec![step("Measure cores for longer", "sidestep run --only cores --full")],
            ..finding(
                Area::Cores,
                "hidden-siblings",
                Severity::Inconclusive,
                "CPUs 0 and 1 may be threads of one core: the slowdown varied between rounds",
            )
        },
        finding(
            Area::Clocks,
            "clock-source",
            Severity::Notice,
            "Reading the time costs 26 ns: kvm-clock is read without a system call",
        ),
        finding(Area::Cores, "cpus-equal", Severity::Good, "Both CPUs stream equally fast, within 2 %"),
        finding(
            Area::Cores,
            "frequency-steady",
            Severity::Good,
            "The core clock stayed between 3.38 and 3.52 GHz",
        ),
    ]
}

fn levels() -> Levels {
    let level = |name: &str, size: Option<(u64, [f64; 2])>, ns: f64| Level {
        name: name.to_owned(),
        size_bytes: size.map(|(bytes, _)| Bytes(bytes)),
        size_interval: size.map(|(_, ends)| Interval::from(ends)),
        ns,
        ..Level::default()
    };
    Levels {
        caches: vec![
            level("L1", Some((32 << 10, [32_768.0, 49_152.0])), 1.31),
            level("L2", Some((512 << 10, [524_288.0, 786_432.0])), 4.57),
            level("L3", Some((3_565_158, [3_040_870.0, 4_299_162.0])), 24.6),
            level("memory", None, 118.0),
        ],
        tlbs: vec![
            TlbLevel {
                level: 1,
                entries: 64,
                entries_interval: Interval { low: 62.0, high: 68.0 },
                claimed_entries: Some(64),
                miss_ns: 2.1,
                miss_interval: around(2.1, 0.04),
            },
            TlbLevel {
                level: 2,
                entries: 2048,
                entries_interval: Interval { low: 1920.0, high: 2176.0 },
                claimed_entries: Some(2048),
                miss_ns: 13.4,
                miss_interval: around(13.4, 0.08),
            },
        ],
        walk_ns: Some(13.4),
        walk_interval: Some(around(13.4, 0.08)),
        ..Levels::default()
    }
}

fn clocks() -> Vec<ClockRead> {
    [
        ("rdtsc", 9.4, false),
        ("rdtscp", 17.2, true),
        ("clock_gettime(CLOCK_MONOTONIC)", 26.1, false),
        ("clock_gettime(CLOCK_MONOTONIC_COARSE)", 3.6, false),
        ("gettimeofday", 25.8, false),
        ("clock_gettime system call", 131.0, false),
    ]
    .map(|(name, ns, ordered)| ClockRead {
        name: name.to_owned(),
        cpu: CpuId(0),
        ns,
        counter_cycles: Some(ns * 2.445),
        core_cycles: Some(ns * 3.45),
        ordered,
        spread: spread(ns, 0.011),
        ..ClockRead::default()
    })
    .to_vec()
}
