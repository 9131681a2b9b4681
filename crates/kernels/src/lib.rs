//! Inner loops: assembly and SIMD, one file per kernel, each with a naive twin and a disassembly test.
//!
//! Nothing here allocates, prints, opens a file, knows statistics or reads a clock on its own account. A value
//! of a loop type (`StreamLoop`, `VectorLoop`, ...) proves that this CPU has the instructions the loop needs.
//!
//! | what | module |
//! |---|---|
//! | bandwidth: read, write, copy, scale, add, triad | [`stream`], the operations below it |
//! | latency: dependent loads over a permutation | [`chain`] builds it, [`chase`] walks it, [`offset_chase`] borrows nothing meanwhile |
//! | control loops: frequency and share of the core | [`multiply`], [`rotate`], [`ports`] |
//! | what an atomic addition costs with each kind of instructions | [`atomic_add`] |
//! | their machine code, by architecture | `arch` |
//! | time-stamp counter reads | [`ticks`] |
//! | compute that must not move when memory does | [`mandelbrot`] |
//! | a load behind a store: of late address, of known address | [`store_bypass`] |
//! | one cache line bounced between two CPUs | [`mod@line`] |
//! | loops whose speed betrays a flaw or its workaround | `signature` |
//! | what two CPUs share | [`ports`], [`contention`], and the loops above |

#[macro_use]
#[path = "../../machine/src/named.rs"]
mod named;

mod arch;
mod arrays;
pub mod atomic_add;
pub mod chain;
pub mod chase;
pub mod contention;
mod cursor;
mod float_divide;
pub mod line;
mod loop_interface;
pub mod mandelbrot;
pub mod multiply;
pub mod offset_chase;
mod operation;
mod picture;
pub mod ports;
pub mod random;
pub mod rotate;
pub mod store_bypass;
pub mod stream;
pub mod ticks;

pub use arch::*;
pub use arrays::{ARRAY_GRANULE_BYTES, Arrays};
pub use atomic_add::{ATOMIC_ADDS_PER_ROUND, AtomicAddLoop};
pub use chain::{Chain, Layout, Order};
pub use chase::{PARALLEL_LOADS_PER_ROUND, PARALLEL_MAX, walk_parallel};
pub use contention::{VectorLoop, front_end_loop};
pub use cursor::Cursor;
pub use float_divide::{FLOAT_DIVISIONS_PER_ROUND, FloatOperands, float_divide_chain};
pub use line::{Line, Protocol, ping, pong};
pub use loop_interface::LOADS_PER_ROUND;
pub use multiply::{MULTIPLIES_PER_ROUND, cycles_per_multiply, multiply_chain};
pub use operation::{ELEMENT_BYTES, Isa, Operation, Store};
pub use ports::{ADDS_PER_ROUND, port_loop};
pub use rotate::{ROTATES_PER_ROUND, rotate_chain};
pub use store_bypass::{FORWARDS_PER_ROUND, STEPS_PER_ROUND, StoreBypass, forwarding_chain};
pub use stream::{StreamKernel, StreamLoop, WrongElements};

/// Version of the inner loops together. It rises when a loop is changed in a way that can change what it measures: numbers of two
/// versions are then no longer compared between the machines of a fleet.
pub const KERNEL_SET: u32 = 1;
