//! What a number is worth: the one rule of all probes, within an epoch and over epochs.
//!
//! It is *converged* if its interval reaches no further than was aimed for, *wide* if it reaches further, and *unstable* if there is
//! no single value: the interval reaches far beyond that and a quarter of it, or what was repeated did not confirm it.
//!
//! Several states of the windows are listed beside a value (`modes`), which is that of one of them, and are no reason to doubt
//! it: the interval is over epochs, so that those in different states widen it, and states that come and go within
//! every visit are a property of what is measured.

use record::Quality;

/// An interval that reaches further to either side, as a share of what it is measured against, is no single value: hosts move threads and
/// change frequencies meanwhile, and what is distinguished (a core or a cache shared or not) differs by a third and more. It is one as long
/// as it reaches no further than `AIMS` times what was aimed for: waking scatters by more.
const SINGLE: f64 = 0.25;
const AIMS: f64 = 2.0;

/// What a number is worth whose interval reaches `half_width` to the wider side where `aim` was aimed for.
pub(crate) fn quality(aim: f64, half_width: f64, is_confirmed: bool) -> Quality {
    // What is not a number confirms nothing.
    if !is_confirmed || half_width > SINGLE.max(AIMS * aim) || half_width.is_nan() {
        Quality::Unstable
    } else if half_width > aim {
        Quality::Wide
    } else {
        Quality::Converged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_and_doubt_decide_and_nothing_else() {
        for (half_width, is_confirmed, expected) in [
            (0.02, true, Quality::Converged),
            (0.021, true, Quality::Wide),
            (0.2, true, Quality::Wide),
            (0.26, true, Quality::Unstable),
            (0.0, false, Quality::Unstable),
            (f64::NAN, true, Quality::Unstable),
        ] {
            assert_eq!(quality(0.02, half_width, is_confirmed), expected, "{half_width}");
        }
        assert_eq!(quality(0.18, 0.3, true), Quality::Wide);
    }
}
