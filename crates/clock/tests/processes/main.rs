//! The clock in processes as they are: forked, confined, pinned, with thousands of threads.
//!
//! A process has one clock, so each case is a child of its own, forked before this process has made any.

mod children;
mod first_use;

use std::time::Duration;

use children::{child, forbid_clock_gettime, forbid_counter, forbid_threads, pin_to_first_cpu};
use clock::{Clock, ClockError, Disruption, Instant, NoCounter, Source, allowed_cpus, monotonic_raw_ns};

/// Far more than any calibration takes, on a machine that is busy with other tests.
const LONG: Duration = Duration::from_secs(60);

/// Whether the counters are in use, or may rightly not be: no invariant counter, a kernel that does not trust it.
fn is_served(clock: &Clock) -> bool {
    clock.no_counter().is_some() || clock.wait_for_counter(LONG) || clock.source() == Source::Vdso
}

#[test]
fn a_child_of_a_fork_starts_anew_and_never_reads_less_than_its_parent() {
    assert!(child(|| {
        let clock = Clock::new().expect("nothing is forbidden");
        let served = is_served(&clock);
        let (before, generation, source) = (clock.now(), clock.generation(), clock.source());
        let grandchild = child(|| {
            let now = clock.now();
            let has_started_anew = source != Source::Counter
                || clock.generation() == generation + 1 && clock.disruption() == Some(Disruption::Fork);
            let is_served_again = source != Source::Counter || clock.wait_for_counter(LONG);
            now >= before && has_started_anew && is_served_again && clock.now() >= now
        });
        served && grandchild && clock.generation() == generation && clock.now() >= before
    }));
}

#[test]
fn where_the_counter_raises_a_signal_the_kernel_is_called_instead() {
    assert!(child(|| {
        if !forbid_counter() {
            children::skip("the kernel does not forbid the counter here");
            return true;
        }
        // The page of code that the kernel maps reads the counter itself: not even that may be called any more.
        let clock = Clock::new().expect("the system call is allowed");
        let (first, second) = (clock.now(), clock.now());
        clock.source() == Source::SystemCall && clock.no_counter().is_some() && first <= second
    }));
}

#[test]
fn a_filter_that_forbids_clock_gettime_takes_only_what_needs_the_system_call() {
    assert!(child(|| {
        if !forbid_clock_gettime() {
            children::skip("the kernel takes no filter of system calls here");
            return true;
        }
        match Clock::new() {
            Ok(clock) => is_served(&clock) && clock.now() <= clock.now(),
            Err(error) => error == ClockError::NoKernelClock,
        }
    }));
    assert!(child(|| {
        if !forbid_counter() || !forbid_clock_gettime() {
            children::skip("the kernel does not forbid the counter or takes no filter here");
            return true;
        }
        Clock::new().err() == Some(ClockError::NoKernelClock)
    }));
}

#[test]
fn where_no_thread_can_be_started_the_kernels_time_is_taken_and_the_reason_reported() {
    assert!(child(|| {
        if !forbid_threads() {
            children::skip("the kernel takes no filter of system calls here");
            return true;
        }
        let clock = Clock::new().expect("the kernel's clock is allowed");
        let has_reason = match clock.no_counter() {
            // There is none that anybody could calibrate.
            Some(NoCounter::NoThread | NoCounter::Denied(_) | NoCounter::Varies) => true,
            Some(NoCounter::Anonymous) | None => false,
        };
        // It does not wait in vain.
        has_reason && !clock.wait_for_counter(Duration::MAX) && clock.now() <= Instant::now()
    }));
}

#[test]
fn a_process_on_one_cpu_has_a_clock() {
    assert!(child(|| {
        let is_pinned = pin_to_first_cpu();
        let clock = Clock::new().expect("nothing is forbidden");
        is_pinned && allowed_cpus().len() == 1 && is_served(&clock) && clock.now() <= clock.now()
    }));
}

#[test]
fn ten_thousand_threads_read_in_order() {
    assert!(child(|| {
        let clock = Clock::new().expect("nothing is forbidden");
        is_served(&clock);
        let mut last = clock.now();
        (0..100).all(|_| {
            let threads: Vec<_> = (0..100)
                .map(|_| {
                    let clock = clock.clone();
                    std::thread::spawn(move || {
                        let (first, second) = (clock.now(), clock.now());
                        (first >= last && second >= first).then_some(second)
                    })
                })
                .collect();
            let reads: Option<Vec<Instant>> =
                threads.into_iter().map(|thread| thread.join().ok().flatten()).collect();
            last = reads.as_ref().and_then(|reads| reads.iter().max().copied()).unwrap_or(last);
            reads.is_some() && clock.now() >= last
        })
    }));
}

#[test]
fn a_child_in_another_time_namespace_follows_its_own_clock() {
    assert!(child(|| {
        if !children::shift_time_of_children() {
            children::skip("no time namespace can be made here");
            return true;
        }
        let clock = Clock::new().expect("nothing is forbidden");
        is_served(&clock);
        let parent_ns = clock.now().as_nanos();
        child(|| {
            let is_own = |ns: u64| ns.abs_diff(monotonic_raw_ns()) < 500_000_000;
            let shifted = monotonic_raw_ns().abs_diff(parent_ns) > 500_000_000_000;
            let first = clock.now().as_nanos();
            is_served(&clock);
            shifted && is_own(first) && is_own(clock.now().as_nanos())
        })
    }));
}
