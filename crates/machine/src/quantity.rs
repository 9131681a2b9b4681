//! Units as types: bytes, nanoseconds, ticks, hertz, and the numbers Linux gives CPUs and nodes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A size or an amount of traffic in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// One KiB, 1024 bytes.
    pub const KIB: Bytes = Bytes(1 << 10);
    /// One MiB, 1024 KiB.
    pub const MIB: Bytes = Bytes(1 << 20);
    /// One GiB, 1024 MiB.
    pub const GIB: Bytes = Bytes(1 << 30);
}

impl fmt::Display for Bytes {
    /// Binary units, as caches and pages are named: `4 KiB`, `1.5 MiB`, `35.75 MiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            0..1024 => return f.pad(&format!("{} B", self.0)),
            1024..0x10_0000 => (Self::KIB, "KiB"),
            0x10_0000..0x4000_0000 => (Self::MIB, "MiB"),
            _ => (Self::GIB, "GiB"),
        };
        let number = format!("{:.2}", self.0 as f64 / unit.0 as f64);
        let number = number.trim_end_matches('0').trim_end_matches('.');
        f.pad(&format!("{number} {name}"))
    }
}

/// A frequency in hertz.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Hertz(pub f64);

/// The number Linux gives a logical CPU (`/sys/devices/system/cpu/cpuN`); the numbers may have gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct CpuId(pub u32);

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The number Linux gives a NUMA node (`/sys/devices/system/node/nodeN`); the numbers may have gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct NodeId(pub u32);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;

    #[test]
    fn sizes_print_in_the_unit_people_use() {
        for (bytes, expected) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (4096, "4 KiB"),
            (32 << 10, "32 KiB"),
            (3 << 19, "1.5 MiB"),
            (37_486_592, "35.75 MiB"),
            (1 << 30, "1 GiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), expected);
        }
    }
}
