//! Windows between readings of the control loops, and the samples that are made of them.

use std::hint::black_box;
use std::time::Instant;

use host::live::{Mapping, MappingError, PageRequest};
use kernels::random::SplitMix64;
use kernels::{Chain, Cursor, LOADS_PER_ROUND, Layout, Order};
use machine::{Bytes, CpuId, Machine};
use record::QuestionSample;
use stats::median;

use crate::control::ControlReading;
use crate::memory::MemoryError;
use crate::sampler::Sampler;
use crate::session::Session;

/// A core counts as this thread's alone where its port loop takes at most so many times the cycles of the best reading of the process; a
/// busy second thread on the core makes it 1.3 to 2 times.
const ALONE_BELOW: f64 = 1.1;
/// The reading that counts as the best: a single one may be lucky in its clock.
const BEST_READING: f64 = 0.02;
/// Windows of one sample at most.
const WINDOWS_MAX: usize = 5000;
/// Windows of a sample that are kept as they were.
const KEPT_RAW: usize = 256;
/// Fewer windows are no sample.
const FEWEST_WINDOWS: usize = 5;
/// Fewer windows of a state have no median of their own.
const FEWEST_OF_STATE: usize = 5;

/// One window, or a pair of them, with what its control loops read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    /// In the unit of its sample.
    pub(super) value: f64,
    /// The port loop beside it in multiplies of the chain, whatever the clock: the slower reading.
    ports: f64,
}

/// What is measured with: a sampler for each CPU, and the samples whose states are not known yet.
pub(super) struct Bench {
    pub(super) machine: Machine,
    pub(super) random: SplitMix64,
    /// Cycles of one multiply, where the family's are known and the rotate chain agrees.
    pub(super) cycles_per_multiply: Option<f64>,
    samplers: Vec<Sampler>,
    taken: Vec<(QuestionSample, Vec<Window>)>,
}

/// Time of a window in nanoseconds, and the control loops around it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timed {
    pub(super) ns: f64,
    /// Nanoseconds of one multiply, the mean of both readings.
    pub(super) multiply_ns: f64,
    ports: f64,
}

impl Timed {
    /// With its value in the unit of a sample.
    pub(super) fn as_value(self, value: f64) -> Window {
        Window { value, ports: self.ports }
    }

    /// Both windows of a pair, as the logarithm of how many times longer this one is.
    pub(super) fn against(self, other: Self) -> Window {
        Window { value: (self.ns / other.ns).ln(), ports: self.ports.max(other.ports) }
    }
}

impl Bench {
    /// For the CPUs of a session, on one of which the calling thread is pinned.
    pub(super) fn new(session: &mut Session<'_>, cpu: CpuId) -> Self {
        let samplers: Vec<Sampler> = session.cpus.iter().map(|cpu| session.sampler(*cpu)).collect();
        let cycles_per_multiply = session.sampler(cpu).control.believed_cycles(session.rate);
        let random = SplitMix64::new(session.random.next_u64());
        Self {
            machine: session.record.machine.clone(),
            random,
            cycles_per_multiply,
            samplers,
            taken: Vec::new(),
        }
    }

    /// The CPUs of the session.
    pub(super) fn cpus(&self) -> impl Iterator<Item = CpuId> {
        self.samplers.iter().map(|sampler| sampler.cpu)
    }

    /// The sampler of a CPU of the session.
    pub(super) fn sampler(&mut self, cpu: CpuId) -> &mut Sampler {
        let place = self.samplers.iter().position(|sampler| sampler.cpu == cpu);
        &mut self.samplers[place.expect("a CPU of the session")]
    }

    /// Whether a task that has time until then has to end.
    pub(super) fn is_over(&self, until: Instant) -> bool {
        Instant::now() >= until || self.samplers[0].is_cut()
    }

    /// A block of memory in pages of this size, laid until then at most.
    pub(super) fn mapping(
        &self,
        block: Bytes,
        pages: PageRequest,
        until: Instant,
    ) -> Result<Option<Mapping>, MemoryError> {
        match Mapping::new_while(block.0 as usize, pages, &|| !self.is_over(until)) {
            Ok(mapping) => Ok(Some(mapping)),
            Err(MappingError::BrokenOff { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// A chain through a block in a random order, laid until then at most.
    pub(super) fn chain<'m>(
        &mut self,
        block: &'m mut [u8],
        (stride_bytes, order): (usize, Order),
        until: Instant,
    ) -> Option<Chain<'m>> {
        let layout = Layout { stride_bytes, order, seed: self.random.next_u64() };
        Chain::build_while(block, layout, &|| !self.is_over(until))
    }

    /// Takes windows of a sample until then, as many as that leaves time for; `None` are set aside.
    pub(super) fn take(
        &mut self,
        sample: QuestionSample,
        until: Instant,
        mut window: impl FnMut(&mut Self) -> Option<Window>,
    ) {
        let (begun, mut windows) = (Instant::now(), Vec::new());
        while !self.is_over(until) && windows.len() < WINDOWS_MAX {
            windows.extend(window(self));
        }
        // The next windows are of something else, of which nothing is planted unless it says what it is.
        self.samplers.iter_mut().for_each(|sampler| sampler.about(String::new));
        if windows.len() >= FEWEST_WINDOWS {
            let seconds = begun.elapsed().as_secs_f64();
            self.taken.push((QuestionSample { seconds, ..sample }, windows));
        }
    }

    /// Both sides of a contrast in random order; `None` if a window of either is set aside.
    pub(super) fn pair(&mut self, mut side: impl FnMut(&mut Self, usize) -> Option<Timed>) -> Option<Window> {
        let first = (self.random.next_u64() >> 63) as usize;
        let mut timed = [None; 2];
        for which in [first, 1 - first] {
            timed[which] = side(self, which);
        }
        let [Some(one), Some(other)] = timed else { return None };
        Some(one.against(other))
    }

    /// Hands counts and samples, with the states of their windows, to the session's record.
    pub(super) fn finish(mut self, session: &mut Session<'_>) {
        self.samplers.iter_mut().for_each(|sampler| session.absorb(sampler));
        let ports: Vec<f64> =
            self.taken.iter().flat_map(|(_, windows)| windows).map(|window| window.ports).collect();
        let best = stats::quantile(&ports, BEST_READING).unwrap_or(f64::INFINITY);
        for (sample, windows) in self.taken {
            session.result().samples.push(summed_up(sample, &windows, best * ALONE_BELOW));
        }
    }
}

/// A sample with its medians; a window had the core alone where its port loop took less than this.
fn summed_up(sample: QuestionSample, windows: &[Window], alone_below: f64) -> QuestionSample {
    let of = |asked: Option<bool>| -> Vec<f64> {
        let is_asked = |window: &&Window| asked.is_none_or(|asked| (window.ports < alone_below) == asked);
        windows.iter().filter(is_asked).map(|window| window.value).collect()
    };
    let (all, alone, shared) = (of(None), of(Some(true)), of(Some(false)));
    let as_unit = |value: f64| if sample.unit == RATIO { value.exp() } else { value };
    let of_state = |values: &[f64]| median(values).filter(|_| values.len() >= FEWEST_OF_STATE).map(as_unit);
    QuestionSample {
        value: median(&all).map_or(0.0, as_unit),
        alone: of_state(&alone),
        shared: of_state(&shared),
        alone_share: alone.len() as f64 / all.len().max(1) as f64,
        windows: all.len(),
        raw: windows
            .iter()
            .step_by(windows.len().div_ceil(KEPT_RAW).max(1))
            .map(|window| [window.value as f32, window.ports as f32])
            .collect(),
        ..sample
    }
}

/// The unit of contrasts, whose windows are logarithms.
pub(super) const RATIO: &str = "ratio";

/// A chain under test: where its next window starts, and how many rounds one takes.
pub(super) struct Walker<'c> {
    cursor: Cursor<'c>,
    pub(super) rounds: u64,
}

impl<'c> Walker<'c> {
    /// At the start of a chain; `rounds` of `LOADS_PER_ROUND` loads a window.
    pub(super) fn new(chain: &'c Chain<'_>, rounds: u64) -> Self {
        Self { cursor: chain.start(), rounds }
    }

    /// Walks so many loads outside of windows, or fewer if it is cut.
    pub(super) fn warm(&mut self, loads: u64, sampler: &Sampler) {
        sampler.in_slices(loads.div_ceil(LOADS_PER_ROUND), |rounds| self.cursor = self.cursor.walk(rounds));
    }

    /// Nanoseconds of a load in the next window, between two readings of the control loops.
    pub(super) fn window(&mut self, sampler: &mut Sampler) -> Option<Timed> {
        let before = sampler.control.read_long(sampler.rate);
        let start = self.cursor;
        let mut cursor = start;
        let ns = sampler.window(|| cursor = start.walk(self.rounds));
        self.cursor = black_box(cursor);
        let after = sampler.control.read_long(sampler.rate);
        let ports = |reading: &ControlReading| reading.port_ns / reading.multiply_ns;
        ns.map(|ns| Timed {
            ns: ns / (self.rounds * LOADS_PER_ROUND) as f64,
            multiply_ns: f64::midpoint(before.multiply_ns, after.multiply_ns),
            ports: ports(&before).max(ports(&after)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(values: &[(f64, f64)]) -> Vec<Window> {
        values.iter().map(|&(value, ports)| Window { value, ports }).collect()
    }

    #[test]
    fn states_have_medians_of_their_own_and_few_windows_have_none() {
        let quiet = [(5.0, 1.0); 8];
        let busy = [(6.0, 1.5); 4];
        let all: Vec<(f64, f64)> = quiet.into_iter().chain(busy).collect();
        let sample = summed_up(QuestionSample::default(), &windows(&all), 1.1);
        assert_eq!((sample.value, sample.alone, sample.shared), (5.0, Some(5.0), None));
        assert!((sample.alone_share - 8.0 / 12.0).abs() < 1e-12);
        assert_eq!(sample.windows, 12);
    }

    #[test]
    fn a_contrast_is_the_ratio_of_its_pairs_whatever_both_went_through() {
        let timed = |ns: f64, ports: f64| Timed { ns, multiply_ns: 1.0, ports };
        let pairs: Vec<Window> = (1..=9)
            .map(|slow| timed(1.2 * f64::from(slow), 1.0).against(timed(f64::from(slow), 1.3)))
            .collect();
        let unit = RATIO.to_owned();
        let sample = summed_up(QuestionSample { unit, ..QuestionSample::default() }, &pairs, 1.1);
        assert!((sample.value - 1.2).abs() < 1e-9);
        assert_eq!((sample.alone, sample.alone_share), (None, 0.0));
    }
}
