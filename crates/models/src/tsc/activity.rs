//! What the cores are doing: spans of work and of sleep, drawn from a seed.

use serde::Serialize;
use stats::Random;

/// Mean length of a burst of work and of the pause after it.
const BURST_MEAN_NS: f64 = 3e8;
/// Mean length of a burst on a machine that has almost nothing to do.
const IDLE_BURST_MEAN_NS: f64 = 2e6;
/// Mean pause on such a machine.
const IDLE_PAUSE_MEAN_NS: f64 = 2e8;

machine::named! {
    /// A pattern of work, the same on every core or not.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Workload {
        /// All cores work all the time.
        Busy = "busy",
        /// Almost nothing to do, a little on each core.
        Idle = "idle",
        /// The first core works all the time, the others have almost nothing to do.
        OneBusy = "one-busy",
        /// Each core works in bursts of its own.
        Bursts = "bursts",
    }
}

impl Workload {
    /// What one core does from time 0 until `until_ns`.
    pub(super) fn of_core(self, core: usize, until_ns: f64, random: &mut Random) -> Activity {
        let means = match self {
            Self::Busy => None,
            Self::OneBusy if core == 0 => None,
            Self::Idle | Self::OneBusy => Some((IDLE_BURST_MEAN_NS, IDLE_PAUSE_MEAN_NS)),
            Self::Bursts => Some((BURST_MEAN_NS, BURST_MEAN_NS)),
        };
        means.map_or_else(Activity::always, |means| Activity::drawn(means, until_ns, random))
    }
}

/// When a core works: it begins awake, and turns at each of the times.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Activity {
    turns_ns: Vec<f64>,
}

impl Activity {
    fn always() -> Self {
        Self { turns_ns: Vec::new() }
    }

    fn drawn((work_ns, pause_ns): (f64, f64), until_ns: f64, random: &mut Random) -> Self {
        let mut turns_ns = Vec::new();
        let (mut at_ns, mut works) = (0.0, true);
        while at_ns < until_ns {
            // Exponential lengths: the next turn does not know how long the last was.
            at_ns += -(1.0 - random.unit()).ln() * if works { work_ns } else { pause_ns };
            turns_ns.push(at_ns);
            works = !works;
        }
        Self { turns_ns }
    }

    /// The times at which work begins or ends.
    pub(super) fn turns_ns(&self) -> &[f64] {
        &self.turns_ns
    }

    /// Whether the core works at a time.
    pub(super) fn works_at(&self, at_ns: f64) -> bool {
        self.turns_ns.partition_point(|turn| *turn <= at_ns).is_multiple_of(2)
    }

    /// The share of a span in which the core works.
    pub(super) fn load(&self, from_ns: f64, to_ns: f64) -> f64 {
        let first = self.turns_ns.partition_point(|turn| *turn <= from_ns);
        let (mut at_ns, mut works, mut worked_ns) = (from_ns, first.is_multiple_of(2), 0.0);
        for turn in self.turns_ns[first..].iter().take_while(|turn| **turn < to_ns) {
            worked_ns += if works { turn - at_ns } else { 0.0 };
            (at_ns, works) = (*turn, !works);
        }
        worked_ns += if works { to_ns - at_ns } else { 0.0 };
        worked_ns / (to_ns - from_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_is_the_share_of_work() {
        let activity = Activity { turns_ns: vec![10.0, 30.0, 40.0] };
        for (from, to, load) in [(0.0, 10.0, 1.0), (10.0, 30.0, 0.0), (0.0, 40.0, 0.5), (35.0, 45.0, 0.5)] {
            assert!((activity.load(from, to) - load).abs() < 1e-12, "{from} to {to}");
        }
        assert_eq!(
            [0.0, 9.0, 10.0, 30.0, 50.0].map(|at| activity.works_at(at)),
            [true, true, false, true, false]
        );
    }

    #[test]
    fn only_the_first_core_is_busy_alone() {
        let load =
            |core| Workload::OneBusy.of_core(core, 1e10, &mut Random::new(core as u64)).load(0.0, 1e10);
        assert!((load(0) - 1.0).abs() < 1e-12);
        assert!(load(1) < 0.1);
    }
}
