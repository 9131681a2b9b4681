//! Where one CPU sits, from its APIC id and the widths that CPUID gives for its parts.
//!
//! An APIC id is a string of bit fields, the package highest, the thread lowest. Sources: Intel SDM vol. 3A,
//! "Hierarchical Mapping of Shared Resources" (leaves 1, 4, 0BH, 1FH); AMD64 APM vol. 3, CPUID Fn0000_000B,
//! Fn8000_0008, Fn8000_001E and Fn8000_0026; which of them Linux believes first, arch/x86/kernel/cpu/topology_ext.c and
//! topology_amd.c. Leaf 1 has eight bits for the id: those of 256 CPUs and more wrap there.

use std::collections::BTreeMap;

use machine::{CoreKind, CpuId};

use super::{Leaves, bits, width};

/// The most levels leaf 1FH may list; the sixth type (die group) is the last that is defined.
const LEVELS_MAX: u32 = 8;

/// Level types of leaves 0BH and 1FH (ECX bits 15:8).
const TYPE_THREAD: u32 = 1;
const TYPE_MODULE: u32 = 3;
const TYPE_DIE: u32 = 5;
/// The same bits of Fn8000_0026 name the level itself, not what is below it: a core's threads, a complex, a die, a socket.
const AMD_TYPE_CORE: u32 = 1;
const AMD_TYPE_DIE: u32 = 3;
/// Fn8000_0026: extended CPU topology.
const AMD_EXTENDED: u32 = 0x8000_0026;
/// Bits of the APIC id below the package of the first Hygons, whatever Fn8000_0008 says, and the last of their models.
/// Linux, topology_amd.c, which names commit e0ceeae708ce.
const HYGON_PACKAGE_WIDTH: u32 = 6;
const HYGON_FIRST_MODELS: u32 = 3;
/// Leaf 1 ECX bit 31: a hypervisor answers.
const HYPERVISOR: u32 = 1 << 31;

/// K10: firmware may give the core the two highest bits of the initial id and the node the lowest. BIOS and Kernel Developer's
/// Guide for AMD Family 10h (31116), MSRC001_001F, InitApicIdCpuIdLo.
const CORE_HIGH_WIDTH: u32 = 2;
const CORES_HIGH: &str = "CPUID leaf 1 would put each CPU into a package of its own, leaf 80000008H counts several cores in one: the two \
                          highest bits of the APIC ids are taken for the core";
/// CPUs before the Pentium 4 leave EBX of leaf 1 zero but for the brand. Intel SDM vol. 2A, CPUID, "Initial APIC ID".
const WITHOUT_IDS: &str =
    "CPUID leaf 1 has no APIC ids, as before the Pentium 4: each CPU is taken for a package";
const WITHOUT_LEAF_1: &str = "the dump has no leaf 1, and so no APIC ids: each CPU is taken for a package";

/// The first AMD family whose cores have threads: Zen.
pub(super) const FAMILY_ZEN: u32 = 0x17;
/// The AMD family whose cores come in pairs, called compute units: Bulldozer and its successors.
const FAMILY_BULLDOZER: u32 = 0x15;
/// Fn8000_001E exists: TopologyExtensions, Fn8000_0001 ECX bit 22.
const TOPOLOGY_EXTENSIONS: u32 = 1 << 22;

/// One CPU's place. Ids are APIC id prefixes and so unique in the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) apic: u32,
    pub(super) package: u32,
    /// How many low bits of the APIC id tell the CPUs of a package apart.
    pub(super) package_width: u32,
    pub(super) die: Option<u32>,
    pub(super) module: Option<u32>,
    /// The bits of the APIC id above the thread's.
    pub(super) core: u32,
    /// The core's number in its package.
    pub(super) core_in_package: u32,
    /// AMD's node id, which the kernel uses where firmware has no table.
    pub(super) node: Option<u32>,
    pub(super) kind: CoreKind,
}

/// How many low bits of the APIC id are below each level.
#[derive(Debug, Clone, Copy, Default)]
struct Widths {
    thread: u32,
    module: Option<u32>,
    die: Option<u32>,
    package: u32,
}

impl Place {
    /// Reads the place of the CPU that gives these answers.
    pub(super) fn read(leaves: &Leaves) -> Self {
        let is_amd = leaves.is_amd();
        let topology = topology_extensions(leaves);
        let (apic, mut widths) = extended(leaves).unwrap_or_else(|| {
            let initial = initial_apic(leaves);
            let widths = if is_amd { amd_widths(leaves) } else { legacy_widths(leaves) };
            // A longer id that does not end like the short one is not of this CPU.
            let longer = topology.map(|topology| topology.apic).filter(|apic| apic & INITIAL_MASK == initial);
            (longer.unwrap_or(initial), widths)
        });
        if is_first_hygon(leaves) {
            widths.package = HYGON_PACKAGE_WIDTH;
        }
        Self::at(leaves, apic, widths)
    }

    /// The place of an APIC id with fields of these widths.
    fn at(leaves: &Leaves, apic: u32, widths: Widths) -> Self {
        let is_amd = leaves.is_amd();
        let topology = topology_extensions(leaves);
        let above = |width: u32| apic.checked_shr(width).unwrap_or(0);
        let is_bulldozer = leaves.signature().is_some_and(|signature| signature.family == FAMILY_BULLDOZER);
        let unit = topology.filter(|_| is_bulldozer).map(|topology| topology.unit_width);
        let in_package = apic & !(u32::MAX.checked_shl(widths.package).unwrap_or(0));
        Self {
            apic,
            package: above(widths.package),
            package_width: widths.package,
            die: widths.die.map(above),
            module: widths.module.map(above).or_else(|| unit.map(above)),
            core: above(widths.thread),
            core_in_package: in_package.checked_shr(widths.thread).unwrap_or(0),
            node: topology.map(|topology| topology.node),
            kind: core_kind(leaves, is_amd),
        }
    }
}

/// The places of all CPUs, with a line where their ids are not what leaf 1 says they are.
pub(super) fn places(answering: &BTreeMap<CpuId, &Leaves>) -> (BTreeMap<CpuId, Place>, Option<&'static str>) {
    let read = || answering.iter().map(|(cpu, leaves)| (*cpu, Place::read(leaves))).collect();
    let of_initial = |leaves: &&Leaves| extended(leaves).is_none() && topology_extensions(leaves).is_none();
    if answering.len() < 2 || !answering.values().all(of_initial) {
        return (read(), None);
    }
    if answering.values().all(|leaves| leaves.get(1, 0).is_none_or(|answer| answer.ebx >> 8 == 0)) {
        let numbered = answering.iter().zip(0..);
        let places = numbered.map(|((cpu, leaves), apic)| (*cpu, Place::at(leaves, apic, Widths::default())));
        let was_asked = answering.values().any(|leaves| leaves.was_asked(1));
        return (places.collect(), Some(if was_asked { WITHOUT_IDS } else { WITHOUT_LEAF_1 }));
    }
    let places: BTreeMap<CpuId, Place> = read();
    let fullest = |places: &BTreeMap<CpuId, Place>| {
        let mut cpus: BTreeMap<u32, u32> = BTreeMap::new();
        for place in places.values() {
            *cpus.entry(place.package).or_default() += 1;
        }
        cpus.into_values().max().unwrap_or(0)
    };
    let turned = |(cpu, leaves): (&CpuId, &&Leaves)| {
        let apic = (initial_apic(leaves) << CORE_HIGH_WIDTH & INITIAL_MASK)
            | initial_apic(leaves) >> (8 - CORE_HIGH_WIDTH);
        let widths = Widths { package: CORE_HIGH_WIDTH, ..Widths::default() };
        (*cpu, Place::at(leaves, apic, widths))
    };
    let cores = answering.values().filter_map(|leaves| package_count(leaves)).min().unwrap_or(1);
    let turned: BTreeMap<CpuId, Place> = answering.iter().map(turned).collect();
    let is_turned =
        fullest(&places) == 1 && cores <= 1 << CORE_HIGH_WIDTH && (2..=cores).contains(&fullest(&turned));
    if is_turned { (turned, Some(CORES_HIGH)) } else { (places, None) }
}

/// The levels of leaf 1FH, Fn8000_0026 or 0BH, the first that has any: the x2APIC id and the widths.
fn extended(leaves: &Leaves) -> Option<(u32, Widths)> {
    let (leaf, levels) = extended_levels(leaves)?;
    let mut widths = Widths::default();
    // The shift of a level gives the id of the next one up: a die begins where the level below it ends.
    let mut below = 0;
    for level in &levels {
        match (level.kind, leaf == AMD_EXTENDED) {
            (AMD_TYPE_CORE, true) | (TYPE_THREAD, false) => widths.thread = level.thread_width(),
            (AMD_TYPE_DIE, true) => widths.die = Some(level.shift),
            (TYPE_MODULE, false) => widths.module = Some(below),
            (TYPE_DIE, false) => widths.die = Some(below),
            // Cores end where the next level begins; complexes, tiles and die groups have no use here.
            _ => {}
        }
        below = level.shift;
        widths.package = widths.package.max(level.shift);
    }
    Some((levels.first()?.apic, widths))
}

/// One level of leaf 0BH, 1FH or Fn8000_0026.
#[derive(Debug, Clone, Copy)]
pub(super) struct LevelAnswer {
    kind: u32,
    shift: u32,
    /// CPUs of one such part, as firmware set it up.
    pub(super) cpus: u32,
    pub(super) apic: u32,
}

impl LevelAnswer {
    /// Some firmware counts two threads and gives no bit to them: Linux, topology_ext.c.
    fn thread_width(&self) -> u32 {
        if self.shift == 0 { width(self.cpus) } else { self.shift }
    }
}

/// The levels of the leaf that tells them, nearest to the threads first, and which leaf it is.
pub(super) fn extended_levels(leaves: &Leaves) -> Option<(u32, Vec<LevelAnswer>)> {
    [0x1f, AMD_EXTENDED, 0xb].into_iter().filter(|leaf| *leaf != AMD_EXTENDED || leaves.is_amd()).find_map(
        |leaf| {
            // A leaf that is listed and not implemented answers zeros.
            let level = |level| {
                let answer = leaves.get(leaf, level)?;
                let (kind, cpus) = (bits(answer.ecx, 15, 8), bits(answer.ebx, 15, 0));
                let shift = bits(answer.eax, 4, 0);
                (kind != 0 && cpus != 0).then_some(LevelAnswer { kind, shift, cpus, apic: answer.edx })
            };
            let levels: Vec<LevelAnswer> = (0..LEVELS_MAX).map_while(level).collect();
            // Old dumps have the first level alone, which does not say where a package ends.
            levels.iter().any(|level| level.kind > TYPE_THREAD).then_some((leaf, levels))
        },
    )
}

/// The Dhyana, unless a hypervisor gives it ids of its own.
fn is_first_hygon(leaves: &Leaves) -> bool {
    let is_guest = leaves.get(1, 0).is_some_and(|answer| answer.ecx & HYPERVISOR != 0);
    let model = leaves.signature().map(|signature| signature.model);
    leaves.vendor() == "HygonGenuine" && !is_guest && model.is_some_and(|model| model <= HYGON_FIRST_MODELS)
}

/// The bits that the initial APIC id of leaf 1 has.
pub(super) const INITIAL_MASK: u32 = 0xff;

pub(super) fn initial_apic(leaves: &Leaves) -> u32 {
    leaves.get(1, 0).map_or(0, |answer| bits(answer.ebx, 31, 24))
}

/// The most logical CPUs of a package: leaf 1 EBX bits 23:16, if it may have more than one (EDX bit 28, HTT).
pub(super) fn logical_count(leaves: &Leaves) -> u32 {
    const HTT: u32 = 1 << 28;
    leaves.get(1, 0).filter(|answer| answer.edx & HTT != 0).map_or(1, |answer| bits(answer.ebx, 23, 16))
}

/// Before leaf 0BH: the package from leaf 1, its cores from leaf 4 EAX bits 31:26. Only Intel had threads before that leaf.
fn legacy_widths(leaves: &Leaves) -> Widths {
    let package = width(logical_count(leaves));
    // What a dump leaves out of a newer CPU says nothing of threads.
    let is_old = leaves.vendor() == "GenuineIntel" && leaves.max_leaf() < 4;
    let unsaid = if is_old { 1 } else { logical_count(leaves) };
    let cores = leaves.get(4, 0).filter(|answer| answer.eax != 0);
    let cores = cores.map_or(unsaid, |answer| bits(answer.eax, 31, 26) + 1);
    Widths { thread: package.saturating_sub(width(cores)), package, ..Widths::default() }
}

/// AMD: the package from Fn8000_0008 ECX (bits 15:12, or the count in bits 7:0), threads from Fn8000_001E.
fn amd_widths(leaves: &Leaves) -> Widths {
    let package = match leaves.get(0x8000_0008, 0).map(|answer| answer.ecx) {
        Some(ecx) if bits(ecx, 15, 12) != 0 => bits(ecx, 15, 12),
        Some(_) => width(package_count(leaves).unwrap_or(1)),
        None => width(logical_count(leaves)),
    };
    let is_zen = leaves.signature().is_some_and(|signature| signature.family >= FAMILY_ZEN);
    let thread = topology_extensions(leaves).filter(|_| is_zen).map_or(0, |topology| topology.unit_width);
    Widths { thread, package, ..Widths::default() }
}

/// AMD's count of the CPUs of a package: Fn8000_0008 ECX bits 7:0, less one.
pub(super) fn package_count(leaves: &Leaves) -> Option<u32> {
    leaves.get(0x8000_0008, 0).filter(|_| leaves.is_amd()).map(|answer| bits(answer.ecx, 7, 0) + 1)
}

/// What Fn8000_001E says.
#[derive(Debug, Clone, Copy)]
pub(super) struct TopologyExtensions {
    pub(super) apic: u32,
    /// Bits that tell the threads of a core (Zen) or the cores of a compute unit (Bulldozer) apart.
    unit_width: u32,
    node: u32,
}

pub(super) fn topology_extensions(leaves: &Leaves) -> Option<TopologyExtensions> {
    leaves.get(0x8000_0001, 0).filter(|answer| answer.ecx & TOPOLOGY_EXTENSIONS != 0)?;
    let answer = leaves.get(0x8000_001e, 0).filter(|_| leaves.is_amd())?;
    Some(TopologyExtensions {
        apic: answer.eax,
        unit_width: width(bits(answer.ebx, 15, 8) + 1),
        node: bits(answer.ecx, 7, 0),
    })
}

/// The kind of core of a hybrid: Intel leaf 1AH EAX bits 31:24, AMD Fn8000_0026 EBX bits 31:28.
fn core_kind(leaves: &Leaves, is_amd: bool) -> CoreKind {
    const INTEL_ATOM: u32 = 0x20;
    const INTEL_CORE: u32 = 0x40;
    /// Fn8000_0026 EAX bit 30: the cores of the machine are of several types.
    const AMD_HETEROGENEOUS: u32 = 1 << 30;
    if is_amd {
        let Some(answer) = leaves.get(0x8000_0026, 0) else { return CoreKind::Uniform };
        return match bits(answer.ebx, 31, 28) {
            0 if answer.eax & AMD_HETEROGENEOUS != 0 => CoreKind::Performance,
            1 if answer.eax & AMD_HETEROGENEOUS != 0 => CoreKind::Efficiency,
            _ => CoreKind::Uniform,
        };
    }
    match leaves.get(0x1a, 0).map(|answer| bits(answer.eax, 31, 24)) {
        Some(INTEL_CORE) => CoreKind::Performance,
        Some(INTEL_ATOM) => CoreKind::Efficiency,
        _ => CoreKind::Uniform,
    }
}
