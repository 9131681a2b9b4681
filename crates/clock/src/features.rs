//! What CPUID says of the counter and of the instructions that read it.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__cpuid_count, CpuidResult};
#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;

/// What a CPU has; nothing where it is no x86.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Features {
    /// RDTSCP: CPUID Fn8000_0001, EDX bit 27. AMD64 APM vol. 3, 24594.
    pub(crate) has_rdtscp: bool,
    /// RDPID: CPUID leaf 7, ECX bit 22. Intel SDM vol. 2A, CPUID.
    pub(crate) has_rdpid: bool,
    /// The counter keeps its rate in all P- and C-states: CPUID Fn8000_0007, EDX bit 8. AMD64 APM vol. 3, 24594.
    pub(crate) is_invariant: bool,
    /// LFENCE is known to wait for all earlier instructions: on AMD only where CPUID Fn8000_0021, EAX bit 2 says so. AMD64 APM
    /// vol. 3, 24594.
    pub(crate) lfence_waits: bool,
}

/// What a leaf says that is not there.
#[cfg(target_arch = "x86_64")]
const NOTHING: CpuidResult = CpuidResult { eax: 0, ebx: 0, ecx: 0, edx: 0 };

impl Features {
    /// Those of this machine; found once.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn of_this_machine() -> Self {
        static FEATURES: OnceLock<Features> = OnceLock::new();
        *FEATURES.get_or_init(|| Self::of(|number| __cpuid_count(number, 0)))
    }

    /// None of them are known of another CPU.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline]
    pub(crate) fn of_this_machine() -> Self {
        Self::default()
    }

    /// What the leaves say, each asked for with subleaf 0. A leaf beyond the highest is not asked for: Intel's CPUs answer
    /// with another one.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn of(cpuid: impl Fn(u32) -> CpuidResult) -> Self {
        /// The highest of the extended leaves is in EAX of the first.
        const EXTENDED: u32 = 0x8000_0000;
        let basic = cpuid(0);
        let highest_extended = cpuid(EXTENDED).eax;
        let leaf = |number: u32| {
            let highest = if number < EXTENDED { basic.eax } else { highest_extended };
            if number <= highest { cpuid(number) } else { NOTHING }
        };
        let vendor = [basic.ebx, basic.edx, basic.ecx].map(u32::to_le_bytes);
        let is_amd = matches!(vendor.as_flattened(), b"AuthenticAMD" | b"HygonGenuine");
        Self {
            has_rdtscp: leaf(0x8000_0001).edx & 1 << 27 != 0,
            has_rdpid: leaf(7).ecx & 1 << 22 != 0,
            is_invariant: leaf(0x8000_0007).edx & 1 << 8 != 0,
            lfence_waits: !is_amd || leaf(0x8000_0021).eax & 1 << 2 != 0,
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    const NONE: Features =
        Features { has_rdtscp: false, has_rdpid: false, is_invariant: false, lfence_waits: false };

    /// A CPU with these leaves. Those between are empty; those beyond answer with all bits set.
    fn features(vendor: &[u8; 12], leaves: &[(u32, CpuidResult)]) -> Features {
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| vendor[at + byte]));
        let highest = |from: u32, to: u32| {
            leaves.iter().map(|(number, _)| *number).filter(|number| (from..to).contains(number)).max()
        };
        let basic = highest(0, 0x8000_0000).unwrap_or(1);
        let extended = highest(0x8000_0000, u32::MAX).unwrap_or(0);
        Features::of(|number| match number {
            0 => CpuidResult { eax: basic, ebx: word(0), edx: word(4), ecx: word(8) },
            0x8000_0000 => CpuidResult { eax: extended, ..NOTHING },
            _ if number > if number < 0x8000_0000 { basic } else { extended } => {
                CpuidResult { eax: !0, ebx: !0, ecx: !0, edx: !0 }
            }
            _ => leaves.iter().find(|(known, _)| *known == number).map_or(NOTHING, |(_, leaf)| *leaf),
        })
    }

    #[test]
    fn leaves_say_what_a_cpu_has_and_leaves_beyond_the_highest_say_nothing() {
        let eax = |bit: u32| CpuidResult { eax: 1 << bit, ..NOTHING };
        let ecx = |bit: u32| CpuidResult { ecx: 1 << bit, ..NOTHING };
        let edx = |bit: u32| CpuidResult { edx: 1 << bit, ..NOTHING };
        let all = [(7, ecx(22)), (0x8000_0001, edx(27)), (0x8000_0007, edx(8)), (0x8000_0021, eax(2))];
        let every = Features { has_rdtscp: true, has_rdpid: true, is_invariant: true, lfence_waits: true };
        for (vendor, leaves, expected) in [
            (b"AuthenticAMD", &all[..], every),
            // A counter that follows the P-states, with RDTSCP and without.
            (b"AuthenticAMD", &[all[1], (0x8000_0008, edx(0))], Features { has_rdtscp: true, ..NONE }),
            (b"AuthenticAMD", &[(0x8000_0008, edx(0))], NONE),
            // An invariant counter behind a hypervisor that hides RDTSCP.
            (b"AuthenticAMD", &[all[2]], Features { is_invariant: true, ..NONE }),
            // Leaf 8000_0021h is there, and does not vouch for LFENCE.
            (b"HygonGenuine", &[(0x8000_0021, eax(9))], NONE),
            (b"GenuineIntel", &[], Features { lfence_waits: true, ..NONE }),
        ] {
            assert_eq!(features(vendor, leaves), expected, "{leaves:?}");
        }
    }
}
