//! Who an Arm CPU says it is: its main id register, with the names of who made it and of the part.
//!
//! Fields of MIDR_EL1: Arm Architecture Reference Manual for A-profile, MIDR_EL1. Names: Linux 6.1.192,
//! arch/arm64/include/asm/cputype.h; where it has none, util-linux, sys-utils/lscpu-arm.c.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::CpuSet;

/// The main id register of a CPU, by its fields, and the register that tells of repairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmSignature {
    /// Who made it: 0x41 is Arm.
    pub implementer: u8,
    /// The design, in 12 bits: 0xd0c of Arm is Neoverse-N1.
    pub part: u16,
    /// Major revision: the 3 of r3p1.
    pub variant: u8,
    /// Minor revision: the 1 of r3p1.
    pub revision: u8,
    /// REVIDR_EL1, whose bits a maker sets for errata that he repaired within a revision; `None` where nothing shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repairs: Option<u64>,
}

/// CPUs that say the same of themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmCpus {
    /// Which.
    pub cpus: CpuSet,
    /// What they say.
    pub signature: ArmSignature,
}

/// Names of implementers.
const IMPLEMENTERS: [(u8, &str); 18] = [
    (0x41, "Arm"),
    (0x42, "Broadcom"),
    (0x43, "Cavium"),
    (0x44, "DEC"),
    (0x46, "Fujitsu"),
    (0x48, "HiSilicon"),
    (0x49, "Infineon"),
    (0x4d, "Motorola/Freescale"),
    (0x4e, "NVIDIA"),
    (0x50, "APM"),
    (0x51, "Qualcomm"),
    (0x53, "Samsung"),
    (0x56, "Marvell"),
    (0x61, "Apple"),
    (0x66, "Faraday"),
    (0x6d, "Microsoft"),
    (0x70, "Phytium"),
    (0xc0, "Ampere"),
];

/// Names of parts, by implementer and part.
#[rustfmt::skip]
const PARTS: [(u8, u16, &str); 88] = [
    (0x41, 0xc05, "Cortex-A5"), (0x41, 0xc07, "Cortex-A7"), (0x41, 0xc08, "Cortex-A8"), (0x41, 0xc09, "Cortex-A9"),
    (0x41, 0xc0d, "Cortex-A17"), (0x41, 0xc0e, "Cortex-A17"), (0x41, 0xc0f, "Cortex-A15"), (0x41, 0xd01, "Cortex-A32"),
    (0x41, 0xd02, "Cortex-A34"), (0x41, 0xd03, "Cortex-A53"), (0x41, 0xd04, "Cortex-A35"), (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd06, "Cortex-A65"), (0x41, 0xd07, "Cortex-A57"), (0x41, 0xd08, "Cortex-A72"), (0x41, 0xd09, "Cortex-A73"),
    (0x41, 0xd0a, "Cortex-A75"), (0x41, 0xd0b, "Cortex-A76"), (0x41, 0xd0c, "Neoverse-N1"), (0x41, 0xd0d, "Cortex-A77"),
    (0x41, 0xd0e, "Cortex-A76AE"), (0x41, 0xd40, "Neoverse-V1"), (0x41, 0xd41, "Cortex-A78"), (0x41, 0xd42, "Cortex-A78AE"),
    (0x41, 0xd43, "Cortex-A65AE"), (0x41, 0xd44, "Cortex-X1"), (0x41, 0xd46, "Cortex-A510"), (0x41, 0xd47, "Cortex-A710"),
    (0x41, 0xd48, "Cortex-X2"), (0x41, 0xd49, "Neoverse-N2"), (0x41, 0xd4a, "Neoverse-E1"), (0x41, 0xd4b, "Cortex-A78C"),
    (0x41, 0xd4c, "Cortex-X1C"), (0x41, 0xd4d, "Cortex-A715"), (0x41, 0xd4e, "Cortex-X3"), (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd80, "Cortex-A520"), (0x41, 0xd81, "Cortex-A720"), (0x41, 0xd82, "Cortex-X4"), (0x41, 0xd83, "Neoverse-V3AE"),
    (0x41, 0xd84, "Neoverse-V3"), (0x41, 0xd85, "Cortex-X925"), (0x41, 0xd87, "Cortex-A725"), (0x41, 0xd89, "Cortex-A720AE"), (0x41, 0xd8c, "C1-Ultra"),
    (0x41, 0xd8e, "Neoverse-N3"), (0x41, 0xd90, "C1-Premium"),
    (0x42, 0x00f, "Brahma-B15"), (0x42, 0x100, "Brahma-B53"), (0x42, 0x516, "Vulcan"),
    (0x43, 0x0a0, "ThunderX"), (0x43, 0x0a1, "ThunderX"), (0x43, 0x0a2, "ThunderX-81XX"), (0x43, 0x0a3, "ThunderX-83XX"),
    (0x43, 0x0af, "ThunderX2"), (0x43, 0x0b1, "OcteonTX2-98XX"), (0x43, 0x0b2, "OcteonTX2-96XX"),
    (0x43, 0x0b3, "OcteonTX2-95XX"), (0x43, 0x0b4, "OcteonTX2-95XXN"), (0x43, 0x0b5, "OcteonTX2-95XXMM"),
    (0x43, 0x0b6, "OcteonTX2-95XXO"), (0x43, 0x0b8, "ThunderX3-T110"),
    (0x46, 0x001, "A64FX"),
    (0x48, 0xd01, "Kunpeng-920"), (0x48, 0xd02, "HIP09"), (0x48, 0xd40, "Cortex-A76"),
    (0x4e, 0x000, "Denver"), (0x4e, 0x003, "Denver 2"), (0x4e, 0x004, "Carmel"), (0x4e, 0x010, "Olympus"),
    (0x50, 0x000, "X-Gene"),
    (0x51, 0x800, "Falkor-V1/Kryo-2XX-Gold"), (0x51, 0x801, "Kryo-2XX-Silver"), (0x51, 0x802, "Kryo-3XX-Gold"),
    (0x51, 0x803, "Kryo-3XX-Silver"), (0x51, 0x804, "Kryo-4XX-Gold"), (0x51, 0x805, "Kryo-4XX-Silver"),
    (0x51, 0xc00, "Falkor"),
    (0x61, 0x022, "Icestorm-M1"), (0x61, 0x023, "Firestorm-M1"), (0x61, 0x024, "Icestorm-M1-Pro"),
    (0x61, 0x025, "Firestorm-M1-Pro"), (0x61, 0x028, "Icestorm-M1-Max"), (0x61, 0x029, "Firestorm-M1-Max"),
    (0x6d, 0xd49, "Azure-Cobalt-100"),
    (0x70, 0x663, "FTC663"),
    (0xc0, 0xac3, "AmpereOne"), (0xc0, 0xac4, "AmpereOne-1A"),
];

impl ArmSignature {
    /// The fields of MIDR_EL1: revision in bits 3:0, part 15:4, variant 23:20, implementer 31:24.
    pub fn from_midr(midr: u64) -> Self {
        let bits = |low: u32, mask: u64| midr >> low & mask;
        Self {
            implementer: bits(24, 0xff) as u8,
            part: bits(4, 0xfff) as u16,
            variant: bits(20, 0xf) as u8,
            revision: bits(0, 0xf) as u8,
            repairs: None,
        }
    }

    /// The register as a CPU of Arm's eighth architecture or later holds it: its field of the architecture is 0xf.
    pub fn midr(&self) -> u32 {
        const ARCHITECTURE_BY_FEATURES: u32 = 0xf << 16;
        u32::from(self.implementer) << 24
            | u32::from(self.variant & 0xf) << 20
            | ARCHITECTURE_BY_FEATURES
            | u32::from(self.part & 0xfff) << 4
            | u32::from(self.revision & 0xf)
    }

    /// The name of who made it, if it is known.
    pub fn implementer_name(&self) -> Option<&'static str> {
        IMPLEMENTERS.iter().find(|(number, _)| *number == self.implementer).map(|(_, name)| *name)
    }

    /// The name of the part, if it is known.
    pub fn part_name(&self) -> Option<&'static str> {
        let is = |row: &&(u8, u16, &str)| (row.0, row.1) == (self.implementer, self.part);
        PARTS.iter().find(is).map(|(_, _, name)| *name)
    }

    /// Variant and revision as Arm writes them: `r3p1`.
    pub fn revision_name(&self) -> String {
        format!("r{}p{}", self.variant, self.revision)
    }
}

impl fmt::Display for ArmSignature {
    /// `Arm Neoverse-N1 r3p1`; numbers where there is no name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(implementer) = self.implementer_name() else {
            let (implementer, part) = (self.implementer, self.part);
            return write!(
                f,
                "unknown implementer {implementer:#04x}, part {part:#05x} {}",
                self.revision_name()
            );
        };
        match self.part_name() {
            Some(part) => write!(f, "{implementer} {part} {}", self.revision_name()),
            None => write!(f, "{implementer} part {:#05x} {}", self.part, self.revision_name()),
        }
    }
}

/// Implementer and part by their names, in small or capital letters.
pub fn arm_part(implementer: &str, part: &str) -> Option<(u8, u16)> {
    let named = PARTS.iter().filter(|(_, _, name)| name.eq_ignore_ascii_case(part));
    let is_maker = |row: &&(u8, u16, &str)| {
        IMPLEMENTERS.iter().any(|(number, name)| *number == row.0 && name.eq_ignore_ascii_case(implementer))
    };
    named.copied().find(|row| is_maker(&row)).map(|(implementer, part, _)| (implementer, part))
}

/// CPUs by what they say of themselves, in the order of their first CPUs; all kinds joined by `+`.
pub fn arm_name(groups: &[ArmCpus]) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for group in groups {
        let name = group.signature.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| names.join(" + "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_those_of_the_part_and_numbers_where_it_has_none() {
        for (midr, name) in [
            (0x413f_d0c1, "Arm Neoverse-N1 r3p1"),
            (0x481f_d010, "HiSilicon Kunpeng-920 r1p0"),
            (0x410f_d99f, "Arm part 0xd99 r0p15"),
            (0x770f_0010, "unknown implementer 0x77, part 0x001 r0p0"),
            (0, "unknown implementer 0x00, part 0x000 r0p0"),
        ] {
            assert_eq!(ArmSignature::from_midr(midr).to_string(), name);
        }
    }

    #[test]
    fn no_part_is_named_twice_and_each_has_an_implementer() {
        for (index, (implementer, part, name)) in PARTS.iter().enumerate() {
            let same = |other: &&(u8, u16, &str)| (other.0, other.1) == (*implementer, *part);
            assert_eq!(PARTS.iter().position(|other| same(&other)), Some(index), "{name}");
            assert!(IMPLEMENTERS.iter().any(|(number, _)| number == implementer), "{name}");
        }
    }

    proptest! {
        #[test]
        fn fields_make_the_register_again(midr in any::<u32>()) {
            let signature = ArmSignature::from_midr(midr.into());
            prop_assert_eq!(signature.midr(), midr | 0xf << 16);
        }
    }
}
