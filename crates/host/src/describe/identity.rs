//! Who the CPU, the board and the hypervisor say they are.

use machine::{Identity, Vendor};

use super::source::{CpuInfo, Source};
use crate::root::hexadecimal;
use crate::smbios;

/// Where firmware's description of board and system is.
const DMI_FOLDER: &str = "/sys/class/dmi/id";

/// Names that hypervisors put into the system fields of DMI, and what they are called. systemd, src/basic/virt.c, has the same
/// list.
const DMI_HYPERVISORS: [(&str, &str); 16] = [
    ("QEMU", "KVM or QEMU"),
    ("KVM", "KVM"),
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("Microsoft Corporation Virtual Machine", "Hyper-V"),
    ("Xen", "Xen"),
    ("Google Compute Engine", "KVM"),
    ("Amazon EC2", "KVM"),
    ("OpenStack", "KVM"),
    ("KubeVirt", "KVM"),
    ("innotek GmbH", "VirtualBox"),
    ("Bochs", "KVM or QEMU"),
    ("Parallels", "Parallels"),
    ("BHYVE", "bhyve"),
    ("Hyper-V", "Hyper-V"),
    ("Apple Virtualization", "Apple Virtualization"),
];

/// Files in which only a guest has what stands there, and whose guest it is; first the innermost. Ids in the header of ACPI tables:
/// QEMU, include/hw/acpi/aml-build.h, ACPI_BUILD_APPNAME6; VirtualBox, src/VBox/Devices/PC/DevACPI.cpp. Device tree: Linux,
/// Documentation/devicetree/bindings/arm/xen.txt; QEMU, hw/arm/virt.c; systemd, src/basic/virt.c. PCI devices: util-linux,
/// sys-utils/lscpu-virt.c. Partitions of s390, in which z/VM and KVM are as well: Linux, arch/s390/kernel/sysinfo.c. Clock sources:
/// arch/x86/kernel/kvmclock.c, arch/x86/xen/time.c, drivers/clocksource/hyperv_timer.c. Names of CPUs: QEMU, target/i386/cpu.c.
const FILE_HYPERVISORS: [(&str, &[(&str, &str)]); 9] = [
    ("/sys/firmware/acpi/tables/FACP", &ACPI_IDS),
    ("/sys/firmware/acpi/tables/APIC", &ACPI_IDS),
    (
        "/proc/bus/pci/devices",
        &[
            ("\t80eebeef\t", "VirtualBox"),
            ("\t58530001\t", "Xen"),
            ("\t14145353\t", "Hyper-V"),
            ("\t15ad0740\t", "VMware"),
        ],
    ),
    (
        "/proc/device-tree/hypervisor/compatible",
        &[("linux,kvm", "KVM"), ("xen,", "Xen"), ("vmware", "VMware"), ("", "unknown")],
    ),
    ("/proc/device-tree/compatible", &[("linux,dummy-virt", "unknown")]),
    ("/proc/device-tree/hmc-managed?", &[("", "PowerVM")]),
    ("/proc/sysinfo", &[("KVM/Linux", "KVM"), ("z/VM", "z/VM"), ("LPAR Number", "PR/SM")]),
    (
        "/sys/devices/system/clocksource/clocksource0/available_clocksource",
        &[("kvm-clock", "KVM"), ("xen", "Xen"), ("hyperv_clocksource", "Hyper-V")],
    ),
    ("/proc/cpuinfo", &[("QEMU Virtual CPU", "KVM or QEMU"), ("Common KVM processor", "KVM")]),
];
const ACPI_IDS: [(&str, &str); 2] = [("BOCHS ", "KVM or QEMU"), ("VBOX  ", "VirtualBox")];

/// Where the machine is described that has no ACPI: a link to /sys/firmware/devicetree/base.
const DEVICE_TREE: &str = "/proc/device-tree";

/// What Amazon's products hold that are a whole machine without a hypervisor: `m5.metal`, `c7i.metal-24xl`.
/// docs.aws.amazon.com, Amazon EC2 instance types.
const METAL: &str = ".metal";

/// Reads who the machine says it is from procfs and DMI; CPUID is added by the cross-check.
pub(super) fn read(source: &Source<'_>, info: &CpuInfo) -> Identity {
    let number = |key: &str| info.first(key).and_then(|value| value.parse().ok());
    let vendor = ["vendor_id", "vendor"].iter().find_map(|key| info.first(key));
    let is_x86 = info.first("cpu family").is_some() && info.first("flags").is_some();
    let name =
        ["model name", "cpu", "Processor", "machine", "Hardware"].iter().find_map(|key| info.first(key));
    let flags = ["flags", "Features", "features"].iter().find_map(|key| info.first(key));
    let mut flags: Vec<String> =
        flags.map(|text| text.split_whitespace().map(str::to_owned).collect()).unwrap_or_default();
    flags.sort();
    flags.dedup();
    let has_flag = |flag: &str| flags.iter().any(|have| have == flag);
    Identity {
        vendor: vendor.map(|text| Vendor::from(text.to_owned())),
        family: number("cpu family").or_else(|| number("family")),
        model: number("model").filter(|_| vendor.is_some()),
        stepping: number("stepping"),
        microcode: info.first("microcode").and_then(hexadecimal),
        name: name.map(str::to_owned),
        hypervisor: hypervisor(source, has_flag("hypervisor")),
        architecture: architecture(source, info, is_x86, has_flag("lm"))
            .map(str::to_owned)
            // Since Linux 6.1: kernel/utsname_sysctl.c.
            .or_else(|| source.word("/proc/sys/kernel/arch")),
        flags,
        soc: soc(source),
        arm: Vec::new(),
        board: described(source, &["sys_vendor", "product_name"])
            .or_else(|| described(source, &["board_vendor", "board_name"]))
            .or_else(|| {
                tree_words(source, "model").into_iter().chain(tree_words(source, "compatible")).next()
            }),
        bios: described(source, &["bios_vendor", "bios_version", "bios_date"]),
        bios_vendor: described(source, &["bios_vendor"]),
        bios_version: described(source, &["bios_version"]),
        bios_date: described(source, &["bios_date"]),
        memory_modules: smbios::memory_modules(&smbios::table(source.root())),
    }
}

/// The DMI values that are there, joined by blanks.
fn described(source: &Source<'_>, names: &[&str]) -> Option<String> {
    let values: Vec<String> =
        names.iter().filter_map(|name| source.word(&format!("{DMI_FOLDER}/{name}"))).collect();
    (!values.is_empty()).then(|| values.join(" "))
}

/// The words of a property of the device tree, which end in zeros.
fn tree_words(source: &Source<'_>, property: &str) -> Vec<String> {
    let text = source.text(&format!("{DEVICE_TREE}/{property}")).unwrap_or_default();
    text.split('\0').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The chip as firmware names it (SMCCC_ARCH_SOC_ID) or a driver: machine or family, id, revision. Linux,
/// Documentation/ABI/testing/sysfs-devices-soc.
fn soc(source: &Source<'_>) -> Option<String> {
    let word = |name: &str| source.word(&format!("/sys/devices/soc0/{name}"));
    let id = word("soc_id");
    // The id of SMCCC begins with the family, which is its maker's number.
    let is_said = |family: &String| id.as_ref().is_some_and(|id| id.starts_with(family.as_str()));
    let name = word("machine").or_else(|| word("family").filter(|family| !is_said(family)));
    let revision = word("revision").map(|revision| format!("revision {revision}"));
    let words: Vec<String> = name.into_iter().chain(id).chain(revision).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// From Xen's own folder, then DMI, then other files that only guests have, then the CPU flag; CPUID may know better. A guest whose
/// CPUID hides the hypervisor is still known by its firmware.
fn hypervisor(source: &Source<'_>, has_flag: bool) -> Option<String> {
    if let Some(kind) = source.word("/sys/hypervisor/type") {
        return Some(if kind == "xen" { "Xen".to_owned() } else { kind });
    }
    let system = described(source, &["sys_vendor", "product_name"]).unwrap_or_default();
    if system.contains(METAL) {
        return has_flag.then(|| "unknown".to_owned());
    }
    let firmware = described(source, &["board_vendor", "bios_vendor", "chassis_vendor"]).unwrap_or_default();
    let named = |names: &'static [(&str, &str)], text: &str| {
        names.iter().find(|(part, _)| text.contains(part)).map(|(_, name)| *name)
    };
    let by_dmi = [system, firmware].iter().find_map(|text| named(&DMI_HYPERVISORS, text));
    // Only root may read some: that is no absence.
    let by_file = || {
        let held = |(path, names): &(&str, &'static [_])| named(names, &source.root().read(path).ok()?);
        FILE_HYPERVISORS.iter().find_map(held)
    };
    by_dmi.or_else(by_file).or_else(|| has_flag.then_some("unknown")).map(str::to_owned)
}

/// The architecture by the keys that only its /proc/cpuinfo has; a live root knows it.
fn architecture(source: &Source<'_>, info: &CpuInfo, is_x86: bool, is_64_bit: bool) -> Option<&'static str> {
    if source.root().is_live() {
        return Some(std::env::consts::ARCH);
    }
    if is_x86 {
        return Some(if is_64_bit { "x86_64" } else { "x86" });
    }
    if info.first("CPU implementer").is_some() {
        let is_64_bit =
            info.first("CPU architecture").is_some_and(|version| version == "8" || version == "AArch64");
        return Some(if is_64_bit { "aarch64" } else { "arm" });
    }
    machine::architecture_of_cpuinfo(|key| info.first(key))
}

#[cfg(test)]
mod tests {
    use crate::Root;

    #[test]
    fn a_recorded_guest_is_known_without_a_cpuid_dump() {
        let clock = "sys/devices/system/clocksource/clocksource0/available_clocksource";
        let guest = "processor: 0\nflags: fpu hypervisor\n";
        let bare = "processor: 0\nflags: fpu\n";
        let model = "processor: 0\nmodel name: QEMU Virtual CPU version 2.5+\nflags: fpu hypervisor\n";
        for (cpuinfo, path, text, expected) in [
            (guest, clock, "kvm-clock tsc acpi_pm", Some("KVM")),
            (guest, clock, "hyperv_clocksource_tsc_page acpi_pm", Some("Hyper-V")),
            (guest, clock, "tsc acpi_pm", Some("unknown")),
            (guest, "sys/class/dmi/id/bios_vendor", "Parallels Software", Some("Parallels")),
            (guest, "sys/class/dmi/id/sys_vendor", "OpenStack Foundation", Some("KVM")),
            (model, clock, "tsc", Some("KVM or QEMU")),
            ("processor: 0\nflags: fpu\n", clock, "tsc hpet", None),
            (bare, "sys/class/dmi/id/chassis_vendor", "QEMU", Some("KVM or QEMU")),
            (bare, "sys/firmware/acpi/tables/FACP", "FACP....\u{3}.BOCHS BXPC", Some("KVM or QEMU")),
            (bare, "sys/firmware/acpi/tables/APIC", "APIC....\u{3}.VBOX  VBOXAPIC", Some("VirtualBox")),
            (bare, "sys/firmware/acpi/tables/FACP", "FACP....\u{3}.ALASKAA M I", None),
            (bare, "sys/firmware/acpi/tables/FACP", "FACP", None),
            (bare, "proc/device-tree/hypervisor/compatible", "linux,kvm\0", Some("KVM")),
            (bare, "proc/device-tree/hypervisor/compatible", "xen,xen-4.17\0xen,xen\0", Some("Xen")),
            (bare, "proc/device-tree/hypervisor/compatible", "acme,visor\0", Some("unknown")),
            (bare, "proc/device-tree/compatible", "linux,dummy-virt\0", Some("unknown")),
            (bare, "proc/device-tree/hmc-managed?", "", Some("PowerVM")),
            (bare, "proc/bus/pci/devices", "0010\t80eebeef\t12\n", Some("VirtualBox")),
            (bare, "proc/bus/pci/devices", "0010\t80eecafe\t12\n", None),
            (bare, "proc/sysinfo", "LPAR Number: 7\nVM00 Control Program: KVM/Linux\n", Some("KVM")),
            (bare, "proc/sysinfo", "LPAR Number: 7\nVM00 Control Program: z/VM    6.4.0\n", Some("z/VM")),
            (bare, "proc/sysinfo", "Manufacturer: IBM\nLPAR Number: 7\n", Some("PR/SM")),
            (bare, "sys/hypervisor/type", "xen", Some("Xen")),
            (bare, "sys/hypervisor/type", "acme", Some("acme")),
            (bare, "proc/device-tree/compatible", "raspberrypi,4-model-b\0brcm,bcm2711\0", None),
        ] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            for (path, text) in [("proc/cpuinfo", cpuinfo), (path, text)] {
                let path = folder.path().join(path);
                std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
                std::fs::write(path, text).expect("a file");
            }
            let root = Root::open(folder.path()).expect("a recording");
            let found = crate::describe(&root, None).identity.hypervisor;
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn board_and_chip_of_a_device_tree_are_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in [
            ("proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4\0"),
            ("sys/devices/soc0/family", "jep106:0426"),
            ("sys/devices/soc0/soc_id", "jep106:0426:8901"),
            ("sys/devices/soc0/revision", "0x00000000"),
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
            std::fs::write(path, text).expect("a file");
        }
        let root = Root::open(folder.path()).expect("a recording");
        let identity = crate::describe(&root, None).identity;
        assert_eq!(identity.board.as_deref(), Some("Raspberry Pi 4 Model B Rev 1.4"));
        assert_eq!(identity.soc.as_deref(), Some("jep106:0426:8901 revision 0x00000000"));
    }
}
