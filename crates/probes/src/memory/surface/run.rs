//! The schedule of a surface: one visit per step.

use std::collections::{BTreeMap, VecDeque};
use std::hint::black_box;
use std::time::Instant;

use host::live::{Mapping, MappingError, PageRequest, Pages};
use kernels::random::SplitMix64;
use kernels::{Chain, Cursor, Isa, LOADS_PER_ROUND, Layout};
use machine::{Bytes, CpuId};
use record::{LatencyCell, metric};
use stats::median;

use super::{Place, ROUNDS_MIN, Settings, WINDOW_NS};
use crate::answers::{Answer, Known};
use crate::sampler::{Sampler, Visit, VisitPlan};
use crate::series::{PointVisit, Series, page_bytes};
use crate::session::Session;

/// Passes on each mapping at most: cells whose two fastest visits do not agree yet come back that often.
const PASSES_MAX: u32 = 8;
/// Mappings that the time is divided by.
const MAPPINGS: f64 = 3.0;
/// What a cell may spend on one mapping before it is left as it is, in shares of what all would get alike: cells that
/// settle at once leave this much to those that do not.
const SPENT_SHARE_MAX: f64 = 2.0;
/// Visits of a cell that differ by less than this share agree.
const AGREEMENT: f64 = 0.01;
/// A cell gets at most so many visits: one that has not settled then will not.
const VISITS_MAX: usize = 40;
/// Loads that warm a chain at most; building it has touched every line already.
const WARM_LOADS_MAX: usize = 32_768;
/// Blocks start at a random multiple of this.
const OFFSET_STEP_BYTES: usize = 4096;

/// One cell while it is measured.
#[derive(Debug, Default)]
struct Cell {
    series: Series,
    /// Rounds of a window, once they are known.
    rounds: Option<u64>,
    /// Seconds that it has taken on the mapping in use.
    spent_here_s: f64,
}

/// A surface that is being measured.
#[derive(Debug)]
pub(super) struct SurfaceRun {
    settings: Settings,
    seed: u64,
    random: SplitMix64,
    mapping: Mapping,
    pages: Vec<Pages>,
    queue: VecDeque<Place>,
    passes_on_mapping: u32,
    cells: BTreeMap<Place, Cell>,
    spent_s: f64,
}

impl SurfaceRun {
    /// Maps the memory and plans the first pass.
    ///
    /// # Errors
    /// If the kernel gives no memory, or the sampler is cut before it is laid.
    pub(super) fn new(settings: Settings, seed: u64, sampler: &Sampler) -> Result<Self, MappingError> {
        let started = Instant::now();
        let mut random = SplitMix64::new(seed);
        let mapping = first_mapping(&settings, sampler)?;
        let pages = vec![mapping.pages()];
        let is_inside = |place: &Place| place.block_bytes <= mapping.len();
        let cells: BTreeMap<Place, Cell> = settings
            .grid
            .places()
            .into_iter()
            .filter(is_inside)
            .map(|place| (place, Cell::default()))
            .collect();
        let queue = shuffled(cells.keys().copied().collect(), &mut random);
        let spent_s = started.elapsed().as_secs_f64();
        Ok(Self { settings, seed, random, mapping, pages, queue, passes_on_mapping: 0, cells, spent_s })
    }

    /// Makes one visit; false when there is nothing left to do within the budget, or the sampler is cut.
    ///
    /// # Errors
    /// If the kernel gives no memory for a fresh mapping.
    pub(super) fn step(&mut self, sampler: &mut Sampler) -> Result<bool, MappingError> {
        if self.spent_s >= self.settings.budget_s {
            return Ok(false);
        }
        let started = Instant::now();
        if self.queue.is_empty() {
            match self.plan_next_pass(sampler) {
                Err(MappingError::BrokenOff { .. }) => return Ok(false),
                planned => planned?,
            }
        }
        let Some(place) = self.queue.pop_front() else { return Ok(false) };
        let Some(visit) = self.visit(place, sampler) else { return Ok(false) };
        let visit = PointVisit::of(self.mapping_number(), sampler.cpu, visit);
        let cell = self.cells.entry(place).or_default();
        cell.series.visits.push(visit);
        cell.spent_here_s += started.elapsed().as_secs_f64();
        self.spent_s += started.elapsed().as_secs_f64();
        Ok(true)
    }

    /// Share of the budget that is spent.
    pub(super) fn spent_share(&self) -> f64 {
        self.spent_s / self.settings.budget_s
    }

    fn mapping_number(&self) -> u32 {
        self.pages.len() as u32 - 1
    }

    /// Fills the queue for the pass that follows: cells that have not settled on this mapping, while they are cheap; else all on a fresh
    /// one.
    fn plan_next_pass(&mut self, sampler: &Sampler) -> Result<(), MappingError> {
        self.passes_on_mapping += 1;
        let mut next = self.cells_to_repeat();
        if next.is_empty() {
            self.map_afresh(sampler)?;
            let is_open = |cell: &Cell| cell.series.visits.len() < VISITS_MAX;
            next = self.cells.iter().filter(|(_, cell)| is_open(cell)).map(|(&place, _)| place).collect();
        }
        self.queue = shuffled(next, &mut self.random);
        Ok(())
    }

    fn cells_to_repeat(&self) -> Vec<Place> {
        if self.passes_on_mapping >= PASSES_MAX {
            return Vec::new();
        }
        let alike_s = self.settings.budget_s / self.cells.len() as f64 / MAPPINGS;
        let (number, visited) = (self.mapping_number(), |cell: &Cell| cell.series.visits.len());
        let settled = |cell: &Cell| {
            let first = cell.series.visits.partition_point(|visit| visit.mapping < number);
            let here = Series { visits: cell.series.visits[first..].to_vec() };
            here.is_settled(&metric::LATENCY, AGREEMENT)
        };
        let is_repeated = |cell: &Cell| {
            cell.spent_here_s <= SPENT_SHARE_MAX * alike_s && visited(cell) < VISITS_MAX && !settled(cell)
        };
        self.cells.iter().filter(|(_, cell)| is_repeated(cell)).map(|(&place, _)| place).collect()
    }

    /// A fresh mapping, made before the old one goes, so that it does not get the same pages back.
    fn map_afresh(&mut self, sampler: &Sampler) -> Result<(), MappingError> {
        self.mapping = Mapping::new_while(self.mapping.len(), self.settings.page, &|| !sampler.is_cut())?;
        self.pages.push(self.mapping.pages());
        self.passes_on_mapping = 0;
        self.cells.values_mut().for_each(|cell| cell.spent_here_s = 0.0);
        Ok(())
    }

    /// One visit; `None` if the sampler was cut before its chain was laid.
    fn visit(&mut self, place: Place, sampler: &mut Sampler) -> Option<Visit> {
        let offset = self.offset(place);
        let layout = Layout::random(place.stride_bytes, self.random.next_u64());
        let block = &mut self.mapping.as_mut_slice()[offset..offset + place.block_bytes];
        let chain = Chain::build_while(block, layout, &|| !sampler.is_cut())?;
        let warm_rounds = (chain.nodes().min(WARM_LOADS_MAX) as u64).div_ceil(LOADS_PER_ROUND);
        let (mut cursor, mut walked) = (chain.start().walk(warm_rounds), warm_rounds);
        let mut walk = |rounds| {
            cursor = cursor.walk(rounds);
            walked += rounds;
        };
        let known = &mut self.cells.get_mut(&place)?.rounds;
        let rounds = *known.get_or_insert_with(|| sampler.rounds_for(WINDOW_NS, &mut walk).max(ROUNDS_MIN));
        sampler.about(|| series_name(place, self.settings.page));
        let plan = VisitPlan { windows_min: 8, windows_max: 24, half_width: AGREEMENT / 2.0 };
        let visit = sampler.visit(plan, rounds, LOADS_PER_ROUND as f64, &mut walk);
        black_box(cursor.addr());
        close(sampler, &chain, cursor, walked);
        Some(visit)
    }

    /// Where the block of a cell starts: random, but the same for all visits on one mapping, so that they see the
    /// same pages.
    fn offset(&self, place: Place) -> usize {
        let room = self.mapping.len().saturating_sub(place.block_bytes) / OFFSET_STEP_BYTES;
        let name = (place.block_bytes as u64).rotate_left(32) ^ place.stride_bytes as u64;
        let seed = self.seed ^ u64::from(self.mapping_number()).rotate_left(56) ^ name;
        SplitMix64::new(seed).below(room as u64 + 1) as usize * OFFSET_STEP_BYTES
    }

    /// Adds the cells measured so far to the record; in cycles too if those of the multiply chain are known.
    pub(super) fn keep(self, session: &mut Session<'_>, cpu: CpuId, cycles_per_multiply: Option<f64>) {
        for (place, Cell { series, .. }) in self.cells {
            let name = series_name(place, self.settings.page);
            let Some(measured) = series.measured(session, &metric::LATENCY, name) else { continue };
            let readings =
                series.visits.iter().flat_map(|visit| &visit.control).flat_map(|pair| pair.readings);
            let multiply_ns = median(&readings.map(|reading| reading.multiply_ns).collect::<Vec<f64>>());
            let given = series.visits.iter().filter_map(|visit| self.pages.get(visit.mapping as usize));
            session.result().memory.latency.push(LatencyCell {
                cpu,
                block_bytes: Bytes(place.block_bytes as u64),
                stride_bytes: Bytes(place.stride_bytes as u64),
                page_bytes: page_bytes(self.settings.page, given),
                ns: measured.value,
                core_cycles: cycles_per_multiply
                    .zip(multiply_ns)
                    .map(|(cycles, multiply_ns)| measured.value / multiply_ns * cycles),
                level: None,
                spread: measured.spread,
            });
        }
    }
}

/// The memory of a surface, unless the sampler is cut before it is there; a quarter of it where laying it takes half of the time: memory
/// that a guest has never touched comes thirty times slower than other.
fn first_mapping(settings: &Settings, sampler: &Sampler) -> Result<Mapping, MappingError> {
    let started = Instant::now();
    let largest = settings.grid.largest_bytes();
    let half_s = settings.budget_s / 2.0;
    let goes_on = || !sampler.is_cut() && started.elapsed().as_secs_f64() < half_s;
    match Mapping::new_while(largest, settings.page, &goes_on) {
        Err(MappingError::BrokenOff { .. }) => {
            Mapping::new_while(largest / 4, settings.page, &|| !sampler.is_cut())
        }
        mapping => mapping,
    }
}

fn shuffled(mut places: Vec<Place>, random: &mut SplitMix64) -> VecDeque<Place> {
    random.shuffle(&mut places);
    places.into()
}

/// The name of a cell's raw series.
fn series_name(place: Place, page: PageRequest) -> String {
    let (block, stride) = (Bytes(place.block_bytes as u64), Bytes(place.stride_bytes as u64));
    format!("latency, {} pages asked for, block {block}, stride {stride}", page.page_bytes())
}

const CHASE: &str = "chase";
/// Longer cycles are not walked to their end. Half of one, as is left in the mean, takes 40 us from memory, 3 % of the windows of a visit.
const NODES_MAX: u64 = 2048;

/// Checks that a cursor which has made so many rounds from the start is back there when the cycle is full. A load that went astray leads
/// to another node, and all further loads with it.
fn close(sampler: &mut Sampler, chain: &Chain<'_>, cursor: Cursor<'_>, rounds: u64) {
    let nodes = chain.nodes() as u64;
    if nodes > NODES_MAX {
        return;
    }
    let loads = (rounds * LOADS_PER_ROUND).next_multiple_of(nodes);
    let end = cursor.steps(loads - rounds * LOADS_PER_ROUND);
    let offset = |cursor| chain.offset_of(cursor) as u64;
    let known =
        Known { kernel: CHASE, isa: Isa::ScalarU64.name(), operations: loads, answer: offset(chain.start()) };
    let found = offset(end) ^ sampler.planted_bit(CHASE);
    let operands =
        || format!("{loads} loads in a cycle of {nodes} nodes, {} bytes apart", chain.layout().stride_bytes);
    sampler.count(Answer::of(known, found), operands, || offset(chain.start().steps(nodes)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::ControlLoops;
    use crate::fault_injection::WRONG;
    use clock::TickRate;
    use machine::CpuId;
    use record::{Cores, Planted};

    #[test]
    fn a_shuffle_keeps_every_place() {
        let places = super::super::Grid::check_up().places();
        let mut shuffled: Vec<Place> = shuffled(places.clone(), &mut SplitMix64::new(7)).into();
        assert_ne!(shuffled, places);
        shuffled.sort_unstable();
        assert_eq!(shuffled, places);
    }

    #[repr(align(64))]
    struct Block([u8; 64 * 100]);

    #[test]
    fn a_cycle_is_closed_wherever_the_last_window_ended_and_a_load_astray_is_seen() {
        let rate = TickRate { hz: 1e9, error_ppm: 1.0 };
        let sampler = Sampler::new(CpuId(5), rate, ControlLoops { cycles_per_multiply: None });
        let planted = sampler.clone().planted(vec![Planted { row: format!("{WRONG}{CHASE}"), factor: 1.0 }]);
        let mut block = Block([0; 64 * 100]);
        let chain = Chain::build_while(&mut block.0, Layout::random(64, 3), &|| true).expect("there is time");
        // A step too many is what a load that went to the wrong node leaves.
        for (mut sampler, rounds, astray, wrong) in
            [(sampler.clone(), 0, 0, 0), (sampler.clone(), 7, 0, 0), (sampler, 7, 1, 1), (planted, 50, 0, 1)]
        {
            close(&mut sampler, &chain, chain.start().walk(rounds).steps(astray), rounds);
            let mut cores = Cores::default();
            sampler.answers().hand_to(&mut cores);
            let one = &cores.checked[0];
            assert_eq!((one.kernel.as_str(), one.wrong), (CHASE, wrong), "{rounds} rounds");
            assert_eq!(one.operations, (rounds * LOADS_PER_ROUND).next_multiple_of(100));
            assert!(cores.wrong.iter().all(|wrong| wrong.wrong_repeats == 0), "{:?}", cores.wrong);
        }
    }
}
