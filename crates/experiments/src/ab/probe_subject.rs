//! The probes of sidestep as the subject: what a toggle can move, and controls that it cannot.
//!
//! All rows of a trial are measured in one go while the state holds, so that one schedule serves them all. Where a toggle
//! decides about pages, each of its states has buffers of its own, laid under that state; else all share one, so that
//! its layout is no part of the difference. Between blocks buffers are laid anew.

use std::time::{Duration, Instant};

use clock::{CalibrationError, TickRate};
use host::live::{PageRequest, Pages, pending_signal};
use machine::{CpuId, Identity};
use probes::control::ControlLoops;
use probes::sampler::Sampler;
use probes::short::{ShortKind, ShortProbe, ShortProbeError, ShortSetup};
use record::Better;
use stats::{Cell, Factors, Random};

use super::drift_probe::DriftProbe;
use super::effects::{Effects, effects, seen_toggles};
use super::subject::{GuardSpec, RowSpec, Subject, Trial};
use super::switcher::{Switcher, SwitchingError};

/// What a trial's value is made of.
pub const AGGREGATE: &str = "the fastest of a few samples each";
/// Samples of a row in a trial; each is itself the low end of a few windows.
const SAMPLES: usize = 2;
/// A trial lasts at least so many times as long as the machine settles after a switch.
const TRIAL_PER_SETTLE: f64 = 1.0;
/// More samples than this add nothing to the fastest.
const SAMPLES_MAX: usize = 20;
/// Who waited so long before the first trial wants to know for what.
const READY_NOTE_FROM_S: f64 = 2.0;
/// The stream of random numbers that orders of buffers come from.
const STREAM_OF_LAYOUTS: u64 = 1;
/// Time in which the rate of the counter is found: a few ppm.
const CALIBRATION_NS: u64 = 20_000_000;

/// Why probes cannot be the subject.
#[derive(Debug, thiserror::Error)]
pub enum ProbeSubjectError {
    /// No probe sees this toggle.
    #[error(
        "no probe of sidestep sees {toggle}; give a program after --, as in sidestep ab --toggle {toggle} -- ./program \
         (probes see: {seen})"
    )]
    Unseen {
        /// The toggle.
        toggle: String,
        /// The toggles that a probe sees.
        seen: String,
    },
    /// The counter cannot be used.
    #[error(transparent)]
    Clock(#[from] CalibrationError),
    /// A probe cannot be started.
    #[error(transparent)]
    Probe(#[from] ShortProbeError),
    /// The state cannot be made.
    #[error("{0}")]
    Switching(#[from] SwitchingError),
    /// The time is up.
    #[error(
        "getting ready took the {limit_s} s of the budget: the buffers of {ready} of {rows} probes were laid; give more with --budget"
    )]
    NoTime {
        /// What there was, in seconds.
        limit_s: f64,
        /// Probes that were ready.
        ready: usize,
        /// All of them.
        rows: usize,
    },
    /// A signal.
    #[error("ended by a signal while buffers were laid; nothing was measured")]
    Interrupted,
}

impl ProbeSubjectError {
    /// True if it is the machine that did not let itself be measured, and nothing that the user typed.
    pub fn is_of_machine(&self) -> bool {
        matches!(self, Self::Clock(_) | Self::Probe(_) | Self::NoTime { .. })
    }
}

/// One row: a probe that all states share, or one for each that has buffers of its own.
struct Row {
    spec: RowSpec,
    probes: Vec<ShortProbe>,
    layout: Layout,
}

/// Runs probes in the calling thread, which is pinned.
pub struct ProbeSubject {
    rows: Vec<Row>,
    /// The states that have buffers of their own: both where the toggle decides about pages, else one that both share.
    laid: Vec<Cell>,
    /// Makes the states.
    pub switcher: Switcher,
    samples: usize,
    drift: DriftProbe,
    begun: Instant,
    /// The end of the budget, where there is one: nothing is laid or sampled beyond it.
    end: Option<Instant>,
    /// How long it took to get ready.
    ready_s: f64,
    /// Of the orders in which buffers are laid anew.
    random: Random,
    notes: Vec<String>,
}

impl ProbeSubject {
    /// Starts the probes that see the toggle; the clock starts before, and being ready takes `limit_s` at most.
    ///
    /// # Errors
    /// A toggle that no probe sees, a probe that cannot be started, a state that cannot be made, or too little time.
    pub fn start(
        toggle: &str,
        switcher: Switcher,
        identity: &Identity,
        cpu: CpuId,
        seed: u64,
        limit_s: f64,
    ) -> Result<Self, ProbeSubjectError> {
        let effects = effects(toggle).ok_or_else(|| ProbeSubjectError::Unseen {
            toggle: toggle.to_owned(),
            seen: seen_toggles().join(", "),
        })?;
        Self::start_with(effects, switcher, identity, cpu, seed, limit_s)
    }

    /// The same with what may be moved, be it by a toggle or not.
    ///
    /// # Errors
    /// A probe that cannot be started, a state that cannot be made, or too little time.
    pub fn start_with(
        effects: &Effects,
        switcher: Switcher,
        identity: &Identity,
        cpu: CpuId,
        seed: u64,
        limit_s: f64,
    ) -> Result<Self, ProbeSubjectError> {
        let begun = Instant::now();
        // No number of seconds stands for no end.
        let end = after(begun, limit_s);
        let rate = TickRate::calibrate(CALIBRATION_NS)?;
        let sampler = Sampler::new(cpu, rate, ControlLoops::of(identity)).until(end);
        let mut subject = Self {
            rows: Vec::new(),
            laid: if effects.buffers_per_state { Cell::all(1).collect() } else { vec![Cell::BASELINE] },
            switcher,
            samples: SAMPLES,
            drift: DriftProbe::new(seed),
            begun,
            end,
            ready_s: 0.0,
            random: Random::for_stream(seed, STREAM_OF_LAYOUTS),
            notes: Vec::new(),
        };
        subject.start_rows(effects, &sampler, seed, limit_s)?;
        subject.fit_to_settling()?;
        subject.ready_s = subject.elapsed_s();
        Ok(subject)
    }

    fn is_past_end(&self) -> bool {
        is_past(self.end)
    }

    fn start_rows(
        &mut self,
        effects: &Effects,
        sampler: &Sampler,
        seed: u64,
        limit_s: f64,
    ) -> Result<(), ProbeSubjectError> {
        let mut pages = Vec::new();
        let rows = effects.measured().count();
        for kind in effects.measured() {
            let (mut probes, mut layout) = (Vec::new(), Layout::default());
            let from_s = self.elapsed_s();
            for state in self.laid.clone() {
                if self.must_stop() {
                    return Err(ProbeSubjectError::Interrupted);
                }
                let no_time = ProbeSubjectError::NoTime { limit_s, ready: self.rows.len(), rows };
                if self.is_past_end() {
                    return Err(no_time);
                }
                let _guard = self.switcher.make(state)?;
                // Asked for where the state has no say: what the toggle then forbids or gives is what is measured.
                let asked = self.switcher.pages(state, PageRequest::Huge);
                let setup = ShortSetup { sampler: sampler.clone(), pages: asked, seed, until: self.end };
                let probe = kind.start(&setup).map_err(|error| match error {
                    error if !error.is_broken_off() => error.into(),
                    _ if self.must_stop() => ProbeSubjectError::Interrupted,
                    _ => no_time,
                })?;
                if kind == ShortKind::RandomChase {
                    pages.extend(probe.pages());
                }
                probes.push(probe);
            }
            let is_control = effects.controls.contains(&kind);
            let spec = RowSpec {
                name: kind.name().to_owned(),
                group: if is_control { "control" } else { "probe" }.to_owned(),
                unit: ShortProbe::UNIT.to_owned(),
                better: Better::Lower,
                moved_by: if is_control { Factors::NONE } else { Factors::ONE },
                zero: "",
            };
            layout.tried(from_s, self.elapsed_s());
            layout.times = 1;
            self.rows.push(Row { spec, probes, layout });
        }
        self.notes.extend(same_pages(&pages));
        Ok(())
    }

    /// Where the machine takes long to settle, a trial takes more samples, so that switching does not rule.
    fn fit_to_settling(&mut self) -> Result<(), ProbeSubjectError> {
        let settle_s = self.switcher.settle().as_secs_f64();
        if settle_s == 0.0 || !self.switcher.is_system() {
            return Ok(());
        }
        let _guard = self.switcher.make(Cell::BASELINE)?;
        let begun = Instant::now();
        let end = self.end;
        for row in self.rows.iter_mut().take_while(|_| !is_past(end)) {
            // A disturbed sample takes time as well, which is all that is asked here.
            let _ = row.probes[0].sample();
        }
        let once_s = begun.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
        let required = (settle_s * TRIAL_PER_SETTLE / once_s).ceil() as usize;
        self.samples = required.clamp(SAMPLES, SAMPLES_MAX);
        Ok(())
    }

    /// Lays the buffers of a row anew: of each state while it holds, as it may decide about the pages. Which state is
    /// served first is drawn at random, so that its place in line is no advantage. Until the end; what is not laid by then stays.
    fn lay_anew(&mut self, row: usize, end_s: f64) -> Result<(), SwitchingError> {
        let (from_s, mut is_laid) = (self.elapsed_s(), true);
        let (seed, until) = (self.random.next_u64(), after(self.begun, end_s));
        let mut order: Vec<usize> = (0..self.laid.len()).collect();
        self.random.shuffle(&mut order);
        for index in order {
            if self.must_stop() || is_past(until) {
                is_laid = false;
                break;
            }
            // Shared buffers are no matter of a state, and one less switch is made.
            let guard = if self.laid.len() == 1 { None } else { Some(self.switcher.make(self.laid[index])?) };
            let row = &mut self.rows[row];
            let before = row.probes[index].pages();
            // Without memory for the new ones the old ones serve on.
            is_laid &= row.probes[index].lay_anew(seed, until).is_ok();
            let size = |pages: Option<Pages>| pages.map(|pages| pages.page_bytes);
            row.layout.with_other_pages += usize::from(size(before) != size(row.probes[index].pages()));
            drop(guard);
        }
        let to_s = self.elapsed_s();
        let layout = &mut self.rows[row].layout;
        layout.tried(from_s, to_s);
        layout.times += usize::from(is_laid);
        Ok(())
    }

    /// What the reader has to know, in the end also of the buffers.
    pub fn notes(&self) -> Vec<String> {
        let ready = (self.ready_s >= READY_NOTE_FROM_S)
            .then(|| format!("getting ready, which is mostly laying buffers, took {:.0} s", self.ready_s));
        let layouts = self.rows.iter().filter_map(|row| row.layout.note(&row.spec.name));
        self.notes.iter().cloned().chain(ready).chain(layouts).collect()
    }
}

/// So many seconds later; none where that is no time.
fn after(begun: Instant, seconds: f64) -> Option<Instant> {
    begun.checked_add(Duration::try_from_secs_f64(seconds).ok()?)
}

fn is_past(end: Option<Instant>) -> bool {
    end.is_some_and(|end| Instant::now() >= end)
}

/// Says which pages each state was given; if all are the same, that there is nothing of pages to compare.
fn same_pages(pages: &[Pages]) -> Option<String> {
    let [a, b] = pages else { return None };
    let (a, b) = (a.page_bytes, b.page_bytes);
    Some(if a == b {
        format!("the kernel gave both states pages of {a}: no difference here is one of pages")
    } else {
        format!("buffers of random-chase: A in pages of {a}, B in pages of {b}")
    })
}

impl Subject for ProbeSubject {
    type Error = SwitchingError;

    fn rows(&self) -> Vec<RowSpec> {
        self.rows.iter().map(|row| row.spec.clone()).collect()
    }

    fn guards(&self) -> Vec<GuardSpec> {
        DriftProbe::GUARDS.to_vec()
    }

    fn before_block(&mut self, left_s: f64) -> Result<(), SwitchingError> {
        let end_s = self.elapsed_s() + left_s;
        for row in 0..self.rows.len() {
            let has_memory = self.rows[row].probes[0].pages().is_some();
            let now_s = self.elapsed_s();
            if has_memory && self.rows[row].layout.is_due(now_s, end_s) {
                self.lay_anew(row, end_s)?;
            }
        }
        Ok(())
    }

    fn trial(&mut self, state: Cell) -> Result<Trial, SwitchingError> {
        let guard = self.switcher.make(state)?;
        let (samples, end) = (self.samples, self.end);
        // Of one that both share, the first.
        let laid = self.laid.iter().position(|laid| *laid == state).unwrap_or(0);
        let mut best_of = |row: &mut Row| {
            let probe = &mut row.probes[laid];
            let in_time = (0..samples).take_while(|_| !is_past(end));
            let taken = in_time.filter_map(|_| probe.sample().ok());
            taken.min_by(f64::total_cmp).unwrap_or(f64::NAN)
        };
        let values = self.rows.iter_mut().map(&mut best_of).collect();
        drop(guard);
        Ok(Trial { values, guards: self.drift.readings(), failure: None })
    }

    fn elapsed_s(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    fn must_stop(&self) -> bool {
        pending_signal().is_some()
    }
}

/// Laying a row's buffers anew takes at most this share of the time.
const LAYING_SHARE: f64 = 0.2;

/// Of the buffers of one row.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Layout {
    /// When they were laid last, in seconds since the experiment began.
    laid_s: f64,
    /// How long that took.
    cost_s: f64,
    /// How often they were laid.
    times: usize,
    /// How often the kernel then gave pages of another size.
    with_other_pages: usize,
}

impl Layout {
    /// Remembers when they were laid and how long that took, also where there was no memory.
    fn tried(&mut self, from_s: f64, to_s: f64) {
        (self.laid_s, self.cost_s) = (to_s, to_s - from_s);
    }

    /// True once laying anew takes no more than its share of the time, if it is done before the end.
    fn is_due(&self, now_s: f64, end_s: f64) -> bool {
        let is_cheap = now_s - self.laid_s >= self.cost_s * (1.0 / LAYING_SHARE - 1.0);
        is_cheap && now_s + self.cost_s < end_s
    }

    /// What the reader has to know of the row of this name; `None` if it was laid once, as nothing was asked then.
    fn note(&self, row: &str) -> Option<String> {
        let others = match self.with_other_pages {
            0 => String::new(),
            times => format!(" ({times} in pages of another size than before)"),
        };
        (self.times > 1).then(|| format!("buffers of {row}: laid {} times{others}", self.times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_laid_as_often_as_their_share_of_the_time_allows() {
        for (cost_s, block_s) in [(0.0, 0.04), (0.01, 0.04), (0.5, 0.04), (3.0, 0.1)] {
            let (mut layout, mut now_s, mut spent_s, mut times) = (Layout::default(), cost_s, 0.0, 0);
            layout.tried(0.0, cost_s);
            while now_s < 100.0 {
                if layout.is_due(now_s, 100.0) {
                    layout.tried(now_s, now_s + cost_s);
                    (now_s, spent_s, times) = (now_s + cost_s, spent_s + cost_s, times + 1);
                }
                now_s += block_s;
            }
            assert!(spent_s <= LAYING_SHARE * now_s, "{cost_s}: {spent_s} of {now_s} s");
            assert!(times > 5, "{cost_s}: {times} times");
            assert!(!layout.is_due(now_s, now_s + cost_s), "{cost_s}: beyond the end");
        }
    }

    #[test]
    fn what_was_laid_once_is_not_reported_and_other_pages_are() {
        let note = |times, with_other_pages| {
            Layout { times, with_other_pages, ..Layout::default() }.note("x").unwrap_or_default()
        };
        assert_eq!(note(1, 0), "");
        assert_eq!(note(2, 0), "buffers of x: laid 2 times");
        assert_eq!(note(9, 1), "buffers of x: laid 9 times (1 in pages of another size than before)");
    }
}
