//! What a memory of a machine file must hold to: what is wrong otherwise, where, and what to do.

use machine::Bytes;

use super::description::{MemoryMachine, Program, Published, Test};
use super::geometry::LEVELS_MAX;
use crate::machine_file::{MachineFile, MachineKind, Possible, require, within};

/// Clocks outside of this are typing errors.
const CLOCK_HZ: std::ops::RangeInclusive<f64> = 1e6..=1e11;
/// The simulator numbers lines in 32 bits; shorter ones than this would not fit.
const LINE_BYTES_MIN: u64 = 64;
/// The smallest page of x86. AMD64 APM vol. 2 (24593), page translation.
const PAGE_BYTES_MIN: u64 = 4096;
/// Larger blocks than this no program of a machine file may touch: page tables lie above.
const BLOCK_BYTES_MAX: u64 = 1 << 37;
/// More steps than this around a block take minutes, and their order gigabytes.
const STEPS_MAX: u64 = 1 << 26;
/// More sets or entries than this are a typing error: a cache of 1 GiB in lines of 64 bytes.
const PLACES_MAX: u64 = 1 << 24;

impl MachineFile for MemoryMachine {
    const KIND: MachineKind = MachineKind::Memory;

    fn possible(&self) -> Possible {
        possible_sizes(self)?;
        possible_numbers(self)?;
        possible_boards(self)?;
        self.test.iter().enumerate().try_for_each(|(index, test)| possible_test(self, index, test))?;
        self.published.iter().try_for_each(|published| possible_publication(self, published))
    }
}

fn possible_sizes(machine: &MemoryMachine) -> Possible {
    let translation = &machine.translation;
    let line_bytes = machine.line_bytes.0;
    for (key, bytes, least) in [
        ("line_bytes", machine.line_bytes, LINE_BYTES_MIN),
        ("translation.page_bytes", translation.page_bytes, PAGE_BYTES_MIN),
        ("prefetch.stop_bytes", machine.prefetch.stop_bytes.value, line_bytes),
    ] {
        let is_possible = bytes.0.is_power_of_two() && bytes.0 >= least && bytes <= Bytes::GIB;
        require(is_possible, key, || format!("is {}; give a power of two from {least} to 2^30", bytes.0))?;
    }
    require((1..=LEVELS_MAX).contains(&machine.cache.len()), "cache", || {
        format!("stands {} times; give 1 to {LEVELS_MAX}", machine.cache.len())
    })?;
    for cache in &machine.cache {
        let (bytes, ways) = (cache.size_bytes.value.0, cache.ways.value);
        let lines = bytes / line_bytes;
        let fits = ways > 0 && lines > 0 && lines.is_multiple_of(ways as u64);
        let is_possible = fits && bytes.is_multiple_of(line_bytes) && lines <= PLACES_MAX;
        require(is_possible, format!("cache {}", cache.name), || {
            format!(
                "has size_bytes {bytes} and ways {ways}; the size must be whole sets of lines of {line_bytes} bytes, at most 1 GiB"
            )
        })?;
    }
    for (key, entries, ways) in [
        ("translation.first_entries", translation.first_entries.value, translation.first_ways.value),
        ("translation.second_entries", translation.second_entries.value, translation.second_ways.value),
    ] {
        let is_possible =
            ways > 0 && entries > 0 && entries.is_multiple_of(ways) && entries as u64 <= PLACES_MAX;
        require(is_possible, key, || format!("is {entries} in {ways} ways; give whole sets, at least one"))?;
    }
    require(
        translation.walk_cache_entries.value as u64 <= PLACES_MAX,
        "translation.walk_cache_entries",
        || "is too large; give the number of entries".to_owned(),
    )?;
    let level = translation.walker_reads_from_level.value;
    require((1..=machine.cache.len()).contains(&level), "translation.walker_reads_from_level", || {
        format!("is {level}; give one of the caches")
    })
}

/// Holds a cost to 0 or more, or above 0.
fn possible_cost(key: impl Into<String>, value: f64, is_positive: bool) -> Possible {
    let is_possible = (0.0..=1e12).contains(&value) && !(is_positive && value == 0.0);
    let least = if is_positive { "a number above 0" } else { "0 or more" };
    require(is_possible, key, || format!("is {value}; give {least}"))
}

fn possible_numbers(machine: &MemoryMachine) -> Possible {
    let (translation, prefetch) = (&machine.translation, &machine.prefetch);
    for (key, value, is_positive) in [
        ("load_bytes_per_core_cycle", &machine.load_bytes_per_core_cycle, true),
        ("prefetch.outstanding_lines", &prefetch.outstanding_lines, true),
        ("workaround.uncached_read_ns", &machine.workaround.uncached_read_ns, true),
        ("dram_ns", &machine.dram_ns, true),
        ("translation.second_hit_core_cycles", &translation.second_hit_core_cycles, false),
        ("translation.walk_core_cycles", &translation.walk_core_cycles, false),
        ("prefetch.startup_lines", &prefetch.startup_lines, false),
    ] {
        possible_cost(key, value.value, is_positive)?;
    }
    for cache in &machine.cache {
        let key = |what: &str| format!("cache {} {what}", cache.name);
        possible_cost(key("core_cycles"), cache.core_cycles.value, true)?;
        possible_cost(key("northbridge_cycles"), cache.northbridge_cycles.value, false)?;
        if let Some(width) = &cache.bytes_per_core_cycle {
            possible_cost(key("bytes_per_core_cycle"), width.value, true)?;
        }
    }
    Ok(())
}

fn possible_boards(machine: &MemoryMachine) -> Possible {
    require(!machine.board.is_empty(), "board", || "is missing; give at least one".to_owned())?;
    for board in &machine.board {
        let key = |what: &str| format!("board {} {what}", board.name);
        for (name, clock) in
            [("core_hz", board.core_hz.value.0), ("northbridge_hz", board.northbridge_hz.value.0)]
        {
            require(CLOCK_HZ.contains(&clock), key(name), || {
                format!("is {clock}; give 1e6 to 1e11, in hertz")
            })?;
        }
        within(key("page_table_levels"), board.page_table_levels.value, 1..=5)?;
    }
    Ok(())
}

fn possible_test(machine: &MemoryMachine, index: usize, test: &Test) -> Possible {
    let key = format!("test {}", test.name);
    require(machine.test[..index].iter().all(|other| other.name != test.name), &key, || {
        "stands twice; give each test a name of its own".to_owned()
    })?;
    for name in [&test.off, &test.on] {
        require(machine.board.iter().any(|board| board.name == *name), &key, || {
            format!("names the board {name}, which the file does not describe")
        })?;
    }
    let (block, stride) = (test.block_bytes.0, test.stride_bytes.value.0);
    let is_possible =
        stride > 0 && (stride..=BLOCK_BYTES_MAX).contains(&block) && block / stride <= STEPS_MAX;
    require(is_possible, &key, || {
        format!(
            "steps by {stride} through {block} bytes; give a stride above 0 and a block of at most 2^26 of them, below 2^37"
        )
    })?;
    let line_bytes = machine.line_bytes.0;
    require(test.program != Program::Stream || stride == line_bytes, key, || {
        format!("streams by {stride} bytes; a stream goes by lines of {line_bytes}")
    })
}

fn possible_publication(machine: &MemoryMachine, published: &Published) -> Possible {
    let key = format!("published {}", published.test);
    require(machine.test.iter().any(|test| test.name == published.test), &key, || {
        "is of no test that the file describes".to_owned()
    })?;
    let values = [published.off, published.on, published.tolerance_percent];
    values.into_iter().flatten().try_for_each(|value| {
        require(value.is_finite() && value > 0.0, &key, || {
            format!("has the value {value}; give a number above 0")
        })
    })
}
