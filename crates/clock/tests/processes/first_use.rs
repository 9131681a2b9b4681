//! `Instant::now` without a clock at hand: its first call, in whatever state a process is.

use std::cell::RefCell;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clock::{Clock, Instant, Mock, monotonic_raw_ns};

use crate::children::{self, child, forbid_clock_gettime, forbid_counter};

/// Whether a reading lies between two of the kernel's, but for what a clock may be off.
fn is_now(read: impl FnOnce() -> Instant) -> bool {
    const SLACK_NS: u64 = 10_000_000;
    let before = monotonic_raw_ns();
    let now = read().as_nanos();
    before <= now + SLACK_NS && now <= monotonic_raw_ns() + SLACK_NS
}

#[test]
fn threads_that_come_while_the_first_makes_the_clock_read_in_order() {
    /// More than there are CPUs on most machines.
    const THREADS: usize = 16;
    assert!(child(|| {
        let (start, seen) = (Barrier::new(THREADS), AtomicU64::new(0));
        let reads_in_order = || {
            start.wait();
            (0..10_000).all(|_| {
                let before = seen.load(Ordering::Acquire);
                let now = Instant::now().as_nanos();
                seen.fetch_max(now, Ordering::AcqRel);
                now >= before
            })
        };
        let in_order = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(reads_in_order)).collect();
            threads.into_iter().all(|thread| thread.join().is_ok_and(|in_order| in_order))
        });
        let clock = Clock::new().expect("nothing is forbidden");
        in_order && is_now(Instant::now) && clock.now() <= Instant::now() && is_now(|| clock.now())
    }));
}

#[test]
fn a_child_made_while_another_thread_makes_the_clock_does_not_wait_for_it() {
    // The making takes milliseconds; one of these forks falls into it.
    for _ in 0..20 {
        assert!(child(|| {
            let start = Barrier::new(2);
            std::thread::scope(|scope| {
                let making = scope.spawn(|| {
                    start.wait();
                    Instant::now()
                });
                start.wait();
                let child_reads = child(|| {
                    let first = Instant::now();
                    first <= Instant::now() && is_now(Instant::now)
                });
                child_reads && making.join().is_ok_and(|made| made <= Instant::now())
            })
        }));
    }
}

#[test]
fn a_thread_that_ends_reads_in_its_destructors() {
    /// Reads when its thread ends.
    struct AtTheEnd(&'static AtomicU64);
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            self.0.store(Instant::now().as_nanos(), Ordering::SeqCst);
        }
    }
    thread_local! {
        static AT_THE_END: RefCell<Option<AtTheEnd>> = const { RefCell::new(None) };
    }
    static READ_NS: AtomicU64 = AtomicU64::new(0);
    let ends_with_a_reading = || {
        let register = || AT_THE_END.set(Some(AtTheEnd(&READ_NS)));
        is_now(|| {
            std::thread::spawn(register).join().expect("a destructor does not panic");
            Instant::from_nanos(READ_NS.load(Ordering::SeqCst))
        })
    };
    // The first call of all; one of many; one while another thread is in a scope.
    assert!(child(|| ends_with_a_reading()
        && ends_with_a_reading()
        && Mock::default().scope(ends_with_a_reading)));
}

#[test]
fn a_child_of_a_fork_stays_in_the_scope_with_a_mock_of_its_own() {
    assert!(child(|| {
        let (before, mock) = (Instant::now(), Mock::default());
        let is_own = mock.scope(|| {
            let is_own = child(|| {
                mock.advance(Duration::from_secs(1));
                Instant::now().as_nanos() == 1_000_000_000
            });
            is_own && Instant::now().as_nanos() == 0
        });
        is_own && child(|| Instant::now() >= before && is_now(Instant::now))
    }));
}

#[test]
fn where_the_counter_raises_a_signal_the_first_call_calls_the_kernel() {
    assert!(child(|| {
        if !forbid_counter() {
            children::skip("the kernel does not forbid the counter here");
            return true;
        }
        let first = Instant::now();
        first.as_nanos() > 0 && first <= Instant::now()
    }));
}

#[test]
fn where_nothing_gives_a_time_the_first_call_panics_and_says_why() {
    assert!(child(|| {
        if !forbid_counter() || !forbid_clock_gettime() {
            children::skip("the kernel does not forbid the counter or takes no filter here");
            return true;
        }
        // Without words on standard error.
        std::panic::set_hook(Box::new(|_| ()));
        let says_why = || {
            let panic = std::panic::catch_unwind(Instant::now).err();
            panic.is_some_and(|panic| {
                panic.downcast_ref::<String>().is_some_and(|words| words.contains("seccomp"))
            })
        };
        says_why() && says_why()
    }));
}
