//! The clock for C: `libsidestep_clock.so` and `.a`, with `include/sidestep_clock.h` and `sidestep-clock.pc`.
//!
//! The header is made of the functions' own signatures and comments; a test holds both together, and
//! `UPDATE_EXPECT=1 cargo test -p sidestep-clock-c` writes it anew.

mod functions;

pub use functions::{
    sidestep_clock_boundary_ns, sidestep_clock_generation, sidestep_clock_now_ns, sidestep_clock_source,
    sidestep_clock_start, sidestep_clock_uncertainty_ns, sidestep_clock_wait,
};
