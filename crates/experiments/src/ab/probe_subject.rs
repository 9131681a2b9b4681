//! The probes of sidestep as the subject: what a toggle can move, and controls that it cannot.
//!
//! All rows of a trial are measured in one go while the state holds, so that one schedule serves them all. Where a toggle
//! decides about pages, each state has buffers of its own, laid under that state; else both share one, so that its
//! layout is no part of the difference.

use std::time::Instant;

use clock::{CalibrationError, TickRate};
use host::live::{PageRequest, Pages, pending_signal};
use machine::{CpuId, Identity};
use probes::control::ControlLoops;
use probes::sampler::Sampler;
use probes::short::{ShortKind, ShortProbe, ShortProbeError, ShortSetup};
use record::Better;
use stats::Arm;

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
    #[error(transparent)]
    Switching(#[from] SwitchingError),
}

impl ProbeSubjectError {
    /// True if it is the machine that did not let itself be measured, and nothing that the user typed.
    pub fn is_of_machine(&self) -> bool {
        matches!(self, Self::Clock(_) | Self::Probe(_))
    }
}

/// One row: a probe that both states share, or one for each.
struct Row {
    spec: RowSpec,
    probes: Vec<Box<dyn ShortProbe>>,
}

impl Row {
    fn probe(&mut self, state: Arm) -> &mut dyn ShortProbe {
        let index = usize::from(state == Arm::B).min(self.probes.len() - 1);
        self.probes[index].as_mut()
    }
}

/// Runs probes in the calling thread, which is pinned.
pub struct ProbeSubject {
    rows: Vec<Row>,
    /// Makes the states.
    pub switcher: Switcher,
    samples: usize,
    drift: DriftProbe,
    begun: Instant,
    notes: Vec<String>,
}

impl ProbeSubject {
    /// Starts the probes that see the toggle; the clock starts before.
    ///
    /// # Errors
    /// A toggle that no probe sees, a probe that cannot be started, or a state that cannot be made.
    pub fn start(
        toggle: &str,
        switcher: Switcher,
        identity: &Identity,
        cpu: CpuId,
        seed: u64,
    ) -> Result<Self, ProbeSubjectError> {
        let begun = Instant::now();
        let Some(effects) = effects(toggle) else {
            let (toggle, seen) = (toggle.to_owned(), seen_toggles().join(", "));
            return Err(ProbeSubjectError::Unseen { toggle, seen });
        };
        let sampler = Sampler::new(cpu, TickRate::calibrate(CALIBRATION_NS)?, ControlLoops::of(identity));
        let mut subject = Self {
            rows: Vec::new(),
            switcher,
            samples: SAMPLES,
            drift: DriftProbe::new(seed),
            begun,
            notes: Vec::new(),
        };
        subject.start_rows(effects, &sampler, seed)?;
        subject.fit_to_settling()?;
        Ok(subject)
    }

    fn start_rows(
        &mut self,
        effects: &Effects,
        sampler: &Sampler,
        seed: u64,
    ) -> Result<(), ProbeSubjectError> {
        let kinds = effects.moves.iter().map(|kind| (*kind, false));
        let all: Vec<(ShortKind, bool)> =
            kinds.chain(effects.controls.iter().map(|kind| (*kind, true))).collect();
        let states: &[Arm] = if effects.buffers_per_state { &[Arm::A, Arm::B] } else { &[Arm::A] };
        let mut pages = Vec::new();
        for (index, (kind, control)) in all.into_iter().enumerate() {
            let mut probes = Vec::new();
            for state in states {
                let _guard = self.switcher.make(*state)?;
                // Asked for where the state has no say: what the toggle then forbids or gives is what is measured.
                let asked = self.switcher.pages(*state, PageRequest::Huge);
                let setup = ShortSetup { sampler: sampler.clone(), pages: asked, seed };
                let probe = kind.start(&setup)?;
                if kind == ShortKind::RandomChase {
                    pages.extend(probe.pages());
                }
                probes.push(probe);
            }
            let spec = RowSpec {
                name: kind.name().to_owned(),
                group: if control { "control" } else { "probe" }.to_owned(),
                unit: probes[0].unit().to_owned(),
                better: Better::Lower,
                control,
                zero: "",
                decides: index == 0,
            };
            self.rows.push(Row { spec, probes });
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
        let _guard = self.switcher.make(Arm::A)?;
        let begun = Instant::now();
        for row in &mut self.rows {
            // A disturbed sample takes time as well, which is all that is asked here.
            let _ = row.probe(Arm::A).sample();
        }
        let once_s = begun.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
        let wanted = (settle_s * TRIAL_PER_SETTLE / once_s).ceil() as usize;
        self.samples = wanted.clamp(SAMPLES, SAMPLES_MAX);
        Ok(())
    }

    /// What the reader has to know.
    pub fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

/// Says so if both states were given the same pages: then there is nothing to compare.
fn same_pages(pages: &[Pages]) -> Option<String> {
    let [a, b] = pages else { return None };
    Some(if a.page_bytes == b.page_bytes {
        format!("the kernel gave both states pages of {}: no difference here is one of pages", a.page_bytes)
    } else {
        format!("buffers of random-chase: A in pages of {}, B in pages of {}", a.page_bytes, b.page_bytes)
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

    fn trial(&mut self, state: Arm) -> Result<Trial, SwitchingError> {
        let guard = self.switcher.make(state)?;
        let samples = self.samples;
        let mut best_of = |row: &mut Row| {
            let probe = row.probe(state);
            let taken = (0..samples).filter_map(|_| probe.sample().ok());
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
