//! A watch over clocks that has no end: a probe each second, a thousandth of one CPU, and a word when something happens.
//!
//! Each probe reads the kernel's clocks and the counter at one moment, looks at the surroundings (clock source, CPUs, sleep,
//! the hypervisor's marker) and compares the counters of two CPUs by a short exchange: each CPU against the first, in turns.
//! [`Watcher`] judges probes and touches nothing, so that it runs on simulated ones; [`probe`] makes them.
//!
//! ```text
//! two counters          as in a check: a step, a slope, an offset that no exchange allows to be zero
//! time of day           REALTIME - BOOTTIME moved: both are slewed alike, so only a step moves it
//! counter               counter - RAW moved by more than calibration can
//! nothing ran           a probe came late by more than a busy machine makes it
//! hardware clock        hardware clock - REALTIME moved, and the time of day was not set: paused or restored
//! ```

pub mod probe;

use std::collections::{BTreeMap, BTreeSet};

use clock::{Disruption, Exchanged, SIGHTINGS_FOR_DRIFT, SystemState};
use machine::CpuId;
use record::{ClockFault, ClockHappening, ClockPair, ClockWatchSummary};

use crate::clock_pairs::pair_watch::PairWatch;
use crate::clock_pairs::{Place, Stress};
use crate::probe::CpuPair;

/// Exchanges of one pair that are remembered; then every second one is forgotten.
const REMEMBERED: usize = 512;
/// A step of the time of day below this is not reported from the time between two reads, in nanoseconds.
const STEP_NS_MIN: f64 = 10_000.0;
/// How far a counter and the raw clock may part between two probes, in nanoseconds: a probe that was interrupted.
const JUMP_NS_MIN: f64 = 1_000_000.0;
/// The same as a share of the time between: two calibrations of one counter differ by less. Linux refines to within 1 % of
/// the early one (arch/x86/kernel/tsc.c, `tsc_refine_calibration_work`), and 20 ms of ours are a few ppm.
const JUMP_SHARE: f64 = 200e-6;
/// A busy machine makes a probe late; this late, nothing ran, in nanoseconds.
const STALL_NS_MIN: f64 = 2e9;
/// A hardware clock tells seconds: two of its readings err by one.
const HARDWARE_CLOCK_S_MIN: f64 = 2.5;

/// What one probe saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Pulse {
    /// When it was to happen, by the raw clock, in nanoseconds.
    pub due_ns: u64,
    /// The raw clock.
    pub raw_ns: u64,
    /// The counter of whatever CPU the watch ran on, at that moment.
    pub ticks: u64,
    /// REALTIME at that moment.
    pub realtime_ns: u64,
    /// BOOTTIME at that moment.
    pub boottime_ns: u64,
    /// Time that reading all of them took.
    pub width_ns: u64,
    /// Clock source, CPUs, sleep, the hypervisor's marker.
    pub system_state: SystemState,
    /// Whether a daemon disciplines the clock; `None` where nobody says.
    pub synchronised: Option<bool>,
    /// The hardware clock in seconds; it is not looked at by each probe.
    pub hardware_clock_s: Option<u64>,
    /// Two counters compared.
    pub exchange: Option<PairExchange>,
}

/// Two CPUs that were to meet.
#[derive(Debug, Clone, PartialEq)]
pub struct PairExchange {
    /// The two.
    pub pair: CpuPair,
    /// What they saw of each other, nothing if they did not run at the same time; or which CPU is lost, and why.
    pub seen: Result<Option<Exchanged>, (CpuId, String)>,
}

/// What has been reported of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Reported {
    offset: bool,
    slope: bool,
    moved: bool,
}

/// Judges probes one after the other.
#[derive(Debug, Clone)]
pub struct Watcher {
    counter_hz: f64,
    resolution_ticks: u64,
    pairs: BTreeMap<CpuPair, (PairWatch, Reported)>,
    lost: BTreeSet<CpuId>,
    coverage: Coverage,
    last: Option<Pulse>,
    /// Hardware clock less time of day when both were last read.
    hardware_clock_ahead_s: Option<f64>,
}

impl Watcher {
    /// Nothing is known yet of counters that count at this rate, in steps of so many ticks; so many pairs take turns, one each
    /// `period_ns`.
    pub fn new(counter_hz: f64, resolution_ticks: u64, pairs: usize, period_ns: u64) -> Self {
        Self {
            counter_hz,
            resolution_ticks,
            pairs: BTreeMap::new(),
            lost: BTreeSet::new(),
            coverage: Coverage::of(pairs, period_ns),
            last: None,
            hardware_clock_ahead_s: None,
        }
    }

    /// What has happened since the last probe, the gravest first.
    pub fn judge(&mut self, mut pulse: Pulse) -> Vec<ClockHappening> {
        let mut happened = Vec::new();
        if let Some(last) = self.last.take() {
            system_state(&last, &pulse, &mut happened);
            self.system_clocks(&last, &pulse, &mut happened);
        }
        if happened.iter().any(unsettles_counters) {
            self.pairs.clear();
            self.lost.clear();
            self.coverage.part();
        }
        self.hardware_clock(&pulse, &mut happened);
        // What comes next is held against clocks and surroundings only.
        match pulse.exchange.take() {
            Some(PairExchange { pair, seen: Ok(exchanged) }) => {
                if exchanged.is_some() {
                    self.coverage.add(pair, pulse.raw_ns);
                }
                happened.extend(self.counters(pair, exchanged.as_ref(), pulse.ticks));
            }
            Some(PairExchange { seen: Err((cpu, reason)), .. }) if self.lost.insert(cpu) => {
                happened.push(ClockHappening::Lost { cpu, reason });
            }
            _ => {}
        }
        self.last = Some(pulse);
        happened
    }

    /// What is certain of pairs that were seen too rarely to say more, at the end of the watch.
    pub fn finish(&mut self) -> Vec<ClockHappening> {
        let counter_hz = self.counter_hz;
        let moved = self.pairs.values_mut().filter_map(|(watch, reported)| {
            let is_new = !(reported.moved || reported.slope) && watch.motion()?.fault == ClockFault::Moved;
            is_new.then(|| happening(watch, reported, counter_hz)).flatten()
        });
        moved.collect()
    }

    /// Puts into a summary how much of the time was watched, and what would not have been seen.
    pub fn summarise(&self, summary: &mut ClockWatchSummary) {
        summary.watched_share = self.coverage.share(summary.watched_s * 1e9);
        let seen = || self.pairs.values().map(|(watch, _)| watch);
        let ns = 1e9 / self.counter_hz;
        let blind = seen().filter_map(PairWatch::blind_below_ticks).map(|ticks| ticks * ns);
        summary.blind_below_ns = blind.filter(|ns| ns.is_finite()).reduce(f64::max);
        summary.unseen_drift_ppb =
            seen().filter_map(PairWatch::visible_rate).map(|rate| rate * 1e9).reduce(f64::max);
    }

    /// What is known of each pair.
    pub fn rows(&self) -> Vec<ClockPair> {
        self.pairs.values().map(|(watch, _)| watch.row(self.counter_hz)).collect()
    }

    /// The last probe, without its exchange.
    pub fn last(&self) -> Option<&Pulse> {
        self.last.as_ref()
    }

    fn system_clocks(&mut self, last: &Pulse, now: &Pulse, happened: &mut Vec<ClockHappening>) {
        let uncertain_ns = (last.width_ns + now.width_ns) as f64;
        let ahead_ns = |pulse: &Pulse| pulse.realtime_ns.wrapping_sub(pulse.boottime_ns).cast_signed();
        let step_ns = ahead_ns(now).wrapping_sub(ahead_ns(last)) as f64;
        if step_ns.abs() > STEP_NS_MIN + uncertain_ns {
            happened.push(ClockHappening::SystemTimeStepped { ns: step_ns });
            // The hardware clock may or may not have been set with it.
            self.hardware_clock_ahead_s = None;
        }
        let raw_ns = now.raw_ns.saturating_sub(last.raw_ns) as f64;
        let slept = happened.iter().any(|what| matches!(what, ClockHappening::Suspended { .. }));
        if slept {
            // The counter may have gone on, stood, or begun anew.
            return;
        }
        let counted_ns = now.ticks.wrapping_sub(last.ticks).cast_signed() as f64 / self.counter_hz * 1e9;
        let jump_ns = counted_ns - raw_ns;
        if jump_ns.abs() > JUMP_NS_MIN + uncertain_ns + JUMP_SHARE * raw_ns {
            happened.push(ClockHappening::CounterJumped { ns: jump_ns });
        }
        let late_ns = now.raw_ns.saturating_sub(now.due_ns) as f64;
        if late_ns > STALL_NS_MIN {
            happened.push(ClockHappening::Stalled { ns: late_ns });
        }
    }

    fn hardware_clock(&mut self, now: &Pulse, happened: &mut Vec<ClockHappening>) {
        let Some(seconds) = now.hardware_clock_s else { return };
        let ahead_s = seconds as f64 - now.realtime_ns as f64 / 1e9;
        let before_s = self.hardware_clock_ahead_s.replace(ahead_s);
        if let Some(gained_s) = before_s.map(|before_s| ahead_s - before_s)
            && gained_s.abs() > HARDWARE_CLOCK_S_MIN
        {
            happened.push(ClockHappening::HardwareClockMoved { s: gained_s });
        }
    }

    fn counters(
        &mut self,
        pair: CpuPair,
        exchanged: Option<&Exchanged>,
        now_ticks: u64,
    ) -> Option<ClockHappening> {
        let new = || (PairWatch::new(pair, now_ticks, self.resolution_ticks), Reported::default());
        let (watch, reported) = self.pairs.entry(pair).or_insert_with(new);
        watch.exchanges += 1;
        watch.add(Place { stress: Stress::AsIs, stretch: 0 }, exchanged);
        if watch.whole.sightings.len() >= REMEMBERED {
            watch.thin();
        }
        watch.remember_overlaps(REMEMBERED);
        // Where exchanges often fail, what is certain is reported from fewer than show drift.
        if exchanged.is_none() || watch.exchanges < SIGHTINGS_FOR_DRIFT {
            return None;
        }
        if reported.slope && !watch.whole.rate().is_empty() {
            return None;
        }
        let happened = happening(watch, reported, self.counter_hz)?;
        let fault = match &happened {
            ClockHappening::Counters { fault, .. } => *fault,
            _ => return None,
        };
        if !reported.slope && !matches!(fault, ClockFault::Offset | ClockFault::Moved) {
            *watch = PairWatch::new(pair, now_ticks, self.resolution_ticks);
        }
        Some(happened)
    }
}

/// What a pair shows that has not been reported of it; it has been afterwards.
fn happening(watch: &mut PairWatch, reported: &mut Reported, counter_hz: f64) -> Option<ClockHappening> {
    let motion = watch.motion()?;
    let is_news = match motion.fault {
        ClockFault::Offset => !reported.offset && watch.whole.sightings.len() >= SIGHTINGS_FOR_DRIFT,
        ClockFault::Slope => !reported.slope,
        ClockFault::Moved => !reported.moved,
        _ => true,
    };
    if !is_news {
        return None;
    }
    let row = watch.row(counter_hz);
    // What comes after a jump differs by a constant, and that is no news.
    reported.offset = true;
    reported.moved = motion.fault == ClockFault::Moved;
    reported.slope = motion.fault == ClockFault::Slope;
    Some(ClockHappening::Counters {
        a: watch.pair.a,
        b: watch.pair.b,
        fault: motion.fault,
        interval_ns: row.interval_ns,
        step_ns: motion.jump.map(|jump| jump.ticks / counter_hz * 1e9),
        rate_ppb: row.rate_ppb.filter(|_| motion.fault == ClockFault::Slope),
        seen_after_s: row.watched_s,
    })
}

/// What changed around the clocks.
fn system_state(last: &Pulse, now: &Pulse, happened: &mut Vec<ClockHappening>) {
    let (before, after) = (&last.system_state, &now.system_state);
    if let Some(Disruption::VmClock) = before.disruption(after) {
        happened.push(ClockHappening::VmDisrupted);
    }
    let quiet = SystemState { vm_marker: after.vm_marker, ..before.clone() };
    if let Some(Disruption::Suspend) = quiet.disruption(after) {
        happened.push(ClockHappening::Suspended { ns: (after.asleep_ns - before.asleep_ns) as f64 });
    }
    if before.clock_source != after.clock_source {
        let (from, to) = (before.clock_source.clone(), after.clock_source.clone());
        happened.push(ClockHappening::ClockSource { from, to });
    }
    if before.online_cpus != after.online_cpus {
        let (from, to) = (before.online_cpus.clone(), after.online_cpus.clone());
        happened.push(ClockHappening::HotPlug { from, to });
    }
    if let (Some(before), Some(synchronised)) = (last.synchronised, now.synchronised)
        && before != synchronised
    {
        happened.push(ClockHappening::Synchronisation { synchronised });
    }
}

/// Whether counters may show anything after this, so that what was seen before is worth nothing.
fn unsettles_counters(what: &ClockHappening) -> bool {
    matches!(
        what,
        ClockHappening::VmDisrupted
            | ClockHappening::Suspended { .. }
            | ClockHappening::HotPlug { .. }
            | ClockHappening::CounterJumped { .. }
    )
}

/// Turns of a pair from one usable exchange to the next that still count as watched: one may be missed.
const TURNS: f64 = 2.5;

/// Usable exchanges of one pair.
#[derive(Debug, Clone, Copy, Default)]
struct Covered {
    last_ns: Option<u64>,
    ns: f64,
}

/// The time that each pair was watched in.
#[derive(Debug, Clone)]
struct Coverage {
    pairs: usize,
    /// The longest time between two usable exchanges in which a pair counts as watched.
    reach_ns: f64,
    covered: BTreeMap<CpuPair, Covered>,
}

impl Coverage {
    /// Of so many pairs that take turns, one each `period_ns`.
    fn of(pairs: usize, period_ns: u64) -> Self {
        Self { pairs, reach_ns: TURNS * pairs as f64 * period_ns as f64, covered: BTreeMap::new() }
    }

    /// A usable exchange of a pair.
    fn add(&mut self, pair: CpuPair, at_ns: u64) {
        let covered = self.covered.entry(pair).or_default();
        if let Some(last_ns) = covered.last_ns.replace(at_ns) {
            covered.ns += (at_ns.saturating_sub(last_ns) as f64).min(self.reach_ns);
        }
    }

    /// What comes next has nothing to do with what came before.
    fn part(&mut self) {
        self.covered.values_mut().for_each(|covered| covered.last_ns = None);
    }

    /// Share of so much time, mean of all pairs; `None` if there are none.
    fn share(&self, watched_ns: f64) -> Option<f64> {
        let covered_ns = self.covered.values().fold(0.0, |sum, covered| sum + covered.ns);
        (self.pairs > 0).then(|| (covered_ns / (self.pairs as f64 * watched_ns.max(1.0))).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests;
