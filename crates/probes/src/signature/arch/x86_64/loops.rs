//! Signatures of the core: each a loop in core cycles between two windows of its control.

use std::hint::black_box;

use kernels::signature::gather::scalar_loads;
use kernels::signature::{
    BLOCKS_PER_ROUND, EdgeInstruction, EdgeOffset, GATHERS_PER_ROUND, GatherLoop, GatherTable, edge_loop,
};
use stats::Interval;

use super::judgement::Held;
use super::turns::Plan;
use crate::timed_loop::{self, TimedLoop};

/// Long against two readings of the counter and of the thread's usage, about 1 us together, and short against the
/// interval at which a busy machine takes the CPU away.
const WINDOW_NS: f64 = 20_000.0;
/// Low enough that half of the turns may be disturbed, high enough to rest on twenty of them.
const QUANTILE: f64 = 0.1;

/// How far a control may differ between the window before and the one after: the share by which the control loops beside
/// a window may move ([`Visit::control_moved`](crate::sampler::Visit::control_moved)), and one per cent for the window
/// itself.
const BEFORE_AND_AFTER: f64 = 0.05;
/// How far blocks without a jump may differ by where their `nop` stands: Intel's and AMD's decoders cut code at 16 or 32
/// bytes, and on all CPUs seen so far this came to less than 2 %.
const NOP_PLACE: f64 = 0.05;

/// The last window over the first: of a control that stands at both ends of a turn.
fn last_over_first(lows: &[f64]) -> f64 {
    lows.last().zip(lows.first()).map_or(f64::NAN, |(last, first)| last / first)
}

/// A control at both ends of a turn.
fn at_both_ends(text: &'static str, plausible: Option<Interval>) -> Held {
    Held { text, ratio: last_over_first, bound: BEFORE_AND_AFTER, plausible }
}

/// Gathers of eight words, independent of each other.
///
/// # Errors
/// That there are none.
pub(super) fn gather<'w>(cycles_per_multiply: f64) -> Result<Plan<'w>, String> {
    let gather =
        GatherLoop::new().ok_or("this CPU has no AVX2, or the kernel does not save its registers")?;
    let loads = || {
        let table = GatherTable::new();
        TimedLoop::new(GATHERS_PER_ROUND, move |rounds| {
            _ = black_box(scalar_loads(black_box(&table), rounds));
        })
    };
    let table = GatherTable::new();
    let gathers = move |rounds| _ = black_box(gather.throughput(black_box(&table), rounds));
    // Every CPU with AVX2 makes one to four loads per cycle, so that eight take two to eight (Intel optimisation reference
    // manual and AMD's guides of the families); and a tenth on both sides.
    let plausible = Interval { low: 1.8, high: 8.8 };
    let held = at_both_ends("eight scalar loads of the same addresses", Some(plausible));
    let works = vec![loads(), TimedLoop::new(GATHERS_PER_ROUND, gathers), loads()];
    Ok(plan(works, cycles_per_multiply, |lows| lows[1], held))
}

/// Jumps that end on a boundary of 32 bytes over jumps that do not: jumps at the edge, `nop` at the edge, then both at all offsets inside.
pub(super) fn jump_edge<'w>() -> Plan<'w> {
    let work = |instruction, offset| {
        TimedLoop::new(BLOCKS_PER_ROUND, move |rounds| _ = black_box(edge_loop(instruction, offset, rounds)))
    };
    let offsets = [EdgeOffset::At30].into_iter().chain(EdgeOffset::INSIDE);
    let both = |offset| [work(EdgeInstruction::Jump, offset), work(EdgeInstruction::Nop, offset)];
    let held = Held {
        text: "a NOP of two bytes in place of the jump",
        ratio: |lows| edge_over_inside(lows, 1),
        bound: NOP_PLACE,
        plausible: None,
    };
    // A ratio needs no cycles: steps of the multiply chain serve as well.
    plan(offsets.flat_map(both).collect(), 1.0, |lows| edge_over_inside(lows, 0), held)
}

/// The block whose instruction ends on the boundary over the mean of those that have it inside; jumps stand at even
/// places, `nop` at odd ones.
fn edge_over_inside(lows: &[f64], first: usize) -> f64 {
    let blocks: Vec<f64> = lows.iter().copied().skip(first).step_by(2).collect();
    blocks
        .split_first()
        .map_or(f64::NAN, |(edge, inside)| edge * inside.len() as f64 / inside.iter().sum::<f64>())
}

/// Loads behind a store of late address.
pub(super) fn store_bypass<'w>(cycles_per_multiply: f64) -> Plan<'w> {
    let works = vec![timed_loop::forwarding(), timed_loop::store_bypass(), timed_loop::forwarding()];
    let held = at_both_ends("a load behind a store whose address is known", None);
    plan(works, cycles_per_multiply, |lows| lows[1], held)
}

fn plan(
    works: Vec<TimedLoop<'_>>,
    cycles_per_multiply: f64,
    value: fn(&[f64]) -> f64,
    held: Held,
) -> Plan<'_> {
    let cycles_per_multiply = Some(cycles_per_multiply);
    Plan { works, cycles_per_multiply, window_ns: WINDOW_NS, quantile: QUANTILE, value, held }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edge_is_compared_with_the_mean_of_what_is_inside() {
        // Edge, then four inside; jumps at even places, `nop` at odd ones.
        let lows = [3.0, 1.0, 1.0, 1.0, 2.0, 1.0, 2.0, 1.0, 3.0, 1.0];
        assert_eq!((edge_over_inside(&lows, 0), edge_over_inside(&lows, 1)), (1.5, 1.0));
        assert!((last_over_first(&[2.0, 9.0, 3.0]) - 1.5).abs() < 1e-9);
    }

    #[test]
    fn every_loop_of_the_core_runs_and_has_a_value() {
        let mut plans = vec![jump_edge(), store_bypass(3.0)];
        match gather(3.0) {
            Ok(plan) => plans.push(plan),
            Err(reason) => println!("skipped: gathers: {reason}"),
        }
        for plan in &mut plans {
            for work in &mut plan.works {
                (work.run)(2);
            }
            let lows = vec![1.0; plan.works.len()];
            assert!(((plan.value)(&lows) - 1.0).abs() < 1e-9);
            assert!(((plan.held.ratio)(&lows) - 1.0).abs() < 1e-9);
        }
    }
}
