//! What the catalogue wants to know of a machine: the registers to read, the probes to run.

use std::collections::BTreeSet;

use crate::Catalogue;
use crate::registers::{OSVW_LENGTH, OSVW_STATUS};

/// A configuration word of AMD nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PciWord {
    /// PCI function.
    pub function: u32,
    /// Offset of the word in bytes.
    pub offset: u32,
}

/// Everything the entries ask of registers, each once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Numbers of model-specific registers.
    pub msr: BTreeSet<u32>,
    /// Configuration words.
    pub pci: BTreeSet<PciWord>,
    /// CPUID leaves with their subleaves.
    pub cpuid: BTreeSet<(u32, u32)>,
    /// Names of signature probes.
    pub probes: BTreeSet<String>,
}

impl Catalogue {
    /// What all entries want to know.
    pub fn wanted(&self) -> Wanted {
        let mut wanted = Wanted::default();
        for flaw in &self.flaws {
            wanted.msr.extend(flaw.msr.iter().map(|bits| bits.number));
            if flaw.osvw.is_some() {
                wanted.msr.extend([OSVW_LENGTH, OSVW_STATUS]);
            }
            wanted
                .pci
                .extend(flaw.pci.iter().map(|bits| PciWord { function: bits.function, offset: bits.offset }));
            wanted.cpuid.extend(flaw.cpuid.iter().map(|bit| (bit.leaf, bit.subleaf)));
            wanted.probes.extend(flaw.signature.iter().map(|signature| signature.probe.clone()));
        }
        wanted
    }
}
