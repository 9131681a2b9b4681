//! Two short probes between the trials that tell whether the machine itself moved: arithmetic and memory.

use std::hint::black_box;
use std::time::{Duration, Instant};

use clock::{TickRate, begin, end};
use host::live::{Disturbance, snapshot};
use kernels::{MULTIPLIES_PER_ROUND, multiply_chain};
use stats::Random;

use super::subject::GuardSpec;

/// Rounds of one arithmetic sample: about 60 us.
const MULTIPLY_ROUNDS: u64 = 1000;
/// Loads of one memory sample: about 100 us if each misses all caches.
const CHASE_LOADS: usize = 1024;
/// Lines of the chase: 4 MiB, beyond the caches of most cores; more would hide the memory of small programs, as the
/// kernel counts what this process holds as theirs until exec.
const CHASE_LINES: usize = (4 << 20) / 64;
/// Indices of four bytes in a line.
const INDICES_PER_LINE: usize = 16;
/// The probes take about a millisecond with all that belongs to them: at most a twentieth of the time.
const READ_EVERY: Duration = Duration::from_millis(20);
/// The fastest of so many samples counts.
const SAMPLES: usize = 3;
/// Ticks of the steal counter in one trial that say nothing: the kernel charges them late.
const STEAL_TICKS_TOLERATED: f64 = 1.0;
/// A drift probe that moved by less than this share is not what spoils a pair.
const SHARE_TOLERATED: f64 = 0.02;

/// The probes, and what the kernel counts.
pub(crate) struct DriftProbe {
    /// A random cycle through the first index of each line.
    next: Vec<u32>,
    position: usize,
    before: Disturbance,
    /// When the probes last ran, and what they read.
    last: Option<(Instant, [f64; 2])>,
}

impl DriftProbe {
    /// The guards that [`DriftProbe::readings`] fills, in this order.
    pub(crate) const GUARDS: [GuardSpec; 3] = [
        GuardSpec { name: "drift of arithmetic", tolerance: SHARE_TOLERATED },
        GuardSpec { name: "drift of memory", tolerance: SHARE_TOLERATED },
        GuardSpec { name: "steal", tolerance: STEAL_TICKS_TOLERATED },
    ];

    /// Lays the cycle.
    pub(crate) fn new(seed: u64) -> Self {
        let mut order: Vec<u32> = (0..CHASE_LINES as u32).collect();
        Random::new(seed).shuffle(&mut order);
        let mut next = vec![0_u32; CHASE_LINES * INDICES_PER_LINE];
        for (place, line) in order.iter().enumerate() {
            let follower = order[(place + 1) % order.len()];
            next[*line as usize * INDICES_PER_LINE] = follower * INDICES_PER_LINE as u32;
        }
        Self { next, position: 0, before: snapshot(), last: None }
    }

    /// The arithmetic sample alone, in nanoseconds: under a state it is a control, as no toggle but one of frequencies
    /// can move it.
    pub(crate) fn control_ns(rate: TickRate) -> f64 {
        rate.nanoseconds(arithmetic() as u64) / (MULTIPLY_ROUNDS * MULTIPLIES_PER_ROUND) as f64
    }

    /// One reading of each guard: logarithms of the two probes' fastest samples, ticks stolen since the last reading.
    ///
    /// Between short trials the last reading stands for a while, and nothing is known of steal: probing after each run of
    /// a millisecond would use up this process's share of a busy CPU, and the next program would wait for it.
    pub(crate) fn readings(&mut self) -> Vec<f64> {
        if let Some((at, [arithmetic, memory])) = self.last
            && at.elapsed() < READ_EVERY
        {
            return vec![arithmetic, memory, f64::NAN];
        }
        let arithmetic = arithmetic();
        let (next, mut position) = (&self.next, self.position);
        let memory = fastest(|| {
            for _ in 0..CHASE_LOADS {
                position = next[position] as usize;
            }
            black_box(position);
        });
        self.position = position;
        let now = snapshot();
        let stolen =
            now.steal_ticks.zip(self.before.steal_ticks).map(|(now, before)| now.saturating_sub(before));
        self.before = now;
        let probed = [arithmetic.ln(), memory.ln()];
        self.last = Some((Instant::now(), probed));
        vec![probed[0], probed[1], stolen.map_or(f64::NAN, |ticks| ticks as f64)]
    }
}

/// Ticks of the arithmetic.
fn arithmetic() -> f64 {
    fastest(|| _ = black_box(multiply_chain(black_box(MULTIPLY_ROUNDS))))
}

/// Ticks of the fastest of a few samples.
fn fastest(mut work: impl FnMut()) -> f64 {
    let sample = |()| {
        let start = begin();
        work();
        end().wrapping_sub(start)
    };
    let ticks = [(); SAMPLES].map(sample).into_iter().min().unwrap_or(1);
    ticks.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guard_has_a_reading_and_the_cycle_visits_every_line() {
        let mut probe = DriftProbe::new(1);
        assert_eq!(probe.readings().len(), DriftProbe::GUARDS.len());
        let (mut position, mut visited) = (0_usize, 0);
        loop {
            position = probe.next[position] as usize;
            visited += 1;
            if position == 0 {
                break;
            }
        }
        assert_eq!(visited, CHASE_LINES);
    }
}
