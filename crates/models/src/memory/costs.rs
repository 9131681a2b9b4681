//! From counts to time: what each event costs on one board.

use serde::Serialize;

use super::description::{Board, MemoryMachine};
use super::simulator::{Counters, PLACES, RUN_LINES_MAX};

/// The parts of the machine that no document gives in time; a fit chooses them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    /// From the last cache's answer that it lacks the line to the line from DRAM.
    pub dram_ns: f64,
    /// One read of a page-table entry past all caches.
    pub uncached_read_ns: f64,
    /// What a walk costs beside its reads.
    pub walk_core_cycles: f64,
    /// Lines at the start of a stream that come one at a time.
    pub startup_lines: f64,
    /// Outstanding lines at once while a stream runs.
    pub outstanding_lines: f64,
}

impl Parameters {
    /// Those that the machine's description holds.
    pub fn of(machine: &MemoryMachine) -> Self {
        Self {
            dram_ns: machine.dram_ns.value,
            uncached_read_ns: machine.workaround.uncached_read_ns.value,
            walk_core_cycles: machine.translation.walk_core_cycles.value,
            startup_lines: machine.prefetch.startup_lines.value,
            outstanding_lines: machine.prefetch.outstanding_lines.value,
        }
    }
}

/// What one access costs on average, and where the time goes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimePerAccess {
    /// Taking the data where no level is slower than that.
    pub core_ns: f64,
    /// Waiting for each cache, nearest first, and for memory, behind the last cache.
    pub place_ns: [f64; PLACES],
    /// Second translation buffer, and walks but for their reads.
    pub walk_ns: f64,
    /// Reading entries of page tables.
    pub page_table_ns: f64,
}

impl TimePerAccess {
    /// All parts together.
    pub fn total_ns(&self) -> f64 {
        self.core_ns + self.place_ns.iter().sum::<f64>() + self.walk_ns + self.page_table_ns
    }
}

/// How a program waits for its loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// Each address is in the data before it: every load waits for its own.
    ForEach,
    /// Addresses are known: a load costs what it adds.
    ForNone,
}

/// What events cost on one board, in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    latency_ns: [f64; PLACES],
    transfer_ns: [f64; PLACES],
    take_line_ns: f64,
    second_tlb_ns: f64,
    walk_ns: f64,
    uncached_read_ns: f64,
    startup_lines: f64,
    outstanding_lines: f64,
}

impl Costs {
    /// The costs on a board.
    pub fn new(machine: &MemoryMachine, board: &Board, parameters: &Parameters) -> Self {
        let core_ns = 1e9 / board.core_hz.value.0;
        let northbridge_ns = 1e9 / board.northbridge_hz.value.0;
        let line_bytes = machine.line_bytes.0 as f64;
        let mut latency_ns = [0.0; PLACES];
        let mut transfer_ns = [0.0; PLACES];
        for (index, cache) in machine.cache.iter().enumerate() {
            latency_ns[index] =
                cache.core_cycles.value * core_ns + cache.northbridge_cycles.value * northbridge_ns;
            let width = cache.bytes_per_core_cycle.as_ref();
            transfer_ns[index] = width.map_or(0.0, |width| line_bytes / width.value * core_ns);
        }
        let memory = machine.cache.len();
        latency_ns[memory] = latency_ns[memory - 1] + parameters.dram_ns;
        Self {
            latency_ns,
            transfer_ns,
            take_line_ns: line_bytes / machine.load_bytes_per_core_cycle.value * core_ns,
            second_tlb_ns: machine.translation.second_hit_core_cycles.value * core_ns,
            walk_ns: parameters.walk_core_cycles * core_ns,
            uncached_read_ns: parameters.uncached_read_ns,
            startup_lines: parameters.startup_lines,
            outstanding_lines: parameters.outstanding_lines,
        }
    }

    /// The time of a trace by its counts; a program that waits for none loads whole lines.
    pub fn time(&self, counters: &Counters, waits: Waits) -> TimePerAccess {
        let accesses = counters.accesses.max(1) as f64;
        let mut time = TimePerAccess::default();
        for place in 0..PLACES {
            let streamed = self.streamed(&counters.served[place]);
            let waited = counters.served[place].iter().sum::<u64>() as f64 - streamed;
            let one_of_many_ns = self.latency_ns[place] / self.outstanding_lines;
            let (waited_ns, streamed_ns) = match waits {
                Waits::ForEach => (self.latency_ns[place], self.latency_ns[0] + one_of_many_ns),
                Waits::ForNone if place == 0 => (0.0, 0.0),
                Waits::ForNone => {
                    // What the core needs to take the line is counted apart.
                    let beyond = |ns: f64| (ns - self.take_line_ns).max(0.0);
                    (beyond(self.latency_ns[place]), beyond(one_of_many_ns.max(self.transfer_ns[place])))
                }
            };
            time.place_ns[place] = (waited * waited_ns + streamed * streamed_ns) / accesses;
            time.page_table_ns += counters.table_reads[place] as f64 * self.latency_ns[place] / accesses;
        }
        if waits == Waits::ForNone {
            time.core_ns = self.take_line_ns;
        }
        time.page_table_ns += counters.uncached_reads as f64 * self.uncached_read_ns / accesses;
        time.walk_ns = (counters.second_tlb_hits as f64 * self.second_tlb_ns
            + counters.walks as f64 * self.walk_ns)
            / accesses;
        time
    }

    /// Lines that came after the start of their stream. A fraction of a line counts as that share of one.
    fn streamed(&self, by_run: &[u64; RUN_LINES_MAX + 1]) -> f64 {
        // The first line of a stream cannot be known before.
        let startup = self.startup_lines.clamp(1.0, RUN_LINES_MAX as f64);
        let whole = startup.floor() as usize;
        let after = |lines: usize| by_run[lines..].iter().sum::<u64>() as f64;
        let share = startup - whole as f64;
        after(whole) * (1.0 - share) + after((whole + 1).min(RUN_LINES_MAX)) * share
    }
}
