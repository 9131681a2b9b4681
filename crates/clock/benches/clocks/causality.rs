//! Time between threads: does anybody read less than what he has already seen?
//!
//! ```text
//! observation   load what the other CPU published; read the clock; a value below the loaded one is a step backwards
//! migration     read the clock; move to the other CPU; read again
//! ```
//! Only values that changed count as observations. The proof under faults puts a software fault into the counter of one
//! CPU, 1 ms and 50 ppm, and lets the calibrator recalibrate all the while.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clock::{Clock, Engine, Fault, FaultedHardware, Instruments, Timing};

use super::{pin, two_cpus};

/// Fresh observations of our clock, both directions together. Source: the project's targets.
const OBSERVATIONS: u64 = 100_000_000;
/// Fresh observations of a peer: enough to see whether it goes back.
const PEER_OBSERVATIONS: u64 = 2_000_000;
/// Migrations of our clock. Source: the project's targets.
const MIGRATIONS: u64 = 100_000;
/// Ticks in the millisecond by which the faulted CPU is ahead, at 2.6 GHz.
const AHEAD_TICKS: i64 = 2_600_000;
/// Turns between two looks at the limits.
const TURNS: u32 = 1_000;
/// A section gives up after this long.
const LIMIT: Duration = Duration::from_secs(240);

/// A word alone on its pair of cache lines.
#[derive(Default)]
#[repr(align(128))]
struct Line(AtomicU64);

/// What was seen, of observations or of migrations.
#[derive(Clone, Copy, Default)]
struct Seen {
    count: u64,
    backwards: u64,
    worst_ns: u64,
}

impl Seen {
    fn note(&mut self, before: u64, now: u64) {
        self.count += 1;
        if now < before {
            self.backwards += 1;
            self.worst_ns = self.worst_ns.max(before - now);
        }
    }

    fn add(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            backwards: self.backwards + other.backwards,
            worst_ns: self.worst_ns.max(other.worst_ns),
        }
    }
}

/// Two threads on two CPUs that tell each other the time, until both have enough observations.
fn observe(cpus: [u32; 2], needed: u64, read: &(dyn Fn() -> u64 + Sync)) -> Seen {
    let lines = [Line::default(), Line::default()];
    let (arrived, satisfied) = (AtomicU32::new(0), AtomicU32::new(0));
    let began = Instant::now();
    let side = |own: usize| {
        pin(&cpus[own..=own]);
        arrived.fetch_add(1, Ordering::AcqRel);
        while arrived.load(Ordering::Acquire) < 2 {
            std::hint::spin_loop();
        }
        let (mut seen, mut last, mut is_satisfied) = (Seen::default(), 0, false);
        while satisfied.load(Ordering::Relaxed) < 2 && began.elapsed() < LIMIT {
            for _ in 0..TURNS {
                let published = lines[1 - own].0.load(Ordering::Acquire);
                let now = read();
                if published != last {
                    last = published;
                    seen.note(published, now);
                }
                lines[own].0.store(now, Ordering::Release);
            }
            if seen.count >= needed / 2 && !is_satisfied {
                is_satisfied = true;
                satisfied.fetch_add(1, Ordering::Relaxed);
            }
        }
        seen
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| side(1));
        let own = scope.spawn(|| side(0));
        own.join().expect("a side does not panic").add(other.join().expect("a side does not panic"))
    })
}

/// One thread that reads, moves to the other CPU, and reads again.
fn migrate(cpus: [u32; 2], needed: u64, read: &dyn Fn() -> u64) -> Seen {
    /// Reads on each CPU.
    const READS: u32 = 20;
    let (mut seen, mut before) = (Seen::default(), read());
    let began = Instant::now();
    while seen.count < needed && began.elapsed() < LIMIT {
        let cpu = usize::from(seen.count % 2 == 0);
        pin(&cpus[cpu..=cpu]);
        let mut moved = Seen::default();
        for _ in 0..READS {
            let now = read();
            moved.note(before, now);
            before = now;
        }
        seen = seen.add(Seen { count: 1, ..moved });
    }
    pin(&cpus);
    seen
}

fn print(name: &str, seen: Seen) {
    println!("{name:<44}{:>12}{:>12}{:>14}", seen.count, seen.backwards, seen.worst_ns);
}

fn heading(what: &str) {
    println!("{what:<44}{:>12}{:>12}{:>14}", "count", "backwards", "worst ns");
}

pub(crate) fn run() -> bool {
    let Some(cpus) = two_cpus() else {
        println!("causality: this process may use one CPU only; nothing to compare");
        return true;
    };
    let clock = Clock::new().expect("the kernel gives a clock");
    assert!(
        clock.wait_for_counter(Duration::from_secs(10)),
        "the counters are not used: {:?}",
        clock.no_counter()
    );
    heading("fresh observations between two CPUs");
    let now = || clock.now().as_nanos();
    let ours = observe(cpus, OBSERVATIONS, &now);
    print("Clock::now", ours);
    let (start, quanta) = (Instant::now(), quanta::Clock::new());
    let (quanta_start, minstant_start, fastant_start) =
        (quanta.now(), minstant::Instant::now(), fastant::Instant::now());
    let ns = |duration: Duration| duration.as_nanos() as u64;
    print("std Instant::now", observe(cpus, PEER_OBSERVATIONS, &|| ns(start.elapsed())));
    print("quanta Clock::now", observe(cpus, PEER_OBSERVATIONS, &|| ns(quanta.now() - quanta_start)));
    print("minstant", observe(cpus, PEER_OBSERVATIONS, &|| ns(minstant::Instant::now() - minstant_start)));
    print("fastant", observe(cpus, PEER_OBSERVATIONS, &|| ns(fastant::Instant::now() - fastant_start)));
    heading("migrations");
    let moved = migrate(cpus, MIGRATIONS, &now);
    print("Clock::now", moved);
    println!(
        "generation {}, source {:?}, boundary {} ns",
        clock.generation(),
        clock.source(),
        clock.ordered().boundary_ns
    );
    ours.backwards + moved.backwards == 0 && ours.count >= OBSERVATIONS && moved.count >= MIGRATIONS
}

pub(crate) fn run_faulted() -> bool {
    let Some(cpus) = two_cpus() else {
        println!("faults: this process may use one CPU only; nothing to compare");
        return true;
    };
    let mut passed = true;
    for (name, faults) in [
        ("healthy", vec![]),
        ("1 ms", vec![Fault::Offset { ticks: AHEAD_TICKS }]),
        ("1 ms + 50 ppm", vec![Fault::Offset { ticks: AHEAD_TICKS }, Fault::Rate { ppb: 50_000 }]),
        ("-1 ms - 50 ppm", vec![Fault::Offset { ticks: -AHEAD_TICKS }, Fault::Rate { ppb: -50_000 }]),
    ] {
        let mut hardware =
            FaultedHardware::new(clock::possible_cpu_count()).expect("the counters can be used");
        hardware.counter.fault(cpus[1], &faults);
        // The calibrator lives as long as the process, so its engine does as well.
        let engine: &'static Engine<_> =
            Box::leak(Box::new(Engine::new(hardware, clock::possible_cpu_count())));
        pin(&cpus);
        clock::start_calibrator(engine, Timing::default()).expect("a thread can be started");
        let began = Instant::now();
        while !engine.is_open() && began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(10));
        }
        println!(
            "\n{name}: calibrated after {:.1} s, boundary {} ns",
            began.elapsed().as_secs_f64(),
            engine.boundary_ns()
        );
        heading("observations and migrations");
        let naive = || engine.instruments.stamp().ticks;
        print("counter as it is (ticks)", observe(cpus, PEER_OBSERVATIONS, &naive));
        let observed = observe(cpus, OBSERVATIONS, &|| engine.now_ns());
        print("engine", observed);
        let moved = migrate(cpus, MIGRATIONS, &|| engine.now_ns());
        print("engine, migrations", moved);
        println!(
            "generation {} {:?}, open {}, boundary {} ns, error {} ns",
            engine.generation(),
            engine.disruption(),
            engine.is_open(),
            engine.boundary_ns(),
            engine.error_ns()
        );
        passed &= observed.backwards + moved.backwards == 0 && observed.count >= OBSERVATIONS;
    }
    passed
}
