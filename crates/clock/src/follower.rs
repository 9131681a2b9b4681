//! A clock without a thread: readers themselves look at the kernel's clock when it is time, and follow it closely.
//!
//! For a timescale that the kernel disciplines (`CLOCK_MONOTONIC`, which NTP slews), in processes that are not ours, where a thread
//! more would be a surprise. It has one slot for all CPUs, so it is for machines whose counters the kernel itself trusts.
//!
//! ```text
//! tick inside the segment                     the segment                          (the fast path: 10 ms)
//! after it, for as long again                 the segment, continued; one reader looks and publishes the next
//! later, or nothing published                 max(kernel, end of that); one reader begins anew
//! ```
//! A segment is followed by one that meets it where it begins. Between two looks the kernel may change its rate: the distance
//! from its clock is bounded by that change times two segments. A reader that interrupts the one that looks (a signal handler)
//! does not wait for it.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::bracket::{Look, shorter_half_together};
use crate::discipline::{Bracket, Discipline, Policy, Verdict};
use crate::slot::{SPAN_SHIFT, Segment, Slot};

/// What a follower reads.
pub trait Followed {
    /// Ticks of the counter, after all earlier loads of this thread.
    fn ticks(&self) -> u64;
    /// Nanoseconds of the clock that is followed; `None` if it is refused.
    fn kernel_ns(&self) -> Option<u64>;
}

/// How long a segment holds without a look, in nanoseconds; it may be continued for as long again.
pub const SEGMENT_NS: u64 = 10_000_000;

/// The fastest that adjtimex makes the kernel's clock run or crawl, as a share. Linux, include/uapi/linux/timex.h, MAXFREQ.
/// Larger changes, by its tick length, are followed as well, with an error in proportion.
pub const SLEW_SHARE: f64 = 500e-6;

/// Bound on the distance from the kernel's clock under changes of its rate by `SLEW_SHARE`, in nanoseconds: two segments until
/// the change is seen, two more until the gap is closed, and a microsecond for the looks.
pub const BOUND_NS: u64 = (4.0 * SEGMENT_NS as f64 * SLEW_SHARE) as u64 + 1_000;

/// Looks at the kernel's clock in one go: a microsecond.
const LOOKS: usize = 16;

/// The kernel's rate may change by 11 % (Linux, kernel/time/timekeeping.c, `maxadj`) and a gap is closed within two
/// segments. What strays further than that is a jump.
const POLICY: Policy = Policy {
    horizon_ns: 2.0 * SEGMENT_NS as f64,
    slew_share_max: 0.02,
    stray_ns_max: 100_000.0,
    stray_share_max: 0.12,
};

/// A segment begins this many ticks after the look it follows from: by then all can see it.
const LEAD_TICKS: u64 = 2_000;

/// Tries to publish a segment before it begins.
const TRIES: u32 = 3;

/// The clock. All of it lies in one piece: it allocates nothing, ever.
#[derive(Debug)]
pub struct Follower {
    slot: Slot,
    /// No time is below this.
    floor_ns: AtomicU64,
    is_looking: AtomicBool,
    /// Only for the reader that has set `is_looking`.
    discipline: UnsafeCell<Discipline>,
    looks: AtomicU64,
    jumps: AtomicU64,
    /// Half of the last look, in ticks.
    half_width_ticks: AtomicU64,
}

// SAFETY: the discipline is touched only by the one reader that holds `is_looking`; all else is atomic.
unsafe impl Sync for Follower {}

impl Default for Follower {
    fn default() -> Self {
        Self::new()
    }
}

impl Follower {
    /// A follower that has not looked yet: its first readers get the kernel's time.
    pub fn new() -> Self {
        Self {
            slot: Slot::new(),
            floor_ns: AtomicU64::new(0),
            is_looking: AtomicBool::new(false),
            discipline: UnsafeCell::new(Discipline::new(POLICY)),
            looks: AtomicU64::new(0),
            jumps: AtomicU64::new(0),
            half_width_ticks: AtomicU64::new(0),
        }
    }

    /// Nanoseconds at a tick that was just read, if no look is due; else ask [`Follower::now_ns`].
    #[inline(always)]
    pub fn at(&self, ticks: u64) -> Option<u64> {
        self.slot.read(ticks)
    }

    /// Nanoseconds now, with a look if one is due; `None` if the kernel refuses its clock and nothing else is known.
    #[cold]
    #[inline(never)]
    pub fn now_ns(&self, followed: &impl Followed) -> Option<u64> {
        let [newest, older] = self.slot.both();
        let ticks = followed.ticks();
        // What begins in a moment has been looked for already; until then the older one goes on.
        let is_to_come = newest.span != 0 && ticks.wrapping_sub(newest.tick0).cast_signed() < 0;
        let segment = if is_to_come { older } else { newest };
        if let Some(ns) = continued(&segment, ticks) {
            let is_due = ticks.wrapping_sub(segment.end_tick()).cast_signed() >= 0;
            if is_due && !is_to_come && self.begin_look() {
                self.look(followed, Some(&segment));
                self.end_look();
                // The look took a microsecond.
                return continued(&segment, followed.ticks()).or(Some(ns));
            }
            return Some(ns);
        }
        if segment.span != 0 {
            self.floor_ns.fetch_max(last_ns(&segment), Ordering::AcqRel);
        }
        if !is_to_come && self.begin_look() {
            self.look(followed, None);
            self.end_look();
        }
        let kernel_ns = followed.kernel_ns();
        let floor_ns = self.floor_ns.load(Ordering::Acquire);
        kernel_ns.map(|ns| ns.max(floor_ns)).or((floor_ns != 0).then_some(floor_ns))
    }

    /// In the child of a fork: nothing is believed any more, and nobody is looking. Time does not go back unless the child is in
    /// another time namespace.
    pub fn begin_anew(&self, followed: &impl Followed) {
        /// A clock that is further away than this is another one.
        const SAME_NS: u64 = 1_000_000_000;
        let now_ns = continued(&self.slot.newest(), followed.ticks()).unwrap_or(0);
        let is_same = followed.kernel_ns().is_some_and(|ns| ns.abs_diff(now_ns) < SAME_NS);
        self.floor_ns.store(if is_same { now_ns } else { 0 }, Ordering::Release);
        self.slot.close();
        // SAFETY: a child of a fork has one thread, which is here.
        unsafe { *self.discipline.get() = Discipline::new(POLICY) };
        self.is_looking.store(false, Ordering::Release);
    }

    /// Looks at the kernel's clock so far.
    pub fn look_count(&self) -> u64 {
        self.looks.load(Ordering::Relaxed)
    }

    /// Jumps of counter or clock so far.
    pub fn jump_count(&self) -> u64 {
        self.jumps.load(Ordering::Relaxed)
    }

    /// Half the ticks that the last look took: how well it knows the kernel's clock, and how slow that is.
    pub fn half_width_ticks(&self) -> u64 {
        self.half_width_ticks.load(Ordering::Relaxed)
    }

    fn begin_look(&self) -> bool {
        self.is_looking.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn end_look(&self) {
        self.is_looking.store(false, Ordering::Release);
    }

    /// One look, and the segment that follows from it. The caller has begun the look.
    fn look(&self, followed: &impl Followed, current: Option<&Segment>) {
        // SAFETY: `is_looking` is ours.
        let discipline = unsafe { &mut *self.discipline.get() };
        let mut looks = [Look::default(); LOOKS];
        for look in &mut looks {
            let before = followed.ticks();
            let Some(ns) = followed.kernel_ns() else { return };
            let width_ticks = followed.ticks().wrapping_sub(before);
            *look = Look { middle_ticks: before.wrapping_add(width_ticks / 2), width_ticks, ns };
        }
        let Some(bracket) = shorter_half_together(&mut looks) else { return };
        self.looks.fetch_add(1, Ordering::Relaxed);
        self.half_width_ticks.store(bracket.half_width_ticks as u64, Ordering::Relaxed);
        if let Verdict::Jumped { .. } = discipline.see(bracket) {
            self.jumps.fetch_add(1, Ordering::Relaxed);
            self.floor_ns.fetch_max(self.slot.end_ns(), Ordering::AcqRel);
            self.slot.close();
            discipline.forget();
            discipline.see(bracket);
            return;
        }
        // A thread that lost its CPU on the way to the store begins later.
        for _ in 0..TRIES {
            let Some(segment) = self.next(discipline, &bracket, current, followed.ticks()) else { return };
            if followed.ticks().wrapping_sub(segment.tick0).cast_signed() < 0 {
                self.slot.publish(&segment);
                return;
            }
        }
    }

    fn next(
        &self,
        discipline: &Discipline,
        bracket: &Bracket,
        current: Option<&Segment>,
        ticks: u64,
    ) -> Option<Segment> {
        let rate = discipline.rate()?;
        let tick0 = ticks.wrapping_add(LEAD_TICKS);
        let span = ((SEGMENT_NS as f64 / rate.ns_per_tick) as u64 >> SPAN_SHIFT) as u32;
        if let Some(current) = current {
            return discipline.follow(current, tick0, span);
        }
        // Ahead of the kernel's clock by what the look may have put it too early, and by two roundings.
        let head_ns = (bracket.half_width_ticks * rate.ns_per_tick).ceil() as u64 + 2;
        let segment = discipline.begin(tick0, span, head_ns)?;
        (segment.ns0 >= self.floor_ns.load(Ordering::Acquire)).then_some(segment)
    }
}

/// Nanoseconds of a segment at a tick within it or as long again after it.
fn continued(segment: &Segment, ticks: u64) -> Option<u64> {
    let passed = ticks.wrapping_sub(segment.tick0);
    (passed >> SPAN_SHIFT < 2 * u64::from(segment.span)).then(|| segment.at(ticks))
}

/// Nanoseconds that no continuation of a segment exceeds.
fn last_ns(segment: &Segment) -> u64 {
    segment.at(segment.tick0.wrapping_add((2 * u64::from(segment.span)) << SPAN_SHIFT))
}
