//! The SIMD loops of the Mandelbrot kernels, written once per kind of numbers and once filled in per register width.

use core::arch::x86_64::{
    __m128, __m128i, __m256, __m256i, _CMP_LE_OQ, _mm_add_epi16, _mm_add_ps, _mm_and_ps, _mm_andnot_si128,
    _mm_cmpgt_epi16, _mm_cmple_ps, _mm_movemask_epi8, _mm_movemask_ps, _mm_mul_ps, _mm_mulhi_epi16,
    _mm_set1_epi16, _mm_set1_ps, _mm_setzero_ps, _mm_setzero_si128, _mm_slli_epi16, _mm_sub_epi16,
    _mm_sub_ps, _mm256_add_epi16, _mm256_add_ps, _mm256_and_ps, _mm256_andnot_si256, _mm256_cmp_ps,
    _mm256_cmpgt_epi16, _mm256_movemask_epi8, _mm256_movemask_ps, _mm256_mul_ps, _mm256_mulhi_epi16,
    _mm256_set1_epi16, _mm256_set1_ps, _mm256_setzero_ps, _mm256_setzero_si256, _mm256_slli_epi16,
    _mm256_sub_epi16, _mm256_sub_ps,
};

use super::{
    BOUND_FIXED16, BOUND_FLOAT32, IMAGINARY_START, PRODUCT_SHIFT, Picture, REAL_START, fixed16_at, float32_at,
};

/// Walks a picture in groups of `$lanes` points; `$steps` gives the steps of one group.
macro_rules! over_groups {
    ($picture:ident, $lanes:literal, $at:ident, |$cr:ident, $ci:ident| $steps:expr) => {{
        let mut iterations = 0u64;
        for y in 0..$picture.height {
            let $ci = $at(IMAGINARY_START, y, $picture.height);
            for first in (0..$picture.width).step_by($lanes) {
                let $cr: [_; $lanes] =
                    core::array::from_fn(|lane| $at(REAL_START, first + lane as u16, $picture.width));
                iterations += $steps;
            }
        }
        iterations
    }};
}

/// Defines one fixed-point loop with the intrinsics of a register width.
macro_rules! fixed16 {
    ($name:ident, $feature:literal, $lanes:literal, $register:ty, $zero:ident, $set:ident, $mul_high:ident, $add:ident,
     $sub:ident, $shift_left:ident, $greater:ident, $and_not:ident, $mask_bits:ident) => {
        #[target_feature(enable = $feature)]
        pub(super) fn $name(picture: Picture) -> u64 {
            const TWICE_SHIFT: i32 = PRODUCT_SHIFT + 1;
            let bound = $set(BOUND_FIXED16);
            over_groups!(picture, $lanes, fixed16_at, |cr, ci| {
                // SAFETY: both are as many 16-bit integers in as many bytes.
                let cr: $register = unsafe { core::mem::transmute::<[i16; $lanes], $register>(cr) };
                let ci = $set(ci);
                let (mut zr, mut zi, mut steps) = ($zero(), $zero(), $zero());
                let mut inside = $set(-1);
                for _ in 0..picture.iterations_max {
                    let (rr, ii, ri) = ($mul_high(zr, zr), $mul_high(zi, zi), $mul_high(zr, zi));
                    inside = $and_not($greater($add(rr, ii), bound), inside);
                    if $mask_bits(inside) == 0 {
                        break;
                    }
                    // True is -1 in each lane.
                    steps = $sub(steps, inside);
                    zr = $add($shift_left::<PRODUCT_SHIFT>($sub(rr, ii)), cr);
                    zi = $add($shift_left::<TWICE_SHIFT>(ri), ci);
                }
                // SAFETY: both are as many 16-bit integers in as many bytes.
                let steps = unsafe { core::mem::transmute::<$register, [u16; $lanes]>(steps) };
                steps.into_iter().map(u64::from).sum::<u64>()
            })
        }
    };
}

/// Defines one floating-point loop with the intrinsics of a register width.
macro_rules! float32 {
    ($name:ident, $feature:literal, $lanes:literal, $register:ty, $zero:ident, $set:ident, $mul:ident, $add:ident,
     $sub:ident, $and:ident, |$sum:ident, $bound:ident| $is_inside:expr, $mask_bits:ident) => {
        #[target_feature(enable = $feature)]
        pub(super) fn $name(picture: Picture) -> u64 {
            let $bound = $set(BOUND_FLOAT32);
            over_groups!(picture, $lanes, float32_at, |cr, ci| {
                // SAFETY: both are as many floats in as many bytes.
                let cr: $register = unsafe { core::mem::transmute::<[f32; $lanes], $register>(cr) };
                let ci = $set(ci);
                let (mut zr, mut zi) = ($zero(), $zero());
                let mut steps = 0u64;
                let mut inside = $set(f32::from_bits(u32::MAX));
                for _ in 0..picture.iterations_max {
                    let (rr, ii, ri) = ($mul(zr, zr), $mul(zi, zi), $mul(zr, zi));
                    let $sum = $add(rr, ii);
                    inside = $and(inside, $is_inside);
                    let lanes_inside = $mask_bits(inside);
                    if lanes_inside == 0 {
                        break;
                    }
                    steps += u64::from(lanes_inside.count_ones());
                    zr = $add($sub(rr, ii), cr);
                    zi = $add($add(ri, ri), ci);
                }
                steps
            })
        }
    };
}

fixed16!(
    fixed16_sse2,
    "sse2",
    8,
    __m128i,
    _mm_setzero_si128,
    _mm_set1_epi16,
    _mm_mulhi_epi16,
    _mm_add_epi16,
    _mm_sub_epi16,
    _mm_slli_epi16,
    _mm_cmpgt_epi16,
    _mm_andnot_si128,
    _mm_movemask_epi8
);
fixed16!(
    fixed16_avx2,
    "avx2",
    16,
    __m256i,
    _mm256_setzero_si256,
    _mm256_set1_epi16,
    _mm256_mulhi_epi16,
    _mm256_add_epi16,
    _mm256_sub_epi16,
    _mm256_slli_epi16,
    _mm256_cmpgt_epi16,
    _mm256_andnot_si256,
    _mm256_movemask_epi8
);
float32!(
    float32_sse2,
    "sse2",
    4,
    __m128,
    _mm_setzero_ps,
    _mm_set1_ps,
    _mm_mul_ps,
    _mm_add_ps,
    _mm_sub_ps,
    _mm_and_ps,
    |sum, bound| _mm_cmple_ps(sum, bound),
    _mm_movemask_ps
);
float32!(
    float32_avx2,
    "avx2",
    8,
    __m256,
    _mm256_setzero_ps,
    _mm256_set1_ps,
    _mm256_mul_ps,
    _mm256_add_ps,
    _mm256_sub_ps,
    _mm256_and_ps,
    |sum, bound| _mm256_cmp_ps::<_CMP_LE_OQ>(sum, bound),
    _mm256_movemask_ps
);
