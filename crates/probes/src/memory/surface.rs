//! The latency surface: load-to-use latency of a random chain over block size and stride, with an interval per cell.
//!
//! Cells are visited in shuffled passes, so that a drift of the machine does not look like an effect of size. The
//! first passes see every cell twice on each of two mappings; cells at a knee, where a neighbour differs, and a random
//! tenth of the others are seen again on a third one, as where the pages lie is part of the answer there. On each
//! mapping a cell takes its block at a random page, and cells whose two fastest visits differ come back while that is
//! cheap. What time is left goes to the cells whose interval is widest, on fresh mappings.

mod cells;
mod grid;
mod run;

use std::time::Instant;

use host::live::{AffinityError, MappingError, PageRequest, Pinned};
use machine::{Bytes, CpuId};
use record::LatencyCell;

pub use grid::{Grid, Place};
pub use run::SurfaceRun;

use crate::probe::{CheckUpProbe, Depth, Planned, Section, Subject};
use crate::session::Session;

/// Shortest window of a cell in nanoseconds: short enough to fall between two disturbances.
const WINDOW_NS: f64 = 40_000.0;
/// Fewest rounds of a window, 1600 loads: the mean of fewer loads from memory scatters by more than 1 %.
const ROUNDS_MIN: u64 = 25;

/// Largest block of the large surface.
const LARGEST_SURFACE: Bytes = Bytes(512 << 20);
/// Stride of the huge-page column that `--quick` measures: a cache line.
const QUICK_HUGE_STRIDES: [usize; 1] = [64];

/// The surface with base pages, in the check-up.
pub(crate) const BASE_PAGES: CheckUpProbe = CheckUpProbe {
    seconds: [Some(4.6), Some(11.8), Some(24.0)],
    least_s: 3.0,
    epoch_least_s: Some(1.0),
    rank: 20,
    disturbs: "core",
    ..CheckUpProbe::new("surface", Section::Memory, |subject, seconds| {
        planned(subject, seconds, Settings::check_up(PageRequest::Base, seconds), Vec::new())
    })
};

/// The same with huge pages.
pub(crate) const HUGE_PAGES: CheckUpProbe = CheckUpProbe {
    seconds: [Some(1.2), Some(11.8), Some(24.0)],
    least_s: 0.9,
    epoch_least_s: Some(0.3),
    rank: 120,
    disturbs: "core",
    missing: huge_pages_missing,
    ..CheckUpProbe::new("surface-huge", Section::Memory, |subject, seconds| {
        let mut settings = Settings::check_up(PageRequest::Huge, seconds);
        let mut reduced = Vec::new();
        if subject.depth == Depth::Quick {
            settings.grid.strides = QUICK_HUGE_STRIDES.to_vec();
            reduced.push("strides of 64 B only: --quick".to_owned());
        }
        planned(subject, seconds, settings, reduced)
    })
};

/// The surface of large blocks.
pub(crate) const LARGE_BLOCKS: CheckUpProbe = CheckUpProbe {
    seconds: [None, None, Some(60.0)],
    least_s: 12.0,
    rank: 180,
    runs_after: Some("parallel"),
    disturbs: "core",
    ..CheckUpProbe::new("surface-large", Section::Memory, |subject, seconds| {
        let settings = Settings::large(PageRequest::Huge, seconds, LARGEST_SURFACE);
        planned(subject, seconds, settings, Vec::new())
    })
};

/// Whether huge pages can be had: `never` switches the transparent ones off; reserved ones serve as well.
fn huge_pages_missing(subject: &Subject<'_>) -> Option<&'static str> {
    let environment = &subject.machine.environment;
    let is_off = environment.transparent_huge_pages.enabled.as_deref() == Some("never");
    let pool =
        environment.huge_page_pools.iter().any(|pool| pool.page_bytes == Bytes(2 << 20) && pool.free > 0);
    (is_off && !pool).then_some("no huge pages: transparent ones are off and no 2 MiB page is reserved")
}

/// Settings without the blocks that memory has no room for, and a line that says so.
fn planned(subject: &Subject<'_>, seconds: f64, mut settings: Settings, mut reduced: Vec<String>) -> Planned {
    let (room, largest) = (subject.room(), settings.grid.largest_bytes());
    let grid = &mut settings.grid;
    grid.blocks.retain(|&block| block as u64 <= room.0);
    if grid.blocks.is_empty() {
        // Four KiB are always there; a grid is never empty.
        grid.blocks = vec![4096];
    }
    if grid.largest_bytes() < largest {
        reduced.push(format!(
            "blocks up to {} in place of {}: memory has no more room",
            Bytes(grid.largest_bytes() as u64),
            Bytes(largest as u64)
        ));
    }
    settings.budget_s = 0.0;
    // Interrupts go to the first CPUs on most machines.
    let on_last_cpu = |session: &mut Session<'_>, settings: &Settings| {
        let cpu = *session.cpus.last().expect("a session has at least one CPU");
        run(session, cpu, settings)
    };
    Planned::within(seconds, settings, |settings| &mut settings.budget_s, Settings::worst_case_s, on_last_cpu)
        .reduced(reduced)
}

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Which cells.
    pub grid: Grid,
    /// Which pages to ask for.
    pub page: PageRequest,
    /// Time for all visits in seconds, chain building included.
    pub budget_s: f64,
    /// Half-width that a cell aims for, as a share of its value.
    pub half_width: f64,
    /// Fresh mappings for cells at a knee.
    pub mappings_at_knee: u32,
}

impl Settings {
    /// Surface A of the check-up: 4 KiB to 32 MiB by 16 B to 8 KiB.
    pub fn check_up(page: PageRequest, budget_s: f64) -> Self {
        Self { grid: Grid::check_up(), page, budget_s, half_width: 0.01, mappings_at_knee: 3 }
    }

    /// Surface B: 64 MiB to 512 MiB by 64 B to 8 KiB, one block per octave.
    pub fn large(page: PageRequest, budget_s: f64, largest: Bytes) -> Self {
        Self { grid: Grid::large(largest), ..Self::check_up(page, budget_s) }
    }

    /// Time it may take at most, in seconds: the budget and one visit of the largest cell.
    pub fn worst_case_s(&self) -> f64 {
        /// Building and walking a chain through one GiB takes about this long.
        const SECONDS_PER_GIB: f64 = 2.0;
        self.budget_s + self.grid.largest_bytes() as f64 / Bytes::GIB.0 as f64 * SECONDS_PER_GIB
    }
}

/// Why there is no surface.
#[derive(Debug, thiserror::Error)]
pub enum SurfaceError {
    /// No memory for the largest block.
    #[error(transparent)]
    Mapping(#[from] MappingError),
    /// The CPU may not be used.
    #[error(transparent)]
    Affinity(#[from] AffinityError),
}

/// Measures a surface on one CPU and adds its cells to the record, also when stopped half-way.
///
/// # Errors
/// No memory, or a CPU that may not be used.
pub fn run(session: &mut Session<'_>, cpu: CpuId, settings: &Settings) -> Result<(), SurfaceError> {
    let pinned = Pinned::to(cpu)?;
    let mut sampler = session.sampler(cpu);
    let seed = session.random.next_u64();
    let started = Instant::now();
    let mut surface = SurfaceRun::new(settings.clone(), seed, &sampler)?;
    while !session.must_stop() && surface.step(&mut sampler)? {
        session.progress.update(started.elapsed().as_secs_f64() / settings.budget_s);
    }
    session.absorb(&mut sampler);
    let cycles_per_multiply = sampler.control.believed_cycles(session.rate);
    drop(pinned);
    for (cell, raw) in surface.finish(cpu, cycles_per_multiply) {
        let index = session.record.push_raw(raw);
        let spread = record::Spread { raw: Some(index), ..cell.spread };
        session.result().memory.latency.push(LatencyCell { spread, ..cell });
    }
    Ok(())
}
