//! What one read costs: all clocks in turn in short batches, each between two batches of a control loop.
//!
//! A batch counts only if the control before and after it was fast; how many were not is printed. Within a round the order
//! is random, so that none is always first.

use std::hint::black_box;
use std::time::Duration;

use clock::{Clock, CounterSource, StampMethod, Stamper, TickRate, TimeStampCounter, begin, end};

/// Reads in a batch: some 10 us.
const READS: u64 = 500;
/// Rounds over all clocks.
const ROUNDS: usize = 3_000;
/// A control batch slower than fast ones by this factor tells of another core speed, or of somebody else on the core.
const CONTROL_SLACK: f64 = 1.3;
/// Our clock costs at most this share of the kernel's. Source: the project's targets.
const SHARE_OF_VDSO: f64 = 0.85;
/// And at most so many ticks. Source: the same.
const TICKS_MAX: f64 = 48.0;
/// Reads of the counter alone that are ordered: what no ordered clock on it can undercut.
const BARE: [&str; 2] = ["lfence; rdtsc", "rdtscp"];
/// Our clock costs at most so many nanoseconds more than the cheaper of them. Source: the same.
const ABOVE_BARE_NS: f64 = 2.0;

struct Subject {
    name: &'static str,
    ordered: &'static str,
    /// Ticks of one batch.
    batch: Box<dyn Fn() -> u64>,
    batches: Vec<Batch>,
    /// Of those that count, in rising order.
    ticks: Vec<f64>,
}

/// One batch, in ticks.
struct Batch {
    of_a_read: f64,
    /// The slower of the control batches before and after it.
    control: f64,
}

/// A loop of reads that the optimiser cannot empty, inlined into its own batch.
fn subject<T>(name: &'static str, ordered: &'static str, read: impl Fn() -> T + 'static) -> Subject {
    let batch = move || {
        let start = begin();
        for _ in 0..READS {
            black_box(read());
        }
        end() - start
    };
    Subject { name, ordered, batch: Box::new(batch), batches: Vec::new(), ticks: Vec::new() }
}

fn subjects() -> Vec<Subject> {
    let clock = Clock::new().expect("the kernel gives a clock");
    assert!(
        clock.wait_for_counter(Duration::from_secs(10)),
        "the counters are not used: {:?}",
        clock.no_counter()
    );
    let (ours, ordered) = (clock.clone(), clock);
    let quanta = quanta::Clock::new();
    let vdso = |id| {
        move || {
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: `time` is a valid timespec for the call to fill.
            unsafe { libc::clock_gettime(id, &raw mut time) };
            time.tv_nsec
        }
    };
    let counter = TimeStampCounter::new().expect("the clock above reads it");
    let rdtscp = Stamper::with(StampMethod::Rdtscp).expect("every CPU of the last ten years has RDTSCP");
    vec![
        subject("control (nothing)", "", || 0_u64),
        subject(BARE[0], "yes", move || counter.ordered_ticks(0)),
        subject(BARE[1], "yes", move || rdtscp.stamp().ticks),
        subject("rdtscp; lfence", "yes", || clock::stamp().0),
        subject("Clock::now", "yes", move || ours.now()),
        subject("Instant::now", "yes", clock::Instant::now),
        subject("Clock::ordered", "yes", move || ordered.ordered()),
        subject("vDSO CLOCK_MONOTONIC", "yes", vdso(libc::CLOCK_MONOTONIC)),
        subject("vDSO CLOCK_MONOTONIC_RAW", "yes", vdso(libc::CLOCK_MONOTONIC_RAW)),
        subject("std Instant::now", "yes", std::time::Instant::now),
        subject("quanta Instant::now", "no", quanta::Instant::now),
        subject("quanta Clock::now", "no", move || quanta.now()),
        subject("minstant Instant::now", "no", minstant::Instant::now),
        subject("fastant Instant::now", "no", fastant::Instant::now),
    ]
}

/// Ticks of a loop that touches only registers: how fast the core is, and whether it is ours alone.
fn control() -> u64 {
    let start = begin();
    let mut value = 1_u64;
    for _ in 0..READS {
        value = black_box(value).wrapping_mul(3);
    }
    black_box(value);
    end() - start
}

pub(crate) fn run() -> bool {
    let mut subjects = subjects();
    super::pin(&clock::allowed_cpus()[..1]);
    let rate = TickRate::calibrate(100_000_000).expect("the counter runs");
    let (mut controls, mut random) = (Vec::new(), 1);
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    for _ in 0..ROUNDS {
        shuffle(&mut order, &mut random);
        for &place in &order {
            let before = control() as f64;
            let of_a_read = (subjects[place].batch)() as f64 / READS as f64;
            let after = control() as f64;
            subjects[place].batches.push(Batch { of_a_read, control: before.max(after) });
            controls.extend([before, after]);
        }
    }
    controls.sort_by(f64::total_cmp);
    // Not the least of all: one batch at a speed that the core holds for a moment would refuse all others.
    let fastest = quantile(&controls, 0.05);
    let mut refused = 0;
    for subject in &mut subjects {
        let counts = subject.batches.iter().filter(|batch| batch.control < CONTROL_SLACK * fastest);
        subject.ticks = counts.map(|batch| batch.of_a_read).collect();
        subject.ticks.sort_by(f64::total_cmp);
        refused += subject.batches.len() - subject.ticks.len();
    }
    report(&subjects, &rate, refused, fastest)
}

/// Puts what is to be done into a random order (Fisher and Yates; the numbers are a linear congruence of Knuth's MMIX).
fn shuffle(order: &mut [usize], random: &mut u64) {
    for last in (1..order.len()).rev() {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(last, (*random >> 33) as usize % (last + 1));
    }
}

fn report(subjects: &[Subject], rate: &TickRate, refused: usize, fastest: f64) -> bool {
    println!(
        "{:<26}{:>8}{:>8}{:>8}{:>8}{:>9}  ordered",
        "ns and ticks of a read", "ns", "ticks", "p5", "p95", "batches"
    );
    for subject in subjects {
        let at = |share: f64| quantile(&subject.ticks, share);
        let ns = rate.nanoseconds(1_000_000) / 1e6 * at(0.5);
        let count = subject.ticks.len();
        println!(
            "{:<26}{ns:>8.2}{:>8.1}{:>8.1}{:>8.1}{count:>9}  {}",
            subject.name,
            at(0.5),
            at(0.05),
            at(0.95),
            subject.ordered
        );
    }
    let middle = |name: &str| {
        let subject = subjects.iter().find(|subject| subject.name == name).expect("a name of the table");
        quantile(&subject.ticks, 0.5)
    };
    let (ours, kernel) = (middle("Clock::now"), middle("vDSO CLOCK_MONOTONIC"));
    let share = ours / kernel;
    println!("control loop {:.2} ticks a turn; {refused} batches refused by it", fastest / READS as f64);
    println!(
        "Clock::now is {share:.3} of vDSO CLOCK_MONOTONIC (target {SHARE_OF_VDSO}), {ours:.1} ticks (target {TICKS_MAX})"
    );
    let bare = BARE.map(middle).into_iter().fold(f64::INFINITY, f64::min);
    let above_ns = rate.nanoseconds(1_000_000) / 1e6 * (ours - bare);
    println!("and {above_ns:.2} ns above the cheaper bare ordered read (target {ABOVE_BARE_NS})");
    share <= SHARE_OF_VDSO && ours <= TICKS_MAX && above_ns <= ABOVE_BARE_NS
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}
