//! A probe of the check-up: what the planner has to know of it, and how it is set up for a machine and a time.
//!
//! Each stands in the file of what it measures, as a constant; `list` names them all.

use std::error::Error;
use std::fmt;

use super::Section;
use super::subject::{Subject, net_s};
use crate::session::Session;

/// One probe. Times are worst cases in seconds, on two CPUs: measured on a loaded guest, rounded up.
pub(crate) struct CheckUpProbe {
    /// Its name for `--only` and in documents.
    pub(crate) name: &'static str,
    /// The section it belongs to.
    pub(crate) section: Section,
    /// Time with `--quick`, by default and with `--full`; `None` leaves it out.
    pub(crate) seconds: [Option<f64>; 3],
    /// With less it says nothing.
    pub(crate) least_s: f64,
    /// Time in an epoch that says something, as the other epochs repeat it: one visit to each point. `None` is not divided: it looks for
    /// one event, for a drift, or until all CPUs were seen alike.
    pub(crate) epoch_least_s: Option<f64>,
    /// May run on into what the probes before it left of their time: it lays large blocks before its first window, or waits for
    /// windows that nobody disturbs.
    pub(crate) takes_left_over: bool,
    /// Added for each CPU above two: the length of one visit times the rounds that a comparison of CPUs wants (at least five).
    pub(crate) per_cpu_s: f64,
    /// Added for what else this machine has.
    pub(crate) more_s: fn(&Subject<'_>) -> f64,
    /// What goes last when the budget is too small has the lowest: first what all else is read against, then what most users
    /// come for, then what explains it, then what few ask for.
    pub(crate) rank: u32,
    /// The probe that it runs after, where that is not the one before it in the list.
    pub(crate) runs_after: Option<&'static str>,
    /// `self`, `core` or `machine`.
    pub(crate) disturbs: &'static str,
    /// Whether the architecture has what it measures; elsewhere it is not in the list.
    pub(crate) is_here: bool,
    /// Why it cannot run at all; `None` if it can.
    pub(crate) missing: fn(&Subject<'_>) -> Option<&'static str>,
    /// Its settings for so many seconds.
    pub(crate) plan: fn(&Subject<'_>, f64) -> Planned,
}

impl CheckUpProbe {
    /// What most probes are: in no check-up yet, of a fixed time in one piece, in need of nothing and in its turn.
    pub(crate) const fn new(
        name: &'static str,
        section: Section,
        plan: fn(&Subject<'_>, f64) -> Planned,
    ) -> Self {
        Self {
            name,
            section,
            seconds: [None; 3],
            least_s: 0.0,
            epoch_least_s: None,
            takes_left_over: false,
            per_cpu_s: 0.0,
            more_s: |_| 0.0,
            rank: 0,
            runs_after: None,
            disturbs: "core",
            is_here: true,
            missing: |_| None,
            plan,
        }
    }
}

/// Needs of a probe of two CPUs.
pub(crate) fn second_cpu_missing(subject: &Subject<'_>) -> Option<&'static str> {
    (subject.cpus.len() < 2).then_some("it needs two CPUs, and there is one to measure on")
}

/// Needs of a probe of chains in registers.
pub(crate) fn core_loops_missing(_: &Subject<'_>) -> Option<&'static str> {
    (!kernels::has_core_loops()).then_some("no loop for this architecture")
}

/// Why a probe could not measure, or not all of it.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ProbeError(Box<dyn Error + Send + Sync>);

/// A probe set up for a machine and a time.
pub struct Planned {
    worst_case_s: f64,
    /// Every share of its time, by name, in seconds.
    shares: Vec<(&'static str, f64)>,
    pub(super) reduced: Vec<String>,
    /// Time in an epoch that says something with these settings, in seconds, where that is more than the probe states.
    pub(super) epoch_least_s: f64,
    settings: Box<dyn Runs>,
}

/// Settings that know what is run with them.
trait Runs: fmt::Debug {
    fn run(&self, session: &mut Session<'_>) -> Result<(), ProbeError>;
    /// Time for visits, where that is one share of its settings.
    fn visits_s(&mut self) -> Option<&mut f64>;
}

struct With<S, E> {
    settings: S,
    budget_s: Option<fn(&mut S) -> &mut f64>,
    run: fn(&mut Session<'_>, &S) -> Result<(), E>,
}

impl<S: fmt::Debug, E> fmt::Debug for With<S, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.fmt(f)
    }
}

impl<S: fmt::Debug, E: Error + Send + Sync + 'static> Runs for With<S, E> {
    fn run(&self, session: &mut Session<'_>) -> Result<(), ProbeError> {
        (self.run)(session, &self.settings).map_err(|error| ProbeError(Box::new(error)))
    }

    fn visits_s(&mut self) -> Option<&mut f64> {
        self.budget_s.map(|budget_s| budget_s(&mut self.settings))
    }
}

impl Planned {
    /// A probe that runs so with the settings, within the worst case; `shares` are the parts of its time.
    pub(crate) fn new<S: fmt::Debug + 'static, E: Error + Send + Sync + 'static>(
        settings: S,
        run: fn(&mut Session<'_>, &S) -> Result<(), E>,
        worst_case_s: f64,
        shares: Vec<(&'static str, f64)>,
    ) -> Self {
        let settings = Box::new(With { settings, budget_s: None, run });
        Self { worst_case_s, shares, reduced: Vec::new(), epoch_least_s: 0.0, settings }
    }

    /// A probe whose worst case is its budget and what does not depend on that: the budget becomes what the time leaves.
    pub(crate) fn within<S: fmt::Debug + 'static, E: Error + Send + Sync + 'static>(
        seconds: f64,
        mut settings: S,
        budget_s: fn(&mut S) -> &mut f64,
        worst_case_s: impl Fn(&S) -> f64,
        run: fn(&mut Session<'_>, &S) -> Result<(), E>,
    ) -> Self {
        let net_s = net_s(seconds, worst_case_s(&settings));
        *budget_s(&mut settings) = net_s;
        let worst_case_s = worst_case_s(&settings);
        let settings = Box::new(With { settings, budget_s: Some(budget_s), run });
        let shares = vec![("budget", net_s)];
        Self { worst_case_s, shares, reduced: Vec::new(), epoch_least_s: 0.0, settings }
    }

    /// The same, of which less time in an epoch says nothing.
    pub(crate) fn with_epochs_of(mut self, least_s: f64) -> Self {
        self.epoch_least_s = least_s;
        self
    }

    /// Gives visits so much time at least, whatever cannot be broken off may take.
    pub(super) fn visits_at_least(&mut self, least_s: f64) {
        if let Some(visits_s) = self.settings.visits_s() {
            *visits_s = visits_s.max(least_s);
            self.shares = vec![("budget", *visits_s)];
        }
    }

    /// The same with lines that say what was cut, and why.
    pub(crate) fn reduced(mut self, lines: Vec<String>) -> Self {
        self.reduced = lines;
        self
    }

    /// Time it may take at most, in seconds.
    pub fn worst_case_s(&self) -> f64 {
        self.worst_case_s
    }

    /// Every share of its time, by name, in seconds.
    pub fn shares(&self) -> &[(&'static str, f64)] {
        &self.shares
    }

    /// Measures until it is done or the session's deadline comes; results are in the session's record either way.
    ///
    /// # Errors
    /// Why nothing could be measured, or not all.
    pub fn run(&self, session: &mut Session<'_>) -> Result<(), ProbeError> {
        self.settings.run(session)
    }
}

impl fmt::Debug for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.fmt(f)
    }
}
