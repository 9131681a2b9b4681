//! Control loop for the frequency: a dependent chain of 32-bit multiplications in registers.
//!
//! ```text
//! repeat rounds: 64 x  eax = eax * eax'     (imul r32, r32; each needs the last)
//! ```
//! No memory is touched and no port is saturated, so that neither memory nor a busy sibling moves it: time per
//! step is the latency of the multiplier in core cycles, times the core's period.

/// Dependent multiplications of one round.
pub const MULTIPLIES_PER_ROUND: u64 = 64;

/// Makes `rounds * MULTIPLIES_PER_ROUND` dependent 32-bit multiplications and returns the product.
#[inline(never)]
pub fn multiply_chain(rounds: u64) -> u32 {
    let mut product = 3u32;
    for _ in 0..rounds * MULTIPLIES_PER_ROUND {
        product = core::hint::black_box(product.wrapping_mul(5));
    }
    product
}

/// Core cycles of one step of [`multiply_chain`], by CPUID vendor string, (extended) family and model; `None` where no source is known to us.
pub fn cycles_per_multiply(vendor: &str, family: u32, model: u32) -> Option<f64> {
    match (vendor, family) {
        ("GenuineIntel", 6) if model >= 0x1a => Some(3.0),
        ("AuthenticAMD" | "HygonGenuine", 0x17..=0x1a) => Some(3.0),
        _ => None,
    }
}
