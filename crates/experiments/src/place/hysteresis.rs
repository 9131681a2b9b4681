//! When a placement that is watched may change: seldom, and never to and fro. Pure: time is what it is told.
//!
//! What is proposed must stay the same for some rounds before it is tried at all, a trial must show it better before it is held,
//! and after each change or failed trial nothing new is tried for a while. That while doubles with each change or failed trial and
//! only shrinks again after a long rest; so programs whose threads change their ways all the time are soon left alone.

use std::time::Duration;

/// The same proposal in so many rounds is taken seriously.
pub const CONFIRMATIONS: u32 = 3;
/// After the first change nothing is tried for so long.
pub const REST: Duration = Duration::from_secs(60);
/// The longest rest.
pub const REST_MAX: Duration = Duration::from_secs(3600);
/// After so many rests without any wish to change, the rest is what it was at first.
const CALM_RESTS: u32 = 4;

/// What to do in this round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Nothing.
    Stay,
    /// Try the proposal, and tell by [`Hysteresis::tried`] what came of it.
    Try,
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
}

impl<P: Clone + PartialEq> Default for Hysteresis<P> {
    fn default() -> Self {
        Self {
            settled: None,
            candidate: None,
            rest: REST,
            rest_until: Duration::ZERO,
            calm_since: Duration::ZERO,
        }
    }
}

impl<P: Clone + PartialEq> Hysteresis<P> {
    /// One round at a time since the start, with what the last profile proposes.
    pub fn round(&mut self, now: Duration, proposal: &P) -> Advice {
        if self.settled.as_ref() == Some(proposal) {
            self.candidate = None;
            if now.saturating_sub(self.calm_since) >= self.rest * CALM_RESTS {
                self.rest = REST;
            }
            return Advice::Stay;
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
        if seen >= CONFIRMATIONS && now >= self.rest_until { Advice::Try } else { Advice::Stay }
    }

    /// A trial is over, at this time: the proposal is settled, whether it is now held or was found not to be worth it.
    pub fn tried(&mut self, now: Duration, proposal: P) {
        let is_first = self.settled.is_none();
        self.settled = Some(proposal);
        self.candidate = None;
        self.rest_until = now + self.rest;
        self.calm_since = now;
        if !is_first {
            self.rest = (self.rest * 2).min(REST_MAX);
        }
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
                state.tried(now, *proposal);
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
                    state.tried(now, *proposal);
                    prop_assert_eq!(state.round(now, proposal), Advice::Stay, "what was tried is settled");
                }
            }
        }
    }
}
