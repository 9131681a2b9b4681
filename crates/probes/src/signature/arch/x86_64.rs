//! Loops whose time tells of flaws of x86-64.
//!
//! | what | module |
//! |---|---|
//! | windows of several loops in turns | `turns` |
//! | loops of the core: gathers, jumps, calls, slow instructions, loads at odd places | `loops` |
//! | page walks and fills | `blocks` |
//! | locks across two lines, in a child | `locks` |
//! | CPUs whose times are an emulator's | `emulation` |

mod blocks;
mod emulation;
mod locks;
mod loops;
mod turns;

use crate::control::ControlLoops;
use crate::sampler::Sampler;
use crate::signature::{Readings, SignatureProbe, SignatureSetup};

/// How often the multiply and the rotate chain are compared before the former is not believed.
const RULER_TRIES: usize = 5;

/// Refuses an emulated CPU.
///
/// # Errors
/// What a call takes there.
pub(in crate::signature) fn refuse(setup: &SignatureSetup<'_>) -> Result<(), String> {
    emulation::refuse(ControlLoops::of(&setup.machine.identity), setup.rate)
}

/// Runs a probe that has loops of its own.
///
/// # Errors
/// Why nothing could be measured.
pub(in crate::signature) fn measure(
    probe: SignatureProbe,
    setup: &SignatureSetup<'_>,
) -> Result<Readings, String> {
    let sampler = Sampler::new(setup.cpu, setup.rate, ControlLoops::of(&setup.machine.identity));
    match probe {
        SignatureProbe::PageWalk => blocks::page_walk(setup, sampler),
        SignatureProbe::ZeroStore => blocks::zero_store(setup, sampler),
        SignatureProbe::SplitLock => locks::split_lock(setup),
        of_the_core => loops::measure(of_the_core, setup, sampler),
    }
}

/// Core cycles of a step of the multiply chain, if there is a source and the rotate chain agrees.
fn cycles_per_multiply(sampler: &Sampler) -> Result<f64, String> {
    let believed = || sampler.control.believed_cycles(sampler.rate);
    (0..RULER_TRIES).find_map(|_| believed()).ok_or_else(|| {
        let reason = match sampler.control.cycles_per_multiply {
            None => "the cycles of a multiplication are not known for this CPU",
            Some(_) => "the chains of multiplications and of rotations disagree on the core's frequency",
        };
        format!("core cycles unknown: {reason}")
    })
}
