//! Results for other programs: metrics for whoever scrapes them, suites of tests for whoever collects those. Data in, text out.

mod junit;
mod openmetrics;

pub use junit::{TestCase, TestResult, TestSuite, junit};
pub use openmetrics::{Family, FamilyKind, MetricsFormat, Sample, metrics};
