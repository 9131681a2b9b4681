//! Results of benchmarks, in compare.
