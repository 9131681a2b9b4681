//! Control loop for the frequency: a dependent chain of 32-bit multiplications in registers.
//!
//! ```text
//! repeat rounds:  64 x  product = product * factor        (imul r32, r32; arm64: mul w, w, w)
//! ```
//! Per round 64 multiplications, no load, no store. Each needs the last, so that memory does not move the loop and a
//! busy sibling hardly does: time per step is the latency of the multiplier in core cycles times the core's period.
//! Dependent additions of constants would be simpler, but newer cores fold them when they rename registers (Intel
//! Golden Cove; uops.info, `ADD_R64_I8`, latency 0 to 1).

use crate::arch;
use crate::loop_interface::MULTIPLY_FACTOR as FACTOR;

/// Dependent multiplications of one round.
pub const MULTIPLIES_PER_ROUND: u64 = 64;

/// Makes `rounds * MULTIPLIES_PER_ROUND` dependent 32-bit multiplications and returns the product.
#[inline(never)]
pub fn multiply_chain(rounds: u64) -> u32 {
    if rounds == 0 { FACTOR } else { arch::multiply_rounds(rounds) }
}

/// What [`multiply_chain`] must return.
pub const fn answer(rounds: u64) -> u32 {
    // Powers of an odd number repeat, modulo 2^32, after 2^30 of them at the latest: the low bits of the exponent are enough.
    FACTOR.wrapping_pow((rounds * MULTIPLIES_PER_ROUND + 1) as u32)
}

/// CPU models for which the latency of `imul r32, r32` is known.
struct Row {
    vendor: &'static str,
    family: u32,
    /// Models of the family; all where empty.
    models: &'static [u32],
    cycles: f64,
}

/// Latency of `imul r32, r32` from register to register, in core cycles.
///
/// Sources, by row: \[u\] uops.info, `IMUL_R32_R32`, measured; \[a\] A. Fog, "Instruction tables", measured; \[s\] AMD's
/// software optimisation guide of the family, table of instruction latencies. Model numbers are those of Linux,
/// `arch/x86/include/asm/intel-family.h`. A model missing here is unknown to us: measure it against the rotate chain
/// and cite it.
const LATENCIES: &[Row] = &[
    // Core 2, Conroe to Dunnington [u: Conroe, Wolfdale; a].
    Row { vendor: "GenuineIntel", family: 6, models: &[0x0f, 0x16, 0x17, 0x1d], cycles: 3.0 },
    // Nehalem and Westmere [u].
    Row {
        vendor: "GenuineIntel",
        family: 6,
        models: &[0x1a, 0x1e, 0x1f, 0x2e, 0x25, 0x2c, 0x2f],
        cycles: 3.0,
    },
    // Sandy Bridge and Ivy Bridge [u].
    Row { vendor: "GenuineIntel", family: 6, models: &[0x2a, 0x2d, 0x3a, 0x3e], cycles: 3.0 },
    // Haswell and Broadwell [u].
    Row {
        vendor: "GenuineIntel",
        family: 6,
        models: &[0x3c, 0x3f, 0x45, 0x46, 0x3d, 0x47, 0x4f, 0x56],
        cycles: 3.0,
    },
    // Skylake, Skylake-X to Cooper Lake, Kaby to Comet Lake, Cannon Lake [u].
    Row {
        vendor: "GenuineIntel",
        family: 6,
        models: &[0x4e, 0x5e, 0x55, 0x8e, 0x9e, 0xa5, 0xa6, 0x66],
        cycles: 3.0,
    },
    // Ice Lake, Tiger Lake, Rocket Lake [u].
    Row {
        vendor: "GenuineIntel",
        family: 6,
        models: &[0x7d, 0x7e, 0x6a, 0x6c, 0x8c, 0x8d, 0xa7],
        cycles: 3.0,
    },
    // Alder Lake, both core types [u]; Raptor Lake, Sapphire and Emerald Rapids have the same cores.
    Row {
        vendor: "GenuineIntel",
        family: 6,
        models: &[0x97, 0x9a, 0xb7, 0xba, 0xbf, 0x8f, 0xcf],
        cycles: 3.0,
    },
    // Bonnell and Saltwell [u: Bonnell; a].
    Row { vendor: "GenuineIntel", family: 6, models: &[0x1c, 0x26, 0x27, 0x35, 0x36], cycles: 5.0 },
    // Silvermont, Airmont [u: Airmont; a]; Goldmont, Goldmont Plus, Tremont [u].
    Row {
        vendor: "GenuineIntel",
        family: 6,
        models: &[0x37, 0x4d, 0x4a, 0x5a, 0x4c, 0x5c, 0x5f, 0x7a, 0x86, 0x96, 0x9c],
        cycles: 3.0,
    },
    // K8 [a; s: 25112].
    Row { vendor: "AuthenticAMD", family: 0x0f, models: &[], cycles: 3.0 },
    // K10, the Phenoms [a; s: 40546]; Llano, the same core.
    Row { vendor: "AuthenticAMD", family: 0x10, models: &[], cycles: 3.0 },
    Row { vendor: "AuthenticAMD", family: 0x12, models: &[], cycles: 3.0 },
    // Bobcat [a].
    Row { vendor: "AuthenticAMD", family: 0x14, models: &[], cycles: 3.0 },
    // Bulldozer to Excavator [a; s: 47414].
    Row { vendor: "AuthenticAMD", family: 0x15, models: &[], cycles: 4.0 },
    // Jaguar, Puma [a; s: 52128].
    Row { vendor: "AuthenticAMD", family: 0x16, models: &[], cycles: 3.0 },
    // Zen, Zen+, Zen 2 [u; s: 55723]; Hygon Dhyana is a Zen (Linux, arch/x86/kernel/cpu/hygon.c).
    Row { vendor: "AuthenticAMD", family: 0x17, models: &[], cycles: 3.0 },
    Row { vendor: "HygonGenuine", family: 0x18, models: &[], cycles: 3.0 },
    // Zen 3, Zen 4 [u; s: 56665, 57647].
    Row { vendor: "AuthenticAMD", family: 0x19, models: &[], cycles: 3.0 },
    // Zen 5 [s: 58455].
    Row { vendor: "AuthenticAMD", family: 0x1a, models: &[], cycles: 3.0 },
];

/// Core cycles of one step of [`multiply_chain`], by CPUID vendor string, family and model (both with their extended
/// parts); `None` where we know no source.
pub fn cycles_per_multiply(vendor: &str, family: u32, model: u32) -> Option<f64> {
    let is_row = |row: &&Row| {
        row.vendor == vendor && row.family == family && (row.models.is_empty() || row.models.contains(&model))
    };
    LATENCIES.iter().find(is_row).map(|row| row.cycles)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The naive twin.
    fn product(multiplications: u64) -> u32 {
        (0..multiplications).fold(FACTOR, |product, _| product.wrapping_mul(FACTOR))
    }

    #[test]
    fn the_chain_makes_as_many_multiplications_as_it_says() {
        for rounds in [0, 1, 2, 3, 17] {
            assert_eq!(multiply_chain(rounds), product(rounds * MULTIPLIES_PER_ROUND), "{rounds} rounds");
            assert_eq!(multiply_chain(rounds), answer(rounds), "{rounds} rounds");
        }
        assert_eq!(answer(1 << 26), answer(0), "2^32 multiplications more");
    }

    #[test]
    fn latencies_are_known_for_known_families_only() {
        let rows = [
            ("GenuineIntel", 6, 0x55, Some(3.0)),
            ("GenuineIntel", 6, 0x1c, Some(5.0)),
            ("AuthenticAMD", 0x10, 2, Some(3.0)),
            ("AuthenticAMD", 0x15, 1, Some(4.0)),
            ("AuthenticAMD", 0x19, 1, Some(3.0)),
            ("GenuineIntel", 0xf, 4, None),
            ("GenuineIntel", 6, 0xff, None),
            ("CentaurHauls", 7, 0x3b, None),
        ];
        for (vendor, family, model, cycles) in rows {
            assert_eq!(cycles_per_multiply(vendor, family, model), cycles, "{vendor} {family:#x} {model:#x}");
        }
    }

    #[test]
    fn no_model_stands_in_two_rows() {
        let mut intel: Vec<u32> = LATENCIES.iter().flat_map(|row| row.models.iter().copied()).collect();
        let count = intel.len();
        intel.sort_unstable();
        intel.dedup();
        assert_eq!(intel.len(), count);
    }
}
