//! The watcher on simulated probes: each thing that may happen, once, and nothing where nothing did.

use clock::{Bound, Fault, FaultSchedule, Regime};

use super::*;

const HZ: f64 = 2.5e9;
const SECOND_NS: u64 = 1_000_000_000;
const PAIR: CpuPair = CpuPair { a: CpuId(0), b: CpuId(1) };

/// A machine in simulated time.
struct World {
    watcher: Watcher,
    second: FaultSchedule,
    number: u64,
    noise: u64,
    realtime_ahead_ns: i64,
    counter_ahead_ticks: i64,
    late_ns: u64,
    /// The two CPUs do not meet.
    is_busy: bool,
    system_state: SystemState,
}

impl World {
    fn new(faults: &[Fault]) -> Self {
        Self {
            watcher: Watcher::new(HZ, 1, 1, SECOND_NS),
            is_busy: false,
            second: FaultSchedule::new(0, faults),
            number: 0,
            noise: 1,
            realtime_ahead_ns: 1_700_000_000 * SECOND_NS.cast_signed(),
            counter_ahead_ticks: 0,
            late_ns: 0,
            system_state: SystemState {
                clock_source: Some("tsc".to_owned()),
                online_cpus: Some("0-1".to_owned()),
                asleep_ns: 0,
                vm_marker: None,
            },
        }
    }

    /// One probe, a second after the last.
    fn step(&mut self) -> Vec<ClockHappening> {
        self.number += 1;
        let due_ns = self.number * SECOND_NS;
        let raw_ns = due_ns + self.late_ns;
        let at = (raw_ns as f64 * HZ / 1e9) as u64;
        self.second.enter(Regime::Load, at);
        let mut delay = || {
            self.noise =
                self.noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            100 + (self.noise >> 33) % 30
        };
        let (there, back) = (delay(), delay());
        let upper = self.second.read(at + there).wrapping_sub(at).cast_signed();
        let lower = self.second.read(at).wrapping_sub(at + back).cast_signed();
        let exchanged = Exchanged {
            at_least: Bound { at_ticks: at + back, offset_ticks: lower },
            at_most: Bound { at_ticks: at, offset_ticks: upper },
            fresh: [5_000; 2],
            best_after_ticks: 1_000,
            overlap_ns: 3,
            elapsed_ns: 3,
        };
        let boottime_ns = raw_ns + self.system_state.asleep_ns.cast_unsigned();
        self.watcher.judge(Pulse {
            due_ns,
            raw_ns,
            ticks: at.wrapping_add_signed(self.counter_ahead_ticks),
            realtime_ns: boottime_ns.wrapping_add_signed(self.realtime_ahead_ns),
            boottime_ns,
            width_ns: 300,
            system_state: self.system_state.clone(),
            synchronised: Some(true),
            hardware_clock_s: None,
            exchange: Some(PairExchange { pair: PAIR, seen: Ok((!self.is_busy).then_some(exchanged)) }),
        })
    }

    fn quiet(&mut self, seconds: u64) {
        for second in 0..seconds {
            let happened = self.step();
            assert!(happened.is_empty(), "second {second}: {happened:?}");
        }
    }

    /// What happens first within so many seconds, and after how many.
    fn first_within(&mut self, seconds: u64) -> Option<(u64, ClockHappening)> {
        (1..=seconds).find_map(|second| Some((second, self.step().into_iter().next()?)))
    }
}

#[test]
fn a_healthy_machine_is_silent_for_hours_and_its_memory_does_not_grow() {
    let mut world = World::new(&[]);
    world.quiet(3 * 3_600);
    let (watch, _) = &world.watcher.pairs[&PAIR];
    assert!(watch.whole.sightings.len() < REMEMBERED);
    assert!(watch.whole.span_ticks() > 3_000.0 * HZ, "what is remembered reaches far back");
}

#[test]
fn drift_is_reported_once_and_a_step_each_time() {
    let mut world = World::new(&[Fault::Rate { ppb: 100 }]);
    let (second, what) = world.first_within(60).expect("100 ppb");
    let ClockHappening::Counters { fault, rate_ppb, .. } = what else { panic!("{what:?}") };
    assert_eq!(fault, ClockFault::Slope);
    assert!(second <= 10 && rate_ppb.is_some_and(|ppb| (ppb - 100.0).abs() < 30.0), "{second} {rate_ppb:?}");
    world.quiet(2_000);

    let steps = [20_u64, 60].map(|s| Fault::Step { at_ticks: s * HZ as u64, ticks: 2_500 });
    let mut world = World::new(&steps);
    for _ in 0..2 {
        let (_, what) = world.first_within(60).expect("a step");
        let ClockHappening::Counters { fault, step_ns, .. } = what else { panic!("{what:?}") };
        assert_eq!(fault, ClockFault::Step);
        assert!(step_ns.is_some_and(|ns| (ns - 1_000.0).abs() < 20.0), "{step_ns:?}");
    }
    world.quiet(1_000);
}

#[test]
fn a_jump_that_two_exchanges_prove_is_reported_and_what_was_hardly_watched_is_not_called_calm() {
    let step = Fault::Step { at_ticks: 6 * HZ as u64, ticks: 5_000 };
    // Two of twelve probes see both counters: one before the jump and one after it.
    for seen in [[2, 10], [2, 3]] {
        let mut world = World::new(&[step]);
        let mut reported = Vec::new();
        for second in 1..=12 {
            world.is_busy = !seen.contains(&second);
            reported.extend(world.step());
        }
        reported.extend(world.watcher.finish());
        let is_moved =
            |what: &ClockHappening| matches!(what, ClockHappening::Counters { fault: ClockFault::Moved, .. });
        let expected = usize::from(seen[1] > 6);
        assert_eq!(
            (reported.len(), reported.iter().filter(|what| is_moved(what)).count()),
            (expected, expected),
            "{reported:?}"
        );
        let mut summary = ClockWatchSummary { watched_s: 12.0, ..ClockWatchSummary::default() };
        world.watcher.summarise(&mut summary);
        assert!(!summary.could_watch(), "{summary:?}");
    }
    // A watch that is short and saw all of it tells at its end.
    let mut world = World::new(&[Fault::Step { at_ticks: 3 * HZ as u64, ticks: 5_000 }]);
    world.quiet(5);
    assert_eq!(world.watcher.finish().len(), 1);
    let mut summary = ClockWatchSummary { watched_s: 5.0, ..ClockWatchSummary::default() };
    world.watcher.summarise(&mut summary);
    assert!(summary.could_watch() && summary.blind_below_ns.is_some(), "{summary:?}");
}

#[test]
fn an_offset_that_was_always_there_is_reported_once() {
    let mut world = World::new(&[Fault::Offset { ticks: -900 }]);
    let (_, what) = world.first_within(10).expect("an offset");
    assert!(matches!(what, ClockHappening::Counters { fault: ClockFault::Offset, .. }), "{what:?}");
    world.quiet(1_000);
}

#[test]
fn what_happens_around_the_counters_is_reported_by_its_name() {
    let mut world = World::new(&[]);
    world.quiet(10);
    world.system_state.clock_source = Some("hpet".to_owned());
    assert!(matches!(world.step()[..], [ClockHappening::ClockSource { .. }]));
    world.realtime_ahead_ns -= 50_000;
    assert!(
        matches!(world.step()[..], [ClockHappening::SystemTimeStepped { ns }] if (ns + 50_000.0).abs() < 1.0)
    );
    world.system_state.vm_marker = Some(2);
    assert!(matches!(world.step()[..], [ClockHappening::VmDisrupted]));
    world.system_state.online_cpus = Some("0".to_owned());
    assert!(matches!(world.step()[..], [ClockHappening::HotPlug { .. }]));
    world.system_state.asleep_ns += 7 * SECOND_NS.cast_signed();
    world.counter_ahead_ticks = -4_000_000_000;
    assert!(matches!(world.step()[..], [ClockHappening::Suspended { ns }] if (ns - 7e9).abs() < 1.0));
    world.quiet(3);
    world.counter_ahead_ticks += 5_000_000_000;
    assert!(matches!(world.step()[..], [ClockHappening::CounterJumped { ns }] if (ns - 2e9).abs() < 1.0));
    world.quiet(3);
    world.late_ns = 5 * SECOND_NS;
    assert!(matches!(world.step()[..], [ClockHappening::Stalled { ns }] if (ns - 5e9).abs() < 1.0));
}

#[test]
fn a_hardware_clock_that_runs_on_without_us_is_reported_and_one_that_is_set_with_the_time_is_not() {
    let pulse = |raw_s: u64, hardware_clock_s: u64, realtime_s: u64| Pulse {
        due_ns: raw_s * SECOND_NS,
        raw_ns: raw_s * SECOND_NS,
        ticks: raw_s * HZ as u64,
        realtime_ns: realtime_s * SECOND_NS,
        boottime_ns: raw_s * SECOND_NS,
        width_ns: 100,
        system_state: SystemState::default(),
        synchronised: None,
        hardware_clock_s: Some(hardware_clock_s),
        exchange: None,
    };
    let mut watcher = Watcher::new(HZ, 1, 1, SECOND_NS);
    assert!(watcher.judge(pulse(0, 1_000, 1_000)).is_empty());
    assert!(watcher.judge(pulse(60, 1_061, 1_060)).is_empty(), "hardware clocks tell seconds");
    let happened = watcher.judge(pulse(120, 4_720, 1_120));
    assert!(
        matches!(happened[..], [ClockHappening::HardwareClockMoved { s }] if s > 3_000.0),
        "{happened:?}"
    );
    let happened = watcher.judge(pulse(180, 4_780, 4_780));
    assert!(matches!(happened[..], [ClockHappening::SystemTimeStepped { .. }]), "{happened:?}");
    assert!(watcher.judge(pulse(240, 4_840, 4_840)).is_empty());
}

#[test]
fn a_cpu_that_cannot_be_reached_is_reported_once() {
    let mut world = World::new(&[]);
    world.quiet(2);
    let mut lost = world.watcher.last().expect("two probes").clone();
    lost.exchange = Some(PairExchange { pair: PAIR, seen: Err((CpuId(1), "it went offline".to_owned())) });
    assert!(matches!(world.watcher.judge(lost.clone())[..], [ClockHappening::Lost { .. }]));
    assert!(world.watcher.judge(lost).is_empty());
}

/// The share of twelve seconds in which these exchanges were usable.
fn share(pairs: usize, usable: &[(u32, u64)]) -> Option<f64> {
    let mut coverage = Coverage::of(pairs, SECOND_NS);
    for &(cpu, second) in usable {
        coverage.add(CpuPair { a: CpuId(0), b: CpuId(cpu) }, second * SECOND_NS);
    }
    coverage.share(12e9)
}

#[test]
fn only_time_between_exchanges_near_each_other_was_watched() {
    let at = |seconds: &[u64]| seconds.iter().map(|&second| (1, second)).collect::<Vec<_>>();
    for (pairs, usable, expected) in [
        (0, at(&[]), None),
        (1, at(&[]), Some(0.0)),
        (1, at(&[5]), Some(0.0)),
        (1, at(&[0, 11]), Some(2.5 / 12.0)),
        (1, at(&(0..12).collect::<Vec<_>>()), Some(11.0 / 12.0)),
        (1, at(&[0, 2, 4, 6, 8, 10]), Some(10.0 / 12.0)),
        // Two pairs take turns, and one of them never meets.
        (2, at(&[0, 2, 4, 6, 8, 10]), Some(5.0 / 12.0)),
    ] {
        let share = share(pairs, &usable);
        assert!(share.is_none_or(f64::is_sign_positive), "nothing is not minus nothing");
        assert_eq!(share.map(|share| (share * 1e6) as u64), expected.map(|share: f64| (share * 1e6) as u64));
    }
}

#[test]
fn time_across_an_interruption_was_not_watched() {
    let mut coverage = Coverage::of(1, SECOND_NS);
    let pair = CpuPair { a: CpuId(0), b: CpuId(1) };
    coverage.add(pair, 0);
    coverage.part();
    coverage.add(pair, SECOND_NS);
    assert_eq!(coverage.share(1e9), Some(0.0));
    coverage.add(pair, 2 * SECOND_NS);
    assert_eq!(coverage.share(2e9), Some(0.5));
}
