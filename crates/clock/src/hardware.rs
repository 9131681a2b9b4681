//! The instruments of this machine, also with software faults in its counters, which prove that the clock mends them; and the thread
//! that keeps an engine.

use std::thread;
use std::time::Duration;

use crate::calibrator::{Calibrator, Timing};
use crate::disruption::SystemState;
use crate::engine::{Engine, Instruments};
use crate::exchange::{Exchange, ExchangeLimits, Exchanged, Side};
use crate::fault::FaultedCounter;
use crate::kernel_clock::{KernelClock, Timescale};
use crate::platform::{MaskedSignals, VmClock, allowed_cpus, confine, pin};
use crate::source::{CounterSource, NoCounter, TimeStampCounter};
use crate::stamp::{Features, Stamp};
use crate::stamper::Stamper;

/// The counters of this machine against `CLOCK_MONOTONIC_RAW`.
#[derive(Debug)]
pub struct Hardware {
    stamper: Stamper,
    counter: TimeStampCounter,
    kernel: KernelClock,
    vm_clock: Option<VmClock>,
}

impl Hardware {
    /// The instruments, if this process may use them.
    ///
    /// # Errors
    /// Why it may not.
    pub fn new() -> Result<Self, NoCounter> {
        Self::with(Features::of_this_machine(), Stamper::new)
    }

    /// The same on a CPU with these features, which has no fewer, with the stamper that can be had.
    pub(crate) fn with(
        features: Features,
        stamper: impl FnOnce() -> Option<Stamper>,
    ) -> Result<Self, NoCounter> {
        let counter = TimeStampCounter::new()?;
        if !features.is_invariant {
            return Err(NoCounter::Varies);
        }
        let stamper = stamper().ok_or(NoCounter::Anonymous)?;
        Ok(Self { stamper, counter, kernel: KernelClock::Vdso, vm_clock: VmClock::map() })
    }

    /// How CPU and counter are read as one.
    pub fn stamper(&self) -> &Stamper {
        &self.stamper
    }
}

impl Instruments for Hardware {
    #[inline(always)]
    fn stamp(&self) -> Stamp {
        self.stamper.stamp()
    }

    #[inline(always)]
    fn with_stamp<R>(&self, use_of: impl Fn(Stamp) -> R) -> R {
        self.stamper.with_stamp(use_of)
    }

    #[inline]
    fn kernel_ns(&self) -> Option<u64> {
        self.kernel.read_ns(Timescale::MonotonicRaw)
    }

    fn exchange(&self, reference: u32, cpu: u32) -> Option<Exchanged> {
        pinned_exchange(&self.counter, reference, cpu, &|| self.stamper.stamp().cpu)
    }

    fn system_state(&self) -> SystemState {
        SystemState::look(self.kernel, self.vm_clock.as_ref())
    }
}

/// Compares two CPUs by two threads of their own; `None` if one may not be used, they hardly overlapped, or a stamp
/// names another CPU than the one its thread is pinned to.
pub fn pinned_exchange(
    source: &impl CounterSource,
    reference: u32,
    cpu: u32,
    named_cpu: &(dyn Fn() -> u32 + Sync),
) -> Option<Exchanged> {
    let (exchange, limits) = (Exchange::new(), ExchangeLimits::default());
    let side = |side: Side, cpu: u32| {
        let is_there = pin(cpu) && named_cpu() == cpu;
        is_there.then(|| exchange.run(side, cpu, source, &limits))
    };
    let views = thread::scope(|scope| {
        let start = |which, cpu| {
            let side = &side;
            thread::Builder::new().name("sidestep-probe".into()).spawn_scoped(scope, move || side(which, cpu))
        };
        let sides = [start(Side::First, reference), start(Side::Second, cpu)];
        // A process that may start no more threads has no comparison.
        sides.map(|side| side.ok().and_then(|side| side.join().ok()).flatten())
    });
    let [Some(first), Some(second)] = views else { return None };
    Exchanged::of(&first, &second).filter(Exchanged::is_usable)
}

/// Starts the thread that keeps an engine for as long as the process lives. It takes no signals.
///
/// # Errors
/// What the kernel says where it may start no thread; readers then stay with the kernel's clock.
pub fn start_calibrator<I: Instruments + 'static>(
    engine: &'static Engine<I>,
    timing: Timing,
) -> std::io::Result<()> {
    let cpus = allowed_cpus();
    let masked = MaskedSignals::all();
    let keep = move || {
        let mut calibrator = Calibrator::new(engine, &cpus, timing);
        let mut may_run_on = cpus.len();
        loop {
            let step_cpus = calibrator.step_cpus();
            // Where it may not be confined, it comes there by chance.
            if step_cpus.len() != may_run_on && confine(step_cpus) {
                may_run_on = step_cpus.len();
            }
            thread::sleep(Duration::from_nanos(calibrator.step()));
        }
    };
    let started = thread::Builder::new().name("sidestep-clock".into()).spawn(keep);
    drop(masked);
    started.map(drop)
}

/// Real CPUs, real exchanges, the real kernel's clock; counters that show what a schedule of faults says.
///
/// The clock source is reported as one that does not vouch for counters, so that every CPU has to be compared.
#[derive(Debug)]
pub struct FaultedHardware {
    hardware: Hardware,
    /// What each CPU's counter shows.
    pub counter: FaultedCounter<TimeStampCounter>,
}

impl FaultedHardware {
    /// Instruments without a fault for CPU numbers below `cpu_count`; faults are given through `counter`.
    ///
    /// # Errors
    /// Why this machine's counters cannot be used.
    pub fn new(cpu_count: usize) -> Result<Self, NoCounter> {
        let counter = FaultedCounter::new(TimeStampCounter::new()?, cpu_count);
        Ok(Self { hardware: Hardware::new()?, counter })
    }
}

impl Instruments for FaultedHardware {
    #[inline(always)]
    fn stamp(&self) -> Stamp {
        let Stamp { ticks, cpu } = self.hardware.stamp();
        let schedule = self.counter.schedules.get(cpu as usize);
        Stamp { ticks: schedule.map_or(ticks, |schedule| schedule.read(ticks)), cpu }
    }

    fn kernel_ns(&self) -> Option<u64> {
        self.hardware.kernel_ns()
    }

    fn exchange(&self, reference: u32, cpu: u32) -> Option<Exchanged> {
        pinned_exchange(&self.counter, reference, cpu, &|| self.hardware.stamp().cpu)
    }

    fn system_state(&self) -> SystemState {
        SystemState { clock_source: Some("faulted".into()), ..self.hardware.system_state() }
    }
}
