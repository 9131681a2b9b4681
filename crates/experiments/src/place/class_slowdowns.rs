//! What a class of work loses beside another on CPUs that share a unit, as it was measured.

use machine::CpuId;
use placement::CLASSES;
use record::{Cores, UnlikeSlowdown};
use stats::median;

/// Names of the classes in records, in the order of the objective.
const NAMES: [&str; CLASSES] = ["integer", "simd", "front_end", "memory"];

/// Time together over time alone by class and class beside it: the median of the pairs of CPUs that are `together`. Unlike loops that were
/// not run beside each other are taken to lose the smaller of the two. `None` where no such pair was measured.
pub(super) fn class_slowdowns(
    cores: &Cores,
    together: impl Fn(CpuId, CpuId) -> bool,
) -> Option<[[f64; CLASSES]; CLASSES]> {
    let typical = |pairs: &mut dyn Iterator<Item = (CpuId, CpuId, f64)>| {
        let usable =
            pairs.filter(|(a, b, slowdown)| slowdown.is_finite() && *slowdown > 0.0 && together(*a, *b));
        median(&usable.map(|(.., slowdown)| slowdown).collect::<Vec<_>>())
    };
    let like = NAMES.map(|name| {
        let pairs = cores.sharing.iter().filter(|pair| pair.resource == name);
        typical(&mut pairs.map(|pair| (pair.a, pair.b, pair.slowdown)))
    });
    if like.iter().all(Option::is_none) {
        return None;
    }
    let unlike = |own: usize, beside: usize| {
        let is_it = |pair: &&UnlikeSlowdown| pair.class == NAMES[own] && pair.beside == NAMES[beside];
        typical(&mut cores.unlike.iter().filter(is_it).map(|pair| (pair.a, pair.b, pair.slowdown)))
    };
    let alone = |class: usize| like[class].unwrap_or(1.0);
    let of = |own: usize, beside: usize| {
        if own == beside { alone(own) } else { unlike(own, beside).unwrap_or(alone(own).min(alone(beside))) }
    };
    Some(std::array::from_fn(|own| std::array::from_fn(|beside| of(own, beside))))
}
