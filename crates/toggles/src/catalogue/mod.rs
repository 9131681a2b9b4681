//! All toggles, one file each: add yours here.

mod affinity;
mod boost;
mod bpf_jit_harden;
mod buffer_pages;
mod cache_ways;
mod clocksource;
mod cpu_online;
mod energy_bias;
mod energy_preference;
mod errata;
mod frequency_ceiling;
mod frequency_floor;
mod governor;
mod huge_malloc;
mod idle_states;
mod indirect_branch;
mod khugepaged;
mod ksm;
mod kvm_l1d_flush;
mod kvm_nx_huge_pages;
mod l3_subcaches;
mod latches;
mod memory_policy;
mod nmi_watchdog;
mod numa_balancing;
mod registers;
mod sched_ttwu_queue;
mod sched_wakeup_preemption;
mod smt;
mod speculation;
mod split_lock;
mod ssbd;
mod thp;
mod thp_system;
mod timer_slack;
mod turbo;
mod uncore_frequency;
mod wake_latency;

use machine::did_you_mean;

use crate::Toggle;

/// No toggle of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no toggle is called {name}; {hint}sidestep toggles shows all")]
pub struct UnknownToggle {
    /// What was asked for.
    pub name: String,
    /// The nearest name, as a question; or empty.
    pub hint: String,
}

/// Every toggle that sidestep knows, by rising risk.
pub fn catalogue() -> &'static [&'static dyn Toggle] {
    &[
        &ssbd::TOGGLE,
        &indirect_branch::TOGGLE,
        &thp::TOGGLE,
        &buffer_pages::TOGGLE,
        &huge_malloc::TOGGLE,
        &affinity::TOGGLE,
        &memory_policy::TOGGLE,
        &timer_slack::TOGGLE,
        &wake_latency::TOGGLE,
        &clocksource::TOGGLE,
        &thp_system::TOGGLE,
        &khugepaged::TOGGLE,
        &numa_balancing::TOGGLE,
        &ksm::TOGGLE,
        &governor::TOGGLE,
        &frequency_ceiling::TOGGLE,
        &frequency_floor::TOGGLE,
        &boost::TOGGLE,
        &turbo::TOGGLE,
        &energy_preference::TOGGLE,
        &energy_bias::TOGGLE,
        &idle_states::TOGGLE,
        &uncore_frequency::TOGGLE,
        &l3_subcaches::TOGGLE,
        &cache_ways::TOGGLE,
        &sched_wakeup_preemption::TOGGLE,
        &sched_ttwu_queue::TOGGLE,
        &split_lock::TOGGLE,
        &nmi_watchdog::TOGGLE,
        &registers::PREFETCHERS,
        &registers::C1_RAMPING,
        &smt::TOGGLE,
        &cpu_online::TOGGLE,
        &bpf_jit_harden::TOGGLE,
        &kvm_nx_huge_pages::TOGGLE,
        &kvm_l1d_flush::TOGGLE,
        &registers::GDS,
        &registers::SRBDS,
        &registers::ZENBLEED,
        &registers::FP_DSS,
        &errata::E298,
        &errata::E665,
        &errata::E721,
        &errata::E1021,
        &errata::E1033,
        &errata::E1091,
        &errata::E1095,
        &errata::E1485,
        &errata::ZEN_2_OP_CACHE,
        &errata::K8_FLUSH_FILTER,
        &latches::FORCE_DISABLE,
        &latches::SECCOMP,
        &latches::SMT_FORCEOFF,
        &latches::UNPRIVILEGED_BPF,
        &latches::KEXEC_LOAD,
        &latches::MODULES,
        &latches::PTRACE_SCOPE,
        &latches::GDS_LOCK,
        &latches::MICROCODE,
        &latches::L3_INDEX,
    ]
}

/// Words of the field for what is called otherwise here.
const MEANT: [(&str, &str); 6] = [
    ("hugepages", "thp"),
    ("huge-pages", "thp"),
    ("transparent-hugepages", "thp-system"),
    ("transparent_hugepage", "thp-system"),
    ("hyperthreading", "smt"),
    ("turbo", "boost"),
];

/// The toggle of that name.
///
/// # Errors
/// `UnknownToggle`, with the nearest name.
pub fn find(name: &str) -> Result<&'static dyn Toggle, UnknownToggle> {
    if let Some(toggle) = catalogue().iter().find(|toggle| toggle.about().name == name) {
        return Ok(*toggle);
    }
    let is_of_boot = name == "mitigations";
    if is_of_boot {
        let hint = "it is a word of the boot command line: sidestep ab --across-reboot --a mitigations=auto --b mitigations=off -- ./program; ";
        return Err(UnknownToggle { name: name.to_owned(), hint: hint.to_owned() });
    }
    let meant =
        MEANT.iter().find(|(word, _)| *word == name).map(|(_, toggle)| format!("did you mean {toggle}? "));
    let near = || did_you_mean(name, catalogue().iter().map(|toggle| toggle.about().name));
    let hint = meant.unwrap_or_else(near);
    Err(UnknownToggle { name: name.to_owned(), hint })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_typed_easily_and_every_toggle_is_explained() {
        let mut seen = std::collections::BTreeSet::new();
        for about in catalogue().iter().map(|toggle| toggle.about()) {
            assert!(seen.insert(about.name), "{} twice", about.name);
            assert!(about.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
            assert!(about.title.len() <= 40, "{}: {}", about.name, about.title.len());
            assert!(about.does.ends_with('.') && !about.source.is_empty(), "{}", about.name);
            assert_eq!(about.opens.is_empty(), about.risk < crate::Risk::Disruptive, "{}", about.name);
        }
    }

    #[test]
    fn a_name_typed_almost_right_is_suggested() {
        let hint = |name: &str| find(name).err().map(|error| error.hint);
        assert_eq!(hint("ssbd"), None);
        assert_eq!(hint("clocksorce").as_deref(), Some("did you mean clocksource? "));
        assert_eq!(hint("entirely-different").as_deref(), Some(""));
    }
}
