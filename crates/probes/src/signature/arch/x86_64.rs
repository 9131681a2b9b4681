//! Loops whose time tells of flaws of x86-64.
//!
//! | what | module |
//! |---|---|
//! | windows of several loops in turns | `turns` |
//! | loops of the core: gathers, jumps, loads behind stores | `loops` |
//! | page walks | `page_walk` |
//! | locks across two lines, in a child | `locks` |
//! | CPUs whose times are an emulator's | `emulation` |

mod emulation;
mod locks;
mod loops;
mod page_walk;
mod turns;

use record::{Reading, SignatureReading};

use crate::control::ControlLoops;
use crate::sampler::Sampler;
use crate::signature::{SignatureProbe, SignatureSetup};

/// How often the multiply and the rotate chain are compared before the former is not believed.
const RULER_TRIES: usize = 5;

/// Refuses an emulated CPU.
///
/// # Errors
/// What a call takes there.
pub(in crate::signature) fn refuse(setup: &SignatureSetup<'_>) -> Result<(), String> {
    emulation::refuse(ControlLoops::of(&setup.machine.identity), setup.rate)
}

/// Runs a probe on the CPU that the calling thread is pinned to.
///
/// # Errors
/// Why nothing could be measured.
pub(in crate::signature) fn measure(
    probe: SignatureProbe,
    setup: &SignatureSetup<'_>,
) -> Result<Reading<SignatureReading>, String> {
    let sampler = Sampler::new(setup.cpu, setup.rate, ControlLoops::of(&setup.machine.identity));
    match probe {
        SignatureProbe::Gather => loops::gather(setup, sampler),
        SignatureProbe::Jcc => loops::jump_edge(setup, sampler),
        SignatureProbe::StoreBypass => loops::store_bypass(setup, sampler),
        SignatureProbe::PageWalk => page_walk::page_walk(setup, sampler),
        SignatureProbe::SplitLock => locks::split_lock(setup),
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
