//! A second thread on another CPU, for one visit: the two meet before each window, and neither can wait for ever.
//!
//! Each side raises the abort flag when it leaves, also by a panic. Where there is a deadline a watcher raises it when the time is
//! up or the user wants the program to end. All waiting looks at the flag.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::live::{self, AffinityError, Pinned, start_on, start_thread};
use machine::CpuId;

/// How often the watcher looks; rarely, as it shares the CPU of the thread that times.
const WATCH_PERIOD: Duration = Duration::from_millis(100);

/// Spins before the first nap: 0.1 to 0.3 ms, as a spin pauses for 20 to 50 ns.
const SPINS_BEFORE_NAP: u32 = 5_000;

/// One nap; shorter than a window, so that little is lost when the other comes.
const NAP: Duration = Duration::from_micros(50);

/// A value alone on its pair of cache lines: adjacent-line prefetchers fetch two.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Alone<T>(pub(crate) T);

/// The visit has to end: the time is up, the user wants it, or the other thread is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended;

/// Which of the two threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The one that times.
    Main,
    /// The other.
    Partner,
}

/// What the two threads of a visit share.
#[derive(Debug, Default)]
pub(crate) struct Link {
    /// Everything has to end.
    pub(crate) abort: Alone<AtomicBool>,
    arrived: [Alone<AtomicU64>; 2],
}

/// Raises the flag when its owner leaves.
pub(crate) struct RaiseOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for RaiseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Wakes a thread that may be parked, for it to see what was raised.
struct UnparkOnDrop<'a>(&'a thread::Thread);

impl Drop for UnparkOnDrop<'_> {
    fn drop(&mut self) {
        self.0.unpark();
    }
}

impl Link {
    /// Waits for the other side; false if it never comes.
    pub(crate) fn meet(&self, side: Side) -> bool {
        let [main, partner] = &self.arrived;
        let (own, other) = if side == Side::Main { (main, partner) } else { (partner, main) };
        let turn = own.0.fetch_add(1, Ordering::AcqRel) + 1;
        self.wait(|| other.0.load(Ordering::Acquire) >= turn)
    }

    /// Waits until the condition holds; false if everything has to end first. It spins at first; when the other side
    /// does not come, as another program has its CPU, it naps: spinning on would use up the time slice that the next
    /// window needs.
    pub(crate) fn wait(&self, condition: impl Fn() -> bool) -> bool {
        let mut spins = 0;
        while !condition() {
            if self.aborted() {
                return condition();
            }
            if spins < SPINS_BEFORE_NAP {
                spins += 1;
                std::hint::spin_loop();
            } else {
                thread::sleep(NAP);
            }
        }
        true
    }

    /// True if everything has to end.
    pub(crate) fn aborted(&self) -> bool {
        self.abort.0.load(Ordering::Acquire)
    }

    fn watch(&self, deadline: Instant) {
        while !self.aborted() {
            let now = Instant::now();
            if now >= deadline || live::pending_signal().is_some() {
                self.abort.0.store(true, Ordering::Release);
                return;
            }
            thread::park_timeout(WATCH_PERIOD.min(deadline - now));
        }
    }
}

/// Runs `main` here and `partner` on `cpu` at the same time, until the deadline if there is one. The caller is pinned already.
/// Whoever returns first ends the waiting of the other.
pub(crate) fn with_partner<R>(
    cpu: CpuId,
    deadline: impl Into<Option<Instant>>,
    partner: impl FnOnce(&Link) + Send,
    main: impl FnOnce(&Link, &thread::Thread) -> R,
) -> Result<R, AffinityError> {
    let link = Link::default();
    let watched = &link;
    thread::scope(|scope| {
        let watch = |end| start_thread(scope, "the thread that watches the time", move || watched.watch(end));
        let watcher = deadline.into().map(watch).transpose()?;
        let end_watch = || watcher.iter().for_each(|watcher| watcher.thread().unpark());
        let started = start_on(scope, cpu, || {
            let _end = RaiseOnDrop(&link.abort.0);
            let _pinned = Pinned::to(cpu)?;
            partner(&link);
            Ok::<(), AffinityError>(())
        });
        let other = match started {
            Ok(other) => other,
            Err(refused) => {
                drop(RaiseOnDrop(&link.abort.0));
                end_watch();
                return Err(refused);
            }
        };
        let result = {
            let _wake = UnparkOnDrop(other.thread());
            let _end = RaiseOnDrop(&link.abort.0);
            main(&link, other.thread())
        };
        end_watch();
        match other.join() {
            Ok(pinned) => pinned.map(|()| result),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn any_cpu() -> CpuId {
        live::allowed_cpus().first().expect("at least one CPU")
    }

    #[test]
    fn without_both_threads_nothing_is_run() {
        for left in [0, 1] {
            let ran = live::with_threads_left(left, || with_partner(any_cpu(), soon(), |_| {}, |_, _| ()));
            assert!(ran.is_err_and(|error| error.to_string().starts_with("cannot start ")));
        }
    }

    #[test]
    fn two_sides_that_meet_have_both_done_what_came_before() {
        let count = AtomicU64::new(0);
        let seen = with_partner(
            any_cpu(),
            soon(),
            |link| {
                count.fetch_add(1, Ordering::Relaxed);
                link.meet(Side::Partner);
            },
            |link, _| link.meet(Side::Main).then(|| count.load(Ordering::Relaxed)),
        );
        assert_eq!(seen.expect("an allowed CPU"), Some(1));
    }

    #[test]
    fn a_partner_that_leaves_ends_the_waiting() {
        let met = with_partner(any_cpu(), soon(), |_| {}, |link, _| link.meet(Side::Main));
        assert!(!met.expect("an allowed CPU"));
    }

    #[test]
    fn a_deadline_in_the_past_ends_the_waiting_of_both() {
        let now = Instant::now();
        let met = with_partner(
            any_cpu(),
            now,
            |link| {
                link.wait(|| false);
            },
            |link, _| link.wait(|| false),
        );
        assert!(!met.expect("an allowed CPU"));
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error_and_not_a_hang() {
        let met = with_partner(CpuId(1023), soon(), |_| {}, |link, _| link.meet(Side::Main));
        assert!(met.is_err());
    }
}
