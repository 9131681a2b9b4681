//! Loops whose time tells of flaws of x86-64.
//!
//! | what | module |
//! |---|---|
//! | windows of several loops in turns | `turns` |
//! | from turns to a value, its interval and its control | `judgement` |
//! | loops of the core: gathers, jumps, loads behind stores | `loops` |
//! | page walks | `page_walk` |
//! | locks across two lines, in a child | `locks` |
//!
//! Times of an emulated CPU are an emulator's, and refused. No flag is asked, as an emulator can hide every one. It cannot hide how it
//! works: QEMU's translator looks up in a table where each return goes, while silicon predicts it. Seen: 47 multiplications under TCG of
//! QEMU 7.2, 1.4 on the Zen 5 beneath.

mod judgement;
mod locks;
mod loops;
mod page_walk;
mod turns;

use std::hint::black_box;

use clock::{TickRate, begin, end};
use kernels::signature::{CALLS_PER_ROUND, direct_calls};
use record::{Reading, SignatureReading};

use crate::control::ControlLoops;
use crate::sampler::Sampler;
use crate::signature::{SignatureProbe, SignatureSetup};

/// How often the multiply and the rotate chain are compared before the former is not believed.
const RULER_TRIES: usize = 5;
/// Rounds of calls: some microseconds.
const CALL_ROUNDS: u64 = 64;
/// Looks at calls; the fastest counts, as a disturbance only adds time.
const LOOKS: u32 = 5;
/// A call and its return take less on any silicon, in dependent multiplications: both are predicted, and their load and store
/// of the stack take some ten cycles where nothing forwards them, a multiplication three and more.
const MULTIPLICATIONS_MAX: f64 = 8.0;

/// Refuses an emulated CPU by what a call takes there.
fn refuse_emulated(control: ControlLoops, rate: TickRate) -> Result<(), String> {
    let fastest = |run: &dyn Fn() -> f64| (0..LOOKS).map(|_| run()).fold(f64::INFINITY, f64::min);
    let call_ns = fastest(&|| {
        let start = begin();
        black_box(direct_calls(CALL_ROUNDS));
        rate.nanoseconds(end().wrapping_sub(start)) / (CALL_ROUNDS * CALLS_PER_ROUND) as f64
    });
    judge(call_ns, fastest(&|| control.read(rate).multiply_ns))
}

/// Runs a probe on the CPU that the calling thread is pinned to.
///
/// # Errors
/// Why nothing could be measured.
pub(in crate::signature) fn measure(
    probe: SignatureProbe,
    setup: &SignatureSetup<'_>,
) -> Result<Reading<SignatureReading>, String> {
    let control = ControlLoops::of(&setup.machine.identity);
    refuse_emulated(control, setup.rate)?;
    let sampler = Sampler::new(setup.cpu, setup.rate, control);
    let plan = match probe {
        SignatureProbe::Gather => loops::gather(cycles_per_multiply(&sampler)?)?,
        SignatureProbe::Jcc => loops::jump_edge(),
        SignatureProbe::StoreBypass => loops::store_bypass(cycles_per_multiply(&sampler)?),
        SignatureProbe::PageWalk => return page_walk::page_walk(setup, sampler),
        SignatureProbe::SplitLock => return locks::split_lock(setup),
    };
    plan.measure(probe, setup, sampler)
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

fn judge(call_ns: f64, multiply_ns: f64) -> Result<(), String> {
    let multiplications = call_ns / multiply_ns;
    if multiplications <= MULTIPLICATIONS_MAX {
        return Ok(());
    }
    Err(format!(
        "an emulated CPU: a call takes as long as {multiplications:.0} multiplications, on silicon fewer than \
         {MULTIPLICATIONS_MAX:.0}; its times say nothing about the CPU it names"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emulator_is_known_by_its_calls_and_no_cpu_is() {
        // Nanoseconds of a call and of a multiplication.
        for (call_ns, multiply_ns, is_silicon) in
            [(46.0, 0.97, false), (14.6, 0.97, false), (1.0, 0.73, true), (1.7, 1.4, true), (5.0, 0.9, true)]
        {
            let judged = judge(call_ns, multiply_ns);
            assert_eq!(judged.is_ok(), is_silicon, "{judged:?}");
        }
    }
}
