//! A model of time-stamp counters: cores that change frequency and sleep, what their counters then show, and the time that
//! a kernel makes of it.
//!
//! The counters are those of a machine without an invariant counter: one tick per cycle of the core, fewer while it is
//! halted if its clock is ramped down. The kernel is a Linux 2.6 on x86-64: one CPU takes the timer interrupt, all others
//! interpolate from that CPU's counter with one quotient for all. Two detectors look on: the strip that bounds offset
//! and rate of two counters, and a reader that compares stamps which two CPUs took one after the other.
//!
//! Left out: temperature of crystals (all sockets run from one), NTP, the time that interrupts are blocked, what a reader
//! pays for a cache miss.

mod activity;
mod counter;
mod description;
mod kernel_clock;
mod power;
mod remedy;
mod simulation;

pub use activity::Workload;
pub use counter::Counter;
pub use description::{ReadDescription, TimeSource, TscMachine};
pub use power::Governor;
pub use remedy::Remedy;
pub use simulation::{DriftPoint, DriftRow, DriftSimulation, Scenario, simulate};
