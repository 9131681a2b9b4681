//! One probe of the running machine: all clocks at one moment, the surroundings, and two counters compared for a moment.

use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clock::{
    CounterSource, Exchange, ExchangeLimits, Exchanged, FRESH_ENOUGH, KernelClock, Side, SystemState,
    Timescale, VmClock, monotonic_raw_ns,
};
use host::live::{Pinned, current_cpu, start_on};
use host::{Root, hardware_clock_seconds, live};
use machine::CpuId;

use super::{PairExchange, Pulse};
use crate::clock_pairs::one_side;
use crate::probe::CpuPair;
use crate::session::SessionError;

/// A fifth of a millisecond gives two free CPUs thousands of looks at each other; busy ones get three times that and are then
/// given up.
const LIMITS: ExchangeLimits =
    ExchangeLimits { least_ns: 200_000, deadline_ns: 600_000, fresh_needed: FRESH_ENOUGH };
/// Meetings of a probe at most, where the two CPUs did not run at once before.
const TRIES: u32 = 8;
/// The second thread gets its CPU within this, or not in time: some slices of the scheduler, which does not charge a sleeper.
const PATIENCE: Duration = Duration::from_millis(50);
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
    /// Why the last comparison that had no thread had none.
    refused: Option<String>,
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
        Ok(Self {
            source,
            pairs: pairs.unwrap_or_default(),
            vm_clock: VmClock::map(),
            made: 0,
            refused: None,
        })
    }

    /// Why counters could not be compared where no thread could be started, if so.
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// One probe that was due at a time of the raw clock. Counters are compared while `may_compare` allows it, again if the two
    /// CPUs did not meet: others may have had one of them.
    pub fn probe(&mut self, due_ns: u64, may_compare: impl Fn() -> bool) -> Pulse {
        let number = self.made;
        self.made += 1;
        let next = self.pairs.get((number % self.pairs.len().max(1) as u64) as usize).copied();
        let exchange = next.filter(|_| may_compare()).and_then(|pair| self.compare(pair, &may_compare));
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
            system_state: SystemState::look(KernelClock::Vdso, self.vm_clock.as_ref()),
            synchronised: live::ntp_state().map(|state| state.synchronised),
            hardware_clock_s,
            exchange,
        }
    }

    /// Meets until something was seen; `None` where no thread could be started.
    fn compare(&mut self, pair: CpuPair, may_compare: &impl Fn() -> bool) -> Option<PairExchange> {
        let mut tries = 0;
        loop {
            tries += 1;
            match meet(pair, self.source) {
                Ok(None) if tries < TRIES && may_compare() => {}
                Err(NoExchange::NoThread(reason)) => {
                    self.refused = Some(reason);
                    return None;
                }
                Err(NoExchange::Lost(cpu, reason)) => {
                    return Some(PairExchange { pair, seen: Err((cpu, reason)) });
                }
                Ok(exchanged) => return Some(PairExchange { pair, seen: Ok(exchanged) }),
            }
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

/// Why two CPUs did not meet.
enum NoExchange {
    /// One may not be used any more.
    Lost(CpuId, String),
    /// No second thread was to be had.
    NoThread(String),
}

/// The calling thread and one that lives as long as the exchange. The caller sleeps until the other has its CPU: who was woken
/// is run before those who work all the time, so that both are there at once on a busy machine, too.
fn meet<S: CounterSource + Send>(pair: CpuPair, source: &RwLock<S>) -> Result<Option<Exchanged>, NoExchange> {
    let (exchange, is_there) = (Exchange::new(), AtomicBool::new(false));
    let lost = |cpu: CpuId| move |reason: String| NoExchange::Lost(cpu, reason);
    let run = |side: Side, cpu: CpuId| one_side(cpu, side, &exchange, source, &LIMITS).map_err(lost(cpu));
    let pin = |cpu: CpuId| Pinned::to(cpu).map_err(|error| NoExchange::Lost(cpu, error.to_string()));
    let _pinned = pin(pair.a)?;
    let caller = thread::current();
    let [first, second] = thread::scope(|scope| {
        let other = start_on(scope, pair.b, || {
            let pinned = pin(pair.b);
            is_there.store(true, Ordering::Release);
            caller.unpark();
            let _pinned = pinned?;
            run(Side::Second, pair.b)
        })
        .map_err(|refused| NoExchange::NoThread(refused.to_string()))?;
        let began = Instant::now();
        while !is_there.load(Ordering::Acquire) && began.elapsed() < PATIENCE {
            thread::park_timeout(PATIENCE);
        }
        let first = run(Side::First, pair.a);
        let second = other.join().unwrap_or_else(|_| Err(lost(pair.b)("its thread panicked".to_owned())));
        Ok([first, second])
    })?;
    Ok(Exchanged::of(&first?, &second?).filter(Exchanged::is_usable))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use host::live::{allowed_cpus, with_threads_left};

    use super::*;
    use crate::clock_pairs::tests::Turnstile;

    #[test]
    fn a_probe_without_a_second_thread_loses_no_cpu_and_says_why() {
        let cpu = allowed_cpus().first().expect("a CPU");
        let source = RwLock::new(Turnstile(AtomicU64::new(1)));
        let pair = CpuPair { a: cpu, b: cpu };
        let mut prober =
            Prober { source: &source, pairs: vec![pair], vm_clock: None, made: 1, refused: None };
        let pulse = with_threads_left(0, || prober.probe(0, || true));
        assert_eq!(pulse.exchange, None);
        assert!(prober.refused().is_some_and(|reason| reason.starts_with("cannot start a thread for CPU")));
        // On one CPU the two never run at once: it is tried again, but not for ever.
        let pulse = prober.probe(0, || true);
        assert!(matches!(pulse.exchange, Some(PairExchange { seen: Ok(_), .. })), "{pulse:?}");
    }
}
