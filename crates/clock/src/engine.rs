//! The engine: a slot per CPU, the kernel's clock behind them, and what readers and calibrator share.
//!
//! ```text
//! now:   (ticks, cpu) = stamp;  time = slots[cpu].read(ticks)          the slot knows the tick
//!        otherwise              time = max(kernel, floor, end of the slot's segment)
//! ```
//! Why time cannot go back when readers change over to the kernel's clock: what a slot gave is never later than the end of
//! its segment, and before slots are closed the floor is raised above all they can have given. And when they change back: a
//! segment after a closed time begins ahead of the kernel's clock and at the same tick on all CPUs.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

use crate::disruption::{Disruption, SystemState};
use crate::exchange::Exchanged;
use crate::slot::{Place, Slot};
use crate::stamp::Stamp;

/// What the engine reads: the hardware, or a double of it.
pub trait Instruments: Send + Sync {
    /// Ticks and CPU, after all earlier loads of this thread.
    fn stamp(&self) -> Stamp;
    /// What `use_of` makes of a stamp; hardware compiles it into each way to read one.
    #[inline(always)]
    fn with_stamp<R>(&self, use_of: impl Fn(Stamp) -> R) -> R {
        use_of(self.stamp())
    }
    /// Nanoseconds of the kernel's clock; `None` if it is refused.
    fn kernel_ns(&self) -> Option<u64>;
    /// The counters of two CPUs compared; `None` if they did not run at the same time or may not be used.
    fn exchange(&self, reference: u32, cpu: u32) -> Option<Exchanged>;
    /// What is watched for a disruption.
    fn system_state(&self) -> SystemState;
}

/// Where times come from at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The counters of the CPUs, calibrated.
    Counter,
    /// The kernel's clock through its page of code in this process.
    Vdso,
    /// The kernel's clock by system call: reads of the counter raise a signal here.
    SystemCall,
    /// A clock that a test sets.
    Mock,
}

/// A disruption may be declared this long after the floor was raised for it, in nanoseconds: time stands still for at most
/// as long.
const CLOSING_NS: u64 = 1_000_000;

/// In a child of a fork: a kernel's clock that is further than this from the parent's is in another time namespace.
const SAME_TIMESCALE_NS: u64 = 1_000_000_000;

/// No boundary is known.
pub(crate) const UNKNOWN_NS: u64 = u64::MAX;

/// Readers read it, one calibrator writes it.
#[derive(Debug)]
pub struct Engine<I> {
    /// What it reads.
    pub instruments: I,
    /// By CPU number; a power of two of them, more than there are CPUs.
    slots: Box<[Slot]>,
    /// One less than there are, for `slot`.
    last_slot: u32,
    /// No time is below this: nanoseconds.
    floor_ns: AtomicU64,
    /// Counted up by each disruption.
    generation: AtomicU64,
    /// The last disruption, plus one; 0 is none.
    disruption: AtomicU8,
    /// 1 while the slots are open.
    is_open: AtomicU32,
    /// Bound on the distance from the kernel's clock.
    error_ns: AtomicU64,
    /// Bound on what two CPUs show at one moment.
    boundary_ns: AtomicU64,
}

/// Order is that of `Disruption`, whose discriminants are stored.
const DISRUPTIONS: [Disruption; 7] = [
    Disruption::ClockSource,
    Disruption::Suspend,
    Disruption::HotPlug,
    Disruption::VmClock,
    Disruption::Jump,
    Disruption::Skew,
    Disruption::Fork,
];

impl<I: Instruments> Engine<I> {
    /// Closed slots for CPU numbers below `cpu_count`.
    pub fn new(instruments: I, cpu_count: usize) -> Self {
        let slots: Box<[Slot]> = (0..cpu_count.max(1).next_power_of_two()).map(|_| Slot::new()).collect();
        Self {
            instruments,
            last_slot: (slots.len() - 1) as u32,
            slots,
            floor_ns: AtomicU64::new(0),
            generation: AtomicU64::new(0),
            disruption: AtomicU8::new(0),
            is_open: AtomicU32::new(0),
            error_ns: AtomicU64::new(0),
            boundary_ns: AtomicU64::new(UNKNOWN_NS),
        }
    }

    /// Nanoseconds now. It allocates nothing and takes no lock.
    #[inline(always)]
    pub fn now_ns(&self) -> u64 {
        // The slower way is within: if the ways to stamp met before it, each would have to leave word whether it is needed.
        self.instruments.with_stamp(|stamp: Stamp| {
            self.slot(stamp.cpu).read(stamp.ticks).unwrap_or_else(|| self.now_ns_slowly())
        })
    }

    #[inline(always)]
    fn slot(&self, cpu: u32) -> &Slot {
        let index = (cpu & self.last_slot) as usize;
        // SAFETY: the length is a power of two, so a number masked with one less is below it.
        unsafe { self.slots.get_unchecked(index) }
    }

    /// The older segment, or the kernel's clock.
    #[cold]
    #[inline(never)]
    fn now_ns_slowly(&self) -> u64 {
        /// A thread that was off its CPU between stamp and slot finds a slot that has moved on; it looks again.
        const LOOKS: u32 = 3;
        let mut end_ns = 0;
        for _ in 0..LOOKS {
            let stamp = self.instruments.stamp();
            match self.slot(stamp.cpu).place(stamp.ticks) {
                Place::Inside(ns) => return ns,
                Place::After { end_ns: end } => {
                    end_ns = end;
                    break;
                }
                Place::Closed => break,
                Place::Before => {}
            }
        }
        // A kernel that refuses leaves the last that is known: time stands still, and does not go back.
        let kernel_ns = self.instruments.kernel_ns().unwrap_or(0);
        // After the kernel's clock: whoever closed the slots before that has raised the floor before that.
        kernel_ns.max(end_ns).max(self.floor_ns.load(Ordering::Acquire))
    }

    /// Where times come from at the moment.
    pub fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire) != 0
    }

    /// How many disruptions there have been.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The last disruption.
    pub fn disruption(&self) -> Option<Disruption> {
        let number = self.disruption.load(Ordering::Acquire);
        DISRUPTIONS.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// Bound on the distance of a time from the kernel's clock, in nanoseconds.
    pub fn error_ns(&self) -> u64 {
        if self.is_open() {
            return self.error_ns.load(Ordering::Relaxed);
        }
        let kernel_ns = self.instruments.kernel_ns().unwrap_or(0);
        self.floor_ns.load(Ordering::Acquire).saturating_sub(kernel_ns)
    }

    /// Bound on the difference of what two CPUs show at one moment, in nanoseconds; `u64::MAX` while it is not known.
    #[inline]
    pub fn boundary_ns(&self) -> u64 {
        self.boundary_ns.load(Ordering::Relaxed)
    }

    /// The slots, for the one calibrator.
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// No time from now on is below this.
    pub(crate) fn raise_floor(&self, ns: u64) {
        self.floor_ns.fetch_max(ns, Ordering::AcqRel);
    }

    pub(crate) fn floor_ns(&self) -> u64 {
        self.floor_ns.load(Ordering::Acquire)
    }

    pub(crate) fn describe(&self, error_ns: u64, boundary_ns: u64) {
        self.error_ns.store(error_ns, Ordering::Relaxed);
        self.boundary_ns.store(boundary_ns, Ordering::Relaxed);
    }

    pub(crate) fn mark_open(&self) {
        self.is_open.store(1, Ordering::Release);
    }

    /// All readers go to the kernel's clock, and none of them sees time go back.
    pub fn disrupt(&self, disruption: Disruption) {
        let ends_ns = self.slots.iter().map(Slot::end_ns).max().unwrap_or(0);
        let before_ns = self.instruments.kernel_ns();
        self.raise_floor(self.floor_before(disruption));
        for slot in &self.slots {
            slot.close();
        }
        // The stores above are seen by all before the clock below is read. If closing took so long that readers can have
        // passed the floor, it is raised to what they cannot have passed.
        fence(Ordering::SeqCst);
        let took_ns =
            self.instruments.kernel_ns().zip(before_ns).map(|(after, before)| after.abs_diff(before));
        if self.floor_ns() != 0 && took_ns.is_none_or(|ns| ns >= CLOSING_NS / 2) {
            self.raise_floor(ends_ns);
        }
        self.is_open.store(0, Ordering::Release);
        self.boundary_ns.store(UNKNOWN_NS, Ordering::Relaxed);
        self.disruption.store(disruption as u8 + 1, Ordering::Release);
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// What no open slot can have exceeded by the time all are closed.
    fn floor_before(&self, disruption: Disruption) -> u64 {
        let stamp = self.instruments.stamp();
        let end_ns = self.slots.iter().map(Slot::end_ns).max().unwrap_or(0);
        if disruption.is_of_the_counter() {
            return end_ns;
        }
        let Place::Inside(now_ns) = self.slot(stamp.cpu).place(stamp.ticks) else { return end_ns };
        if disruption == Disruption::Fork
            && self.instruments.kernel_ns().is_none_or(|ns| ns.abs_diff(now_ns) > SAME_TIMESCALE_NS)
        {
            // Another clock altogether: what was given before the fork says nothing about it.
            self.floor_ns.store(0, Ordering::Release);
            return 0;
        }
        end_ns.min(now_ns + CLOSING_NS)
    }
}
