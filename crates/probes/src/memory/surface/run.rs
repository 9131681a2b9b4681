//! The schedule of a surface as a state machine: one visit per step, so that several surfaces can be interleaved.

use std::collections::{BTreeMap, VecDeque};
use std::hint::black_box;
use std::time::Instant;

use host::live::{Mapping, MappingError, Pages};
use kernels::random::SplitMix64;
use kernels::{Chain, Cursor, Isa, LOADS_PER_ROUND, Layout};
use machine::CpuId;
use record::{LatencyCell, RawSeries};

use super::cells::{self, CellVisit, Noise};
use super::{Place, ROUNDS_MIN, Settings, WINDOW_NS};
use crate::answers::{Answer, Known};
use crate::sampler::{Sampler, Visit, VisitPlan};

/// Passes on each mapping that every chosen cell takes part in: one visit cannot see a disturbance that outlasts it, a
/// second one confirms it.
const PASSES_OF_ALL: u32 = 2;
/// Passes on each mapping at most: cells whose two fastest visits do not agree yet come back that often.
const PASSES_MAX: u32 = 8;
/// What a cell may spend on one mapping before it is left as it is, in shares of what all would get alike: cells that
/// settle at once leave this much to those that do not.
const SPENT_SHARE_MAX: f64 = 2.0;
/// Mappings that every cell is seen on.
const MAPPINGS_OF_ALL: u32 = 2;
/// Share of the plateau cells that get fresh mappings too.
const PLATEAU_SHARE: f64 = 0.1;
/// Neighbours that differ by more than this share make a cell a knee.
const KNEE_STEP: f64 = 0.10;
/// Cells per pass when only wide cells are left.
const EXTRA_CELLS: usize = 40;
/// A cell gets at most so many visits: one that is still wide then is wide by nature.
const VISITS_MAX: usize = 40;
/// Added to the relative half-width of a cell whose fastest visit no other one confirms, so that it is visited again.
const UNCONFIRMED_PENALTY: f64 = 0.05;
/// Loads that warm a chain at most; building it has touched every line already.
const WARM_LOADS_MAX: usize = 32_768;
/// Blocks start at a random multiple of this.
const OFFSET_STEP_BYTES: usize = 4096;

/// A surface that is being measured.
#[derive(Debug)]
pub struct SurfaceRun {
    settings: Settings,
    seed: u64,
    random: SplitMix64,
    mapping: Mapping,
    mapping_number: u32,
    pages: Vec<Pages>,
    chosen: Vec<Place>,
    queue: VecDeque<Place>,
    passes_on_mapping: u32,
    rounds: BTreeMap<Place, u64>,
    visits: BTreeMap<Place, Vec<CellVisit>>,
    /// Seconds that each cell has taken on the mapping in use.
    spent_here_s: BTreeMap<Place, f64>,
    spent_s: f64,
}

impl SurfaceRun {
    /// Maps the memory and plans the first pass.
    ///
    /// # Errors
    /// If the kernel gives no memory, or the sampler is cut before it is laid.
    pub fn new(settings: Settings, seed: u64, sampler: &Sampler) -> Result<Self, MappingError> {
        let started = Instant::now();
        let mut random = SplitMix64::new(seed);
        let mapping = laid(&settings, sampler)?;
        let pages = vec![mapping.pages()];
        let chosen = settings.grid.places();
        let queue = shuffled(chosen.clone(), &mut random);
        Ok(Self {
            settings,
            seed,
            random,
            mapping,
            mapping_number: 0,
            pages,
            chosen,
            queue,
            passes_on_mapping: 0,
            rounds: BTreeMap::new(),
            visits: BTreeMap::new(),
            spent_here_s: BTreeMap::new(),
            spent_s: started.elapsed().as_secs_f64(),
        })
    }

    /// Makes one visit; false when there is nothing left to do within the budget, or the sampler is cut.
    ///
    /// # Errors
    /// If the kernel gives no memory for a fresh mapping.
    pub fn step(&mut self, sampler: &mut Sampler) -> Result<bool, MappingError> {
        if self.spent_s >= self.settings.budget_s {
            return Ok(false);
        }
        let started = Instant::now();
        while self.queue.is_empty() {
            self.passes_on_mapping += 1;
            match self.plan_next_pass(sampler) {
                Ok(true) => {}
                Ok(false) | Err(MappingError::BrokenOff { .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        if let Some(place) = self.queue.pop_front() {
            let Some(visit) = self.visit(place, sampler) else { return Ok(false) };
            let number = self.mapping_number;
            self.visits.entry(place).or_default().push(CellVisit { mapping: number, visit });
            *self.spent_here_s.entry(place).or_default() += started.elapsed().as_secs_f64();
        }
        self.spent_s += started.elapsed().as_secs_f64();
        Ok(true)
    }

    /// Time spent in steps so far, in seconds.
    pub fn spent_s(&self) -> f64 {
        self.spent_s
    }

    /// Fills the queue for the pass that follows; false when every cell is as narrow as asked for.
    fn plan_next_pass(&mut self, sampler: &Sampler) -> Result<bool, MappingError> {
        let again = self.cells_to_repeat();
        if !again.is_empty() {
            self.queue = shuffled(again, &mut self.random);
            return Ok(true);
        }
        self.map_afresh(sampler)?;
        self.chosen = match self.mapping_number {
            number if number < MAPPINGS_OF_ALL => self.settings.grid.places(),
            number if number < self.settings.mappings_at_knee && self.affords_another_mapping() => {
                self.settings.grid.places()
            }
            number if number < self.settings.mappings_at_knee => self.knees_and_some_others(),
            _ => self.widest(),
        };
        self.queue = shuffled(self.chosen.clone(), &mut self.random);
        Ok(!self.queue.is_empty())
    }

    /// The cells that get one more visit on this mapping: all that were chosen in the first passes, later those whose
    /// two fastest visits differ, while they are cheap.
    fn cells_to_repeat(&self) -> Vec<Place> {
        if self.passes_on_mapping < PASSES_OF_ALL {
            return self.chosen.clone();
        }
        if self.passes_on_mapping >= PASSES_MAX {
            return Vec::new();
        }
        let places = self.settings.grid.places().len() as f64;
        let alike_s = self.settings.budget_s / places / f64::from(self.settings.mappings_at_knee);
        let cheap = |place: &Place| {
            self.spent_here_s.get(place).is_none_or(|spent_s| *spent_s <= SPENT_SHARE_MAX * alike_s)
        };
        let settled = |place: &Place| {
            self.visits.get(place).is_some_and(|visits| {
                cells::is_settled(visits, self.mapping_number, self.settings.half_width)
            })
        };
        self.chosen.iter().filter(|place| cheap(place) && !settled(place)).copied().collect()
    }

    /// True if there is time to see every cell on one more mapping, and some left for the widest.
    fn affords_another_mapping(&self) -> bool {
        /// Share of the budget that is kept for the widest cells.
        const KEPT_SHARE: f64 = 0.1;
        let per_mapping_s = self.spent_s / f64::from(self.mapping_number.max(1));
        self.spent_s + per_mapping_s <= self.settings.budget_s * (1.0 - KEPT_SHARE)
    }

    /// A fresh mapping, made before the old one goes, so that it does not get the same pages back.
    fn map_afresh(&mut self, sampler: &Sampler) -> Result<(), MappingError> {
        self.mapping = laid(&self.settings, sampler)?;
        self.pages.push(self.mapping.pages());
        self.mapping_number += 1;
        self.passes_on_mapping = 0;
        self.spent_here_s.clear();
        Ok(())
    }

    fn noise(&self) -> Noise {
        Noise::of(self.visits.iter().map(|(&place, visits)| (place, visits.as_slice())))
    }

    fn knees_and_some_others(&mut self) -> Vec<Place> {
        let noise = self.noise();
        let values: BTreeMap<Place, f64> = self
            .visits
            .iter()
            .map(|(&place, visits)| (place, cells::estimate(place, visits, &noise).value))
            .collect();
        let mut chosen = Vec::new();
        for place in self.settings.grid.places() {
            let drawn = (self.random.below(1_000_000) as f64) < PLATEAU_SHARE * 1e6;
            if drawn || is_knee(&self.settings.grid.neighbours(place), place, &values) {
                chosen.push(place);
            }
        }
        chosen
    }

    /// The cells whose interval is wider than asked for, the widest first, at most a handful.
    fn widest(&self) -> Vec<Place> {
        let noise = self.noise();
        let mut wide: Vec<(f64, Place)> = self
            .visits
            .iter()
            .filter(|(_, visits)| visits.len() < VISITS_MAX)
            .map(|(&place, visits)| {
                let alone =
                    if cells::is_unconfirmed(place, visits, &noise) { UNCONFIRMED_PENALTY } else { 0.0 };
                (cells::estimate(place, visits, &noise).relative_half_width() + alone, place)
            })
            .filter(|(half_width, _)| *half_width > self.settings.half_width)
            .collect();
        wide.sort_by(|a, b| b.0.total_cmp(&a.0));
        wide.into_iter().take(EXTRA_CELLS).map(|(_, place)| place).collect()
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
        let rounds = *self
            .rounds
            .entry(place)
            .or_insert_with(|| sampler.rounds_for(WINDOW_NS, &mut walk).max(ROUNDS_MIN));
        sampler.about(|| cells::series_name(place, self.settings.page));
        let plan = VisitPlan { windows_min: 8, windows_max: 24, half_width: self.settings.half_width / 2.0 };
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
        let seed = self.seed ^ u64::from(self.mapping_number).rotate_left(56) ^ name;
        SplitMix64::new(seed).below(room as u64 + 1) as usize * OFFSET_STEP_BYTES
    }

    /// The cells measured so far, with their raw windows; cycles only if those of the multiply chain are known.
    pub fn finish(self, cpu: CpuId, cycles_per_multiply: Option<f64>) -> Vec<(LatencyCell, RawSeries)> {
        let noise = self.noise();
        let context = cells::Context {
            cpu,
            page: self.settings.page,
            pages: &self.pages,
            target: self.settings.half_width,
            cycles_per_multiply,
        };
        self.visits.iter().map(|(&place, visits)| cells::cell(place, visits, &noise, &context)).collect()
    }
}

/// The memory of a surface, unless the sampler is cut before it is there.
fn laid(settings: &Settings, sampler: &Sampler) -> Result<Mapping, MappingError> {
    Mapping::new_while(settings.grid.largest_bytes(), settings.page, &|| !sampler.is_cut())
}

fn is_knee(neighbours: &[Place], place: Place, values: &BTreeMap<Place, f64>) -> bool {
    let Some(&own) = values.get(&place) else { return false };
    neighbours
        .iter()
        .filter_map(|neighbour| values.get(neighbour))
        .any(|&other| (other / own).ln().abs() > KNEE_STEP)
}

fn shuffled(mut places: Vec<Place>, random: &mut SplitMix64) -> VecDeque<Place> {
    random.shuffle(&mut places);
    places.into()
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
    fn a_cell_beside_a_step_is_a_knee() {
        let place = |block_bytes| Place { block_bytes, stride_bytes: 64 };
        let values = [(place(1), 1.0), (place(2), 1.02), (place(4), 4.0)].into_iter().collect();
        assert!(!is_knee(&[place(2)], place(1), &values));
        assert!(is_knee(&[place(1), place(4)], place(2), &values));
        assert!(!is_knee(&[place(8)], place(4), &values));
    }

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
