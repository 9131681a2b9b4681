//! When a placement that is watched may change: seldom, and never to and fro. Pure: time is what it is told.
//!
//! What is proposed must stay the same for some rounds before it is tried at all, a trial must show it better before it is held,
//! and after each change or failed trial nothing new is tried for a while. That while doubles with each change or failed trial and
//! only shrinks again after a long rest; so programs whose threads change their ways all the time are soon left alone.
//!
//! What is held is tested again, ever more seldom while that shows its gain. A gain that vanished is not held: the placement is given
//! up, and has to be proposed, and to show a gain, once more.

use std::time::Duration;

/// The same proposal in so many rounds is taken seriously.
pub const CONFIRMATIONS: u32 = 3;
/// After the first change nothing is tried for so long.
pub const REST: Duration = Duration::from_secs(60);
/// The longest rest.
pub const REST_MAX: Duration = Duration::from_secs(3600);
/// After so many rests without any wish to change, the rest is what it was at first.
const CALM_RESTS: u32 = 4;
/// What is held is tested again after so long: a test of the usual length, some 110 s, for most of which the gain is forgone, is then
/// an eighth of the time.
pub const RETEST: Duration = Duration::from_secs(15 * 60);
/// The longest time without a test of what is held: then it is less than a hundredth.
pub const RETEST_MAX: Duration = Duration::from_secs(4 * 3600);

/// What to do in this round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Nothing.
    Stay,
    /// Try the proposal, and tell by [`Hysteresis::tried`] what came of it.
    Try,
    /// Test what is held, and tell by [`Hysteresis::tested`] what came of it.
    Test,
}

/// The state. `P` is what makes a placement another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Hysteresis<P> {
    /// What is held, or was found not to be worth holding anything for.
    settled: Option<P>,
    candidate: Option<(P, u32)>,
    rest: Duration,
    /// Nothing is tried before.
    rest_until: Duration,
    /// Since then nobody wished for anything else.
    calm_since: Duration,
    /// When what is held is due to be tested; `None` if nothing is held.
    test: Option<Due>,
}

/// A test that is to come.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Due {
    at: Duration,
    /// How long it was waited for.
    wait: Duration,
}

impl<P: Clone + PartialEq> Default for Hysteresis<P> {
    fn default() -> Self {
        Self {
            settled: None,
            candidate: None,
            rest: REST,
            rest_until: Duration::ZERO,
            calm_since: Duration::ZERO,
            test: None,
        }
    }
}

impl<P: Clone + PartialEq> Hysteresis<P> {
    /// One round at a time since the start, with what the last profile proposes.
    pub fn round(&mut self, now: Duration, proposal: &P) -> Advice {
        let is_due = self.test.is_some_and(|due| now >= due.at);
        let unless_tried = if is_due { Advice::Test } else { Advice::Stay };
        if self.settled.as_ref() == Some(proposal) {
            self.candidate = None;
            if now.saturating_sub(self.calm_since) >= self.rest * CALM_RESTS {
                self.rest = REST;
            }
            return unless_tried;
        }
        self.calm_since = now;
        let seen = match &mut self.candidate {
            Some((candidate, seen)) if candidate == proposal => {
                *seen = seen.saturating_add(1);
                *seen
            }
            other => {
                *other = Some((proposal.clone(), 1));
                1
            }
        };
        if seen >= CONFIRMATIONS && now >= self.rest_until { Advice::Try } else { unless_tried }
    }

    /// A trial is over, at this time: the proposal is settled, whether something is now held or was found not to be worth it.
    pub fn tried(&mut self, now: Duration, proposal: P, is_held: bool) {
        let is_first = self.settled.is_none();
        self.settled = Some(proposal);
        self.candidate = None;
        self.rest_until = now + self.rest;
        self.calm_since = now;
        self.test = is_held.then(|| Due { at: now + RETEST, wait: RETEST });
        if !is_first {
            self.rest = (self.rest * 2).min(REST_MAX);
        }
    }

    /// What is held was tested, until this time: it is kept if it still gains, and else nothing is held any more.
    pub fn tested(&mut self, now: Duration, still_gains: bool) {
        let Some(due) = self.test.take() else { return };
        if still_gains {
            let wait = (due.wait * 2).min(RETEST_MAX);
            self.test = Some(Due { at: now + wait, wait });
            return;
        }
        self.settled = None;
        self.candidate = None;
        self.rest = (self.rest * 2).min(REST_MAX);
        self.rest_until = now + self.rest;
        self.calm_since = now;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Times of trials for a proposal per round of so many seconds; a trial takes its time.
    fn trials(proposals: &[u8], round_s: u64, trial_s: u64) -> Vec<Duration> {
        let mut state = Hysteresis::default();
        let (mut now, mut trials) = (Duration::ZERO, Vec::new());
        for proposal in proposals {
            now += Duration::from_secs(round_s);
            if state.round(now, proposal) == Advice::Try {
                trials.push(now);
                now += Duration::from_secs(trial_s);
                state.tried(now, *proposal, false);
            }
        }
        trials
    }

    #[test]
    fn what_stays_the_same_is_tried_once() {
        assert_eq!(trials(&[7; 1000], 5, 30), [Duration::from_secs(15)]);
    }

    #[test]
    fn what_changes_each_round_is_never_tried() {
        let flapping: Vec<u8> = (0..1000).map(|round| u8::from(round % 2 == 1)).collect();
        assert_eq!(trials(&flapping, 5, 30), []);
    }

    #[test]
    fn slow_changes_are_followed_ever_more_seldom_and_rest_is_forgotten_after_calm() {
        let slow: Vec<u8> = (0..4000).map(|round| u8::from(round / 30 % 2 == 1)).collect();
        let found = trials(&slow, 5, 0);
        let gaps: Vec<u64> = found.windows(2).map(|pair| pair[1].as_secs() - pair[0].as_secs()).collect();
        assert!(gaps.last() > gaps.first(), "{gaps:?}");
        let mut calm = vec![0; 20];
        calm.extend([1; 20]);
        calm.extend([2; 400]);
        calm.extend([3; 100]);
        let found = trials(&calm, 5, 0);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[3] < Duration::from_secs(5 * 440) + REST, "after calm the next change is soon tried");
    }

    /// When the same proposal is tried and tested if it gains until some time.
    fn tests_of_one(gains_until_s: u64, end_s: u64) -> Vec<(u64, Advice)> {
        const ROUND_S: u64 = 15;
        let mut state = Hysteresis::default();
        let mut done = Vec::new();
        for now_s in (0..end_s).step_by(ROUND_S as usize) {
            let now = Duration::from_secs(now_s);
            let advice = state.round(now, &7);
            match advice {
                Advice::Stay => continue,
                Advice::Try => state.tried(now, 7, now_s < gains_until_s),
                Advice::Test => state.tested(now, now_s < gains_until_s),
            }
            done.push((now_s, advice));
        }
        done
    }

    #[test]
    fn what_is_held_is_tested_ever_more_seldom_while_it_gains() {
        let found = tests_of_one(u64::MAX, 24 * 3600);
        let gaps: Vec<u64> = found.windows(2).map(|pair| (pair[1].0 - pair[0].0) / 60).collect();
        assert_eq!(gaps, [15, 30, 60, 120, 240, 240, 240, 240, 240], "minutes");
        assert_eq!(found.iter().filter(|(_, advice)| *advice == Advice::Try).count(), 1);
    }

    #[test]
    fn a_gain_that_vanished_is_given_up_and_gets_one_more_chance_after_a_longer_rest() {
        let found = tests_of_one(1200, 24 * 3600);
        let released_s = 30 + 900 + 1800;
        let expected = [(30, Advice::Try), (930, Advice::Test), (released_s, Advice::Test)];
        assert_eq!(found[..3], expected);
        assert_eq!(
            found[3..],
            [(released_s + 120, Advice::Try)],
            "twice the first rest, and then never again"
        );
    }

    #[test]
    fn what_is_held_is_tested_even_if_each_round_proposes_something_else() {
        let mut state = Hysteresis::default();
        state.tried(Duration::ZERO, 0, true);
        let advice = |(round, now_s)| state.round(Duration::from_secs(now_s), &(1 + round % 2));
        let found: Vec<Advice> = (0..).zip((15..=900).step_by(15)).map(advice).collect();
        assert!(found[..59].iter().all(|advice| *advice == Advice::Stay) && found[59] == Advice::Test);
        state.tested(Duration::from_secs(900), true);
        assert_eq!(state.round(Duration::from_secs(915), &0), Advice::Stay);
    }

    proptest! {
        /// Whatever is proposed, trials are at least a rest apart, and their number grows with the logarithm of time until the
        /// longest rest.
        #[test]
        fn nothing_makes_it_flap(
            proposals in prop::collection::vec(0..4_u8, 1..2000),
            repeats in 1..40_usize,
            round_s in 1..20_u64,
        ) {
            let proposals: Vec<u8> = proposals.iter().flat_map(|one| std::iter::repeat_n(*one, repeats)).collect();
            let found = trials(&proposals, round_s, 0);
            for pair in found.windows(2) {
                prop_assert!(pair[1] >= pair[0] + REST);
            }
            let seconds = proposals.len() as u64 * round_s;
            prop_assert!(found.len() as u64 <= 1 + seconds / REST.as_secs());
            let mut state = Hysteresis::default();
            let mut now = Duration::ZERO;
            for proposal in &proposals {
                now += Duration::from_secs(round_s);
                if state.round(now, proposal) == Advice::Try {
                    state.tried(now, *proposal, false);
                    prop_assert_eq!(state.round(now, proposal), Advice::Stay, "what was tried is settled");
                }
            }
        }
    }
}
