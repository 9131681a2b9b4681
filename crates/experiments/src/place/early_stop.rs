//! Which placements a live program is spared: those under which it gets far less done than under the kernel's. Pure.
//!
//! The rule is meant for placements that hurt at once, not for a verdict: the best of the last three windows of a placement lies below half of
//! the worst of the last three windows under the kernel. Windows are taken in turns, so that a program that had less to do for a
//! while had it under all placements alike.

use stats::median;

/// A placement under which less than this share gets done is far worse. Assumed: what nobody would bear, and noise rarely shows.
pub const SHARE_MIN: f64 = 0.5;
/// Windows of each placement that are looked at: as many as there are after the rehearsal and the first block.
pub const WINDOWS: usize = 3;

/// What got done under each placement, the kernel's first.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlyStop {
    progress: Vec<Vec<f64>>,
}

/// One that is far worse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// Its index.
    pub arm: usize,
    /// Its progress over the kernel's, medians of the windows looked at.
    pub share: f64,
}

impl EarlyStop {
    /// Nothing yet, of so many placements.
    pub fn of(arms: usize) -> Self {
        Self { progress: vec![Vec::new(); arms] }
    }

    /// One more window; NaN where nothing could be counted.
    pub fn enter(&mut self, arm: usize, progress: f64) {
        if let Some(windows) = self.progress.get_mut(arm) {
            windows.push(progress);
        }
    }

    /// Those that are far worse, as soon as all have had enough windows, and their turn.
    pub fn found(&self) -> Vec<Found> {
        let taken: usize = self.progress.iter().map(Vec::len).sum();
        let last = |windows: &'_ Vec<f64>| {
            let last = windows.last_chunk::<WINDOWS>().copied()?;
            last.iter().all(|progress| progress.is_finite()).then_some(last)
        };
        let Some((kernel, others)) = self.progress.split_first() else { return Vec::new() };
        let is_due = taken.is_multiple_of(self.progress.len())
            && self.progress.iter().all(|windows| windows.len() >= WINDOWS);
        let Some(kernel) = last(kernel).filter(|_| is_due) else { return Vec::new() };
        let worst = kernel.iter().copied().fold(f64::INFINITY, f64::min);
        let found = |(index, windows): (usize, &Vec<f64>)| {
            let windows = last(windows)?;
            let best = windows.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let share = median(&windows)? / median(&kernel)?;
            (best < SHARE_MIN * worst).then_some(Found { arm: index + 1, share })
        };
        others.iter().enumerate().filter_map(found).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(passes: &[[f64; 3]], expected: &[(usize, f64)]) {
        let mut state = EarlyStop::of(3);
        for (pass, values) in passes.iter().enumerate() {
            for (arm, progress) in values.iter().enumerate() {
                assert_eq!(state.found(), [], "pass {pass} of {passes:?} is not over");
                state.enter(arm, *progress);
            }
        }
        let found: Vec<_> = state.found().iter().map(|found| (found.arm, found.share)).collect();
        assert_eq!(found, expected, "{passes:?}");
    }

    #[test]
    fn what_gets_less_than_half_done_in_three_windows_of_each_is_far_worse() {
        check(&[[10.0, 4.0, 9.0]; 2], &[]);
        check(&[[10.0, 4.0, 9.0]; 3], &[(1, 0.4)]);
        check(&[[10.0, 4.0, 0.0]; 3], &[(1, 0.4), (2, 0.0)]);
        check(&[[10.0, 5.0, 9.0]; 3], &[]);
        // One good window of it, or one bad one of the kernel, is enough to go on.
        check(&[[10.0, 4.0, 9.0], [10.0, 6.0, 9.0], [10.0, 4.0, 9.0]], &[]);
        check(&[[10.0, 4.0, 9.0], [7.0, 4.0, 9.0], [10.0, 4.0, 9.0]], &[]);
        // What was not counted says nothing, and a program that does nothing has nothing to lose.
        check(&[[10.0, 4.0, 9.0], [10.0, f64::NAN, 9.0], [10.0, 4.0, 9.0]], &[]);
        check(&[[0.0, 0.0, 0.0]; 3], &[]);
    }

    #[test]
    fn a_placement_that_becomes_far_worse_later_is_found_by_its_last_windows() {
        let (good, bad) = ([10.0, 9.0, 9.0], [10.0, 9.0, 1.0]);
        check(&[good, good, bad, bad], &[]);
        check(&[good, good, bad, bad, bad], &[(2, 0.1)]);
    }
}
