//! Naive twins of the bandwidth kernels.

use super::{FACTOR, Operands, Sweep};
use crate::operation::Operation;

pub(crate) fn sweep(operation: Operation) -> Sweep {
    match operation {
        Operation::Read => read,
        Operation::Write => write,
        Operation::Copy => copy,
        Operation::Scale => scale,
        Operation::Add => add,
        Operation::Triad => triad,
    }
}

macro_rules! twin {
    ($name:ident, |$a:ident, $b:ident, $c:ident, $i:ident, $sum:ident| $body:expr) => {
        unsafe fn $name(operands: &Operands) -> u64 {
            let ($a, $b, $c) = (operands.a.cast::<f64>(), operands.b.cast::<f64>(), operands.c.cast::<f64>());
            let mut $sum = 0u64;
            for $i in 0..operands.bytes / 8 {
                // SAFETY: the caller vouches for the arrays.
                #[allow(clippy::multiple_unsafe_ops_per_block)]
                unsafe {
                    $body
                }
            }
            let _ = ($b, $c);
            $sum
        }
    };
}

twin!(read, |a, b, c, i, sum| sum = sum.wrapping_add(a.add(i).cast::<u64>().read_volatile()));
twin!(write, |a, b, c, i, sum| a.add(i).write_volatile(FACTOR as f64));
twin!(copy, |a, b, c, i, sum| a.add(i).write(b.add(i).read()));
twin!(scale, |a, b, c, i, sum| a.add(i).write(b.add(i).read() * FACTOR as f64));
twin!(add, |a, b, c, i, sum| a.add(i).write(b.add(i).read() + c.add(i).read()));
twin!(triad, |a, b, c, i, sum| a.add(i).write(b.add(i).read() + c.add(i).read() * FACTOR as f64));
