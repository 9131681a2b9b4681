//! How long buffers stay as they are laid: between blocks they are laid anew, as often as that is cheap.
//!
//! Which pages a buffer was given, and in which order a chase goes through them, can move a row by more than a toggle
//! does. Within a block nothing is laid, so that states which share a buffer share its layout. From block to block it
//! changes, so that one lucky layout does not become the result.

/// Laying a row's buffers anew takes at most this share of the time.
const LAYING_SHARE: f64 = 0.2;

/// Of the buffers of one row.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Layout {
    /// When they were laid last, in seconds since the experiment began.
    laid_s: f64,
    /// How long that took.
    cost_s: f64,
    /// How often they were laid.
    pub(super) times: usize,
    /// How often the kernel then gave pages of another size.
    pub(super) with_other_pages: usize,
}

impl Layout {
    /// Remembers when they were laid and how long that took, also where there was no memory.
    pub(super) fn tried(&mut self, from_s: f64, to_s: f64) {
        (self.laid_s, self.cost_s) = (to_s, to_s - from_s);
    }

    /// True once laying anew takes no more than its share of the time, if it is done before the end.
    pub(super) fn is_due(&self, now_s: f64, end_s: f64) -> bool {
        let is_cheap = now_s - self.laid_s >= self.cost_s * (1.0 / LAYING_SHARE - 1.0);
        is_cheap && now_s + self.cost_s < end_s
    }

    /// What the reader has to know of the row of this name; `None` if it was laid once, as nothing was asked then.
    pub(super) fn note(&self, row: &str) -> Option<String> {
        let others = match self.with_other_pages {
            0 => String::new(),
            times => format!(" ({times} in pages of another size than before)"),
        };
        (self.times > 1).then(|| format!("buffers of {row}: laid {} times{others}", self.times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_laid_as_often_as_their_share_of_the_time_allows() {
        for (cost_s, block_s) in [(0.0, 0.04), (0.01, 0.04), (0.5, 0.04), (3.0, 0.1)] {
            let (mut layout, mut now_s, mut spent_s, mut times) = (Layout::default(), cost_s, 0.0, 0);
            layout.tried(0.0, cost_s);
            while now_s < 100.0 {
                if layout.is_due(now_s, 100.0) {
                    layout.tried(now_s, now_s + cost_s);
                    (now_s, spent_s, times) = (now_s + cost_s, spent_s + cost_s, times + 1);
                }
                now_s += block_s;
            }
            assert!(spent_s <= LAYING_SHARE * now_s, "{cost_s}: {spent_s} of {now_s} s");
            assert!(times > 5, "{cost_s}: {times} times");
            assert!(!layout.is_due(now_s, now_s + cost_s), "{cost_s}: beyond the end");
        }
    }

    #[test]
    fn what_was_laid_once_is_not_told_and_other_pages_are() {
        let note = |times, with_other_pages| {
            Layout { times, with_other_pages, ..Layout::default() }.note("x").unwrap_or_default()
        };
        assert_eq!(note(1, 0), "");
        assert_eq!(note(2, 0), "buffers of x: laid 2 times");
        assert_eq!(note(9, 1), "buffers of x: laid 9 times (1 in pages of another size than before)");
    }
}
