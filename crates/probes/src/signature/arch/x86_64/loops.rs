//! Signatures of the core: each a loop in core cycles between two windows of its control.

use std::hint::black_box;

use kernels::signature::gather::scalar_loads;
use kernels::signature::hardware_random::NUMBERS_PER_ROUND;
use kernels::signature::transaction::TRANSACTIONS_PER_ROUND;
use kernels::signature::{
    AliasedLoads, BLOCKS_PER_ROUND, CALLS_PER_ROUND, CHECKS_PER_ROUND, Crossing, CrossingLoads,
    DIVISIONS_PER_ROUND, EdgeInstruction, EdgeOffset, GATHERS_PER_ROUND, GatherLoop, GatherTable,
    HardwareRandom, LoadOffset, SegmentCheck, SegmentSelector, Transactions, Transfer, alias, call_rounds,
    crossing, divide_chain, edge_loop,
};
use kernels::{FloatOperands, ROTATES_PER_ROUND, rotate_chain};
use stats::Interval;

use super::cycles_per_multiply;
use super::turns::{Length, Scale, Taken, take_turns};
use crate::sampler::Sampler;
use crate::signature::judgement::{Held, Level, Turns};
use crate::signature::{Readings, SignatureProbe, SignatureSetup};
use crate::timed_loop::{self, TimedLoop};

/// Long against two readings of the counter and of the thread's usage, about 1 us together, and short against the
/// interval at which a busy machine takes the CPU away.
const WINDOW: Length = Length::Nanoseconds(20_000.0);
/// Low enough that half of the turns may be disturbed, high enough to rest on twenty of them.
const QUANTILE: f64 = 0.1;

/// How far a control may differ between the window before and the one after: the share by which the control loops beside
/// a window may move ([`Visit::control_moved`](crate::sampler::Visit::control_moved)), and one per cent for the window
/// itself.
const BEFORE_AND_AFTER: f64 = 0.05;
/// How far the chain of rotations may be from one cycle per step: as far as the chain of multiplications is believed
/// beside it (`crate::control`).
const ROTATION: f64 = 0.06;
/// How far blocks without a jump may differ by where their `nop` stands: Intel's and AMD's decoders cut code at 16 or 32
/// bytes, and on all CPUs seen so far this came to less than 2 %.
const NOP_PLACE: f64 = 0.05;

/// Loops in turns, what they tell, and what must not move.
struct Plan<'w> {
    works: Vec<TimedLoop<'w>>,
    /// For each quantity of the probe, its function of low quantiles.
    values: Vec<fn(&[f64]) -> f64>,
    held: Held,
}

/// Runs a probe of the core on the CPU that the calling thread is pinned to.
///
/// # Errors
/// Why nothing could be measured.
pub(super) fn measure(
    probe: SignatureProbe,
    setup: &SignatureSetup<'_>,
    mut sampler: Sampler,
) -> Result<Readings, String> {
    // A ratio needs no cycles: steps of the multiply chain serve as well.
    let is_ratio = probe.quantities().iter().all(|quantity| quantity.unit == "ratio");
    let per_multiply = if is_ratio { 1.0 } else { cycles_per_multiply(&sampler)? };
    let mut plan = plan(probe)?;
    let scale = Scale::Cycles { per_multiply };
    let Taken { values, slowdown } = take_turns(setup, &mut sampler, scale, WINDOW, &mut plan.works)?;
    let turns = Turns { values, slowdown, quantile: QUANTILE, seed: setup.seed };
    Ok(turns.readings(probe, &plan.values, &plan.held))
}

fn plan<'w>(probe: SignatureProbe) -> Result<Plan<'w>, String> {
    match probe {
        SignatureProbe::Gather => gather(),
        SignatureProbe::Jcc => Ok(jump_edge()),
        SignatureProbe::StoreBypass => Ok(store_bypass()),
        SignatureProbe::Verw => Ok(segment_check()),
        SignatureProbe::Syscall => Ok(system_call()),
        SignatureProbe::IndirectBranch => Ok(indirect_branch()),
        SignatureProbe::Rdrand => rdrand(),
        SignatureProbe::Divide => Ok(beside_rotations(TimedLoop::new(DIVISIONS_PER_ROUND, |rounds| {
            _ = black_box(divide_chain(rounds));
        }))),
        SignatureProbe::DenormalDivide => Ok(denormal_divide()),
        SignatureProbe::Xbegin => transactions(),
        SignatureProbe::CrossPage => Ok(cross_page()),
        SignatureProbe::Alias4k => Ok(alias_4k()),
        SignatureProbe::PageWalk
        | SignatureProbe::ContextSwitch
        | SignatureProbe::ZeroStore
        | SignatureProbe::SplitLock
        | SignatureProbe::Transfer => Err(format!("{} is no loop of the core", probe.name())),
    }
}

/// The last window over the first: of a control that stands at both ends of a turn.
fn last_over_first(lows: &[f64]) -> f64 {
    lows.last().zip(lows.first()).map_or(f64::NAN, |(last, first)| last / first)
}

/// A control at both ends of a turn.
fn at_both_ends(text: &'static str, plausible: Option<Interval>) -> Held {
    let level = plausible.map(|plausible| Level { work: 0, plausible });
    Held { text, ratio: last_over_first, bound: BEFORE_AND_AFTER, level }
}

fn gather<'w>() -> Result<Plan<'w>, String> {
    let gather =
        GatherLoop::new().ok_or("this CPU has no AVX2, or the kernel does not save its registers")?;
    let loads = || {
        let table = GatherTable::new();
        TimedLoop::new(GATHERS_PER_ROUND, move |rounds| {
            _ = black_box(scalar_loads(black_box(&table), rounds));
        })
    };
    let (one, other) = (GatherTable::new(), GatherTable::new());
    let throughput = move |rounds| _ = black_box(gather.throughput(black_box(&one), rounds));
    let latency = move |rounds| _ = black_box(gather.latency(black_box(&other), rounds));
    // Every CPU with AVX2 makes one to four loads per cycle, so that eight take two to eight (Intel optimisation reference
    // manual and AMD's guides of the families); and a tenth on both sides.
    let plausible = Interval { low: 1.8, high: 8.8 };
    Ok(Plan {
        works: vec![
            loads(),
            TimedLoop::new(GATHERS_PER_ROUND, throughput),
            TimedLoop::new(GATHERS_PER_ROUND, latency),
            loads(),
        ],
        values: vec![|lows| lows[1], |lows| lows[2]],
        held: at_both_ends("eight scalar loads of the same addresses", Some(plausible)),
    })
}

/// Jumps at the edge, `nop` at the edge, then both at all offsets inside.
fn jump_edge<'w>() -> Plan<'w> {
    let work = |instruction, offset| {
        TimedLoop::new(BLOCKS_PER_ROUND, move |rounds| _ = black_box(edge_loop(instruction, offset, rounds)))
    };
    let offsets = [EdgeOffset::At30].into_iter().chain(EdgeOffset::INSIDE);
    let both = |offset| [work(EdgeInstruction::Jump, offset), work(EdgeInstruction::Nop, offset)];
    Plan {
        works: offsets.flat_map(both).collect(),
        values: vec![|lows| edge_over_inside(lows, 0)],
        held: Held {
            text: "a NOP of two bytes in place of the jump",
            ratio: |lows| edge_over_inside(lows, 1),
            bound: NOP_PLACE,
            level: None,
        },
    }
}

/// The block whose instruction ends on the boundary over the mean of those that have it inside; jumps stand at even
/// places, `nop` at odd ones.
fn edge_over_inside(lows: &[f64], first: usize) -> f64 {
    let blocks: Vec<f64> = lows.iter().copied().skip(first).step_by(2).collect();
    blocks
        .split_first()
        .map_or(f64::NAN, |(edge, inside)| edge * inside.len() as f64 / inside.iter().sum::<f64>())
}

fn store_bypass<'w>() -> Plan<'w> {
    Plan {
        works: vec![timed_loop::forwarding(), timed_loop::store_bypass(), timed_loop::forwarding()],
        values: vec![|lows| lows[1]],
        held: at_both_ends("a load behind a store whose address is known", None),
    }
}

fn segment_check<'w>() -> Plan<'w> {
    let selector = SegmentSelector::of_the_stack();
    let work = move |check| {
        TimedLoop::new(CHECKS_PER_ROUND, move |rounds| {
            _ = black_box(black_box(&selector).check(check, rounds));
        })
    };
    Plan {
        works: vec![work(SegmentCheck::Read), work(SegmentCheck::Write), work(SegmentCheck::Read)],
        values: vec![|lows| lows[1]],
        held: at_both_ends("VERR of the same segment", None),
    }
}

fn transfers<'w>(transfer: Transfer) -> TimedLoop<'w> {
    TimedLoop::new(CALLS_PER_ROUND, move |rounds| _ = black_box(call_rounds(transfer, rounds)))
}

fn system_call<'w>() -> Plan<'w> {
    // Jumps, as calls and returns are predicted from what system calls have left behind: on a Zen 5 guest they took up to
    // 1.7 times as long after them.
    Plan {
        works: vec![transfers(Transfer::Jump), timed_loop::system_call(), transfers(Transfer::Jump)],
        values: vec![|lows| lows[1]],
        held: at_both_ends("jumps there and back that stay in user space", None),
    }
}

fn indirect_branch<'w>() -> Plan<'w> {
    let order =
        [Transfer::Jump, Transfer::IndirectCall, Transfer::DirectCall, Transfer::Retpoline, Transfer::Jump];
    Plan {
        works: order.into_iter().map(transfers).collect(),
        values: vec![|lows| lows[1], |lows| lows[2], |lows| lows[3]],
        held: at_both_ends("jumps to the same place and back", None),
    }
}

/// A slow instruction that no memory and no branch stands beside: between rotations, of which each takes a cycle.
fn beside_rotations(work: TimedLoop<'_>) -> Plan<'_> {
    let rotations = || TimedLoop::new(ROTATES_PER_ROUND, |rounds| _ = black_box(rotate_chain(rounds)));
    Plan {
        works: vec![rotations(), work, rotations()],
        values: vec![|lows| lows[1]],
        held: Held {
            text: "a chain of rotations, in cycles of the chain of multiplications",
            ratio: |lows| lows[2] / kernels::rotate::CYCLES_PER_ROTATE,
            bound: ROTATION,
            level: None,
        },
    }
}

fn denormal_divide<'w>() -> Plan<'w> {
    let operands = [FloatOperands::Normal, FloatOperands::Denormal, FloatOperands::Normal];
    Plan {
        works: operands.into_iter().map(timed_loop::float_divisions).collect(),
        values: vec![|lows| lows[1]],
        held: at_both_ends("the same chain of divisions with normal numbers", None),
    }
}

fn rdrand<'w>() -> Result<Plan<'w>, String> {
    let random = HardwareRandom::new().ok_or("this CPU has no RDRAND")?;
    Ok(beside_rotations(TimedLoop::new(NUMBERS_PER_ROUND, move |rounds| _ = black_box(random.draw(rounds)))))
}

fn transactions<'w>() -> Result<Plan<'w>, String> {
    let transactions = Transactions::new().ok_or("this CPU has no transactions (RTM), or hides them")?;
    let run = move |rounds| _ = black_box(transactions.run(rounds));
    Ok(beside_rotations(TimedLoop::new(TRANSACTIONS_PER_ROUND, run)))
}

fn cross_page<'w>() -> Plan<'w> {
    let work = |crossing| {
        let loads = Box::new(CrossingLoads::new());
        TimedLoop::new(crossing::LOADS_PER_ROUND, move |rounds| _ = black_box(loads.load(crossing, rounds)))
    };
    Plan {
        works: vec![work(Crossing::Line), work(Crossing::Page), work(Crossing::Line)],
        values: vec![|lows| lows[1]],
        held: at_both_ends("the same load across two lines of one page", None),
    }
}

fn alias_4k<'w>() -> Plan<'w> {
    let work = |offset| {
        let mut loads = Box::new(AliasedLoads::new());
        TimedLoop::new(alias::STEPS_PER_ROUND, move |rounds| _ = black_box(loads.run(offset, rounds)))
    };
    Plan {
        works: vec![work(LoadOffset::PageAndLines), work(LoadOffset::Page), work(LoadOffset::PageAndLines)],
        values: vec![|lows| lows[1]],
        held: at_both_ends("the same load two lines further on", None),
    }
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
    fn every_loop_of_the_core_runs_and_has_a_value_for_each_quantity() {
        for probe in SignatureProbe::ALL {
            let Ok(mut plan) = plan(probe) else {
                println!("skipped: {} on this CPU", probe.name());
                continue;
            };
            assert_eq!(plan.values.len(), probe.quantities().len(), "{}", probe.name());
            for work in &mut plan.works {
                (work.run)(2);
            }
            let lows = vec![1.0; plan.works.len()];
            assert!(plan.values.iter().all(|value| (value(&lows) - 1.0).abs() < 1e-9), "{}", probe.name());
            assert!(((plan.held.ratio)(&lows) - 1.0).abs() < 1e-9, "{}", probe.name());
        }
    }
}
