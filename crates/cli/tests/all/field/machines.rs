//! Recorded machines and dumps of CPUID.
