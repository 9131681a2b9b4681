//! The follower on a kernel's clock in software: slewed, jumping, refused, and never a step backwards.

use std::cell::Cell;

use clock::{BOUND_NS, Followed, Follower, SEGMENT_NS};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// 2.5 GHz.
const NS_PER_TICK: f64 = 0.4;
const TICKS_PER_US: u64 = 2_500;

/// A kernel's clock whose rate a test changes.
struct Kernel {
    ticks: Cell<u64>,
    ns: Cell<f64>,
    rate: Cell<f64>,
    answers: Cell<bool>,
}

impl Kernel {
    fn new() -> Self {
        let (ticks, ns) = (Cell::new(1 << 40), Cell::new(5e12));
        Self { ticks, ns, rate: Cell::new(NS_PER_TICK), answers: Cell::new(true) }
    }

    fn pass(&self, ticks: u64) {
        self.ticks.set(self.ticks.get() + ticks);
        self.ns.set(self.ns.get() + ticks as f64 * self.rate.get());
    }
}

impl Followed for Kernel {
    fn ticks(&self) -> u64 {
        self.pass(50);
        self.ticks.get()
    }

    fn kernel_ns(&self) -> Option<u64> {
        self.pass(60);
        self.answers.get().then(|| self.ns.get() as u64)
    }
}

/// What a reader saw.
#[derive(Debug, Default)]
struct Seen {
    last_ns: u64,
    backwards: u64,
    worst_ns: u64,
    served: u64,
}

impl Seen {
    /// One reading, as the preload library takes it.
    fn read(&mut self, follower: &Follower, kernel: &Kernel) {
        let ns = follower.at(kernel.ticks()).inspect(|_| self.served += 1);
        let now_ns = ns.or_else(|| follower.now_ns(kernel)).unwrap_or(0);
        self.backwards += u64::from(now_ns < self.last_ns);
        self.last_ns = now_ns;
        self.worst_ns = self.worst_ns.max(now_ns.abs_diff(kernel.ns.get() as u64));
    }
}

#[test]
fn a_steady_clock_is_followed_within_a_tenth_of_a_microsecond() {
    let (follower, kernel, mut seen) = (Follower::new(), Kernel::new(), Seen::default());
    for _ in 0..200_000 {
        kernel.pass(5 * TICKS_PER_US);
        seen.read(&follower, &kernel);
    }
    assert!(seen.backwards == 0 && seen.worst_ns <= 100, "{seen:?}");
    assert!(seen.served > 199_000, "{seen:?}");
    // A look per segment.
    let segments = 200_000 * 5_000 / SEGMENT_NS;
    assert!(follower.look_count().abs_diff(segments) <= segments / 5, "{}", follower.look_count());
}

#[test]
fn a_reader_that_comes_seldom_gets_the_kernels_time() {
    let (follower, kernel, mut seen) = (Follower::new(), Kernel::new(), Seen::default());
    for _ in 0..2_000 {
        kernel.pass(30_000 * TICKS_PER_US);
        seen.read(&follower, &kernel);
    }
    assert!(seen.backwards == 0 && seen.worst_ns <= 200, "{seen:?}");
}

#[test]
fn a_jump_of_the_counter_is_waited_for_and_a_refusing_kernel_stops_time() {
    let (follower, kernel, mut seen) = (Follower::new(), Kernel::new(), Seen::default());
    let read = |seen: &mut Seen| {
        for _ in 0..20_000 {
            kernel.pass(5 * TICKS_PER_US);
            seen.read(&follower, &kernel);
        }
    };
    read(&mut seen);
    // Ten seconds of ticks that the clock did not count.
    kernel.ticks.set(kernel.ticks.get() + 10_000_000 * TICKS_PER_US);
    read(&mut seen);
    assert_eq!((seen.backwards, follower.jump_count()), (0, 1));
    // Two segments: nothing was given that is later.
    assert!(seen.worst_ns <= 2 * SEGMENT_NS + BOUND_NS, "{seen:?}");
    kernel.answers.set(false);
    read(&mut seen);
    kernel.answers.set(true);
    read(&mut seen);
    assert_eq!(seen.backwards, 0);
}

#[test]
fn a_child_begins_anew_where_it_was_or_on_its_own_clock() {
    for shift_ns in [0.0, 1e12, -1e12] {
        let (follower, kernel, mut seen) = (Follower::new(), Kernel::new(), Seen::default());
        for _ in 0..10_000 {
            kernel.pass(5 * TICKS_PER_US);
            seen.read(&follower, &kernel);
        }
        kernel.ns.set(kernel.ns.get() + shift_ns);
        follower.begin_anew(&kernel);
        let mut child = Seen { last_ns: if shift_ns == 0.0 { seen.last_ns } else { 0 }, ..Seen::default() };
        for _ in 0..10_000 {
            kernel.pass(5 * TICKS_PER_US);
            child.read(&follower, &kernel);
        }
        assert!(
            child.backwards == 0 && child.worst_ns <= 200 && child.served > 9_000,
            "{shift_ns}: {child:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64, rng_seed: RngSeed::Fixed(5), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_clock_slewed_by_up_to_500_ppm_is_followed_within_the_bound(
        changes in proptest::collection::vec((-500_i32..=500, 1_u64..400), 1..30),
        pauses_us in proptest::collection::vec(0_u64..12_000, 1..20),
    ) {
        let (follower, kernel, mut seen) = (Follower::new(), Kernel::new(), Seen::default());
        let mut pauses = pauses_us.iter().cycle();
        for _ in 0..200 {
            kernel.pass(100 * TICKS_PER_US);
            seen.read(&follower, &kernel);
        }
        for (ppm, reads) in changes {
            kernel.rate.set(NS_PER_TICK * (1.0 + f64::from(ppm) * 1e-6));
            for _ in 0..reads {
                kernel.pass(pauses.next().expect("it never ends") * TICKS_PER_US);
                seen.read(&follower, &kernel);
            }
        }
        prop_assert!(seen.backwards == 0 && seen.worst_ns <= BOUND_NS, "{:?}", seen);
    }
}
