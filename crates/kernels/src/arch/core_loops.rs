//! Chains in registers and through memory, written once: an architecture gives its instructions, and a frame that repeats them
//! (`rounds!`).

/// Defines the loops, each of at least one round. Operands of the instructions: what the functions below name.
macro_rules! core_loops {
    (
        multiply: [$($multiply:literal),+],
        rotate: [$($rotate:literal),+],
        ports: [$($ports:literal),+],
        forward: [$($forward:literal),+],
        divide in $vector:ident: [$($divide:literal),+],
        bypass: [$($bypass:literal),+],
        walk: [$($walk:literal),+],
        walk_offsets: [$($walk_offsets:literal),+],
    ) => {
        use crate::loop_interface::{
            BYPASS_FACTOR, MULTIPLY_FACTOR, ROTATE_START, ROTATION_BITS, SLOT_SHIFT, mask_of,
        };

        /// The product of [`multiply`](crate::multiply).
        pub(crate) fn multiply_rounds(rounds: u64) -> u32 {
            let mut product = MULTIPLY_FACTOR;
            // SAFETY: registers only, all named.
            unsafe {
                asm!(
                    rounds!(64, $($multiply),+),
                    product = inout(reg) product,
                    factor = in(reg) MULTIPLY_FACTOR,
                    rounds = inout(reg) rounds => _,
                    options(nomem, nostack)
                );
            }
            product
        }

        /// The word of [`rotate`](crate::rotate).
        pub(crate) fn rotate_rounds(rounds: u64) -> u64 {
            let mut value = ROTATE_START;
            // SAFETY: registers only, all named.
            unsafe {
                asm!(
                    rounds!(64, $($rotate),+),
                    value = inout(reg) value,
                    rounds = inout(reg) rounds => _,
                    bits = const ROTATION_BITS,
                    options(nomem, nostack)
                );
            }
            value
        }

        /// The sums of [`ports`](crate::ports).
        pub(crate) fn add_rounds(rounds: u64) -> [u64; 8] {
            let mut sums = [0u64; 8];
            let [s0, s1, s2, s3, s4, s5, s6, s7] = &mut sums;
            // SAFETY: registers only, all named.
            unsafe {
                asm!(
                    rounds!(8, $($ports),+),
                    s0 = inout(reg) *s0, s1 = inout(reg) *s1, s2 = inout(reg) *s2, s3 = inout(reg) *s3,
                    s4 = inout(reg) *s4, s5 = inout(reg) *s5, s6 = inout(reg) *s6, s7 = inout(reg) *s7,
                    one = in(reg) 1u64,
                    rounds = inout(reg) rounds => _,
                    options(nomem, nostack)
                );
            }
            sums
        }

        /// The value of [`forwarding`](crate::store_bypass).
        pub(crate) fn forward_rounds(rounds: u64) -> u64 {
            let (mut word, mut value) = (0u64, 0u64);
            // SAFETY: the only address is that of `word`, a local of 8 bytes; registers are named.
            unsafe {
                asm!(
                    rounds!(16, $($forward),+),
                    value = inout(reg) value,
                    one = in(reg) 1u64,
                    word = in(reg) &raw mut word,
                    rounds = inout(reg) rounds => _,
                    options(nostack)
                );
            }
            value
        }

        /// The last quotient of dividend and divisor of [`float_divide`](crate::float_divide).
        #[inline(always)]
        pub(crate) fn divisions([dividend, divisor]: [f64; 2], rounds: u64) -> f64 {
            let mut quotient = 0.0_f64;
            // SAFETY: registers only, all named; every CPU of the architecture has them.
            unsafe {
                asm!(
                    rounds!(16, $($divide),+),
                    quotient = inout($vector) quotient,
                    zero = in($vector) 0.0_f64,
                    dividend = in($vector) dividend,
                    divisor = in($vector) divisor,
                    rounds = inout(reg) rounds => _,
                    options(nomem, nostack)
                );
            }
            quotient
        }

        /// The node of [`store_bypass`](crate::store_bypass), given targets, nodes below their number, a node and the rounds.
        pub(crate) fn step_rounds(targets: &mut [u64; 8], nodes: &[u64; 8], mut node: u64, rounds: u64) -> u64 {
            // SAFETY: a product of 32 bits shifted by 29 is below 8, as are all nodes, so that loads and stores stay inside the
            // two arrays, which are borrowed; registers are named.
            unsafe {
                asm!(
                    rounds!(16, $($bypass),+),
                    node = inout(reg) node,
                    late = out(reg) _,
                    factor = in(reg) BYPASS_FACTOR,
                    targets = in(reg) targets.as_mut_ptr(),
                    nodes = in(reg) nodes.as_ptr(),
                    rounds = inout(reg) rounds => _,
                    shift = const SLOT_SHIFT,
                    options(nostack)
                );
            }
            node
        }

        /// # Safety
        /// `node` is a node as [`Cursor::new`](crate::cursor::Cursor) wants it; `rounds` is not zero.
        pub(crate) unsafe fn walk(mut node: *const Link, rounds: u64) -> *const Link {
            // SAFETY: the ring is closed (caller's promise), so each load reads a valid word.
            unsafe {
                asm!(
                    rounds!(64, $($walk),+),
                    node = inout(reg) node,
                    rounds = inout(reg) rounds => _,
                    options(nostack, readonly)
                );
            }
            node
        }

        /// At least one round; the block has a power of two of bytes, at least a line.
        pub(crate) fn walk_offsets(block: &[u8], mut offset: u64, rounds: u64) -> u64 {
            let mask = mask_of(block);
            offset &= mask;
            // SAFETY: a masked offset is a multiple of 8 below the length, so that each load reads a word of the borrowed block;
            // only reads, registers are named.
            unsafe {
                asm!(
                    rounds!(64, $($walk_offsets),+),
                    offset = inout(reg) offset,
                    block = in(reg) block.as_ptr(),
                    mask = in(reg) mask,
                    rounds = inout(reg) rounds => _,
                    options(nostack, readonly)
                );
            }
            offset
        }
    };
}
