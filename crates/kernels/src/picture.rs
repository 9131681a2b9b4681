//! The picture that the loops of [`mandelbrot`](crate::mandelbrot) compute, and its coordinates.

named! {
    /// What the lanes hold.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Numbers {
        /// 16-bit fixed point, 16 lanes with AVX2 ("integer x16").
        Fixed16 = "fixed16",
        /// 32-bit floats, 8 lanes with AVX2 ("float x8").
        Float32 = "float32",
    }
}

/// A picture of the square from -2-1.5i to 1+1.5i.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Picture {
    /// Points per row, rounded down to a multiple of [`ROW_GRANULE`](crate::mandelbrot::ROW_GRANULE).
    pub width: u16,
    /// Rows.
    pub height: u16,
    /// Steps after which a point counts as inside.
    pub iterations_max: u16,
}

/// Bits behind the point of a fixed-point coordinate.
const FRACTION_BITS: i32 = 12;
/// Bits behind the point of a product: those of two coordinates less the 16 that are dropped.
const PRODUCT_FRACTION_BITS: i32 = 2 * FRACTION_BITS - 16;
/// Shift from a product to a coordinate.
pub(crate) const PRODUCT_SHIFT: i32 = FRACTION_BITS - PRODUCT_FRACTION_BITS;
/// The bound 4 of |z|^2 as a product.
pub(crate) const BOUND_FIXED16: i16 = 4 << PRODUCT_FRACTION_BITS;
/// The bound 4 of |z|^2.
pub(crate) const BOUND_FLOAT32: f32 = 4.0;

/// Coordinate of point `index` of `count` on an axis of length 3 that starts at `start`, in fixed point.
pub(crate) fn fixed16_at(start: f32, index: u16, count: u16) -> i16 {
    let unit = 1i32 << FRACTION_BITS;
    ((start * unit as f32) as i32 + 3 * unit * i32::from(index) / i32::from(count)) as i16
}

/// Coordinate of point `index` of `count` on an axis of length 3 that starts at `start`.
pub(crate) fn float32_at(start: f32, index: u16, count: u16) -> f32 {
    start + 3.0 * f32::from(index) / f32::from(count)
}

/// Where the real axis starts.
pub(crate) const REAL_START: f32 = -2.0;
/// Where the imaginary axis starts.
pub(crate) const IMAGINARY_START: f32 = -1.5;
