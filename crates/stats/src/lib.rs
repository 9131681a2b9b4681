//! Pure numbers: estimates with intervals, verdicts, change points. No file, no clock, no CPU.
#![forbid(unsafe_code)]

#[macro_use]
#[path = "../../machine/src/named.rs"]
mod named;

mod aa_control;
mod bca;
mod between_runs;
mod binomial;
mod blocks;
mod deviations;
mod drift;
mod equality;
mod estimate;
mod factor_scan;
mod factorial;
mod grouped;
mod groups;
mod guard;
mod interval;
mod levels;
mod lopsided;
mod modes;
mod multiplicity;
mod order;
mod paired;
mod quantile;
mod random;
mod stopping;
mod student;
pub mod text;
mod verdict;
mod wilcoxon;
mod windows;

pub use aa_control::AaControl;
pub use bca::bca;
pub use between_runs::{
    BEYOND_RUNS, ClassDifference, ClassSpread, Difference, Differences, Host, Knowledge, MemoryDifference,
    RowClass, RowRuns, SMALLEST_SPREAD, Variance, between_runs, class_spreads, equal_latencies, equal_rates,
    moderated, next_run_reach, two_runs_of_latency,
};
pub use binomial::{binomial_quantile, clopper_pearson};
pub use blocks::{BlockEffect, BlockFit, BlockRun, Dunnett};
pub use deviations::{BEYOND_SPREADS, Deviations, Oddity, Outliers};
pub use drift::{ChangePoint, change_points, lag1_autocorrelation};
pub use equality::{Equality, FEWEST_ROUNDS, Likeness, SubjectRatio, SubjectVisit, Tolerance, equality};
pub use estimate::{Estimate, Mode};
pub use factor_scan::{Crossing, Explained, FEWEST_UNITS, peeled};
pub use factorial::{Cell, Factors, cell_count, mirrored_block};
pub use grouped::grouped_level;
pub use groups::{group_shift, rank_sum_p};
pub use guard::{Guard, Guarded, guarded_passes};
pub use interval::Interval;
pub use levels::{TwoLevels, two_levels};
pub use lopsided::lopsided_p;
pub use modes::modes;
pub use multiplicity::{benjamini_hochberg, holm};
pub use order::Order;
pub use paired::quad_means;
pub use quantile::{
    mean, median, median_absolute_deviation, quantile, quantile_interval, quantile_of_sorted,
    robust_standard_deviation, sample_variance, sorted,
};
pub use random::{Arm, Random, random_pairs, random_quads};
pub use stopping::{Step, Stopping};
pub use student::{STANDARD_ERRORS_OF_95, normal_cdf, normal_quantile, student_quantile, student_two_sided};
pub use verdict::{Comparison, LEVEL_OF_ALARMS, Verdict, symmetric_percent};
pub use wilcoxon::{FEWEST_PAIRS, Shift, hodges_lehmann, signed_rank_p};
pub use windows::estimate;
