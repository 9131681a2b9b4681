//! Compute kernels that must not move when memory does: the Mandelbrot set in 16-bit integers and in floats.
//!
//! ```text
//! for each group of lanes:  z = 0; repeat:  inside &= |z|^2 <= 4;  steps += inside;  z = z^2 + c
//!                           until no lane is inside or iterations_max is reached
//! ```
//! No load and no store inside the loop. "Integer x16" is 16 lanes of 16-bit fixed point in one AVX2 register, "float
//! x8" 8 lanes of 32 bits; SSE2 has half as many. A lane leaves for good, so that what happens to its number
//! afterwards does not count, and every instruction set counts the same steps. Products and sums of floats are rounded
//! separately (no fused multiply-add) for the same reason.
//!
//! Fixed point: coordinates have 12 bits behind the point (-8 to 8), products of two of them 8 (the high half of the
//! 32-bit product).

use crate::arch;
use crate::operation::Isa;
use crate::picture::{
    BOUND_FIXED16, BOUND_FLOAT32, IMAGINARY_START, PRODUCT_SHIFT, REAL_START, fixed16_at, float32_at,
};
pub use crate::picture::{Numbers, Picture};

/// A row has a multiple of this many points, the most lanes that a loop has.
pub const ROW_GRANULE: u16 = 16;

/// A Mandelbrot loop that this CPU can run.
#[derive(Debug, Clone, Copy)]
pub struct Mandelbrot {
    numbers: Numbers,
    isa: Isa,
    picture_of: unsafe fn(Picture) -> u64,
}

impl Mandelbrot {
    /// The loop of an instruction set, if it exists and this CPU has it. The scalar loops, `ScalarU64` for fixed point
    /// and `ScalarF64` for floats, are the naive twins of the others.
    pub fn new(numbers: Numbers, isa: Isa) -> Option<Self> {
        let picture_of: unsafe fn(Picture) -> u64 = match (numbers, isa) {
            (Numbers::Fixed16, Isa::ScalarU64) => scalar_fixed16,
            (Numbers::Float32, Isa::ScalarF64) => scalar_float32,
            _ => arch::picture_of(numbers, isa)?,
        };
        isa.is_present().then_some(Self { numbers, isa, picture_of })
    }

    /// The widest loop of this CPU.
    pub fn widest(numbers: Numbers) -> Self {
        let widest = Isa::ALL.into_iter().rev().find_map(|isa| Self::new(numbers, isa));
        widest.expect("both kinds of numbers have a scalar loop")
    }

    /// Its instruction set.
    pub const fn isa(&self) -> Isa {
        self.isa
    }

    /// Its kind of numbers.
    pub const fn numbers(&self) -> Numbers {
        self.numbers
    }

    /// Computes the picture, stores nothing, and returns the steps that found their point still inside, over all points: the same for every
    /// instruction set.
    pub fn run(&self, picture: Picture) -> u64 {
        let picture = Picture { width: picture.width / ROW_GRANULE * ROW_GRANULE, ..picture };
        // SAFETY: `new` has found the instructions.
        unsafe { (self.picture_of)(picture) }
    }
}

fn scalar_fixed16(picture: Picture) -> u64 {
    let product = |a: i16, b: i16| ((i32::from(a) * i32::from(b)) >> 16) as i16;
    let mut iterations = 0;
    for y in 0..picture.height {
        let ci = fixed16_at(IMAGINARY_START, y, picture.height);
        for x in 0..picture.width {
            let cr = fixed16_at(REAL_START, x, picture.width);
            let (mut zr, mut zi) = (0i16, 0i16);
            for _ in 0..picture.iterations_max {
                let (rr, ii, ri) = (product(zr, zr), product(zi, zi), product(zr, zi));
                if rr.wrapping_add(ii) > BOUND_FIXED16 {
                    break;
                }
                iterations += 1;
                zr = (rr.wrapping_sub(ii) << PRODUCT_SHIFT).wrapping_add(cr);
                zi = (ri << (PRODUCT_SHIFT + 1)).wrapping_add(ci);
            }
        }
    }
    iterations
}

fn scalar_float32(picture: Picture) -> u64 {
    let mut iterations = 0;
    for y in 0..picture.height {
        let ci = float32_at(IMAGINARY_START, y, picture.height);
        for x in 0..picture.width {
            let cr = float32_at(REAL_START, x, picture.width);
            let (mut zr, mut zi) = (0f32, 0f32);
            for _ in 0..picture.iterations_max {
                let (rr, ii, ri) = (zr * zr, zi * zi, zr * zi);
                if rr + ii > BOUND_FLOAT32 {
                    break;
                }
                iterations += 1;
                zr = (rr - ii) + cr;
                zi = (ri + ri) + ci;
            }
        }
    }
    iterations
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(numbers: Numbers, picture: Picture) {
        let scalar_isa = if numbers == Numbers::Fixed16 { Isa::ScalarU64 } else { Isa::ScalarF64 };
        let expected = Mandelbrot::new(numbers, scalar_isa).expect("scalar loops exist").run(picture);
        for isa in [Isa::Sse2, Isa::Avx2] {
            let Some(mandelbrot) = Mandelbrot::new(numbers, isa) else {
                println!("skipped: no {isa} on this CPU");
                continue;
            };
            assert_eq!(mandelbrot.run(picture), expected, "{} {isa} {picture:?}", numbers.name());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn every_instruction_set_counts_the_same_steps(
            width in 0u16..80, height in 0u16..40, iterations_max in 0u16..120,
        ) {
            for numbers in Numbers::ALL {
                check(numbers, Picture { width, height, iterations_max });
            }
        }
    }

    #[test]
    fn the_picture_has_the_area_of_the_mandelbrot_set() {
        // K. Mitchell (2001), area of the set: 1.5066; of 9, a share of 0.167. A coarse grid with few steps sees more.
        let picture = Picture { width: 128, height: 128, iterations_max: 200 };
        for numbers in Numbers::ALL {
            let share = Mandelbrot::widest(numbers).run(picture) as f64 / (128.0 * 128.0 * 200.0);
            assert!((0.15..0.25).contains(&share), "{}: {share}", numbers.name());
        }
    }

    #[test]
    fn every_cpu_has_a_loop_for_both_kinds_of_numbers() {
        for numbers in Numbers::ALL {
            assert_eq!(Mandelbrot::widest(numbers).numbers(), numbers);
        }
    }
}
