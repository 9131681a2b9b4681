//! Costs of reading the time within a check-up: how long each part may take.

use std::time::Duration;

/// Pinning, finding how many reads fill a batch, a child that tries the system call, and the last visit or burst on a busy
/// machine, in seconds.
const BESIDE_S: f64 = 0.5;
/// Of the time that is left after the clock's calibration, the parts of reads and of rounds; the rest is that of threads.
const READS_SHARE: f64 = 0.4;
const ROUNDS_SHARE: f64 = 0.2;
/// The shortest run that says something of every read, in seconds.
const LEAST_S: f64 = 1.6;

/// How long each part may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Brief {
    /// Calibration of this project's clock, which usually takes 0.1 s.
    pub clock: Duration,
    /// Every way to read, in seconds; half of it where that is enough.
    pub reads_s: f64,
    /// What threads read in released rounds.
    pub rounds: Duration,
    /// Cost by number of threads, in seconds.
    pub threads_s: f64,
}

impl Brief {
    /// What fits into so many seconds; `None` if they are too few.
    pub fn within(seconds: f64) -> Option<Self> {
        let net_s = seconds - BESIDE_S;
        let clock_s = 0.1 * net_s;
        let left_s = net_s - clock_s;
        (seconds >= LEAST_S).then(|| Self {
            clock: Duration::from_secs_f64(clock_s),
            reads_s: left_s * READS_SHARE,
            rounds: Duration::from_secs_f64(left_s * ROUNDS_SHARE),
            threads_s: left_s * (1.0 - READS_SHARE - ROUNDS_SHARE),
        })
    }

    /// The same with no more for rounds and threads, nor for the clock, than they are given at most: the rest goes to the reads.
    #[must_use]
    pub fn capped(self, clock: Duration, rounds: Duration, threads_s: f64) -> Self {
        let most = Self {
            clock: self.clock.min(clock),
            rounds: self.rounds.min(rounds),
            threads_s: self.threads_s.min(threads_s),
            ..self
        };
        Self { reads_s: self.reads_s + self.worst_case_s() - most.worst_case_s(), ..most }
    }

    /// Time it may take at most, in seconds.
    pub fn worst_case_s(&self) -> f64 {
        (self.clock + self.rounds).as_secs_f64() + self.reads_s + self.threads_s + BESIDE_S
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_fill_the_time_and_too_little_of_it_is_none() {
        assert_eq!(Brief::within(1.0), None);
        for seconds in [1.6, 2.4, 12.0] {
            let brief = Brief::within(seconds).expect("enough");
            assert!((brief.worst_case_s() - seconds).abs() < 1e-6, "{brief:?}");
            assert!(brief.reads_s > 0.35 && brief.threads_s > 0.35, "{brief:?}");
            let capped = brief.capped(Duration::ZERO, brief.rounds, 0.3);
            assert!((capped.worst_case_s() - seconds).abs() < 1e-6 && capped.reads_s > brief.reads_s);
        }
    }
}
