//! Points in time of a [`Clock`](crate::Clock), shaped like those of the standard library.

use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::Duration;

use crate::engine::UNKNOWN_NS;
use crate::process;

/// A point in time: nanoseconds of `CLOCK_MONOTONIC_RAW`.
///
/// It is not comparable with `std::time::Instant`, which Linux reads from `CLOCK_MONOTONIC`: that one is slewed by NTP, by up
/// to half a millisecond per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// Now, by the clock of this process, or by the [`Mock`](crate::Mock) in whose scope this thread is.
    ///
    /// The clock is that of [`Clock::new`](crate::Clock::new). Where nobody has made it, the first call does, which takes some
    /// milliseconds; threads that come meanwhile get the kernel's time and do not wait.
    ///
    /// # Panics
    /// Where nothing gives a time, as `std::time::Instant::now` does; `Clock::new` says so instead.
    #[inline]
    pub fn now() -> Self {
        Self(process::now_ns())
    }

    /// Time from here to now; zero if this is later.
    #[inline]
    pub fn elapsed(self) -> Duration {
        Self::now().duration_since(self)
    }

    /// The point so many nanoseconds after the beginning of the raw clock, which is some time at boot.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the beginning of the raw clock.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time from `earlier` to here; zero if it is later.
    pub const fn duration_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// As [`Instant::duration_since`], by the name under which the standard library has it as well.
    pub const fn saturating_duration_since(self, earlier: Self) -> Duration {
        self.duration_since(earlier)
    }

    /// Time from `earlier` to here; `None` if it is later.
    pub const fn checked_duration_since(self, earlier: Self) -> Option<Duration> {
        match self.0.checked_sub(earlier.0) {
            Some(ns) => Some(Duration::from_nanos(ns)),
            None => None,
        }
    }

    /// This point and a duration; `None` after the year 2554.
    pub fn checked_add(self, duration: Duration) -> Option<Self> {
        Some(Self(self.0.checked_add(u64::try_from(duration.as_nanos()).ok()?)?))
    }

    /// This point less a duration; `None` before the beginning.
    pub fn checked_sub(self, duration: Duration) -> Option<Self> {
        Some(Self(self.0.checked_sub(u64::try_from(duration.as_nanos()).ok()?)?))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// # Panics
    /// After the year 2554, as `std::time::Instant` does where it ends; `checked_add` does not.
    fn add(self, duration: Duration) -> Self {
        self.checked_add(duration).expect("a point in time before the year 2554")
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    /// # Panics
    /// Before the beginning of the clock, as `std::time::Instant` may; `checked_sub` does not.
    fn sub(self, duration: Duration) -> Self {
        self.checked_sub(duration).expect("a point in time after the beginning of the clock")
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl Sub for Instant {
    type Output = Duration;

    /// Zero if `earlier` is later.
    fn sub(self, earlier: Self) -> Duration {
        self.duration_since(earlier)
    }
}

/// A point in time that knows how far the clocks of two CPUs may be apart: comparable across threads that share no
/// memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ordered {
    /// The point.
    pub instant: Instant,
    /// Bound on what two CPUs show at one moment, in nanoseconds; `u64::MAX` if it is not known.
    pub boundary_ns: u64,
}

impl Ordered {
    /// Whether this was certainly taken after `other`, on whatever CPUs. Where neither is after the other, it is unknown.
    ///
    /// Threads that talk through memory need no boundary: what a thread reads after it has seen a stamp is not below it.
    pub fn after(&self, other: &Self) -> bool {
        let boundary_ns = self.boundary_ns.max(other.boundary_ns);
        let edge = other.instant.as_nanos().checked_add(boundary_ns);
        boundary_ns != UNKNOWN_NS && edge.is_some_and(|edge| self.instant.as_nanos() > edge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn points_and_durations_add_up() {
        let point = Instant::from_nanos(5);
        assert_eq!((point + SECOND) - point, SECOND);
        assert_eq!(point - (point + SECOND), Duration::ZERO);
        assert_eq!(point.checked_duration_since(point + SECOND), None);
        assert_eq!(point.checked_sub(SECOND), None);
        assert_eq!(Instant::from_nanos(u64::MAX).checked_add(SECOND), None);
        assert_eq!(point.checked_add(Duration::MAX), None);
    }

    #[test]
    fn order_is_claimed_only_beyond_a_known_boundary() {
        let stamp = |ns, boundary_ns| Ordered { instant: Instant::from_nanos(ns), boundary_ns };
        for (later, earlier, expected) in [
            (stamp(200, 50), stamp(100, 50), true),
            (stamp(150, 50), stamp(100, 50), false),
            (stamp(200, 50), stamp(100, 150), false),
            (stamp(200, UNKNOWN_NS), stamp(100, 50), false),
            (stamp(u64::MAX, UNKNOWN_NS), stamp(0, UNKNOWN_NS), false),
            (stamp(100, 50), stamp(200, 50), false),
        ] {
            assert_eq!(later.after(&earlier), expected, "{later:?} {earlier:?}");
        }
    }
}
