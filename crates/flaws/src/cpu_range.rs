//! Ranges of CPUs: vendor, family, models, steppings of x86; implementer, parts and revisions of Arm.

use record::CpuSignature;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// CPUs of one maker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum CpuRange {
    /// Of x86.
    X86(X86Range),
    /// Of Arm.
    Arm(ArmRange),
}

/// x86 CPUs of one vendor and family; all models or steppings where none is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct X86Range {
    /// Vendor string of CPUID: `GenuineIntel`, `AuthenticAMD`, `HygonGenuine`.
    pub vendor: String,
    /// Displayed family, base plus extended.
    pub family: u32,
    /// Displayed models, first and last of each range.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<[u32; 2]>,
    /// Steppings, first and last of each range.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steppings: Vec<[u32; 2]>,
    /// The document that says so, where it is not the entry's first source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// Arm CPUs of one implementer; all revisions where none is named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmRange {
    /// Who made them, as MIDR_EL1 has it: 0x41 is Arm.
    pub implementer: u8,
    /// Parts, as MIDR_EL1 has them: 0xd0c of Arm is Neoverse-N1.
    pub parts: Vec<u16>,
    /// The first and the last revision, `r0p0` and `r3p1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revisions: Option<[Revision; 2]>,
    /// The document that says so, where it is not the entry's first source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// Variant and revision of MIDR_EL1, in the order in which they are made: `r3p1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct Revision {
    /// The 3 of r3p1.
    pub variant: u8,
    /// The 1 of r3p1.
    pub revision: u8,
}

impl From<Revision> for String {
    fn from(one: Revision) -> Self {
        format!("r{}p{}", one.variant, one.revision)
    }
}

impl Revision {
    /// `r3p1`; `None` for anything else, and for numbers that do not fit the register's four bits.
    fn parse(text: &str) -> Option<Self> {
        let (variant, revision) = text.strip_prefix('r')?.split_once('p')?;
        let four_bits = |digits: &str| digits.parse().ok().filter(|number| *number < 16);
        Some(Self { variant: four_bits(variant)?, revision: four_bits(revision)? })
    }
}

/// A range as a file has it: the keys of both kinds, of which one belongs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    vendor: Option<String>,
    family: Option<u32>,
    #[serde(default)]
    models: Vec<[u32; 2]>,
    #[serde(default)]
    steppings: Vec<[u32; 2]>,
    implementer: Option<u8>,
    #[serde(default)]
    parts: Vec<u16>,
    revisions: Option<[String; 2]>,
    source: Option<String>,
}

impl<'de> Deserialize<'de> for CpuRange {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Written::deserialize(from)?.try_into().map_err(D::Error::custom)
    }
}

impl TryFrom<Written> for CpuRange {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { vendor, family, models, steppings, implementer, parts, revisions, source } = written;
        let is_x86 = vendor.is_some() || family.is_some() || !models.is_empty() || !steppings.is_empty();
        if let Some(implementer) = implementer {
            if is_x86 || parts.is_empty() {
                return Err(
                    "a range of Arm CPUs has an implementer, parts and revisions, and nothing of x86".into(),
                );
            }
            let parsed =
                revisions.as_ref().map(|[first, last]| [first, last].map(|text| Revision::parse(text)));
            let revisions = match parsed {
                None => None,
                Some([Some(first), Some(last)]) => Some([first, last]),
                Some(_) => {
                    return Err(format!("{revisions:?} are no revisions; write them like r0p0 and r3p1"));
                }
            };
            return Ok(Self::Arm(ArmRange { implementer, parts, revisions, source }));
        }
        match (vendor, family) {
            (Some(vendor), Some(family)) if parts.is_empty() && revisions.is_none() => {
                Ok(Self::X86(X86Range { vendor, family, models, steppings, source }))
            }
            _ => Err("a range of CPUs has a vendor and a family, or an implementer and parts".into()),
        }
    }
}

/// Whether a CPU lies in a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Membership {
    /// It does.
    Inside,
    /// It does not.
    Outside,
    /// The CPU does not tell enough to say.
    Unknown,
}

impl CpuRange {
    /// Whether the CPU lies in the range, as far as it tells who it is.
    pub(crate) fn holds(&self, cpu: &CpuSignature) -> Membership {
        match self {
            Self::X86(range) => range.holds(cpu),
            Self::Arm(range) => range.holds(cpu),
        }
    }

    /// True if the CPU tells who it is and lies in the range.
    pub fn has(&self, cpu: &CpuSignature) -> bool {
        self.holds(cpu) == Membership::Inside
    }

    /// True of a CPU of the range's maker, or one that does not name its maker.
    pub(crate) fn is_of_its_maker(&self, cpu: &CpuSignature) -> bool {
        match (self, &cpu.arm) {
            (Self::X86(range), None) => cpu.vendor.as_ref().is_none_or(|vendor| range.vendor == *vendor),
            (Self::Arm(range), Some(arm)) => range.implementer == arm.implementer,
            (Self::X86(_), Some(_)) | (Self::Arm(_), None) => false,
        }
    }

    /// The first part of the range that ends before it begins.
    pub(crate) fn reversed(&self) -> Option<String> {
        match self {
            Self::X86(range) => {
                let mut parts = range.models.iter().chain(&range.steppings);
                parts.find(|[first, last]| first > last).map(|[first, last]| format!("[{first}, {last}]"))
            }
            Self::Arm(range) => range
                .revisions
                .filter(|[first, last]| first > last)
                .map(|revisions| format!("[{}]", revisions.map(String::from).join(", "))),
        }
    }
}

impl X86Range {
    fn holds(&self, cpu: &CpuSignature) -> Membership {
        if cpu.arm.is_some() {
            return Membership::Outside;
        }
        let vendor = match &cpu.vendor {
            Some(vendor) if *vendor != self.vendor => return Membership::Outside,
            other => other.is_some(),
        };
        let family = match cpu.family {
            Some(family) if family != self.family => return Membership::Outside,
            other => other.is_some(),
        };
        match (within(&self.models, cpu.model), within(&self.steppings, cpu.stepping)) {
            (Membership::Outside, _) | (_, Membership::Outside) => Membership::Outside,
            (Membership::Inside, Membership::Inside) if vendor && family => Membership::Inside,
            _ => Membership::Unknown,
        }
    }
}

impl ArmRange {
    fn holds(&self, cpu: &CpuSignature) -> Membership {
        let Some(arm) = &cpu.arm else {
            // Only x86 CPUs have a family.
            return if cpu.family.is_some() { Membership::Outside } else { Membership::Unknown };
        };
        let own = Revision { variant: arm.variant, revision: arm.revision };
        let is_within = self.revisions.is_none_or(|[first, last]| (first..=last).contains(&own));
        if arm.implementer == self.implementer && self.parts.contains(&arm.part) && is_within {
            Membership::Inside
        } else {
            Membership::Outside
        }
    }
}

fn within(ranges: &[[u32; 2]], number: Option<u32>) -> Membership {
    if ranges.is_empty() {
        return Membership::Inside;
    }
    match number {
        None => Membership::Unknown,
        Some(number) if ranges.iter().any(|[first, last]| (first..=last).contains(&&number)) => {
            Membership::Inside
        }
        Some(_) => Membership::Outside,
    }
}

/// Whether a CPU lies in one of several ranges.
pub(crate) fn among(ranges: &[CpuRange], cpu: &CpuSignature) -> Membership {
    if !cpu.one_of.is_empty() {
        let as_model = |&model| CpuSignature { model: Some(model), one_of: Vec::new(), ..cpu.clone() };
        let mut each = cpu.one_of.iter().map(|model| among(ranges, &as_model(model)));
        let first = each.next().unwrap_or(Membership::Unknown);
        return if each.all(|other| other == first) { first } else { Membership::Unknown };
    }
    let mut found = Membership::Outside;
    for range in ranges {
        match range.holds(cpu) {
            Membership::Inside => return Membership::Inside,
            Membership::Unknown => found = Membership::Unknown,
            Membership::Outside => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn phenom() -> CpuRange {
        CpuRange::X86(X86Range {
            vendor: "AuthenticAMD".into(),
            family: 0x10,
            models: vec![[2, 2]],
            steppings: vec![[2, 2], [10, 10]],
            source: None,
        })
    }

    fn cpu(family: u32, model: Option<u32>, stepping: Option<u32>) -> CpuSignature {
        CpuSignature {
            vendor: Some("AuthenticAMD".into()),
            family: Some(family),
            model,
            stepping,
            ..CpuSignature::default()
        }
    }

    #[test]
    fn a_cpu_is_inside_outside_or_does_not_tell() {
        let cases = [
            (cpu(0x10, Some(2), Some(2)), Membership::Inside),
            (cpu(0x10, Some(2), Some(10)), Membership::Inside),
            (cpu(0x10, Some(2), Some(3)), Membership::Outside),
            (cpu(0x11, Some(2), Some(2)), Membership::Outside),
            (cpu(0x10, Some(2), None), Membership::Unknown),
            (cpu(0x10, Some(4), None), Membership::Outside),
            (CpuSignature::default(), Membership::Unknown),
        ];
        for (cpu, expected) in cases {
            assert_eq!(phenom().holds(&cpu), expected, "{cpu:?}");
        }
    }

    fn read(text: &str) -> Result<CpuRange, String> {
        record::read_toml(text).map_err(|error| error.reason)
    }

    fn arm(midr: u64) -> CpuSignature {
        CpuSignature { arm: Some(machine::ArmSignature::from_midr(midr)), ..CpuSignature::default() }
    }

    #[test]
    fn revisions_of_an_arm_part_are_ordered_by_variant_first() {
        let text = "implementer = 0x41\nparts = [0xd0b, 0xd0c]\nrevisions = [\"r0p5\", \"r3p1\"]";
        let range = read(text).expect("a range");
        let cases = [
            (arm(0x410f_d0c5), Membership::Inside),
            (arm(0x410f_d0c4), Membership::Outside),
            (arm(0x411f_d0c0), Membership::Inside),
            (arm(0x412f_d0bf), Membership::Inside),
            (arm(0x413f_d0c1), Membership::Inside),
            (arm(0x413f_d0c2), Membership::Outside),
            (arm(0x413f_d0d1), Membership::Outside),
            (arm(0x483f_d0c1), Membership::Outside),
            (cpu(6, None, None), Membership::Outside),
            (CpuSignature::default(), Membership::Unknown),
        ];
        for (cpu, expected) in cases {
            assert_eq!(range.holds(&cpu), expected, "{cpu:?}");
        }
        assert_eq!(phenom().holds(&arm(0x410f_d0c5)), Membership::Outside);
    }

    #[test]
    fn a_range_of_neither_kind_or_of_both_is_refused() {
        for (text, reason) in [
            ("implementer = 0x41", "has an implementer, parts"),
            ("implementer = 0x41\nparts = [1]\nfamily = 6", "nothing of x86"),
            ("implementer = 0x41\nparts = [1]\nrevisions = [\"r0p0\", \"3.1\"]", "are no revisions"),
            ("implementer = 0x41\nparts = [1]\nrevisions = [\"r0p0\", \"r16p1\"]", "are no revisions"),
            ("vendor = \"GenuineIntel\"", "a vendor and a family"),
            ("vendor = \"GenuineIntel\"\nfamily = 6\nparts = [1]", "a vendor and a family"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(reason), "{error}");
        }
    }

    proptest! {
        #[test]
        fn a_revision_is_its_text(variant in 0u8..16, revision in 0u8..16, text in "\\PC{0,8}") {
            let one = Revision { variant, revision };
            prop_assert_eq!(Revision::parse(&String::from(one)), Some(one));
            let _ = Revision::parse(&text);
        }
    }
}
