//! A model of memory: caches, translation buffers, page walks and stream prefetch, driven by the trace of a program.
//!
//! `Simulator` counts what each access did; `Costs` turns counts into time. As the caches do not depend on time, time is
//! a sum of counts and costs, and a cost can be fitted without running the trace again.
//!
//! Left out: other cores, stores, instruction fetch, DRAM pages and banks, physical page placement (pages lie as
//! the program sees them), prefetches that nobody uses.

mod cache;
mod costs;
mod description;
mod geometry;
mod prediction;
mod simulation;
mod simulator;
mod translation;

pub use cache::{Evicted, LruSets};
pub use costs::{Costs, Parameters, TimePerAccess, Waits};
pub use description::{
    Board, CacheDescription, MemoryMachine, PrefetchDescription, Program, Published, Test,
    TranslationDescription, Unit, Workaround, WorkaroundDescription,
};
pub use geometry::{CacheGeometry, Fill, Geometry, LEVELS_MAX, PageTableReads, TlbGeometry};
pub use prediction::{Outcome, predict, trace, value};
pub use simulation::{BandwidthPoint, Part, Row, Simulation, StrideDifference, SurfaceCell, simulate};
pub use simulator::{Counters, PLACES, RUN_LINES_MAX, Simulator};
