//! A machine as a TOML file describes it: each number with its source, or labelled as fitted or assumed.

use machine::{Bytes, Hertz};
use record::TomlError;
use serde::{Deserialize, Serialize};

use super::geometry::{CacheGeometry, Fill, Geometry, LEVELS_MAX, PageTableReads, TlbGeometry};
use crate::machine_file::{MachineFile, MachineKind, Possible, Sourced, require, within};

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

/// One cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CacheDescription {
    /// What it is called: L1.
    pub name: String,
    /// All it holds.
    pub size_bytes: Sourced<Bytes>,
    /// Lines per set.
    pub ways: Sourced<usize>,
    /// When it takes a line.
    pub fill: Sourced<Fill>,
    /// From the load to the use of its result: the part at the core's clock.
    pub core_cycles: Sourced<f64>,
    /// The part at the north bridge's clock.
    pub northbridge_cycles: Sourced<f64>,
    /// Bytes that the way from this cache to the core carries per core cycle; without it, only latency limits.
    pub bytes_per_core_cycle: Option<Sourced<f64>>,
}

/// Translation buffers and the page walk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TranslationDescription {
    /// Bytes of a page.
    pub page_bytes: Bytes,
    /// Entries of the first buffer.
    pub first_entries: Sourced<usize>,
    /// Its ways; as many as entries if fully associative.
    pub first_ways: Sourced<usize>,
    /// Entries of the second buffer.
    pub second_entries: Sourced<usize>,
    /// Its ways.
    pub second_ways: Sourced<usize>,
    /// What a page costs that only the second buffer knows, in core cycles.
    pub second_hit_core_cycles: Sourced<f64>,
    /// Entries of upper page-table levels that the walker keeps.
    pub walk_cache_entries: Sourced<usize>,
    /// The cache that the walker reads from first: 2 for the second level.
    pub walker_reads_from_level: Sourced<usize>,
    /// What a walk costs beside its reads, in core cycles.
    pub walk_core_cycles: Sourced<f64>,
}

/// The stream prefetcher.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PrefetchDescription {
    /// Outstanding lines at once while a stream runs.
    pub outstanding_lines: Sourced<f64>,
    /// Lines at the start of a stream that come one at a time.
    pub startup_lines: Sourced<f64>,
    /// A stream ends at each multiple of this address.
    pub stop_bytes: Sourced<Bytes>,
}

/// A workaround and what it does to page walks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WorkaroundDescription {
    /// What `--workaround` calls it.
    pub id: String,
    /// How page tables are read with it.
    pub page_table_reads: Sourced<PageTableReads>,
    /// One read past all caches.
    pub uncached_read_ns: Sourced<f64>,
}

/// A board with one of these processors: what differs from one to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// What tests call it.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// The clock of the core.
    pub core_hz: Sourced<Hertz>,
    /// The clock of the north bridge and the last cache.
    pub northbridge_hz: Sourced<Hertz>,
    /// Levels of the page table that its system keeps in memory.
    pub page_table_levels: Sourced<u32>,
}

/// How a program goes through its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// A chain of loads in rising order.
    LinearChase,
    /// A chain of loads in one random order.
    RandomChase,
    /// Lines in rising order, none waiting for another.
    Stream,
}

/// In which unit a test gives its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Unit {
    /// Nanoseconds per access; lower is better.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// 10^6 bytes per second; higher is better.
    #[serde(rename = "MB/s")]
    MegabytesPerSecond,
}

impl Unit {
    /// As it is written behind a number.
    pub fn text(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::MegabytesPerSecond => "MB/s",
        }
    }
}

/// A program to predict, and on which board without and with the workaround.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// What it is called; no prediction depends on it.
    pub name: String,
    /// In words, with what is known and not known of the published test.
    pub title: String,
    /// The unit of the number.
    pub unit: Unit,
    /// How the program goes through its block.
    pub program: Program,
    /// The bytes it goes through, again and again.
    pub block_bytes: Bytes,
    /// From one access to the next in memory.
    pub stride_bytes: Sourced<Bytes>,
    /// The board without the workaround.
    pub off: String,
    /// The board with it.
    pub on: String,
}

impl Test {
    /// The board on which the test runs without or with the workaround.
    pub fn board(&self, workaround: Workaround) -> &str {
        match workaround {
            Workaround::Off => &self.off,
            Workaround::On => &self.on,
        }
    }
}

/// Published numbers of one test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The test that predicts them.
    pub test: String,
    /// Without the workaround.
    pub off: Option<f64>,
    /// With it.
    pub on: Option<f64>,
    /// How near the model has to come; numbers without it are shown and not used by the fit.
    pub tolerance_percent: Option<f64>,
    /// The number with the workaround is the one that shows what a fit is worth that was not shown it.
    #[serde(default)]
    pub hold_out_on: bool,
    /// Who published them, of which machine.
    pub source: String,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MemoryMachine {
    /// What the command line calls it.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Bytes of a line.
    pub line_bytes: Bytes,
    /// Bytes that the core can load from its first cache per cycle.
    pub load_bytes_per_core_cycle: Sourced<f64>,
    /// From the last cache's answer that it lacks the line to the line from DRAM.
    pub dram_ns: Sourced<f64>,
    /// Caches, nearest first.
    pub cache: Vec<CacheDescription>,
    /// Translation.
    pub translation: TranslationDescription,
    /// The stream prefetcher.
    pub prefetch: PrefetchDescription,
    /// The workaround.
    pub workaround: WorkaroundDescription,
    /// Boards; the first is the machine itself.
    pub board: Vec<Board>,
    /// Programs to predict.
    #[serde(default)]
    pub test: Vec<Test>,
    /// Joined to predictions after they were made.
    #[serde(default)]
    pub published: Vec<Published>,
}

/// Whether a workaround is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Workaround {
    /// It is not.
    Off,
    /// It is.
    On,
}

impl MemoryMachine {
    /// The board of that name.
    pub fn board(&self, name: &str) -> Option<&Board> {
        self.board.iter().find(|board| board.name == name)
    }

    /// What decides on this board which level serves an access.
    pub fn geometry(&self, board: &Board, workaround: Workaround) -> Geometry {
        let line_bytes = self.line_bytes.0;
        let cache = |cache: &CacheDescription| CacheGeometry {
            sets: (cache.size_bytes.value.0 / line_bytes) as usize / cache.ways.value,
            ways: cache.ways.value,
            fill: cache.fill.value,
        };
        let tlb = |entries: usize, ways: usize| TlbGeometry { sets: entries / ways, ways };
        let translation = &self.translation;
        Geometry {
            line_bytes,
            page_bytes: translation.page_bytes.0,
            caches: self.cache.iter().take(LEVELS_MAX).map(cache).collect(),
            first_tlb: tlb(translation.first_entries.value, translation.first_ways.value),
            second_tlb: tlb(translation.second_entries.value, translation.second_ways.value),
            walk_cache_entries: translation.walk_cache_entries.value,
            walker_reads_from: translation.walker_reads_from_level.value.saturating_sub(1),
            page_table_levels: board.page_table_levels.value,
            page_table_reads: match workaround {
                Workaround::Off => PageTableReads::Cached,
                Workaround::On => self.workaround.page_table_reads.value,
            },
            stream_stop_lines: self.prefetch.stop_bytes.value.0 / line_bytes,
        }
    }
}

impl MachineFile for MemoryMachine {
    const KIND: MachineKind = MachineKind::Memory;

    fn read(text: &str) -> Result<Self, TomlError> {
        record::read_toml(text)
    }

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
