//! A small seeded generator for permutations and offsets.

/// SplitMix64: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
#[derive(Debug, Clone)]
pub struct SplitMix64 {
    state: u64,
}

/// Increment of SplitMix64: the odd integer nearest to 2^64 divided by the golden ratio (same paper, section 3).
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Finaliser of SplitMix64, variant 13 of D. Stafford's table of mixers, as cited in the same paper: a bijection.
pub(crate) const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl SplitMix64 {
    /// A generator whose whole sequence is fixed by `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        mix(self.state)
    }

    /// A number in `0..bound`, 0 if `bound` is 0, by multiplication and shift (D. Lemire, "Fast random integer
    /// generation in an interval", 2019) without the rejection step: the bias is below `bound` / 2^64.
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }

    /// Puts items in random order: D. Knuth, "The Art of Computer Programming", volume 2, algorithm 3.4.2P.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_published_generator() {
        // First outputs for seed 1234567, as listed on rosettacode.org, "Pseudo-random numbers/Splitmix64".
        let mut random = SplitMix64::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(expected.map(|_| random.next_u64()), expected);
    }

    #[test]
    fn a_shuffle_loses_nothing_and_reaches_every_order() {
        let mut random = SplitMix64::new(5);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let mut items = [1, 2, 3];
            random.shuffle(&mut items);
            seen.insert(items);
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.iter().all(|items| items.iter().sum::<i32>() == 6));
        random.shuffle::<u8>(&mut []);
    }

    #[test]
    fn numbers_stay_below_their_bound() {
        let mut random = SplitMix64::new(1);
        assert!((1..1000).all(|bound| random.below(bound) < bound));
        assert_eq!(random.below(0), 0);
    }
}
