//! The SIMD loops of the Mandelbrot kernels, in assembly: from intrinsics the compiler makes other multiplications.
//!
//! Registers: 0 and 1 hold z, 2 and 3 hold c, 4 is all ones in the lanes still inside, 5 counts their steps, 6 holds
//! the bound; 7 to 10 are products and sums. All lanes are stepped; lanes that have left are no longer counted.

use crate::operation::Isa;
use crate::picture::{
    BOUND_FIXED16, BOUND_FLOAT32, IMAGINARY_START, Numbers, PRODUCT_SHIFT, Picture, REAL_START, fixed16_at,
    float32_at,
};

/// The loop of an instruction set that is not scalar, if there is one.
pub(crate) fn picture_of(numbers: Numbers, isa: Isa) -> Option<unsafe fn(Picture) -> u64> {
    Some(match (numbers, isa) {
        (Numbers::Fixed16, Isa::Sse2) => fixed16_sse2,
        (Numbers::Float32, Isa::Sse2) => float32_sse2,
        (Numbers::Fixed16, Isa::Avx2) => fixed16_avx2,
        (Numbers::Float32, Isa::Avx2) => float32_avx2,
        _ => return None,
    })
}

/// What one group of lanes starts with.
#[repr(C)]
struct Group<T, const LANES: usize> {
    real: [T; LANES],
    imaginary: [T; LANES],
    bound: [T; LANES],
}

/// Clears z and the steps, fills the lanes inside, loads c and the bound, `$bytes` bytes per register, two-operand form.
macro_rules! fill_legacy {
    () => {
        "pxor xmm0, xmm0\npxor xmm1, xmm1\npcmpeqd xmm4, xmm4\npxor xmm5, xmm5\n\
         movups xmm2, [{group}]\nmovups xmm3, [{group}+16]\nmovups xmm6, [{group}+32]"
    };
}

/// The same in three-operand form.
macro_rules! fill_vex {
    () => {
        "vpxor xmm0, xmm0, xmm0\nvpxor xmm1, xmm1, xmm1\nvpcmpeqd ymm4, ymm4, ymm4\nvpxor xmm5, xmm5, xmm5\n\
         vmovups ymm2, [{group}]\nvmovups ymm3, [{group}+32]\nvmovups ymm6, [{group}+64]"
    };
}

/// Defines the loop over a picture: `$test` leaves a zero flag if no lane is inside any more, `$step` counts and steps.
macro_rules! picture_loop {
    ($name:ident, $feature:literal, $lanes:literal, $number:ty, $steps:ty, $at:ident, $bound:expr;
     $fill:expr; $test:expr; $step:expr; $finish:expr) => {
        #[target_feature(enable = $feature)]
        fn $name(picture: Picture) -> u64 {
            let mut iterations = 0u64;
            if picture.iterations_max == 0 {
                return iterations;
            }
            for y in 0..picture.height {
                let imaginary = [$at(IMAGINARY_START, y, picture.height); $lanes];
                for first in (0..picture.width).step_by($lanes) {
                    let real = core::array::from_fn(|lane| $at(REAL_START, first + lane as u16, picture.width));
                    let group = Group::<$number, $lanes> { real, imaginary, bound: [$bound; $lanes] };
                    let mut steps = [0 as $steps; $lanes];
                    // SAFETY: reads `group` and writes `steps`, both one register per field and alive; all registers
                    // written are named; the function has the feature.
                    unsafe {
                        core::arch::asm!(
                            $fill,
                            ".p2align 6",
                            "2:",
                            $test,
                            "jz 3f",
                            $step,
                            "dec {left:e}",
                            "jnz 2b",
                            "3:",
                            $finish,
                            group = in(reg) &raw const group,
                            steps = in(reg) &raw mut steps,
                            left = inout(reg) u32::from(picture.iterations_max) => _,
                            shift = const PRODUCT_SHIFT,
                            shift_twice = const PRODUCT_SHIFT + 1,
                            out("eax") _,
                            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
                            out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _,
                            // vzeroupper clears the upper halves of these as well.
                            out("xmm11") _, out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                            options(nostack)
                        );
                    }
                    iterations += steps.into_iter().map(u64::from).sum::<u64>();
                }
            }
            iterations
        }
    };
}

picture_loop!(fixed16_sse2, "sse2", 8, i16, u16, fixed16_at, BOUND_FIXED16; fill_legacy!();
    "movdqa xmm7, xmm0\npmulhw xmm7, xmm7\nmovdqa xmm8, xmm1\npmulhw xmm8, xmm8\npmulhw xmm1, xmm0\n\
     movdqa xmm0, xmm7\npsubw xmm0, xmm8\npaddw xmm7, xmm8\npcmpgtw xmm7, xmm6\npandn xmm7, xmm4\n\
     movdqa xmm4, xmm7\npmovmskb eax, xmm4\ntest eax, eax";
    "psubw xmm5, xmm4\npsllw xmm0, {shift}\npaddw xmm0, xmm2\npsllw xmm1, {shift_twice}\npaddw xmm1, xmm3";
    "movups [{steps}], xmm5");
picture_loop!(fixed16_avx2, "avx2", 16, i16, u16, fixed16_at, BOUND_FIXED16; fill_vex!();
    "vpmulhw ymm7, ymm0, ymm0\nvpmulhw ymm8, ymm1, ymm1\nvpmulhw ymm9, ymm0, ymm1\n\
     vpaddw ymm10, ymm7, ymm8\nvpcmpgtw ymm10, ymm10, ymm6\nvpandn ymm4, ymm10, ymm4\n\
     vpmovmskb eax, ymm4\ntest eax, eax";
    "vpsubw ymm5, ymm5, ymm4\nvpsubw ymm0, ymm7, ymm8\nvpsllw ymm0, ymm0, {shift}\nvpaddw ymm0, ymm0, ymm2\n\
     vpsllw ymm1, ymm9, {shift_twice}\nvpaddw ymm1, ymm1, ymm3";
    "vmovups [{steps}], ymm5\nvzeroupper");
picture_loop!(float32_sse2, "sse2", 4, f32, u32, float32_at, BOUND_FLOAT32; fill_legacy!();
    "movaps xmm7, xmm0\nmulps xmm7, xmm7\nmovaps xmm8, xmm1\nmulps xmm8, xmm8\nmulps xmm1, xmm0\n\
     movaps xmm0, xmm7\nsubps xmm0, xmm8\naddps xmm7, xmm8\ncmpleps xmm7, xmm6\nandps xmm4, xmm7\n\
     movmskps eax, xmm4\ntest eax, eax";
    "psubd xmm5, xmm4\naddps xmm0, xmm2\naddps xmm1, xmm1\naddps xmm1, xmm3";
    "movups [{steps}], xmm5 # {shift} {shift_twice}");
picture_loop!(float32_avx2, "avx2", 8, f32, u32, float32_at, BOUND_FLOAT32; fill_vex!();
    "vmulps ymm7, ymm0, ymm0\nvmulps ymm8, ymm1, ymm1\nvmulps ymm9, ymm0, ymm1\nvaddps ymm10, ymm7, ymm8\n\
     vcmpleps ymm10, ymm10, ymm6\nvandps ymm4, ymm4, ymm10\nvmovmskps eax, ymm4\ntest eax, eax";
    "vpsubd ymm5, ymm5, ymm4\nvsubps ymm0, ymm7, ymm8\nvaddps ymm0, ymm0, ymm2\nvaddps ymm1, ymm9, ymm9\n\
     vaddps ymm1, ymm1, ymm3";
    "vmovups [{steps}], ymm5\nvzeroupper # {shift} {shift_twice}");
