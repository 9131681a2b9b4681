//! All probes of a check-up, each in the file of what it measures: add yours here. By name and by section they are what `--only` takes.

use std::collections::BTreeSet;
use std::fmt;

use machine::did_you_mean;

use crate::cores::{atomics, compute, control, sharing, transfer, wake};
use crate::memory::{bandwidth, loaded, parallel, sockets, stream, surface, walks};
use crate::probe::{CheckUpProbe, Section};
use crate::signature::check_up as signatures;
use crate::{clock_pairs, clock_reads, questions};

/// The probes in the order in which they run, but for those that name another: the machine warms up on the control loops;
/// what disturbs others is last within its section.
const PROBES: &[&CheckUpProbe] = &[
    &control::PROBE,
    &questions::PROBE,
    &surface::BASE_PAGES,
    &surface::HUGE_PAGES,
    &surface::LARGE_BLOCKS,
    &bandwidth::PROBE,
    &stream::PROBE,
    &walks::PROBE,
    &parallel::PROBE,
    &loaded::PROBE,
    &sockets::check_up::PROBE,
    &transfer::PROBE,
    &sharing::PROBE,
    &compute::PROBE,
    &atomics::PROBE,
    &wake::PROBE,
    &clock_reads::check_up::PROBE,
    &clock_pairs::check_up::PROBE,
    &signatures::PROBE,
];

/// One probe, as its place in the list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Probe(usize);

impl Probe {
    /// All probes in the order in which they run.
    pub fn all() -> impl Iterator<Item = Self> {
        let follows = |before: Option<&'static str>| move |probe: &Self| probe.about().runs_after == before;
        let listed = || (0..PROBES.len()).filter(|place| PROBES[*place].is_here).map(Self);
        let with_followers =
            move |probe: Self| [probe].into_iter().chain(listed().filter(follows(Some(probe.name()))));
        listed().filter(follows(None)).flat_map(with_followers)
    }

    pub(crate) fn about(self) -> &'static CheckUpProbe {
        PROBES[self.0]
    }

    /// Its name for `--only` and in the plan.
    pub fn name(self) -> &'static str {
        self.about().name
    }

    /// The section it belongs to.
    pub fn section(self) -> Section {
        self.about().section
    }
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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

    /// True if the probe is selected.
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
    fn every_probe_has_one_name_one_rank_and_one_turn() {
        let names: BTreeSet<&str> = selectable_names().into_iter().collect();
        let here = PROBES.iter().filter(|probe| probe.is_here).count();
        assert_eq!(names.len(), here + Section::ALL.len());
        let ranks: BTreeSet<u32> = PROBES.iter().map(|probe| probe.rank).collect();
        assert_eq!(ranks.len(), PROBES.len());
        assert_eq!(Probe::all().collect::<BTreeSet<_>>().len(), here);
        let full_s = |probe: &&CheckUpProbe| probe.seconds[2].is_some_and(|seconds| seconds > probe.least_s);
        assert!(PROBES.iter().all(full_s));
    }

    #[test]
    fn sections_and_probes_can_be_mixed_and_nonsense_is_reported_the_choice() {
        let chosen = Selection::of_names(["clocks", " transfer"]).expect("both exist");
        let contains = |name| Probe::all().any(|probe| probe.name() == name && chosen.contains(probe));
        assert!(contains("clock-reads") && contains("transfer"));
        assert!(!contains("surface"));
        let error = Selection::of_names(["memory", "nonsense"]).expect_err("no such probe");
        assert!(
            error
                .to_string()
                .starts_with("\"nonsense\" is not a probe; choose among memory, cores, clocks, flaws")
        );
        assert!(Selection::of_names([""]).is_err());
    }
}
