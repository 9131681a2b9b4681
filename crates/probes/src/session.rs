//! One run: which CPUs, how long, when to stop, who sees the progress, and the record that grows.

use std::time::{Duration, Instant};

use clock::TickRate;
use host::live;
use kernels::random::SplitMix64;
use machine::{CpuId, NodeId};
use record::Record;

use crate::answers::Answers;
use crate::control::ControlLoops;
use crate::sampler::{Sampler, Tally};

/// Why nothing can be measured.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Without optimisation the loops are not the loops.
    #[error(
        "this sidestep is a debug build, whose timings mean nothing; build it with cargo build --release"
    )]
    DebugBuild,
    /// No CPU is left.
    #[error("none of the CPUs asked for may be used; choose among {allowed} with --cpus")]
    NoCpu {
        /// The CPUs this process may use.
        allowed: machine::CpuSet,
    },
    /// The counter cannot be used.
    #[error(transparent)]
    Clock(#[from] clock::CalibrationError),
}

/// Who sees how far a probe is.
pub trait Progress {
    /// A probe has done this share of its work, 0 to 1; called between visits, never while measuring.
    fn update(&self, share_done: f64);
}

/// A progress that nobody sees.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn update(&self, _share_done: f64) {}
}

/// The time of a probe from its start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    started: Instant,
    seconds: f64,
}

impl Budget {
    /// So much time from now on.
    pub(crate) fn start(seconds: f64) -> Self {
        Self { started: Instant::now(), seconds }
    }

    /// What has passed.
    pub(crate) fn spent_s(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// True when it is spent, or the session has to stop.
    pub(crate) fn is_over(&self, session: &Session<'_>) -> bool {
        session.must_stop() || self.spent_s() >= self.seconds
    }

    /// Shows the share that is spent.
    pub(crate) fn show(&self, session: &Session<'_>) {
        session.progress.update(self.spent_s() / self.seconds);
    }
}

/// How long after the end of its probe a visit that has begun is cut: on a free CPU it is done before.
const CUT_AFTER: Duration = Duration::from_millis(200);
/// Time the counter's rate is measured for: 20 ms gives a few ppm, and a run refines it at its end.
const CALIBRATION_NS: u64 = 20_000_000;

/// One run of probes on one machine.
pub struct Session<'a> {
    /// What has been measured so far; probes push results here one by one, so that an interrupted run keeps them.
    pub record: Record,
    /// The CPUs to measure, ascending; never empty.
    pub cpus: Vec<CpuId>,
    /// Rate of the counter.
    pub rate: TickRate,
    /// All random choices come from here.
    pub random: SplitMix64,
    /// When the current probe has to be done.
    pub deadline: Instant,
    /// Who sees the progress.
    pub progress: &'a dyn Progress,
    /// Windows taken and set aside by all samplers so far.
    pub tally: Tally,
    /// Results put into the record so far.
    pub results: usize,
}

impl<'a> Session<'a> {
    /// Starts a run on the CPUs given; the record holds the machine and the provenance already.
    ///
    /// # Errors
    /// `DebugBuild`, `NoCpu`, or a counter that stands still.
    pub fn start(record: Record, cpus: Vec<CpuId>, progress: &'a dyn Progress) -> Result<Self, SessionError> {
        if cfg!(debug_assertions) {
            return Err(SessionError::DebugBuild);
        }
        if cpus.is_empty() {
            return Err(SessionError::NoCpu { allowed: record.machine.topology.allowed.clone() });
        }
        let rate = TickRate::calibrate(CALIBRATION_NS)?;
        let random = SplitMix64::new(record.provenance.seed);
        let (deadline, tally) = (Instant::now(), Tally::default());
        Ok(Self { record, cpus, rate, random, deadline, progress, tally, results: 0 })
    }

    /// True when the probe has to end now: its time is up or the user wants the program to end.
    pub fn must_stop(&self) -> bool {
        live::pending_signal().is_some() || Instant::now() >= self.deadline
    }

    /// Time left for the current probe.
    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// A sampler for one CPU, which the calling thread has to be pinned to; cut soon after the current probe has to be done.
    pub fn sampler(&self, cpu: CpuId) -> Sampler {
        let identity = &self.record.machine.identity;
        Sampler::new(cpu, self.rate, ControlLoops::of(identity))
            .until(Some(self.deadline + CUT_AFTER))
            .planted(self.record.provenance.planted.clone())
            .answering(Answers::new(self.on_another_core(cpu), identity.microcode))
    }

    /// Takes over what a sampler has counted.
    pub fn absorb(&mut self, sampler: &mut Sampler) {
        self.tally.add(&sampler.take_tally());
        sampler.answers().hand_to(&mut self.record.cores);
    }

    /// The first CPU of the session on another core than this one.
    fn on_another_core(&self, cpu: CpuId) -> Option<CpuId> {
        let siblings = self.record.machine.topology.siblings(cpu);
        self.cpus.iter().copied().find(|other| *other != cpu && !siblings.contains(*other))
    }

    /// The record, to put a result into. It is counted: a probe that puts in none has measured nothing.
    pub fn result(&mut self) -> &mut Record {
        self.results += 1;
        &mut self.record
    }

    /// The node of a CPU, where the machine tells.
    pub fn node_of(&self, cpu: CpuId) -> Option<NodeId> {
        self.record.machine.topology.cpu(cpu).and_then(|cpu| cpu.node)
    }
}
