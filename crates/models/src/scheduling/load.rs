//! What runs: threads that compute, sleep, wake each other and wait, and the data that they share.

use serde::Serialize;
use stats::Random;

use super::description::Policy;

/// A length in nanoseconds or cycles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Length {
    /// Always the same.
    Fixed(f64),
    /// Exponential with this mean.
    Random(f64),
    /// Without end.
    Endless,
}

impl Length {
    pub(super) fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::Fixed(length) => length,
            Self::Random(mean) => -(1.0 - random.unit()).ln() * mean,
            Self::Endless => f64::INFINITY,
        }
    }
}

/// One step of a thread's program, which it repeats.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Work, in cycles of a CPU that nobody disturbs.
    Compute(Length),
    /// Off the CPU, in nanoseconds.
    Sleep(Length),
    /// Wakes the thread of that index.
    Wake(usize),
    /// Off the CPU until it is woken; a wake that came earlier counts.
    Wait,
}

/// Data that several threads use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SharedSet {
    /// How much faster a thread is, as a share of its speed, when all others that use the set are where the machine shares
    /// data.
    pub gain: f64,
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Thread {
    /// Its program; it begins anew at the end.
    pub steps: Vec<Step>,
    /// The set that it shares with others, if any.
    pub shared_set: Option<usize>,
}

/// All threads and what they share. They start at once, in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Load {
    /// The threads.
    pub threads: Vec<Thread>,
    /// What they share.
    pub shared_sets: Vec<SharedSet>,
}

impl Load {
    /// The threads that use each shared set, in their order.
    pub(super) fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.shared_sets.len()];
        for (index, thread) in self.threads.iter().enumerate() {
            if let Some(set) = thread.shared_set {
                members[set].push(index);
            }
        }
        members
    }
}

machine::named! {
    /// Programs to choose from on the command line.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Pattern {
        /// Every thread computes without a pause.
        Copies = "copies",
        /// Every thread computes for a while, sleeps for a while.
        Bursts = "bursts",
        /// Threads in twos hand work to and fro: only one of the two works at a time.
        Pairs = "pairs",
    }
}

/// Mean work of a burst, in cycles: about a millisecond. Assumed: of the order of a frame's tasks in a game.
const BURST_CYCLES: f64 = 4e6;
/// Mean pause after a burst. Assumed: as long as the burst.
const PAUSE_NS: f64 = 1e6;
/// Work before a thread hands over, in cycles: some microseconds. Assumed: a request and its answer.
const HANDOVER_CYCLES: f64 = 2e4;

impl Pattern {
    /// That many threads; threads 0 and 1, 2 and 3 and so on share data that make each faster by `sharing`. A last thread without a
    /// partner computes alone.
    pub fn load(self, threads: usize, sharing: f64) -> Load {
        let of = |index: usize| {
            let partner = index ^ 1;
            let steps = match self {
                Self::Bursts => {
                    vec![Step::Compute(Length::Random(BURST_CYCLES)), Step::Sleep(Length::Random(PAUSE_NS))]
                }
                Self::Pairs if partner < threads => {
                    let work = Step::Compute(Length::Random(HANDOVER_CYCLES));
                    if index < partner {
                        vec![work, Step::Wake(partner), Step::Wait]
                    } else {
                        vec![Step::Wait, work, Step::Wake(partner)]
                    }
                }
                Self::Copies | Self::Pairs => vec![Step::Compute(Length::Endless)],
            };
            Thread { steps, shared_set: (sharing > 0.0 && partner < threads).then_some(index / 2) }
        };
        Load {
            threads: (0..threads).map(of).collect(),
            // A set that nobody uses would have all CPUs looked at when one changes.
            shared_sets: vec![SharedSet { gain: sharing }; if sharing > 0.0 { threads / 2 } else { 0 }],
        }
    }
}

/// What runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scenario {
    /// Who places threads.
    pub policy: Policy,
    /// What the threads do.
    pub pattern: Pattern,
    /// Fewest and most threads.
    pub threads: [usize; 2],
    /// What a thread gains from data that it shares with its partner, as a share of its speed.
    pub sharing: f64,
    /// Of all that is drawn.
    pub seed: u64,
}

impl Scenario {
    /// True if it is what published gains are about: independent programs under a policy that fills empty units first.
    pub(super) fn is_as_published(&self) -> bool {
        [Policy::ModulesFirst, Policy::ModulesFirstPatient].contains(&self.policy)
            && self.pattern == Pattern::Copies
            && self.sharing <= 0.0
    }
}
