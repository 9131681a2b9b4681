//! The kernel's clock between two counter reads, many times, and the one point they make together.
//!
//! What comes between the two reads only lengthens the bracket, so the shorter half counts. Each has the truth within
//! half its length of its middle; the mean of many has it as well, and is rid of the kernel's rounding to whole nanoseconds
//! and of the counter's own: Zen 5 counts 26 ticks at once, every 10 ns, where it was measured. The very shortest alone would
//! be those that began just before such a step: 5 ns off.

use crate::discipline::Bracket;

/// Looks in one go: some 5 us.
pub(crate) const LOOKS: usize = 100;

/// One look at the kernel's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// Middle of the two counter reads, in ticks of the reference.
    pub middle_ticks: u64,
    /// Ticks between them.
    pub width_ticks: u64,
    /// What the kernel's clock showed.
    pub ns: u64,
}

/// The point that the shorter half of some looks makes; `None` if there are none. They are put in order of time.
pub(crate) fn shorter_half_together(looks: &mut [Look]) -> Option<Bracket> {
    let middle = looks.len().checked_sub(1)? / 2;
    let (_, median, _) = looks.select_nth_unstable_by_key(middle, |look| look.width_ticks);
    let widest = median.width_ticks;
    looks.sort_unstable_by_key(|look| look.ns);
    let counts = |look: &&Look| look.width_ticks <= widest;
    let (origin, mut last) = (*looks.iter().find(counts)?, None);
    let (mut ticks, mut ns, mut count) = (0.0, 0.0, 0.0);
    for look in looks.iter().filter(counts) {
        ticks += look.middle_ticks.wrapping_sub(origin.middle_ticks).cast_signed() as f64;
        ns += look.ns.wrapping_sub(origin.ns) as f64;
        count += 1.0;
        last = Some(look);
    }
    let (mean_ticks, mean_ns): (f64, f64) = (ticks / count, ns / count);
    // The point is given at a whole nanosecond: it moves along the line by what is left. Over some microseconds the looks
    // themselves tell the rate well enough for a fraction of a nanosecond.
    let last = last?;
    let base_ns = last.ns.wrapping_sub(origin.ns) as f64;
    let base_ticks = last.middle_ticks.wrapping_sub(origin.middle_ticks) as f64;
    let ticks_per_ns = if base_ns > 0.0 { base_ticks / base_ns } else { 0.0 };
    let moved_ticks = (mean_ticks - mean_ns.fract() * ticks_per_ns).round();
    Some(Bracket {
        ticks: origin.middle_ticks.wrapping_add_signed(moved_ticks as i64),
        ns: origin.ns.wrapping_add(mean_ns as u64),
        half_width_ticks: widest as f64 / 2.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_half_does_not_count_and_the_shorter_is_averaged() {
        let look = |middle_ticks, width_ticks, ns| Look { middle_ticks, width_ticks, ns };
        let mut looks = [
            look(1_000, 90, 777),
            look(2_000, 64, 500),
            look(2_256, 66, 601),
            look(2_512, 64, 700),
            look(9_000, 900, 900),
        ];
        let expected = Bracket { ticks: 2_256 - 1, ns: 600, half_width_ticks: 33.0 };
        assert_eq!(shorter_half_together(&mut looks), Some(expected));
        assert_eq!(shorter_half_together(&mut looks[..1]).map(|bracket| bracket.ns), Some(500));
        assert_eq!(shorter_half_together(&mut []), None);
    }
}
