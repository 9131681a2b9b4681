//! Sets of CPUs by vendor, family, model and stepping, and their differences in few words.

use std::collections::{BTreeMap, BTreeSet};

use record::CpuSignature;

/// One CPU model and stepping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cell {
    /// Vendor string of CPUID.
    pub(super) vendor: &'static str,
    /// Displayed family.
    pub(super) family: u32,
    /// Displayed model.
    pub(super) model: u32,
    /// Stepping.
    pub(super) stepping: u32,
}

impl Cell {
    /// The CPU as evidence has it.
    pub(super) fn signature(self) -> CpuSignature {
        CpuSignature {
            vendor: Some(self.vendor.to_owned()),
            family: Some(self.family),
            model: Some(self.model),
            stepping: Some(self.stepping),
            ..CpuSignature::default()
        }
    }
}

/// A set of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CellSet(BTreeSet<Cell>);

/// Models of a family, by number.
const MODELS: std::ops::RangeInclusive<u32> = 0..=0xff;
/// Steppings of a model.
pub(super) const STEPPINGS: std::ops::RangeInclusive<u32> = 0..=0xf;

impl CellSet {
    /// Every CPU of these families.
    pub(super) fn all(families: &[(&'static str, u32)]) -> Self {
        let mut all = Self::default();
        for &(vendor, family) in families {
            all.add_family(vendor, family);
        }
        all
    }

    pub(super) fn add(&mut self, vendor: &'static str, family: u32, model: u32, steppings: Vec<u32>) {
        self.0.extend(steppings.into_iter().map(|stepping| Cell { vendor, family, model, stepping }));
    }

    pub(super) fn add_family(&mut self, vendor: &'static str, family: u32) {
        for model in MODELS {
            self.add(vendor, family, model, STEPPINGS.collect());
        }
    }

    /// Adds what lies between two numbers of model and stepping, the latter in the last four bits.
    pub(super) fn add_span(&mut self, vendor: &'static str, family: u32, [first, last]: [u32; 2]) {
        let cell = |both: u32| Cell { vendor, family, model: both >> 4, stepping: both & 0xf };
        self.0.extend((first..=last).map(cell));
    }

    pub(super) fn extend(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    pub(super) fn contains(&self, cell: &Cell) -> bool {
        self.0.contains(cell)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }

    pub(super) fn only(&self, holds: impl Fn(&Cell) -> bool) -> Self {
        Self(self.0.iter().filter(|cell| holds(cell)).copied().collect())
    }

    /// `GenuineIntel 06: 97, b7 (0-5)`: models in hexadecimal, steppings where they are not all.
    pub(super) fn in_words(&self) -> String {
        let mut models: BTreeMap<(&str, u32), BTreeMap<u32, BTreeSet<u32>>> = BTreeMap::new();
        for cell in &self.0 {
            let of_family = models.entry((cell.vendor, cell.family)).or_default();
            of_family.entry(cell.model).or_default().insert(cell.stepping);
        }
        let family = |((vendor, family), models): (&(&str, u32), &BTreeMap<u32, BTreeSet<u32>>)| {
            if models.len() == MODELS.count()
                && models.values().all(|steppings| steppings.len() == STEPPINGS.count())
            {
                return format!("{vendor} {family:02x}: all");
            }
            let model = |(model, steppings): (&u32, &BTreeSet<u32>)| {
                let (first, last) =
                    (steppings.first().expect("not empty"), steppings.last().expect("not empty"));
                if steppings.len() == STEPPINGS.count() {
                    format!("{model:02x}")
                } else {
                    format!("{model:02x} ({first:x}-{last:x})")
                }
            };
            format!("{vendor} {family:02x}: {}", models.iter().map(model).collect::<Vec<_>>().join(", "))
        };
        models.iter().map(family).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_words_name_models_and_steppings_that_are_not_all() {
        let mut set = CellSet::default();
        set.add("GenuineIntel", 6, 0x97, STEPPINGS.collect());
        set.add("GenuineIntel", 6, 0x55, vec![3, 4]);
        set.add_span("AuthenticAMD", 0x17, [0x30e, 0x310]);
        assert_eq!(set.in_words(), "AuthenticAMD 17: 30 (e-f), 31 (0-0); GenuineIntel 06: 55 (3-4), 97");
        assert_eq!(CellSet::all(&[("AuthenticAMD", 0x19)]).in_words(), "AuthenticAMD 19: all");
        assert!(set.without(&set).is_empty() && set.len() == 21);
    }
}
