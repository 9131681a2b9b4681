//! What a machine's kernel and registers say that bears on flaws: gathered as plain data, judged elsewhere.
//!
//! Nothing here needs root; what root alone may read is asked for and its refusal kept. In a guest registers are not
//! read at all: a hypervisor makes them up, and the reading of one it does not know may be logged on the host.

use std::collections::{BTreeMap, BTreeSet};

use machine::{CacheKind, CpuId, Machine, Topology};
use record::{
    CpuSignature, FlawEvidence, MachineShape, PciWord, Reading, RegisterReading, RegistersAsked, msr_key,
    pair_key,
};

use crate::describe::environment::Vulnerabilities;
use crate::describe::source::CpuInfo;
use crate::describe::{Described, described};
use crate::kernel_configuration::{self, Configuration};
use crate::root::{hexadecimal, register, value_of};
use crate::{Cpuid, NodeFunction, Root, node_functions};

/// Fields of /proc/PID/status that tell of speculation; Linux, fs/proc/array.c.
const STATUS_FIELDS: [&str; 2] = ["Speculation_Store_Bypass", "SpeculationIndirectBranch"];

/// A machine and what says something of its flaws.
#[derive(Debug)]
pub struct FlawSources<'a> {
    /// What it says it is.
    pub machine: Machine,
    root: Option<&'a Root>,
    cpuid: Option<&'a Cpuid>,
    info: CpuInfo,
    vulnerabilities: Option<Vulnerabilities>,
}

impl<'a> FlawSources<'a> {
    /// The machine of a root; `cpuid` is of the same machine, live or recorded.
    pub fn of(root: &'a Root, cpuid: Option<&'a Cpuid>) -> Self {
        let Described { machine, info, vulnerabilities } = described(root, cpuid);
        Self { machine, root: Some(root), cpuid, info, vulnerabilities }
    }

    /// The machine of a CPUID dump, which has no files: those of this machine would be somebody else's.
    pub fn of_dump(dump: &'a Cpuid) -> Self {
        let (info, vulnerabilities) = (CpuInfo::default(), None);
        Self { machine: dump.describe(), root: None, cpuid: Some(dump), info, vulnerabilities }
    }
}

impl FlawSources<'_> {
    /// Reads kernel and registers; time is added by whoever measures.
    pub fn read(&self, asked: &RegistersAsked) -> FlawEvidence {
        let identity = &self.machine.identity;
        let words = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        let kernel_release = linux_release(self.machine.environment.kernel.as_deref());
        let read = |root| kernel_configuration::read(root, kernel_release.as_deref(), &asked.kernel_options);
        let Configuration { options, built_in_words } = self.root.map(read).unwrap_or_default();
        let mut evidence = FlawEvidence {
            cpus: self.signatures(),
            kernel_options: options,
            built_in_words,
            other_architecture: identity.architecture.clone().filter(|name| !name.starts_with("x86")),
            hypervisor: identity.hypervisor.clone(),
            flags: identity.flags.clone(),
            flags_unreported: self.flags_unreported(asked),
            kernel_release,
            bugs: self.info.first("bugs").map(words),
            vulnerabilities: self.vulnerabilities.clone(),
            command_line: self.machine.environment.command_line.clone(),
            task_status: self.root.map(task_status).unwrap_or_default(),
            messages: self.root.map(crate::messages::of_flaws).unwrap_or_default(),
            shape: shape(&self.machine.topology),
            // A guest's too: its kernel goes by them.
            cpuid: self.leaves(&asked.cpuid),
            ..FlawEvidence::default()
        };
        if evidence.hypervisor.is_none() {
            let cpus: Vec<u32> = self.machine.topology.cpus.iter().map(|cpu| cpu.id.0).collect();
            let nowhere = Root::empty();
            let root = self.root.unwrap_or(&nowhere);
            evidence.msr = msr(root, &cpus, &asked.msr);
            evidence.pci = pci(root, &asked.pci);
        }
        evidence
    }

    /// Who each CPU says it is; once for all where only CPUID of one CPU tells.
    fn signatures(&self) -> Vec<CpuSignature> {
        let groups = &self.machine.identity.arm;
        if !groups.is_empty() {
            let one = |group: &machine::ArmCpus| CpuSignature {
                vendor: group.signature.implementer_name().map(str::to_owned),
                arm: Some(group.signature),
                ..CpuSignature::default()
            };
            return groups.iter().flat_map(|group| group.cpus.iter().map(move |_| one(group))).collect();
        }
        let info = &self.info;
        let listed: Vec<CpuSignature> = info
            .cpus
            .keys()
            .map(|&cpu| {
                let number = |key: &str| info.of(cpu, key).and_then(|text| text.parse().ok());
                CpuSignature {
                    vendor: info.of(cpu, "vendor_id").map(str::to_owned),
                    family: number("cpu family"),
                    model: number("model"),
                    stepping: number("stepping"),
                    microcode: info.of(cpu, "microcode").and_then(hexadecimal),
                    arm: None,
                    one_of: Vec::new(),
                }
            })
            .filter(|signature| signature.family.is_some())
            .collect();
        if !listed.is_empty() {
            return listed;
        }
        let identity = &self.machine.identity;
        if identity.family.is_none() {
            return Vec::new();
        }
        vec![CpuSignature {
            vendor: identity.vendor.as_ref().map(ToString::to_string),
            family: identity.family,
            model: identity.model,
            stepping: identity.stepping,
            microcode: identity.microcode,
            arm: None,
            one_of: Vec::new(),
        }]
    }

    /// The flags that CPUID without a kernel does not tell.
    fn flags_unreported(&self, asked: &RegistersAsked) -> Vec<String> {
        let (None, Some(cpuid)) = (self.info.first("flags"), self.cpuid) else { return Vec::new() };
        let unseen = asked.flags.iter().filter(|flag| !cpuid.shows_flag(flag));
        unseen.chain(&asked.kernel_flags).cloned().collect()
    }

    /// The answers of the first CPU to the leaves it has.
    fn leaves(&self, asked: &BTreeSet<(u32, u32)>) -> BTreeMap<String, [u32; 4]> {
        let Some(cpuid) = self.cpuid else { return BTreeMap::new() };
        let first = self.machine.topology.cpus.first().map_or(CpuId(0), |cpu| cpu.id);
        let answer = |&(leaf, subleaf): &(u32, u32)| {
            let answer =
                cpuid.known(first, leaf, subleaf).or_else(|| cpuid.known(CpuId(0), leaf, subleaf))?;
            Some((record::pair_key(leaf, subleaf), answer))
        };
        asked.iter().filter_map(answer).collect()
    }
}

/// The release alone: the environment writes `Linux 6.12.50-amd64`.
fn linux_release(kernel: Option<&str>) -> Option<String> {
    kernel?.strip_prefix("Linux ").map(str::to_owned)
}

fn task_status(root: &Root) -> BTreeMap<String, String> {
    let text = root.read("/proc/self/status").unwrap_or_default();
    let field = |key: &str| Some((key.to_owned(), value_of(&text, key)?.to_owned()));
    STATUS_FIELDS.into_iter().filter_map(field).collect()
}

/// The shape, as far as it is known.
fn shape(topology: &Topology) -> MachineShape {
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let last_level = topology.caches.iter().map(|cache| cache.level).max().unwrap_or(0);
    let is_last = |cache: &&machine::Cache| {
        cache.level == last_level && cache.kind != CacheKind::Instruction && last_level > 1
    };
    let second_level =
        topology.caches.iter().filter(|cache| cache.level == 2 && cache.kind != CacheKind::Instruction);
    let kinds: BTreeSet<_> = topology.cpus.iter().map(|cpu| cpu.core_kind).collect();
    let remote = topology.nodes.iter().flat_map(|node| {
        let own = topology.distance_nodes.iter().position(|other| *other == node.id);
        node.distances.iter().enumerate().filter(move |(index, _)| Some(*index) != own).map(|(_, far)| *far)
    });
    let distances: BTreeSet<_> = remote.collect();
    MachineShape {
        cpus: count(topology.cpus.len()),
        packages: count(topology.packages().len()),
        nodes: count(topology.nodes.len()),
        threads_per_core: count(topology.cores.iter().map(|core| core.cpus.len()).max().unwrap_or(0)),
        second_level_shared_by: count(second_level.map(|cache| cache.shared_by.len()).max().unwrap_or(0)),
        core_kinds: count(kinds.len()),
        last_level_caches: count(topology.caches.iter().filter(is_last).count()),
        distances: count(distances.len()),
    }
}

/// A register that every x86 CPU has. Intel SDM vol. 4, IA32_TIME_STAMP_COUNTER; AMD64 APM vol. 2, TSC.
const TIME_STAMP_COUNTER: u32 = 0x10;
/// Bytes of configuration space that everybody may read: Linux, drivers/pci/pci-sysfs.c.
const OPEN_BYTES: usize = 64;

/// Every asked register of every CPU; one reason for all where the first CPU refuses.
pub(super) fn msr(
    root: &Root,
    cpus: &[u32],
    asked: &BTreeSet<u32>,
) -> BTreeMap<String, Vec<RegisterReading>> {
    let refusal = cpus.first().and_then(|&cpu| refusal(root, cpu));
    let readings = |number: u32| match &refusal {
        Some(reason) => vec![RegisterReading { unit: 0, value: Reading::Missing(reason.clone()) }],
        None => {
            cpus.iter().map(|&cpu| RegisterReading { unit: cpu, value: one(root, cpu, number) }).collect()
        }
    };
    asked.iter().map(|&number| (msr_key(number), readings(number))).collect()
}

/// Why no register of a CPU can be read, if so.
fn refusal(root: &Root, cpu: u32) -> Option<String> {
    if !root.has_running_cpus() {
        let path = format!("msr/{cpu}");
        return (!root.exists(&path)).then(|| format!("the recording has no {path}"));
    }
    let path = format!("/dev/cpu/{cpu}/msr");
    match root.register(cpu, TIME_STAMP_COUNTER) {
        Ok(_) => None,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Some(format!("{path} is absent; load the msr module"))
        }
        Err(error) => Some(format!("{path}: {error}; run as root")),
    }
}

fn one(root: &Root, cpu: u32, number: u32) -> Reading<u64> {
    match root.register(cpu, number) {
        Ok(value) => Reading::Is(value),
        Err(_) if !root.has_running_cpus() => Reading::Missing(format!("not recorded of CPU {cpu}")),
        // The device answers EIO for a register that the CPU does not have: msr(4).
        Err(error) if error.raw_os_error() == Some(libc::EIO) => {
            Reading::Missing("this CPU has no such register".to_owned())
        }
        Err(error) => Reading::Missing(format!("CPU {cpu}: {error}")),
    }
}

/// Every asked word of every AMD node.
pub(super) fn pci(root: &Root, asked: &BTreeSet<PciWord>) -> BTreeMap<String, Vec<RegisterReading>> {
    let mut found = BTreeMap::new();
    for &PciWord { function, offset } in asked {
        let reading = |found: NodeFunction| {
            let value = match root.bytes(&format!("sys/bus/pci/devices/{}/config", found.name())) {
                Ok(bytes) => word(&bytes, offset),
                Err(error) => Reading::Missing(error.to_string()),
            };
            RegisterReading { unit: found.node, value }
        };
        let readings: Vec<RegisterReading> =
            node_functions(root, function).into_iter().map(reading).collect();
        found.insert(pair_key(function, offset), readings);
    }
    found
}

fn word(bytes: &[u8], offset: u32) -> Reading<u64> {
    match register::word(bytes, offset) {
        Some(register::NOBODY) => Reading::Missing("nobody answers".to_owned()),
        Some(word) => Reading::Is(word.into()),
        None if bytes.len() <= OPEN_BYTES => {
            Reading::Missing(format!("only the first {OPEN_BYTES} bytes are open; run as root"))
        }
        None => Reading::Missing(format!("configuration space ends at {} bytes", bytes.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_registers_and_words_are_read_for_each_unit() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let base = folder.path();
        let node = base.join("sys/bus/pci/devices/0000:00:19.3");
        std::fs::create_dir_all(&node).expect("folders");
        std::fs::create_dir_all(base.join("msr")).expect("folders");
        std::fs::write(base.join("msr/0"), "c0010015 = 1000018\n").expect("a file");
        std::fs::write(base.join("msr/1"), "nonsense\n").expect("a file");
        let mut config = vec![0; 256];
        config[0x84..0x88].copy_from_slice(&0x0300_0001_u32.to_le_bytes());
        std::fs::write(node.join("config"), &config).expect("a file");
        let root = Root::open(base).expect("a recording");
        let registers = &msr(&root, &[0, 1], &[0xc001_0015].into())["c0010015"];
        assert_eq!(registers[0].value, Reading::Is(0x0100_0018));
        assert!(matches!(&registers[1].value, Reading::Missing(reason) if reason.contains("CPU 1")));
        let asked = [(3, 0x84), (3, 0xffe), (2, 0)].map(|(function, offset)| PciWord { function, offset });
        let words = pci(&root, &asked.into());
        assert_eq!(words["3.84"], [RegisterReading { unit: 1, value: Reading::Is(0x0300_0001) }]);
        assert!(matches!(&words["3.ffe"][0].value, Reading::Missing(reason) if reason.contains("256")));
        assert!(words["2.0"].is_empty());
    }

    #[test]
    fn a_recording_without_registers_says_so_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir_all(folder.path().join("sys")).expect("folders");
        let root = Root::open(folder.path()).expect("a recording");
        let readings = msr(&root, &[0, 1, 2], &[0x10].into());
        assert_eq!(readings["10"].len(), 1);
    }

    #[test]
    fn what_only_root_may_read_is_said() {
        assert!(matches!(word(&[0; 64], 0x84), Reading::Missing(reason) if reason.contains("root")));
    }
}
