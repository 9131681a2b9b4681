//! No counter is read on this architecture: a read has a name alone.

use crate::arch::With;

/// A way to read the counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TickRead(&'static str);

impl TickRead {
    /// None.
    pub const ALL: [Self; 0] = [];
    /// The bare counter.
    pub const BARE: Self = Self("counter");
    /// The counter behind a fence.
    pub const FENCED: Self = Self("fenced_counter");
    /// The ordered read that stands for the counter beside other clocks.
    pub const USUAL: Self = Self::FENCED;
    /// A read that is ordered without a fence.
    pub const UNFENCED: Self = Self::FENCED;

    /// The stable name.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// Whether the read waits for earlier loads.
    pub const fn is_ordered(self) -> bool {
        false
    }

    /// Never.
    pub(crate) fn is_here(self) -> bool {
        false
    }

    /// Never called.
    pub(crate) fn with<R>(self, with: impl With<R>) -> R {
        with.read(|| 0)
    }
}
