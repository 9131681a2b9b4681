//! A model of schedulers: threads on a tree of CPUs that share units, sleep and change frequency, under one policy of
//! placement or another.
//!
//! A discrete-event simulator: threads compute in bursts, sleep, wake each other and wait; CPUs of a unit (a module, a
//! core of two threads, a cluster with one cache) slow each other down; units that sleep take time to wake and let the
//! others clock higher. What a policy gains is the ratio of two expected throughputs.
//!
//! Left out: what a change of frequency or of CPU costs, memory bandwidth, interrupts, priorities.

mod compiled;
mod description;
mod engine;
mod load;
mod plan;
mod policy;
mod simulation;
mod speed;
mod throughput;

pub use compiled::Compiled;
pub use description::{
    ClockDescription, IdleDescription, LevelDescription, Policy, PublishedGain, SchedulingMachine,
};
pub use engine::{Engine, Totals};
pub use load::{Length, Load, Pattern, Scenario, SharedSet, Step, Thread};
pub use simulation::{GainRow, JoinedNumber, SchedulingSimulation, simulate};
pub use throughput::{Gain, Throughput, gain, throughput};
