//! The instruments of this machine, and the thread that keeps an engine.

use std::thread;
use std::time::Duration;

use crate::disruption::Surroundings;
use crate::engine::{Engine, Instruments};
use crate::exchange::{Exchange, ExchangeLimits, Exchanged, Side};
use crate::features::Features;
use crate::keeper::{Keeper, Timing};
use crate::kernel_clock::{KernelClock, Timescale};
use crate::platform::VmClock;
use crate::source::{CounterDenied, CounterSource, TimeStampCounter};
use crate::stamp::{Stamp, Stamper};

/// The counters of this machine against `CLOCK_MONOTONIC_RAW`.
#[derive(Debug)]
pub struct Hardware {
    stamper: Stamper,
    counter: TimeStampCounter,
    kernel: KernelClock,
    vm_clock: Option<VmClock>,
}

/// Why the counters cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoCounter {
    /// This process, or this machine, may not read it.
    #[error(transparent)]
    Denied(#[from] CounterDenied),
    /// It does not keep its rate.
    #[error(
        "the time-stamp counter changes its rate with the CPU's frequency; there is no invariant counter"
    )]
    Varies,
    /// Nothing tells reliably whose counter was read.
    #[error("no instruction names the CPU as the kernel does; the hypervisor keeps a wrong TSC_AUX")]
    Anonymous,
    /// Nobody would calibrate it.
    #[error(
        "no thread can be started to calibrate the time-stamp counter; raise ulimit -u, or pids.max of the control group"
    )]
    NoThread,
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

    fn surroundings(&self) -> Surroundings {
        Surroundings::look(self.kernel, self.vm_clock.as_ref())
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

/// Pins the calling thread.
pub(crate) fn pin(cpu: u32) -> bool {
    confine(&[cpu])
}

/// Lets the calling thread run on these CPUs only.
fn confine(cpus: &[u32]) -> bool {
    // SAFETY: a CPU set is plain bits, for which all zeros is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus {
        if cpu as usize >= libc::CPU_SETSIZE as usize {
            return false;
        }
        // SAFETY: the CPU is below the size of the set.
        unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    }
    // SAFETY: 0 is the calling thread; the set is valid and its size is told.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) == 0 }
}

/// The CPUs that this process may use, ascending.
pub fn allowed_cpus() -> Vec<u32> {
    // SAFETY: as in `confine`.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: 0 is the calling thread; the set is valid and its size is told.
    let status = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
    if status != 0 {
        return vec![];
    }
    // SAFETY: all numbers are below the size of the set.
    (0..libc::CPU_SETSIZE as u32).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu as usize, &set) }).collect()
}

/// Starts the thread that keeps an engine for as long as the process lives. It takes no signals.
///
/// # Errors
/// What the kernel says where it may start no thread; readers then stay with the kernel's clock.
pub fn start_keeper<I: Instruments + 'static>(
    engine: &'static Engine<I>,
    timing: Timing,
) -> std::io::Result<()> {
    let cpus = allowed_cpus();
    let masked = MaskedSignals::all();
    let keep = move || {
        let mut keeper = Keeper::new(engine, &cpus, timing);
        let mut may_run_on = cpus.len();
        loop {
            let step_cpus = keeper.step_cpus();
            // Where it may not be confined, it comes there by chance.
            if step_cpus.len() != may_run_on && confine(step_cpus) {
                may_run_on = step_cpus.len();
            }
            thread::sleep(Duration::from_nanos(keeper.step()));
        }
    };
    let started = thread::Builder::new().name("sidestep-clock".into()).spawn(keep);
    drop(masked);
    started.map(drop)
}

/// All signals blocked in this thread and those it starts, until dropped: a program's handlers run in its own threads.
pub(crate) struct MaskedSignals {
    before: libc::sigset_t,
}

impl MaskedSignals {
    pub(crate) fn all() -> Self {
        // SAFETY: a signal set is plain bits; both are filled before they are read.
        let [mut all, mut before]: [libc::sigset_t; 2] = unsafe { std::mem::zeroed() };
        // SAFETY: the set is ours.
        unsafe { libc::sigfillset(&raw mut all) };
        // SAFETY: both sets are ours; the call cannot fail with SIG_SETMASK.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before) };
        Self { before }
    }
}

impl Drop for MaskedSignals {
    fn drop(&mut self) {
        // SAFETY: the set is the one that the kernel gave.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}
