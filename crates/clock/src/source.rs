//! Where the ticks of a CPU come from: its time-stamp counter, or a double of it.
//!
//! All that compares the counters of two CPUs is written against [`CounterSource`], so that a counter with known faults
//! ([`crate::FaultedCounter`]) can stand for the hardware, and the comparison can be held against the truth.
//!
//! `begin` and `end` read it around a measured region. `begin` is `lfence; rdtsc; lfence`: nothing earlier is still running, nothing
//! later has started. `end` is `rdtscp; lfence` where RDTSCP exists: it waits for all earlier loads, and later work cannot creep in. No
//! MFENCE stands behind `begin` where one is needed before it: a region would pay for that one. On arm64 both are `isb; mrs cntvct_el0;
//! isb`.

use crate::arch;
use crate::stamp::{Counter, Features};

/// What a CPU is doing, as far as a counter may care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Regime {
    /// It works, at its highest frequency.
    Load,
    /// It sleeps.
    Idle,
    /// It works in a slower P-state; 0 is the highest frequency.
    Slow {
        /// Number of the P-state.
        pstate: u8,
    },
}

/// Ticks as a thread on a CPU sees them. The caller names the CPU it is pinned to; hardware does not need the name.
pub trait CounterSource: Sync {
    /// Ticks read after all earlier loads of this thread have their values: what is compared.
    fn ordered_ticks(&self, cpu: u32) -> u64;

    /// Ticks read now or a little earlier, without waiting for anything: what is published.
    fn ticks(&self, cpu: u32) -> u64;

    /// Ticks per second as firmware states them, 0 if it left that out; `None` where nothing states them.
    fn stated_hz(&self) -> Option<f64> {
        None
    }

    /// Tells a double what a CPU is doing from now on; hardware knows.
    fn enter(&mut self, _cpu: u32, _regime: Regime) {}
}

/// Batches of reads from which the steps of a counter are determined.
const BATCHES_FOR_RESOLUTION: usize = 21;
/// Reads of a batch: a few differences that have no other divisor would do.
const READS_OF_BATCH: usize = 100;

/// Steps in which a counter counts, in ticks: what divides all differences between its readings. 1 on most CPUs; AMD's
/// since Zen add the ratio of the base frequency to 100 MHz at a time (seen: 26). A hypervisor that scales the counter hides it.
///
/// The counters of two cores need not be in step, and a thread or a virtual CPU may be moved between two reads: what most
/// batches say counts.
pub fn resolution_ticks(source: &impl CounterSource, cpu: u32) -> u64 {
    let mut divisors: Vec<u64> =
        (0..BATCHES_FOR_RESOLUTION).map(|_| divisor_of_a_batch(source, cpu)).collect();
    divisors.sort_unstable();
    divisors[BATCHES_FOR_RESOLUTION / 2].max(1)
}

fn divisor_of_a_batch(source: &impl CounterSource, cpu: u32) -> u64 {
    let mut last = source.ordered_ticks(cpu);
    (0..READS_OF_BATCH).fold(0, |divisor, _| {
        let now = source.ordered_ticks(cpu);
        let (mut large, mut small) = (divisor, now.abs_diff(last));
        while small != 0 {
            (large, small) = (small, large % small);
        }
        last = now;
        large
    })
}

/// The counter of whatever CPU the thread runs on: the time-stamp counter of x86, the virtual count of arm64.
#[derive(Debug, Clone, Copy)]
pub struct TimeStampCounter {
    /// LFENCE or ISB alone orders the read; else MFENCE stands before it.
    lfence_waits: bool,
}

/// Why the counter cannot be read by this thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CounterDenied {
    /// The process has asked the kernel for a signal at each read.
    #[error(
        "the time-stamp counter may not be read: PR_SET_TSC is PR_TSC_SIGSEGV; start without whatever sets it"
    )]
    Signals,
    /// Neither x86-64 nor arm64.
    #[error("sidestep reads the counters of x86-64 and arm64 only, and this is {}", std::env::consts::ARCH)]
    Absent,
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

impl TimeStampCounter {
    /// The counter, if the calling thread may read it.
    ///
    /// # Errors
    /// `Signals` if a read would kill the process, `Absent` on other CPUs.
    pub fn new() -> Result<Self, CounterDenied> {
        if Counter::of_this_machine() == Counter::MonotonicRaw {
            return Err(CounterDenied::Absent);
        }
        if reads_raise_signals() {
            return Err(CounterDenied::Signals);
        }
        Ok(Self { lfence_waits: Features::of_this_machine().lfence_waits })
    }
}

/// What PR_GET_TSC answers where each read of the counter is a fault. Linux, include/uapi/linux/prctl.h.
const PR_TSC_SIGSEGV: libc::c_int = 2;

fn reads_raise_signals() -> bool {
    let mut mode: libc::c_int = 0;
    // SAFETY: PR_GET_TSC writes one int to the address given, which is ours.
    let status = unsafe { libc::prctl(libc::PR_GET_TSC, &raw mut mode) };
    status == 0 && mode == PR_TSC_SIGSEGV
}

impl CounterSource for TimeStampCounter {
    #[inline(always)]
    fn ordered_ticks(&self, _cpu: u32) -> u64 {
        arch::ordered_ticks(self.lfence_waits)
    }

    #[inline(always)]
    fn ticks(&self, _cpu: u32) -> u64 {
        arch::ticks()
    }

    fn stated_hz(&self) -> Option<f64> {
        arch::stated_hz().map(f64::from)
    }
}

impl Counter {
    /// What the kernel calls this architecture's counter where it keeps time by it.
    pub const CLOCK_SOURCE: &str = arch::CLOCK_SOURCE;

    /// The counter of this machine.
    #[inline]
    pub fn of_this_machine() -> Self {
        arch::counter(Features::of_this_machine())
    }
}

/// Ticks at the start of a measured region.
#[inline(always)]
pub fn begin() -> u64 {
    let ticks = arch::ordered_ticks(Features::of_this_machine().lfence_waits);
    arch::hold_back_later();
    ticks
}

/// Ticks at the end of a measured region.
#[inline(always)]
pub fn end() -> u64 {
    stamp().0
}

/// Ticks at the end of a region, and what the kernel put beside them: `node << 12 | cpu` on Linux.
/// The second value is `None` without RDTSCP.
#[inline(always)]
pub fn stamp() -> (u64, Option<u32>) {
    arch::closing()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn a_counter_that_counts_in_steps_is_found_out_also_by_a_thread_that_is_moved() {
        /// Reads so far, and at which of them the thread comes to another core, whose counter is not in step.
        struct Steps(AtomicU64, u64);
        impl CounterSource for Steps {
            fn ordered_ticks(&self, _cpu: u32) -> u64 {
                let reads = self.0.fetch_add(1, Ordering::Relaxed);
                7 + 26 * (reads + reads / 3) + if reads < self.1 { 0 } else { 13 }
            }
            fn ticks(&self, cpu: u32) -> u64 {
                self.ordered_ticks(cpu)
            }
        }
        for moved_at in [0, 50, 1_000] {
            assert_eq!(resolution_ticks(&Steps(AtomicU64::new(0), moved_at), 0), 26);
        }
    }

    #[test]
    fn a_thread_sees_its_own_reads_in_order() {
        let Ok(counter) = TimeStampCounter::new() else {
            println!("skipped: no time-stamp counter that may be read");
            return;
        };
        // The thread may change its CPU between two reads, and CPUs may disagree: one pair in order is enough.
        assert!((0..100).any(|_| counter.ticks(0) <= counter.ordered_ticks(0)));
    }

    #[test]
    fn where_a_read_would_raise_a_signal_there_is_no_counter() {
        /// Reads are allowed again. Linux, include/uapi/linux/prctl.h.
        const PR_TSC_ENABLE: libc::c_int = 1;
        let set = |mode: libc::c_int| {
            // SAFETY: PR_SET_TSC takes a number, and concerns the calling thread only.
            unsafe { libc::prctl(libc::PR_SET_TSC, mode) }
        };
        // On a thread of its own, and nothing between the calls may ask for the time: the vDSO reads the counter.
        let denied = std::thread::spawn(move || {
            if set(PR_TSC_SIGSEGV) != 0 {
                return None;
            }
            let denied = TimeStampCounter::new().err();
            set(PR_TSC_ENABLE);
            Some(denied)
        });
        match denied.join().expect("the thread raises no signal") {
            Some(denied) => assert_eq!(denied, Some(CounterDenied::Signals)),
            None => println!("skipped: PR_SET_TSC is not allowed here"),
        }
    }
}

#[cfg(test)]
mod counter_tests {
    use super::*;

    #[test]
    fn readings_of_one_thread_never_fall() {
        let mut last = begin();
        for _ in 0..10_000 {
            let now = end();
            assert!(now >= last);
            last = now;
        }
    }
}
