//! One scenario under each remedy: what the detectors see, and what programs would.

use clock::{Point, Sighting, Strip};
use serde::Serialize;
use stats::Random;

use super::activity::{Activity, Workload};
use super::counter::Counter;
use super::description::{TimeSource, TscMachine};
use super::kernel_clock::{CounterClock, of_platform_timer};
use super::power::{FrequencyCourse, Governor, counter};
use super::remedy::Remedy;

/// Comparisons of two counters per second: the rate of the probe in `sidestep clock check`.
const EXCHANGES_PER_S: f64 = 16.0;
/// Pairs of stamps that two CPUs take one after the other.
const OBSERVATIONS: usize = 20_000;
/// Points of a curve.
const CURVE_POINTS: usize = 240;
/// NTP corrects no more than this: a clock that errs more cannot be disciplined. Linux, `MAXFREQ`: 500 ppm.
const CLOCK_ERROR_MAX_PPM: f64 = 500.0;
/// Streams of random numbers, so that no remedy changes what another core does.
const STREAM_OF_ACTIVITY: u64 = 1;
/// As above, for governors.
const STREAM_OF_GOVERNORS: u64 = 1 << 16;
/// As above, for the readers of the time.
const STREAM_OF_READERS: u64 = 1 << 17;

/// What the machine does, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scenario {
    /// Who decides about frequencies.
    pub governor: Governor,
    /// What the cores do.
    pub workload: Workload,
    /// How long, in seconds.
    pub seconds: f64,
    /// Of all that is drawn.
    pub seed: u64,
}

/// How far a core's counter is from that of the first at a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriftPoint {
    /// Seconds since the beginning.
    pub at_s: f64,
    /// The core's counter less the first core's, as time at the highest frequency, in microseconds.
    pub offset_us: f64,
}

/// One remedy.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriftRow {
    /// Which.
    pub remedy: Remedy,
    /// How it is switched.
    pub how: String,
    /// The core whose counter went farthest from the first core's.
    pub core: usize,
    /// How far, in microseconds.
    pub offset_us: f64,
    /// Mean rate of that core's counter against the first's, in parts per million.
    pub rate_ppm: f64,
    /// The detector is certain: no constant offset fits.
    pub drifts: bool,
    /// The detector is certain: no constant rate fits either.
    pub rate_changes: bool,
    /// Pairs of stamps taken one after the other on the first core and that core.
    pub observations: usize,
    /// Of those, how often the later stamp was the smaller.
    pub backwards: usize,
    /// By how much at most, in microseconds.
    pub backwards_us: f64,
    /// The kernel's clock on the first core against true time, in parts per million.
    pub clock_error_ppm: f64,
    /// Price of a reading in nanoseconds.
    pub read_ns: f64,
    /// Where that price is from.
    pub read_source: String,
    /// Nothing went backwards, and the clock can be disciplined.
    pub safe: bool,
    /// The counter's course.
    pub curve: Vec<DriftPoint>,
}

/// All remedies in one scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriftSimulation {
    /// Version of the document.
    pub schema: u32,
    /// The machine, with every number and its source.
    pub machine: TscMachine,
    /// What it did.
    pub scenario: Scenario,
    /// One per remedy that the machine has, the bare counter first.
    pub rows: Vec<DriftRow>,
}

/// Version of the document. It rises when a reader of the old one would misread the new one.
const SCHEMA: u32 = 1;

/// Runs the scenario under each remedy for whose time source the machine has a price.
pub fn simulate(machine: &TscMachine, scenario: Scenario) -> DriftSimulation {
    let until_ns = scenario.seconds * 1e9;
    let activities: Vec<Activity> = (0..machine.cores())
        .map(|core| {
            let mut random = Random::for_stream(scenario.seed, STREAM_OF_ACTIVITY + core as u64);
            scenario.workload.of_core(core, until_ns, &mut random)
        })
        .collect();
    let rows = Remedy::ALL.into_iter().filter(|remedy| machine.read_of(remedy.read()).is_some());
    DriftSimulation {
        schema: SCHEMA,
        machine: machine.clone(),
        scenario,
        rows: rows.filter_map(|remedy| row(machine, scenario, remedy, &activities)).collect(),
    }
}

fn row(
    machine: &TscMachine,
    scenario: Scenario,
    remedy: Remedy,
    activities: &[Activity],
) -> Option<DriftRow> {
    let until_ns = scenario.seconds * 1e9;
    let read = machine.read_of(remedy.read())?;
    let courses = courses(machine, scenario, remedy, activities);
    let per_course = machine.cores() / courses.len();
    let counters: Vec<Counter> = activities
        .iter()
        .enumerate()
        .map(|(core, activity)| counter(machine, &courses[core / per_course], activity, remedy.ramps()))
        .collect();
    let away = |core: usize| largest_offset_us(machine, &counters[0], &counters[core], until_ns);
    let core = (1..machine.cores()).max_by(|a, b| away(*a).total_cmp(&away(*b)))?;
    let (first, other) = (&counters[0], &counters[core]);
    let strip = strip(machine, first, other, until_ns);
    let clock = CounterClock::run(machine, &courses, first, until_ns);
    let time_ns = |counter: &Counter, at_ns: f64| match read.source_of_time {
        TimeSource::Counter => clock.time_ns(counter, at_ns),
        TimeSource::PlatformTimer => of_platform_timer(at_ns),
    };
    let seen =
        readers(machine, scenario, |is_first, at_ns| time_ns(if is_first { first } else { other }, at_ns));
    let clock_error_ppm = (time_ns(first, until_ns) / until_ns - 1.0) * 1e6;
    Some(DriftRow {
        remedy,
        how: remedy.how().to_owned(),
        core,
        offset_us: away(core),
        rate_ppm: strip.line().map_or(0.0, |line| line.rate * 1e6),
        drifts: strip.moves_for_certain(),
        rate_changes: strip.rate().is_empty(),
        observations: OBSERVATIONS,
        backwards: seen.backwards,
        backwards_us: seen.largest_ns / 1e3,
        clock_error_ppm,
        read_ns: read.ns.value,
        read_source: read.ns.source.clone(),
        safe: seen.backwards == 0 && clock_error_ppm.abs() <= CLOCK_ERROR_MAX_PPM,
        curve: curve(machine, first, other, until_ns),
    })
}

/// One course of frequency per socket, or one for all.
fn courses(
    machine: &TscMachine,
    scenario: Scenario,
    remedy: Remedy,
    activities: &[Activity],
) -> Vec<FrequencyCourse> {
    let governor = if remedy.fixes_frequency() { Governor::Performance } else { scenario.governor };
    let sharing = if remedy.synchronises() { machine.cores() } else { machine.cores_per_socket };
    let period_ns = machine.governor_period_ns.value;
    let of_cores = |(number, cores): (usize, &[Activity])| {
        let cores: Vec<&Activity> = cores.iter().collect();
        // Governors of sockets do not decide at the same moment.
        let phase_ns = period_ns * (number + 1) as f64 / (machine.sockets + 1) as f64;
        let mut random = Random::for_stream(scenario.seed, STREAM_OF_GOVERNORS + number as u64);
        FrequencyCourse::of(machine, governor, &cores, phase_ns, scenario.seconds * 1e9, &mut random)
    };
    activities.chunks(sharing).enumerate().map(of_cores).collect()
}

fn offset_us(machine: &TscMachine, first: &Counter, other: &Counter, at_ns: f64) -> f64 {
    (other.at(at_ns) - first.at(at_ns)) / machine.highest_hz() * 1e6
}

fn largest_offset_us(machine: &TscMachine, first: &Counter, other: &Counter, until_ns: f64) -> f64 {
    curve(machine, first, other, until_ns).iter().map(|point| point.offset_us.abs()).fold(0.0, f64::max)
}

fn curve(machine: &TscMachine, first: &Counter, other: &Counter, until_ns: f64) -> Vec<DriftPoint> {
    (0..=CURVE_POINTS)
        .map(|point| {
            let at_ns = until_ns * point as f64 / CURVE_POINTS as f64;
            DriftPoint { at_s: at_ns / 1e9, offset_us: offset_us(machine, first, other, at_ns) }
        })
        .collect()
}

/// What exchanges of the two counters leave possible.
fn strip(machine: &TscMachine, first: &Counter, other: &Counter, until_ns: f64) -> Strip {
    let half_width = machine.transfer_cycles.value;
    let count = (until_ns / 1e9 * EXCHANGES_PER_S).max(2.0) as u32;
    let sightings = (0..count).map(|number| {
        let at_ns = until_ns * f64::from(number) / f64::from(count);
        let at_ticks = first.at(at_ns);
        let bound =
            |side: f64| Point { at_ticks, offset_ticks: other.at(at_ns) - at_ticks + side * half_width };
        Sighting { lower: bound(-1.0), upper: bound(1.0) }
    });
    Strip { sightings: sightings.collect(), ..Strip::new(0) }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Seen {
    backwards: usize,
    largest_ns: f64,
}

/// Two threads on two cores: one takes a stamp and hands it over, the other takes one and compares.
fn readers(machine: &TscMachine, scenario: Scenario, time_ns: impl Fn(bool, f64) -> f64) -> Seen {
    let mut random = Random::for_stream(scenario.seed, STREAM_OF_READERS);
    let handed_over_ns = machine.transfer_cycles.value / machine.highest_hz() * 1e9;
    let mut seen = Seen::default();
    for _ in 0..OBSERVATIONS {
        let at_ns = random.unit() * (scenario.seconds * 1e9 - handed_over_ns);
        let is_first = random.bool();
        let step_ns = time_ns(!is_first, at_ns + handed_over_ns) - time_ns(is_first, at_ns);
        if step_ns < 0.0 {
            seen.backwards += 1;
            seen.largest_ns = seen.largest_ns.max(-step_ns);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(governor: Governor, workload: Workload) -> DriftSimulation {
        let machine: TscMachine = crate::known("k8-opteron").expect("it comes with sidestep");
        simulate(&machine, Scenario { governor, workload, seconds: 5.0, seed: 1 })
    }

    fn row(simulation: &DriftSimulation, remedy: Remedy) -> &DriftRow {
        simulation.rows.iter().find(|row| row.remedy == remedy).expect("every remedy has a price")
    }

    #[test]
    fn changing_frequency_makes_time_go_backwards_and_together_it_does_not() {
        for governor in [Governor::Ondemand, Governor::Walk] {
            let found = run(governor, Workload::Bursts);
            let bare = row(&found, Remedy::None);
            assert!(bare.drifts && bare.backwards > 0 && !bare.safe, "{governor:?}");
            let together = row(&found, Remedy::TscSync);
            assert!(!together.drifts && together.backwards == 0, "{governor:?}");
        }
    }

    #[test]
    fn ramping_alone_makes_idle_cores_crawl() {
        let found = run(Governor::Performance, Workload::OneBusy);
        let bare = row(&found, Remedy::None);
        assert!(bare.drifts && bare.rate_ppm < -1e5, "{}", bare.rate_ppm);
        let off = row(&found, Remedy::RampingOff);
        assert!(!off.drifts && off.safe);
        // Together or not is no matter where no frequency changes.
        assert!(row(&found, Remedy::SynchronisedTransitions).drifts);
    }

    #[test]
    fn platform_timers_never_go_backwards_and_cost_more() {
        for workload in Workload::ALL {
            let found = run(Governor::Walk, workload);
            for remedy in [Remedy::Hpet, Remedy::AcpiPm] {
                let timer = row(&found, remedy);
                assert_eq!(timer.backwards, 0);
                assert!(timer.safe && timer.read_ns > row(&found, Remedy::None).read_ns);
            }
        }
    }

    #[test]
    fn nothing_drifts_where_nothing_changes() {
        let found = run(Governor::Performance, Workload::Busy);
        assert!(found.rows.iter().all(|row| !row.drifts && row.backwards == 0 && row.safe));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn with_one_frequency_and_no_ramping_no_workload_drifts(seed in any::<u64>(), which in 0_usize..4) {
            let machine: TscMachine = crate::known("k8-opteron").expect("it comes with sidestep");
            let scenario = Scenario {
                governor: Governor::Performance, workload: Workload::ALL[which], seconds: 2.0, seed,
            };
            let found = simulate(&machine, scenario);
            let off = row(&found, Remedy::RampingOff);
            prop_assert!(off.offset_us.abs() < 1e-3 && off.backwards == 0);
        }

        #[test]
        fn a_stronger_ramp_drifts_more(seed in any::<u64>(), divisor in 2.0_f64..512.0) {
            let mut machine: TscMachine = crate::known("k8-opteron").expect("it comes with sidestep");
            let scenario = Scenario {
                governor: Governor::Performance, workload: Workload::OneBusy, seconds: 1.0, seed,
            };
            machine.halt_divisor.value = divisor;
            let weak = row(&simulate(&machine, scenario), Remedy::None).offset_us;
            machine.halt_divisor.value = divisor * 2.0;
            let strong = row(&simulate(&machine, scenario), Remedy::None).offset_us;
            prop_assert!(strong > weak);
        }
    }
}
