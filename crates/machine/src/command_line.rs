//! The words of a kernel's command line as the kernel reads them, and what of them may be shown to others.
//!
//! This is the one reader of command lines. Source: Linux, lib/cmdline.c (`next_arg`), kernel/params.c (`parameq`,
//! `parse_args`). Of options whose words are handled one after the other the last one holds ([`last_word`]); a switch without
//! a value holds wherever it stands, and so is asked for with `any`.
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

/// From this word on the command line belongs to the first process, not to the kernel.
/// Source: Linux, Documentation/admin-guide/kernel-parameters.rst.
const END_OF_KERNEL_WORDS: &str = "--";

/// One word of the kernel's command line: `nosmt`, or `mitigations=off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootWord<'a> {
    /// As it stands there, quotes included.
    pub text: &'a str,
    /// What stands before the sign of equality, without the quotes around it.
    pub name: &'a str,
    /// What stands behind it, without the quotes around it.
    pub value: Option<&'a str>,
}

impl<'a> BootWord<'a> {
    /// A text that is one word.
    pub fn of(text: &'a str) -> Self {
        let bare = text.strip_prefix('"').map_or(text, |rest| rest.strip_suffix('"').unwrap_or(rest));
        let Some((name, value)) = bare.split_once('=') else { return Self { text, name: bare, value: None } };
        let value = value.strip_prefix('"').map_or(value, |rest| rest.strip_suffix('"').unwrap_or(rest));
        Self { text, name, value: Some(value) }
    }

    /// True if it sets this option.
    pub fn is_named(&self, name: &str) -> bool {
        same_option(self.name, name)
    }
}

/// True of two names of one option: to the kernel, dashes and underscores are the same.
pub fn same_option(one: &str, other: &str) -> bool {
    let plain = |byte: u8| if byte == b'-' { b'_' } else { byte };
    one.len() == other.len() && one.bytes().map(plain).eq(other.bytes().map(plain))
}

/// The words for the kernel, in their order: split at blanks outside double quotes, up to `--`.
pub fn boot_words(line: &str) -> impl Iterator<Item = BootWord<'_>> {
    let mut is_quoted = false;
    let is_end = move |letter: char| {
        is_quoted ^= letter == '"';
        !is_quoted && letter.is_whitespace()
    };
    let words = line.split(is_end).filter(|word| !word.is_empty());
    words.take_while(|word| *word != END_OF_KERNEL_WORDS).map(BootWord::of)
}

/// The word that holds of an option which may be set more than once: the last one.
pub fn last_word<'a>(line: &'a str, name: &str) -> Option<BootWord<'a>> {
    boot_words(line).filter(|word| word.is_named(name)).last()
}

/// The words of a command line: those known to name nobody with their values, all others by name, and nothing that is meant
/// for the first process. What has been through this already stays as it is.
pub fn shareable_command_line(line: &str) -> String {
    boot_words(line).map(|word| shareable(&word)).collect::<Vec<_>>().join(" ")
}

fn shareable(word: &BootWord) -> String {
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.,+".contains(c));
    match word.value {
        // No value of these holds blanks: what does was written by somebody for something else.
        Some(value) if is_telling(word.name) && !value.contains(char::is_whitespace) => word.text.to_owned(),
        Some(_) if is_name(word.name) => format!("{}={LEFT_OUT}", word.name),
        None if is_name(word.name) => word.name.to_owned(),
        _ => LEFT_OUT.to_owned(),
    }
}

fn is_telling(name: &str) -> bool {
    TELLING_OPTIONS.iter().any(|known| match known.strip_suffix('.') {
        Some(module) => name.split_once('.').is_some_and(|(first, _)| same_option(first, module)),
        None => same_option(name, known),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A plain copy of `next_arg` of Linux, letter by letter: name and value of each word.
    fn naive(line: &str) -> Vec<(String, Option<String>)> {
        let letters: Vec<char> = line.chars().collect();
        let (mut at, mut found) = (0, Vec::new());
        while at < letters.len() {
            if letters[at].is_whitespace() {
                at += 1;
                continue;
            }
            let begin = at;
            let mut is_quoted = false;
            while at < letters.len() && (is_quoted || !letters[at].is_whitespace()) {
                is_quoted ^= letters[at] == '"';
                at += 1;
            }
            let mut word: Vec<char> = letters[begin..at].to_vec();
            if word == ['-', '-'] {
                break;
            }
            if word[0] == '"' {
                word.remove(0);
                if word.last() == Some(&'"') {
                    word.pop();
                }
            }
            let equals = word.iter().position(|letter| *letter == '=');
            let value = equals.map(|equals| {
                let mut value = word[equals + 1..].to_vec();
                if value.first() == Some(&'"') {
                    value.remove(0);
                    if value.last() == Some(&'"') {
                        value.pop();
                    }
                }
                value.into_iter().collect::<String>()
            });
            found.push((word[..equals.unwrap_or(word.len())].iter().collect(), value));
        }
        found
    }

    proptest! {
        #[test]
        fn words_are_those_of_the_kernel(line in "([a-c=\" \\-_.]|\\PC){0,40}") {
            let found: Vec<(String, Option<String>)> =
                boot_words(&line).map(|word| (word.name.to_owned(), word.value.map(str::to_owned))).collect();
            prop_assert_eq!(found, naive(&line));
        }

        #[test]
        fn what_was_made_shareable_stays_as_it_is(line in "([a-c=\" \\-_.,]|mem=|nosmt|\\PC){0,40}") {
            let shared = shareable_command_line(&line);
            prop_assert_eq!(shareable_command_line(&shared), shared);
        }
    }

    #[test]
    fn a_name_may_have_dashes_and_the_last_word_of_an_option_holds() {
        let line = "mitigations=off spectre-v2=off quiet mitigations=auto -- mitigations=off";
        assert_eq!(last_word(line, "mitigations").and_then(|word| word.value), Some("auto"));
        assert_eq!(last_word(line, "spectre_v2").map(|word| word.text), Some("spectre-v2=off"));
        assert_eq!(last_word(line, "mds"), None);
        assert!(!same_option("a_b", "a_bc"));
    }

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
