//! Programs of loads, and what a machine makes of them.

use machine::Bytes;
use stats::Random;

use super::costs::{Costs, Parameters, TimePerAccess, Waits};
use super::description::{MemoryMachine, Program, Test, Unit, Workaround};
use super::geometry::Geometry;
use super::simulator::{Counters, Simulator};

/// A trace is counted over at least this many accesses, small blocks over several laps.
const ACCESSES_MIN: u64 = 4096;

impl Program {
    /// How it waits for its loads.
    pub fn waits(self) -> Waits {
        match self {
            Self::LinearChase | Self::RandomChase => Waits::ForEach,
            Self::Stream => Waits::ForNone,
        }
    }
}

/// What a machine makes of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// In the unit of the test.
    pub value: f64,
    /// Where the time goes.
    pub time: TimePerAccess,
    /// What happened.
    pub counters: Counters,
}

/// Runs a program once around to fill caches and buffers, then again, counting.
pub fn trace(geometry: &Geometry, program: Program, block_bytes: Bytes, stride_bytes: Bytes) -> Counters {
    let mut simulator = Simulator::new(geometry);
    let steps = (block_bytes.0 / stride_bytes.0).max(1);
    let order = match program {
        Program::LinearChase | Program::Stream => None,
        Program::RandomChase => {
            let mut order: Vec<u32> = (0..steps as u32).collect();
            Random::for_stream(block_bytes.0, stride_bytes.0).shuffle(&mut order);
            Some(order)
        }
    };
    let access = |simulator: &mut Simulator, step: u64| simulator.access(step * stride_bytes.0);
    let lap = |simulator: &mut Simulator| match &order {
        None => (0..steps).for_each(|step| access(simulator, step)),
        Some(order) => order.iter().for_each(|step| access(simulator, u64::from(*step))),
    };
    lap(&mut simulator);
    simulator.take_counters();
    for _ in 0..ACCESSES_MIN.div_ceil(steps) {
        lap(&mut simulator);
    }
    simulator.take_counters()
}

/// The number of a test in its unit, from counts and costs.
pub fn value(test: &Test, time: &TimePerAccess) -> f64 {
    match test.unit {
        Unit::Nanoseconds => time.total_ns(),
        // Bytes per nanosecond are 10^9 bytes per second.
        Unit::MegabytesPerSecond => test.stride_bytes.value.0 as f64 / time.total_ns() * 1e3,
    }
}

/// Predicts a test without or with the workaround; `None` if the machine lacks the test's board.
pub fn predict(machine: &MemoryMachine, test: &Test, workaround: Workaround) -> Option<Outcome> {
    let board = machine.board(test.board(workaround))?;
    let geometry = machine.geometry(board, workaround);
    let (block, stride) = (test.block_bytes, test.stride_bytes.value);
    let counters = trace(&geometry, test.program, block, stride);
    let costs = Costs::new(machine, board, &Parameters::of(machine));
    let time = costs.time(&counters, test.program.waits());
    Some(Outcome { value: value(test, &time), time, counters })
}
