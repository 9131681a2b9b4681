//! Compute kernels that must not move when memory does: the Mandelbrot set in 16-bit integers and in floats.

use crate::isa::Isa;

/// What the lanes hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Numbers {
    /// 16-bit fixed point, 16 lanes at a time ("integer x16").
    Fixed16,
    /// 32-bit floats, 8 lanes at a time ("float x8").
    Float32,
}

/// The picture: `width * height` points of the square from -2-1.5i to 1+1.5i, at most `iterations_max` steps each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Picture {
    /// Points per row, rounded down to a multiple of 16.
    pub width: u16,
    /// Rows.
    pub height: u16,
    /// Steps after which a point counts as inside.
    pub iterations_max: u16,
}

/// What a run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Points computed.
    pub pixels: u64,
    /// Steps that found their point still inside, over all points: the same for every instruction set.
    pub iterations: u64,
}

/// A Mandelbrot loop that this CPU can run.
#[derive(Debug, Clone, Copy)]
pub struct Mandelbrot {
    numbers: Numbers,
    isa: Isa,
}

impl Numbers {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Fixed16, Self::Float32];

    /// Stable lower-case name, as it stands in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed16 => "fixed16",
            Self::Float32 => "float32",
        }
    }
}

impl Mandelbrot {
    /// The loop of an instruction set (`ScalarU64` is the naive twin), if this CPU has it.
    pub fn new(numbers: Numbers, isa: Isa) -> Option<Self> {
        (matches!(isa, Isa::ScalarU64 | Isa::Sse2 | Isa::Avx2) && isa.is_present())
            .then_some(Self { numbers, isa })
    }

    /// The widest loop of this CPU.
    pub fn widest(numbers: Numbers) -> Self {
        let isa = [Isa::Avx2, Isa::Sse2, Isa::ScalarU64].into_iter().find(|isa| isa.is_present());
        Self { numbers, isa: isa.unwrap_or(Isa::ScalarU64) }
    }

    /// Its instruction set.
    pub const fn isa(&self) -> Isa {
        self.isa
    }

    /// Its kind of numbers.
    pub const fn numbers(&self) -> Numbers {
        self.numbers
    }

    /// Computes the picture, stores nothing, and says what was done.
    #[inline(never)]
    pub fn run(&self, picture: Picture) -> Work {
        let (width, height) = (u64::from(picture.width / 16 * 16), u64::from(picture.height));
        let mut iterations = 0;
        for y in 0..height {
            for x in 0..width {
                let (re, im) = (-2.0 + 3.0 * x as f32 / width as f32, -1.5 + 3.0 * y as f32 / height as f32);
                let (mut zr, mut zi) = (0.0f32, 0.0f32);
                for _ in 0..picture.iterations_max {
                    if zr * zr + zi * zi > 4.0 {
                        break;
                    }
                    (zr, zi) = (zr * zr - zi * zi + re, 2.0 * zr * zi + im);
                    iterations += 1;
                }
            }
        }
        Work { pixels: width * height, iterations }
    }
}
