//! Read: sums `a`, 1 load and 8 bytes per element; 1 floating-point addition only as scalar `f64`.
//!
//! Vectors are summed as integers, as on x86-64: the checksum proves that everything was read. Eight accumulators, 8 to 15.

use crate::loop_interface::Variant;
use crate::operation::Isa;
use crate::operation::Store;

/// Loads four pairs and adds each register to an accumulator: `loaded register, bytes of a pair, prefix, suffix, addition`.
macro_rules! sums {
    ($loaded:literal, $pair:literal, $prefix:literal, $suffix:literal, $add:literal) => {
        concat!(
            sums!(@pair $loaded, $pair, "0", $prefix, $suffix, $add, "8", "9"),
            sums!(@pair $loaded, $pair, "1", $prefix, $suffix, $add, "10", "11"),
            sums!(@pair $loaded, $pair, "2", $prefix, $suffix, $add, "12", "13"),
            sums!(@pair $loaded, $pair, "3", $prefix, $suffix, $add, "14", "15")
        )
    };
    (@pair $loaded:literal, $pair:literal, $at:literal, $prefix:literal, $suffix:literal, $add:literal, $one:literal, $two:literal) => {
        concat!(
            "ldp ", $loaded, "4, ", $loaded, "5, [x0, #", $at, "*", $pair, "]\n",
            $add, " ", $prefix, $one, $suffix, ", ", $prefix, $one, $suffix, ", ", $prefix, "4", $suffix, "\n",
            $add, " ", $prefix, $two, $suffix, ", ", $prefix, $two, $suffix, ", ", $prefix, "5", $suffix, "\n"
        )
    };
}

sweep!(scalar_u64, 1, 64; ".irp k,8,9,10,11,12,13,14,15\nmov x\\k, #0\n.endr"; sums!("x", 16, "x", "", "add"); "";
    ".irp k,9,10,11,12,13,14,15\nadd x8, x8, x\\k\n.endr");
sweep!(scalar_f64, 1, 64; ".irp k,8,9,10,11,12,13,14,15\nmovi d\\k, #0\n.endr"; sums!("d", 16, "d", "", "fadd"); "";
    ".irp k,9,10,11,12,13,14,15\nfadd d8, d8, d\\k\n.endr\nfmov x8, d8");
sweep!(neon, 1, 128; ".irp k,8,9,10,11,12,13,14,15\nmovi d\\k, #0\n.endr"; sums!("q", 32, "v", ".2d", "add"); "";
    ".irp k,9,10,11,12,13,14,15\nadd v8.2d, v8.2d, v\\k\\().2d\n.endr\naddp d8, v8.2d\nfmov x8, d8");

pub(crate) const VARIANTS: [Variant; 3] = [
    Variant::new(Isa::ScalarU64, Store::None, scalar_u64),
    Variant::new(Isa::ScalarF64, Store::None, scalar_f64),
    Variant::new(Isa::Neon, Store::None, neon),
];
