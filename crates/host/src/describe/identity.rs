//! Who the CPU, the board and the hypervisor say they are.

use machine::{Identity, Vendor};

use super::cpuinfo::CpuInfo;
use super::source::Source;

/// Where firmware's description of board and system is.
const DMI_FOLDER: &str = "/sys/class/dmi/id";

/// Names that hypervisors put into the system fields of DMI, and what they are called.
const DMI_HYPERVISORS: [(&str, &str); 8] = [
    ("QEMU", "KVM or QEMU"),
    ("KVM", "KVM"),
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("Microsoft Corporation Virtual Machine", "Hyper-V"),
    ("Xen", "Xen"),
    ("Google Compute Engine", "KVM"),
    ("Amazon EC2", "KVM"),
];

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
        architecture: architecture(source, info, is_x86, has_flag("lm")).map(str::to_owned),
        flags,
        board: described(source, &["sys_vendor", "product_name"])
            .or_else(|| described(source, &["board_vendor", "board_name"])),
        bios: described(source, &["bios_vendor", "bios_version", "bios_date"]),
    }
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

/// The DMI values that are there, joined by blanks.
fn described(source: &Source<'_>, names: &[&str]) -> Option<String> {
    let values: Vec<String> =
        names.iter().filter_map(|name| source.word(&format!("{DMI_FOLDER}/{name}"))).collect();
    (!values.is_empty()).then(|| values.join(" "))
}

/// From Xen's own folder, then DMI, then the CPU flag; CPUID may know better.
fn hypervisor(source: &Source<'_>, has_flag: bool) -> Option<String> {
    if let Some(kind) = source.word("/sys/hypervisor/type") {
        return Some(if kind == "xen" { "Xen".to_owned() } else { kind });
    }
    let system = described(source, &["sys_vendor", "product_name"]).unwrap_or_default();
    if system.contains(METAL) {
        return has_flag.then(|| "unknown".to_owned());
    }
    let known =
        DMI_HYPERVISORS.iter().find(|(text, _)| system.contains(text)).map(|(_, name)| (*name).to_owned());
    known.or_else(|| has_flag.then(|| "unknown".to_owned()))
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
    let vendor = info.first("vendor_id").unwrap_or_default();
    if vendor == "IBM/S390" {
        Some("s390x")
    } else if info.first("arch").is_some_and(|arch| arch.starts_with("IA-64")) {
        Some("ia64")
    } else if info.first("cpu").is_some_and(|cpu| cpu.starts_with("POWER")) {
        Some("powerpc64")
    } else {
        None
    }
}
