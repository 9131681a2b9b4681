//! A set of logical CPUs, in the two notations of the kernel: lists (`0-3,8`) and masks (`ff,00ff`).

use std::cmp::Ordering;
use std::fmt::{self, Write};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::CpuId;

/// The largest CPU number accepted, exclusive: NR_CPUS of the largest kernels is 8192, times eight for safety.
/// It keeps a hostile `0-4294967295` from filling memory.
pub const CPU_NUMBER_LIMIT: u32 = 65_536;

// Machines have thousands of CPUs, and each of them names its neighbours: sets are words of bits.
/// A set of logical CPUs, kept in order of their numbers; written as a Linux CPU list.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct CpuSet {
    /// A word's index and its bits, by index: CPU 64 w + b is bit b of word w. No word is 0, so that equal sets have equal words,
    /// and an absurd number in a record takes no memory.
    words: Vec<(u32, u64)>,
}

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
    #[error("CPU number in {0:?} is above 65535, more than any kernel supports")]
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
        let mut cpus = Self::new();
        let text = text.trim_matches(['\0', '\n', ' ', '\t']);
        // Nothing at all is no CPU; nothing between commas is a number that was forgotten.
        for part in text.split(',').filter(|_| !text.is_empty()) {
            let part = part.trim_matches(['\0', '\n', ' ', '\t']);
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
            for cpu in first..=last {
                cpus.insert(CpuId(cpu));
            }
        }
        Ok(cpus)
    }

    /// Reads a kernel CPU mask: hexadecimal groups of 32 bits, the highest first, separated by commas.
    pub fn from_mask(text: &str) -> Result<Self, CpuSetError> {
        let text = text.trim_matches(['\0', '\n', ' ', '\t']);
        let mut cpus = Self::new();
        for (index, group) in (0..).zip(text.rsplit(',')) {
            let digits = group.trim().trim_start_matches("0x");
            let bits = match digits {
                "" if text.is_empty() => 0,
                digits => {
                    u32::from_str_radix(digits, 16).map_err(|_| CpuSetError::NotAMask(text.to_owned()))?
                }
            };
            // The kernel writes groups for all CPUs that it could have: those beyond the limit are zeros.
            if bits != 0 && index >= CPU_NUMBER_LIMIT / 32 {
                return Err(CpuSetError::TooLarge(text.to_owned()));
            }
            cpus.add(index / 2, u64::from(bits) << (32 * (index % 2)));
        }
        Ok(cpus)
    }

    /// Adds the CPUs of a word.
    fn add(&mut self, index: u32, bits: u64) {
        if bits == 0 {
            return;
        }
        match self.words.binary_search_by_key(&index, |(index, _)| *index) {
            Ok(at) => self.words[at].1 |= bits,
            Err(at) => self.words.insert(at, (index, bits)),
        }
    }

    /// The bits of a word.
    fn bits(&self, index: u32) -> u64 {
        let found = self.words.binary_search_by_key(&index, |(index, _)| *index);
        found.map_or(0, |at| self.words[at].1)
    }

    /// The words of this set, each changed by that of the other.
    fn changed(&self, other: &Self, change: impl Fn(u64, u64) -> u64) -> Self {
        let words = self.words.iter().map(|(index, bits)| (*index, change(*bits, other.bits(*index))));
        Self { words: words.filter(|(_, bits)| *bits != 0).collect() }
    }

    /// Adds a CPU; true if it was not there before.
    pub fn insert(&mut self, cpu: CpuId) -> bool {
        let (index, bit) = place(cpu);
        let is_new = self.bits(index) & bit == 0;
        self.add(index, bit);
        is_new
    }

    /// True if the CPU is in the set.
    pub fn contains(&self, cpu: CpuId) -> bool {
        let (index, bit) = place(cpu);
        self.bits(index) & bit != 0
    }

    /// How many CPUs are in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|(_, bits)| bits.count_ones() as usize).sum()
    }

    /// True if no CPU is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The CPU with the smallest number.
    pub fn first(&self) -> Option<CpuId> {
        self.iter().next()
    }

    /// The CPUs in order of their numbers.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = CpuId> + '_ {
        let cpus = |(index, bits): &(u32, u64)| {
            let (index, bits) = (*index, *bits);
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| CpuId(index * 64 + bit))
        };
        self.words.iter().flat_map(cpus)
    }

    /// The CPUs that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.changed(other, |bits, others| bits & others)
    }

    /// The CPUs that are in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        for (index, bits) in &other.words {
            all.add(*index, *bits);
        }
        all
    }

    /// The CPUs of this set that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.changed(other, |bits, others| bits & !others)
    }

    /// True if every CPU of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.words.iter().all(|(index, bits)| bits & !other.bits(*index) == 0)
    }
}

/// The word and the bit of a CPU.
fn place(cpu: CpuId) -> (u32, u64) {
    (cpu.0 / 64, 1 << (cpu.0 % 64))
}

impl PartialOrd for CpuSet {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for CpuSet {
    /// By the numbers of the CPUs, the smallest first.
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> Self {
        let mut set = Self::new();
        for cpu in cpus {
            set.insert(cpu);
        }
        set
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
        let mut cpus = self.iter().map(|cpu| cpu.0).peekable();
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if_eq(&last.saturating_add(1)) {
                last = next;
            }
            let separator = if text.is_empty() { "" } else { "," };
            // A String takes everything.
            let _ = if first == last {
                write!(text, "{separator}{first}")
            } else {
                write!(text, "{separator}{first}-{last}")
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
    fn sets_are_what_sets_of_numbers_are() {
        use std::collections::BTreeSet;
        let mut state = 1_u64;
        let mut random = |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            u32::try_from(state >> 33).unwrap_or(0) % below
        };
        for _ in 0..200 {
            let mut numbers = || -> BTreeSet<CpuId> {
                let (count, below) = (random(12), [4, 64, 200][random(3) as usize]);
                (0..count).map(|_| CpuId(random(below))).collect()
            };
            let (a, b) = (numbers(), numbers());
            let set = |numbers: &BTreeSet<CpuId>| numbers.iter().copied().collect::<CpuSet>();
            let (x, y) = (set(&a), set(&b));
            assert_eq!(x.iter().collect::<BTreeSet<_>>(), a);
            assert_eq!(x.iter().rev().collect::<Vec<_>>(), a.iter().rev().copied().collect::<Vec<_>>());
            assert_eq!((x.len(), x.is_empty(), x.first()), (a.len(), a.is_empty(), a.first().copied()));
            assert_eq!(x.union(&y), set(&a.union(&b).copied().collect()));
            assert_eq!(x.intersection(&y), set(&a.intersection(&b).copied().collect()));
            assert_eq!(x.difference(&y), set(&a.difference(&b).copied().collect()));
            assert_eq!((x.is_subset(&y), x == y, x.cmp(&y)), (a.is_subset(&b), a == b, a.cmp(&b)));
            assert_eq!(CpuSet::from_list(&x.to_string()), Ok(x));
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
