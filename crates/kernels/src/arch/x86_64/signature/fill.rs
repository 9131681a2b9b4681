//! Fills a block with one byte: what it costs may depend on the byte.
//!
//! ```text
//! repeat until the end:  4 x  [block] = byte, 16 times        (movups [m128], xmm)
//! ```
//! Per iteration one line, four stores of 16 bytes, no load; bytes beyond the last whole line are left alone. Some CPUs
//! do not write back a line of zeros that is overwritten by zeros (T. Downs, "Hardware Store Elimination", 2020), which
//! microcode took away; zeros then cost what any other byte does.

/// Bytes of one iteration.
const LINE_BYTES: usize = 64;

/// Fills the whole lines of `block` with `byte`.
#[inline(never)]
pub fn fill(block: &mut [u8], byte: u8) {
    let lines = block.len() / LINE_BYTES;
    if lines == 0 {
        return;
    }
    let pattern = [byte; 16];
    // SAFETY: `lines` times 64 bytes from the start lie inside the borrowed block; `pattern` is a vector of ours;
    // registers are named.
    unsafe {
        core::arch::asm!(
            "movups {value}, [{pattern}]",
            ".p2align 6",
            "2:",
            "movups [{block}], {value}",
            "movups [{block} + 16], {value}",
            "movups [{block} + 32], {value}",
            "movups [{block} + 48], {value}",
            "add {block}, 64",
            "dec {lines}",
            "jnz 2b",
            value = out(xmm_reg) _,
            pattern = in(reg) pattern.as_ptr(),
            block = inout(reg) block.as_mut_ptr() => _,
            lines = inout(reg) lines => _,
            options(nostack)
        );
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whole_lines_are_filled_and_the_rest_is_left(
            before: u8, byte: u8, skip in 0usize..70, bytes in 0usize..1000,
        ) {
            let mut block = vec![before; skip + bytes];
            fill(&mut block[skip..], byte);
            let filled = bytes / LINE_BYTES * LINE_BYTES;
            prop_assert!(block[skip..skip + filled].iter().all(|found| *found == byte));
            prop_assert!(block[..skip].iter().chain(&block[skip + filled..]).all(|found| *found == before));
        }
    }
}
