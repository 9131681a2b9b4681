//! What a machine's kernel and registers say that bears on flaws: gathered as plain data, judged elsewhere.
//!
//! Nothing here needs root; what root alone may read is asked for and its refusal kept. In a guest registers are not
//! read at all: a hypervisor makes them up, and the reading of one it does not know may be logged on the host.

pub(crate) mod messages;
mod registers;

use std::collections::{BTreeMap, BTreeSet};

use machine::{CacheKind, CpuId, Machine, Topology};
use record::{CpuSignature, FlawEvidence, MachineShape, RegistersAsked};

use crate::describe::cpuinfo::CpuInfo;
use crate::describe::vulnerabilities::Vulnerabilities;
use crate::describe::{Described, described};
use crate::{Cpuid, Root};

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
        let mut evidence = FlawEvidence {
            cpus: self.signatures(),
            other_architecture: identity.architecture.clone().filter(|name| !name.starts_with("x86")),
            hypervisor: identity.hypervisor.clone(),
            flags: identity.flags.clone(),
            flags_untold: self.flags_untold(asked),
            kernel_release: linux_release(self.machine.environment.kernel.as_deref()),
            bugs: self.info.first("bugs").map(words),
            vulnerabilities: self.vulnerabilities.clone(),
            command_line: self.machine.environment.command_line.clone(),
            task_status: self.root.map(task_status).unwrap_or_default(),
            messages: self.root.map(messages::read).unwrap_or_default(),
            shape: shape(&self.machine.topology),
            ..FlawEvidence::default()
        };
        if evidence.hypervisor.is_none() {
            let cpus: Vec<u32> = self.machine.topology.cpus.iter().map(|cpu| cpu.id.0).collect();
            let nowhere = Root::empty();
            let root = self.root.unwrap_or(&nowhere);
            evidence.msr = registers::msr(root, &cpus, &asked.msr);
            evidence.pci = registers::pci(root, &asked.pci);
            evidence.cpuid = self.leaves(&asked.cpuid);
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
        let told: Vec<CpuSignature> = info
            .cpus
            .keys()
            .map(|&cpu| {
                let number = |key: &str| info.of(cpu, key).and_then(|text| text.parse().ok());
                let microcode = info.of(cpu, "microcode").map(|text| text.trim_start_matches("0x"));
                CpuSignature {
                    vendor: info.of(cpu, "vendor_id").map(str::to_owned),
                    family: number("cpu family"),
                    model: number("model"),
                    stepping: number("stepping"),
                    microcode: microcode.and_then(|text| u64::from_str_radix(text, 16).ok()),
                    arm: None,
                }
            })
            .filter(|signature| signature.family.is_some())
            .collect();
        if !told.is_empty() {
            return told;
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
        }]
    }

    /// The flags that CPUID without a kernel does not tell.
    fn flags_untold(&self, asked: &RegistersAsked) -> Vec<String> {
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
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    fields
        .filter(|(key, _)| STATUS_FIELDS.contains(key))
        .map(|(key, value)| (key.to_owned(), value.trim().to_owned()))
        .collect()
}

/// The shape, as far as it is told.
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
