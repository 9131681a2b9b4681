//! Schedulers on paper: threads on a tree of CPUs that share units, sleep and change frequency, under one policy of
//! placement or another.
//!
//! A discrete-event simulator: threads compute in bursts, sleep, wake each other and wait; CPUs of a unit (a module, a
//! core of two threads, a cluster with one cache) slow each other down; units that sleep take time to wake and let the
//! others clock higher. What a policy gains is the ratio of two expected throughputs.
//!
//! Left out: what a change of frequency or of CPU costs, memory bandwidth, interrupts, priorities.

mod break_even;
mod by_policy;
mod co_run;
mod compiled;
mod description;
mod engine;
mod host;
mod known;
mod load;
mod plan;
mod policy;
mod published;
mod simulation;
mod speed;
mod throughput;

pub use break_even::{Packing, PackingPoint, packing};
pub use by_policy::{PolicyGain, PolicyRow};
pub use co_run::class_slowdowns;
pub use compiled::Compiled;
pub use description::{
    CLASSES, Class, ClockDescription, IdleDescription, KIND, LevelDescription, SchedulingMachine, Speeds,
    is_described, parse,
};
pub use engine::{Engine, Totals};
pub use host::{Measured, measured};
pub use known::KNOWN;
pub use load::{Length, Load, Pattern, SharedSet, Step, Thread};
pub use policy::Policy;
pub use published::{JoinedNumber, PublishedGain, join};
pub use simulation::{GainRow, Scenario, SchedulingSimulation, simulate};
pub use throughput::{Gain, Throughput, gain, throughput};
