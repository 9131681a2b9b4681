//! One probe of the running machine: all clocks at one moment, the surroundings, and two counters compared for a moment.

use std::sync::RwLock;
use std::thread;

use clock::{
    CounterSource, Exchange, ExchangeLimits, Exchanged, FRESH_ENOUGH, KernelClock, Side, SideView,
    Surroundings, Timescale, VmClock, monotonic_raw_ns,
};
use host::live::{Pinned, current_cpu};
use host::{Root, hardware_clock_seconds, live};
use machine::CpuId;

use super::{Meeting, Pulse};
use crate::clock_pairs::one_side;
use crate::cores::CpuPair;
use crate::session::SessionError;

/// A fifth of a millisecond gives two free CPUs thousands of looks at each other; busy ones get three times that and are then
/// given up.
const LIMITS: ExchangeLimits =
    ExchangeLimits { least_ns: 200_000, deadline_ns: 600_000, fresh_wanted: FRESH_ENOUGH };
/// Probes from one look at the hardware clock to the next: reading it can take milliseconds.
const HARDWARE_CLOCK_EVERY: u64 = 60;
/// Readings of all clocks, of which the closest together counts.
const READINGS: usize = 5;

/// What is needed to probe.
#[derive(Debug)]
pub struct Prober<'a, S> {
    source: &'a RwLock<S>,
    pairs: Vec<CpuPair>,
    vm_clock: Option<VmClock>,
    made: u64,
}

impl<'a, S: CounterSource + Send> Prober<'a, S> {
    /// Will compare each of the CPUs with the first, in turns.
    ///
    /// # Errors
    /// A debug build, in which an exchange is several times slower.
    pub fn new(source: &'a RwLock<S>, cpus: &[CpuId]) -> Result<Self, SessionError> {
        if cfg!(debug_assertions) {
            return Err(SessionError::DebugBuild);
        }
        let pairs = cpus
            .split_first()
            .map(|(&first, others)| others.iter().map(|&cpu| CpuPair { a: first, b: cpu }).collect());
        Ok(Self { source, pairs: pairs.unwrap_or_default(), vm_clock: VmClock::map(), made: 0 })
    }

    /// One probe that was due at a time of the raw clock; without a comparison of counters if those are to be spared.
    pub fn probe(&mut self, due_ns: u64, compares: bool) -> Pulse {
        let number = self.made;
        self.made += 1;
        let wanted = self.pairs.get((number % self.pairs.len().max(1) as u64) as usize).copied();
        let meeting = wanted.filter(|_| compares).map(|pair| Meeting { pair, seen: meet(pair, self.source) });
        let look_at_rtc = number.is_multiple_of(HARDWARE_CLOCK_EVERY);
        let hardware_clock_s = if look_at_rtc { hardware_clock_seconds(&Root::live()).ok() } else { None };
        let readings = (0..READINGS).filter_map(|_| self.clocks());
        let Moment { raw_ns, ticks, realtime_ns, boottime_ns, width_ns } =
            readings.min_by_key(|moment| moment.width_ns).unwrap_or_default();
        Pulse {
            due_ns,
            raw_ns,
            ticks,
            realtime_ns,
            boottime_ns,
            width_ns,
            surroundings: Surroundings::look(KernelClock::Vdso, self.vm_clock.as_ref()),
            synchronised: live::ntp_state().map(|state| state.synchronised),
            hardware_clock_s,
            meeting,
        }
    }

    fn clocks(&self) -> Option<Moment> {
        let source = self.source.read().ok()?;
        let cpu = current_cpu().map_or(0, |cpu| cpu.0);
        let before_ns = monotonic_raw_ns();
        let boottime_ns = KernelClock::Vdso.read_ns(Timescale::Boottime)?;
        let realtime_ns = KernelClock::Vdso.read_ns(Timescale::Realtime)?;
        let ticks = source.ordered_ticks(cpu);
        let after_ns = monotonic_raw_ns();
        let width_ns = after_ns.saturating_sub(before_ns);
        Some(Moment { raw_ns: before_ns + width_ns / 2, ticks, realtime_ns, boottime_ns, width_ns })
    }
}

/// All clocks at one moment.
#[derive(Debug, Clone, Copy, Default)]
struct Moment {
    raw_ns: u64,
    ticks: u64,
    realtime_ns: u64,
    boottime_ns: u64,
    width_ns: u64,
}

/// The calling thread and one that lives as long as the exchange.
fn meet<S: CounterSource + Send>(
    pair: CpuPair,
    source: &RwLock<S>,
) -> Result<Option<Exchanged>, (CpuId, String)> {
    let exchange = Exchange::new();
    let side = |side: Side, cpu: CpuId| -> Result<SideView, (CpuId, String)> {
        let _pinned = Pinned::to(cpu).map_err(|error| (cpu, error.to_string()))?;
        one_side(cpu, side, &exchange, source, &LIMITS).map_err(|reason| (cpu, reason))
    };
    let [first, second] = thread::scope(|scope| {
        let other = scope.spawn(|| side(Side::Second, pair.b));
        let first = side(Side::First, pair.a);
        [first, other.join().unwrap_or_else(|_| Err((pair.b, "its thread panicked".to_owned())))]
    });
    Ok(Exchanged::of(&first?, &second?).filter(Exchanged::is_usable))
}
