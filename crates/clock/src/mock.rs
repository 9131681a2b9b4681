//! Time that a test moves by hand: for code that takes a [`Clock`](crate::Clock), and for code that reads
//! [`Instant::now`](crate::Instant::now).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::instant::Instant;
use crate::scope::Entered;

/// Moves a clock made by [`Clock::mock`](crate::Clock::mock), and all that is read in its [`scope`](Mock::scope). A clone
/// moves the same.
#[derive(Debug, Clone, Default)]
pub struct Mock {
    ns: Arc<AtomicU64>,
}

impl Mock {
    /// Time goes on; it stops at the end of a `u64` of nanoseconds.
    pub fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        let add = |ns: u64| Some(ns.saturating_add(by));
        // The closure never refuses.
        let _ = self.ns.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add);
    }

    /// Sets the time, backwards as well: for tests of what happens then.
    pub fn set(&self, to: Instant) {
        self.ns.store(to.as_nanos(), Ordering::SeqCst);
    }

    /// What it shows.
    pub(crate) fn now_ns(&self) -> u64 {
        self.ns.load(Ordering::SeqCst)
    }

    /// Calls `body`, in which [`Instant::now`] and [`Instant::elapsed`] of this thread read this mock.
    ///
    /// Other threads, those that `body` starts among them, read the clock of the process, unless they are in a scope of their
    /// own. A scope within a scope ends where it began, by a panic as well. A [`Clock`](crate::Clock) at hand is what it was.
    pub fn scope<R>(&self, body: impl FnOnce() -> R) -> R {
        let _entered = Entered::new(&self.ns);
        body()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use proptest::prelude::*;

    use super::*;
    use crate::scope::INNERMOST;

    /// Later than any clock shows: the year 2262.
    const FAR_NS: u64 = 1 << 63;

    #[derive(Debug, Clone, Copy)]
    enum Act {
        Enter(usize),
        Leave,
        Panic,
        Advance(usize, u64),
    }

    fn act() -> impl Strategy<Value = Act> {
        prop_oneof![
            (0..3_usize).prop_map(Act::Enter),
            Just(Act::Leave),
            Just(Act::Panic),
            (0..3_usize, 1..1_000_u64).prop_map(|(mock, ns)| Act::Advance(mock, ns)),
        ]
    }

    /// Mocks, and what a naive stack says of the scope that this thread is in.
    struct Stack {
        mocks: [Mock; 3],
        inside: Vec<usize>,
    }

    impl Stack {
        /// Does what is to be done until a scope ends, and looks at the time before and after each act.
        fn act(&mut self, acts: &mut dyn Iterator<Item = Act>) {
            self.look();
            while let Some(act) = acts.next() {
                match act {
                    Act::Enter(place) => {
                        let mock = self.mocks[place].clone();
                        self.inside.push(place);
                        // Whether the scope ends by a panic or not is all the same to what is around it.
                        let _ = catch_unwind(AssertUnwindSafe(|| mock.scope(|| self.act(acts))));
                        self.inside.pop();
                    }
                    Act::Advance(place, ns) => self.mocks[place].advance(Duration::from_nanos(ns)),
                    Act::Leave => return,
                    // As a panic, but without words on standard error.
                    Act::Panic if !self.inside.is_empty() => resume_unwind(Box::new(())),
                    Act::Panic => {}
                }
                self.look();
            }
        }

        fn look(&self) {
            let now = Instant::now().as_nanos();
            match self.inside.last() {
                Some(&place) => assert_eq!(now, self.mocks[place].now_ns()),
                None => assert!(now < FAR_NS),
            }
        }
    }

    proptest! {
        #[test]
        fn a_thread_reads_the_mock_of_its_innermost_scope(acts in proptest::collection::vec(act(), 0..40)) {
            let mut stack = Stack { mocks: Default::default(), inside: Vec::new() };
            for (place, mock) in stack.mocks.iter().enumerate() {
                mock.set(Instant::from_nanos(FAR_NS + (place as u64) * 1_000_000));
            }
            let mut acts = acts.into_iter();
            // An act that leaves outside of all scopes is not the last.
            while acts.len() > 0 {
                stack.act(&mut acts);
            }
            prop_assert_eq!(INNERMOST.get(), std::ptr::null());
        }
    }

    #[test]
    fn other_threads_read_the_clock_or_a_mock_of_their_own() {
        let [own, other] = [FAR_NS, FAR_NS + 5].map(|ns| {
            let mock = Mock::default();
            mock.set(Instant::from_nanos(ns));
            mock
        });
        own.scope(|| {
            std::thread::scope(|threads| {
                let outside = threads.spawn(|| Instant::now().as_nanos());
                let inside = threads.spawn(|| other.scope(|| Instant::now().as_nanos()));
                assert!(outside.join().expect("no panic") < FAR_NS);
                assert_eq!(inside.join().expect("no panic"), FAR_NS + 5);
            });
            let start = Instant::now();
            other.advance(Duration::from_secs(1));
            assert_eq!(start.elapsed(), Duration::ZERO);
            own.clone().advance(Duration::from_secs(2));
            assert_eq!(start.elapsed(), Duration::from_secs(2));
        });
        assert!(Instant::now().as_nanos() < FAR_NS);
    }
}
