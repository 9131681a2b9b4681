//! What a bandwidth kernel does to its arrays, and the instruction sets that a kernel can be written for.

use core::fmt;

/// Bytes of one element, a `u64` or an `f64`.
pub const ELEMENT_BYTES: usize = 8;

named! {
    /// One sweep over the arrays `a`, `b` and `c`; `s` is the constant 3, as in STREAM.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Operation {
        /// Loads all of `a`.
        Read = "read",
        /// `a[i] = s`.
        Write = "write",
        /// `a[i] = b[i]`.
        Copy = "copy",
        /// `a[i] = s * b[i]`.
        Scale = "scale",
        /// `a[i] = b[i] + c[i]`.
        Add = "add",
        /// `a[i] = b[i] + s * c[i]`.
        Triad = "triad",
    }
}

named! {
    /// How a kernel writes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Store {
        /// It does not write.
        None = "none",
        /// Through the caches; a missing line is read first (write-allocate).
        Plain = "plain",
        /// Past the caches by `movnti` or `movntpd`, with an `sfence` at the end of each sweep; on arm64 by `stnp`, with a `dmb ishst`,
        /// where it is a hint that a core may ignore.
        NonTemporal = "non_temporal",
    }
}

impl Operation {
    /// Number of arrays it touches, counted from `a`: 1, 2 or 3.
    pub const fn array_count(self) -> usize {
        match self {
            Self::Read | Self::Write => 1,
            Self::Copy | Self::Scale => 2,
            Self::Add | Self::Triad => 3,
        }
    }

    /// Whether it writes `a`.
    pub const fn stores(self) -> bool {
        !matches!(self, Self::Read)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

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
    fn every_name_leads_back_to_its_value() {
        for operation in Operation::ALL {
            assert_eq!(Operation::from_name(operation.name()), Some(operation));
        }
        for store in Store::ALL {
            assert_eq!(Store::from_name(store.name()), Some(store));
        }
    }

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
