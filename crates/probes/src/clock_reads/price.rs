//! From batches to what a read costs, whether that would come out again, and why not.

use clock::Counter;
use record::{ClockRead, Quality, SlowRead, Spread};
use stats::{Estimate, estimate};

use super::level::{Batch, Company, Level};
use super::{Batches, catalogue::Read};
use crate::quality::quality;
use crate::sampler::Sampler;

/// The batches that count are cut into so many pieces at most, each of which gives one value.
const PIECES_MAX: usize = 40;
/// And each holds so many at least: a piece of one or two disturbed batches would weigh as much as any.
const PIECE_MIN: usize = 8;
/// Fast batches below which another run may give another price.
pub(super) const FAST_MIN: usize = 50;
/// What two runs may differ by, and so what the interval and the halves of one may. Source: the project's targets.
pub const REPEATABLE: f64 = 0.02;

/// What one way costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// Nanoseconds per read, beside the whole core.
    pub ns: Estimate,
    /// The same in steps of the multiply chain, each with the frequency of its own moment.
    pub steps: Estimate,
    /// Beside a core that was shared; `None` if it was so hardly ever.
    pub slow: Option<Slow>,
    /// Batches that were interrupted, or during which the core changed.
    pub set_aside: usize,
    /// Fast batches by piece, for the record.
    pub pieces: Vec<Vec<f64>>,
    /// Why two runs may differ by more than they should; `None` if they should not.
    pub refused: Option<String>,
}

/// Beside a core that was shared.
#[derive(Debug, Clone, PartialEq)]
pub struct Slow {
    /// Nanoseconds per read.
    pub ns: Estimate,
    /// In steps of the multiply chain.
    pub steps: Estimate,
}

/// Batches of one company in the order taken, piece by piece: nanoseconds and steps.
fn pieces(batches: &[Batch], level: &Level, company: Company) -> [Vec<Vec<f64>>; 2] {
    let of_company: Vec<&Batch> = batches.iter().filter(|batch| level.company(batch) == company).collect();
    let size = of_company.len().div_ceil(PIECES_MAX).max(PIECE_MIN);
    let of = |value: fn(&Batch) -> f64| {
        of_company.chunks(size).map(|piece| piece.iter().map(|batch| value(batch)).collect()).collect()
    };
    [of(|batch| batch.ns), of(|batch| batch.ns / batch.multiply_ns())]
}

impl Price {
    /// The price of one way, with the level of the whole run; `None` if hardly a batch counts.
    pub fn of(batches: &Batches, level: &Level, seed: u64) -> Option<Self> {
        let [ns, steps] = pieces(&batches.taken, level, Company::Fast);
        let (of_ns, of_steps) = (estimate(&ns, seed), estimate(&steps, seed));
        if of_ns.windows < PIECE_MIN {
            return None;
        }
        let [slow_ns, slow_steps] = pieces(&batches.taken, level, Company::Slow);
        let slow = Slow { ns: estimate(&slow_ns, seed), steps: estimate(&slow_steps, seed) };
        let slow = Some(slow).filter(|slow| slow.ns.windows >= FAST_MIN);
        let counted = of_ns.windows + slow.as_ref().map_or(0, |slow| slow.ns.windows);
        let refused = refusal(&steps, &of_steps, level, seed);
        let set_aside = batches.interrupted + batches.taken.len() - counted;
        Some(Self { ns: of_ns, steps: of_steps, slow, set_aside, pieces: ns, refused })
    }

    /// As it stands in documents. `cycles` are those of the core in a step; `ticks` those of the counter in a nanosecond.
    pub fn record(&self, read: &Read, cpu: machine::CpuId, scale: &Scale) -> ClockRead {
        let in_cycles = |steps: f64| scale.cycles_per_step.map(|cycles| steps * cycles);
        // What another run may not repeat is never converged, however narrow it is in this one.
        let quality = match quality(REPEATABLE, self.steps.relative_half_width(), true) {
            Quality::Converged if self.refused.is_some() => Quality::Wide,
            found => found,
        };
        let slow = self.slow.as_ref().map(|slow| SlowRead {
            ns: slow.ns.value,
            core_cycles: in_cycles(slow.steps.value),
            windows: slow.ns.windows,
        });
        ClockRead {
            name: read.name.to_owned(),
            cpu,
            ns: self.ns.value,
            counter_cycles: scale.ticks_per_ns.map(|ticks| self.ns.value * ticks),
            core_cycles: in_cycles(self.steps.value),
            core_cycles_interval: in_cycles(1.0)
                .map(|cycles| self.steps.interval.map(|steps| steps * cycles)),
            ordered: read.ordered,
            resolution_ns: read.resolution_ns,
            slow,
            refused: self.refused.clone(),
            spread: Spread::of(&self.ns, self.set_aside, quality, None),
        }
    }
}

/// From nanoseconds and steps to cycles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// Cycles of the core in a step of the multiply chain, if they are known.
    pub cycles_per_step: Option<f64>,
    /// Ticks of the counter in a nanosecond, if there is one.
    pub ticks_per_ns: Option<f64>,
}

impl Scale {
    /// By the batches that a sampler has taken so far.
    pub fn of(sampler: &Sampler) -> Self {
        let has_counter = Counter::of_this_machine() != Counter::MonotonicRaw;
        Self {
            cycles_per_step: sampler.control.believed_cycles(sampler.rate),
            ticks_per_ns: has_counter.then(|| sampler.rate.ticks(1.0)),
        }
    }
}

/// Why another run may give another price.
fn refusal(steps: &[Vec<f64>], of_steps: &Estimate, level: &Level, seed: u64) -> Option<String> {
    if !level.is_certain() {
        return Some("the core was never ours alone for certain".to_owned());
    }
    if let Some(mode) = of_steps.modes.get(1) {
        let more = (mode.value / of_steps.modes[0].value - 1.0) * 100.0;
        return Some(format!(
            "two states: {:.0} % of the batches cost {more:.0} % more, and no control loop tells why",
            mode.share * 100.0
        ));
    }
    if of_steps.windows < FAST_MIN {
        return Some(format!("only {} batches had the core for themselves", of_steps.windows));
    }
    let half_width = of_steps.relative_half_width();
    if half_width > REPEATABLE {
        return Some(format!("the interval is {:.1} % wide to either side", half_width * 100.0));
    }
    let (first, last) = steps.split_at(steps.len() / 2);
    let [first, last] = [first, last].map(|half| estimate(half, seed));
    let change = (last.value / first.value - 1.0) * 100.0;
    (change.abs() > REPEATABLE * 100.0).then(|| format!("its second half differs by {change:+.1} %"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::ControlReading;
    use crate::saved;
    use stats::Random;

    const LEVEL: Level = Level { share: 1.0 / 16.0, near: 0.6, on_plateau: 0.8, readings: 1_000 };

    /// Batches of a read that takes `steps(index)` steps, every fourth beside half a core and a half dearer.
    fn batches(count: u32, steps: impl Fn(u32) -> f64) -> Batches {
        let mut random = Random::new(5);
        let batch = |index: u32| {
            let shared = index % 4 == 3;
            // The frequency wanders by 2 %; the cost in steps does not follow it.
            let multiply_ns = 0.8 + 0.016 * f64::from(index) / f64::from(count);
            let port_ns = multiply_ns / if shared { 8.0 } else { 16.0 };
            let reading = ControlReading { multiply_ns, port_ns };
            let noise = 1.0 + 0.002 * random.unit();
            let ns = steps(index) * multiply_ns * noise * if shared { 1.5 } else { 1.0 };
            Batch { ns, visit: index / 8, control: [reading, reading] }
        };
        Batches { taken: (0..count).map(batch).collect(), interrupted: 7 }
    }

    #[test]
    fn saved_batches_give_the_stored_prices() {
        let mut found = Vec::new();
        let scale = Scale { cycles_per_step: Some(3.0), ticks_per_ns: Some(2.5) };
        let read = Read::shared_word();
        for series in saved::series("clock read") {
            let visits = series.visits.into_iter().zip(0..);
            let reading = |multiply_ns| ControlReading { multiply_ns, port_ns: multiply_ns / 16.0 };
            let batch = |ns, visit| Batch { ns, visit, control: [reading(0.8), reading(0.81)] };
            let taken = visits
                .flat_map(|((_, windows), visit)| windows.into_iter().map(move |ns| batch(ns, visit)))
                .collect();
            let price = Price::of(&Batches { taken, interrupted: 3 }, &LEVEL, 1).expect("enough batches");
            found.push((price.record(&read, machine::CpuId(0), &scale), price.steps, price.slow));
        }
        for seed in [1, 2] {
            let step = |index| if seed == 1 { 30.0 } else { 30.0 + f64::from(index % 7 / 5) };
            let price = Price::of(&batches(400, step), &LEVEL, seed).expect("enough batches");
            found.push((price.record(&read, machine::CpuId(1), &scale), price.steps, price.slow));
        }
        saved::check("price", &found);
    }

    #[test]
    fn the_cost_is_that_beside_the_whole_core_and_the_other_is_reported_beside_it() {
        let price = Price::of(&batches(4_000, |_| 30.0), &LEVEL, 1).expect("enough batches");
        assert!((price.steps.value / 30.0 - 1.0).abs() < 0.003, "{:?}", price.steps);
        let slow = price.slow.as_ref().expect("every fourth");
        assert!((slow.steps.value / 45.0 - 1.0).abs() < 0.003, "{slow:?}");
        assert_eq!((price.ns.windows, slow.ns.windows, price.set_aside), (3_000, 1_000, 7));
        assert_eq!(price.refused, None);
    }

    #[test]
    fn what_would_not_come_out_again_is_refused_with_the_reason() {
        type Steps = fn(u32) -> f64;
        let rarely = Level { on_plateau: 0.2, ..LEVEL };
        for (level, steps, part) in [
            (&rarely, (|_| 30.0) as Steps, "never ours alone"),
            (&LEVEL, |index| if index / 100 % 2 == 0 { 30.0 } else { 34.0 }, "two states"),
            (&LEVEL, |index| if index < 2_000 { 30.0 } else { 31.2 }, "second half"),
        ] {
            let price = Price::of(&batches(4_000, steps), level, 1).expect("enough batches");
            assert!(price.refused.as_deref().is_some_and(|why| why.contains(part)), "{:?}", price.refused);
        }
        let few = Price::of(&batches(40, |_| 30.0), &LEVEL, 1).expect("thirty");
        assert_eq!(few.refused.as_deref(), Some("only 30 batches had the core for themselves"));
        assert_eq!(Price::of(&batches(8, |_| 30.0), &LEVEL, 1), None);
    }

    #[test]
    fn a_document_states_cycles_only_where_they_are_known() {
        let price = Price::of(&batches(4_000, |_| 30.0), &LEVEL, 1).expect("enough batches");
        let read = Read::shared_word();
        let known = Scale { cycles_per_step: Some(3.0), ticks_per_ns: Some(2.5) };
        let row = price.record(&read, machine::CpuId(1), &known);
        assert!((row.core_cycles.expect("known") - 90.0).abs() < 0.5, "{row:?}");
        assert!(row.core_cycles_interval.is_some_and(|interval| interval.contains(price.steps.value * 3.0)));
        assert_eq!(row.counter_cycles, Some(row.ns * 2.5));
        let unknown =
            price.record(&read, machine::CpuId(1), &Scale { cycles_per_step: None, ticks_per_ns: None });
        assert_eq!(
            (unknown.core_cycles, unknown.counter_cycles, unknown.core_cycles_interval),
            (None, None, None)
        );
    }
}
