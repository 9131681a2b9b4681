//! The model fitted to the latency surface of a real machine: how near it comes, what it tells, and what it would cost there
//! to work around erratum 298.
//!
//! Free are one latency per cache, memory's beyond the last cache, the second translation buffer and a walk; and how much of
//! the last cache there is, as its claimed size may be shared with others, or with guests that nobody sees. As a noisy
//! neighbour only adds time, and to some chains much, large errors count by their size and not by its square. Widths and
//! lines under way are set so that the measured reads come out: each is one number from one number, and checks nothing.

use machine::Bytes;

use super::costs::{Costs, Parameters, TimePerAccess, Waits};
use super::description::{MemoryMachine, Workaround};
use super::description::{Program, Test, Unit};
use super::fit::Identified;
use super::geometry::PagePlacement;
use super::measured::{self, Measured, MeasuredChain, TooLittleMeasured, memory_read};
use super::measured_result::{BEYOND_CACHES, ChainResidual, MeasuredFit, RegionResidual, SPREAD_BLOCK};
use super::measured_scenarios::{memory_ns, phenom_reads_in_loads, scenarios};
use super::measured_trust;
use super::prediction::trace_placed;
use super::simulation::{Scope, Simulation, simulate};
use super::simulator::Counters;
use crate::least_squares::{least_squares, weigh};
use crate::machine_file::{FITTED, Sourced};
use crate::published::error_percent;

/// A chain is not known better than this, however narrow its interval: physical placement differs from run to run.
const TOLERANCE_MIN_PERCENT: f64 = 5.0;
/// Nothing is known of a chain whose interval is wider than this: it would only be carried along.
const TOLERANCE_MAX_PERCENT: f64 = 100.0;
/// Lines under way at once: between one and what no core has.
const OUTSTANDING_RANGE: (f64, f64) = (1.0, 256.0);
/// Halvings of that range: to a millionth.
const HALVINGS: usize = 30;

/// Chains with their counts: what is left is arithmetic.
struct Problem {
    machine: MemoryMachine,
    chains: Vec<MeasuredChain>,
    counters: Vec<Counters>,
}

impl Problem {
    fn new(measured: &Measured, choice: Choice) -> Result<Self, TooLittleMeasured> {
        let Choice { placement, last_cache_ways } = choice;
        let mut machine = measured::described(measured, placement)?;
        measured::keep_ways(&mut machine, last_cache_ways);
        let geometry = machine.geometry(&machine.board[0], Workaround::Off);
        let chains = measured.chains.clone();
        let counted = |chain: &MeasuredChain| {
            trace_placed(&geometry, placement, Program::RandomChase, chain.block_bytes, chain.stride_bytes)
        };
        let counters = chains.iter().map(counted).collect();
        Ok(Self { machine, chains, counters })
    }

    /// Logarithms of the free times in nanoseconds.
    fn start(&self) -> Vec<f64> {
        let core_ns = self.core_ns();
        let caches = self.machine.cache.iter().map(|cache| cache.core_cycles.value * core_ns);
        let translation = &self.machine.translation;
        let walks = [translation.second_hit_core_cycles.value, translation.walk_core_cycles.value];
        let times = caches.chain([self.machine.dram_ns.value]).chain(walks.map(|cycles| cycles * core_ns));
        times.map(f64::ln).collect()
    }

    fn names(&self) -> Vec<String> {
        let caches = self.machine.cache.iter().map(|cache| format!("{} ns", cache.name));
        let rest = [BEYOND_CACHES, "second translation buffer, ns", "walk without its page-table reads, ns"];
        caches.chain(rest.map(str::to_owned)).collect()
    }

    fn core_ns(&self) -> f64 {
        1e9 / self.machine.board[0].core_hz.value.0
    }

    /// The machine with these times.
    fn at(&self, logarithms: &[f64]) -> MemoryMachine {
        let mut machine = self.machine.clone();
        let core_ns = self.core_ns();
        let caches = machine.cache.len();
        for (cache, logarithm) in machine.cache.iter_mut().zip(logarithms) {
            cache.core_cycles.value = logarithm.exp() / core_ns;
        }
        machine.dram_ns.value = logarithms[caches].exp();
        machine.translation.second_hit_core_cycles.value = logarithms[caches + 1].exp() / core_ns;
        machine.translation.walk_core_cycles.value = logarithms[caches + 2].exp() / core_ns;
        machine
    }

    fn predicted(&self, machine: &MemoryMachine) -> Vec<TimePerAccess> {
        let costs = Costs::new(machine, &machine.board[0], &Parameters::of(machine));
        self.counters.iter().map(|counters| costs.time(counters, Waits::ForEach)).collect()
    }

    /// Errors in units of tolerance; large ones by the root of their size.
    fn errors(&self, logarithms: &[f64]) -> Vec<f64> {
        let pairs = self.predicted(&self.at(logarithms)).into_iter().zip(&self.chains);
        pairs
            .map(|(time, chain)| {
                let error = (time.total_ns() / chain.ns).ln() / (1.0 + tolerance_percent(chain) / 100.0).ln();
                root_of_size(error) * chain.weight.sqrt()
            })
            .collect()
    }

    fn solved(&self) -> Vec<f64> {
        least_squares(&self.start(), |logarithms| self.errors(logarithms))
    }

    fn squares(&self, logarithms: &[f64]) -> f64 {
        self.errors(logarithms).iter().map(|error| error * error).sum()
    }
}

/// A function whose square is quadratic near zero and straight far from it.
fn root_of_size(error: f64) -> f64 {
    (2.0 * ((1.0 + error * error).sqrt() - 1.0)).sqrt().copysign(error)
}

fn tolerance_percent(chain: &MeasuredChain) -> f64 {
    chain.uncertainty_percent.clamp(TOLERANCE_MIN_PERCENT, TOLERANCE_MAX_PERCENT)
}

/// What is no number on a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Choice {
    placement: PagePlacement,
    /// Ways of the last cache that are there.
    last_cache_ways: usize,
}

/// A fit of one choice.
struct Fitted {
    choice: Choice,
    problem: Problem,
    found: Vec<f64>,
    squares: f64,
}

impl Fitted {
    fn new(measured: &Measured, choice: Choice) -> Result<Self, TooLittleMeasured> {
        let problem = Problem::new(measured, choice)?;
        let found = problem.solved();
        let squares = problem.squares(&found);
        Ok(Self { choice, problem, found, squares })
    }

    /// By which factor another choice is worse.
    fn worse(&self, other: f64) -> f64 {
        other / self.squares.max(f64::MIN_POSITIVE)
    }
}

/// The fit of the best choice, and how much worse others are.
struct Best {
    fitted: Fitted,
    claimed_worse: f64,
    other_placement_worse: f64,
}

/// Tries all, half, a quarter, ... of the last cache with scattered pages, then the other placement with the best of them.
fn best(measured: &Measured) -> Result<Best, TooLittleMeasured> {
    let claimed = measured.caches.last().map_or(1, |cache| cache.ways);
    let mut tried = Vec::new();
    let mut ways = claimed;
    while ways > 0 {
        let choice = Choice { placement: PagePlacement::Scattered, last_cache_ways: ways };
        tried.push(Fitted::new(measured, choice)?);
        ways /= 2;
    }
    let claimed_squares = tried[0].squares;
    let fitted = tried
        .into_iter()
        .reduce(|best, fit| if fit.squares < best.squares { fit } else { best })
        .expect("a cache has ways");
    let other = Fitted::new(measured, Choice { placement: PagePlacement::Contiguous, ..fitted.choice })?;
    let (fitted, rival) = if other.squares < fitted.squares { (other, fitted) } else { (fitted, other) };
    Ok(Best {
        claimed_worse: fitted.worse(claimed_squares),
        other_placement_worse: fitted.worse(rival.squares),
        fitted,
    })
}

/// Fits the model to what a machine measured, and simulates it without and with the workaround of erratum 298.
///
/// # Errors
/// `TooLittleMeasured`.
pub fn simulate_measured(measured: &Measured, scope: Scope) -> Result<Simulation, TooLittleMeasured> {
    let line = measured.line_bytes;
    let mut measured = measured.clone();
    // Several elements in one line are served by one miss: the model would need to know in which order.
    measured.chains.retain(|chain| chain.stride_bytes >= line && chain.ns > 0.0);
    let best = best(&measured)?;
    let Fitted { problem, found, .. } = &best.fitted;
    let mut machine = problem.at(found);
    widths(&mut machine, &measured);
    machine.workaround.uncached_read_ns.value = memory_ns(&machine);
    machine.test = tests(&machine, &measured);
    let measured = &measured;
    let mut simulation = simulate(&machine, Scope { fit: false, chain: Program::RandomChase, ..scope });
    measured_trust::join(&mut simulation, measured);
    let mut fit = judged(&best, &machine, measured);
    measured_trust::withhold(&mut simulation, &mut fit, line);
    simulation.measured = Some(fit);
    Ok(simulation)
}

/// Widths of caches and lines under way by what was read from blocks of about half of each.
fn widths(machine: &mut MemoryMachine, measured: &Measured) {
    let core_hz = measured.core_hz.0;
    let bytes_per_cycle = |mb_per_s: f64| mb_per_s * 1e6 / core_hz;
    let mut above = Bytes(0);
    for (index, cache) in machine.cache.iter_mut().enumerate() {
        let half = Bytes(cache.size_bytes.value.0 / 2);
        let fits = measured.reads.iter().filter(|read| read.block_bytes > above && read.block_bytes <= half);
        if let Some(read) = fits.max_by_key(|read| read.block_bytes) {
            let width = Sourced { value: bytes_per_cycle(read.mb_per_s), source: FITTED.to_owned() };
            if index == 0 {
                machine.load_bytes_per_core_cycle = width;
            } else {
                cache.bytes_per_core_cycle = Some(width);
            }
        }
        above = cache.size_bytes.value;
    }
    let Some(read) = memory_read(measured) else { return };
    let geometry = machine.geometry(&machine.board[0], Workaround::Off);
    let counters = trace_placed(
        &geometry,
        machine.page_placement,
        Program::Stream,
        read.block_bytes,
        machine.line_bytes,
    );
    let (mut few, mut many) = OUTSTANDING_RANGE;
    for _ in 0..HALVINGS {
        let lines = (few * many).sqrt();
        let parameters = Parameters { outstanding_lines: lines, ..Parameters::of(machine) };
        let time = Costs::new(machine, &machine.board[0], &parameters).time(&counters, Waits::ForNone);
        let mb_per_s = machine.line_bytes.0 as f64 / time.total_ns() * 1e3;
        if mb_per_s < read.mb_per_s { few = lines } else { many = lines }
    }
    machine.prefetch.outstanding_lines.value = (few * many).sqrt();
}

/// A chain in half of each cache, pages in the largest block, a stream, and a chain all over memory.
fn tests(machine: &MemoryMachine, measured: &Measured) -> Vec<Test> {
    let test = |name: String, title: &str, unit, program, block_bytes, stride: Bytes| Test {
        name,
        title: title.to_owned(),
        unit,
        program,
        block_bytes,
        stride_bytes: Sourced { value: stride, source: "as measured".to_owned() },
        off: measured::HOST.to_owned(),
        on: measured::HOST.to_owned(),
    };
    let line = machine.line_bytes;
    let mut tests = Vec::new();
    for cache in &machine.cache {
        let fits = measured.chains.iter().filter(|chain| {
            chain.stride_bytes == line && chain.block_bytes.0 <= cache.size_bytes.value.0 / 2
        });
        if let Some(chain) = fits.max_by_key(|chain| chain.block_bytes) {
            let name = format!("{}_ns", cache.name.to_lowercase());
            let title = "latency of a random chain in half of it";
            tests.push(test(name, title, Unit::Nanoseconds, Program::RandomChase, chain.block_bytes, line));
        }
    }
    let largest = measured_trust::largest_of_stride(measured, machine.translation.page_bytes);
    let page = machine.translation.page_bytes;
    let title = "latency of a random chain through pages";
    let name = "pages_ns".to_owned();
    tests.push(test(name, title, Unit::Nanoseconds, Program::RandomChase, largest, page));
    if let Some(read) = memory_read(measured) {
        let name = "stream_mb_per_s".to_owned();
        let title = "one core reads memory";
        tests.push(test(name, title, Unit::MegabytesPerSecond, Program::Stream, read.block_bytes, line));
    }
    let title = "a program that is all over 200 MiB: random chain";
    let name = "random_200mb_ns".to_owned();
    tests.push(test(name, title, Unit::Nanoseconds, Program::RandomChase, SPREAD_BLOCK, line));
    tests
}

fn judged(best: &Best, machine: &MemoryMachine, measured: &Measured) -> MeasuredFit {
    let Fitted { problem, found, .. } = &best.fitted;
    // The chains scatter more or less than their tolerances say: what they really do counts.
    let free = problem.chains.len().saturating_sub(found.len()).max(1);
    let scatter = (best.fitted.squares / free as f64).sqrt();
    let weighed = weigh(found, |logarithms| problem.errors(logarithms));
    let fitted =
        problem.names().into_iter().zip(found).zip(&weighed.deviations).map(|((name, at), deviation)| {
            let uncertainty_percent = deviation.map(|deviation| (deviation * scatter).exp_m1() * 100.0);
            Identified { parameter: name, value: at.exp(), uncertainty_percent }
        });
    let fitted = fitted.collect();
    let chains: Vec<ChainResidual> = problem
        .predicted(&problem.at(found))
        .iter()
        .zip(problem.chains.iter().zip(&problem.counters))
        .map(|(time, (chain, counters))| residual(machine, time, chain, counters))
        .collect();
    let absolute: Vec<f64> = chains.iter().map(|chain| chain.error_percent.abs()).collect();
    MeasuredFit {
        fitted,
        last_cache_bytes: machine.cache.last().map_or(Bytes(0), |cache| cache.size_bytes.value),
        last_cache_claimed_bytes: measured.caches.last().map_or(Bytes(0), |cache| cache.size_bytes),
        claimed_worse: best.claimed_worse,
        page_placement: machine.page_placement,
        other_placement_worse: best.other_placement_worse,
        regions: regions(machine, &chains),
        median_error_percent: median(&absolute),
        chains,
        scenarios: scenarios(machine),
        phenom_reads_in_loads: phenom_reads_in_loads(),
        is_guest: measured.is_guest,
        memory_withheld: None,
    }
}

fn place_names(machine: &MemoryMachine) -> Vec<String> {
    machine.cache.iter().map(|cache| cache.name.clone()).chain(["memory".to_owned()]).collect()
}

fn residual(
    machine: &MemoryMachine,
    time: &TimePerAccess,
    chain: &MeasuredChain,
    counters: &Counters,
) -> ChainResidual {
    let names = place_names(machine);
    let served = |place: &usize| counters.served[*place].iter().sum::<u64>();
    let place = (0..names.len()).max_by_key(served).unwrap_or(0);
    ChainResidual {
        block_bytes: chain.block_bytes,
        stride_bytes: chain.stride_bytes,
        place: names[place].clone(),
        measured_ns: chain.ns,
        fitted_ns: time.total_ns(),
        error_percent: error_percent(time.total_ns(), chain.ns),
        tolerance_percent: tolerance_percent(chain),
    }
}

fn regions(machine: &MemoryMachine, chains: &[ChainResidual]) -> Vec<RegionResidual> {
    let of = |place: String| {
        let errors: Vec<f64> =
            chains.iter().filter(|chain| chain.place == place).map(|chain| chain.error_percent).collect();
        let worst = errors.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()))?;
        Some(RegionResidual {
            place,
            chains: errors.len(),
            bias_percent: median(&errors),
            median_error_percent: median(&errors.iter().map(|error| error.abs()).collect::<Vec<f64>>()),
            worst_percent: worst,
        })
    };
    place_names(machine).into_iter().filter_map(of).collect()
}

fn median(values: &[f64]) -> f64 {
    stats::median(values).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use machine::Hertz;

    use super::super::measured::{MeasuredCache, MeasuredRead, MeasuredTlb};
    use super::*;

    /// Latencies of three caches, memory beyond them, second translation buffer, walk: nanoseconds.
    const TRUE_NS: [f64; 6] = [1.0, 4.0, 15.0, 80.0, 2.0, 10.0];

    /// A machine that claims 1 MiB of last cache, of which it has `ways` of eight, measured without noise.
    fn measured(ways: usize) -> Measured {
        let cache =
            |kib: u64, ways, is_victim| MeasuredCache { size_bytes: Bytes(kib << 10), ways, is_victim };
        let tlb = |entries, ways| MeasuredTlb { entries, ways, source: "made up".to_owned() };
        let blocks = (12..22).flat_map(|log2| [1_u64 << log2, 3 << (log2 - 1)]);
        let chain = |block: u64, stride: u64| MeasuredChain {
            block_bytes: Bytes(block),
            stride_bytes: Bytes(stride),
            ns: 1.0,
            uncertainty_percent: 1.0,
            weight: 1.0,
        };
        let beyond = MeasuredChain { weight: 8.0, ..chain(64 << 20, 64) };
        let chains = blocks.flat_map(|block| [64, 1024, 4096].map(|stride| chain(block, stride)));
        let mut measured = Measured {
            title: "made up".to_owned(),
            core_hz: Hertz(2e9),
            line_bytes: Bytes(64),
            page_bytes: Bytes(4096),
            caches: vec![cache(16, 4, false), cache(128, 8, false), cache(1024, 8, true)],
            tlbs: [tlb(16, 16), tlb(128, 8)],
            page_table_levels: 4,
            is_guest: false,
            chains: chains
                .filter(|chain| chain.block_bytes.0 / chain.stride_bytes.0 >= 4)
                .chain([beyond])
                .collect(),
            reads: vec![MeasuredRead { block_bytes: Bytes(64 << 20), mb_per_s: 8000.0 }],
        };
        let choice = Choice { placement: PagePlacement::Scattered, last_cache_ways: ways };
        let problem = Problem::new(&measured, choice).expect("enough chains");
        let times = problem.predicted(&problem.at(&TRUE_NS.map(f64::ln)));
        for (chain, time) in measured.chains.iter_mut().zip(times) {
            chain.ns = time.total_ns();
        }
        measured
    }

    #[test]
    fn a_fit_finds_the_times_and_the_part_of_the_last_cache_that_made_the_chains() {
        for ways in [8, 2] {
            let simulation =
                simulate_measured(&measured(ways), Scope::default()).expect("enough was measured");
            let fit = simulation.measured.expect("it was fitted");
            assert_eq!(fit.last_cache_bytes, Bytes((1 << 20) / 8 * ways as u64));
            assert!(fit.median_error_percent < 0.5, "{}", fit.median_error_percent);
            for (one, expected) in fit.fitted.iter().zip(TRUE_NS) {
                assert!((one.value / expected - 1.0).abs() < 0.05, "{one:?}, {expected} expected");
            }
            let stream = simulation.rows.iter().find(|row| row.name == "stream_mb_per_s").expect("a read");
            assert!((stream.off / 8000.0 - 1.0).abs() < 0.01, "{}", stream.off);
            let spread = simulation.rows.iter().find(|row| row.name == "random_200mb_ns").expect("always");
            assert!(spread.on > spread.off * 1.5 && spread.measured.is_none());
        }
    }

    #[test]
    fn too_little_is_an_error_that_says_what_to_measure() {
        let enough = measured(8);
        let few = Measured { chains: enough.chains[..5].to_vec(), ..enough.clone() };
        let error = simulate_measured(&few, Scope::default()).expect_err("too few chains").to_string();
        assert!(error.contains("sidestep run --only surface"), "{error}");
        let none = Measured { caches: Vec::new(), ..enough };
        assert!(simulate_measured(&none, Scope::default()).is_err());
    }
}
