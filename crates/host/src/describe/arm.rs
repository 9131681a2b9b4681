//! Who each CPU of an Arm machine is: its main id register in sysfs, else the same fields in `/proc/cpuinfo`.
//!
//! Linux, arch/arm64/kernel/cpuinfo.c: both are of the kernel's copy, taken when the CPU came online. 32-bit kernels have
//! `/proc/cpuinfo` alone, old ones with one common block.

use std::collections::BTreeMap;

use machine::{ArmCpus, ArmSignature, CpuId, CpuSet, Disagreement, Machine, Vendor, arm_name};

use super::source::{CPU_FOLDER, CpuInfo, Source};
use crate::root::hexadecimal;

/// Registers of a CPU, below its folder: Linux, Documentation/ABI/testing/sysfs-devices-system-cpu.
const REGISTERS: &str = "regs/identification";

/// Fills who the CPUs are; nothing where no CPU says that it is an Arm.
pub(super) fn fill(source: &Source<'_>, info: &CpuInfo, machine: &mut Machine) {
    let online = machine.topology.online();
    let mut groups: BTreeMap<ArmSignature, CpuSet> = BTreeMap::new();
    let mut contradictions: BTreeMap<(ArmSignature, ArmSignature), CpuSet> = BTreeMap::new();
    let (mut silent, mut without_register) = (CpuSet::default(), CpuSet::default());
    for cpu in online.iter() {
        let (register, listed) = (register(source, cpu), of_cpuinfo(info, cpu));
        if let (Some(register), Some(listed)) = (register, listed)
            && register.midr() != listed.midr()
        {
            contradictions.entry((register, listed)).or_default().insert(cpu);
        }
        let Some(signature) = register.or(listed) else {
            silent.insert(cpu);
            continue;
        };
        if register.is_none() {
            without_register.insert(cpu);
        }
        groups.entry(signature).or_default().insert(cpu);
    }
    if groups.is_empty() {
        return;
    }
    for ((register, listed), cpus) in contradictions {
        let says = |signature: ArmSignature| format!("{signature} (MIDR {:#010x})", signature.midr());
        let sources = [("sysfs", says(register)), ("/proc/cpuinfo", says(listed))];
        source.disagree(Disagreement::between(&format!("who CPUs {cpus} are"), sources));
    }
    note_absences(source, machine, &silent, &without_register);
    let mut arm: Vec<ArmCpus> =
        groups.into_iter().map(|(signature, cpus)| ArmCpus { cpus, signature }).collect();
    arm.sort_by_key(|group| group.cpus.first());
    let identity = &mut machine.identity;
    identity.vendor = identity.vendor.take().or_else(|| vendor(&arm));
    identity.name = arm_name(&arm);
    identity.arm = arm;
}

/// One line for each kind of absence.
fn note_absences(source: &Source<'_>, machine: &Machine, silent: &CpuSet, without_register: &CpuSet) {
    if !silent.is_empty() {
        source.note(format!(
            "CPUs {silent} do not say who they are, others do: they went offline while they were read, or the recording lacks them"
        ));
    }
    if without_register.is_empty() {
        return;
    }
    let rest = "who the CPUs are is from /proc/cpuinfo; repairs within a revision (REVIDR) are unknown";
    source.note(if machine.identity.architecture.as_deref() == Some("arm") {
        format!("a 32-bit Arm kernel, which shows no registers in sysfs: {rest}")
    } else if *without_register == machine.topology.online() {
        format!("no CPU has {REGISTERS}/midr_el1 in {CPU_FOLDER}: {rest}")
    } else {
        format!("CPUs {without_register} have no {REGISTERS}/midr_el1 in {CPU_FOLDER}: {rest}")
    });
}

/// The registers of one CPU; a note if one is there and is no number.
fn register(source: &Source<'_>, cpu: CpuId) -> Option<ArmSignature> {
    let number = |name: &str| {
        let path = format!("{CPU_FOLDER}/cpu{cpu}/{REGISTERS}/{name}");
        let text = source.word(&path)?;
        let number = hexadecimal(&text);
        if number.is_none() {
            source.note(format!("{path} holds no hexadecimal number"));
        }
        number
    };
    let midr = number("midr_el1")?;
    Some(ArmSignature { repairs: number("revidr_el1"), ..ArmSignature::from_midr(midr) })
}

/// The fields of one CPU's block, or of the common one of old kernels; `None` unless all four are there and fit.
fn of_cpuinfo(info: &CpuInfo, cpu: CpuId) -> Option<ArmSignature> {
    let value = |key: &str| info.of(cpu, key).or_else(|| info.common.get(key).map(String::as_str));
    Some(ArmSignature {
        implementer: hexadecimal(value("CPU implementer")?)?.try_into().ok()?,
        part: hexadecimal(value("CPU part")?)?.try_into().ok()?,
        variant: hexadecimal(value("CPU variant")?)?.try_into().ok()?,
        revision: value("CPU revision")?.parse().ok()?,
        repairs: None,
    })
}

/// Who made the CPUs: the name of the first, or its number.
fn vendor(arm: &[ArmCpus]) -> Option<Vendor> {
    let first = arm.first()?.signature;
    let number = || format!("implementer {:#04x}", first.implementer);
    Some(Vendor::Other(first.implementer_name().map_or_else(number, str::to_owned)))
}

#[cfg(test)]
mod tests {
    use machine::Machine;

    use crate::Root;

    const N1: &str = "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n";

    /// A machine of these files.
    fn machine(files: &[(&str, String)]) -> Machine {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
            std::fs::write(path, text).expect("a file");
        }
        crate::describe(&Root::open(folder.path()).expect("a recording"), None)
    }

    fn midr(cpu: u32, text: &str) -> (String, String) {
        (format!("sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1"), text.to_owned())
    }

    fn online(list: &str) -> (&'static str, String) {
        ("sys/devices/system/cpu/online", list.to_owned())
    }

    fn blocks(cpus: &[u32]) -> (&'static str, String) {
        (
            "proc/cpuinfo",
            cpus.iter().map(|cpu| format!("processor\t: {cpu}\n{N1}")).collect::<Vec<_>>().join("\n"),
        )
    }

    fn missing(machine: &Machine, part: &str) -> usize {
        machine.missing.iter().filter(|line| line.contains(part)).count()
    }

    #[test]
    fn big_and_little_cores_are_groups_of_their_own_with_their_repairs() {
        let registers =
            [midr(0, "0x00000000410fd871\n"), midr(1, "0x00000000410fd851\n"), midr(2, "0x410fd871")];
        let mut files: Vec<(&str, String)> =
            registers.iter().map(|(path, text)| (&path[..], text.clone())).collect();
        files.push(("sys/devices/system/cpu/cpu1/regs/identification/revidr_el1", "0x100".to_owned()));
        files.push(online("0-2"));
        let machine = machine(&files);
        let identity = &machine.identity;
        assert_eq!(identity.name.as_deref(), Some("Arm Cortex-A725 r0p1 + Arm Cortex-X925 r0p1"));
        assert_eq!(identity.signature().as_deref(), Some("MIDR 0x410fd871, MIDR 0x410fd851"));
        let groups: Vec<_> =
            identity.arm.iter().map(|group| (group.cpus.to_string(), group.signature.repairs)).collect();
        assert_eq!(groups, [("0,2".to_owned(), None), ("1".to_owned(), Some(0x100))]);
        assert!(machine.missing.iter().all(|line| !line.contains("midr")), "{:?}", machine.missing);
    }

    #[test]
    fn a_register_that_contradicts_cpuinfo_is_one_line_for_all_cpus() {
        let registers = [midr(0, "0x413fd0c1"), midr(1, "0x413fd0c0"), midr(2, "0x413fd0c0")];
        let mut files: Vec<(&str, String)> =
            registers.iter().map(|(path, text)| (&path[..], text.clone())).collect();
        files.extend([online("0-2"), blocks(&[0, 1, 2])]);
        let machine = machine(&files);
        let lines: Vec<String> = machine.disagreements.iter().map(machine::Disagreement::sentence).collect();
        let expected = "who CPUs 1-2 are: sysfs says Arm Neoverse-N1 r3p0 (MIDR 0x413fd0c0), \
                        /proc/cpuinfo says Arm Neoverse-N1 r3p1 (MIDR 0x413fd0c1)";
        assert_eq!(lines, [expected]);
    }

    #[test]
    fn old_and_32_bit_kernels_and_cpus_that_went_away_are_one_line_each() {
        let old = machine(&[online("0-1"), blocks(&[0, 1])]);
        assert_eq!(old.identity.name.as_deref(), Some("Arm Neoverse-N1 r3p1"));
        assert_eq!(
            (missing(&old, "no CPU has regs"), missing(&old, "midr_el1")),
            (1, 1),
            "{:?}",
            old.missing
        );
        let gone = machine(&[online("0-2"), blocks(&[0, 2])]);
        assert_eq!(missing(&gone, "CPUs 1 do not say who they are"), 1, "{:?}", gone.missing);
        let common = "Processor\t: ARMv7 Processor rev 1 (v7l)\nprocessor\t: 0\n\nCPU implementer\t: 0x41\n\
                      CPU architecture: 7\nCPU variant\t: 0x2\nCPU part\t: 0xc09\nCPU revision\t: 1\n";
        let narrow = machine(&[online("0"), ("proc/cpuinfo", common.to_owned())]);
        assert_eq!(narrow.identity.name.as_deref(), Some("Arm Cortex-A9 r2p1"));
        assert_eq!(missing(&narrow, "a 32-bit Arm kernel"), 1, "{:?}", narrow.missing);
    }

    #[test]
    fn numbers_that_are_none_or_too_large_are_noted_or_ignored() {
        let (path, text) = midr(0, "fast");
        let broken = machine(&[(&path, text), online("0"), blocks(&[0])]);
        assert_eq!(missing(&broken, "holds no hexadecimal number"), 1, "{:?}", broken.missing);
        assert_eq!(broken.identity.name.as_deref(), Some("Arm Neoverse-N1 r3p1"));
        let text =
            "processor: 0\nCPU implementer: 0x4141\nCPU part: 0xd0c\nCPU variant: 0x3\nCPU revision: -1\n";
        let wild = machine(&[online("0"), ("proc/cpuinfo", text.to_owned())]);
        assert!(wild.identity.arm.is_empty() && wild.identity.name.is_none());
        let (path, text) = midr(0, "0x770f0010");
        let unknown = machine(&[(&path, text), online("0")]);
        assert_eq!(unknown.identity.name.as_deref(), Some("unknown implementer 0x77, part 0x001 r0p0"));
        assert_eq!(unknown.identity.vendor.map(String::from).as_deref(), Some("implementer 0x77"));
    }
}
