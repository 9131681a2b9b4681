//! Independent gathers of eight words from eight lines of the first level of cache.
//!
//! ```text
//! repeat rounds:           8 x  sum = sum + gather(table, places)
//!                               (vpxor; vpcmpeqd: all lanes; vpgatherdd ymm: 8 loads of 4 bytes; vpaddd)
//! control, repeat rounds:  8 x  8 x  sum = sum + table[place]       (add r32, m32: 1 load of 4 bytes)
//! ```
//! Per round 64 loads and no store in each. A gather clears its mask and merges into its destination, so both are made
//! anew before each: idioms that need no earlier value. The control loads the same words in four chains. Where microcode
//! keeps gathers from forwarding what is not complete (Intel, "Gather Data Sampling", INTEL-SA-00828), gathers are slower
//! and scalar loads are not.

/// Gathers of one round; the control makes eight scalar loads for each.
pub const GATHERS_PER_ROUND: u64 = 8;

/// Words of the table: 4 KiB.
const WORDS: usize = 1024;

/// Words that are gathered: 68 bytes apart, so that each has a line and a bank of its own.
const PLACES: [u32; 8] = [0, 17, 34, 51, 68, 85, 102, 119];

/// A page in which each gathered word names the place of the next.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(C, align(4096))]
pub struct GatherTable {
    /// Only places at [`PLACES`], which lie inside.
    words: [u32; WORDS],
}

impl Default for GatherTable {
    fn default() -> Self {
        Self::new()
    }
}

impl GatherTable {
    /// A ring through all places.
    pub fn new() -> Self {
        let mut words = [0; WORDS];
        for (index, place) in PLACES.into_iter().enumerate() {
            words[place as usize] = PLACES[(index + 1) % PLACES.len()];
        }
        Self { words }
    }
}

/// Gathers that this CPU can execute.
#[derive(Debug, Clone, Copy)]
pub struct GatherLoop(());

impl GatherLoop {
    /// `Some` if this CPU has AVX2 and the operating system saves its registers.
    pub fn new() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Self(()))
    }

    /// Makes `rounds * GATHERS_PER_ROUND` gathers of the same places and returns the places plus the sums, by lane.
    pub fn throughput(self, table: &GatherTable, rounds: u64) -> [u32; 8] {
        // SAFETY: `new` has found AVX2.
        if rounds == 0 { PLACES } else { unsafe { throughput(table, rounds) } }
    }
}

/// # Safety
/// The CPU has AVX2; `rounds` is not zero.
#[target_feature(enable = "avx2")]
#[inline(never)]
unsafe fn throughput(table: &GatherTable, rounds: u64) -> [u32; 8] {
    let mut lanes = PLACES;
    // SAFETY: the caller has AVX2; places and words of the table are below its length; `lanes` holds a vector. All
    // registers that are written are named; VZEROUPPER clears the upper halves of the first sixteen.
    unsafe {
        core::arch::asm!(
            "vmovdqu ymm2, [{lanes}]",
            "vpxor ymm3, ymm3, ymm3",
            rounds!(
                8,
                "vpxor ymm0, ymm0, ymm0",
                "vpcmpeqd ymm1, ymm1, ymm1",
                "vpgatherdd ymm0, [{table} + ymm2 * 4], ymm1",
                "vpaddd ymm3, ymm3, ymm0"
            ),
            "vpaddd ymm2, ymm2, ymm3",
            "vmovdqu [{lanes}], ymm2",
            "vzeroupper",
            lanes = in(reg) lanes.as_mut_ptr(),
            table = in(reg) table.words.as_ptr(),
            rounds = inout(reg) rounds => _,
            out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _,
            out("ymm6") _, out("ymm7") _, out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
            out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
            options(nostack)
        );
    }
    lanes
}

/// Makes `rounds * 8 * GATHERS_PER_ROUND` scalar loads of the words that a gather reads, and returns their sum.
#[inline(never)]
pub fn scalar_loads(table: &GatherTable, rounds: u64) -> u32 {
    if rounds == 0 {
        return 0;
    }
    let mut sums = [0u32; 4];
    let [s0, s1, s2, s3] = &mut sums;
    // SAFETY: offsets are four times the places, inside the borrowed table; registers are named.
    unsafe {
        core::arch::asm!(
            rounds!(
                8,
                "add {s0:e}, [{table}]", "add {s1:e}, [{table} + 68]",
                "add {s2:e}, [{table} + 136]", "add {s3:e}, [{table} + 204]",
                "add {s0:e}, [{table} + 272]", "add {s1:e}, [{table} + 340]",
                "add {s2:e}, [{table} + 408]", "add {s3:e}, [{table} + 476]",
            ),
            s0 = inout(reg) *s0, s1 = inout(reg) *s1, s2 = inout(reg) *s2, s3 = inout(reg) *s3,
            table = in(reg) table.words.as_ptr(),
            rounds = inout(reg) rounds => _,
            options(nostack, readonly)
        );
    }
    sums.into_iter().fold(0, u32::wrapping_add)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The naive twin of one gather.
    fn gathered(table: &GatherTable, places: [u32; 8]) -> [u32; 8] {
        places.map(|place| table.words[place as usize])
    }

    proptest! {
        #[test]
        fn gathers_and_loads_bring_what_their_twins_do(rounds in 0u64..200) {
            let table = GatherTable::new();
            let sum = gathered(&table, PLACES).into_iter().sum::<u32>();
            prop_assert_eq!(scalar_loads(&table, rounds), sum * (rounds * GATHERS_PER_ROUND) as u32);
            let Some(gather) = GatherLoop::new() else {
                println!("skipped: no AVX2 on this CPU");
                return Ok(());
            };
            let gathers = (rounds * GATHERS_PER_ROUND) as u32;
            let sums: Vec<u32> =
                PLACES.into_iter().zip(gathered(&table, PLACES)).map(|(place, word)| place + word * gathers).collect();
            prop_assert_eq!(gather.throughput(&table, rounds).to_vec(), sums);
        }
    }

    #[test]
    fn every_place_has_a_line_of_its_own() {
        let mut lines: Vec<u32> = PLACES.into_iter().map(|place| place * 4 / 64).collect();
        lines.dedup();
        assert_eq!(lines.len(), 8);
    }
}
