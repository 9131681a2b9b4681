//! Two CPUs tell each other their counters, without a turn: bounds on their offset that assume nothing of the path.
//!
//! ```text
//! each side, until both have enough or the deadline is over:
//!     published = load(line of the other)
//!     now       = ordered read of the own counter
//!     if published is new:  nearest = min(nearest, now - published)
//!     store(own line, fresh read of the own counter)
//! ```
//! A message cannot arrive before it was sent. Let `theta` be what the second CPU's counter shows beyond the first's, as a
//! function of the first's. When the second reads `now` after the first's `published`, its counter had shown
//! `published + theta(published)` before: `theta <= now - published` at the first's tick `published`. When the first
//! reads `now` after the second's `published`: `theta >= published - now` at the first's tick `now`. Both need nothing but
//! that each counter never runs backwards on its own CPU, and both carry the tick of the first counter for which they
//! hold, so that they stay true while the two drift.
//!
//! Each side writes one line of its own. Two loads from the same line in turn see values in the order written, and a side
//! that sees one value twice learns nothing the second time: only fresh ones count. Both sides publish a fresh read, not the one
//! that was compared, since that one is older by the time it is stored.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::monotonic_raw_ns;
use crate::source::CounterSource;

/// Turns between two looks at the kernel's clock: some microseconds.
const TURNS_PER_LOOK: u32 = 64;

/// A look that comes later than this after the last one was not one stretch of work: the thread had lost its CPU, or the
/// hypervisor had taken it. A turn takes 0.05 to 0.5 us, 64 of them at most some 30 us.
const LOST_CPU_NS: u64 = 100_000;

/// A word alone on its pair of cache lines: adjacent-line prefetchers fetch 128-byte pairs (Intel optimisation reference
/// manual, "Data prefetching").
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line<T>(T);

/// Which of the two CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one whose counter is the reference.
    First,
    /// The one whose offset is sought.
    Second,
}

/// When an exchange ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeLimits {
    /// It lasts at least this long after both sides have come.
    pub least_ns: u64,
    /// It ends after this long in any case; a side also waits no longer for the other to come.
    pub deadline_ns: u64,
    /// Fresh values that a side has to see.
    pub fresh_needed: u64,
}

/// Fresh values that both sides must have seen for an exchange to count. Fewer means that the threads hardly ran at
/// the same time, and the bounds are wide by the time slice of the scheduler. Found by experiment: exchanges of 3 ms with less
/// had half-widths above 100 ns.
pub const FRESH_ENOUGH: u64 = 2_000;

impl Default for ExchangeLimits {
    /// 3 ms suffice where both CPUs are free; 10 ms are given where not.
    fn default() -> Self {
        Self { least_ns: 3_000_000, deadline_ns: 10_000_000, fresh_needed: FRESH_ENOUGH }
    }
}

/// What the two threads share during one exchange.
#[derive(Debug, Default)]
pub struct Exchange {
    lines: [Line<AtomicU64>; 2],
    arrived: Line<AtomicUsize>,
    satisfied: [Line<AtomicBool>; 2],
}

/// The nearest that a value published by the other came to the own counter; all in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Nearest {
    /// Own read minus published value.
    gap: i64,
    published: u64,
    own: u64,
}

/// What one side saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SideView {
    nearest: Option<Nearest>,
    /// Values of the other that were new.
    pub fresh: u64,
    /// Own ticks from the first turn to the nearest value.
    pub best_after_ticks: u64,
    /// Time during which both sides demonstrably ran.
    pub overlap_ns: u64,
    /// Time from when both sides had come to the end.
    pub elapsed_ns: u64,
}

/// A bound on the offset, at the tick of the first counter for which it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Tick of the first counter.
    pub at_ticks: u64,
    /// Second counter minus first, in ticks.
    pub offset_ticks: i64,
}

/// What both sides together know about the offset of the second counter against the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchanged {
    /// The offset is at least this.
    pub at_least: Bound,
    /// The offset is at most this.
    pub at_most: Bound,
    /// Fresh values seen by the first and by the second side.
    pub fresh: [u64; 2],
    /// Ticks from the start until the later of the two bounds was as good as it got.
    pub best_after_ticks: u64,
    /// Time during which both ran, in nanoseconds; the smaller of what the two sides say.
    pub overlap_ns: u64,
    /// How long the exchange took, in nanoseconds.
    pub elapsed_ns: u64,
}

impl Exchange {
    /// Lines on which nothing is published yet; good for one exchange.
    pub fn new() -> Self {
        Self::default()
    }

    /// One side of the exchange; the other runs at the same time on another thread. Each thread is pinned to its CPU.
    ///
    /// It spins for at most twice the deadline: once until the other side comes, once together with it.
    pub fn run<S: CounterSource + ?Sized>(
        &self,
        side: Side,
        cpu: u32,
        source: &S,
        limits: &ExchangeLimits,
    ) -> SideView {
        if !self.meet(limits.deadline_ns) {
            return SideView::default();
        }
        let (own, other) = match side {
            Side::First => (0, 1),
            Side::Second => (1, 0),
        };
        let started_ns = monotonic_raw_ns();
        let started_ticks = source.ticks(cpu);
        let mut view = SideView::default();
        let (mut last, mut looked_ns) = (0, started_ns);
        loop {
            let fresh_before = view.fresh;
            for _ in 0..TURNS_PER_LOOK {
                let published = self.lines[other].0.load(Ordering::Acquire);
                let now = source.ordered_ticks(cpu);
                if published != last {
                    last = published;
                    view.fresh += 1;
                    let gap = now.wrapping_sub(published).cast_signed();
                    if view.nearest.is_none_or(|nearest| gap < nearest.gap) {
                        view.nearest = Some(Nearest { gap, published, own: now });
                        view.best_after_ticks = now.wrapping_sub(started_ticks);
                    }
                }
                self.lines[own].0.store(source.ticks(cpu), Ordering::Release);
            }
            let now_ns = monotonic_raw_ns();
            let look_ns = now_ns.saturating_sub(looked_ns);
            if view.fresh > fresh_before && look_ns < LOST_CPU_NS {
                view.overlap_ns += look_ns;
            }
            looked_ns = now_ns;
            view.elapsed_ns = now_ns.saturating_sub(started_ns);
            if view.elapsed_ns >= limits.least_ns && view.fresh >= limits.fresh_needed {
                self.satisfied[own].0.store(true, Ordering::Release);
            }
            let both = self.satisfied.iter().all(|side| side.0.load(Ordering::Acquire));
            if both || view.elapsed_ns >= limits.deadline_ns {
                return view;
            }
        }
    }

    /// Waits for the other side; false if it does not come in time. Who gives up closes the exchange, so that a side that
    /// comes later does not wait.
    fn meet(&self, deadline_ns: u64) -> bool {
        /// More than any two sides make together.
        const CLOSED: usize = 16;
        if self.arrived.0.fetch_add(1, Ordering::AcqRel) >= CLOSED {
            return false;
        }
        let started_ns = monotonic_raw_ns();
        while self.arrived.0.load(Ordering::Acquire) < 2 {
            if monotonic_raw_ns().saturating_sub(started_ns) >= deadline_ns {
                let closed = self.arrived.0.compare_exchange(1, CLOSED, Ordering::AcqRel, Ordering::Acquire);
                return closed.is_err();
            }
            std::hint::spin_loop();
        }
        true
    }
}

impl Exchanged {
    /// Puts the two views together; `None` if either side saw nothing of the other.
    pub fn of(first: &SideView, second: &SideView) -> Option<Self> {
        let (lower, upper) = (first.nearest?, second.nearest?);
        Some(Self {
            at_least: Bound { at_ticks: lower.own, offset_ticks: lower.gap.wrapping_neg() },
            at_most: Bound { at_ticks: upper.published, offset_ticks: upper.gap },
            fresh: [first.fresh, second.fresh],
            best_after_ticks: first.best_after_ticks.max(second.best_after_ticks),
            overlap_ns: first.overlap_ns.min(second.overlap_ns),
            elapsed_ns: first.elapsed_ns.max(second.elapsed_ns),
        })
    }

    /// Whether both sides saw enough to believe that they ran at the same time.
    pub fn is_usable(&self) -> bool {
        self.fresh.iter().all(|&fresh| fresh >= FRESH_ENOUGH)
    }

    /// Width of the causality interval in ticks. Two counters that drift apart quickly can make it negative: its ends hold
    /// at different times.
    pub fn width_ticks(&self) -> i64 {
        self.at_most.offset_ticks.saturating_sub(self.at_least.offset_ticks)
    }

    /// Share of the time during which both sides ran, 0 to 1.
    pub fn overlap_share(&self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { self.overlap_ns as f64 / self.elapsed_ns as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fault, FaultedCounter};

    /// A counter that is the same on all CPUs, whatever the machine: each read is one tick later than all before it.
    #[derive(Debug, Default)]
    struct Turnstile(AtomicU64);

    impl CounterSource for Turnstile {
        fn ordered_ticks(&self, _cpu: u32) -> u64 {
            self.0.fetch_add(1, Ordering::SeqCst) + 1_000_000_000
        }

        fn ticks(&self, cpu: u32) -> u64 {
            self.ordered_ticks(cpu)
        }
    }

    fn exchanged(source: &impl CounterSource) -> Option<Exchanged> {
        let (exchange, limits) =
            (Exchange::new(), ExchangeLimits { least_ns: 0, deadline_ns: 20_000_000_000, fresh_needed: 300 });
        let [first, second] = std::thread::scope(|scope| {
            let second = scope.spawn(|| exchange.run(Side::Second, 1, source, &limits));
            let first = exchange.run(Side::First, 0, source, &limits);
            [first, second.join().expect("a side does not panic")]
        });
        Exchanged::of(&first, &second)
    }

    #[test]
    fn the_true_offset_lies_within_the_bounds() {
        for offset in [0_i64, 5, -5, 1_000_000, -999_999_000] {
            let mut source = FaultedCounter::new(Turnstile::default(), 2);
            source.fault(1, &[Fault::Offset { ticks: offset }]);
            let exchanged = exchanged(&source).expect("both sides saw each other");
            assert!(exchanged.at_least.offset_ticks <= offset, "{exchanged:?}");
            assert!(exchanged.at_most.offset_ticks >= offset, "{exchanged:?}");
            assert!(exchanged.fresh.iter().all(|&fresh| fresh >= 300), "{exchanged:?}");
        }
    }

    #[test]
    fn the_bounds_hold_at_their_ticks_while_the_counters_drift_apart() {
        // At a thousandth the offset grows by one each thousand reads: the ends of the interval differ by more than its width.
        let mut source = FaultedCounter::new(Turnstile::default(), 2);
        source.fault(1, &[Fault::Rate { ppb: 1_000_000 }]);
        let exchanged = exchanged(&source).expect("both sides saw each other");
        let theta = |at_ticks: u64| source.schedules[1].read(at_ticks).wrapping_sub(at_ticks).cast_signed();
        assert!(theta(exchanged.at_least.at_ticks) >= exchanged.at_least.offset_ticks, "{exchanged:?}");
        assert!(theta(exchanged.at_most.at_ticks) <= exchanged.at_most.offset_ticks, "{exchanged:?}");
    }

    #[test]
    fn a_side_without_a_partner_gives_up_at_its_deadline() {
        let limits = ExchangeLimits { least_ns: 0, deadline_ns: 1_000, fresh_needed: 1 };
        let view = Exchange::new().run(Side::First, 0, &Turnstile::default(), &limits);
        assert_eq!(view, SideView::default());
        assert_eq!(Exchanged::of(&view, &view), None);
    }

    #[test]
    fn few_fresh_values_are_not_usable() {
        let bound = Bound { at_ticks: 0, offset_ticks: 0 };
        let mut exchanged = Exchanged {
            at_least: bound,
            at_most: bound,
            fresh: [FRESH_ENOUGH; 2],
            best_after_ticks: 0,
            overlap_ns: 9,
            elapsed_ns: 10,
        };
        assert!(exchanged.is_usable());
        assert!((exchanged.overlap_share() - 0.9).abs() < 1e-12);
        exchanged.fresh[1] -= 1;
        assert!(!exchanged.is_usable());
    }
}
