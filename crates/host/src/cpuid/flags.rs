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

/// Leaf, register, bit, name.
const FLAGS: [(u32, Register, u32, &str); 62] = [
    (1, Edx, 0, "fpu"),
    (1, Edx, 3, "pse"),
    (1, Edx, 4, "tsc"),
    (1, Edx, 5, "msr"),
    (1, Edx, 6, "pae"),
    (1, Edx, 8, "cx8"),
    (1, Edx, 9, "apic"),
    (1, Edx, 15, "cmov"),
    (1, Edx, 19, "clflush"),
    (1, Edx, 23, "mmx"),
    (1, Edx, 25, "sse"),
    (1, Edx, 26, "sse2"),
    (1, Edx, 28, "ht"),
    (1, Ecx, 0, "pni"),
    (1, Ecx, 1, "pclmulqdq"),
    (1, Ecx, 3, "monitor"),
    (1, Ecx, 9, "ssse3"),
    (1, Ecx, 12, "fma"),
    (1, Ecx, 13, "cx16"),
    (1, Ecx, 17, "pcid"),
    (1, Ecx, 19, "sse4_1"),
    (1, Ecx, 20, "sse4_2"),
    (1, Ecx, 21, "x2apic"),
    (1, Ecx, 22, "movbe"),
    (1, Ecx, 23, "popcnt"),
    (1, Ecx, 24, "tsc_deadline_timer"),
    (1, Ecx, 25, "aes"),
    (1, Ecx, 26, "xsave"),
    (1, Ecx, 28, "avx"),
    (1, Ecx, 29, "f16c"),
    (1, Ecx, 30, "rdrand"),
    (1, Ecx, 31, "hypervisor"),
    (7, Ebx, 1, "tsc_adjust"),
    (7, Ebx, 3, "bmi1"),
    (7, Ebx, 4, "hle"),
    (7, Ebx, 5, "avx2"),
    (7, Ebx, 8, "bmi2"),
    (7, Ebx, 9, "erms"),
    (7, Ebx, 10, "invpcid"),
    (7, Ebx, 11, "rtm"),
    (7, Ebx, 16, "avx512f"),
    (7, Ebx, 17, "avx512dq"),
    (7, Ebx, 18, "rdseed"),
    (7, Ebx, 19, "adx"),
    (7, Ebx, 23, "clflushopt"),
    (7, Ebx, 24, "clwb"),
    (7, Ebx, 28, "avx512cd"),
    (7, Ebx, 29, "sha_ni"),
    (7, Ebx, 30, "avx512bw"),
    (7, Ebx, 31, "avx512vl"),
    (0x8000_0001, Ecx, 0, "lahf_lm"),
    (0x8000_0001, Ecx, 2, "svm"),
    (0x8000_0001, Ecx, 5, "abm"),
    (0x8000_0001, Ecx, 6, "sse4a"),
    (0x8000_0001, Ecx, 16, "fma4"),
    (0x8000_0001, Ecx, 22, "topoext"),
    (0x8000_0001, Ecx, 29, "mwaitx"),
    (0x8000_0001, Edx, 20, "nx"),
    (0x8000_0001, Edx, 26, "pdpe1gb"),
    (0x8000_0001, Edx, 27, "rdtscp"),
    (0x8000_0001, Edx, 29, "lm"),
    (0x8000_0007, Edx, 8, "nonstop_tsc"),
];

/// The flags that are set, sorted.
pub(super) fn read(leaves: &Leaves) -> Vec<String> {
    let is_set = |&(leaf, register, bit, _): &(u32, Register, u32, &str)| {
        leaves.get(leaf, 0).is_some_and(|answer| pick(&answer, register) >> bit & 1 == 1)
    };
    let mut flags: Vec<String> =
        FLAGS.iter().filter(|row| is_set(row)).map(|(_, _, _, name)| (*name).to_owned()).collect();
    flags.sort();
    flags
}

/// Whether the leaves show a flag, set or not.
pub(super) fn shows(leaves: &Leaves, flag: &str) -> bool {
    FLAGS
        .iter()
        .any(|(leaf, _, _, name)| *name == flag && leaves.get(*leaf, 0).is_some() && leaves.was_asked(*leaf))
}

fn pick(answer: &CpuIdResult, register: Register) -> u32 {
    match register {
        Ebx => answer.ebx,
        Ecx => answer.ecx,
        Edx => answer.edx,
    }
}
