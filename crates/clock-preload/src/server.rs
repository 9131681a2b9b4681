//! The one server of the process: made at the first call, by whoever comes first; all others meanwhile get the kernel's time.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use clock::{Counter, Followed, Follower, Stamp, Stamper, TimeStampCounter};

use crate::arch;
use crate::kernel;
use crate::realtime::Realtime;

/// Counts are kept by CPU number modulo this: threads on two CPUs rarely share a line.
const TALLIES: usize = 64;

/// A look that takes longer than the first by this factor makes us ask the kernel for its clock source again.
const SLOW_FACTOR: u64 = 3;

/// What serves.
pub(crate) struct Server {
    stamper: Stamper,
    follower: Follower,
    realtime: Realtime,
    /// Looks when realtime was last asked after.
    looks_seen: AtomicU64,
    /// Half the width of the first look, in ticks.
    first_half_width: AtomicU64,
    served: [Tally; TALLIES],
    passed_on: AtomicU64,
}

/// A count alone on its cache line.
#[derive(Default)]
#[repr(align(64))]
struct Tally(AtomicU64);

impl Tally {
    /// Counts one more; no interrupt can come between.
    #[inline(always)]
    fn count(&self) {
        arch::add_one(&self.0);
    }
}

/// The counter and the kernel's monotonic clock.
struct Monotonic<'server>(&'server Stamper);

impl Followed for Monotonic<'_> {
    #[inline(always)]
    fn ticks(&self) -> u64 {
        self.0.stamp().ticks
    }

    #[inline]
    fn kernel_ns(&self) -> Option<u64> {
        kernel::ns(libc::CLOCK_MONOTONIC)
    }
}

/// How far the making of the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum State {
    None,
    InTheMaking,
    Serving,
    /// The kernel does not trust the counter, or this process may not read it.
    Refused,
}

struct Place {
    state: AtomicU8,
    server: UnsafeCell<MaybeUninit<Server>>,
}

// SAFETY: the server is written once, before the state says `Serving`, and only read from then on.
unsafe impl Sync for Place {}

static PLACE: Place =
    Place { state: AtomicU8::new(State::None as u8), server: UnsafeCell::new(MaybeUninit::uninit()) };

/// The server, if it serves.
#[inline(always)]
pub(crate) fn serving() -> Option<&'static Server> {
    if PLACE.state.load(Ordering::Acquire) == State::Serving as u8 {
        let place = PLACE.server.get();
        // SAFETY: nobody writes once the state says `Serving`.
        let server = unsafe { &*place };
        // SAFETY: the state says that it was made.
        return Some(unsafe { server.assume_init_ref() });
    }
    None
}

/// Makes the server at the first call. It takes no lock: a signal handler that comes here meanwhile, or an allocator that
/// asks for the time, gets the kernel's.
#[cold]
fn make() -> Option<&'static Server> {
    let (none, busy) = (State::None as u8, State::InTheMaking as u8);
    PLACE.state.compare_exchange(none, busy, Ordering::AcqRel, Ordering::Acquire).ok()?;
    let server = Server::new();
    let state = if server.is_some() { State::Serving } else { State::Refused };
    if let Some(server) = server {
        let place = PLACE.server.get();
        // SAFETY: only the thread that has put the state to `InTheMaking` writes, and nobody reads yet.
        let place = unsafe { &mut *place };
        place.write(server);
        // SAFETY: the handler is a function of this library, which is never unloaded.
        unsafe { libc::pthread_atfork(None, None, Some(begin_anew)) };
    }
    PLACE.state.store(state as u8, Ordering::Release);
    serving()
}

extern "C" fn begin_anew() {
    if let Some(server) = serving() {
        server.realtime.begin_anew();
        server.follower.begin_anew(&Monotonic(&server.stamper));
    }
}

impl Server {
    fn new() -> Option<Self> {
        if Counter::of_this_machine() == Counter::MonotonicRaw || !kernel::clock_source_is_counter() {
            return None;
        }
        TimeStampCounter::new().ok()?;
        Some(Self {
            stamper: Stamper::fastest()?,
            follower: Follower::new(),
            realtime: Realtime::new()?,
            looks_seen: AtomicU64::new(0),
            first_half_width: AtomicU64::new(0),
            served: std::array::from_fn(|_| Tally::default()),
            passed_on: AtomicU64::new(0),
        })
    }

    #[inline(always)]
    fn monotonic_ns(&self) -> Option<u64> {
        let serve = |stamp: Stamp| {
            let ns = self.follower.at(stamp.ticks)?;
            self.served[stamp.cpu as usize % TALLIES].count();
            Some(ns)
        };
        self.stamper.with_stamp(serve).or_else(|| self.look())
    }

    /// A reading that is not just a lookup: with a look at the kernel's clocks, if one is due.
    #[cold]
    #[inline(never)]
    fn look(&self) -> Option<u64> {
        self.passed_on.fetch_add(1, Ordering::Relaxed);
        // The program's error number is not ours to change.
        // SAFETY: the C library gives every thread a place for it.
        let place = unsafe { libc::__errno_location() };
        // SAFETY: as above.
        let error = unsafe { *place };
        let ns = self.follower.now_ns(&Monotonic(&self.stamper));
        let looks = self.follower.look_count();
        if self.looks_seen.swap(looks, Ordering::Relaxed) != looks {
            self.realtime.look();
            self.check_clock_source();
        }
        // SAFETY: as above.
        unsafe { *place = error };
        ns
    }

    /// A kernel that has given the counter up answers slowly, by system call.
    fn check_clock_source(&self) {
        let half_width = self.follower.half_width_ticks();
        let first = self.first_half_width.load(Ordering::Relaxed);
        if first == 0 {
            self.first_half_width.store(half_width, Ordering::Relaxed);
        } else if half_width > SLOW_FACTOR * first && !kernel::clock_source_is_counter() {
            PLACE.state.store(State::Refused as u8, Ordering::Release);
        }
    }

    /// What the report says.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            served: self.served.iter().map(|tally| tally.0.load(Ordering::Relaxed)).sum(),
            passed_on: self.passed_on.load(Ordering::Relaxed),
            looks: self.follower.look_count(),
            jumps: self.follower.jump_count(),
            steps: self.realtime.step_count(),
        }
    }
}

/// What happened so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts {
    /// Readings from the counter.
    pub(crate) served: u64,
    /// Readings that took the longer way.
    pub(crate) passed_on: u64,
    /// Looks at the kernel's clock.
    pub(crate) looks: u64,
    /// Jumps of counter or clock.
    pub(crate) jumps: u64,
    /// Steps of realtime.
    pub(crate) steps: u64,
}

/// Nanoseconds of `CLOCK_MONOTONIC`, if they are served.
#[inline(always)]
pub(crate) fn monotonic_ns() -> Option<u64> {
    serving().or_else(make)?.monotonic_ns()
}

/// Nanoseconds of `CLOCK_REALTIME`, if they are served.
#[inline(always)]
pub(crate) fn realtime_ns() -> Option<u64> {
    let server = serving().or_else(make)?;
    let monotonic_ns = server.monotonic_ns()?;
    Some(monotonic_ns.wrapping_add_signed(server.realtime.ahead_ns()))
}
