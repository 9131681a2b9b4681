//! What sidestep can tell on this machine, now: every comparison here has the same work on both sides.
//!
//! What differs between two equal things is noise. Measured like this: how far the control loops drift, whether two
//! threads run at the same time, which difference each kind of loop would show, and how often a latency surface
//! differs from itself. The whole surface and the coverage of its intervals take minutes and are asked for.

mod coverage;
mod overlap;
mod resolution;
mod subjects;
mod transfer;
mod twins;

use std::time::{Duration, Instant};

use host::live::{Mapping, PageRequest};
use machine::{Bytes, CpuId};
use record::{Control, ControlState, Selftest};

use crate::cores::control;
use crate::session::Session;

/// Time for the control loops at either end, in seconds.
const CONTROL_S: f64 = 0.6;
/// Rounds of the control loops at either end.
const CONTROL_ROUNDS: u32 = 12;
/// Time for the overlap of threads, in seconds.
const OVERLAP_S: f64 = 0.6;
/// Time for the detectable differences of all kinds, in seconds.
const RESOLUTION_S: f64 = 20.0;
/// Time of one small surface, in seconds; there are two.
const SMALL_SURFACE_S: f64 = 4.0;
/// Time of one whole surface, as in the check-up, in seconds; there are two for each page size.
const WHOLE_SURFACE_S: f64 = 12.0;
/// Repeats of the small surface from which coverage is counted.
const COVERAGE_REPEATS: usize = 20;
/// Time of each repeat, in seconds.
const COVERAGE_SURFACE_S: f64 = 2.5;
/// Memory that is asked for in huge pages to see whether any can be had.
const HUGE_TRIAL_BYTES: usize = 8 << 20;

/// What to do, and in which time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The whole surface against itself, and the coverage of its intervals.
    pub surface: bool,
    /// Time for everything in seconds; `None` for what it takes to say something.
    pub budget_s: Option<f64>,
}

/// One part of the self-test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Control loops at the begin.
    ControlBefore,
    /// Whether two threads run at the same time.
    Overlap,
    /// Which difference each kind of loop would show.
    Resolution,
    /// Two small surfaces, interleaved.
    SmallTwins,
    /// Two whole surfaces, interleaved, in pages of this kind.
    WholeTwins(PageRequest),
    /// Many repeats of the small surface, interleaved.
    Coverage,
    /// Control loops at the end.
    ControlAfter,
}

impl Part {
    /// Short name for progress.
    pub fn name(self) -> &'static str {
        match self {
            Self::ControlBefore | Self::ControlAfter => "control loops",
            Self::Overlap => "overlap",
            Self::Resolution => "resolution",
            Self::SmallTwins | Self::WholeTwins(_) => "surface A/A",
            Self::Coverage => "coverage",
        }
    }
}

/// A part and its time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedPart {
    /// The part.
    pub part: Part,
    /// Its time in seconds.
    pub seconds: f64,
}

impl Settings {
    /// The parts in their order, scaled to the budget.
    pub fn parts(&self) -> Vec<PlannedPart> {
        let planned = |part, seconds| PlannedPart { part, seconds };
        let mut parts = vec![
            planned(Part::ControlBefore, CONTROL_S),
            planned(Part::Overlap, OVERLAP_S),
            planned(Part::Resolution, RESOLUTION_S),
        ];
        if self.surface {
            parts.extend([
                planned(Part::WholeTwins(PageRequest::Base), 2.0 * WHOLE_SURFACE_S),
                planned(Part::WholeTwins(PageRequest::Huge), 2.0 * WHOLE_SURFACE_S),
                planned(Part::Coverage, COVERAGE_REPEATS as f64 * COVERAGE_SURFACE_S),
            ]);
        } else {
            parts.push(planned(Part::SmallTwins, 2.0 * SMALL_SURFACE_S));
        }
        parts.push(planned(Part::ControlAfter, CONTROL_S));
        let sum: f64 = parts.iter().map(|part| part.seconds).sum();
        let factor = self.budget_s.map_or(1.0, |budget_s| budget_s / sum);
        for part in &mut parts {
            part.seconds *= factor;
        }
        parts
    }
}

/// Runs one part, not beyond the end of all; what fails or is dropped is named in `without`.
pub fn measure(found: &mut Selftest, session: &mut Session<'_>, planned: PlannedPart, end: Instant) {
    let now = Instant::now();
    if now >= end {
        found
            .without
            .push(format!("{}: the time was up before; give more with --budget", planned.part.name()));
        return;
    }
    session.deadline = end.min(now + Duration::from_secs_f64(planned.seconds));
    // Surfaces are measured on the last CPU: interrupts go to the first ones on most machines.
    let cpu = *session.cpus.last().expect("a session has at least one CPU");
    match planned.part {
        Part::ControlBefore => {
            let readings = read_control(found, session, planned.seconds);
            found.control = readings.iter().map(|control| state(control, session)).collect();
            let huge = Mapping::new(HUGE_TRIAL_BYTES, PageRequest::Huge);
            found.huge_page_share = huge.ok().map(|mapping| mapping.pages().share);
        }
        Part::Overlap => match overlap::measure(session) {
            Ok(overlap) => found.overlap = overlap,
            Err(error) => found.without.push(format!("overlap of threads: {error}")),
        },
        Part::Resolution => {
            found.resolution = subjects::measure(session, cpu, planned.seconds, &mut found.without);
            found.alarms = resolution::alarms(&found.resolution);
        }
        Part::SmallTwins => measure_twins(found, session, cpu, &twins::small(planned.seconds / 2.0), end),
        Part::WholeTwins(page) => {
            measure_twins(found, session, cpu, &twins::whole(page, planned.seconds / 2.0), end);
        }
        Part::Coverage => match coverage::measure(session, cpu, COVERAGE_REPEATS, planned.seconds) {
            Ok(coverage) => found.coverage = Some(coverage),
            Err(error) => found.without.push(format!("coverage: {error}")),
        },
        Part::ControlAfter => {
            let after = read_control(found, session, planned.seconds);
            set_drift(&mut found.control, &after);
        }
    }
}

/// True if something was measured with both sides alike.
pub fn says_something(found: &Selftest) -> bool {
    !found.resolution.is_empty() || !found.twins.is_empty()
}

/// Which promises did not hold, one line each.
pub fn failures(found: &Selftest) -> Vec<String> {
    let alarms = resolution::failure(&found.alarms).into_iter();
    let twins = found.twins.iter().flat_map(twins::failures);
    alarms.chain(twins).chain(found.coverage.iter().filter_map(coverage::failure)).collect()
}

fn measure_twins(
    found: &mut Selftest,
    session: &mut Session<'_>,
    cpu: CpuId,
    settings: &crate::memory::surface::Settings,
    end: Instant,
) {
    // Both surfaces stop on their own budget; the deadline is for a machine that is far too slow.
    session.deadline = end.min(session.deadline + Duration::from_secs_f64(2.0 * settings.worst_case_s()));
    match twins::measure(session, cpu, settings) {
        Ok(twins) => found.twins.push(twins),
        Err(error) => found.without.push(format!("surface A/A: {error}")),
    }
}

fn read_control(found: &mut Selftest, session: &mut Session<'_>, budget_s: f64) -> Vec<Control> {
    let settings = control::Settings { cpus: session.cpus.clone(), rounds: CONTROL_ROUNDS, budget_s };
    if let Err(error) = control::run(session, &settings) {
        found.without.push(format!("control loops: {error}"));
    }
    std::mem::take(&mut session.record.cores.control)
}

fn state(control: &Control, session: &Session<'_>) -> ControlState {
    let cycles = session.sampler(control.cpu).control.cycles_per_multiply;
    let unknown_because = match (control.core_hz, cycles) {
        (Some(_), _) => None,
        (None, None) => Some("no source gives the multiply's cycles for this CPU family".to_owned()),
        (None, Some(cycles)) => Some(format!(
            "a multiply took {:.2} rotates, its family's manual says {cycles} cycles",
            control.multiply_per_rotate
        )),
    };
    ControlState {
        cpu: control.cpu,
        core_hz: control.core_hz,
        unknown_because,
        multiply_per_rotate: control.multiply_per_rotate,
        core_share: control.core_share,
        multiply_ns: control.multiply_ns,
        port_ns: control.port_ns,
        multiply_drift: None,
        port_drift: None,
    }
}

fn set_drift(states: &mut [ControlState], after: &[Control]) {
    for state in states {
        if let Some(after) = after.iter().find(|reading| reading.cpu == state.cpu) {
            state.multiply_drift = Some(after.multiply_ns / state.multiply_ns - 1.0);
            state.port_drift = Some(after.port_ns / state.port_ns - 1.0);
        }
    }
}

/// The small surface: block sizes over all levels by three strides, 30 cells.
fn small_grid() -> crate::memory::surface::Grid {
    let kib = [8, 24, 64, 192, 512, 1536, 4096, 12_288, 24_576, 32_768];
    crate::memory::surface::Grid {
        blocks: kib.iter().map(|kib| kib * Bytes::KIB.0 as usize).collect(),
        strides: vec![64, 256, 2048],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_fill_the_budget_and_the_default_stays_below_40_s() {
        let seconds = |settings: Settings| settings.parts().iter().map(|part| part.seconds).sum::<f64>();
        assert!(seconds(Settings { surface: false, budget_s: None }) < 36.0);
        for surface in [false, true] {
            assert!((seconds(Settings { surface, budget_s: Some(10.0) }) - 10.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_part_whose_time_is_up_is_dropped_and_said() {
        let mut session = Session {
            record: record::Record::default(),
            cpus: vec![CpuId(0)],
            rate: clock::TickRate::calibrate(1_000_000).expect("a counter that counts"),
            random: kernels::random::SplitMix64::new(1),
            deadline: Instant::now(),
            progress: &crate::session::Silent,
            tally: crate::sampler::Tally::default(),
            results: 0,
        };
        let parts = Settings { surface: true, budget_s: Some(1.0) }.parts();
        let mut found = Selftest::default();
        let end = Instant::now();
        for &planned in &parts {
            measure(&mut found, &mut session, planned, end);
        }
        assert_eq!(found.without.len(), parts.len());
        assert_eq!(found.without[1], "overlap: the time was up before; give more with --budget");
        assert_eq!(Selftest { without: Vec::new(), ..found }, Selftest::default());
    }

    #[test]
    fn the_small_surface_has_30_cells() {
        assert_eq!(small_grid().places().len(), 30);
    }

    #[test]
    fn drift_is_the_change_between_both_ends() {
        let control = |multiply_ns, port_ns| Control {
            cpu: CpuId(0),
            core_hz: None,
            multiply_ns,
            rotate_ns: 0.3,
            multiply_per_rotate: 3.0,
            port_ns,
            core_share: 1.0,
            spread: record::Spread::default(),
        };
        let mut states = [ControlState {
            cpu: CpuId(0),
            core_hz: None,
            unknown_because: None,
            multiply_per_rotate: 3.0,
            core_share: 1.0,
            multiply_ns: 1.0,
            port_ns: 0.1,
            multiply_drift: None,
            port_drift: None,
        }];
        set_drift(&mut states, &[]);
        assert_eq!(states[0].multiply_drift, None);
        set_drift(&mut states, &[control(1.02, 0.2)]);
        assert!((states[0].multiply_drift.expect("both ends") - 0.02).abs() < 1e-12);
        assert!((states[0].port_drift.expect("both ends") - 1.0).abs() < 1e-12);
    }
}
