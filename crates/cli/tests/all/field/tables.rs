//! Tables of latencies between CPUs and nodes.
