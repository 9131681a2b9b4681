//! Results for other programs: metrics for whoever scrapes them, suites of tests for whoever collects those. Data in, text out.

mod junit;
mod metrics;

pub use junit::{TestCase, TestResult, TestSuite, junit};
pub use metrics::{Family, Sample, metrics};
