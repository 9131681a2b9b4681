//! What equal CPUs of one machine differ by from one run to the next: states that outlast a run, which no interval of that run can show.

use super::Host;

/// Standard deviations between runs that a difference of CPUs has to exceed: equals do once in 200 runs, were they normal.
pub const BEYOND_RUNS: f64 = 2.8;

/// Standard deviation of the ratio of two equal CPUs' latencies between runs of eight seconds, at the same control: 0.65 % over 16
/// runs on a quiet guest, 1.0 % over 16 beside compilers. That it is as much on bare metal is assumed.
const LATENCY: f64 = 0.009;

/// The same of their triads in a guest: 4.9 % over 32 runs on a quiet one, 7.0 % over 32 beside compilers. A machine that
/// shares its memory with nobody is assumed to have no more than the spread of latency.
const GUEST_TRIAD: f64 = 0.06;

/// What one CPU's latency differs by in two runs of a guest: 2.7 % over 100 runs of six seconds on a busy one, which is 3.8 % for two.
const GUEST_TWO_RUNS: f64 = 0.038;

/// Standard deviation between runs of the ratio of two equal CPUs' latencies.
pub const fn equal_latencies() -> f64 {
    LATENCY
}

/// The same of their bandwidths.
pub const fn equal_rates(host: Host) -> f64 {
    match host {
        Host::Guest => GUEST_TRIAD,
        Host::BareMetal => LATENCY,
    }
}

/// The same of one CPU's latency in two runs.
pub const fn two_runs_of_latency(host: Host) -> f64 {
    match host {
        Host::Guest => GUEST_TWO_RUNS,
        Host::BareMetal => LATENCY,
    }
}
