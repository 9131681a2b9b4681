//! A slot: where a CPU finds how its ticks become nanoseconds, in one cache line that a writer never locks.
//!
//! ```text
//! slot     = sequence, two spans, two segments {tick0, ns0, rate}      64 bytes
//! segment  : ns = ns0 + (tick - tick0) * rate / 2^56    for  tick0 <= tick < tick0 + span
//! read     : newest = segments[sequence & 1]; tick before it: the other one; retry if the sequence changed meanwhile
//! publish  : overwrite the older segment, then count the sequence up
//! ```
//! A plain sequence lock makes readers wait while its writer is off its CPU. Here the writer only ever touches the segment
//! that no reader is sent to, so a reader repeats only if a publication fell into its loads, and never waits. A segment that starts in
//! the future takes over at a tick, not at the moment of the store: readers on all CPUs change over together.
//!
//! Every segment ends. A reader past the end gets no time from it, so a writer that is late, stopped, or was left
//! behind by a fork makes reads slower, never wrong; the same catches a counter that jumped.
//!
//! This file needs nothing but `core`, and compiles against the model checker's atomics as well: it takes them from
//! its parent module. Its tests stand in `tests/slot`, where both kinds of atomics are at hand.

use super::atomics::{AtomicU32, AtomicU64, Ordering, fence};

/// Binary places of a rate. One tick may last up to 256 ns, which is a counter of 4 MHz; the last place is 1.4e-17 ns.
pub const RATE_SHIFT: u32 = 56;

/// Ticks in one unit of a span: 2^10.
pub const SPAN_SHIFT: u32 = 10;

/// The longest span that a slot keeps: a unit less than 2^32 ticks, 1.65 s at 2.6 GHz. Within it the lower halves of two ticks
/// tell how far they are apart, and a reader need not wait until the counter's two halves are put together.
pub const SPAN_MAX: u32 = (1 << (u32::BITS - SPAN_SHIFT)) - 1;

/// A rate times two to this, or ticks: the upper half of its product with the other is nanoseconds.
const SCALE_SHIFT: u32 = u64::BITS - RATE_SHIFT;

/// The upper half of a product, which comes without a shift across two registers.
#[inline(always)]
fn upper_half(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> u64::BITS) as u64
}

/// A straight piece of the way from ticks to nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The first tick it holds for.
    pub tick0: u64,
    /// Nanoseconds at that tick.
    pub ns0: u64,
    /// Nanoseconds per tick, times 2^56.
    pub rate: u64,
    /// How long it holds, in units of 2^10 ticks. None at all is 0. A slot cuts it to [`SPAN_MAX`].
    pub span: u32,
}

impl Segment {
    /// Nanoseconds at a tick at or after the first, whether it still holds there or not.
    #[inline(always)]
    pub fn at(&self, tick: u64) -> u64 {
        // Only times more than 2^56 ticks away, a year at 2.3 GHz, are lost by the shift.
        let ticks = tick.wrapping_sub(self.tick0) << SCALE_SHIFT;
        self.ns0.wrapping_add(upper_half(ticks, self.rate))
    }

    /// The tick at which it stops to hold.
    pub fn end_tick(&self) -> u64 {
        self.tick0.wrapping_add(u64::from(self.span) << SPAN_SHIFT)
    }

    /// Nanoseconds at its end: nothing it gave is later.
    pub fn end_ns(&self) -> u64 {
        self.at(self.end_tick())
    }

    #[inline(always)]
    fn place(&self, tick: u64) -> Place {
        let ticks = tick.wrapping_sub(self.tick0);
        if ticks >> SPAN_SHIFT < u64::from(self.span) {
            Place::Inside(self.at(tick))
        } else if ticks >> 63 != 0 {
            Place::Before
        } else if self.span == 0 {
            Place::Closed
        } else {
            Place::After { end_ns: self.end_ns() }
        }
    }
}

/// Where a tick lies in what a slot knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It is known: nanoseconds.
    Inside(u64),
    /// Both segments begin later.
    Before,
    /// The segment for it is over; nothing it gave is later than `end_ns`.
    After {
        /// Nanoseconds at the end of that segment.
        end_ns: u64,
    },
    /// The slot was closed, or never opened.
    Closed,
}

/// In the place of a span that is kept in ticks, whose lower places are free: a tick lasts a nanosecond or more, and the rate
/// is kept as it is.
const LONG_TICK: u32 = 1;

/// Ticks to nanoseconds for one CPU. One writer at a time, which the caller sees to; any number of readers.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Slot {
    sequence: AtomicU32,
    /// In ticks, with the mark.
    spans: [AtomicU32; 2],
    /// In halves, as the counter comes.
    tick0_lower: [AtomicU32; 2],
    tick0_upper: [AtomicU32; 2],
    ns0: [AtomicU64; 2],
    /// Times 2^8, where that fits: shifting the ticks instead would come after the counter, and so on top of it.
    scaled_rates: [AtomicU64; 2],
}

impl Slot {
    /// A closed slot.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nanoseconds at a tick of the CPU that this slot belongs to, if the newest segment holds there: the fast path.
    #[inline(always)]
    pub fn read(&self, tick: u64) -> Option<u64> {
        let sequence = self.sequence.load(Ordering::Acquire);
        let index = (sequence & 1) as usize;
        let tick0_lower = self.tick0_lower[index].load(Ordering::Relaxed);
        let tick0_upper = self.tick0_upper[index].load(Ordering::Relaxed);
        let ns0 = self.ns0[index].load(Ordering::Relaxed);
        let scaled_rate = self.scaled_rates[index].load(Ordering::Relaxed);
        let span = self.spans[index].load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        if self.sequence.load(Ordering::Relaxed) != sequence {
            return self.read_again(tick);
        }
        // The counter comes in halves. The multiplication waits for the lower one alone: as no span is longer than SPAN_MAX,
        // the upper one only says whether the segment holds.
        let (lower, borrows) = (tick as u32).overflowing_sub(tick0_lower);
        let upper = ((tick >> u32::BITS) as u32).wrapping_sub(tick0_upper).wrapping_sub(borrows.into());
        if upper != 0 || lower >= span {
            return None;
        }
        if span & LONG_TICK != 0 {
            return self.read_again(tick);
        }
        // Last: what stands behind it retires after it, and a next read that is ordered waits for that.
        Some(ns0.wrapping_add(upper_half(lower.into(), scaled_rate)))
    }

    /// The same by whole segments: where something was published meanwhile, or ticks are long.
    #[cold]
    #[inline(never)]
    fn read_again(&self, tick: u64) -> Option<u64> {
        match self.newest().place(tick) {
            Place::Inside(ns) => Some(ns),
            _ => None,
        }
    }

    /// Where a tick lies, in the newest segment or the one before it.
    pub fn place(&self, tick: u64) -> Place {
        let [newest, older] = self.both();
        match newest.place(tick) {
            Place::Before => older.place(tick),
            place => place,
        }
    }

    /// The segment published last, and the one before it.
    pub fn both(&self) -> [Segment; 2] {
        loop {
            let sequence = self.sequence.load(Ordering::Acquire);
            let segments = [self.load(sequence), self.load(sequence.wrapping_add(1))];
            fence(Ordering::Acquire);
            if self.sequence.load(Ordering::Relaxed) == sequence {
                return segments;
            }
        }
    }

    fn load(&self, sequence: u32) -> Segment {
        let index = (sequence & 1) as usize;
        let upper = u64::from(self.tick0_upper[index].load(Ordering::Relaxed));
        let scaled_rate = self.scaled_rates[index].load(Ordering::Relaxed);
        let span = self.spans[index].load(Ordering::Relaxed);
        Segment {
            tick0: upper << u32::BITS | u64::from(self.tick0_lower[index].load(Ordering::Relaxed)),
            ns0: self.ns0[index].load(Ordering::Relaxed),
            rate: if span & LONG_TICK == 0 { scaled_rate >> SCALE_SHIFT } else { scaled_rate },
            span: span >> SPAN_SHIFT,
        }
    }

    /// Puts a segment, at most [`SPAN_MAX`] long, in place of the older one. Only one thread may publish or close at a time.
    pub fn publish(&self, segment: &Segment) {
        let next = self.sequence.load(Ordering::Relaxed).wrapping_add(1);
        let index = (next & 1) as usize;
        let is_long = segment.rate >> RATE_SHIFT != 0;
        let (rate, mark) = if is_long { (segment.rate, LONG_TICK) } else { (segment.rate << SCALE_SHIFT, 0) };
        // Who sees one of the stores below sees at least the sequence stored before them, and repeats.
        fence(Ordering::Release);
        self.spans[index].store(segment.span.min(SPAN_MAX) << SPAN_SHIFT | mark, Ordering::Relaxed);
        self.tick0_lower[index].store(segment.tick0 as u32, Ordering::Relaxed);
        self.tick0_upper[index].store((segment.tick0 >> u32::BITS) as u32, Ordering::Relaxed);
        self.ns0[index].store(segment.ns0, Ordering::Relaxed);
        self.scaled_rates[index].store(rate, Ordering::Relaxed);
        self.sequence.store(next, Ordering::Release);
    }

    /// The segment published last.
    pub fn newest(&self) -> Segment {
        loop {
            let sequence = self.sequence.load(Ordering::Acquire);
            let segment = self.load(sequence);
            fence(Ordering::Acquire);
            if self.sequence.load(Ordering::Relaxed) == sequence {
                return segment;
            }
        }
    }

    /// Nanoseconds that nothing read here so far exceeds; 0 for a closed slot.
    pub fn end_ns(&self) -> u64 {
        let segments = self.both();
        segments.iter().filter(|segment| segment.span != 0).map(Segment::end_ns).max().unwrap_or(0)
    }

    /// From now on no tick is known, until something is published.
    pub fn close(&self) {
        for span in &self.spans {
            // The mark belongs to the rate, which stays.
            span.store(span.load(Ordering::Relaxed) & LONG_TICK, Ordering::Release);
        }
    }
}
