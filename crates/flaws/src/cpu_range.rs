//! Ranges of CPUs: vendor, family, models, steppings.

use record::CpuSignature;
use serde::{Deserialize, Serialize};

/// CPUs of one vendor and family; all models or steppings where none is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuRange {
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
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

    /// True if the CPU tells who it is and lies in the range.
    pub fn has(&self, cpu: &CpuSignature) -> bool {
        self.holds(cpu) == Membership::Inside
    }

    /// The first range that ends before it begins.
    pub(crate) fn reversed(&self) -> Option<[u32; 2]> {
        self.models.iter().chain(&self.steppings).copied().find(|[first, last]| first > last)
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
    use super::*;

    fn phenom() -> CpuRange {
        CpuRange {
            vendor: "AuthenticAMD".into(),
            family: 0x10,
            models: vec![[2, 2]],
            steppings: vec![[2, 2], [10, 10]],
            source: None,
        }
    }

    fn cpu(family: u32, model: Option<u32>, stepping: Option<u32>) -> CpuSignature {
        CpuSignature {
            vendor: Some("AuthenticAMD".into()),
            family: Some(family),
            model,
            stepping,
            microcode: None,
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
}
