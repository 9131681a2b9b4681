//! What sidestep cannot see on this machine, one line each.

use host::{Root, live};
use machine::Machine;

/// Pages of this size and more are gigantic.
const GIGANTIC_BYTES: u64 = 1 << 30;

/// What only files of the live machine show.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Facts {
    /// The kernel offers hardware counters of the core.
    has_pmu: bool,
    /// Model-specific registers can be read.
    reads_registers: bool,
    /// The scheduler groups processes by session.
    autogroup: bool,
    /// Nice value of this process, where it is known.
    nice: Option<i32>,
}

impl Facts {
    /// Looks at the live machine.
    pub(super) fn of_this_machine() -> Self {
        let root = Root::live();
        let devices = root.list("/sys/bus/event_source/devices");
        let autogroup = root.read("/proc/sys/kernel/sched_autogroup_enabled").unwrap_or_default();
        Self {
            has_pmu: devices.iter().any(|name| is_core_pmu(name)),
            reads_registers: live::effective_root() && root.exists("/dev/cpu/0/msr"),
            autogroup: autogroup.trim() == "1",
            nice: live::own_nice(),
        }
    }
}

/// Names the kernel gives the counters of cores: one kind of core, hybrid x86, Arm.
fn is_core_pmu(name: &str) -> bool {
    matches!(name, "cpu" | "cpu_core" | "cpu_atom") || name.starts_with("armv")
}

/// The blind spots of this machine.
pub(super) fn of(machine: &Machine, facts: &Facts) -> Vec<String> {
    let mut spots = Vec::new();
    counters(machine, facts, &mut spots);
    environment(machine, facts, &mut spots);
    spots
}

fn counters(machine: &Machine, facts: &Facts, spots: &mut Vec<String>) {
    if !facts.has_pmu {
        spots.push(
            "no hardware counters: causes such as cache misses or stalls are inferred from time".to_owned(),
        );
    }
    if !facts.reads_registers {
        let reason = if live::effective_root() {
            "the kernel has no /dev/cpu/0/msr"
        } else {
            "that needs root and /dev/cpu/0/msr"
        };
        spots.push(format!("no registers: prefetchers, turbo and temperature are out of sight; {reason}"));
    }
    let clocks = &machine.environment.clock_sources;
    if let Some(current) =
        clocks.current.as_deref().filter(|&current| !matches!(current, "tsc" | "kvm-clock"))
    {
        spots.push(format!("clock source {current}: time read by programs is slower than the counter"));
    }
    if !(machine.identity.has_flag("constant_tsc") && machine.identity.has_flag("nonstop_tsc")) {
        spots.push(
            "the counter is not said to be constant: its rate may change with frequency or sleep".to_owned(),
        );
    }
}

fn environment(machine: &Machine, facts: &Facts, spots: &mut Vec<String>) {
    let environment = &machine.environment;
    if let Some(hypervisor) = &machine.identity.hypervisor {
        spots.push(format!(
            "hypervisor {hypervisor}: neighbours on the same core, cache or memory show only as noise"
        ));
    }
    let gigantic = |pool: &machine::HugePagePool| pool.page_bytes.0 >= GIGANTIC_BYTES && pool.free > 0;
    if !environment.huge_page_pools.iter().any(gigantic) {
        spots.push("no 1 GiB pages reserved: what they would gain is unknown".to_owned());
    }
    if facts.autogroup {
        spots.push("autogroup is on: nice counts inside this login session only".to_owned());
    }
    if let Some(nice) = facts.nice.filter(|&nice| nice > 0) {
        spots.push(format!("nice {nice}: other processes come first"));
    }
    if let Some(thousandths) = environment.limits.cgroup_millicpus {
        spots.push(format!(
            "the cgroup allows {:.1} CPUs: long loops on more are stopped for milliseconds",
            thousandths as f64 / 1000.0
        ));
    }
    if environment.idle_states.is_empty() {
        spots.push("idle states are unknown: why waking takes as long as it does stays open".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_without_anything_names_it_and_bare_metal_with_all_names_little() {
        let mut machine = Machine::default();
        machine.identity.hypervisor = Some("KVM".to_owned());
        let spots = of(&machine, &Facts::default());
        for part in ["hardware counters", "registers", "KVM", "1 GiB pages"] {
            assert!(spots.iter().any(|spot| spot.contains(part)), "{part}: {spots:?}");
        }
        let facts = Facts { has_pmu: true, reads_registers: true, ..Facts::default() };
        let machine = Machine::default();
        let spots = of(&machine, &facts);
        for part in ["hardware counters", "registers", "hypervisor"] {
            assert!(!spots.iter().any(|spot| spot.contains(part)), "{part}: {spots:?}");
        }
    }

    #[test]
    fn counters_are_known_by_their_names() {
        assert!(is_core_pmu("cpu") && is_core_pmu("armv8_pmuv3_0") && !is_core_pmu("software"));
    }
}
