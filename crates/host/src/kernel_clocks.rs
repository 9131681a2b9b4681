//! What a kernel thinks of its clocks: the source in use, flags, verdicts in the log, who watches; live or recorded.

use machine::{Environment, Machine};
use record::KernelClocks;

use crate::messages::{self, kernel_messages};
use crate::{Root, describe, live};

/// Flags that concern the counter, as the kernel names them: arch/x86/include/asm/cpufeatures.h.
const FLAGS: [&str; 10] = [
    "tsc",
    "constant_tsc",
    "nonstop_tsc",
    "nonstop_tsc_s3",
    "tsc_known_freq",
    "tsc_reliable",
    "tsc_adjust",
    "tsc_scale",
    "rdtscp",
    "rdpid",
];

/// Words of the command line that concern clocks, up to the value: Linux, Documentation/admin-guide/kernel-parameters.txt;
/// `powernow-k8.tscsync` is known of RHEL's kernels only (Red Hat Enterprise Linux for Real Time 7, tuning guide, 3.3).
const BOOT_WORDS: [&str; 12] = [
    "tsc=",
    "notsc",
    "clocksource=",
    "clocksource.",
    "hpet=",
    "nohpet",
    "acpi_pm",
    "pmtmr",
    "idle=",
    "processor.max_cstate",
    "powernow-k8.tscsync",
    "tsc_early_khz",
];

/// Parts of messages that concern clocks: kernel/time/clocksource.c, arch/x86/kernel/{tsc,tsc_sync,hpet}.c.
const MESSAGES: [&str; 11] = [
    "marking clocksource",
    "marking tsc unstable",
    "tsc found unstable",
    "tsc synchronization [",
    "cycles tsc warp",
    "checking clocksource",
    "override clocksource",
    "hpet read-back delay",
    "fast tsc calibration",
    "tsc adjust",
    "switched to clocksource",
];

/// Parts of messages by which the kernel gives the counter up.
const CONDEMNATIONS: [&str; 4] = [
    "marking clocksource 'tsc' as unstable",
    "marking tsc unstable",
    "tsc found unstable",
    "turning off tsc",
];

/// The most messages kept.
const MESSAGES_MAX: usize = 40;

/// The device by which a host tells its guests that time was disturbed. Linux, drivers/ptp/ptp_vmclock.c.
const VMCLOCK: &str = "/dev/vmclock0";
/// Where firmware's devices stand that a driver may take, and how those of a hypervisor that has such a page call themselves:
/// in ACPI by identifier (Linux 205032724226) or by compatible identifier (ed4d23ed469c), in the device tree (ddc867d0b5db).
const PLATFORM_DEVICES: &str = "/sys/bus/platform/devices";
const VMCLOCK_NAMES: [&str; 3] = [":AMZNC10C:", ":VMCLOCK:", "Camazon,vmclock"];

/// Asks the files of a machine; of the running one also its log and the discipline of its clock.
pub fn kernel_clocks(root: &Root, machine: &Machine) -> KernelClocks {
    let environment = &machine.environment;
    let identity = &machine.identity;
    let log = if root.is_live() { kernel_messages() } else { root.read("dmesg").ok() };
    let messages = log.as_deref().map(chosen);
    // Words with which the kernel gave it up may be lost; what it does not offer it does not trust.
    let sources = &environment.clock_sources.available;
    let is_withheld = identity.flags.iter().any(|flag| flag == "tsc")
        && !sources.is_empty()
        && !sources.iter().any(|name| name.starts_with("tsc"));
    let is_given_up = is_withheld || messages.iter().flatten().any(|line| is_condemnation(line));
    KernelClocks {
        clocksource: environment.clock_sources.current.clone(),
        available: environment.clock_sources.available.clone(),
        flags: FLAGS
            .into_iter()
            .filter(|flag| identity.flags.iter().any(|has| has == flag))
            .map(str::to_owned)
            .collect(),
        boot_words: environment.command_line.as_deref().map(boot_words).unwrap_or_default(),
        condemned: is_given_up,
        messages,
        watchdog: watchdog(machine, is_given_up),
        vmclock: vmclock(root, machine),
        hypervisor: identity.hypervisor.clone(),
        ntp: if root.is_live() { live::ntp_state() } else { None },
        c1_ramping: None,
    }
}

/// The same of the running machine at this moment: of the description only what cannot change is believed.
pub fn kernel_clocks_now(machine: &Machine) -> KernelClocks {
    let root = Root::live();
    let now = describe::clock_sources(&root);
    let environment = Environment { clock_sources: now, ..machine.environment.clone() };
    kernel_clocks(&root, &Machine { environment, ..machine.clone() })
}

/// Seconds of the hardware clock; every RTC driver has the file. Linux, drivers/rtc/sysfs.c.
const RTC_SECONDS: &str = "/sys/class/rtc/rtc0/since_epoch";

/// Seconds since 1970 by the hardware clock.
///
/// # Errors
/// Why it is not known: guests often have none.
pub fn hardware_clock_seconds(root: &Root) -> Result<u64, String> {
    let text = root.read(RTC_SECONDS).map_err(|error| error.to_string())?;
    text.parse().map_err(|_| format!("{RTC_SECONDS} holds no number"))
}

fn boot_words(line: &str) -> Vec<String> {
    let plain = |text: &str| text.replace('-', "_");
    let concerns = |text: &&str| BOOT_WORDS.iter().any(|known| plain(text).starts_with(&plain(known)));
    machine::boot_words(line).map(|word| word.text).filter(concerns).map(str::to_owned).collect()
}

fn chosen(log: &str) -> Vec<String> {
    let concerns = |line: &&str| {
        let line = line.to_lowercase();
        let is_reported = MESSAGES.iter().any(|part| line.contains(part)) || is_condemnation(&line);
        is_reported && !record::repeats_command_line(&line)
    };
    let mut chosen: Vec<String> =
        log.lines().filter(concerns).map(|line| messages::message(line).to_owned()).collect();
    // What the kernel gives up stays, and else the latest.
    let mut excess = chosen.len().saturating_sub(MESSAGES_MAX);
    chosen.retain(|line| {
        let is_dropped = excess > 0 && !is_condemnation(line);
        excess -= usize::from(is_dropped);
        !is_dropped
    });
    chosen.drain(..chosen.len().saturating_sub(MESSAGES_MAX));
    chosen
}

fn is_condemnation(line: &str) -> bool {
    let line = line.to_lowercase();
    CONDEMNATIONS.iter().any(|part| line.contains(part))
}

/// Whether the kernel holds the counter against another clock, by what it decides by.
fn watchdog(machine: &Machine, is_given_up: bool) -> Option<String> {
    /// Packages up to which such counters are not watched: by Linux b50db7095fe0, and by Linux 6.12.117,
    /// arch/x86/kernel/tsc.c, `check_system_tsc_reliable`. Which release came to allow more is unknown here.
    const PACKAGES_TRUSTED: usize = 2;
    const PACKAGES_TRUSTED_LATER: usize = 4;
    /// Boot options that end the watch. Linux, arch/x86/kernel/tsc.c, `tsc_setup`; kernel-parameters.txt, `tsc=`.
    const UNWATCHED: [&str; 2] = ["tsc=reliable", "tsc=nowatchdog"];
    let has = |flag: &str| machine.identity.flags.iter().any(|has| has == flag);
    let sources = &machine.environment.clock_sources;
    // The kernel takes any clock that needs no watch itself, one of the hypervisor as well.
    let others: Vec<&str> =
        sources.available.iter().map(String::as_str).filter(|name| !name.starts_with("tsc")).collect();
    let packages = machine.topology.packages().len();
    let may_be_trusted = ["constant_tsc", "nonstop_tsc", "tsc_adjust"].into_iter().all(has);
    if !has("tsc") || sources.available.is_empty() {
        return None;
    }
    let line = machine.environment.command_line.as_deref().unwrap_or_default();
    let mut boot_words = machine::boot_words(line).map(|word| word.text);
    Some(if is_given_up {
        // kernel/time/clocksource.c, `__clocksource_watchdog_kthread`: an unstable source leaves the list of those that are watched.
        "off: the kernel has given the counter up".to_owned()
    } else if has("tsc_reliable") {
        "off: the counter is declared reliable".to_owned()
    } else if let Some(word) = boot_words.find(|word| UNWATCHED.contains(word)) {
        format!("off: booted with {word}")
    } else if may_be_trusted && packages <= PACKAGES_TRUSTED {
        "off, where the kernel has b50db7095fe0: constant, nonstop, adjustable, at most two packages"
            .to_owned()
    } else if may_be_trusted && packages <= PACKAGES_TRUSTED_LATER {
        format!(
            "off, where the kernel trusts {packages} packages as 6.12 does: constant, nonstop, adjustable"
        )
    } else if others.is_empty() {
        "off: there is no other clock to watch with".to_owned()
    } else {
        format!("on: twice a second against {}", others.join(" or "))
    })
}

fn vmclock(root: &Root, machine: &Machine) -> Option<String> {
    if root.exists(VMCLOCK) {
        return Some(format!("{VMCLOCK} reports migrations"));
    }
    if let Some(device) = vmclock_of_firmware(root) {
        return Some(format!(
            "the hypervisor offers one ({device}), but this kernel has no driver for it, so that {VMCLOCK} is absent: a \
             migration or a restored snapshot is not reported; a kernel with CONFIG_PTP_1588_CLOCK_VMCLOCK does"
        ));
    }
    let guest = machine.identity.hypervisor.is_some() && root.is_live();
    guest.then(|| format!("{VMCLOCK} is absent: a migration or a restored snapshot is not reported"))
}

/// The device that firmware describes, whether a driver has taken it or not.
fn vmclock_of_firmware(root: &Root) -> Option<String> {
    root.list(PLATFORM_DEVICES).into_iter().find(|device| {
        let names = root.read(&format!("{PLATFORM_DEVICES}/{device}/modalias"));
        names.is_ok_and(|names| VMCLOCK_NAMES.iter().any(|name| names.contains(name)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_the_hypervisor_is_found_with_or_without_a_driver() {
        let none = Machine::default();
        for (names, node, expected) in [
            ("acpi:AMZNC10C:VMCLOCK:", None, Some("offers one (device)")),
            ("acpi:QEMU1234:VMCLOCK:", None, Some("no driver")),
            ("of:NvmclockT(null)Camazon,vmclock", None, Some("CONFIG_PTP_1588_CLOCK_VMCLOCK")),
            ("acpi:AMZNC10C:VMCLOCK:", Some("dev/vmclock0"), Some("reports migrations")),
            ("acpi:VMGENCTR:", None, None),
        ] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let write = |path: &str, text: &str| {
                let file = folder.path().join(path);
                std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
                std::fs::write(file, text).expect("a file");
            };
            write("sys/bus/platform/devices/device/modalias", &format!("{names}\n"));
            write("proc/version", "Linux");
            if let Some(node) = node {
                write(node, "");
            }
            let text = vmclock(&Root::open(folder.path()).expect("a recording"), &none);
            assert_eq!(text.is_some(), expected.is_some(), "{names}: {text:?}");
            assert!(expected.is_none_or(|words| text.is_some_and(|text| text.contains(words))), "{names}");
        }
    }

    #[test]
    fn verdicts_of_the_kernel_are_recognised() {
        for (line, condemns) in [
            ("[ 12.3] tsc: Marking TSC unstable due to clocksource watchdog", true),
            (
                "clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:",
                true,
            ),
            ("TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.", true),
            ("Measured 3528 cycles TSC warp between CPUs, turning off TSC clock.", true),
            ("clocksource: Switched to clocksource tsc", false),
            ("tsc: Fast TSC calibration failed", false),
            ("hpet: hpet read-back delay of 1234 ns, attempt 4, marking unstable", false),
        ] {
            let chosen = chosen(line);
            assert_eq!(chosen.len(), 1, "{line}");
            assert_eq!(is_condemnation(&chosen[0]), condemns, "{line}");
            assert!(!chosen[0].starts_with('['), "{line}");
        }
        assert!(chosen("usb 1-1: new device\n").is_empty());
        let flood = "hpet: hpet read-back delay of 1 ns\n".repeat(2 * MESSAGES_MAX);
        for log in
            [format!("tsc: Marking TSC unstable\n{flood}"), format!("{flood}tsc: Marking TSC unstable\n")]
        {
            let chosen = chosen(&log);
            assert_eq!(chosen.iter().filter(|line| is_condemnation(line)).count(), 1);
            assert_eq!(chosen.len(), MESSAGES_MAX);
        }
    }

    #[test]
    fn words_that_concern_clocks_are_distinguished() {
        let line =
            "root=/dev/sda1 clocksource=tsc tsc=reliable quiet idle=poll nohz=on powernow-k8.tscsync=1";
        assert_eq!(
            boot_words(line),
            ["clocksource=tsc", "tsc=reliable", "idle=poll", "powernow-k8.tscsync=1"]
        );
    }

    #[test]
    fn words_that_concern_clocks_keep_their_values_in_what_is_shared() {
        for word in BOOT_WORDS {
            let value = match word {
                word if word.ends_with('.') => "x=1",
                word if word.ends_with('=') => "x",
                word if word.contains('.') => "=1",
                _ => "",
            };
            let word = format!("{word}{value}");
            assert_eq!(machine::shareable_command_line(&word), word);
        }
    }

    /// A CPU in a package of its own.
    fn package(number: u32) -> machine::Cpu {
        machine::Cpu {
            id: machine::CpuId(number),
            core_index: number as usize,
            package: i64::from(number),
            die: None,
            module: None,
            node: None,
            core_kind: machine::CoreKind::Uniform,
            capacity: None,
        }
    }

    #[test]
    fn the_watchdog_is_distinguished_from_what_the_kernel_decides_by() {
        let mut machine = Machine::default();
        assert_eq!(watchdog(&machine, false), None);
        machine.identity.flags = ["tsc", "constant_tsc"].map(str::to_owned).to_vec();
        machine.environment.clock_sources.available = ["tsc", "hpet"].map(str::to_owned).to_vec();
        assert!(watchdog(&machine, false).is_some_and(|text| text.starts_with("on")));
        assert!(watchdog(&machine, true).is_some_and(|text| text.starts_with("off")));
        for (line, expected) in [
            ("quiet tsc=nowatchdog", "off: booted with tsc=nowatchdog"),
            ("tsc=reliable quiet", "off: booted with tsc=reliable"),
            ("tsc=noirqtime hpet=disable", "on: twice a second against hpet"),
        ] {
            machine.environment.command_line = Some(line.to_owned());
            assert_eq!(watchdog(&machine, false).as_deref(), Some(expected), "{line}");
        }
        machine.environment.command_line = None;
        let available = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        machine.environment.clock_sources.available = available(&["tsc", "kvm-clock"]);
        assert_eq!(watchdog(&machine, false).as_deref(), Some("on: twice a second against kvm-clock"));
        machine.environment.clock_sources.available = available(&["tsc"]);
        assert!(watchdog(&machine, false).is_some_and(|text| text.contains("no other clock")));
        machine.identity.flags.extend(["nonstop_tsc", "tsc_adjust"].map(str::to_owned));
        for (packages, names, expected) in [
            (1, ["tsc", "kvm-clock"], "off, where the kernel has b50db7095fe0"),
            (2, ["tsc", "hpet"], "off, where the kernel has b50db7095fe0"),
            (4, ["tsc", "hpet"], "off, where the kernel trusts 4 packages as 6.12 does"),
            (8, ["tsc", "hpet"], "on: twice a second against hpet"),
        ] {
            machine.environment.clock_sources.available = available(&names);
            machine.topology.cpus = (0..packages).map(package).collect();
            let text = watchdog(&machine, false).unwrap_or_default();
            assert!(text.starts_with(expected), "{packages}: {text}");
        }
        machine.identity.flags.push("tsc_reliable".to_owned());
        assert!(watchdog(&machine, false).is_some_and(|text| text.contains("reliable")));
    }
}
