//! What a fitted machine leaves open of the workaround: how many reads of a walk go past all caches, and what each takes.

use super::costs::{Costs, Parameters, Waits};
use super::description::{MemoryMachine, Program, Workaround};
use super::geometry::PageTableReads;
use super::measured_result::{SPREAD_BLOCK, Scenario};
use super::prediction::trace_placed;
use super::simulator::Counters;

/// One read or all reads of a walk, each as long as a load from memory or as the Phenom's were.
pub(super) fn scenarios(machine: &MemoryMachine) -> Vec<Scenario> {
    let levels = machine.board[0].page_table_levels.value;
    let loads_ns = memory_ns(machine);
    let total_ns = |machine: &MemoryMachine, state| {
        let geometry = machine.geometry(&machine.board[0], state);
        let (placement, line) = (machine.page_placement, machine.line_bytes);
        let counters = trace_placed(&geometry, placement, Program::RandomChase, SPREAD_BLOCK, line);
        let costs = Costs::new(machine, &machine.board[0], &Parameters::of(machine));
        move |read_ns: f64| {
            let uncached_ns = counters.uncached_reads as f64 * read_ns / counters.accesses.max(1) as f64;
            costs.time(&Counters { uncached_reads: 0, ..counters.clone() }, Waits::ForEach).total_ns()
                + uncached_ns
        }
    };
    let off_ns = total_ns(machine, Workaround::Off)(0.0);
    let mut scenarios = Vec::new();
    for (reads, reads_per_walk) in [(PageTableReads::LastUncached, 1), (PageTableReads::AllUncached, levels)]
    {
        let mut machine = machine.clone();
        machine.workaround.page_table_reads.value = reads;
        let on_ns = total_ns(&machine, Workaround::On);
        for ns_per_read in [loads_ns, loads_ns * phenom_reads_in_loads()] {
            scenarios.push(Scenario {
                reads_per_walk,
                ns_per_read,
                random_200mb_ns: on_ns(ns_per_read),
                random_200mb_off_ns: off_ns,
            });
        }
    }
    scenarios
}

/// A load that all caches lack.
pub(super) fn memory_ns(machine: &MemoryMachine) -> f64 {
    let core_ns = 1e9 / machine.board[0].core_hz.value.0;
    machine.cache.last().map_or(0.0, |cache| cache.core_cycles.value * core_ns) + machine.dram_ns.value
}

/// The same of the Phenom, against which its fitted read past all caches is held.
pub(super) fn phenom_reads_in_loads() -> f64 {
    let machine: MemoryMachine = crate::known("phenom-9600").expect("a test reads it");
    let board = &machine.board[0];
    let last = machine.cache.last().expect("a parsed machine has caches");
    let ns = |cycles: f64, hertz: f64| cycles / hertz * 1e9;
    let cache_ns = ns(last.core_cycles.value, board.core_hz.value.0)
        + ns(last.northbridge_cycles.value, board.northbridge_hz.value.0);
    machine.workaround.uncached_read_ns.value / (cache_ns + machine.dram_ns.value)
}
