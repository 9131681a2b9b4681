//! The clock that programs read.

use std::time::Duration;

use crate::disruption::Disruption;
use crate::engine::{Engine, Source, UNKNOWN_NS};
use crate::hardware::Hardware;
use crate::instant::{Instant, Ordered};
use crate::kernel_clock::{ClockError, KernelClock, Timescale};
use crate::mock::Mock;
use crate::process;
use crate::source::NoCounter;

/// A fast clock that never goes back, on the timescale of `CLOCK_MONOTONIC_RAW`.
///
/// All clocks of a process are one: the first `new` starts the thread that calibrates it. Reading takes no lock and
/// allocates nothing; a clone is as good as the original.
#[derive(Debug, Clone)]
pub struct Clock {
    way: Way,
}

/// How this clock is read.
#[derive(Debug, Clone)]
enum Way {
    /// By the counters, or by the kernel's clock while they are not calibrated.
    Engine(&'static Engine<Hardware>),
    /// By the kernel's clock for good, and why.
    Kernel(KernelClock, NoCounter),
    /// By what a test has set.
    Mock(Mock),
}

impl Clock {
    /// The clock of this process. At first it gives the kernel's time; after some 0.1 s in the background, the counters'.
    ///
    /// Where the counters cannot be used it stays with the kernel's time: [`Clock::source`] tells which, and
    /// [`Clock::no_counter`] why. What a single thread later forbids itself by `PR_SET_TSC` is not seen. A child of `fork`
    /// starts its own background thread at once.
    ///
    /// # Errors
    /// `NoKernelClock` if nothing gives a time.
    pub fn new() -> Result<Self, ClockError> {
        Self::of(process::engine())
    }

    /// The clock over an engine, or without one.
    fn of(engine: Result<&'static Engine<Hardware>, NoCounter>) -> Result<Self, ClockError> {
        let kernel = engine.err().map_or(KernelClock::Vdso, KernelClock::without);
        let way = engine.map_or_else(|reason| Way::Kernel(kernel, reason), Way::Engine);
        kernel.read_ns(Timescale::MonotonicRaw).ok_or(ClockError::NoKernelClock)?;
        Ok(Self { way })
    }

    /// A clock that stands still, and what moves it: for tests of code that takes a clock.
    pub fn mock() -> (Self, Mock) {
        let mock = Mock::default();
        (Self { way: Way::Mock(mock.clone()) }, mock)
    }

    /// Now. What a thread reads after it has seen another thread's reading is not below it.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(match &self.way {
            Way::Engine(engine) => engine.now_ns(),
            other => other.now_ns(),
        })
    }

    /// Now, with what has to lie between two readings of threads that share no memory for their order to be certain.
    #[inline]
    pub fn ordered(&self) -> Ordered {
        let boundary_ns = match &self.way {
            Way::Engine(engine) => engine.boundary_ns(),
            Way::Kernel(..) => UNKNOWN_NS,
            Way::Mock(_) => 0,
        };
        Ordered { instant: self.now(), boundary_ns }
    }

    /// Time since a reading.
    #[inline]
    pub fn elapsed(&self, since: Instant) -> Duration {
        self.now().duration_since(since)
    }

    /// Bound on the distance of a reading from `CLOCK_MONOTONIC_RAW`, which holds until the calibrator's next step.
    pub fn uncertainty(&self) -> Duration {
        Duration::from_nanos(match &self.way {
            Way::Engine(engine) => engine.error_ns(),
            Way::Kernel(..) | Way::Mock(_) => 0,
        })
    }

    /// Where readings come from at the moment.
    pub fn source(&self) -> Source {
        match &self.way {
            Way::Engine(engine) if engine.is_open() => Source::Counter,
            Way::Engine(_) | Way::Kernel(KernelClock::Vdso, _) => Source::Vdso,
            Way::Kernel(KernelClock::SystemCall, _) => Source::SystemCall,
            Way::Mock(_) => Source::Mock,
        }
    }

    /// Why the counters are never used here; `None` if they are, or will be.
    pub fn no_counter(&self) -> Option<NoCounter> {
        match &self.way {
            Way::Kernel(_, reason) => Some(*reason),
            _ => None,
        }
    }

    /// How many disruptions there have been; a difference between two readings that span one is worth less.
    pub fn generation(&self) -> u64 {
        match &self.way {
            Way::Engine(engine) => engine.generation(),
            _ => 0,
        }
    }

    /// The last disruption.
    pub fn disruption(&self) -> Option<Disruption> {
        match &self.way {
            Way::Engine(engine) => engine.disruption(),
            _ => None,
        }
    }

    /// Sleeps until readings come from the counters, or until the limit; whether they do. It returns at once where they
    /// never will.
    pub fn wait_for_counter(&self, limit: Duration) -> bool {
        /// Between two looks.
        const PAUSE: Duration = Duration::from_millis(5);
        let began = self.now();
        let may_come = || self.source() == Source::Vdso && self.no_counter().is_none();
        while may_come() && self.elapsed(began) < limit {
            std::thread::sleep(PAUSE);
        }
        self.source() == Source::Counter
    }
}

impl Way {
    /// The ways that are not worth a place in the caller.
    #[cold]
    fn now_ns(&self) -> u64 {
        match self {
            Self::Engine(engine) => engine.now_ns(),
            // `Clock::new` has seen the kernel give a time; a filter that comes later makes time stand at zero.
            Self::Kernel(kernel, _) => kernel.read_ns(Timescale::MonotonicRaw).unwrap_or(0),
            Self::Mock(mock) => mock.now_ns(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrator::Timing;
    use crate::hardware::start_calibrator;
    use crate::platform::possible_cpu_count;
    use crate::source::CounterDenied;
    use crate::stamp::Features;
    use crate::stamp::StampMethod;
    use crate::stamper::Stamper;

    #[test]
    fn a_mock_moves_when_it_is_asked_to() {
        let (clock, mock) = Clock::mock();
        let start = clock.now();
        mock.advance(Duration::from_millis(3));
        assert_eq!(clock.elapsed(start), Duration::from_millis(3));
        assert_eq!((clock.source(), clock.generation()), (Source::Mock, 0));
        mock.advance(Duration::MAX);
        mock.set(Instant::from_nanos(7));
        assert_eq!(clock.clone().now().as_nanos(), 7);
        assert!(!clock.ordered().after(&clock.ordered()));
    }

    #[test]
    fn a_new_clock_gives_the_kernels_raw_time_from_the_first_reading() {
        let clock = Clock::new().expect("this process may read the kernel's clock");
        let before = crate::monotonic_raw_ns();
        let now = clock.now().as_nanos();
        let after = crate::monotonic_raw_ns();
        let slack_ns = clock.uncertainty().as_nanos() as u64 + 1_000_000;
        assert!(before <= now + slack_ns && now <= after + slack_ns, "{before} {now} {after}");
    }

    #[test]
    fn without_a_counter_that_can_be_used_the_kernels_time_is_taken_and_the_reason_reported() {
        for (reason, source) in [
            (NoCounter::Denied(CounterDenied::Signals), Source::SystemCall),
            (NoCounter::Denied(CounterDenied::Absent), Source::Vdso),
            (NoCounter::Varies, Source::Vdso),
            (NoCounter::Anonymous, Source::Vdso),
        ] {
            let clock = Clock::of(Err(reason)).expect("this process may read the kernel's clock");
            assert_eq!((clock.source(), clock.no_counter()), (source, Some(reason)));
            // It does not wait in vain.
            assert!(!clock.wait_for_counter(Duration::MAX), "{reason}");
            let before = crate::monotonic_raw_ns();
            let now = clock.now().as_nanos();
            assert!(before <= now && now <= crate::monotonic_raw_ns(), "{reason}");
            assert!(!clock.ordered().after(&clock.ordered()));
        }
    }

    #[test]
    fn hardware_is_refused_for_what_it_lacks() {
        let features = Features::of_this_machine();
        let Ok(_) = Hardware::new() else {
            println!("skipped: the counters cannot be used here");
            return;
        };
        let varying = Features { is_invariant: false, ..features };
        assert_eq!(Hardware::with(varying, Stamper::new).err(), Some(NoCounter::Varies));
        assert_eq!(Hardware::with(features, || None).err(), Some(NoCounter::Anonymous));
        // RDTSCP is one of several ways.
        let without = Features { has_rdtscp: false, has_rdpid: false, ..features };
        let segment_limit =
            || Stamper::chosen(without, |stamper| stamper.method() == StampMethod::SegmentLimit);
        let Ok(hardware) = Hardware::with(without, segment_limit) else {
            println!("skipped: the kernel keeps no CPU number in a segment");
            return;
        };
        let engine: &'static _ = Box::leak(Box::new(Engine::new(hardware, possible_cpu_count())));
        start_calibrator(engine, Timing::default()).expect("a thread can be started");
        let clock = Clock::of(Ok(engine)).expect("this process may read the kernel's clock");
        let mut last = clock.now();
        // A machine that is busy or distrusts its counter may never open it, and gives the kernel's time.
        clock.wait_for_counter(Duration::from_secs(2));
        for _ in 0..10_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
        let before = crate::monotonic_raw_ns();
        let now = clock.now().as_nanos();
        let slack_ns = clock.uncertainty().as_nanos() as u64 + 1_000_000;
        assert!(before <= now + slack_ns && now <= crate::monotonic_raw_ns() + slack_ns, "{before} {now}");
    }
}
