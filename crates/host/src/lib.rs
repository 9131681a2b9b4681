//! The only door to Linux: files, CPUID, memory, threads, signals.

pub mod live;
