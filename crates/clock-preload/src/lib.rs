//! Serves `clock_gettime`, `gettimeofday` and `time` to unmodified programs: `LD_PRELOAD=libsidestep_clock_preload.so`.
//!
//! `CLOCK_MONOTONIC` and `CLOCK_REALTIME` come from the time-stamp counter and follow the kernel's disciplined clocks, slews
//! included: the distance is at most [`clock::BOUND_NS`], 21 us, while the kernel's rate changes by up to 500 ppm at a time, and
//! some 0.1 us while it does not. A step of `CLOCK_REALTIME` is seen at the next look, at most 20 ms later. All other
//! clocks are the kernel's own. It serves only where the kernel's clock source is the counter; elsewhere, and whenever in
//! doubt, it passes the call on.
//!
//! `SIDESTEP_CLOCK_REPORT=1` in the environment makes it say at exit how many calls it served.
//!
//! It starts no thread and allocates nothing: readers themselves look at the kernel's clock every 10 ms. Nothing can be done
//! for static programs and for those that make system calls themselves; the loader ignores the library for programs that
//! gain privileges.

mod arch;
mod functions;
mod kernel;
mod realtime;
mod report;
mod server;

pub use functions::{clock_gettime, gettimeofday, time};
