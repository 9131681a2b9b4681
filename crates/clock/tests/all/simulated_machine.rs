//! Engine and calibrator on machines in software: counters with random faults, late calibrators, disruptions, and never a step
//! backwards.
//!
//! Time is simulated, so every run is the same. A reader reads on any CPU, at least 60 ns after the reader before: a message
//! between two CPUs takes as long, so no reading may be below any earlier one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use clock::{
    Belief, Bound, Calibrator, Disruption, Engine, Exchanged, Fault, FaultSchedule, Instruments, Stamp,
    SystemState, Timing,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// True ticks are 0.4 ns: 2.5 GHz.
const TICKS_PER_MS: u64 = 2_500_000;
const NS_PER_TICK: f64 = 0.4;
/// What the kernel's clock shows at true tick 0.
const BOOT_NS: u64 = 1_000_000_000;
const CPUS: u32 = 4;

/// A machine whose time goes on only when it is asked to, or when something on it is read.
struct Machine {
    now: AtomicU64,
    cpu: AtomicU32,
    random: AtomicU64,
    schedules: Vec<FaultSchedule>,
    system_state: Mutex<SystemState>,
    kernel_answers: AtomicU32,
}

impl Machine {
    fn new(faults: &[Vec<Fault>], clock_source: &str, seed: u64) -> Self {
        let system_state = SystemState {
            clock_source: Some(clock_source.into()),
            online_cpus: Some(format!("0-{}", CPUS - 1)),
            ..SystemState::default()
        };
        Self {
            now: AtomicU64::new(10 * TICKS_PER_MS),
            cpu: AtomicU32::new(0),
            random: AtomicU64::new(seed | 1),
            schedules: faults.iter().map(|faults| FaultSchedule::new(0, faults)).collect(),
            system_state: Mutex::new(system_state),
            kernel_answers: AtomicU32::new(1),
        }
    }

    /// 0 to `below` - 1, by a linear congruence (Knuth, MMIX).
    fn random(&self, below: u64) -> u64 {
        let next = |state: u64| {
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
        };
        let state = next(self.random.load(Ordering::Relaxed));
        self.random.store(state, Ordering::Relaxed);
        (state >> 33) % below
    }

    fn pass(&self, ticks: u64) -> u64 {
        self.now.fetch_add(ticks, Ordering::Relaxed) + ticks
    }

    fn shown(&self, cpu: u32, at: u64) -> u64 {
        self.schedules[cpu as usize].read(at)
    }

    fn true_ns(&self) -> u64 {
        BOOT_NS + (self.now.load(Ordering::Relaxed) as f64 * NS_PER_TICK) as u64
    }
}

impl Instruments for Machine {
    fn stamp(&self) -> Stamp {
        let cpu = self.cpu.load(Ordering::Relaxed);
        let now = self.pass(20 + self.random(8));
        Stamp { ticks: self.shown(cpu, now), cpu }
    }

    fn kernel_ns(&self) -> Option<u64> {
        self.pass(20 + self.random(8));
        (self.kernel_answers.load(Ordering::Relaxed) != 0).then(|| self.true_ns())
    }

    /// Messages take 40 to 70 ticks in either direction at best; the two best ones are up to 3 ms apart.
    fn exchange(&self, reference: u32, cpu: u32) -> Option<Exchanged> {
        let received =
            |machine: &Self| machine.now.load(Ordering::Relaxed) + machine.random(3 * TICKS_PER_MS);
        let (up, down) = (received(self), received(self));
        let (there, back) = (40 + self.random(30), 40 + self.random(30));
        let (published, read) = (self.shown(reference, up - there), self.shown(cpu, up));
        let at_most = Bound { at_ticks: published, offset_ticks: read.wrapping_sub(published).cast_signed() };
        let (published, read) = (self.shown(cpu, down - back), self.shown(reference, down));
        let at_least = Bound { at_ticks: read, offset_ticks: published.wrapping_sub(read).cast_signed() };
        self.pass(3 * TICKS_PER_MS);
        let (overlap_ns, elapsed_ns) = (3_000_000, 3_000_000);
        Some(Exchanged { at_least, at_most, fresh: [9_999; 2], best_after_ticks: 0, overlap_ns, elapsed_ns })
    }

    fn system_state(&self) -> SystemState {
        self.system_state.lock().expect("no reader panics").clone()
    }
}

/// What a run of readers saw.
#[derive(Debug, Default)]
struct Readers {
    last_ns: u64,
    backwards: Vec<(u64, u64)>,
    worst_error_ns: u64,
    count: u64,
}

impl Readers {
    /// Readings on all CPUs for so many ticks.
    fn read(&mut self, engine: &Engine<Machine>, ticks: u64) {
        let machine = &engine.instruments;
        let until = machine.now.load(Ordering::Relaxed) + ticks;
        while machine.now.load(Ordering::Relaxed) < until {
            // 60 ns at least, mostly short, now and then a good part of a millisecond.
            machine.pass(150 + machine.random(1 << (8 + machine.random(14))));
            machine.cpu.store(machine.random(CPUS.into()) as u32, Ordering::Relaxed);
            let now_ns = engine.now_ns();
            if now_ns < self.last_ns {
                self.backwards.push((self.last_ns, now_ns));
            }
            self.last_ns = now_ns;
            self.worst_error_ns = self.worst_error_ns.max(now_ns.abs_diff(machine.true_ns()));
            self.count += 1;
        }
    }
}

/// Lets a calibrator step and readers read until a true time has passed; `lateness` in ticks is added to each pause at random.
fn run(
    engine: &Engine<Machine>,
    calibrator: &mut Calibrator<'_, Machine>,
    readers: &mut Readers,
    ms: u64,
    lateness: u64,
) {
    let machine = &engine.instruments;
    let until = machine.now.load(Ordering::Relaxed) + ms * TICKS_PER_MS;
    while machine.now.load(Ordering::Relaxed) < until {
        machine.cpu.store(machine.random(CPUS.into()) as u32, Ordering::Relaxed);
        let pause_ns = calibrator.step();
        let late = if lateness == 0 { 0 } else { machine.random(lateness) };
        readers.read(engine, (pause_ns as f64 / NS_PER_TICK) as u64 + late);
    }
}

fn calibrator(engine: &Engine<Machine>) -> Calibrator<'_, Machine> {
    let cpus: Vec<u32> = (0..CPUS).collect();
    Calibrator::new(engine, &cpus, Timing::default())
}

fn faults() -> impl Strategy<Value = Vec<Fault>> {
    prop_oneof![
        Just(vec![]),
        (-10_000_000_i64..10_000_000).prop_map(|ticks| vec![Fault::Offset { ticks }]),
        (-10_000_000_i64..10_000_000, -100_000_i64..100_000)
            .prop_map(|(ticks, ppb)| vec![Fault::Offset { ticks }, Fault::Rate { ppb }]),
    ]
}

#[test]
fn a_healthy_machine_is_served_by_its_counters_after_a_tenth_of_a_second() {
    let engine = Engine::new(Machine::new(&vec![vec![]; 4], "tsc", 1), 4);
    let (mut calibrator, mut readers) = (calibrator(&engine), Readers::default());
    run(&engine, &mut calibrator, &mut readers, 90, 0);
    assert!(!engine.is_open());
    run(&engine, &mut calibrator, &mut readers, 60, 0);
    assert!(engine.is_open());
    run(&engine, &mut calibrator, &mut readers, 20_000, 0);
    assert_eq!((readers.backwards.len(), engine.generation(), engine.disruption()), (0, 0, None));
    assert!(readers.worst_error_ns <= 60, "{} ns", readers.worst_error_ns);
    assert!((1..100).contains(&engine.boundary_ns()), "{} ns", engine.boundary_ns());
    let rate = calibrator.discipline().rate().expect("it has run for seconds");
    assert!((rate.ns_per_tick / NS_PER_TICK - 1.0).abs() < 5e-8, "{rate:?}");
}

#[test]
fn a_healthy_machine_is_never_corrected() {
    let engine = Engine::new(Machine::new(&vec![vec![]; 4], "kvm-clock", 2), 4);
    let (mut calibrator, mut readers) = (calibrator(&engine), Readers::default());
    run(&engine, &mut calibrator, &mut readers, 60_000, 0);
    assert!(engine.is_open() && readers.backwards.is_empty());
    for cpu in 0..CPUS {
        let belief = calibrator.alignment(cpu).expect("a CPU of the machine").belief;
        assert!(matches!(belief, Belief::Same { .. }), "{cpu}: {belief:?}");
    }
}

#[test]
fn every_disruption_sends_readers_to_the_kernel_and_none_of_them_back_in_time() {
    for (disruption, change) in [
        (
            Disruption::ClockSource,
            SystemState { clock_source: Some("hpet".into()), ..SystemState::default() },
        ),
        (Disruption::Suspend, SystemState { asleep_ns: 9_000_000_000, ..SystemState::default() }),
        (Disruption::HotPlug, SystemState { online_cpus: Some("0-2".into()), ..SystemState::default() }),
        (Disruption::VmClock, SystemState { vm_marker: Some(1), ..SystemState::default() }),
    ] {
        let engine = Engine::new(Machine::new(&vec![vec![]; 4], "tsc", 3), 4);
        let (mut calibrator, mut readers) = (calibrator(&engine), Readers::default());
        run(&engine, &mut calibrator, &mut readers, 1_000, 0);
        {
            let mut now = engine.instruments.system_state.lock().expect("no reader panics");
            now.clock_source = change.clock_source.or(now.clock_source.take());
            now.online_cpus = change.online_cpus.or(now.online_cpus.take());
            (now.asleep_ns, now.vm_marker) = (change.asleep_ns, change.vm_marker);
        }
        let pause = calibrator.step();
        assert_eq!(
            (engine.is_open(), engine.generation(), engine.disruption()),
            (false, 1, Some(disruption))
        );
        readers.read(&engine, pause);
        run(&engine, &mut calibrator, &mut readers, 5_000, 0);
        assert!(engine.is_open() && readers.backwards.is_empty(), "{disruption:?} {readers:?}");
    }
}

#[test]
fn a_counter_that_jumps_is_caught_within_a_step_and_time_waits_for_it() {
    for ticks in [5_000_000_000, -5_000_000_000, 100_000_000] {
        let jump = vec![Fault::Step { at_ticks: 2_000 * TICKS_PER_MS, ticks }];
        let faults = vec![jump.clone(), jump.clone(), jump.clone(), jump];
        let engine = Engine::new(Machine::new(&faults, "tsc", 4), 4);
        let (mut calibrator, mut readers) = (calibrator(&engine), Readers::default());
        run(&engine, &mut calibrator, &mut readers, 8_000, 0);
        assert_eq!((engine.generation(), engine.disruption()), (1, Some(Disruption::Jump)));
        assert!(engine.is_open() && readers.backwards.is_empty(), "{ticks}: {readers:?}");
        // A segment holds for a second, so no reader was further ahead than that.
        assert!(readers.worst_error_ns <= 1_000_000_000, "{}", readers.worst_error_ns);
    }
}

#[test]
fn one_cpu_that_leaves_the_others_is_found_and_corrected() {
    let leaving = vec![Fault::Step { at_ticks: 2_000 * TICKS_PER_MS, ticks: 2_500_000 }];
    let engine = Engine::new(Machine::new(&[vec![], vec![], leaving, vec![]], "kvm-clock", 5), 4);
    let (mut calibrator, mut readers) = (calibrator(&engine), Readers::default());
    run(&engine, &mut calibrator, &mut readers, 40_000, 0);
    // By an exchange, or by the kernel's clock if the calibrator itself was on that CPU.
    assert!(
        matches!(engine.disruption(), Some(Disruption::Skew | Disruption::Jump)),
        "{:?}",
        engine.disruption()
    );
    readers = Readers { last_ns: readers.last_ns, ..Readers::default() };
    run(&engine, &mut calibrator, &mut readers, 20_000, 0);
    assert!(engine.is_open() && readers.backwards.is_empty(), "{readers:?}");
    assert!(matches!(calibrator.alignment(2).map(|alignment| alignment.belief), Some(Belief::Corrected(_))));
    assert!(readers.worst_error_ns <= 100, "{readers:?}");
}

#[test]
fn a_keeper_that_wakes_on_a_cpu_of_which_nothing_is_known_begins_on_the_reference() {
    let ahead = vec![Fault::Offset { ticks: 2_500_000 }];
    let engine = Engine::new(Machine::new(&[vec![], vec![], vec![], ahead], "hpet", 7), 4);
    let (mut calibrator, mut readers) = (calibrator(&engine), Readers::default());
    // Nothing moves it but what it asks for itself.
    let (mut on, until) = (3, 5_000 * TICKS_PER_MS);
    while engine.instruments.now.load(Ordering::Relaxed) < until {
        let step_cpus = calibrator.step_cpus();
        on = if step_cpus.contains(&on) { on } else { step_cpus[0] };
        engine.instruments.cpu.store(on, Ordering::Relaxed);
        let pause_ns = calibrator.step();
        readers.read(&engine, (pause_ns as f64 / NS_PER_TICK) as u64);
    }
    assert!(engine.is_open() && readers.backwards.is_empty(), "{readers:?}");
    assert_eq!(calibrator.step_cpus(), [0, 1, 2, 3], "it is free once all are known");
}

#[test]
fn a_kernel_that_refuses_its_clock_lets_time_stand_still_at_worst() {
    let engine = Engine::new(Machine::new(&vec![vec![]; 4], "tsc", 6), 4);
    let (mut calibrator, mut readers) = (calibrator(&engine), Readers::default());
    run(&engine, &mut calibrator, &mut readers, 1_000, 0);
    engine.instruments.kernel_answers.store(0, Ordering::Relaxed);
    run(&engine, &mut calibrator, &mut readers, 3_000, 0);
    assert!(readers.backwards.is_empty(), "{readers:?}");
    engine.instruments.kernel_answers.store(1, Ordering::Relaxed);
    run(&engine, &mut calibrator, &mut readers, 3_000, 0);
    assert!(engine.is_open() && readers.backwards.is_empty(), "{readers:?}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24, rng_seed: RngSeed::Fixed(11), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn no_schedule_of_faults_lets_time_go_back(
        faults in proptest::collection::vec(faults(), 4), late_ms in prop_oneof![Just(0_u64), 1_u64..3_000], seed: u64,
    ) {
        let engine = Engine::new(Machine::new(&faults, "kvm-clock", seed), 4);
        let (mut calibrator, mut readers) = (calibrator(&engine), Readers::default());
        run(&engine, &mut calibrator, &mut readers, 15_000, late_ms * TICKS_PER_MS);
        prop_assert!(readers.backwards.is_empty(), "{:?}", readers);
        prop_assert!(readers.worst_error_ns <= 2_000, "{:?}", readers);
        prop_assert!(late_ms > 200 || engine.is_open(), "{:?}", engine.disruption());
    }
}
