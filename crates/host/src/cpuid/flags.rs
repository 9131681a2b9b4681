//! Feature flags of a CPUID dump under the names of /proc/cpuinfo, as far as sidestep uses them.
//!
//! Sources: Intel SDM vol. 2A and AMD64 APM vol. 3, CPUID leaves 1, 7, 8000_0001h, 8000_0007h.

use raw_cpuid::CpuIdResult;

use super::Leaves;

/// The register of an answer that holds a flag.
#[derive(Debug, Clone, Copy)]
enum Register {
    Ebx,
    Ecx,
    Edx,
}
use Register::{Ebx, Ecx, Edx};

/// Leaf, register, and its bits with their names.
const FLAGS: [(u32, Register, &str); 6] = [
    (1, Edx, "0 fpu 3 pse 4 tsc 5 msr 6 pae 8 cx8 9 apic 15 cmov 19 clflush 23 mmx 25 sse 26 sse2 28 ht"),
    (
        1,
        Ecx,
        "0 pni 1 pclmulqdq 3 monitor 9 ssse3 12 fma 13 cx16 17 pcid 19 sse4_1 20 sse4_2 21 x2apic 22 \
        movbe 23 popcnt 24 tsc_deadline_timer 25 aes 26 xsave 28 avx 29 f16c 30 rdrand 31 hypervisor",
    ),
    (
        7,
        Ebx,
        "1 tsc_adjust 3 bmi1 4 hle 5 avx2 8 bmi2 9 erms 10 invpcid 11 rtm 16 avx512f 17 avx512dq 18 \
        rdseed 19 adx 23 clflushopt 24 clwb 28 avx512cd 29 sha_ni 30 avx512bw 31 avx512vl",
    ),
    (0x8000_0001, Ecx, "0 lahf_lm 2 svm 5 abm 6 sse4a 16 fma4 22 topoext 29 mwaitx"),
    (0x8000_0001, Edx, "20 nx 26 pdpe1gb 27 rdtscp 29 lm"),
    (0x8000_0007, Edx, "8 nonstop_tsc"),
];

/// The rows one by one: leaf, register, bit, name.
fn rows() -> impl Iterator<Item = (u32, Register, u32, &'static str)> {
    FLAGS.iter().flat_map(|&(leaf, register, bits)| {
        let words: Vec<&str> = bits.split_whitespace().collect();
        let pairs: Vec<_> = words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        pairs
            .into_iter()
            .map(move |(bit, name)| (leaf, register, bit.parse().expect("a test reads the table"), name))
    })
}

/// The flags that are set, sorted.
pub(super) fn read(leaves: &Leaves) -> Vec<String> {
    let is_set = |&(leaf, register, bit, _): &(u32, Register, u32, &str)| {
        leaves.get(leaf, 0).is_some_and(|answer| pick(&answer, register) >> bit & 1 == 1)
    };
    let mut flags: Vec<String> = rows().filter(is_set).map(|(.., name)| name.to_owned()).collect();
    flags.sort();
    flags
}

/// Whether the leaves show a flag, set or not.
pub(super) fn shows(leaves: &Leaves, flag: &str) -> bool {
    rows().any(|(leaf, .., name)| name == flag && leaves.get(leaf, 0).is_some())
}

fn pick(answer: &CpuIdResult, register: Register) -> u32 {
    match register {
        Ebx => answer.ebx,
        Ecx => answer.ecx,
        Edx => answer.edx,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_flag_has_its_bit_once() {
        let rows: Vec<_> = super::rows().collect();
        let names: std::collections::BTreeSet<_> = rows.iter().map(|row| row.3).collect();
        assert_eq!((rows.len(), names.len()), (62, 62));
        assert!(rows.iter().all(|row| row.2 < 32) && names.contains("nonstop_tsc"));
    }
}
