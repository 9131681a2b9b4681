//! Whether the CPU is emulated: what time says there is of the emulator, and of no silicon.
//!
//! No flag is asked, as an emulator can hide every one. It cannot hide how it works: QEMU's translator looks up in a table where each
//! return goes, while silicon predicts it. Seen: 47 multiplications under TCG of QEMU 7.2, 1.4 on the Zen 5 beneath.

use std::hint::black_box;

use clock::{TickRate, begin, end};
use kernels::signature::{CALLS_PER_ROUND, direct_calls};

use crate::control::ControlLoops;

/// Rounds of calls: some microseconds.
const ROUNDS: u64 = 64;
/// Looks; the fastest counts, as a disturbance only adds time.
const LOOKS: u32 = 5;
/// A call and its return take less on any silicon, in dependent multiplications: both are predicted, and their load and store
/// of the stack take some ten cycles where nothing forwards them, a multiplication three and more.
const MULTIPLICATIONS_MAX: f64 = 8.0;

/// Refuses an emulated CPU.
///
/// # Errors
/// What a call takes there.
pub(super) fn refuse(control: ControlLoops, rate: TickRate) -> Result<(), String> {
    let fastest = |run: &dyn Fn() -> f64| (0..LOOKS).map(|_| run()).fold(f64::INFINITY, f64::min);
    let call_ns = fastest(&|| {
        let start = begin();
        black_box(direct_calls(ROUNDS));
        rate.nanoseconds(end().wrapping_sub(start)) / (ROUNDS * CALLS_PER_ROUND) as f64
    });
    judge(call_ns, fastest(&|| control.read(rate).multiply_ns))
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
