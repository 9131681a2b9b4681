//! All probes of a check-up, each in the file of what it measures: add yours here.

use crate::cores::{atomics, compute, control, sharing, transfer, wake};
use crate::memory::{bandwidth, loaded, orders, parallel, sockets, stream, surface, walks};
use crate::plan::CheckUpProbe;
use crate::signature::check_up as signatures;
use crate::{clock_pairs, clocks};

/// The probes in the order in which they run, but for those that name another: the machine warms up on the control loops;
/// what disturbs others is last within its section.
pub(crate) const PROBES: &[&CheckUpProbe] = &[
    &control::PROBE,
    &surface::BASE_PAGES,
    &surface::HUGE_PAGES,
    &surface::LARGE_BLOCKS,
    &bandwidth::PROBE,
    &stream::PROBE,
    &orders::PROBE,
    &walks::PROBE,
    &parallel::PROBE,
    &loaded::PROBE,
    &sockets::check_up::PROBE,
    &transfer::PROBE,
    &sharing::PROBE,
    &compute::PROBE,
    &atomics::PROBE,
    &wake::PROBE,
    &clocks::PROBE,
    &clock_pairs::check_up::PROBE,
    &signatures::PROBE,
];
