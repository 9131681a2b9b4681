//! What a machine's kernel and registers say that bears on flaws: gathered as plain data, judged elsewhere.
//!
//! Nothing here needs root; what root alone may read is asked for and its refusal kept. In a guest registers are not
//! read at all: a hypervisor makes them up, and the reading of one it does not know may be logged on the host.

mod messages;
mod registers;

use std::collections::{BTreeMap, BTreeSet};

use machine::{CacheKind, CpuId, Machine, Topology};
use record::{CpuSignature, FlawEvidence, MachineShape, Reading};

use crate::describe::cpuinfo::CpuInfo;
use crate::describe::source::Source;
use crate::{Cpuid, ReadError, Root};

/// Where the kernel tells of vulnerabilities.
const VULNERABILITIES: &str = "/sys/devices/system/cpu/vulnerabilities";
/// Fields of /proc/PID/status that tell of speculation; Linux, fs/proc/array.c.
const STATUS_FIELDS: [&str; 2] = ["Speculation_Store_Bypass", "SpeculationIndirectBranch"];

/// Registers to read.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Numbers of model-specific registers.
    pub msr: BTreeSet<u32>,
    /// Configuration words of AMD nodes: function and offset in bytes.
    pub pci: BTreeSet<(u32, u32)>,
    /// CPUID leaves with their subleaves.
    pub cpuid: BTreeSet<(u32, u32)>,
}

/// A machine whose witnesses are heard.
#[derive(Debug, Clone, Copy)]
pub struct Witness<'a> {
    /// Its files, live or recorded.
    pub root: &'a Root,
    /// Its CPUID, if there is any.
    pub cpuid: Option<&'a Cpuid>,
    /// What it says it is.
    pub machine: &'a Machine,
}

impl Witness<'_> {
    /// Hears kernel and registers; time is added by whoever measures.
    pub fn hear(&self, asked: &Asked) -> FlawEvidence {
        let source = Source::new(self.root);
        let info = CpuInfo::read(&source);
        let identity = &self.machine.identity;
        let words = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        let mut evidence = FlawEvidence {
            cpus: self.signatures(&info),
            hypervisor: identity.hypervisor.clone(),
            flags: identity.flags.clone(),
            bugs: info.first("bugs").map(words),
            vulnerabilities: vulnerabilities(self.root),
            command_line: source.word("/proc/cmdline"),
            task_status: task_status(self.root),
            messages: messages::read(self.root),
            shape: shape(&self.machine.topology),
            ..FlawEvidence::default()
        };
        if evidence.hypervisor.is_none() {
            let cpus: Vec<u32> = self.machine.topology.cpus.iter().map(|cpu| cpu.id.0).collect();
            evidence.msr = registers::msr(self.root, &cpus, &asked.msr);
            evidence.pci = registers::pci(self.root, &asked.pci);
            evidence.cpuid = self.leaves(&asked.cpuid);
        }
        evidence
    }

    /// Who each CPU says it is; once for all where only CPUID of one CPU tells.
    fn signatures(&self, info: &CpuInfo) -> Vec<CpuSignature> {
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
        }]
    }

    /// The answers of the first CPU to the leaves it has.
    fn leaves(&self, asked: &BTreeSet<(u32, u32)>) -> BTreeMap<String, [u32; 4]> {
        let Some(cpuid) = self.cpuid else { return BTreeMap::new() };
        let first = self.machine.topology.cpus.first().map_or(CpuId(0), |cpu| cpu.id);
        let answer = |&(leaf, subleaf): &(u32, u32)| {
            let answer =
                cpuid.known(first, leaf, subleaf).or_else(|| cpuid.known(CpuId(0), leaf, subleaf))?;
            Some((format!("{leaf:x}.{subleaf:x}"), answer))
        };
        asked.iter().filter_map(answer).collect()
    }
}

fn vulnerabilities(root: &Root) -> Option<BTreeMap<String, Reading<String>>> {
    let names = root.list(VULNERABILITIES);
    let told = |name: String| {
        let reading = match root.read(&format!("{VULNERABILITIES}/{name}")) {
            Ok(text) => Reading::Is(text),
            Err(ReadError::Absent(_)) => Reading::Missing("absent".to_owned()),
            Err(error) => Reading::Missing(error.to_string()),
        };
        (name, reading)
    };
    (!names.is_empty()).then(|| names.into_iter().map(told).collect())
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
        core_kinds: count(kinds.len()),
        last_level_caches: count(topology.caches.iter().filter(is_last).count()),
        distances: count(distances.len()),
    }
}
