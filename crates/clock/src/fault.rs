//! Counters with known faults, one per CPU: the double that stands for bad hardware.
//!
//! What this machine's counters show is never in doubt; what a CPU would show that has a fault is computed from a true
//! counter, the same on all CPUs, and from what the CPU has been doing. Detectors, clocks and simulations run on it
//! unchanged, and what they find is held against what was put in.
//!
//! ```
//! use clock::{Fault, FaultSchedule, Regime};
//! let mut cpu1 = FaultSchedule::new(1_000, &[Fault::Offset { ticks: 50 }, Fault::Idle { ppb: -1_000_000_000 }]);
//! assert_eq!(cpu1.read(2_000), 2_050);
//! cpu1.enter(Regime::Idle, 3_000);
//! assert_eq!(cpu1.read(9_000), 3_050); // It stands still while the CPU sleeps,
//! cpu1.enter(Regime::Load, 10_000);
//! assert_eq!(cpu1.read(10_500), 3_550); // and goes on from there.
//! ```

use crate::source::{CounterSource, Regime};

/// One thing that is wrong with a counter. Parts per billion are of the true rate, so -1,000,000,000 stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is ahead by so many ticks from the beginning.
    Offset {
        /// Ticks ahead.
        ticks: i64,
    },
    /// It always runs at another rate.
    Rate {
        /// Faster by so much.
        ppb: i64,
    },
    /// It jumps, once.
    Step {
        /// When, in true ticks.
        at_ticks: u64,
        /// How far ahead.
        ticks: i64,
    },
    /// It runs at another rate while its CPU sleeps, as with C1 clock ramping.
    Idle {
        /// Faster by so much.
        ppb: i64,
    },
    /// It runs at another rate in one P-state, as a counter that counts cycles of the core does.
    Frequency {
        /// The P-state.
        pstate: u8,
        /// Faster by so much.
        ppb: i64,
    },
}

/// Parts per billion in a whole.
const BILLION: i64 = 1_000_000_000;

/// From `from_ticks` on the counter shows `shown` and runs faster by `extra / 2^64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    from_ticks: u64,
    shown: u64,
    /// What was shown beyond whole ticks, in units of 2^-64: lost at each change of regime, it would add up to a rate.
    fraction: u64,
    extra: i128,
}

impl Piece {
    /// What the counter shows so many ticks after the beginning of the piece, and what is beyond whole ticks.
    #[inline]
    fn after(&self, passed: u64) -> (u64, u64) {
        // The product stays far below 2^127: 2^62 ticks are a thousand years.
        let extra = i128::from(passed) * self.extra + i128::from(self.fraction);
        (self.shown.wrapping_add(passed).wrapping_add((extra >> 64) as u64), extra as u64)
    }
}

/// The counter of one CPU: what it shows at each true tick, given its faults and what its CPU did.
///
/// Reading is pure: the same schedule, asked for the same true tick, shows the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultSchedule {
    faults: Vec<Fault>,
    regime: Regime,
    /// Ascending by `from_ticks`; never empty. Nothing is faulted before the first.
    pieces: Vec<Piece>,
}

impl FaultSchedule {
    /// A counter whose faults begin at `origin_ticks`, with its CPU under load.
    ///
    /// Steps must come in order, none before the origin.
    pub fn new(origin_ticks: u64, faults: &[Fault]) -> Self {
        let offset: i64 = faults
            .iter()
            .map(|fault| match fault {
                Fault::Offset { ticks } => *ticks,
                _ => 0,
            })
            .sum();
        let first = Piece {
            from_ticks: origin_ticks,
            shown: origin_ticks.wrapping_add_signed(offset),
            fraction: 0,
            extra: 0,
        };
        let mut schedule = Self { faults: faults.to_vec(), regime: Regime::Load, pieces: vec![first] };
        schedule.pieces[0].extra = schedule.extra();
        for fault in faults {
            if let Fault::Step { at_ticks, ticks } = *fault {
                assert!(at_ticks >= schedule.last().from_ticks, "steps come in order");
                schedule.append(at_ticks, ticks);
            }
        }
        schedule
    }

    /// A counter without a fault.
    pub fn healthy() -> Self {
        Self::new(0, &[])
    }

    /// From `at_ticks` on the CPU is in another regime; what the counter has shown until then stays.
    ///
    /// Steps that were to come later than `at_ticks` keep their place.
    pub fn enter(&mut self, regime: Regime, at_ticks: u64) {
        self.regime = regime;
        let extra = self.extra();
        let (shown, fraction) = self.exactly(at_ticks);
        let keep = self.pieces.partition_point(|piece| piece.from_ticks < at_ticks).max(1);
        let later: Vec<u64> = self.pieces[keep..].iter().map(|piece| piece.from_ticks).collect();
        self.pieces.truncate(keep);
        self.pieces.push(Piece { from_ticks: at_ticks, shown, fraction, extra });
        for step_at in later {
            let ticks = self.faults.iter().find_map(|fault| match fault {
                Fault::Step { at_ticks: place, ticks } if *place == step_at && step_at > at_ticks => {
                    Some(*ticks)
                }
                _ => None,
            });
            if let Some(ticks) = ticks {
                self.append(step_at, ticks);
            }
        }
    }

    /// What the counter shows at a true tick.
    #[inline]
    pub fn read(&self, true_ticks: u64) -> u64 {
        self.exactly(true_ticks).0
    }

    /// The same with what is beyond whole ticks.
    #[inline]
    fn exactly(&self, true_ticks: u64) -> (u64, u64) {
        let place = self.pieces.partition_point(|piece| piece.from_ticks <= true_ticks);
        match place.checked_sub(1).map(|place| &self.pieces[place]) {
            Some(piece) => piece.after(true_ticks - piece.from_ticks),
            None => (true_ticks, 0),
        }
    }

    fn last(&self) -> &Piece {
        self.pieces.last().expect("made with one piece, and none is ever taken without another put")
    }

    /// A jump at `at_ticks`, at or after the last piece, in the regime that holds now.
    fn append(&mut self, at_ticks: u64, step_ticks: i64) {
        let (shown, fraction) = self.exactly(at_ticks);
        let (shown, extra) = (shown.wrapping_add_signed(step_ticks), self.extra());
        self.pieces.push(Piece { from_ticks: at_ticks, shown, fraction, extra });
    }

    /// How much faster than true the counter runs now, in units of 2^-64.
    fn extra(&self) -> i128 {
        let ppb: i64 = self
            .faults
            .iter()
            .map(|fault| match (*fault, self.regime) {
                (Fault::Rate { ppb }, _) | (Fault::Idle { ppb }, Regime::Idle) => ppb,
                (Fault::Frequency { pstate, ppb }, Regime::Slow { pstate: now }) if pstate == now => ppb,
                _ => 0,
            })
            .sum();
        // A counter that stands still is as slow as it gets.
        (i128::from(ppb.max(-BILLION)) << 64) / i128::from(BILLION)
    }
}

/// A counter source in which each CPU has its faults: a true source, and a schedule per CPU.
#[derive(Debug, Clone)]
pub struct FaultedCounter<S> {
    /// What all CPUs would show without faults.
    pub truth: S,
    /// By CPU number; a CPU beyond the end has no fault.
    pub schedules: Vec<FaultSchedule>,
}

impl<S: CounterSource> FaultedCounter<S> {
    /// Every CPU below `cpu_count` healthy, to be given faults one by one.
    pub fn new(truth: S, cpu_count: usize) -> Self {
        Self { truth, schedules: vec![FaultSchedule::healthy(); cpu_count] }
    }

    /// Gives a CPU faults that begin now.
    pub fn fault(&mut self, cpu: u32, faults: &[Fault]) {
        let now = self.truth.ticks(cpu);
        if let Some(schedule) = self.schedules.get_mut(cpu as usize) {
            *schedule = FaultSchedule::new(now, faults);
        }
    }

    #[inline(always)]
    fn shown(&self, cpu: u32, true_ticks: u64) -> u64 {
        self.schedules.get(cpu as usize).map_or(true_ticks, |schedule| schedule.read(true_ticks))
    }
}

impl<S: CounterSource> CounterSource for FaultedCounter<S> {
    #[inline(always)]
    fn ordered_ticks(&self, cpu: u32) -> u64 {
        self.shown(cpu, self.truth.ordered_ticks(cpu))
    }

    #[inline(always)]
    fn ticks(&self, cpu: u32) -> u64 {
        self.shown(cpu, self.truth.ticks(cpu))
    }

    fn stated_hz(&self) -> Option<f64> {
        self.truth.stated_hz()
    }

    fn enter(&mut self, cpu: u32, regime: Regime) {
        let now = self.truth.ticks(cpu);
        if let Some(schedule) = self.schedules.get_mut(cpu as usize) {
            schedule.enter(regime, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_fault_shows_what_its_name_says() {
        let billion = 1_000_000_000;
        for (faults, regime, expected) in [
            (vec![], Regime::Load, 0),
            (vec![Fault::Offset { ticks: -7 }], Regime::Load, -7),
            (vec![Fault::Rate { ppb: 10 }], Regime::Load, 10),
            (vec![Fault::Rate { ppb: -10 }, Fault::Offset { ticks: 3 }], Regime::Idle, -7),
            (vec![Fault::Idle { ppb: 5 }], Regime::Load, 0),
            (vec![Fault::Idle { ppb: 5 }], Regime::Idle, 5),
            (vec![Fault::Frequency { pstate: 2, ppb: 9 }], Regime::Slow { pstate: 2 }, 9),
            (vec![Fault::Frequency { pstate: 2, ppb: 9 }], Regime::Slow { pstate: 1 }, 0),
            (vec![Fault::Step { at_ticks: 600_000_000, ticks: 11 }], Regime::Load, 11),
        ] {
            let mut schedule = FaultSchedule::new(0, &faults);
            schedule.enter(regime, 0);
            let shown = schedule.read(billion).wrapping_sub(billion).cast_signed();
            // A rate is rounded down to the last whole tick.
            assert!((shown - expected).abs() <= 1, "{faults:?} {regime:?}: {shown} for {expected}");
        }
    }

    #[test]
    fn before_its_origin_a_counter_has_no_fault() {
        assert_eq!(FaultSchedule::new(1_000, &[Fault::Offset { ticks: 5 }]).read(999), 999);
    }

    #[test]
    fn changes_of_regime_do_not_add_up_to_a_rate() {
        let mut schedule = FaultSchedule::new(0, &[Fault::Rate { ppb: 1 }]);
        for at in 1..1_000 {
            schedule.enter(if at % 2 == 0 { Regime::Load } else { Regime::Idle }, at * 1_500_000);
        }
        // Three ticks more, and less than one lost, as a part per billion is no multiple of 2^-64.
        let gained = schedule.read(3_000_000_000) - 3_000_000_000;
        assert!((2..=3).contains(&gained), "{gained}");
    }

    #[test]
    fn a_step_that_is_to_come_survives_a_change_of_regime() {
        let mut schedule = FaultSchedule::new(
            0,
            &[Fault::Idle { ppb: -500_000_000 }, Fault::Step { at_ticks: 500, ticks: 40 }],
        );
        schedule.enter(Regime::Idle, 100);
        assert_eq!([100, 300, 500, 700].map(|at| schedule.read(at)), [100, 200, 340, 440]);
        schedule.enter(Regime::Load, 700);
        assert_eq!(schedule.read(800), 540);
    }

    proptest! {
        #[test]
        fn a_change_of_regime_never_changes_the_past_and_never_jumps(
            ppb in -1_000_000_000_i64..1_000_000_000,
            idle_ppb in -900_000_000_i64..900_000_000,
            changes in proptest::collection::vec((1_u64..1_000_000, any::<bool>()), 1..12),
            asked in 0_u64..5_000_000,
        ) {
            let mut schedule = FaultSchedule::new(0, &[Fault::Rate { ppb: ppb / 20 }, Fault::Idle { ppb: idle_ppb }]);
            let mut at = 0;
            for (gap, is_idle) in changes {
                at += gap;
                let (before, shown) = (schedule.read(asked.min(at)), schedule.read(at));
                schedule.enter(if is_idle { Regime::Idle } else { Regime::Load }, at);
                prop_assert_eq!(schedule.read(asked.min(at)), before);
                prop_assert_eq!(schedule.read(at), shown);
                // Nothing runs backwards at these rates, so the next tick is not before this one.
                prop_assert!(schedule.read(at + 1) >= shown);
            }
        }
    }
}
