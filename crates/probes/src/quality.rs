//! What a number is worth: the one rule of all probes, within an epoch and over epochs.
//!
//! It is *converged* if its interval reaches no further than was aimed for, *wide* if it reaches further, and *unstable* if there is
//! no single value: the interval reaches beyond the limit of its class, or what was repeated did not confirm it.
//!
//! Several states of the windows are listed beside a value (`modes`), which is that of one of them, and are no reason to doubt
//! it: the interval is over visits and mappings, so that those in different states widen it, and states that come and go within
//! every visit are a property of what is measured.

use record::Quality;

/// How far an interval may reach to either side, as a share of what it is measured against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    /// Further is wide.
    aim: f64,
    /// Further is no single value.
    single: f64,
}

impl Limits {
    /// Of latency and bandwidth: neighbouring levels of memory and neighbouring page layouts differ by little more than a tenth, so
    /// that a wider interval spans two of them.
    pub(crate) const fn of_memory(aim: f64) -> Self {
        Self { aim, single: 0.10 }
    }

    /// Of what CPUs do to each other, of reading the time, and of epochs: hosts move threads and change frequencies meanwhile, and what is
    /// distinguished (a core shared or not, a cache shared or not) differs by a third and more.
    pub(crate) const fn of_cores(aim: f64) -> Self {
        Self { aim, single: 0.25 }
    }

    /// What a number is worth whose interval reaches so far to the wider side.
    pub(crate) fn quality(self, half_width: f64, is_confirmed: bool) -> Quality {
        // What is not a number confirms nothing.
        if !is_confirmed || half_width > self.single || half_width.is_nan() {
            Quality::Unstable
        } else if half_width > self.aim {
            Quality::Wide
        } else {
            Quality::Converged
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_and_doubt_decide_and_nothing_else() {
        for (half_width, is_confirmed, memory, cores) in [
            (0.02, true, Quality::Converged, Quality::Converged),
            (0.021, true, Quality::Wide, Quality::Wide),
            (0.2, true, Quality::Unstable, Quality::Wide),
            (0.26, true, Quality::Unstable, Quality::Unstable),
            (0.0, false, Quality::Unstable, Quality::Unstable),
            (f64::NAN, true, Quality::Unstable, Quality::Unstable),
        ] {
            assert_eq!(Limits::of_memory(0.02).quality(half_width, is_confirmed), memory, "{half_width}");
            assert_eq!(Limits::of_cores(0.02).quality(half_width, is_confirmed), cores, "{half_width}");
        }
    }
}
