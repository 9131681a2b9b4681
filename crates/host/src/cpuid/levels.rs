//! Where one CPU sits, from its APIC id and the widths that CPUID gives for its parts.
//!
//! An APIC id is a string of bit fields, the package highest, the thread lowest. Sources: Intel SDM vol. 3A,
//! "Hierarchical Mapping of Shared Resources" (leaves 1, 4, 0BH, 1FH); AMD64 APM vol. 3, CPUID
//! Fn8000_0008, Fn8000_001E and Fn8000_0026.

use machine::CoreKind;

use super::{Leaves, bits, width};

/// The most levels leaf 1FH may list; the sixth type (die group) is the last that is defined.
const LEVELS_MAX: u32 = 8;

/// Level types of leaves 0BH and 1FH (ECX bits 15:8).
const TYPE_THREAD: u32 = 1;
const TYPE_MODULE: u32 = 3;
const TYPE_DIE: u32 = 5;

/// The first AMD family whose cores have threads: Zen.
const FAMILY_ZEN: u32 = 0x17;
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
        let extended = if is_amd { None } else { extended(leaves) };
        let (apic, widths) = extended.unwrap_or_else(|| {
            let widths = if is_amd { amd_widths(leaves) } else { legacy_widths(leaves) };
            (initial_apic(leaves), widths)
        });
        let above = |width: u32| apic.checked_shr(width).unwrap_or(0);
        let topology = topology_extensions(leaves);
        let is_bulldozer = leaves.signature().is_some_and(|signature| signature.family == FAMILY_BULLDOZER);
        let unit = topology.filter(|_| is_bulldozer).map(|topology| topology.unit_width);
        let in_package = apic & !(u32::MAX.checked_shl(widths.package).unwrap_or(0));
        Self {
            apic: topology.map_or(apic, |topology| if is_amd { topology.apic } else { apic }),
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

/// Leaf 1FH or, where that is empty, 0BH: the x2APIC id and the widths.
fn extended(leaves: &Leaves) -> Option<(u32, Widths)> {
    [0x1f, 0xb].into_iter().find_map(|leaf| {
        let first = leaves.get(leaf, 0)?;
        // A leaf that is listed and not implemented answers zeros.
        if bits(first.ecx, 15, 8) == 0 || first.ebx == 0 {
            return None;
        }
        let mut widths = Widths::default();
        // The shift of a level gives the id of the next one up: a die begins where the level below it ends.
        let mut below = 0;
        for level in 0..LEVELS_MAX {
            let Some(answer) = leaves.get(leaf, level) else { break };
            let shift = bits(answer.eax, 4, 0);
            match bits(answer.ecx, 15, 8) {
                0 => break,
                TYPE_THREAD => widths.thread = shift,
                TYPE_MODULE => widths.module = Some(below),
                TYPE_DIE => widths.die = Some(below),
                // Cores end where the next level begins; tiles and die groups have no use here.
                _ => {}
            }
            below = shift;
            widths.package = widths.package.max(shift);
        }
        Some((first.edx, widths))
    })
}

fn initial_apic(leaves: &Leaves) -> u32 {
    leaves.get(1, 0).map_or(0, |answer| bits(answer.ebx, 31, 24))
}

/// The most logical CPUs of a package: leaf 1 EBX bits 23:16, if it may have more than one (EDX bit 28, HTT).
fn logical_count(leaves: &Leaves) -> u32 {
    const HTT: u32 = 1 << 28;
    leaves.get(1, 0).filter(|answer| answer.edx & HTT != 0).map_or(1, |answer| bits(answer.ebx, 23, 16))
}

/// Before leaf 0BH: the package from leaf 1, its cores from leaf 4 EAX bits 31:26.
fn legacy_widths(leaves: &Leaves) -> Widths {
    let package = width(logical_count(leaves));
    let cores =
        leaves.get(4, 0).filter(|answer| answer.eax != 0).map_or(1, |answer| bits(answer.eax, 31, 26) + 1);
    Widths { thread: package.saturating_sub(width(cores)), package, ..Widths::default() }
}

/// AMD: the package from Fn8000_0008 ECX (bits 15:12, or the count in bits 7:0), threads from Fn8000_001E.
fn amd_widths(leaves: &Leaves) -> Widths {
    let package = match leaves.get(0x8000_0008, 0).map(|answer| answer.ecx) {
        Some(ecx) if bits(ecx, 15, 12) != 0 => bits(ecx, 15, 12),
        Some(ecx) => width(bits(ecx, 7, 0) + 1),
        None => width(logical_count(leaves)),
    };
    let is_zen = leaves.signature().is_some_and(|signature| signature.family >= FAMILY_ZEN);
    let thread = topology_extensions(leaves).filter(|_| is_zen).map_or(0, |topology| topology.unit_width);
    Widths { thread, package, ..Widths::default() }
}

/// What Fn8000_001E says.
#[derive(Debug, Clone, Copy)]
struct TopologyExtensions {
    apic: u32,
    /// Bits that tell the threads of a core (Zen) or the cores of a compute unit (Bulldozer) apart.
    unit_width: u32,
    node: u32,
}

fn topology_extensions(leaves: &Leaves) -> Option<TopologyExtensions> {
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
