//! The self-test: how small a difference each kind of loop shows on this machine, now, and how often equal work differs.
//!
//! | what | module |
//! |---|---|
//! | the kinds of loops, and their trials | `subjects`, `transfer` |
//! | from trials to a detectable difference and false alarms | `resolution` |
//!
//! Both sides of every comparison do the same work: what differs is noise. Control loops, pairs of CPUs and the surface
//! against itself are what the check-up measures.

mod resolution;
mod subjects;
mod transfer;

use std::time::{Duration, Instant};

use record::Selftest;

use crate::session::Session;

/// Time for all kinds of loops unless the user gives another.
const RESOLUTION_S: f64 = 20.0;
/// How long after its time the last kind may still be measured.
const GRACE: Duration = Duration::from_millis(500);

/// Seconds that it takes where so many are asked for.
pub fn seconds(budget_s: Option<f64>) -> f64 {
    budget_s.unwrap_or(RESOLUTION_S)
}

/// Measures every kind of loop against itself on the last CPU of the session, in so many seconds.
pub fn measure(session: &mut Session<'_>, seconds: f64) -> Selftest {
    session.deadline = Instant::now() + Duration::from_secs_f64(seconds) + GRACE;
    let cpu = *session.cpus.last().expect("a session has at least one CPU");
    let mut without = Vec::new();
    let resolution = subjects::measure(session, cpu, seconds, &mut without);
    Selftest { alarms: resolution::alarms(&resolution), resolution, without }
}

/// What is outside the stated limits, a line each.
pub fn failures(found: &Selftest) -> Vec<String> {
    resolution::failure(&found.alarms).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use machine::CpuId;

    use super::*;

    #[test]
    fn without_time_nothing_is_measured_and_that_is_said() {
        let mut session = Session {
            record: record::Record::default(),
            cpus: vec![CpuId(0)],
            rate: clock::TickRate::calibrate(1_000_000).expect("a counter that counts"),
            random: kernels::random::SplitMix64::new(1),
            deadline: Instant::now(),
            progress: &crate::session::Silent,
            tally: crate::sampler::Tally::default(),
            results: 0,
        };
        let mut without = Vec::new();
        let found = subjects::measure(&mut session, CpuId(0), 0.0, &mut without);
        assert!(found.is_empty() && without[0].ends_with("the time was up before; give more with --budget"));
        assert_eq!(failures(&Selftest::default()), Vec::<String>::new());
    }
}
