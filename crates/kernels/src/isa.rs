//! Instruction sets that a kernel can be written for, and whether this CPU has them.

use core::fmt;

named! {
    /// The instructions a kernel uses for its data; chosen at run time, never by a build flag.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Isa {
        /// 64-bit integer registers: the "ALU" figure.
        ScalarU64 = "scalar_u64",
        /// One double at a time in a floating-point register: the "FPU" figure.
        ScalarF64 = "scalar_f64",
        /// 128-bit SSE2, part of every x86-64.
        Sse2 = "sse2",
        /// 256-bit AVX2.
        Avx2 = "avx2",
        /// 512-bit AVX-512F.
        Avx512 = "avx512",
        /// 128-bit Advanced SIMD, part of every arm64 Linux.
        Neon = "neon",
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_instruction_set() {
        for isa in Isa::ALL {
            assert_eq!(Isa::from_name(isa.name()), Some(isa));
        }
        assert_eq!(Isa::from_name("AVX2"), None);
    }

    #[test]
    fn the_widest_instruction_set_is_present() {
        assert!(Isa::widest().is_present());
        assert!(Isa::ScalarU64.is_present());
    }
}
