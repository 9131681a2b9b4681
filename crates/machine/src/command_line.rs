//! What of a kernel's command line may be shown to others.
//!
//! Any option may name a disk, an address, a host or a password. Those that bear on flaws, speed or clocks, and take words or
//! numbers that name nobody, keep their values; of all others only the name is left.

/// Boot options that keep their values. A dot stands for every option of a module.
/// Linux 6.18, Documentation/admin-guide/kernel-parameters.txt; `eagerfpu`: Linux 4.4, the same file.
const TELLING_OPTIONS: [&str; 73] = [
    "acpi_pm",
    "align_va_addr",
    "amd_iommu",
    "amd_pstate",
    "audit",
    "clearcpuid",
    "clocksource",
    "clocksource.",
    "cpufreq.default_governor",
    "cpuidle.governor",
    "default_hugepagesz",
    "eagerfpu",
    "gather_data_sampling",
    "hpet",
    "hugepages",
    "hugepagesz",
    "idle",
    "indirect_target_selection",
    "init_on_alloc",
    "init_on_free",
    "intel_idle.",
    "intel_iommu",
    "intel_pstate",
    "iommu",
    "irqaffinity",
    "isolcpus",
    "kpti",
    "kvm.",
    "kvm_amd.",
    "kvm_intel.",
    "l1d_flush",
    "l1tf",
    "lapic",
    "maxcpus",
    "mds",
    "mem",
    "mitigations",
    "mmio_stale_data",
    "nmi_watchdog",
    "nohz",
    "nohz_full",
    "nosmt",
    "nr_cpus",
    "numa",
    "numa_balancing",
    "pcie_aspm",
    "pmtmr",
    "possible_cpus",
    "powernow_k8.",
    "preempt",
    "processor.",
    "pti",
    "randomize_kstack_offset",
    "rcu_nocbs",
    "reg_file_data_sampling",
    "retbleed",
    "skew_tick",
    "spec_rstack_overflow",
    "spec_store_bypass_disable",
    "spectre_bhi",
    "spectre_v2",
    "spectre_v2_user",
    "split_lock_detect",
    "srbds",
    "ssbd",
    "transparent_hugepage",
    "tsa",
    "tsc",
    "tsc_early_khz",
    "tsx",
    "tsx_async_abort",
    "vmscape",
    "watchdog_thresh",
];

/// What stands for a value or a word that was left out.
const LEFT_OUT: &str = "...";

/// The words of a command line: those known to name nobody with their values, all others by name, and nothing that is meant
/// for the first process. What has been through this already stays as it is.
pub fn shareable_command_line(line: &str) -> String {
    // What stands behind two dashes is for the first process: Linux, Documentation/admin-guide/kernel-parameters.rst.
    let words = words(line).into_iter().take_while(|word| word != "--");
    words.map(|word| shareable(&word)).collect::<Vec<_>>().join(" ")
}

/// Split at blanks outside double quotes, as the kernel does: Linux, lib/cmdline.c, `next_arg`.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        is_quoted ^= letter == '"';
        match words.last_mut() {
            Some(word) if is_quoted || !letter.is_whitespace() => word.push(letter),
            _ => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn shareable(word: &str) -> String {
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.,+".contains(c));
    match word.trim_start_matches('"').split_once('=') {
        // No value of these holds blanks: what does was written by somebody for something else.
        Some((key, value)) if is_telling(key) && !value.contains(char::is_whitespace) => word.to_owned(),
        Some((key, _)) if is_name(key) => format!("{key}={LEFT_OUT}"),
        None if is_name(word) => word.to_owned(),
        _ => LEFT_OUT.to_owned(),
    }
}

fn is_telling(key: &str) -> bool {
    // To the kernel, dashes and underscores are the same.
    let key = key.replace('-', "_");
    TELLING_OPTIONS.iter().any(|known| match known.strip_suffix('.') {
        Some(module) => key.split_once('.').is_some_and(|(name, _)| name == module),
        None => key == *known,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_may_name_something_are_left_out_and_the_rest_stays() {
        for (line, expected) in [
            ("root=UUID=12 ro quiet mitigations=off\n", "root=... ro quiet mitigations=off"),
            ("ip=10.0.0.1 user@host nosmt kvm.nx_huge_pages=off", "ip=... ... nosmt kvm.nx_huge_pages=off"),
            (
                "rd.iscsi.password=secret spectre-v2=retpoline,generic",
                "rd.iscsi.password=... spectre-v2=retpoline,generic",
            ),
            ("a.key=\"my secret words\" nosmt", "a.key=... nosmt"),
            ("\"a.key=my secret\" \"my secret\" isolcpus=\"1-3,5\"", "a.key=... ... isolcpus=\"1-3,5\""),
            ("quiet -- --token secret", "quiet"),
            ("mem=\"4G secret\" \"kvm.a=my secret\" mem=4G", "mem=... kvm.a=... mem=4G"),
            ("a.key=\"never closed secret", "a.key=..."),
            (
                "tsc=reliable clocksource.verify_n_cpus=4 intel_idle.max_cstate=1",
                "tsc=reliable clocksource.verify_n_cpus=4 intel_idle.max_cstate=1",
            ),
            ("", ""),
        ] {
            let shared = shareable_command_line(line);
            assert_eq!(shared, expected, "{line}");
            assert_eq!(shareable_command_line(&shared), shared, "twice");
        }
    }
}
