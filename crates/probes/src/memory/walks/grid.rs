//! At which page counts translation is measured.

/// Octaves in which TLBs of today end, in pages: first-level ones have 32 to 128 entries, second-level ones 1024 to
/// 3072 (CPUID leaves and manuals of Intel and AMD cores from 2010 to 2024). There the grid is finer.
const FINE_OCTAVES: [std::ops::Range<usize>; 2] = [32..128, 1024..4096];
/// Steps per octave elsewhere and there.
const STEPS_COARSE: u32 = 2;
const STEPS_FINE: u32 = 8;
/// The smallest page count.
const PAGES_MIN: usize = 16;
/// Neighbours are refined when their differences are apart by this, in ns ...
const STEP_NS: f64 = 0.5;
/// ... and by this share of the larger.
const STEP_SHARE: f64 = 0.15;
/// Page counts closer than this ratio are not refined further.
const CLOSEST_RATIO: f64 = 1.035;
/// At most so many page counts are added in one pass, where the differences rise by the largest factor.
const ADDED_MAX: usize = 12;

/// Page counts from 16 to the largest, ascending.
pub fn page_counts(pages_max: usize) -> Vec<usize> {
    let mut counts = Vec::new();
    let mut octave = PAGES_MIN;
    while octave <= pages_max {
        let is_fine = FINE_OCTAVES.iter().any(|fine| fine.contains(&octave));
        let steps = if is_fine { STEPS_FINE } else { STEPS_COARSE };
        counts.extend(
            (0..steps)
                .map(|step| (octave as f64 * (f64::from(step) / f64::from(steps)).exp2()).round() as usize),
        );
        octave *= 2;
    }
    counts.retain(|&count| count <= pages_max);
    counts.dedup();
    counts
}

/// Page counts to add: the geometric middle of neighbours whose differences are apart.
pub(super) fn refined(counts: &[usize], delta_ns: &[Option<f64>]) -> Vec<usize> {
    let mut steps: Vec<(f64, usize)> = counts
        .windows(2)
        .zip(delta_ns.windows(2))
        .filter_map(|(pages, deltas)| {
            let (low, high) = (deltas[0]?, deltas[1]?);
            let step_ns = (high - low).abs();
            let is_step = step_ns > STEP_NS && step_ns > STEP_SHARE * low.abs().max(high.abs());
            let is_open = pages[1] as f64 / pages[0] as f64 > CLOSEST_RATIO;
            let middle = (pages[0] as f64 * pages[1] as f64).sqrt().round() as usize;
            let steepness = step_ns / low.abs().min(high.abs()).max(STEP_NS);
            (is_step && is_open && middle > pages[0] && middle < pages[1]).then_some((steepness, middle))
        })
        .collect();
    steps.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut added: Vec<usize> = steps.into_iter().take(ADDED_MAX).map(|(_, middle)| middle).collect();
    added.sort_unstable();
    added
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_is_finer_than_ten_percent_where_tlbs_end() {
        let counts = page_counts(8_192);
        assert_eq!((counts[0], *counts.last().expect("counts")), (16, 8_192));
        assert!(counts.is_sorted());
        for entries in [48, 64, 96, 1024, 1536, 2048, 3072] {
            let near = counts.iter().any(|&count| (count as f64 / f64::from(entries) - 1.0).abs() < 0.05);
            assert!(near, "{entries} in {counts:?}");
        }
        assert!(counts.len() < 60, "{}", counts.len());
    }

    #[test]
    fn a_step_is_refined_and_a_plateau_is_not() {
        let counts = [32, 64, 128, 256];
        let deltas = [Some(0.0), Some(0.05), Some(2.0), Some(2.1)];
        assert_eq!(refined(&counts, &deltas), [91]);
        assert!(refined(&counts, &[None, Some(0.0), None, Some(9.0)]).is_empty());
        assert!(refined(&[100, 103], &[Some(0.0), Some(9.0)]).is_empty());
    }
}
