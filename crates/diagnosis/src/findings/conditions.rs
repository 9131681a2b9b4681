//! The machine around the measurement: contradicting descriptions, limits, nodes, waking, loaded memory.

use record::{Area, Finding, Record, Severity};

use super::{Details, finding};
use crate::surface::{is_latency, sane};
use crate::wording::{count, measured};

/// ACPI SLIT: the distance of a node to itself.
const LOCAL_DISTANCE: u32 = 10;

/// Waking an idle CPU of a quiet machine takes 5 to 50 us including the scheduler; above, a deep idle state or an exit to
/// the hypervisor is in it.
const SLOW_WAKE_NS: f64 = 50_000.0;

/// Latency under load over idle latency that is worth telling.
const LOADED_RATIO: f64 = 1.5;

/// Nanoseconds in a microsecond.
const MICRO: f64 = 1000.0;

pub(super) fn judge(record: &Record, found: &mut Vec<Finding>) {
    disagreements(record, found);
    limits(record, found);
    nodes(record, found);
    waking(record, found);
    loaded(record, found);
}

fn disagreements(record: &Record, found: &mut Vec<Finding>) {
    let disagreements = &record.machine.disagreements;
    if disagreements.is_empty() {
        return;
    }
    let subjects: Vec<&str> = disagreements.iter().map(|one| one.subject.as_str()).collect();
    let both = if disagreements.iter().all(|one| one.sources.is_none()) {
        "sysfs and CPUID contradict each other"
    } else {
        "what describes this machine contradicts itself"
    };
    let text = format!("{both} on {}", subjects.join(", "));
    found.push(
        finding(Area::Cores, "sysfs-cpuid-disagree", Severity::Notice, text)
            .showing(disagreements.iter().map(machine::Disagreement::sentence))
            .caused_by("a hypervisor filters one of the two, or firmware describes another part (inference)")
            .fixed_by(
                "hwloc-gather-topology and hwloc-gather-cpuid (package hwloc) record both for a bug report",
            ),
    );
}

fn limits(record: &Record, found: &mut Vec<Finding>) {
    let topology = &record.machine.topology;
    let online = topology.online();
    let mut evidence = Vec::new();
    let mut severity = Severity::Notice;
    if !topology.allowed.is_empty() && topology.allowed != online && topology.allowed.is_subset(&online) {
        evidence.push(format!("CPUs {} of {online} may be used", topology.allowed));
    }
    if let Some(quota) = record.machine.environment.limits.cgroup_millicpus {
        let usable = if topology.allowed.is_empty() { online.len() } else { topology.allowed.len() };
        if quota < usable as u64 * 1000 {
            evidence.push(format!(
                "CPU quota {:.2} of {} (cgroup)",
                quota as f64 / 1000.0,
                count(usable, "CPU")
            ));
            severity = Severity::Warning;
        }
    }
    let memory = &record.machine.environment;
    if let (Some(limit), Some(all)) = (memory.limits.cgroup_memory_bytes, memory.memory_bytes)
        && limit < all
    {
        evidence.push(format!("memory limit {limit} of {all} (cgroup)"));
    }
    if !topology.isolated.is_empty() {
        evidence.push(format!("CPUs {} are isolated from the scheduler", topology.isolated));
    }
    if evidence.is_empty() {
        return;
    }
    let text = "this process may use only part of the machine".to_owned();
    let mut limited = finding(Area::Cores, "limited", severity, text).showing(evidence);
    limited.mechanism = (severity == Severity::Warning).then(|| {
        "a quota stops all threads for part of each period: times near the period are stretched".to_owned()
    });
    limited.remedy = Some("run outside the container or the cgroup to see the whole machine".to_owned());
    found.push(limited);
}

fn nodes(record: &Record, found: &mut Vec<Finding>) {
    let nodes = &record.machine.topology.nodes;
    let without_cpus: Vec<String> = nodes
        .iter()
        .filter(|node| node.cpus.is_empty() && node.memory_bytes.is_some_and(|memory| memory.0 > 0))
        .map(|node| format!("node {}: {}", node.id, node.memory_bytes.unwrap_or_default()))
        .collect();
    if !without_cpus.is_empty() {
        let text = format!("{} without CPUs", count(without_cpus.len(), "memory node"));
        found.push(
            finding(Area::Memory, "memory-only-nodes", Severity::Notice, text)
                .showing(without_cpus)
                .caused_by("memory of another kind, such as CXL, HBM or persistent memory"),
        );
    }
    let with_cpus: Vec<_> = nodes.iter().filter(|node| !node.cpus.is_empty()).collect();
    let flat = with_cpus.len() > 1
        && with_cpus.iter().all(|node| {
            node.distances.len() > 1 && node.distances.iter().all(|distance| *distance == LOCAL_DISTANCE)
        });
    if flat {
        let text = format!("firmware says that all {} nodes are equally near", with_cpus.len());
        found.push(
            finding(Area::Memory, "flat-distances", Severity::Notice, text)
                .showing(["every ACPI SLIT distance is 10".to_owned()])
                .caused_by("a table that was never filled in: the scheduler places memory blindly"),
        );
    }
}

fn waking(record: &Record, found: &mut Vec<Finding>) {
    let slowest = record
        .cores
        .wake
        .iter()
        .filter(|point| point.ns.is_finite() && point.ns > 0.0 && point.idle_us.is_finite())
        .max_by(|a, b| a.ns.total_cmp(&b.ns));
    let Some(slowest) = slowest else { return };
    let interval = sane(slowest.spread.interval, slowest.ns).map(|ns| ns / MICRO);
    let median = measured(slowest.ns / MICRO, interval, "µs");
    let half = format!("half of the wake-ups within {:.1} µs", slowest.ns / MICRO);
    // A percentile below the median is none.
    let tail = Some(slowest.p90_ns).filter(|ns| ns.is_finite() && *ns >= slowest.ns).map(|ns| ns / MICRO);
    let within = tail.map_or(half.clone(), |tail| format!("{half}, 90 % within {tail:.1} µs"));
    let ninetieth = tail.map_or(String::new(), |tail| format!(", 90th percentile {tail:.1} µs"));
    let idle = if slowest.idle_us < MICRO {
        format!("{:.0} µs", slowest.idle_us)
    } else {
        format!("{} ms", rounded_ms(slowest.idle_us))
    };
    let evidence = format!(
        "CPU {} after {:.0} µs of idling: median {median}{ninetieth}",
        slowest.sleeper, slowest.idle_us
    );
    let whom = format!("CPU {}", slowest.sleeper);
    // The interval decides: two runs of one machine that agree must not get two verdicts.
    let (severity, text) = if interval.low > SLOW_WAKE_NS / MICRO {
        (Severity::Warning, format!("{whom} wakes slowly after {idle} of idling: {within}"))
    } else {
        (Severity::Good, format!("idle CPUs wake: {within}, after {idle} of idling at worst"))
    };
    let mut verdict = finding(Area::Cores, "wake-slow", severity, text).showing([evidence]);
    if severity == Severity::Warning {
        let (mechanism, remedy) = why_slow(record, slowest.ns);
        (verdict.mechanism, verdict.remedy) = (Some(mechanism), Some(remedy.to_owned()));
    }
    found.push(verdict);
}

/// Milliseconds with at most two places: `3.16`, `10`.
fn rounded_ms(us: f64) -> f64 {
    (us / MICRO * 100.0).round() / 100.0
}

/// What keeps a CPU from waking, and what helps. A state is blamed only if what it declares is a good part of the time.
fn why_slow(record: &Record, ns: f64) -> (String, &'static str) {
    /// Declared times are worst cases by the vendor; half of what was seen is a good part.
    const GOOD_PART: f64 = 0.5;
    // Linux, Documentation/admin-guide/kernel-parameters.txt: idle= is of x86 only, nohlt of the others.
    let awake = if record.machine.identity.is_x86() {
        "for latency: boot option idle=poll, or a busy-polling thread"
    } else {
        "for latency: boot option nohlt, or a busy-polling thread"
    };
    let states = &record.machine.environment.idle_states;
    let deepest = states.iter().max_by_key(|(_, latency_us)| *latency_us);
    if let Some((name, latency_us)) = deepest
        && *latency_us as f64 * MICRO >= GOOD_PART * ns
    {
        let mechanism = format!("the deepest idle state {name} declares {latency_us} µs to leave");
        return (mechanism, "for latency: cpupower idle-set -D 10, or hold /dev/cpu_dma_latency at 0");
    }
    let mechanism = if record.machine.identity.hypervisor.is_some() {
        "an idle guest CPU halts into the hypervisor, which has to schedule it again (inference)".to_owned()
    } else if let Some((name, latency_us)) = deepest {
        format!("unknown: the deepest idle state {name} declares only {latency_us} µs to leave")
    } else {
        "a deep idle state or a slow interrupt between CPUs (inference)".to_owned()
    };
    (mechanism, awake)
}

fn loaded(record: &Record, found: &mut Vec<Finding>) {
    let usable = record.memory.loaded.iter().filter(|point| is_latency(point.ns));
    let (idle, busy): (Vec<_>, Vec<_>) = usable.partition(|point| point.loading.is_empty());
    let Some(idle) = idle.into_iter().min_by(|a, b| a.ns.total_cmp(&b.ns)) else { return };
    let Some(busy) = busy
        .into_iter()
        .filter(|point| point.cpu == idle.cpu && point.overlapped_windows > 0)
        .max_by(|a, b| a.ns.total_cmp(&b.ns))
    else {
        return;
    };
    let (low, high) = (sane(busy.spread.interval, busy.ns).low, sane(idle.spread.interval, idle.ns).high);
    if low < LOADED_RATIO * high {
        return;
    }
    let text = format!("memory latency rises {:.1} times under load", busy.ns / idle.ns);
    found.push(
        finding(Area::Memory, "loaded-latency", Severity::Notice, text)
            .showing([
                format!(
                    "idle {}, random order in a block of {}",
                    measured(idle.ns, sane(idle.spread.interval, idle.ns), "ns"),
                    idle.block_bytes.map_or_else(|| "unknown size".to_owned(), |block| block.to_string())
                ),
                format!(
                    "{} streaming {:.1} GB/s: {}",
                    count(busy.loading.len(), "CPU"),
                    busy.load_bytes_per_s / 1.0e9,
                    measured(busy.ns, sane(busy.spread.interval, busy.ns), "ns")
                ),
            ])
            .caused_by("requests queue at the memory controller or at the link to it"),
    );
}
