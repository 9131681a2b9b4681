//! Expected throughput under a policy: runs with different seeds until the mean is known well enough.

use serde::Serialize;
use stats::{Interval, Random};

use super::compiled::Compiled;
use super::description::Policy;
use super::engine::{Engine, Totals};
use super::load::{Length, Load, Step};
use super::plan::planned;

/// What is not counted at the beginning of a run: all CPUs wake at once then.
const WARM_UP_NS: f64 = 1e7;
/// How long a run is counted: many bursts and slices.
const COUNTED_NS: f64 = 1e8;
/// Runs come in lots of this size.
const LOT: usize = 32;
/// Where placements are drawn, runs go on to so many draws. A placement that comes in one draw of a hundred is missed by
/// the 32 of a lot in 72 % of all cases, and the interval knows nothing of it; by 4,096 in one of 10^17.
const DRAWS_MIN: u64 = 4_096;
/// Runs end when half the 95 % interval is below this share of the mean.
const PRECISION: f64 = 3e-4;
/// Or after this many.
const RUNS_MAX: usize = 65_536;
/// Or after this many events; the interval then says what that is worth.
const EVENTS_MAX: u64 = 500_000;
/// A lot ends after this many, so that no machine of many CPUs takes minutes: some seconds of work.
const EVENTS_OF_A_LOT_MAX: u64 = 4_000_000;
/// But not before this many runs.
const RUNS_MIN: usize = 4;
/// Half-width of a 95 % interval in standard errors for a single lot: Student's t with 31 degrees of freedom.
const ERRORS_OF_95_OF_A_LOT: f64 = 2.04;
/// The same for a lot that ended early, as if it had no more than `RUNS_MIN` runs: 3 degrees of freedom.
const ERRORS_OF_95_OF_FEW: f64 = 3.18;

/// Expected throughput of all threads together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throughput {
    /// Cycles of undisturbed work per nanosecond, mean over runs.
    pub cycles_per_ns: f64,
    /// Its standard error; 0 where all runs are alike.
    pub standard_error: f64,
    /// Runs.
    pub runs: usize,
    /// Share of the running time in which the smallest unit had another running thread.
    pub shared: f64,
    /// Mean time to wake an idle CPU, in nanoseconds; 0 without any.
    pub wake_ns: f64,
    /// Mean number of units awake, of those that the clock depends on: a stand-in for energy.
    pub awake: f64,
    /// Events of all runs.
    pub events: u64,
}

/// A ratio of throughputs less one, in per cent, with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gain {
    /// In per cent.
    pub percent: f64,
    /// At 95 %.
    pub interval: Interval,
}

impl Gain {
    /// Of anything over itself.
    pub(super) const NONE: Self = Self { percent: 0.0, interval: Interval { low: 0.0, high: 0.0 } };
}

/// Runs a load until its throughput is known.
pub fn throughput(machine: &Compiled, load: &Load, policy: Policy, seed: u64) -> Throughput {
    let plan = if policy == Policy::DataAware { plan(machine, load) } else { Vec::new() };
    let mut sums = Totals::default();
    let (mut runs, mut mean, mut squares) = (0_usize, 0.0, 0.0);
    loop {
        for _ in 0..LOT {
            let seed = Random::for_stream(seed, runs as u64).next_u64();
            let found = run(machine, load, policy, &plan, seed);
            let cycles_per_ns = found.work_cycles / COUNTED_NS;
            runs += 1;
            // Welford's update: runs that are alike leave exactly no variance.
            let away = cycles_per_ns - mean;
            mean += away / runs as f64;
            squares += away * (cycles_per_ns - mean);
            sums.running_ns += found.running_ns;
            sums.shared_ns += found.shared_ns;
            sums.wakes += found.wakes;
            sums.wake_ns += found.wake_ns;
            sums.awake_ns += found.awake_ns;
            sums.events += found.events;
            if runs >= RUNS_MIN && sums.events >= EVENTS_OF_A_LOT_MAX {
                break;
            }
        }
        let standard_error = (squares / (runs - 1) as f64 / runs as f64).sqrt();
        // A placement is drawn when a run begins, and again at its events.
        let has_drawn = policy != Policy::Random || runs as u64 + sums.events >= DRAWS_MIN;
        let is_known = has_drawn && half_width(standard_error, runs) <= PRECISION * mean;
        if is_known || runs >= RUNS_MAX || sums.events >= EVENTS_MAX {
            return Throughput {
                cycles_per_ns: mean,
                standard_error,
                runs,
                shared: if sums.running_ns > 0.0 { sums.shared_ns / sums.running_ns } else { 0.0 },
                wake_ns: if sums.wakes > 0 { sums.wake_ns / sums.wakes as f64 } else { 0.0 },
                awake: sums.awake_ns / COUNTED_NS / runs as f64,
                events: sums.events,
            };
        }
    }
}

fn half_width(standard_error: f64, runs: usize) -> f64 {
    standard_error
        * match runs {
            ..LOT => ERRORS_OF_95_OF_FEW,
            LOT => ERRORS_OF_95_OF_A_LOT,
            // Hundreds of runs are needed where runs differ.
            _ => stats::STANDARD_ERRORS_OF_95,
        }
}

fn run(machine: &Compiled, load: &Load, policy: Policy, plan: &[usize], seed: u64) -> Totals {
    let mut engine = Engine::new(machine, load, policy, plan, seed);
    let before = engine.run_until(WARM_UP_NS);
    engine.run_until(WARM_UP_NS + COUNTED_NS).since(&before)
}

/// The ratio of two throughputs whose runs are independent.
pub fn gain(with: &Throughput, without: &Throughput) -> Gain {
    let ratio = with.cycles_per_ns / without.cycles_per_ns;
    let relative = |one: &Throughput| half_width(one.standard_error, one.runs) / one.cycles_per_ns;
    let half = ratio * relative(with).hypot(relative(without));
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    Gain {
        percent: percent(ratio),
        interval: Interval { low: percent(ratio - half), high: percent(ratio + half) },
    }
}

/// A CPU for each thread, with as many sharing groups together as give the best throughput if all threads compute all
/// the time.
///
/// Groups are alike in the loads of this module, so that only their number matters; it is tried from none to all, in units of each
/// level that holds more of shared data than the one around it.
fn plan(machine: &Compiled, load: &Load) -> Vec<usize> {
    let always = always_computing(load);
    let apart = std::iter::once(planned(machine, load, 0, 0));
    let together = machine.sharing_levels().into_iter().flat_map(|level| {
        (1..=load.shared_sets.len()).map(move |together| planned(machine, load, level, together))
    });
    let candidates = apart.chain(together);
    let value = |plan: &Vec<usize>| run(machine, &always, Policy::DataAware, plan, 0).work_cycles;
    let best = candidates
        .map(|plan| (value(&plan), plan))
        .reduce(|best, one| if one.0 > best.0 { one } else { best });
    best.map_or_else(Vec::new, |(_, plan)| plan)
}

fn always_computing(load: &Load) -> Load {
    let mut load = load.clone();
    for thread in &mut load.threads {
        thread.steps = vec![Step::Compute(Length::Endless)];
    }
    load
}
