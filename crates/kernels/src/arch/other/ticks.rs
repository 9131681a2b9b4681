//! No counter is read on this architecture: there is no value of these types but a name.

/// A way to read the counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TickRead(&'static str);

/// A read that this CPU can execute: none.
#[derive(Debug, Clone, Copy)]
pub enum TickLoop {}

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

    /// There is no loop.
    pub fn available(self) -> Option<TickLoop> {
        None
    }
}

impl TickLoop {
    /// The way this loop reads.
    pub const fn read(&self) -> TickRead {
        match *self {}
    }

    /// Reads `count` times.
    pub fn read_many(&self, _count: u64) -> u64 {
        match *self {}
    }

    /// Reads once.
    pub fn read_once(&self) -> u64 {
        match *self {}
    }
}
