//! Whether the counters of CPUs agree, and stay so: offset and rate of every pair, with bounds, and what moves them.
//!
//! Every pair of CPUs is compared once per sweep, in rounds of pairs that share no CPU in turns. Between sweeps the
//! CPUs do what the stress asks for: nothing, work, or half of them work ([`Stress`]); a counter that cares shows it in what
//! the pairs see ([`classify`]). The counters are read through `clock::CounterSource`, so that all of it runs on counters
//! with known faults as well.
//!
//! | what | module |
//! |---|---|
//! | one thread per CPU, with what it does between exchanges | `worker_group` |
//! | what is known of a pair | [`pair_watch`] |
//! | what is wrong with it | [`classify`] |
//! | the verdict on all, and on each thing that the CPUs did | [`verdict`] |
//! | time going backwards between two threads | [`backwards`] |
//! | the kernel's clocks against the raw one | [`system_clocks`] |
//! | all of it in a check-up | [`check_up`] |

pub mod backwards;
pub mod check_up;
pub mod classify;
pub mod pair_watch;
pub mod system_clocks;
pub mod verdict;
mod worker_group;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::RwLock;
use std::time::{Duration, Instant};

use clock::{CounterSource, ExchangeLimits, Exchanged, Regime, resolution_ticks};
use host::live::{self, AffinityError};
use kernels::random::SplitMix64;
use machine::CpuId;
use pair_watch::PairWatch;
pub(crate) use worker_group::one_side;
use worker_group::{PairViews, WorkerGroup};

use crate::probe::CpuPair;
use crate::session::Progress;

/// Time from the start of one sweep to that of the next, where a sweep takes less: a twentieth of a CPU for a pair.
const SWEEP_PERIOD: Duration = Duration::from_millis(60);
/// The same after a sweep in which nothing was usable.
const RETRY_PERIOD: Duration = Duration::from_millis(20);
/// Stretches in which each stress is applied; each comes more than once, so that what moves with the stress is not mistaken
/// for what moves with time.
const STRETCHES_PER_STRESS: u32 = 2;

machine::named! {
    /// What the CPUs do between exchanges.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Stress {
        /// What they do without us: they sleep unless others keep them busy.
        AsIs = "as_is",
        /// All work.
        Load = "load",
        /// All sleep.
        Idle = "idle",
        /// Every second one works, the others sleep, and the other way round in the next stretch.
        Mixed = "mixed",
        /// All work at their highest frequency.
        Fastest = "fastest",
        /// All work at their lowest.
        Slowest = "slowest",
        /// All work, every second one at its lowest frequency.
        MixedSpeeds = "mixed_speeds",
        /// All work, each at its highest or lowest frequency, chosen anew for each sweep.
        Walk = "walk",
    }
}

impl Stress {
    /// Those that hold P-states.
    pub const OF_PSTATES: [Self; 4] = [Self::Fastest, Self::Slowest, Self::MixedSpeeds, Self::Walk];

    /// Whether it holds P-states.
    pub const fn holds_pstates(self) -> bool {
        matches!(self, Self::Fastest | Self::Slowest | Self::MixedSpeeds | Self::Walk)
    }

    /// Whether the CPU of this index is held at its lowest frequency in this sweep.
    pub fn is_slow(self, cpu_index: usize, sweep: u64) -> bool {
        match self {
            Self::Slowest => true,
            Self::MixedSpeeds => cpu_index % 2 == 1,
            Self::Walk => SplitMix64::new(sweep << 16 | cpu_index as u64).next_u64() & 1 == 1,
            _ => false,
        }
    }

    /// What the counter of a CPU may notice of it between exchanges.
    fn regime(self, cpu_index: usize, place: Place, sweep: u64) -> Regime {
        if self.is_slow(cpu_index, sweep) {
            Regime::Slow { pstate: 1 }
        } else if self.works(cpu_index, place.stretch) {
            Regime::Load
        } else {
            Regime::Idle
        }
    }

    /// Whether the CPU of this index works between exchanges in this stretch.
    const fn works(self, cpu_index: usize, stretch: u32) -> bool {
        match self {
            Self::AsIs | Self::Idle => false,
            Self::Load | Self::Fastest | Self::Slowest | Self::MixedSpeeds | Self::Walk => true,
            Self::Mixed => (cpu_index + stretch as usize).is_multiple_of(2),
        }
    }
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The CPUs, ascending, at least two.
    pub cpus: Vec<CpuId>,
    /// What they do between exchanges, in turns; nothing is `AsIs`.
    pub stresses: Vec<Stress>,
    /// Time for all sweeps in seconds.
    pub budget_s: f64,
    /// Of each exchange.
    pub limits: ExchangeLimits,
}

/// Who can hold CPUs at frequencies.
pub trait Frequencies {
    /// Holds every CPU at its lowest frequency for which `is_slow` is true, by its index, and the others at their highest.
    ///
    /// # Errors
    /// Why it cannot.
    fn hold(&mut self, is_slow: &dyn Fn(usize) -> bool) -> Result<(), String>;
}

/// Nobody: no stress that holds P-states may be asked for.
#[derive(Debug, Clone, Copy)]
pub struct NoFrequencies;

impl Frequencies for NoFrequencies {
    fn hold(&mut self, _is_slow: &dyn Fn(usize) -> bool) -> Result<(), String> {
        Err("nobody here holds frequencies".to_owned())
    }
}

/// Why counters were not compared.
#[derive(Debug, thiserror::Error)]
pub enum ClockPairsError {
    /// Without optimisation an exchange is several times slower.
    #[error(transparent)]
    Session(#[from] crate::session::SessionError),
    /// Only one CPU.
    #[error(
        "only CPU {0} may be used, and one counter cannot be compared with itself; if the machine has more CPUs, allow \
             a second one"
    )]
    OneCpu(CpuId),
    /// The counter may not be read.
    #[error(transparent)]
    Denied(#[from] clock::CounterDenied),
    /// A CPU may not be used.
    #[error(transparent)]
    Affinity(#[from] AffinityError),
}

/// What the sweeps saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Every pair, in the order of the first round.
    pub pairs: Vec<PairWatch>,
    /// Steps in which the counter counts, in ticks.
    pub resolution_ticks: u64,
    /// What the CPUs did.
    pub stresses: BTreeSet<Stress>,
    /// Sweeps over all pairs that began.
    pub sweeps: usize,
    /// Time of all exchanges, without what was slept between them.
    pub probe_s: f64,
    /// Seconds from the first sweep to the end.
    pub watched_s: f64,
    /// CPUs that went away, with what was seen of it.
    pub lost: BTreeMap<CpuId, String>,
    /// Why frequencies could not be held any longer, if so; the rest was done as it is.
    pub not_held: Option<String>,
    /// True if a signal ended it.
    pub interrupted: bool,
}

/// Compares the counters of all pairs until the budget is spent.
///
/// # Errors
/// A debug build, one CPU, or a CPU that may not be used.
pub fn run<S: CounterSource + Send>(
    settings: &Settings,
    source: &RwLock<S>,
    frequencies: &mut dyn Frequencies,
    progress: &dyn Progress,
) -> Result<Seen, ClockPairsError> {
    if cfg!(debug_assertions) {
        return Err(crate::session::SessionError::DebugBuild.into());
    }
    watch(settings, source, frequencies, progress)
}

/// As `run`, whatever the build.
fn watch<S: CounterSource + Send>(
    settings: &Settings,
    source: &RwLock<S>,
    frequencies: &mut dyn Frequencies,
    progress: &dyn Progress,
) -> Result<Seen, ClockPairsError> {
    if let [only] = settings.cpus.as_slice() {
        return Err(ClockPairsError::OneCpu(*only));
    }
    let rounds = rounds(&settings.cpus);
    let read = || source.read().expect("no thread panics with the counters in hand");
    let (origin_ticks, resolution_ticks) = (read().ticks(0), resolution_ticks(&*read(), 0));
    let watch_of = |pair: &CpuPair| (*pair, PairWatch::new(*pair, origin_ticks, resolution_ticks));
    let mut watches: BTreeMap<CpuPair, PairWatch> = rounds.iter().flatten().map(watch_of).collect();
    let mut seen = Seen {
        pairs: Vec::new(),
        resolution_ticks,
        stresses: BTreeSet::new(),
        sweeps: 0,
        probe_s: 0.0,
        watched_s: 0.0,
        lost: BTreeMap::new(),
        not_held: None,
        interrupted: false,
    };
    WorkerGroup::with(&settings.cpus, source, settings.limits, |group| {
        let schedule = Schedule::new(settings);
        let started = Instant::now();
        let until = started + Duration::try_from_secs_f64(settings.budget_s).unwrap_or_default();
        while let Some(place) = schedule.at(started.elapsed().as_secs_f64()) {
            let sweep_started = Instant::now();
            let number = seen.sweeps as u64;
            if place.stress.holds_pstates() && seen.not_held.is_none() {
                let held = frequencies.hold(&|cpu_index| place.stress.is_slow(cpu_index, number));
                seen.not_held = held.err();
            }
            if place.stress.holds_pstates() && seen.not_held.is_some() {
                // What is seen from here on would stand under the wrong name.
                return;
            }
            seen.stresses.insert(place.stress);
            let usable = sweep(group, &rounds, place, until, &mut watches, &mut seen);
            seen.sweeps += 1;
            seen.probe_s += sweep_started.elapsed().as_secs_f64();
            seen.watched_s = started.elapsed().as_secs_f64();
            progress.update(started.elapsed().as_secs_f64() / settings.budget_s);
            seen.interrupted = live::pending_signal().is_some();
            if seen.interrupted {
                return;
            }
            let period = if usable { SWEEP_PERIOD } else { RETRY_PERIOD };
            let rest = period.saturating_sub(sweep_started.elapsed());
            std::thread::sleep(rest.min(until.saturating_duration_since(Instant::now())));
        }
    })?;
    seen.pairs = rounds.iter().flatten().filter_map(|pair| watches.remove(pair)).collect();
    Ok(seen)
}

/// Every pair once, unless the time is up before: a round that has begun is the last. True if any exchange was usable.
fn sweep<S: CounterSource + Send>(
    group: &WorkerGroup<'_, S>,
    rounds: &[Vec<CpuPair>],
    place: Place,
    until: Instant,
    watches: &mut BTreeMap<CpuPair, PairWatch>,
    seen: &mut Seen,
) -> bool {
    let mut usable = false;
    for round in rounds {
        if live::pending_signal().is_some() || Instant::now() >= until {
            break;
        }
        let sweep = seen.sweeps as u64;
        group.behave(|cpu_index| place.stress.regime(cpu_index, place, sweep));
        for PairViews { pair, views } in group.exchange(round) {
            let Some(watch) = watches.get_mut(&pair) else { continue };
            watch.exchanges += 1;
            match views {
                Ok([first, second]) => {
                    let exchanged = Exchanged::of(&first, &second);
                    usable |= exchanged.as_ref().is_some_and(Exchanged::is_usable);
                    watch.add(place, exchanged.as_ref());
                }
                Err((cpu, reason)) => _ = seen.lost.insert(cpu, reason),
            }
        }
    }
    usable
}

/// Where in the schedule a sweep stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// What the CPUs do.
    pub stress: Stress,
    /// Which stretch of the whole run it is, from 0.
    pub stretch: u32,
}

/// Stresses in turns, each for equal stretches.
#[derive(Debug, Clone, PartialEq)]
struct Schedule {
    stresses: Vec<Stress>,
    budget_s: f64,
}

impl Schedule {
    fn new(settings: &Settings) -> Self {
        let stresses =
            if settings.stresses.is_empty() { vec![Stress::AsIs] } else { settings.stresses.clone() };
        Self { stresses, budget_s: settings.budget_s }
    }

    /// What is to be done so many seconds after the start; `None` when it is over.
    fn at(&self, after_s: f64) -> Option<Place> {
        if after_s >= self.budget_s {
            return None;
        }
        let kinds = self.stresses.len() as u32;
        let stretches = if kinds == 1 { 1 } else { kinds * STRETCHES_PER_STRESS };
        let stretch = ((after_s / self.budget_s * f64::from(stretches)) as u32).min(stretches - 1);
        Some(Place { stress: self.stresses[(stretch % kinds) as usize], stretch })
    }
}

#[cfg(test)]
pub(crate) mod tests;

/// The rounds; none for fewer than two CPUs. Each CPU must occur once.
fn rounds(cpus: &[CpuId]) -> Vec<Vec<CpuPair>> {
    if cpus.len() < 2 {
        return Vec::new();
    }
    // With an odd number the place of the missing one gives its opponent a rest.
    let mut places: Vec<Option<CpuId>> = cpus.iter().copied().map(Some).collect();
    if places.len() % 2 == 1 {
        places.push(None);
    }
    let count = places.len();
    let mut rounds = Vec::with_capacity(count - 1);
    for _ in 1..count {
        let met = (0..count / 2).filter_map(|index| places[index].zip(places[count - 1 - index]));
        rounds.push(met.map(|(a, b)| CpuPair { a: a.min(b), b: a.max(b) }).collect());
        places[1..].rotate_right(1);
    }
    rounds
}

/// Time of one sweep over all pairs at most, in seconds, if every exchange uses up its time.
fn sweep_worst_s(cpu_count: usize, exchange_deadline_s: f64) -> f64 {
    /// Waking the threads of a round and gathering what they saw.
    const BETWEEN_ROUNDS_S: f64 = 0.000_5;
    let rounds = if cpu_count < 2 { 0 } else { cpu_count - 1 + cpu_count % 2 };
    rounds as f64 * (exchange_deadline_s + BETWEEN_ROUNDS_S)
}
