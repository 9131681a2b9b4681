//! The latency surface: load-to-use latency of a random chain over block size and stride, with an interval per cell.
//!
//! Cells are visited in shuffled passes, so that a drift of the machine does not look like an effect of size, and on fresh mappings, as where
//! the pages lie is part of the answer. On each mapping a cell takes its block at a random page, and comes back while that is cheap and its
//! two fastest visits differ. It is a picture: what is said of caches and memory is asked by [`crate::questions`].

mod run;

use host::live::{PageRequest, Pinned};
use machine::{Bytes, CpuId};

use super::MemoryError;
use crate::probe::{CheckUpProbe, Depth, Planned, Section, Subject};
use crate::session::Session;
use run::SurfaceRun;

/// Shortest window of a cell in nanoseconds: short enough to fall between two disturbances.
const WINDOW_NS: f64 = 40_000.0;
/// Fewest rounds of a window, 1600 loads: the mean of fewer loads from memory scatters by more than 1 %.
const ROUNDS_MIN: u64 = 25;

/// Stride of the huge-page column that `--quick` measures: a cache line.
const QUICK_HUGE_STRIDES: [usize; 1] = [64];

/// The surface with base pages, in the check-up.
pub(crate) const BASE_PAGES: CheckUpProbe = CheckUpProbe {
    seconds: [Some(2.0), Some(8.0), Some(24.0)],
    least_s: 1.6,
    epoch_least_s: Some(0.8),
    rank: 20,
    disturbs: "core",
    ..CheckUpProbe::new("surface", Section::Memory, |subject, seconds| {
        planned(subject, seconds, Settings::check_up(PageRequest::Base, seconds), Vec::new())
    })
};

/// The same with huge pages.
pub(crate) const HUGE_PAGES: CheckUpProbe = CheckUpProbe {
    seconds: [None, Some(5.5), Some(24.0)],
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
    seconds: [None, Some(4.0), Some(30.0)],
    least_s: 3.0,
    rank: 180,
    runs_after: Some("parallel"),
    disturbs: "core",
    ..CheckUpProbe::new("surface-large", Section::Memory, |subject, seconds| {
        let settings = Settings { grid: Grid::large(), ..Settings::check_up(PageRequest::Huge, seconds) };
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
}

impl Settings {
    /// Surface A of the check-up: 4 KiB to 32 MiB by 16 B to 8 KiB.
    pub fn check_up(page: PageRequest, budget_s: f64) -> Self {
        Self { grid: Grid::check_up(), page, budget_s }
    }

    /// Time it may take at most, in seconds: the budget and one visit of the largest cell.
    pub fn worst_case_s(&self) -> f64 {
        /// Laying one GiB and a chain through it takes about this long.
        const SECONDS_PER_GIB: f64 = 1.0;
        self.budget_s + self.grid.largest_bytes() as f64 / Bytes::GIB.0 as f64 * SECONDS_PER_GIB
    }
}

/// Measures a surface on one CPU and adds its cells to the record, also when stopped half-way.
///
/// # Errors
/// No memory, or a CPU that may not be used.
pub fn run(session: &mut Session<'_>, cpu: CpuId, settings: &Settings) -> Result<(), MemoryError> {
    let pinned = Pinned::to(cpu)?;
    let mut sampler = session.sampler(cpu);
    let seed = session.random.next_u64();
    let mut surface = SurfaceRun::new(settings.clone(), seed, &sampler)?;
    while !session.must_stop() && surface.step(&mut sampler)? {
        session.progress.update(surface.spent_share());
    }
    session.absorb(&mut sampler);
    let cycles_per_multiply = sampler.control.believed_cycles(session.rate);
    drop(pinned);
    surface.keep(session, cpu, cycles_per_multiply);
    Ok(())
}

/// A cell has at least so many elements: fewer are no permutation.
const ELEMENTS_MIN: usize = 4;
/// And at most so many: more take longer than half a second to lay.
const ELEMENTS_MAX: usize = 1 << 22;

/// Block sizes by strides; cells with too few elements are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// Block sizes in bytes, ascending.
    pub blocks: Vec<usize>,
    /// Strides in bytes, ascending.
    pub strides: Vec<usize>,
}

/// One cell of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Size of the block.
    pub block_bytes: usize,
    /// Distance of neighbouring elements.
    pub stride_bytes: usize,
}

impl Grid {
    /// Two blocks per octave from 4 KiB to 32 MiB, ten strides from 16 B to 8 KiB: 258 cells.
    pub fn check_up() -> Self {
        let octaves = (12..25).flat_map(|log2| [1 << log2, 3 << (log2 - 1)]);
        Self { blocks: octaves.chain([1 << 25]).collect(), strides: (4..14).map(|log2| 1 << log2).collect() }
    }

    /// One block per octave from 64 MiB to 1 GiB, and few strides; every line of a block up to 256 MiB.
    pub fn large() -> Self {
        Self { blocks: (26..31).map(|log2| 1 << log2).collect(), strides: vec![64, 512, 4096] }
    }

    /// The cells, row by row.
    pub fn places(&self) -> Vec<Place> {
        self.blocks
            .iter()
            .flat_map(|&block_bytes| {
                self.strides.iter().map(move |&stride_bytes| Place { block_bytes, stride_bytes })
            })
            .filter(|place| (ELEMENTS_MIN..=ELEMENTS_MAX).contains(&(place.block_bytes / place.stride_bytes)))
            .collect()
    }

    /// The largest block.
    pub fn largest_bytes(&self) -> usize {
        self.blocks.last().copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_up_surface_has_258_cells_from_4_kib_to_32_mib() {
        let grid = Grid::check_up();
        assert_eq!(grid.places().len(), 258);
        assert_eq!((grid.blocks[0], grid.largest_bytes()), (4 << 10, 32 << 20));
        assert_eq!((grid.strides[0], grid.strides[9]), (16, 8 << 10));
    }

    #[test]
    fn the_large_surface_goes_on_where_the_other_ends_up_to_1_gib() {
        let grid = Grid::large();
        assert_eq!((grid.blocks[0], grid.largest_bytes(), grid.places().len()), (64 << 20, 1 << 30, 13));
    }
}
