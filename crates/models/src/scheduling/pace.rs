//! How fast each thread of a load goes, apart from the others.

use super::compiled::Compiled;
use super::description::Policy;
use super::engine::Engine;
use super::load::Load;

/// What is not counted at the beginning of a run.
const WARM_UP_NS: f64 = 1e7;
/// A run is counted in steps of this length, of more than one slice each.
const STEP_NS: f64 = 5e6;
/// So many are enough: three threads on a CPU have had many slices each then.
const STEPS_MAX: u32 = 80;
/// And so many events: turns of a microsecond come to a twentieth of a second then.
const EVENTS_MAX: u64 = 50_000;

/// Cycles of its own work per nanosecond of each thread; `plan` is a CPU per thread for a policy that has one.
pub fn thread_speeds(machine: &Compiled, load: &Load, policy: Policy, plan: &[usize], seed: u64) -> Vec<f64> {
    let mut engine = Engine::new(machine, load, policy, plan, seed);
    let warm = engine.run_until(WARM_UP_NS);
    let before = engine.work_cycles();
    let mut steps = 0;
    loop {
        steps += 1;
        let counted_ns = f64::from(steps) * STEP_NS;
        let events = engine.run_until(WARM_UP_NS + counted_ns).since(&warm).events;
        if steps >= STEPS_MAX || events >= EVENTS_MAX {
            let after = engine.work_cycles();
            return before.iter().zip(after).map(|(before, after)| (after - before) / counted_ns).collect();
        }
    }
}
