//! CPUID of the CPU that asks, as the lines of a dump: `mask eax ebx ecx edx => eax ebx ecx edx`.

use raw_cpuid::{CpuIdReader, CpuIdResult};

/// Leaves with subleaves, and how many are asked at most. Intel SDM vol. 2A and AMD64 APM vol. 3, CPUID.
const WITH_SUBLEAVES: [(u32, u32); 14] = [
    (0x4, 16),
    (0x7, 4),
    (0xb, 8),
    (0xd, 64),
    (0xf, 2),
    (0x10, 6),
    (0x12, 8),
    (0x14, 2),
    (0x17, 4),
    (0x18, 16),
    (0x1f, 8),
    (0x8000_001d, 16),
    (0x8000_0020, 4),
    (0x8000_0026, 8),
];
/// Ranges of leaves: basic, of the hypervisor, extended. Each begins with its highest leaf in EAX.
const RANGES: [u32; 3] = [0, 0x4000_0000, 0x8000_0000];
/// No range is longer than this.
const LEAVES_MAX: u32 = 0x80;
/// The processor's serial number: never asked for.
const SERIAL_NUMBER: u32 = 3;

/// The lines of one CPU.
pub(crate) fn lines(reader: &impl CpuIdReader) -> String {
    let mut text = String::from("# mask in_eax in_ebx in_ecx in_edx => eax ebx ecx edx\n");
    for first in RANGES {
        let highest = reader.cpuid2(first, 0).eax;
        if highest < first || highest - first > LEAVES_MAX {
            continue;
        }
        for leaf in (first..=highest).filter(|leaf| *leaf != SERIAL_NUMBER) {
            match WITH_SUBLEAVES.iter().find(|(with, _)| *with == leaf) {
                None => text.push_str(&line(1, leaf, 0, reader.cpuid2(leaf, 0))),
                Some((_, count)) => {
                    for subleaf in 0..*count {
                        let answer = reader.cpuid2(leaf, subleaf);
                        let is_empty = [answer.eax, answer.ebx, answer.ecx, answer.edx] == [0; 4];
                        if subleaf == 0 || !is_empty {
                            text.push_str(&line(5, leaf, subleaf, answer));
                        }
                    }
                }
            }
        }
    }
    text
}

fn line(mask: u32, leaf: u32, subleaf: u32, answer: CpuIdResult) -> String {
    let CpuIdResult { eax, ebx, ecx, edx } = answer;
    format!("{mask:x} {leaf:x} 0 {subleaf:x} 0 => {eax:x} {ebx:x} {ecx:x} {edx:x}\n")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Leaves, parse};
    use super::*;

    #[test]
    fn a_dump_of_a_dump_says_the_same() {
        let first = "1 0 0 0 0 => 4 756e6547 6c65746e 49656e69\n1 1 0 0 0 => 906ed 1 2 3\n5 4 0 0 0 => 121 1 3f 0\n\
                     5 4 0 1 0 => 122 1 3f 0\n1 80000000 0 0 0 => 80000001 0 0 0\n1 80000001 0 0 0 => 0 0 21 2c\n";
        let leaves = Leaves::Recorded(Arc::new(parse(first)));
        let again = Leaves::Recorded(Arc::new(parse(&lines(&leaves))));
        for (leaf, subleaf) in [(0, 0), (1, 0), (4, 0), (4, 1), (4, 2), (0x8000_0001, 0)] {
            assert_eq!(leaves.cpuid2(leaf, subleaf), again.cpuid2(leaf, subleaf), "{leaf:x}.{subleaf}");
        }
        assert!(!lines(&leaves).contains("\n1 3 "), "no serial number");
    }
}
