//! All probes in one table: name, section, time, what they need, whom they disturb, how much they matter.

use std::collections::BTreeSet;
use std::fmt;

use machine::did_you_mean;

use crate::{clock_pairs, clocks, cores};

/// A group of probes, as `--only` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// Bandwidth, latency, address translation.
    Memory,
    /// Frequency, sharing, line transfer, waking.
    Cores,
    /// Whether counters agree, and the price of reading time.
    Clocks,
    /// What time tells of flaws and their workarounds.
    Flaws,
}

/// One probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Probe {
    /// Control loops by CPU.
    Control,
    /// Latency surface with base pages.
    Surface,
    /// Latency surface with huge pages.
    SurfaceHuge,
    /// Latency surface of large blocks.
    SurfaceLarge,
    /// Bandwidth against block size.
    Bandwidth,
    /// STREAM by CPU, node and machine.
    Stream,
    /// The same block in different orders.
    Orders,
    /// Page-walk cost and TLB reach.
    Walks,
    /// Several chases at once.
    Parallel,
    /// Latency under load.
    Loaded,
    /// Every CPU against the memory of every node.
    Sockets,
    /// One line bounced between two CPUs.
    Transfer,
    /// Slowdown of one loop by another.
    Sharing,
    /// Compute loops.
    Compute,
    /// Wake-up latency.
    Wake,
    /// Price of clock reads.
    Clocks,
    /// Whether the counters of all CPUs agree.
    ClockPairs,
    /// Signatures of flaws.
    Signatures,
}

/// What a probe cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    TwoCpus,
    /// Two CPUs or two nodes with memory: one is always like itself.
    TwoPlaces,
    HugePages,
    /// A flaw that may concern the machine and has a signature.
    Signatures,
}

/// One row of the table. Times are worst cases in seconds, on two CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Row {
    pub(super) probe: Probe,
    pub(super) name: &'static str,
    pub(super) section: Section,
    /// Time with `--quick`; `None` leaves it out.
    pub(super) quick_s: Option<f64>,
    /// Time by default.
    pub(super) default_s: Option<f64>,
    /// Time with `--full`.
    pub(super) full_s: Option<f64>,
    /// With less it says nothing.
    pub(super) least_s: f64,
    /// Added for each CPU above two.
    pub(super) per_cpu_s: f64,
    pub(super) disturbs: &'static str,
    pub(super) needs: Needs,
}

const MEMORY: &str = "machine";

/// The table in the order in which probes run: the machine warms up on the control loops; what disturbs others is last
/// within its section. Times: measured on a loaded guest with two CPUs, rounded up; per CPU: the length of one visit times
/// the rounds that a comparison of CPUs wants (at least five).
pub(super) const TABLE: [Row; 18] = [
    row(Probe::Control, "control", Section::Cores, [0.4, 1.0, 2.0], 0.2).per_cpu(0.015),
    row(Probe::Surface, "surface", Section::Memory, [4.6, 11.8, 24.0], 3.0),
    row(Probe::SurfaceHuge, "surface-huge", Section::Memory, [1.2, 11.8, 24.0], 0.8).needs(Needs::HugePages),
    row(Probe::Bandwidth, "bandwidth", Section::Memory, [3.4, 14.0, 95.0], 2.5).disturbs(MEMORY),
    row(Probe::Stream, "stream", Section::Memory, [1.7, 8.0, 30.0], 1.0).per_cpu(0.06).disturbs(MEMORY),
    row(Probe::Walks, "walks", Section::Memory, [1.0, 6.0, 20.0], 0.8),
    row(Probe::Orders, "orders", Section::Memory, [1.0, 3.0, 10.0], 1.0).disturbs(MEMORY),
    row(Probe::Parallel, "parallel", Section::Memory, [0.0, 2.0, 8.0], 1.4).not_quick().disturbs(MEMORY),
    row(Probe::SurfaceLarge, "surface-large", Section::Memory, [0.0, 0.0, 60.0], 12.0).only_full(),
    row(Probe::Loaded, "loaded", Section::Memory, [0.0, 4.0, 15.0], 2.8)
        .not_quick()
        .needs(Needs::TwoCpus)
        .disturbs(MEMORY),
    row(Probe::Sockets, "sockets", Section::Memory, [0.0, 6.0, 30.0], 2.5)
        .not_quick()
        .needs(Needs::TwoPlaces)
        .disturbs(MEMORY),
    row(Probe::Transfer, "transfer", Section::Cores, [0.6, 2.0, 10.0], 0.3)
        .per_cpu(0.02)
        .needs(Needs::TwoCpus)
        .disturbs(cores::transfer::DISTURBS),
    row(Probe::Sharing, "sharing", Section::Cores, [1.5, 6.0, 30.0], 1.0)
        .per_cpu(0.02)
        .needs(Needs::TwoCpus)
        .disturbs(cores::sharing::DISTURBS),
    row(Probe::Compute, "compute", Section::Cores, [0.3, 1.0, 3.0], 0.2).per_cpu(0.01),
    row(Probe::Wake, "wake", Section::Cores, [1.2, 4.0, 12.0], 0.9)
        .needs(Needs::TwoCpus)
        .disturbs(cores::wake::DISTURBS),
    row(Probe::Clocks, "clock-reads", Section::Clocks, [0.4, 2.4, 12.0], 0.2)
        .per_cpu(0.01)
        .disturbs(clocks::DISTURBS),
    row(Probe::ClockPairs, "clock-pairs", Section::Clocks, [1.2, 6.0, 40.0], 0.6)
        .per_cpu(0.02)
        .needs(Needs::TwoCpus)
        .disturbs(clock_pairs::DISTURBS),
    row(Probe::Signatures, "signatures", Section::Flaws, [1.4, 4.0, 8.0], 0.6).needs(Needs::Signatures),
];

/// Most important first: what goes last when the budget is too small. First what all else is read against, then what
/// most users come for, then what explains it, then what few ask for.
pub(super) const BY_IMPORTANCE: [Probe; 18] = [
    Probe::Control,
    Probe::Surface,
    Probe::Stream,
    Probe::Bandwidth,
    Probe::Clocks,
    Probe::Signatures,
    Probe::ClockPairs,
    Probe::Sockets,
    Probe::Transfer,
    Probe::Sharing,
    Probe::Walks,
    Probe::SurfaceHuge,
    Probe::Orders,
    Probe::Wake,
    Probe::Loaded,
    Probe::Compute,
    Probe::Parallel,
    Probe::SurfaceLarge,
];

const fn row(probe: Probe, name: &'static str, section: Section, seconds: [f64; 3], least_s: f64) -> Row {
    Row {
        probe,
        name,
        section,
        quick_s: Some(seconds[0]),
        default_s: Some(seconds[1]),
        full_s: Some(seconds[2]),
        least_s,
        per_cpu_s: 0.0,
        disturbs: "core",
        needs: Needs::Nothing,
    }
}

impl Row {
    const fn per_cpu(self, per_cpu_s: f64) -> Self {
        Self { per_cpu_s, ..self }
    }

    const fn needs(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    const fn disturbs(self, disturbs: &'static str) -> Self {
        Self { disturbs, ..self }
    }

    const fn not_quick(self) -> Self {
        Self { quick_s: None, ..self }
    }

    const fn only_full(self) -> Self {
        Self { quick_s: None, default_s: None, ..self }
    }
}

impl Section {
    /// All sections.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Cores, Self::Clocks, Self::Flaws];

    /// Its name for `--only`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cores => "cores",
            Self::Clocks => "clocks",
            Self::Flaws => "flaws",
        }
    }
}

impl Probe {
    /// All probes in the order in which they run.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.probe)
    }

    pub(super) fn row(self) -> &'static Row {
        TABLE.iter().find(|row| row.probe == self).expect("every probe has a row: a test counts them")
    }

    /// Its name for `--only` and in the plan.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The section it belongs to.
    pub fn section(self) -> Section {
        self.row().section
    }
}

/// A name given to `--only` that is neither a section nor a probe.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not a probe; {}choose among {} with --only", did_you_mean(name, selectable_names()), selectable_names().join(", "))]
pub struct UnknownProbe {
    /// What was given.
    pub name: String,
}

/// All names that `--only` takes: sections first, then single probes.
pub fn selectable_names() -> Vec<&'static str> {
    Section::ALL.map(Section::name).into_iter().chain(Probe::all().map(Probe::name)).collect()
}

/// The probes that the user wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection(BTreeSet<Probe>);

impl Default for Selection {
    fn default() -> Self {
        Self(Probe::all().collect())
    }
}

impl Selection {
    /// The probes of the names given, which are sections or probes; blanks around them are ignored.
    ///
    /// # Errors
    /// A name that is neither, or an empty one.
    pub fn of_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, UnknownProbe> {
        let mut chosen = BTreeSet::new();
        for name in names {
            let name = name.trim();
            let before = chosen.len();
            let is_meant = |probe: &Probe| probe.name() == name || probe.section().name() == name;
            let meant: Vec<Probe> = Probe::all().filter(is_meant).collect();
            chosen.extend(&meant);
            if meant.is_empty() && before == chosen.len() {
                return Err(UnknownProbe { name: name.to_owned() });
            }
        }
        Ok(Self(chosen))
    }

    /// True if the probe is wanted.
    pub fn contains(&self, probe: Probe) -> bool {
        self.0.contains(&probe)
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|probe| probe.name()).collect();
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_has_one_row_one_name_and_one_rank() {
        let names: BTreeSet<&str> = selectable_names().into_iter().collect();
        assert_eq!(names.len(), TABLE.len() + Section::ALL.len());
        let probes: BTreeSet<Probe> = Probe::all().collect();
        assert_eq!(probes, BY_IMPORTANCE.into_iter().collect());
        assert!(Probe::all().all(|probe| probe.row().probe == probe));
        assert!(TABLE.iter().all(|row| row.full_s.is_some_and(|seconds| seconds > row.least_s)));
    }

    #[test]
    fn sections_and_probes_can_be_mixed_and_nonsense_is_told_the_choice() {
        let chosen = Selection::of_names(["clocks", " transfer"]).expect("both exist");
        assert!(chosen.contains(Probe::Clocks) && chosen.contains(Probe::Transfer));
        assert!(!chosen.contains(Probe::Surface));
        let error = Selection::of_names(["memory", "nonsense"]).expect_err("no such probe");
        assert!(
            error
                .to_string()
                .starts_with("\"nonsense\" is not a probe; choose among memory, cores, clocks, flaws")
        );
        assert!(Selection::of_names([""]).is_err());
    }
}
