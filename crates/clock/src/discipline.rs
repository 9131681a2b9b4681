//! The discipline: from brackets of the kernel's clock to the next segment, without ever stepping back.
//!
//! A bracket says that the kernel's clock showed `ns` at `ticks`, give or take half the time between the two counter
//! reads around it. As long as all brackets since the first agree with one rate, the first stays the base, and the rate
//! gets better with the length of the base; when one does not, the rate has changed (somebody slews the kernel's clock) and
//! the base starts again at the bracket before. A bracket that is off by more than any slew explains is a disruption.
//!
//! The next segment begins where the old one is at that tick, so time neither jumps nor falls, and runs at the kernel's rate
//! plus what closes the gap to the kernel's clock within the horizon. This file needs nothing but `core`.

use super::slot::{RATE_SHIFT, Segment};

/// The kernel's clock, seen between two reads of the counter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bracket {
    /// Middle of the two counter reads.
    pub ticks: u64,
    /// What the kernel's clock showed.
    pub ns: u64,
    /// Half the ticks between the two reads: bound on the error of `ticks`.
    pub half_width_ticks: f64,
}

/// How a kernel clock behaves, and how quickly it is followed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// A gap to the kernel's clock is closed within this time, in nanoseconds.
    pub horizon_ns: f64,
    /// Largest correction of the rate, as a share. Below 1, or time could stand still.
    pub slew_share_max: f64,
    /// How far the kernel's clock may stray from its prediction before it is a disruption: a constant part.
    pub stray_ns_max: f64,
    /// And a part that grows with the time since the last bracket, as a share.
    pub stray_share_max: f64,
}

/// What a bracket meant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// It is the first.
    First,
    /// It fits all since the base.
    Fits,
    /// The kernel's clock changed its rate; the base is new.
    NewRate,
    /// The counter or the clock jumped, by so many nanoseconds.
    Jumped {
        /// Bracket minus prediction.
        by_ns: f64,
    },
}

/// What is known of the kernel's clock in ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Discipline {
    policy: Policy,
    base: Option<Bracket>,
    last: Option<Bracket>,
    rate: Option<Rate>,
}

/// How long a tick lasts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Nanoseconds of the kernel's clock per tick.
    pub ns_per_tick: f64,
    /// Bound on its relative error, from the widths of both ends and the length between them.
    pub error_share: f64,
    /// Length between the two ends, in nanoseconds.
    pub base_ns: f64,
}

impl Discipline {
    /// Knows nothing yet.
    pub fn new(policy: Policy) -> Self {
        Self { policy, base: None, last: None, rate: None }
    }

    /// Forgets everything but the policy.
    pub fn forget(&mut self) {
        *self = Self::new(self.policy);
    }

    /// The rate, from the second bracket on.
    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// The last bracket.
    pub fn last(&self) -> Option<Bracket> {
        self.last
    }

    /// Takes in a bracket; ticks rise from one to the next.
    pub fn see(&mut self, bracket: Bracket) -> Verdict {
        let (Some(base), Some(last)) = (self.base, self.last) else {
            (self.base, self.last) = (Some(bracket), Some(bracket));
            return Verdict::First;
        };
        let passed_ticks = bracket.ticks.wrapping_sub(last.ticks).cast_signed() as f64;
        if passed_ticks <= 0.0 {
            return Verdict::Jumped { by_ns: passed_ticks };
        }
        let mut verdict = Verdict::Fits;
        let mut from = base;
        if let Some(rate) = self.rate {
            let off_ns = off_ns(&last, &bracket, rate.ns_per_tick);
            let passed_ns = passed_ticks * rate.ns_per_tick;
            if off_ns.abs() > self.policy.stray_ns_max + passed_ns * self.policy.stray_share_max {
                return Verdict::Jumped { by_ns: off_ns };
            }
            let widths_ns = (last.half_width_ticks + bracket.half_width_ticks) * rate.ns_per_tick;
            // Both ends are rounded to whole nanoseconds by the kernel.
            if off_ns.abs() > widths_ns + passed_ns * rate.error_share + 2.0 {
                verdict = Verdict::NewRate;
                from = last;
            }
        }
        self.rate = Some(rate_between(&from, &bracket));
        (self.base, self.last) = (Some(from), Some(bracket));
        verdict
    }

    /// A segment that begins `head_ns` ahead of the kernel's clock: after a start or a disruption, when nothing has to be met.
    pub fn begin(&self, tick0: u64, span: u32, head_ns: u64) -> Option<Segment> {
        let ns0 = self.kernel_ns(tick0)? + head_ns;
        self.segment(tick0, ns0, span)
    }

    /// The segment that meets `current` at `tick0` and closes its gap to the kernel's clock from there.
    pub fn follow(&self, current: &Segment, tick0: u64, span: u32) -> Option<Segment> {
        self.segment(tick0, current.at(tick0), span)
    }

    /// How far a segment is ahead of the kernel's clock at a tick, in nanoseconds.
    pub fn gap_ns(&self, current: &Segment, tick: u64) -> Option<f64> {
        Some(current.at(tick).wrapping_sub(self.kernel_ns(tick)?).cast_signed() as f64)
    }

    /// Bound on the distance between the kernel's clock and a segment at its end, while the kernel's rate stays.
    pub fn error_ns(&self, segment: &Segment) -> Option<f64> {
        let (rate, last) = (self.rate?, self.last?);
        let ahead_ns = segment.end_tick().wrapping_sub(last.ticks).cast_signed() as f64 * rate.ns_per_tick;
        let gap_ns = self.gap_ns(segment, segment.tick0)?.abs();
        // The prediction leans on the last bracket, the rate on both ends of the base.
        Some(gap_ns + last.half_width_ticks * rate.ns_per_tick + ahead_ns.abs() * rate.error_share + 1.0)
    }

    /// Whole nanoseconds of the kernel's clock at a tick, computed from the last bracket, as f64 has no room for years.
    fn kernel_ns(&self, tick: u64) -> Option<u64> {
        let (rate, last) = (self.rate?, self.last?);
        let passed_ns = tick.wrapping_sub(last.ticks).cast_signed() as f64 * rate.ns_per_tick;
        Some(last.ns.wrapping_add_signed(passed_ns as i64))
    }

    fn segment(&self, tick0: u64, ns0: u64, span: u32) -> Option<Segment> {
        let rate = self.rate?;
        let gap_ns = ns0.wrapping_sub(self.kernel_ns(tick0)?).cast_signed() as f64;
        let limit = self.policy.slew_share_max;
        let slew_share = (gap_ns / self.policy.horizon_ns).clamp(-limit, limit);
        let scaled = rate.ns_per_tick * (1.0 - slew_share) * (1_u64 << RATE_SHIFT) as f64;
        Some(Segment { tick0, ns0, rate: scaled as u64, span })
    }
}

/// How far `to` is from where `from` and a rate put it, in nanoseconds.
fn off_ns(from: &Bracket, to: &Bracket, ns_per_tick: f64) -> f64 {
    let ticks = to.ticks.wrapping_sub(from.ticks).cast_signed() as f64;
    to.ns.wrapping_sub(from.ns).cast_signed() as f64 - ticks * ns_per_tick
}

fn rate_between(from: &Bracket, to: &Bracket) -> Rate {
    let ticks = to.ticks.wrapping_sub(from.ticks) as f64;
    let base_ns = to.ns.wrapping_sub(from.ns).cast_signed() as f64;
    let ns_per_tick = base_ns / ticks;
    let widths_ns = (from.half_width_ticks + to.half_width_ticks) * ns_per_tick;
    // Two roundings to whole nanoseconds.
    Rate { ns_per_tick, error_share: (widths_ns + 2.0) / base_ns.max(1.0), base_ns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POLICY: Policy =
        Policy { horizon_ns: 1e9, slew_share_max: 500e-6, stray_ns_max: 1e6, stray_share_max: 1e-3 };

    fn bracket(ticks: u64, ns: u64) -> Bracket {
        Bracket { ticks, ns, half_width_ticks: 40.0 }
    }

    #[test]
    fn the_rate_gets_better_with_the_base_and_starts_again_when_it_changes() {
        let mut discipline = Discipline::new(POLICY);
        assert_eq!(discipline.see(bracket(0, 0)), Verdict::First);
        assert_eq!(discipline.see(bracket(200_000_000, 100_000_000)), Verdict::Fits);
        let early = discipline.rate().unwrap();
        assert_eq!(discipline.see(bracket(2_000_000_000, 1_000_000_000)), Verdict::Fits);
        let late = discipline.rate().unwrap();
        assert!((late.ns_per_tick - 0.5).abs() < 1e-12 && late.error_share < early.error_share / 9.0);
        // 100 ppm faster for 0.1 s: 10 us, far outside the widths.
        assert_eq!(discipline.see(bracket(2_200_000_000, 1_100_010_000)), Verdict::NewRate);
        assert!((discipline.rate().unwrap().ns_per_tick - 0.500_05).abs() < 1e-9);
    }

    #[test]
    fn a_jump_of_the_counter_or_of_the_clock_is_no_rate() {
        for (ticks, ns) in [
            (400_000_000, 1_300_000_000),
            (100, 300_000_000),
            (90_000_000_000, 300_000_000),
            (400_000_000, 100),
        ] {
            let mut discipline = Discipline::new(POLICY);
            discipline.see(bracket(0, 100_000_000));
            discipline.see(bracket(200_000_000, 200_000_000));
            let verdict = discipline.see(bracket(ticks, ns));
            assert!(matches!(verdict, Verdict::Jumped { .. }), "{ticks} {ns}: {verdict:?}");
        }
    }

    proptest! {
        #[test]
        fn the_next_segment_meets_the_old_one_and_closes_the_gap(
            gap_ns in -1_000_000_i64..1_000_000, ns_per_tick in 0.1_f64..10.0, start in 1_u64 << 40..1 << 60,
        ) {
            let mut discipline = Discipline::new(POLICY);
            let at = |ticks: u64| bracket(ticks, start + (ticks as f64 * ns_per_tick) as u64);
            discipline.see(at(0));
            discipline.see(at(1_000_000_000));
            let head = discipline.begin(1_000_000_000, u32::MAX, 0).unwrap();
            let old = Segment { ns0: head.ns0.wrapping_add_signed(gap_ns), ..head };
            let next = discipline.follow(&old, 1_000_500_000, 1_000).unwrap();
            prop_assert_eq!(next.at(1_000_500_000), old.at(1_000_500_000));
            let half_horizon = 1_000_500_000 + (POLICY.horizon_ns / 2.0 / ns_per_tick) as u64;
            let before = discipline.gap_ns(&old, 1_000_500_000).unwrap();
            let after = discipline.gap_ns(&next, half_horizon).unwrap();
            prop_assert!(after.abs() <= before.abs() + 2.0, "{} then {}", before, after);
            prop_assert!(next.rate > 0);
        }
    }
}
