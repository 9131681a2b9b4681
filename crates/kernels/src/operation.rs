//! What a bandwidth kernel does to its arrays, and how its traffic is counted.

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

/// Traffic of one element, that is of 8 bytes of each array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accounting {
    /// Elements loaded.
    pub loads: u32,
    /// Elements stored.
    pub stores: u32,
    /// Floating-point operations; 0 for kernels that work on integers.
    pub flops: u32,
    /// Bytes as STREAM counts them: loads and stores of the program, 8 bytes each.
    pub counted_bytes: u32,
    /// Bytes on the bus once the arrays exceed the caches: counted bytes, plus one read per plain store, since
    /// the line is fetched for ownership before it is written.
    pub bus_bytes: u32,
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

    /// Arithmetic operations per element, integer or floating-point.
    pub(crate) const fn arithmetic(self) -> u32 {
        match self {
            Self::Write | Self::Copy => 0,
            Self::Read | Self::Scale | Self::Add => 1,
            Self::Triad => 2,
        }
    }
}

impl Accounting {
    /// The accounting of an operation with a kind of store; `on_floats` says whether its arithmetic is floating-point.
    pub const fn of(operation: Operation, store: Store, on_floats: bool) -> Self {
        let (loads, stores) = match operation {
            Operation::Read => (1, 0),
            Operation::Write => (0, 1),
            Operation::Copy | Operation::Scale => (1, 1),
            Operation::Add | Operation::Triad => (2, 1),
        };
        let counted_bytes = (loads + stores) * ELEMENT_BYTES as u32;
        let ownership_bytes = match store {
            Store::Plain => stores * ELEMENT_BYTES as u32,
            Store::None | Store::NonTemporal => 0,
        };
        let flops = if on_floats { operation.arithmetic() } else { 0 };
        Self { loads, stores, flops, counted_bytes, bus_bytes: counted_bytes + ownership_bytes }
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
    fn streams_four_are_counted_as_stream_counts_them() {
        // STREAM 5.10, array `bytes[]`: 2, 2, 3, 3 words per element.
        let words =
            [(Operation::Copy, 16), (Operation::Scale, 16), (Operation::Add, 24), (Operation::Triad, 24)];
        for (operation, counted_bytes) in words {
            let plain = Accounting::of(operation, Store::Plain, true);
            let non_temporal = Accounting::of(operation, Store::NonTemporal, true);
            assert_eq!(plain.counted_bytes, counted_bytes);
            assert_eq!(plain.bus_bytes, counted_bytes + 8);
            assert_eq!(non_temporal.counted_bytes, counted_bytes);
            assert_eq!(non_temporal.bus_bytes, counted_bytes);
        }
    }

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
