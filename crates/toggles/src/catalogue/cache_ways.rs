//! Ways of the L3 cache for all tasks that are in no other group.

use crate::file_toggle::{FileToggle, Form, Settings};
use crate::{About, Risk, Value};

pub(super) const TOGGLE: FileToggle = FileToggle {
    about: About {
        name: "cache-ways",
        title: "L3 ways by resctrl",
        does: "Takes half of the L3 ways away from all tasks that are in no resctrl group, or leaves them all. It shows what \
               cache size is worth to a program.",
        needs: &["root", "Intel RDT or AMD QoS", "resctrl mounted"],
        source: "Linux, Documentation/filesystems/resctrl.rst",
        ..About::SYSTEM
    },
    files: &["sys/fs/resctrl/schemata"],
    form: Form::Line("L3"),
    settings: Settings::Derived(halves),
    remedy: "mount -t resctrl resctrl /sys/fs/resctrl, on a CPU with cat_l3",
    ..FileToggle::BASE
};

/// What holds now, and the same with the upper half of each group of ways left out, in the width of the original.
fn halves(now: &str) -> Vec<Value> {
    let half = |domain: &str| {
        let (id, mask) = domain.split_once('=')?;
        let bits = u64::from_str_radix(mask, 16).ok()?;
        let kept = bits.count_ones() / 2;
        let half = (bits >> bits.trailing_zeros()) & ((1_u64 << kept) - 1);
        (kept > 0).then(|| format!("{id}={:0width$x}", half << bits.trailing_zeros(), width = mask.len()))
    };
    let Some(halved) = now.split(';').map(half).collect::<Option<Vec<String>>>() else { return Vec::new() };
    let value = |name: String, means: &str| Value { name, means: means.to_owned(), risk: Risk::Reversible };
    vec![value(halved.join(";"), "half of the ways"), value(now.to_owned(), "the ways it has now")]
}

#[cfg(test)]
mod tests {
    use super::halves;

    #[test]
    fn half_of_the_ways_keeps_the_width_and_stays_in_one_piece() {
        let names = |text| halves(text).into_iter().map(|value| value.name).collect::<Vec<_>>();
        assert_eq!(names("0=fff;1=ffe"), ["0=03f;1=03e", "0=fff;1=ffe"]);
        assert!(names("0=1").is_empty() && names("").is_empty() && names("0=xyz").is_empty());
    }
}
