//! What equal CPUs differ by from one run to the next: moods that outlast a run, which no interval of that run can show.

/// Standard deviations that a difference which comes and goes with runs has to exceed, as in `stats::equality`.
pub(crate) const STANDARD_DEVIATIONS: f64 = 2.8;
/// Standard deviation of the ratio of two equal CPUs' latencies from run to run, measured in a guest; that one CPU differs from itself
/// by as much in two runs where nobody else is on the machine is assumed.
pub(crate) const BETWEEN_RUNS: f64 = 0.009;
/// The same of two equal CPUs' triads in a guest: 4.9 to 7 % (METHODOLOGY.md, Equal sockets); of two packages' it is assumed.
const GUEST_RATE_BETWEEN_RUNS: f64 = 0.06;

/// By how much latencies have to differ to be of unequal CPUs, as a share.
pub(crate) const fn latencies_differ_by() -> f64 {
    STANDARD_DEVIATIONS * BETWEEN_RUNS
}

/// The same of bandwidths; guests that share the memory have moods of their own.
pub(crate) const fn rates_differ_by(in_guest: bool) -> f64 {
    STANDARD_DEVIATIONS * if in_guest { GUEST_RATE_BETWEEN_RUNS } else { BETWEEN_RUNS }
}
