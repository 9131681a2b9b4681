//! A probe of the check-up: what the planner has to know of it, and how it is set up for a machine and a time.
//!
//! Each stands in the file of what it measures, as a constant; `plan` has the list of them.

mod pairs;

use std::error::Error;
use std::fmt;

use machine::{Bytes, CpuId, Machine};

pub use pairs::{ChosenPairs, CpuPair, choose_pairs};

use crate::room::room_of;
use crate::session::Session;

machine::named! {
    /// A group of probes, as `--only` names it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Section {
        /// Bandwidth, latency, address translation.
        Memory = "memory",
        /// Frequency, sharing, line transfer, waking.
        Cores = "cores",
        /// Whether counters agree, and the price of reading time.
        Clocks = "clocks",
        /// What time tells of flaws and their workarounds.
        Flaws = "flaws",
    }
}

/// How thorough a check-up is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Depth {
    /// `--quick`.
    Quick,
    /// Without either flag.
    #[default]
    Default,
    /// `--full`.
    Full,
}

impl Depth {
    /// Budget in seconds where the user gives none.
    pub const fn budget_s(self) -> f64 {
        match self {
            Self::Quick => 20.0,
            Self::Default => 90.0,
            Self::Full => 600.0,
        }
    }

    /// The flag that asks for it.
    pub(crate) const fn flag(self) -> &'static str {
        match self {
            Self::Quick => "--quick",
            Self::Default => "the default check-up",
            Self::Full => "--full",
        }
    }
}

machine::named! {
    /// One signature probe.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SignatureProbe {
        /// Gathers of eight words: Gather Data Sampling.
        Gather = "gather",
        /// A jump that ends on a boundary of 32 bytes: Intel's JCC erratum.
        Jcc = "jcc",
        /// A load behind a store of late address: Speculative Store Bypass Disable.
        StoreBypass = "store-bypass",
        /// Dependent loads one page apart: erratum 298.
        PageWalk = "page-walk",
        /// Locked additions across two lines.
        SplitLock = "split-lock",
    }
}

/// A quantity of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    /// Its name in records and catalogue.
    pub name: &'static str,
    /// `core cycles`, `ns`, `ratio`.
    pub unit: &'static str,
}

impl SignatureProbe {
    /// What it measures.
    pub fn quantity(self) -> Quantity {
        let (name, unit) = match self {
            Self::Gather => ("gather_ymm_cycles", "core cycles"),
            Self::Jcc => ("jcc_edge_ratio", "ratio"),
            Self::StoreBypass => ("store_bypass_cycles", "core cycles"),
            Self::PageWalk => ("page_walk_4k_ns", "ns"),
            Self::SplitLock => ("split_lock_ns", "ns"),
        };
        Quantity { name, unit }
    }

    /// Whether it holds up every CPU of the machine, and not only its own core.
    pub fn disturbs_machine(self) -> bool {
        self == Self::SplitLock
    }
}

/// What a plan is made for.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) cpus: &'a [CpuId],
    pub(crate) depth: Depth,
    /// Signatures that can decide on flaws that may concern the machine.
    pub(crate) signatures: &'a [SignatureProbe],
    pub(crate) seed: u64,
}

/// Largest block that a probe takes where no limit is known.
const UNLIMITED: Bytes = Bytes(512 << 20);

impl Subject<'_> {
    /// Value by depth: `--quick`, default, `--full`.
    pub(crate) fn by_depth<T>(&self, [quick, default, full]: [T; 3]) -> T {
        match self.depth {
            Depth::Quick => quick,
            Depth::Default => default,
            Depth::Full => full,
        }
    }

    /// Memory that one block may take.
    pub(crate) fn room(&self) -> Bytes {
        room_of(self.machine).unwrap_or(UNLIMITED)
    }

    /// Settings whose time besides their budget depends on the machine and how many CPUs are measured.
    pub(crate) fn planned<S: fmt::Debug + 'static, E: Error + Send + Sync + 'static>(
        &self,
        seconds: f64,
        settings: S,
        budget_s: fn(&mut S) -> &mut f64,
        worst_case_s: fn(&S, usize, &Machine) -> f64,
        run: fn(&mut Session<'_>, &S) -> Result<(), E>,
    ) -> Planned {
        let worst_case_s = |settings: &S| worst_case_s(settings, self.cpus.len(), self.machine);
        Planned::within(seconds, settings, budget_s, worst_case_s, run)
    }

    /// Pairs and, where not all are measured, a line that says which.
    pub(crate) fn pairs(&self, limit: usize) -> (ChosenPairs, Vec<String>) {
        let chosen = choose_pairs(&self.machine.topology, self.cpus, self.seed, limit);
        let line = (chosen.pairs.len() < chosen.possible).then(|| {
            format!(
                "{} of {} pairs of CPUs: one of each of {} kinds of neighbourhood, the others at random",
                chosen.pairs.len(),
                chosen.possible,
                chosen.kinds.min(chosen.pairs.len())
            )
        });
        (chosen, line.into_iter().collect())
    }
}

/// Time for visits: the worst case less what the probe adds to its budget; never below a twentieth of a second.
pub(crate) fn net_s(seconds: f64, added_s: f64) -> f64 {
    (seconds - added_s).max(0.05)
}

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

/// Why a probe could not measure, or not all of it.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ProbeError(Box<dyn Error + Send + Sync>);

/// A probe set up for a machine and a time.
pub struct Planned {
    worst_case_s: f64,
    /// Every share of its time, by name, in seconds.
    shares: Vec<(&'static str, f64)>,
    pub(crate) reduced: Vec<String>,
    /// Time in an epoch that says something with these settings, in seconds, where that is more than the probe states.
    pub(crate) epoch_least_s: f64,
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
    pub(crate) fn visits_at_least(&mut self, least_s: f64) {
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
