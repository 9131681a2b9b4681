//! Findings about CPUs, clocks and conditions: each verdict, the inconclusive one, too.

use diagnosis::diagnose;
use machine::{Bytes, CoreKind, CpuId, Hertz, Node, NodeId};
use record::{
    ClockCheck, ClockRead, ClockVerdict, Control, Finding, KernelClocks, PairSlowdown, Record, Severity,
    WakePoint,
};

use crate::simulation::{machine_with, spread};

/// Diagnoses and returns the finding, if there is one.
fn judged(mut record: Record, id: &str) -> Option<Finding> {
    diagnose(&mut record);
    record.findings.into_iter().find(|finding| finding.id == id)
}

fn check(record: Record, id: &str, severity: Severity, words: &str) {
    let found = judged(record, id).unwrap_or_else(|| panic!("no {id}"));
    assert_eq!(found.severity, severity, "{found:?}");
    assert!(found.text.contains(words), "{:?} not in {:?}", words, found.text);
    assert!(!found.evidence.is_empty(), "{found:?}");
    if severity == Severity::Warning {
        assert!(found.mechanism.is_some() || found.remedy.is_some(), "{found:?}");
    }
}

fn pair(resource: &str, slowdown: f64, half: f64) -> Record {
    let mut record = Record { machine: machine_with(2, &[]), ..Record::default() };
    for (a, b) in [(0, 1), (1, 0)] {
        record.cores.sharing.push(PairSlowdown {
            a: CpuId(a),
            b: CpuId(b),
            resource: resource.to_owned(),
            slowdown,
            overlapped_windows: 40,
            spread: spread(slowdown, half),
        });
    }
    record
}

#[test]
fn siblings_that_the_machine_hides_are_found_by_their_execution_ports() {
    check(pair("integer", 1.95, 0.05), "hidden-siblings", Severity::Warning, "0 and 1 share one core");
    check(pair("simd", 1.5, 0.05), "hidden-siblings", Severity::Warning, "share one core");
    check(pair("integer", 1.01, 0.02), "hidden-siblings", Severity::Good, "CPUs of 1 pair on separate cores");
    check(pair("integer", 1.2, 0.3), "hidden-siblings", Severity::Inconclusive, "too noisy");
    check(pair("front_end", 1.6, 0.05), "shared-front-end", Severity::Notice, "share the front end");
}

#[test]
fn known_siblings_and_unproven_overlap_are_no_finding() {
    let mut record = pair("integer", 1.95, 0.05);
    record.machine.topology.cpus[1].core_index = 0;
    record.machine.topology.cores[0].cpus.insert(CpuId(1));
    assert_eq!(judged(record, "hidden-siblings"), None);
    let mut record = pair("integer", 1.95, 0.05);
    for pair in &mut record.cores.sharing {
        pair.overlapped_windows = 2;
    }
    assert_eq!(judged(record, "hidden-siblings"), None);
}

/// The same of CPUs that the machine calls threads of one core.
fn claimed_siblings(resource: &str, slowdown: f64, half: f64) -> Record {
    let mut record = pair(resource, slowdown, half);
    record.machine.topology.cpus[1].core_index = 0;
    record.machine.topology.cores[0].cpus.insert(CpuId(1));
    record
}

#[test]
fn siblings_that_the_machine_claims_and_that_cost_each_other_nothing_are_reported() {
    check(
        claimed_siblings("integer", 1.0, 0.02),
        "claimed-core-apart",
        Severity::Notice,
        "share a core; running together they cost each other nothing",
    );
    check(claimed_siblings("simd", 1.1, 0.2), "claimed-core-apart", Severity::Inconclusive, "too noisy");
    assert_eq!(
        judged(claimed_siblings("integer", 1.9, 0.02), "claimed-core-apart"),
        None,
        "as the claim says"
    );
    assert_eq!(
        judged(claimed_siblings("memory", 1.0, 0.02), "claimed-core-apart"),
        None,
        "says nothing of cores"
    );
    let mut one_loop_slows = claimed_siblings("integer", 1.0, 0.02);
    one_loop_slows.cores.sharing.extend(pair("simd", 1.8, 0.02).cores.sharing);
    assert_eq!(judged(one_loop_slows, "claimed-core-apart"), None, "one shared unit is enough");
}

/// Two cores for certain, by their integer loops, and what their second levels show; `claim` is who the machine says share it.
fn second_levels(claim: [&str; 2], slowdown: f64, half: f64) -> Record {
    let mut record = pair("integer", 1.0, 0.02);
    record.cores.sharing.extend(pair("l2", slowdown, half).cores.sharing);
    let mut lists = claim.to_vec();
    lists.dedup();
    record.machine.topology.caches = lists
        .iter()
        .map(|list| machine::Cache {
            level: 2,
            kind: machine::CacheKind::Unified,
            size_bytes: Some(machine::Bytes::MIB),
            line_bytes: None,
            ways: None,
            shared_by: machine::CpuSet::from_list(list).expect("a list"),
            sharers_unknown: false,
        })
        .collect();
    record
}

#[test]
fn second_levels_that_are_not_as_the_machine_says_are_reported() {
    check(second_levels(["0", "1"], 1.7, 0.05), "hidden-shared-cache", Severity::Notice, "of their own");
    check(
        second_levels(["0-1", "0-1"], 1.01, 0.02),
        "claimed-cache-apart",
        Severity::Notice,
        "cost each other nothing",
    );
    for as_claimed in [second_levels(["0", "1"], 1.01, 0.02), second_levels(["0-1", "0-1"], 1.7, 0.05)] {
        assert_eq!(judged(as_claimed.clone(), "hidden-shared-cache"), None);
        assert_eq!(judged(as_claimed, "claimed-cache-apart"), None);
    }
    let mut unreported = second_levels(["0", "1"], 1.7, 0.05);
    unreported.machine.topology.caches.clear();
    assert_eq!(judged(unreported, "hidden-shared-cache"), None, "no claim, no difference");
    let mut one_core = second_levels(["0", "1"], 1.7, 0.05);
    one_core.cores.sharing.retain(|pair| pair.resource == "l2");
    assert_eq!(judged(one_core, "hidden-shared-cache"), None, "two threads of one core share all its caches");
}

fn clocks(source: &str, monotonic_ns: f64) -> Record {
    let mut record = Record::default();
    record.machine.environment.clock_sources.current = Some(source.to_owned());
    record.machine.environment.clock_sources.available = vec!["tsc".to_owned(), source.to_owned()];
    for (name, ns) in [
        ("rdtscp", 10.0),
        ("clock_gettime(CLOCK_MONOTONIC)", monotonic_ns),
        ("clock_gettime system call", 150.0),
    ] {
        record.clocks.push(ClockRead {
            name: name.to_owned(),
            cpu: CpuId(0),
            ns,
            counter_cycles: None,
            core_cycles: None,
            ordered: true,
            spread: spread(ns, 0.5),
            ..ClockRead::default()
        });
    }
    record
}

#[test]
fn a_clock_that_enters_the_kernel_or_is_much_dearer_than_its_counter_is_slow() {
    check(clocks("hpet", 140.0), "clock-slow", Severity::Warning, "as much as a system call");
    check(clocks("kvm-clock", 70.0), "clock-slow", Severity::Warning, "over five reads");
    check(clocks("tsc", 22.0), "clock-slow", Severity::Good, "cheap");
    check(clocks("kvm-clock", 33.0), "clock-kvm", Severity::Notice, "tsc is offered");
    let mut alone = clocks("kvm-clock", 33.0);
    alone.machine.environment.clock_sources.available = vec!["kvm-clock".to_owned()];
    assert_eq!(judged(alone, "clock-kvm"), None);
    assert_eq!(judged(clocks("tsc", 22.0), "clock-kvm"), None);
    let remedy = judged(clocks("hpet", 140.0), "clock-slow").and_then(|found| found.remedy);
    assert!(remedy.is_some_and(|text| text.contains("echo tsc")));
}

#[test]
fn whether_counters_agree_is_a_finding_with_its_reason_and_remedy() {
    let record = |verdict, because: &str| {
        let kernel = KernelClocks { clocksource: Some("tsc".to_owned()), ..KernelClocks::default() };
        let because = vec![because.to_owned()];
        Record {
            clock_check: Some(ClockCheck { verdict, because, kernel, ..ClockCheck::default() }),
            ..Record::default()
        }
    };
    check(record(ClockVerdict::Safe, "all agree"), "clock-counters", Severity::Good, "time is safe");
    check(record(ClockVerdict::Unsafe, "they jumped"), "clock-counters", Severity::Warning, "they jumped");
    check(record(ClockVerdict::Correctable, "an offset"), "clock-counters", Severity::Warning, "correcting");
    check(
        record(ClockVerdict::CannotTell, "never met"),
        "clock-counters",
        Severity::Inconclusive,
        "not known",
    );
    let remedy = judged(record(ClockVerdict::Correctable, "an offset"), "clock-counters");
    assert!(remedy.and_then(|found| found.remedy).is_some_and(|text| text.contains("corrects each CPU")));
    assert_eq!(judged(Record::default(), "clock-counters"), None);
}

#[test]
fn clocks_are_compared_between_cpus_and_no_steadiness_is_claimed() {
    let control = |id: u32, hertz: f64| Control {
        cpu: CpuId(id),
        core_hz: Some(Hertz(hertz)),
        multiply_ns: 1.0,
        rotate_ns: 0.33,
        multiply_per_rotate: 3.0,
        port_ns: 0.33,
        core_share: 1.0,
        spread: spread(1.0, 0.01),
    };
    let mut record = Record::default();
    record.guards.core_hz = Some([Hertz(3.240e9), Hertz(3.241e9)]);
    record.cores.control = vec![control(0, 3.240e9), control(1, 3.241e9)];
    let found = judged(record.clone(), "frequency-unstable").expect("a finding");
    assert_eq!(found.text, "the core clock agrees between CPUs: 3.24 GHz");
    assert_eq!(found.evidence.len(), 3, "{found:?}");
    assert_eq!(found.evidence[2], "CPU 1: 3.241 GHz by the control loop");
    // Epochs may have seen others: one number for the sentence and its evidence.
    record.guards.core_hz = Some([Hertz(3.0e9), Hertz(3.9e9)]);
    assert_eq!(judged(record.clone(), "frequency-unstable").expect("a finding"), found);
    record.cores.control.pop();
    assert_eq!(judged(record, "frequency-unstable"), None, "one CPU agrees with itself");
}

#[test]
fn waking_is_reported_by_its_median_and_its_ninetieth_percentile() {
    let point = |idle_us: f64, ns: f64, p90_ns: f64| WakePoint {
        waker: CpuId(0),
        sleeper: CpuId(1),
        idle_us,
        ns,
        p90_ns,
        spread: spread(ns, 100.0),
    };
    let mut record = Record::default();
    record.cores.wake = vec![point(100.0, 20_000.0, 30_000.0), point(1.0e4, 35_600.0, 49_970.0)];
    let found = judged(record.clone(), "wake-slow").expect("a finding");
    assert_eq!(
        found.text,
        "idle CPUs wake: half of the wake-ups within 35.6 µs, 90 % within 50.0 µs, after 10 ms of idling at worst"
    );
    assert!(found.evidence[0].contains("after 10000 µs"), "{found:?}");
    record.cores.wake = vec![point(100.0, 60_000.0, f64::NAN)];
    let found = judged(record.clone(), "wake-slow").expect("a finding");
    assert_eq!(found.text, "CPU 1 wakes slowly after 100 µs of idling: half of the wake-ups within 60.0 µs");
    let mut near = point(3160.0, 50_400.0, f64::NAN);
    near.spread = spread(50_400.0, 3_000.0);
    record.cores.wake = vec![near];
    let found = judged(record, "wake-slow").expect("a finding");
    assert_eq!(found.severity, Severity::Good, "its interval holds the limit");
    assert!(found.text.ends_with("after 3.16 ms of idling at worst"), "{found:?}");
}

#[test]
fn an_idle_state_is_blamed_only_for_a_good_part_of_what_was_seen() {
    let mut record = Record::default();
    let (waker, sleeper) = (CpuId(0), CpuId(1));
    let (ns, spread) = (60_000.0, spread(60_000.0, 100.0));
    record.cores.wake = vec![WakePoint { waker, sleeper, idle_us: 1.0e4, ns, p90_ns: ns, spread }];
    for (hypervisor, state_us, mechanism, remedy) in [
        (None, 133, "C6 declares 133 µs", "cpupower"),
        (None, 1, "unknown: the deepest idle state C6 declares only 1 µs", "idle=poll"),
        (Some("KVM"), 1, "halts into the hypervisor", "idle=poll"),
    ] {
        record.machine.identity.hypervisor = hypervisor.map(str::to_owned);
        record.machine.environment.idle_states = vec![("C6".to_owned(), state_us)];
        let found = judged(record.clone(), "wake-slow").expect("a finding");
        let (said, helps) = (found.mechanism.unwrap_or_default(), found.remedy.unwrap_or_default());
        assert!(said.contains(mechanism) && helps.contains(remedy), "{state_us}: {said}; {helps}");
    }
}

#[test]
fn no_remedy_names_a_command_that_does_not_exist() {
    let mut record = Record::default();
    record.machine.disagreements.push(machine::Disagreement {
        subject: "L3 size".to_owned(),
        sysfs: "32 MiB".to_owned(),
        cpuid: "16 MiB".to_owned(),
        sources: None,
    });
    let remedy = judged(record, "sysfs-cpuid-disagree").and_then(|found| found.remedy).expect("a remedy");
    assert!(remedy.contains("hwloc-gather-topology") && !remedy.contains("sidestep"), "{remedy}");
}

#[test]
fn conditions_of_the_run_are_judged() {
    let stolen = |share: f64| {
        let mut record = Record::default();
        record.guards.steal_share = Some(share);
        record
    };
    check(stolen(0.08), "steal-high", Severity::Warning, "doubtful: 8.00 % of CPU time");
    assert_eq!(judged(stolen(0.005), "steal-high"), None, "the answer on noise says it");
    for (fastest, severity) in
        [(3.5e9, Severity::Warning), (3.1e9, Severity::Notice), (3.01e9, Severity::Good)]
    {
        let mut record = Record::default();
        record.guards.core_hz = Some([Hertz(3.0e9), Hertz(fastest)]);
        check(record.clone(), "frequency-unstable", severity, "GHz");
        record.machine = machine_with(2, &[]);
        record.machine.topology.cpus[1].core_kind = CoreKind::Efficiency;
        assert_eq!(judged(record, "frequency-unstable"), None, "two kinds of core have two clocks");
    }
    let mut record = Record::default();
    record.guards.throttle_events = Some(3);
    (record.guards.windows, record.guards.windows_dropped) = (1000, 300);
    check(record.clone(), "thermal-throttle", Severity::Warning, "heat");
    check(record, "busy-machine", Severity::Warning, "busy");
}

#[test]
fn cores_limits_nodes_and_waking_are_judged() {
    let mut record = Record { machine: machine_with(4, &[]), ..Record::default() };
    record.machine.topology.allowed = [CpuId(0)].into_iter().collect();
    check(record.clone(), "limited", Severity::Notice, "part of the machine");
    record.machine.environment.limits.cgroup_millicpus = Some(500);
    check(record.clone(), "limited", Severity::Warning, "part of the machine");
    for (id, cpus) in [(0, vec![CpuId(0)]), (1, vec![CpuId(1)]), (2, vec![])] {
        record.machine.topology.nodes.push(Node {
            id: NodeId(id),
            cpus: cpus.into_iter().collect(),
            memory_bytes: Some(Bytes::GIB),
            free_bytes: None,
            distances: vec![10, 10, 10],
            attributes: Vec::new(),
            side_caches: Vec::new(),
        });
    }
    check(record.clone(), "memory-only-nodes", Severity::Notice, "1 memory node without CPUs");
    check(record.clone(), "flat-distances", Severity::Notice, "equally near");
    for (ns, severity) in [(180_000.0, Severity::Warning), (8_000.0, Severity::Good)] {
        let (waker, sleeper) = (CpuId(0), CpuId(1));
        let point = WakePoint { waker, sleeper, idle_us: 1.0e5, ns, p90_ns: ns, spread: spread(ns, 100.0) };
        record.cores.wake = vec![point];
        check(record.clone(), "wake-slow", severity, "µs");
    }
    record.cores.control.push(Control {
        cpu: CpuId(0),
        core_hz: None,
        multiply_ns: 1.0,
        rotate_ns: 0.33,
        multiply_per_rotate: 3.0,
        port_ns: 0.5,
        core_share: 0.55,
        spread: spread(1.0, 0.01),
    });
    check(record.clone(), "busy-sibling", Severity::Warning, "part of a core");
    // Once seen on machines without SMT: a sibling is busy.
    let why =
        |record: Record| judged(record, "busy-sibling").and_then(|finding| finding.mechanism).expect("why");
    assert!(why(record.clone()).contains("no CPU here has an SMT sibling"), "{}", why(record));
    record.machine.identity.hypervisor = Some("KVM".to_owned());
    assert!(why(record.clone()).contains("sibling thread of the host"), "{}", why(record));
}
