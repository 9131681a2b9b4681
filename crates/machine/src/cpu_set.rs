//! A set of logical CPUs, in the two notations of the kernel: lists (`0-3,8`) and masks (`ff,00ff`).

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CpuId;

/// The largest CPU number accepted, exclusive: NR_CPUS of the largest kernels is 8192, doubled for safety.
/// It keeps a hostile `0-4294967295` from filling memory.
const CPU_NUMBER_LIMIT: u32 = 16_384;

/// A set of logical CPUs, kept in order of their numbers; written as a Linux CPU list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct CpuSet(BTreeSet<CpuId>);

/// Why a text is not a CPU set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CpuSetError {
    /// A part of a list is neither a number nor a range of numbers.
    #[error("{0:?} is not a CPU number or range; write a list such as 0-3,8")]
    NotARange(String),
    /// A range ends before it starts.
    #[error("range {0:?} runs backwards; write the smaller number first")]
    Backwards(String),
    /// A number is beyond what any kernel supports.
    #[error("CPU number in {0:?} is above 16383, the most any kernel supports")]
    TooLarge(String),
    /// A group of a mask is not hexadecimal.
    #[error("{0:?} is not a hexadecimal CPU mask")]
    NotAMask(String),
}

impl CpuSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a kernel CPU list: `0-3,8`, `0-31:2/4` is not supported; blanks and a trailing NUL are ignored.
    pub fn from_list(text: &str) -> Result<Self, CpuSetError> {
        let mut cpus = BTreeSet::new();
        for part in text.trim_matches(['\0', '\n', ' ', '\t']).split(',') {
            let part = part.trim_matches(['\0', '\n', ' ', '\t']);
            if part.is_empty() {
                continue;
            }
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |digits: &str| -> Result<u32, CpuSetError> {
                digits.trim().parse().map_err(|_| CpuSetError::NotARange(part.to_owned()))
            };
            let (first, last) = (number(first)?, number(last)?);
            if last >= CPU_NUMBER_LIMIT {
                return Err(CpuSetError::TooLarge(part.to_owned()));
            }
            if last < first {
                return Err(CpuSetError::Backwards(part.to_owned()));
            }
            cpus.extend((first..=last).map(CpuId));
        }
        Ok(Self(cpus))
    }

    /// Reads a kernel CPU mask: hexadecimal groups of 32 bits, the highest first, separated by commas.
    pub fn from_mask(text: &str) -> Result<Self, CpuSetError> {
        let text = text.trim_matches(['\0', '\n', ' ', '\t']);
        let mut cpus = BTreeSet::new();
        for (group_index, group) in text.rsplit(',').enumerate() {
            let digits = group.trim().trim_start_matches("0x");
            let bits = match digits {
                "" if text.is_empty() => 0,
                digits => {
                    u32::from_str_radix(digits, 16).map_err(|_| CpuSetError::NotAMask(text.to_owned()))?
                }
            };
            for bit in (0..32).filter(|bit| bits >> bit & 1 == 1) {
                let cpu = u32::try_from(group_index * 32).unwrap_or(u32::MAX).saturating_add(bit);
                if cpu >= CPU_NUMBER_LIMIT {
                    return Err(CpuSetError::TooLarge(text.to_owned()));
                }
                cpus.insert(CpuId(cpu));
            }
        }
        Ok(Self(cpus))
    }

    /// Adds a CPU; true if it was not there before.
    pub fn insert(&mut self, cpu: CpuId) -> bool {
        self.0.insert(cpu)
    }

    /// True if the CPU is in the set.
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.0.contains(&cpu)
    }

    /// How many CPUs are in the set.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if no CPU is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The CPU with the smallest number.
    pub fn first(&self) -> Option<CpuId> {
        self.0.first().copied()
    }

    /// The CPUs in order of their numbers.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = CpuId> + '_ {
        self.0.iter().copied()
    }

    /// The CPUs that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.0.intersection(&other.0).copied().collect()
    }

    /// The CPUs that are in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.0.union(&other.0).copied().collect()
    }

    /// The CPUs of this set that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.0.difference(&other.0).copied().collect()
    }

    /// True if every CPU of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }
}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl FromStr for CpuSet {
    type Err = CpuSetError;

    fn from_str(text: &str) -> Result<Self, CpuSetError> {
        Self::from_list(text)
    }
}

impl TryFrom<String> for CpuSet {
    type Error = CpuSetError;

    fn try_from(text: String) -> Result<Self, CpuSetError> {
        Self::from_list(&text)
    }
}

impl From<CpuSet> for String {
    fn from(cpus: CpuSet) -> String {
        cpus.to_string()
    }
}

impl fmt::Display for CpuSet {
    /// The kernel's list notation: `0-3,8`; nothing for the empty set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        let mut cpus = self.0.iter().map(|cpu| cpu.0).peekable();
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if_eq(&last.saturating_add(1)) {
                last = next;
            }
            let separator = if text.is_empty() { "" } else { "," };
            text = if first == last {
                format!("{text}{separator}{first}")
            } else {
                format!("{text}{separator}{first}-{last}")
            };
        }
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_masks_name_the_same_set() {
        for (list, mask) in
            [("", "0"), ("0", "1"), ("0-3,8", "10f"), ("31-32", "1,80000000"), ("0-7", "00000000,000000ff")]
        {
            let from_list = CpuSet::from_list(list).expect("a list");
            assert_eq!(from_list, CpuSet::from_mask(mask).expect("a mask"), "{list}");
            assert_eq!(from_list.to_string(), list);
        }
    }

    #[test]
    fn captured_values_may_end_in_newline_and_nul() {
        assert_eq!(CpuSet::from_list("0-7\n\0").expect("a list").len(), 8);
    }

    #[test]
    fn nonsense_says_what_to_write() {
        for text in ["a", "3-", "-", "1-2-3", "5-2", "0-4294967295", "99999999999"] {
            assert!(CpuSet::from_list(text).is_err(), "{text}");
        }
        for text in ["g", "1,,2", "123456789"] {
            assert!(CpuSet::from_mask(text).is_err(), "{text}");
        }
    }
}
