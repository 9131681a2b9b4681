//! Frequencies over time: a governor decides, the socket follows in steps.

use serde::Serialize;
use stats::Random;

use super::activity::Activity;
use super::counter::Counter;
use super::description::TscMachine;

machine::named! {
    /// Who decides about the frequency.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Governor {
        /// Always the highest frequency.
        Performance = "performance",
        /// Always the lowest.
        Powersave = "powersave",
        /// The highest if the load is high, else the lowest that carries it.
        Ondemand = "ondemand",
        /// Another frequency each period, at random: the test of the article.
        Walk = "walk",
    }
}

impl Governor {
    /// The number of the P-state it wants after a period with this load at this frequency.
    fn wish(self, machine: &TscMachine, load: f64, hz: f64, random: &mut Random) -> usize {
        let states = &machine.pstates_hz.value;
        let lowest = states.len() - 1;
        match self {
            Self::Performance => 0,
            Self::Powersave => lowest,
            Self::Walk => random.below(states.len()),
            Self::Ondemand => {
                let threshold = machine.governor_up_threshold.value;
                let carries = |state: &usize| states[*state].0 >= load * hz / threshold;
                if load > threshold { 0 } else { (0..=lowest).rev().find(carries).unwrap_or(0) }
            }
        }
    }
}

/// A change of frequency of some cores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Transition {
    /// When the kernel learns of it: before a rise, after a fall.
    pub(super) reported_ns: f64,
    /// To which frequency.
    pub(super) hz: f64,
}

/// The frequency of cores that change together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FrequencyCourse {
    /// From a time on, a frequency, ascending; the first is at time 0.
    pub(super) changes: Vec<(f64, f64)>,
    /// Whole transitions.
    pub(super) transitions: Vec<Transition>,
}

impl FrequencyCourse {
    /// What a governor makes of the load of `cores` until `until_ns`, deciding first at `phase_ns`.
    pub(super) fn of(
        machine: &TscMachine,
        governor: Governor,
        cores: &[&Activity],
        phase_ns: f64,
        until_ns: f64,
        random: &mut Random,
    ) -> Self {
        let states = &machine.pstates_hz.value;
        let mut state = governor.wish(machine, 0.0, states[0].0, random);
        let mut course = Self { changes: vec![(0.0, states[state].0)], transitions: Vec::new() };
        let period_ns = machine.governor_period_ns.value;
        let (mut asked_ns, mut at_ns) = (0.0, phase_ns.max(f64::MIN_POSITIVE));
        while at_ns < until_ns {
            let load = cores.iter().map(|core| core.load(asked_ns, at_ns)).fold(0.0, f64::max);
            let wish = governor.wish(machine, load, states[state].0, random);
            if wish != state {
                course.go(machine, at_ns, states[state].0, states[wish].0);
                state = wish;
            }
            (asked_ns, at_ns) = (at_ns, at_ns + period_ns);
        }
        course
    }

    /// Steps from one frequency to another, beginning at `at_ns`.
    fn go(&mut self, machine: &TscMachine, at_ns: f64, from_hz: f64, to_hz: f64) {
        let (step_hz, step_ns) = (machine.step_hz.value.0, machine.step_ns.value);
        let steps = ((to_hz - from_hz).abs() / step_hz).ceil().max(1.0);
        for step in 1..=steps as u32 {
            let hz = from_hz + (to_hz - from_hz) * f64::from(step) / steps;
            self.changes.push((at_ns + step_ns * f64::from(step), hz));
        }
        let reported_ns = if to_hz > from_hz { at_ns } else { at_ns + step_ns * steps };
        self.transitions.push(Transition { reported_ns, hz: to_hz });
    }
}

/// The counter of a core that works and sleeps while its frequency changes.
pub(super) fn counter(
    machine: &TscMachine,
    course: &FrequencyCourse,
    activity: &Activity,
    ramps: bool,
) -> Counter {
    // Within a tick a halted core wakes, works and sleeps again; over ticks its counter runs at this share of the clock.
    let awake = machine.tick_work_ns.value * machine.tick_hz.value / 1e9;
    let divisor = if ramps { machine.halt_divisor.value } else { 1.0 };
    let asleep_share = awake + (1.0 - awake) / divisor;
    let rate = |hz: f64, works: bool| if works { hz } else { hz * asleep_share };
    let mut counter = Counter::new(rate(course.changes[0].1, activity.works_at(0.0)));
    let mut hz = course.changes[0].1;
    let mut works = activity.works_at(0.0);
    let mut changes = course.changes[1..].iter().peekable();
    let mut turns = activity.turns_ns().iter().peekable();
    loop {
        let change = changes.peek().map_or(f64::INFINITY, |(at, _)| *at);
        let turn = turns.peek().map_or(f64::INFINITY, |at| **at);
        if change.is_infinite() && turn.is_infinite() {
            return counter;
        }
        if change <= turn {
            hz = changes.next().map_or(hz, |(_, hz)| *hz);
        } else {
            turns.next();
            works = !works;
        }
        counter.change(change.min(turn), rate(hz, works));
    }
}

#[cfg(test)]
mod tests {
    use super::super::activity::Workload;
    use super::*;

    fn machine() -> TscMachine {
        crate::known("k8-opteron").expect("it comes with sidestep")
    }

    #[test]
    fn ondemand_rises_under_load_and_falls_without() {
        let machine = machine();
        let random = &mut Random::new(1);
        for (load, hz, state) in
            [(1.0, 1.0e9, 0), (0.9, 2.4e9, 0), (0.5, 2.4e9, 2), (0.0, 2.4e9, 3), (0.7, 1.0e9, 3)]
        {
            assert_eq!(Governor::Ondemand.wish(&machine, load, hz, random), state, "{load} at {hz}");
        }
    }

    #[test]
    fn a_transition_goes_by_steps_and_tells_the_kernel_on_the_safe_side() {
        let machine = machine();
        let mut course = FrequencyCourse { changes: vec![(0.0, 1.0e9)], transitions: Vec::new() };
        course.go(&machine, 1e6, 1.0e9, 2.4e9);
        assert_eq!(course.changes.len(), 1 + 7);
        assert_eq!(course.transitions, [Transition { reported_ns: 1e6, hz: 2.4e9 }]);
        course.go(&machine, 1e8, 2.4e9, 2.2e9);
        assert_eq!(course.transitions[1], Transition { reported_ns: 1e8 + machine.step_ns.value, hz: 2.2e9 });
    }

    #[test]
    fn a_sleeping_core_counts_at_full_speed_only_without_ramping() {
        let machine = machine();
        let course = FrequencyCourse { changes: vec![(0.0, 2.4e9)], transitions: Vec::new() };
        let activity = Workload::Idle.of_core(0, 1e10, &mut Random::new(3));
        let ticks = |ramps| counter(&machine, &course, &activity, ramps).at(1e10);
        assert!((ticks(false) / 2.4e10 - 1.0).abs() < 1e-9);
        assert!(ticks(true) < 0.1 * 2.4e10);
    }
}
