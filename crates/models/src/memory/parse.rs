//! From the text of a machine file to a machine, or to what is wrong with it, where, and what to do.

use machine::Bytes;
use serde::Deserialize;

use super::description::{
    Board, CacheDescription, MemoryMachine, PrefetchDescription, TranslationDescription,
    WorkaroundDescription,
};
use super::geometry::{LEVELS_MAX, PagePlacement};
use super::prediction::{Program, Test};
use super::published::Published;
use crate::machine_file::{DescriptionError, Problem, Sourced, decoded, problem, unless_impossible};

/// Clocks outside of this are slips of the pen.
const CLOCK_HZ: std::ops::RangeInclusive<f64> = 1e6..=1e11;
/// The simulator numbers lines in 32 bits; shorter ones than this would not fit.
const LINE_BYTES_MIN: u64 = 64;
/// The smallest page of x86. AMD64 APM vol. 2 (24593), page translation.
const PAGE_BYTES_MIN: u64 = 4096;
/// Larger blocks than this no program of a machine file may touch: page tables lie above.
const BLOCK_BYTES_MAX: u64 = 1 << 37;
/// More steps than this around a block take minutes, and their order gigabytes.
const STEPS_MAX: u64 = 1 << 26;
/// More sets or entries than this are a slip of the pen: a cache of 1 GiB in lines of 64 bytes.
const PLACES_MAX: u64 = 1 << 24;

/// A machine and, apart from it, what others published of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// The machine.
    pub machine: MemoryMachine,
    /// Published numbers, which no prediction reads.
    pub published: Vec<Published>,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    title: String,
    line_bytes: Bytes,
    load_bytes_per_core_cycle: Sourced<f64>,
    dram_ns: Sourced<f64>,
    cache: Vec<CacheDescription>,
    translation: TranslationDescription,
    prefetch: PrefetchDescription,
    workaround: WorkaroundDescription,
    board: Vec<Board>,
    #[serde(default)]
    page_placement: PagePlacement,
    #[serde(default)]
    test: Vec<Test>,
    #[serde(default)]
    published: Vec<Published>,
}

/// Reads the text of a machine file; `file` is its name in messages.
///
/// # Errors
/// `Syntax` with the line where the text is no machine, `Impossible` where no machine can be so.
pub fn parse(text: &str, file: &str) -> Result<Described, DescriptionError> {
    let parsed: File = decoded(text, file)?;
    let machine = MemoryMachine {
        name: parsed.name,
        title: parsed.title,
        line_bytes: parsed.line_bytes,
        load_bytes_per_core_cycle: parsed.load_bytes_per_core_cycle,
        dram_ns: parsed.dram_ns,
        cache: parsed.cache,
        translation: parsed.translation,
        prefetch: parsed.prefetch,
        workaround: parsed.workaround,
        board: parsed.board,
        page_placement: parsed.page_placement,
        test: parsed.test,
    };
    let described = Described { machine, published: parsed.published };
    let problem = impossible(&described);
    unless_impossible(described, problem, file)
}

/// The first thing that no machine can be, and where.
fn impossible(described: &Described) -> Option<Problem> {
    let machine = &described.machine;
    sizes(machine)
        .or_else(|| numbers(machine))
        .or_else(|| boards_and_tests(machine))
        .or_else(|| published(described))
}

fn sizes(machine: &MemoryMachine) -> Option<Problem> {
    let translation = &machine.translation;
    let powers = [
        ("line_bytes", machine.line_bytes, LINE_BYTES_MIN),
        ("translation.page_bytes", translation.page_bytes, PAGE_BYTES_MIN),
        ("prefetch.stop_bytes", machine.prefetch.stop_bytes.value, machine.line_bytes.0),
    ];
    for (key, bytes, least) in powers {
        if !bytes.0.is_power_of_two() || bytes.0 < least || bytes > Bytes::GIB {
            return Some(problem(key, format!("is {}; give a power of two from {least} to 2^30", bytes.0)));
        }
    }
    if !(1..=LEVELS_MAX).contains(&machine.cache.len()) {
        return Some(problem(
            "cache",
            format!("stands {} times; give 1 to {LEVELS_MAX}", machine.cache.len()),
        ));
    }
    for cache in &machine.cache {
        let line_bytes = machine.line_bytes.0;
        let lines = cache.size_bytes.value.0 / line_bytes;
        let fits = cache.ways.value > 0 && lines > 0 && lines.is_multiple_of(cache.ways.value as u64);
        if !fits || cache.size_bytes.value.0 % line_bytes != 0 || lines > PLACES_MAX {
            let name = &cache.name;
            return Some(problem(
                format!("cache {name}"),
                format!(
                    "has size_bytes {} and ways {}; the size must be whole sets of lines of {line_bytes} bytes, at most 1 GiB",
                    cache.size_bytes.value.0, cache.ways.value
                ),
            ));
        }
    }
    let buffers = [
        ("translation.first_entries", translation.first_entries.value, translation.first_ways.value),
        ("translation.second_entries", translation.second_entries.value, translation.second_ways.value),
    ];
    for (key, entries, ways) in buffers {
        if ways == 0 || entries == 0 || entries % ways != 0 || entries as u64 > PLACES_MAX {
            return Some(problem(key, format!("is {entries} in {ways} ways; give whole sets, at least one")));
        }
    }
    if translation.walk_cache_entries.value as u64 > PLACES_MAX {
        return Some(problem("translation.walk_cache_entries", "is too large; give the number of entries"));
    }
    let level = translation.walker_reads_from_level.value;
    if !(1..=machine.cache.len()).contains(&level) {
        return Some(problem(
            "translation.walker_reads_from_level",
            format!("is {level}; give one of the caches"),
        ));
    }
    None
}

fn numbers(machine: &MemoryMachine) -> Option<Problem> {
    let (translation, prefetch) = (&machine.translation, &machine.prefetch);
    let mut positive = vec![
        ("load_bytes_per_core_cycle".to_owned(), machine.load_bytes_per_core_cycle.value),
        ("prefetch.outstanding_lines".to_owned(), prefetch.outstanding_lines.value),
        ("workaround.uncached_read_ns".to_owned(), machine.workaround.uncached_read_ns.value),
        ("dram_ns".to_owned(), machine.dram_ns.value),
    ];
    let mut others = vec![
        ("translation.second_hit_core_cycles".to_owned(), translation.second_hit_core_cycles.value),
        ("translation.walk_core_cycles".to_owned(), translation.walk_core_cycles.value),
        ("prefetch.startup_lines".to_owned(), prefetch.startup_lines.value),
    ];
    for cache in &machine.cache {
        let key = |what: &str| format!("cache {} {what}", cache.name);
        positive.push((key("core_cycles"), cache.core_cycles.value));
        others.push((key("northbridge_cycles"), cache.northbridge_cycles.value));
        if let Some(width) = &cache.bytes_per_core_cycle {
            positive.push((key("bytes_per_core_cycle"), width.value));
        }
    }
    for board in &machine.board {
        for (name, clock) in
            [("core_hz", board.core_hz.value.0), ("northbridge_hz", board.northbridge_hz.value.0)]
        {
            if !CLOCK_HZ.contains(&clock) {
                let key = format!("board {} {name}", board.name);
                return Some(problem(key, format!("is {clock}; give 1e6 to 1e11, in hertz")));
            }
        }
    }
    let bad = |(_, value): &&(String, f64), above: bool| {
        !value.is_finite() || *value < 0.0 || (above && *value == 0.0) || *value > 1e12
    };
    if let Some((key, value)) = positive.iter().find(|one| bad(one, true)) {
        return Some(problem(key, format!("is {value}; give a number above 0")));
    }
    let (key, value) = others.iter().find(|one| bad(one, false))?;
    Some(problem(key, format!("is {value}; give 0 or more")))
}

fn boards_and_tests(machine: &MemoryMachine) -> Option<Problem> {
    if machine.board.is_empty() {
        return Some(problem("board", "is missing; give at least one"));
    }
    for board in &machine.board {
        let levels = board.page_table_levels.value;
        if !(1..=5).contains(&levels) {
            return Some(problem(
                format!("board {} page_table_levels", board.name),
                format!("is {levels}; give 1 to 5"),
            ));
        }
    }
    for (index, test) in machine.test.iter().enumerate() {
        let key = format!("test {}", test.name);
        if machine.test[..index].iter().any(|other| other.name == test.name) {
            return Some(problem(key, "stands twice; give each test a name of its own"));
        }
        if let Some(name) = [&test.off, &test.on].into_iter().find(|name| machine.board(name).is_none()) {
            return Some(problem(key, format!("names the board {name}, which the file does not describe")));
        }
        let (block, stride) = (test.block_bytes.0, test.stride_bytes.value.0);
        if stride == 0 || block < stride || block > BLOCK_BYTES_MAX || block / stride > STEPS_MAX {
            return Some(problem(
                key,
                format!(
                    "steps by {stride} through {block} bytes; give a stride above 0 and a block of at most 2^26 of them, below 2^37"
                ),
            ));
        }
        if test.program == Program::Stream && stride != machine.line_bytes.0 {
            return Some(problem(
                key,
                format!("streams by {stride} bytes; a stream goes by lines of {}", machine.line_bytes.0),
            ));
        }
    }
    None
}

fn published(described: &Described) -> Option<Problem> {
    for published in &described.published {
        let key = format!("published {}", published.test);
        if !described.machine.test.iter().any(|test| test.name == published.test) {
            return Some(problem(key, "is of no test that the file describes"));
        }
        let values = [published.off, published.on, published.tolerance_percent];
        if let Some(value) = values.into_iter().flatten().find(|value| !value.is_finite() || *value <= 0.0) {
            return Some(problem(key, format!("has the value {value}; give a number above 0")));
        }
    }
    None
}
