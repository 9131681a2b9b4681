//! The calibrator: looks at the kernel's clock and at the other CPUs now and then, and writes what readers follow.
//!
//! One step is a look at the surroundings, a bracket of the kernel's clock, sometimes an exchange between two CPUs, and new segments
//! for all CPUs that begin a moment later. Whatever does not fit is a disruption: readers go to the kernel's clock, and the
//! calibration starts again. The thread that repeats the step is in `hardware.rs`; tests repeat it on doubles.

use crate::alignment::{Alignment, Belief, Change};
use crate::bracket::{LOOKS, Look, shorter_half_together};
use crate::discipline::{Bracket, Discipline, Policy, Verdict};
use crate::disruption::{Disruption, SystemState};
use crate::engine::{Engine, Instruments};
use crate::slot::{SPAN_SHIFT, Segment};

/// When the calibrator does what, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// From the first bracket to the first segment: the rate is then known to some 0.02 ppm.
    pub calibration_ns: u64,
    /// Between two steps while calibrating.
    pub calibration_step_ns: u64,
    /// Between two steps while readers follow.
    pub step_ns: u64,
    /// How long a segment holds: the calibrator may be this late before readers go to the kernel's clock.
    pub span_ns: u64,
    /// How far ahead a segment begins, so that all CPUs know it by then.
    pub lead_ns: u64,
    /// Between two exchanges with CPUs of which nothing is suspected. An exchange keeps two CPUs busy for 3 ms.
    pub exchange_ns: u64,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            calibration_ns: 100_000_000,
            calibration_step_ns: 25_000_000,
            step_ns: 200_000_000,
            span_ns: 1_000_000_000,
            lead_ns: 1_000_000,
            exchange_ns: 10_000_000_000,
        }
    }
}

/// How `CLOCK_MONOTONIC_RAW` is followed: it never changes its rate, so a gap of some nanoseconds is closed slowly.
const POLICY: Policy = Policy {
    horizon_ns: 1e9,
    slew_share_max: 500e-6,
    // Half a millisecond is far more than a bracket errs, and 0.1 % far more than a rate that is known.
    stray_ns_max: 500_000.0,
    stray_share_max: 1e-3,
};

/// A corrected CPU whose time is further than this from the reference's, in nanoseconds, is not where it was believed to
/// be: slewing it there would let other CPUs see time go back meanwhile.
const APART_NS_MAX: f64 = 200.0;

/// Tries to publish segments before they begin.
const TRIES: u32 = 3;

/// The one writer of an engine.
#[derive(Debug)]
pub struct Calibrator<'engine, I> {
    engine: &'engine Engine<I>,
    timing: Timing,
    discipline: Discipline,
    /// The CPUs that may be compared; the first is the reference.
    cpus: Vec<u32>,
    alignments: Vec<Alignment>,
    system_state: SystemState,
    /// The first bracket of this calibration; none while nothing is calibrated.
    began_ns: Option<u64>,
    exchanged_ns: u64,
    /// Exchanges in a row that brought nothing.
    failures: u32,
    /// Position in `cpus` of the CPU whose turn is next.
    turn: usize,
}

impl<'engine, I: Instruments> Calibrator<'engine, I> {
    /// A calibrator that may use the given CPUs for comparisons; at least one.
    pub fn new(engine: &'engine Engine<I>, cpus: &[u32], timing: Timing) -> Self {
        let system_state = engine.instruments.system_state();
        let mut calibrator = Self {
            engine,
            timing,
            discipline: Discipline::new(POLICY),
            cpus: cpus.to_vec(),
            alignments: vec![Alignment::unknown(); engine.slots().len()],
            system_state,
            began_ns: None,
            exchanged_ns: 0,
            failures: 0,
            turn: 0,
        };
        calibrator.forget_alignments();
        calibrator
    }

    /// One step; returns how long to wait for the next, in nanoseconds.
    pub fn step(&mut self) -> u64 {
        let system_state = self.engine.instruments.system_state();
        let disruption = self.system_state.disruption(&system_state);
        self.system_state = system_state;
        if let Some(disruption) = disruption {
            self.disrupt(disruption);
        }
        // No bracket: the kernel refuses its clock, or this thread is on a CPU that is not known yet. Segments end, and readers
        // go to the kernel's clock.
        let Some(bracket) = self.bracket() else { return self.timing.calibration_step_ns };
        if let Verdict::Jumped { .. } = self.discipline.see(bracket) {
            self.disrupt(Disruption::Jump);
            self.discipline.see(bracket);
        }
        let began_ns = *self.began_ns.get_or_insert(bracket.ns);
        if self.exchange(bracket.ns) == Change::Contradicts {
            self.disrupt(Disruption::Skew);
            return self.timing.calibration_step_ns;
        }
        if self.engine.is_open() {
            if self.renew().is_none() {
                self.disrupt(Disruption::Skew);
            }
        } else if bracket.ns.saturating_sub(began_ns) >= self.timing.calibration_ns && self.may_open() {
            self.open();
        }
        if self.engine.is_open() { self.timing.step_ns } else { self.timing.calibration_step_ns }
    }

    /// The CPUs on which the next step can be made: the kernel's clock beside the counter of one that is not known tells nothing. A
    /// calibrator that the scheduler leaves on such a CPU would never begin.
    pub fn step_cpus(&self) -> &[u32] {
        let reference_alone = self.cpus.len().min(1);
        if self.cpus.iter().all(|cpu| self.is_known(*cpu)) {
            &self.cpus
        } else {
            &self.cpus[..reference_alone]
        }
    }

    /// The alignment of a CPU.
    pub fn alignment(&self, cpu: u32) -> Option<&Alignment> {
        self.alignments.get(cpu as usize)
    }

    /// The rate of the reference, as far as it is known.
    pub fn discipline(&self) -> &Discipline {
        &self.discipline
    }

    fn disrupt(&mut self, disruption: Disruption) {
        self.engine.disrupt(disruption);
        self.discipline.forget();
        self.began_ns = None;
        // A contradiction has just begun to learn the new line; all else may have moved every counter.
        if disruption != Disruption::Skew {
            self.forget_alignments();
        }
    }

    fn forget_alignments(&mut self) {
        self.alignments.fill(Alignment::unknown());
        if let Some(&reference) = self.cpus.first() {
            self.alignments[reference as usize] = Alignment::reference();
        }
    }

    /// The kernel's clock between two stamps of one CPU, in ticks of the reference.
    fn bracket(&self) -> Option<Bracket> {
        let instruments = &self.engine.instruments;
        let mut looks = [Look::default(); LOOKS];
        let mut count = 0;
        for _ in 0..LOOKS {
            let before = instruments.stamp();
            let ns = instruments.kernel_ns()?;
            let after = instruments.stamp();
            let alignment = self.alignments.get(before.cpu as usize)?;
            // A CPU that is not known may only be used where all are taken for the same.
            if before.cpu == after.cpu && self.is_known(before.cpu) {
                let width_ticks = after.ticks.wrapping_sub(before.ticks);
                let middle = before.ticks.wrapping_add(width_ticks / 2);
                looks[count] = Look { middle_ticks: alignment.to_reference(middle), width_ticks, ns };
                count += 1;
            }
        }
        shorter_half_together(&mut looks[..count])
    }

    /// Whether times of a CPU can be told.
    fn is_known(&self, cpu: u32) -> bool {
        self.alignments.get(cpu as usize).is_some_and(Alignment::is_settled) || self.is_trusted(cpu)
    }

    /// Whether the kernel vouches for a CPU, and nothing was found against it.
    fn is_trusted(&self, cpu: u32) -> bool {
        let is_sought = |alignment: &Alignment| alignment.belief == Belief::Seeking;
        self.system_state.kernel_trusts_counter() && !self.alignments.get(cpu as usize).is_none_or(is_sought)
    }

    /// Compares one CPU with the reference, if it is time for one.
    fn exchange(&mut self, now_ns: u64) -> Change {
        let (Some(&reference), Some(rate)) = (self.cpus.first(), self.discipline.rate()) else {
            return Change::Fits;
        };
        let others = self.cpus.len() - 1;
        let passed_ns = now_ns.saturating_sub(self.exchanged_ns);
        let is_due = |position: &usize| {
            passed_ns >= self.exchange_pause_ns(self.alignments[self.cpus[*position] as usize].belief)
        };
        let Some(position) = (0..others).map(|step| 1 + (self.turn + step) % others).find(is_due) else {
            return Change::Fits;
        };
        self.turn = position % others;
        self.exchanged_ns = now_ns;
        let cpu = self.cpus[position];
        let Some(exchanged) = self.engine.instruments.exchange(reference, cpu) else {
            self.failures = self.failures.saturating_add(1);
            return Change::Fits;
        };
        self.failures = 0;
        self.alignments[cpu as usize].see(&exchanged, rate.ns_per_tick)
    }

    /// How long after the last exchange a CPU of which this is believed has its turn: at once if it is under suspicion,
    /// under correction, or unknown; seldom if it was found the same.
    fn exchange_pause_ns(&self, belief: Belief) -> u64 {
        /// Tries to learn of an unknown CPU before it is taken to be one that is always busy, or barred.
        const FAILURES_IN_HASTE: u32 = 3;
        match belief {
            Belief::Same { .. } => self.timing.exchange_ns,
            Belief::Unknown if self.failures >= FAILURES_IN_HASTE => self.timing.exchange_ns / 10,
            Belief::Unknown | Belief::Seeking | Belief::Corrected(_) => 0,
        }
    }

    /// Whether times of all CPUs on which a reader can be are known.
    fn may_open(&self) -> bool {
        let online = self.system_state.online_cpus.as_deref().unwrap_or_default();
        let online = crate::platform::cpu_list(online);
        // A CPU that is sought may have given the brackets their ticks before it was suspected: they start anew.
        (self.system_state.kernel_trusts_counter() || !online.is_empty())
            && online.iter().all(|cpu| self.is_known(*cpu))
    }

    /// Segments for all CPUs that begin ahead of the kernel's clock, at one tick of the reference.
    fn open(&mut self) -> Option<()> {
        let (tick0, span) = self.next_span()?;
        let last = self.discipline.last()?;
        let rate = self.discipline.rate()?;
        // The bracket may have put the kernel's clock too early by half its width, and by two roundings.
        let head_ns = (last.half_width_ticks * rate.ns_per_tick).ceil() as u64 + 2;
        let segment = self.discipline.begin(tick0, span, head_ns)?;
        if segment.ns0 < self.engine.floor_ns() {
            return None;
        }
        for (slot, alignment) in self.engine.slots().iter().zip(&self.alignments) {
            if alignment.is_settled() || self.system_state.kernel_trusts_counter() {
                slot.publish(&localised(&segment, alignment, None)?);
            }
        }
        self.describe(&segment);
        self.engine.mark_open();
        Some(())
    }

    /// Segments for all CPUs that go on where the old ones are; none if one CPU is far from where it should be.
    ///
    /// A calibrator that lost its CPU on the way begins later: segments published after they began would let CPUs change over one after
    /// the other. If it never is in time the old ones go on, and the next step tries again.
    fn renew(&mut self) -> Option<()> {
        for _ in 0..TRIES {
            let (tick0, span) = self.next_span()?;
            if self.renewed_from(tick0, span)? {
                break;
            }
        }
        Some(())
    }

    /// Segments from this tick on, published if it is still ahead; whether it was.
    fn renewed_from(&mut self, tick0: u64, span: u32) -> Option<bool> {
        let reference = *self.cpus.first()? as usize;
        let current = self.engine.slots()[reference].newest();
        // After an unnoticed end readers have been on the kernel's clock: as after a disruption.
        if tick0.wrapping_sub(current.end_tick()).cast_signed() >= 0 {
            return self.open().map(|()| true);
        }
        let segment = self.discipline.follow(&current, tick0, span)?;
        let slots = self.engine.slots().iter().zip(&self.alignments);
        let next: Option<Vec<Segment>> =
            slots.map(|(slot, alignment)| localised(&segment, alignment, Some(slot.newest()))).collect();
        if self.now_ticks().wrapping_sub(tick0).cast_signed() >= 0 {
            return Some(false);
        }
        for (slot, segment) in self.engine.slots().iter().zip(next?) {
            // What was never opened stays closed.
            if slot.newest().span != 0 {
                slot.publish(&segment);
            }
        }
        self.describe(&segment);
        Some(true)
    }

    /// Now, in ticks of the reference.
    fn now_ticks(&self) -> u64 {
        let stamp = self.engine.instruments.stamp();
        self.alignments[stamp.cpu as usize].to_reference(stamp.ticks)
    }

    /// The tick of the reference at which the next segment begins, and how long it holds.
    fn next_span(&self) -> Option<(u64, u32)> {
        let rate = self.discipline.rate()?;
        let now = self.now_ticks();
        let ticks = |ns: u64| (ns as f64 / rate.ns_per_tick) as u64;
        let span = ticks(self.timing.span_ns) >> SPAN_SHIFT;
        Some((now.wrapping_add(ticks(self.timing.lead_ns)), u32::try_from(span).unwrap_or(u32::MAX)))
    }

    /// Tells readers how good their times are.
    fn describe(&self, segment: &Segment) {
        let (Some(error_ns), Some(rate)) = (self.discipline.error_ns(segment), self.discipline.rate()) else {
            return;
        };
        // Two CPUs may be off the reference in opposite directions.
        let mut apart: Vec<f64> =
            self.cpus.iter().map(|cpu| self.alignments[*cpu as usize].apart_ticks()).collect();
        apart.sort_by(f64::total_cmp);
        let worst: f64 = apart.iter().rev().take(2).sum();
        // Infinity becomes the largest number, which says that it is not known.
        self.engine.describe(error_ns.ceil() as u64, (worst * rate.ns_per_tick).ceil() as u64);
    }
}

/// The reference's segment in the ticks of another CPU, from where that CPU's `current` segment is.
fn localised(segment: &Segment, alignment: &Alignment, current: Option<Segment>) -> Option<Segment> {
    let Some(correction) = alignment.correction() else { return Some(*segment) };
    let tick0 = correction.to_local(segment.tick0);
    let rate = segment.rate as f64 / (1.0 + correction.rate);
    let span = (f64::from(segment.span) * (1.0 + correction.rate)).round() as u32;
    let Some(current) = current else { return Some(Segment { tick0, rate: rate as u64, span, ..*segment }) };
    let ns0 = current.at(tick0);
    let gap_ns = ns0.wrapping_sub(segment.ns0).cast_signed() as f64;
    let limit = POLICY.slew_share_max;
    let slew_share = (gap_ns / POLICY.horizon_ns).clamp(-limit, limit);
    (gap_ns.abs() <= APART_NS_MAX).then_some(Segment {
        tick0,
        ns0,
        rate: (rate * (1.0 - slew_share)) as u64,
        span,
    })
}
