//! The clock on simulated counters and real ones. Beside it: a model for loom and Miri, and processes that have not used the clock.

mod followed_clock;
mod simulated_machine;
