//! Programs to measure with: one file of `workloads/` for each.
//!
//! Text in, values out: nothing here starts a program or opens a file. `experiments` prepares and runs what stands here.
#![forbid(unsafe_code)]

mod catalogue;
mod metric;
mod workload;

pub use catalogue::{WorkloadError, all, find, read, suite};
pub use metric::{Metric, MetricError, NoNumber, Output, Stream, last_lines};
pub use workload::{Server, Suite, Workload};
