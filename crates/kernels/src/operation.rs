//! What a bandwidth kernel does to its arrays.

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
}
