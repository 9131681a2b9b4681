//! Reach of the TLBs and cost of a page walk, by paired chains on the same mapping of base pages.
//!
//! The spread chain has one node on each of n pages, the packed chain n nodes on consecutive lines: as many nodes, as
//! many lines, the same use of the cache sets, but n translations against n / 64. Both are timed in one pair of windows
//! in random order; the datum is the difference of the pair, so that drift cancels. Every pass has a fresh
//! mapping and new seeds; later passes add page counts where neighbours differ.
//!
//! On AMD the pages lie some pages apart, as one TLB entry may cover neighbours there: see `pair`.

mod pair;

use host::live::{Mapping, MappingError, PageRequest, Pinned};
use machine::{Bytes, Machine};
use record::{WalkPoint, metric};
use stats::{Order, median};

use self::pair::{Spacing, measure_pairs};
use super::MemoryError;
use crate::probe::{CheckUpProbe, Planned, Section, Subject};
use crate::room::largest_block;
use crate::sampler::Visit;
use crate::series::{PointVisit, Series, page_bytes};
use crate::session::{Budget, Session};

/// Half-width of a difference at which a point is done, as a share of the spread chain's latency.
const HALF_WIDTH: f64 = 0.03;
/// Passes that visit every page count.
const FULL_PASSES: u32 = 2;
/// A visit builds two chains and takes its pairs in about this long at most, in seconds.
const VISIT_S: f64 = 0.02;

/// The probe in the check-up.
pub(crate) const PROBE: CheckUpProbe = CheckUpProbe {
    seconds: [None, Some(4.5), Some(20.0)],
    least_s: 0.8,
    epoch_least_s: Some(0.45),
    rank: 110,
    // It stays in its own caches and TLBs.
    disturbs: "core",
    ..CheckUpProbe::new("walks", Section::Memory, plan)
};

fn plan(subject: &Subject<'_>, seconds: f64) -> Planned {
    let settings = subject.by_depth([Settings::quick, Settings::check_up, Settings::full])();
    subject.planned(seconds, settings, |settings| &mut settings.budget_s, Settings::worst_case_s, run)
}

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The largest page count.
    pub pages_max: usize,
    /// Passes at most, each on a fresh mapping.
    pub passes_max: u32,
    /// Time for everything, in seconds.
    pub budget_s: f64,
}

impl Settings {
    /// `--quick`.
    pub fn quick() -> Self {
        Self { passes_max: 3, ..Self::check_up() }
    }

    /// The check-up.
    pub fn check_up() -> Self {
        Self { pages_max: 8_192, passes_max: 6, budget_s: 0.0 }
    }

    /// `--full`: further, and longer.
    pub fn full() -> Self {
        Self { pages_max: 16_384, passes_max: 10, ..Self::check_up() }
    }

    /// Memory of one mapping, rounded up to whole MiB.
    fn block(&self, machine: &Machine) -> Bytes {
        let spacing = Spacing::of(machine);
        let bytes = spacing.mapping_bytes(self.pages_max) as u64;
        largest_block(machine, Bytes(bytes.next_multiple_of(Bytes::MIB.0)))
    }

    /// Time it may take at most, in seconds: the budget and one visit.
    pub fn worst_case_s(&self, _cpus: usize, machine: &Machine) -> f64 {
        /// Base pages are touched at least this fast, in bytes per second.
        const SLOWEST_TOUCH_BYTES_PER_S: f64 = 0.5e9;
        self.budget_s + VISIT_S + self.block(machine).0 as f64 / SLOWEST_TOUCH_BYTES_PER_S
    }
}

/// One page count while it is measured.
#[derive(Debug, Clone, Default)]
struct Point {
    delta: Series,
    spread: Series,
    packed: Series,
}

/// Measures the differences on the first CPU of the session and adds them to the record, also when stopped half-way.
///
/// # Errors
/// No memory, or a CPU that may not be used.
pub fn run(session: &mut Session<'_>, settings: &Settings) -> Result<(), MemoryError> {
    let cpu = session.cpus[0];
    let pinned = Pinned::to(cpu)?;
    let mut sampler = session.sampler(cpu);
    let budget = Budget::start(settings.budget_s);
    let block = settings.block(&session.record.machine);
    let spacing = Spacing::of(&session.record.machine);
    // A machine with little memory gets fewer pages.
    let share = block.0 as f64 / spacing.mapping_bytes(settings.pages_max) as f64;
    let pages_max = (settings.pages_max as f64 * share.min(1.0)) as usize;
    let mut counts = page_counts(pages_max);
    let mut points = vec![Point::default(); counts.len()];
    let mut given = Vec::new();
    'passes: for pass in 0..settings.passes_max {
        if budget.is_over(session) {
            break;
        }
        let goes_on = || !budget.is_over(session);
        let mut mapping =
            match Mapping::new_while(spacing.mapping_bytes(pages_max), PageRequest::Base, &goes_on) {
                Err(MappingError::BrokenOff { .. }) => break,
                mapping => mapping?,
            };
        given.push(mapping.pages());
        let mut order: Vec<usize> = chosen(&points, pass);
        session.random.shuffle(&mut order);
        for index in order {
            if budget.is_over(session) {
                break 'passes;
            }
            let before = sampler.control.read(sampler.rate);
            // Both chains: then what their windows differ by is longer by the factor too.
            sampler.about(|| series_name(counts[index]));
            let pairs = measure_pairs(
                &mut sampler,
                mapping.as_mut_slice(),
                spacing,
                counts[index],
                &mut session.random,
            );
            let control = [before, sampler.control.read(sampler.rate)];
            let visit =
                |windows| PointVisit::of(pass, cpu, Visit { windows, dropped: pairs.dropped, control });
            points[index].delta.visits.push(visit(pairs.delta_ns()));
            points[index].spread.visits.push(visit(pairs.spread_ns.clone()));
            points[index].packed.visits.push(visit(pairs.packed_ns.clone()));
            budget.show(session);
        }
        insert_refinements(&mut counts, &mut points);
    }
    session.absorb(&mut sampler);
    drop(pinned);
    keep(session, cpu, &counts, &points, page_bytes(PageRequest::Base, &given));
    Ok(())
}

/// Points of a pass: first all, later those that are new or not settled.
fn chosen(points: &[Point], pass: u32) -> Vec<usize> {
    let is_settled = |point: &Point| {
        let scale = value(&point.spread).unwrap_or(1.0);
        point.delta.is_settled_against(&metric::WALKS, HALF_WIDTH, scale)
    };
    (0..points.len())
        .filter(|&index| {
            let point = &points[index];
            pass < FULL_PASSES || point.delta.visits.len() < FULL_PASSES as usize || !is_settled(point)
        })
        .collect()
}

/// The median of the visits.
fn value(series: &Series) -> Option<f64> {
    median(&series.values(&metric::WALKS))
}

/// Adds page counts between neighbours that differ.
fn insert_refinements(counts: &mut Vec<usize>, points: &mut Vec<Point>) {
    let deltas: Vec<Option<f64>> = points.iter().map(|point| value(&point.delta)).collect();
    for count in refined(counts, &deltas) {
        let place = counts.partition_point(|&have| have < count);
        counts.insert(place, count);
        points.insert(place, Point::default());
    }
}

fn series_name(pages: usize) -> String {
    format!("walks, delta, {pages} pages")
}

fn keep(
    session: &mut Session<'_>,
    cpu: machine::CpuId,
    counts: &[usize],
    points: &[Point],
    page_bytes: Bytes,
) {
    for (&pages, point) in counts.iter().zip(points) {
        let (Some(spread_ns), Some(packed_ns)) = (value(&point.spread), value(&point.packed)) else {
            continue;
        };
        let name = series_name(pages);
        let delta = point.delta.measured_against(session, &metric::WALKS, name, spread_ns);
        let Some(delta) = delta else { continue };
        session.result().memory.walks.push(WalkPoint {
            cpu,
            pages: pages as u64,
            page_bytes,
            spread_ns,
            packed_ns,
            delta_ns: delta.value,
            spread: delta.spread,
        });
    }
}

/// Octaves in which TLBs of today end, in pages: first-level ones have 32 to 128 entries, second-level ones 1024 to
/// 3072 (CPUID leaves and manuals of Intel and AMD cores from 2010 to 2024). There the grid is finer.
const FINE_OCTAVES: [std::ops::Range<usize>; 2] = [32..128, 1024..4096];
/// Steps per octave elsewhere and there.
const STEPS_COARSE: u32 = 2;
const STEPS_FINE: u32 = 8;
/// The smallest page count.
const PAGES_MIN: usize = 16;
/// Neighbours are refined when their differences are apart by this, in ns ...
const STEP_NS: f64 = 0.5;
/// ... and by this share of the larger.
const STEP_SHARE: f64 = 0.15;
/// Page counts closer than this ratio are not refined further.
const CLOSEST_RATIO: f64 = 1.035;
/// At most so many page counts are added in one pass, where the differences rise by the largest factor.
const ADDED_MAX: usize = 12;

/// Page counts from 16 to the largest, ascending.
pub fn page_counts(pages_max: usize) -> Vec<usize> {
    let mut counts = Vec::new();
    let mut octave = PAGES_MIN;
    while octave <= pages_max {
        let is_fine = FINE_OCTAVES.iter().any(|fine| fine.contains(&octave));
        let steps = if is_fine { STEPS_FINE } else { STEPS_COARSE };
        counts.extend(
            (0..steps)
                .map(|step| (octave as f64 * (f64::from(step) / f64::from(steps)).exp2()).round() as usize),
        );
        octave *= 2;
    }
    counts.retain(|&count| count <= pages_max);
    counts.dedup();
    counts
}

/// Page counts to add: the geometric middle of neighbours whose differences are apart.
fn refined(counts: &[usize], delta_ns: &[Option<f64>]) -> Vec<usize> {
    let mut steps: Vec<(f64, usize)> = counts
        .windows(2)
        .zip(delta_ns.windows(2))
        .filter_map(|(pages, deltas)| {
            let (low, high) = (deltas[0]?, deltas[1]?);
            let step_ns = (high - low).abs();
            let is_step = step_ns > STEP_NS && step_ns > STEP_SHARE * low.abs().max(high.abs());
            let is_open = pages[1] as f64 / pages[0] as f64 > CLOSEST_RATIO;
            let middle = (pages[0] as f64 * pages[1] as f64).sqrt().round() as usize;
            let steepness = step_ns / low.abs().min(high.abs()).max(STEP_NS);
            (is_step && is_open && middle > pages[0] && middle < pages[1]).then_some((steepness, middle))
        })
        .collect();
    steps.order_by(|a, b| b.0.total_cmp(&a.0));
    let mut added: Vec<usize> = steps.into_iter().take(ADDED_MAX).map(|(_, middle)| middle).collect();
    added.sort_unstable();
    added
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_case_is_the_budget_and_little_more() {
        let settings = Settings::check_up();
        let worst = settings.worst_case_s(2, &Machine::default());
        assert!(worst > settings.budget_s && worst < settings.budget_s + 2.0, "{worst}");
    }

    #[test]
    fn later_passes_take_new_and_wide_points_only() {
        let mut measured = Point::default();
        for mapping in 0..2 {
            let visit = |value: f64| PointVisit { mapping, windows: vec![value; 7], ..PointVisit::default() };
            measured.delta.visits.push(visit(1.0));
            measured.spread.visits.push(visit(5.0));
        }
        let points = [measured, Point::default()];
        assert_eq!(chosen(&points, 0), [0, 1]);
        assert_eq!(chosen(&points, 2), [1]);
    }

    #[test]
    fn the_grid_is_finer_than_ten_percent_where_tlbs_end() {
        let counts = page_counts(8_192);
        assert_eq!((counts[0], *counts.last().expect("counts")), (16, 8_192));
        assert!(counts.is_sorted());
        for entries in [48, 64, 96, 1024, 1536, 2048, 3072] {
            let near = counts.iter().any(|&count| (count as f64 / f64::from(entries) - 1.0).abs() < 0.05);
            assert!(near, "{entries} in {counts:?}");
        }
        assert!(counts.len() < 60, "{}", counts.len());
    }

    #[test]
    fn a_step_is_refined_and_a_plateau_is_not() {
        let counts = [32, 64, 128, 256];
        let deltas = [Some(0.0), Some(0.05), Some(2.0), Some(2.1)];
        assert_eq!(refined(&counts, &deltas), [91]);
        assert!(refined(&counts, &[None, Some(0.0), None, Some(9.0)]).is_empty());
        assert!(refined(&[100, 103], &[Some(0.0), Some(9.0)]).is_empty());
    }
}
