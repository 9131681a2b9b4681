//! Everything `sidestep simulate` tells of a memory: tests with and without the workaround, curves, the surface.

use machine::{Bytes, Hertz};
use serde::Serialize;

use super::costs::{Costs, Parameters, TimePerAccess};
use super::description::{Board, MemoryMachine, Program, Published, Test, Unit, Workaround};
use super::prediction::{Outcome, predict, trace};
use crate::published::missed_percent;

/// Version of the JSON document.
const SCHEMA: u32 = 1;
/// Blocks of curves and surface: 4 KiB and half-octave steps to 24 MiB.
const BLOCK_STEPS: u32 = 26;
/// The smallest of them.
const BLOCK_BYTES_MIN: u64 = 4096;
/// Strides of the surface: 16 bytes to 8 KiB.
const STRIDES: [u64; 10] = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];

/// The result of a simulation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Simulation {
    /// Version of the document.
    pub schema: u32,
    /// What the command line calls the machine.
    pub machine: String,
    /// What people call it.
    pub title: String,
    /// The workaround.
    pub workaround: String,
    /// The boards.
    pub boards: Vec<Board>,
    /// The names of the places that serve accesses: caches, nearest first, and memory.
    pub places: Vec<String>,
    /// One per test.
    pub rows: Vec<Row>,
    /// What the workaround adds to a chain through memory at each stride.
    pub strides: Vec<StrideDifference>,
    /// The parameters that no document gives.
    pub parameters: Parameters,
    /// Bandwidth against block size.
    pub bandwidth: Vec<BandwidthPoint>,
    /// Latency over block size and stride, of a chain in rising order.
    pub surface: Vec<SurfaceCell>,
    /// The machine, with every number and its source.
    pub description: MemoryMachine,
}

/// A test without and with the workaround, and what was published of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// The test.
    pub name: String,
    /// In words.
    pub title: String,
    /// The unit of all its numbers.
    pub unit: Unit,
    /// The bytes the program goes through.
    pub block_bytes: Bytes,
    /// From one access to the next.
    pub stride_bytes: Bytes,
    /// The board without the workaround.
    pub board_off: String,
    /// The board with it.
    pub board_on: String,
    /// Predicted without the workaround.
    pub off: f64,
    /// Predicted with it.
    pub on: f64,
    /// Published without it.
    pub published_off: Option<f64>,
    /// Published with it.
    pub published_on: Option<f64>,
    /// Of the published number.
    pub error_off_percent: Option<f64>,
    /// Of the published number.
    pub error_on_percent: Option<f64>,
    /// Who published them.
    pub published_source: Option<String>,
    /// Where the time of an access goes without the workaround.
    pub parts_off: Vec<Part>,
    /// And with it.
    pub parts_on: Vec<Part>,
}

/// A part of the time of an access.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// Core, a place, walk, or page table.
    pub name: String,
    /// On average.
    pub ns: f64,
}

/// What the workaround adds to each load of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StrideDifference {
    /// From one load to the next.
    pub stride_bytes: Bytes,
    /// Without the workaround.
    pub off_ns: f64,
    /// With it.
    pub on_ns: f64,
}

/// A point of the bandwidth curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BandwidthPoint {
    /// The bytes that are read again and again.
    pub block_bytes: Bytes,
    /// Without the workaround.
    pub off_mb_per_s: f64,
    /// With it.
    pub on_mb_per_s: f64,
}

/// A cell of the latency surface.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SurfaceCell {
    /// The bytes of the block.
    pub block_bytes: Bytes,
    /// From one load to the next.
    pub stride_bytes: Bytes,
    /// Without the workaround.
    pub off_ns: f64,
    /// With it.
    pub on_ns: f64,
    /// The place where most of the waiting is, the workaround aside.
    pub level: String,
}

/// Simulates a machine, which takes seconds more with bandwidth by block and latency by block and stride; what was published of it is
/// joined after its predictions were made.
pub fn simulate(machine: &MemoryMachine, with_curves: bool) -> Simulation {
    let board = machine.board.first();
    let mut rows: Vec<Row> = machine.test.iter().filter_map(|test| row(machine, test)).collect();
    join(&mut rows, &machine.published);
    Simulation {
        schema: SCHEMA,
        machine: machine.name.clone(),
        title: machine.title.clone(),
        workaround: machine.workaround.id.clone(),
        boards: machine.board.clone(),
        places: places(machine),
        rows,
        strides: board.map_or_else(Vec::new, |board| strides(machine, board)),
        parameters: Parameters::of(machine),
        bandwidth: board.filter(|_| with_curves).map_or_else(Vec::new, |board| bandwidth(machine, board)),
        surface: board.filter(|_| with_curves).map_or_else(Vec::new, |board| surface(machine, board)),
        description: machine.clone(),
    }
}

impl MemoryMachine {
    /// The same machine with another north-bridge clock on its own board, the first; other boards keep theirs.
    pub fn set_northbridge_hz(&mut self, clock: Hertz) {
        if let Some(board) = self.board.first_mut() {
            board.northbridge_hz.value = clock;
            "given on the command line".clone_into(&mut board.northbridge_hz.source);
        }
    }
}

fn places(machine: &MemoryMachine) -> Vec<String> {
    machine.cache.iter().map(|cache| cache.name.clone()).chain(["memory".to_owned()]).collect()
}

fn row(machine: &MemoryMachine, test: &Test) -> Option<Row> {
    let [off, on] = [Workaround::Off, Workaround::On].map(|state| predict(machine, test, state));
    let (off, on): (Outcome, Outcome) = (off?, on?);
    Some(Row {
        name: test.name.clone(),
        title: test.title.clone(),
        unit: test.unit,
        block_bytes: test.block_bytes,
        stride_bytes: test.stride_bytes.value,
        board_off: test.off.clone(),
        board_on: test.on.clone(),
        off: off.value,
        on: on.value,
        published_off: None,
        published_on: None,
        error_off_percent: None,
        error_on_percent: None,
        published_source: None,
        parts_off: parts(machine, &off.time),
        parts_on: parts(machine, &on.time),
    })
}

/// Sets published numbers beside predictions; of several for one test, the first of each state counts.
fn join(rows: &mut [Row], published: &[Published]) {
    for one in published {
        let Some(row) = rows.iter_mut().find(|row| row.name == one.test) else { continue };
        if row.published_off.is_none() {
            row.published_off = one.off;
            row.error_off_percent = missed_percent(Some(row.off), one.off);
        }
        if row.published_on.is_none() {
            row.published_on = one.on;
            row.error_on_percent = missed_percent(Some(row.on), one.on);
        }
        row.published_source.get_or_insert_with(|| one.source.clone());
    }
}

fn parts(machine: &MemoryMachine, time: &TimePerAccess) -> Vec<Part> {
    let mut parts = vec![Part { name: "core".to_owned(), ns: time.core_ns }];
    let of_places = places(machine).into_iter().zip(time.place_ns);
    parts.extend(of_places.map(|(name, ns)| Part { name, ns }));
    parts.push(Part { name: "walk".to_owned(), ns: time.walk_ns });
    parts.push(Part { name: "page table".to_owned(), ns: time.page_table_ns });
    parts
}

/// Times of a program on a board without and with the workaround.
fn both(
    machine: &MemoryMachine,
    board: &Board,
    program: Program,
    block: Bytes,
    stride: Bytes,
) -> [TimePerAccess; 2] {
    let costs = Costs::new(machine, board, &Parameters::of(machine));
    [Workaround::Off, Workaround::On].map(|state| {
        let geometry = machine.geometry(board, state);
        let counters = trace(&geometry, program, block, stride);
        costs.time(&counters, program.waits())
    })
}

/// The largest block of the surface at each stride from a line to a page.
fn strides(machine: &MemoryMachine, board: &Board) -> Vec<StrideDifference> {
    let block = blocks().last().unwrap_or(Bytes(BLOCK_BYTES_MIN));
    let lines_to_page = machine.line_bytes.0..=machine.translation.page_bytes.0;
    let strides = STRIDES.into_iter().filter(|stride| lines_to_page.contains(stride));
    strides
        .map(|stride| {
            let [off, on] = both(machine, board, Program::LinearChase, block, Bytes(stride));
            StrideDifference { stride_bytes: Bytes(stride), off_ns: off.total_ns(), on_ns: on.total_ns() }
        })
        .collect()
}

/// 4, 6, 8, 12, 16, ... KiB.
fn blocks() -> impl Iterator<Item = Bytes> {
    (0..BLOCK_STEPS).map(|step| {
        let octave = BLOCK_BYTES_MIN << (step / 2);
        Bytes(if step % 2 == 0 { octave } else { octave + octave / 2 })
    })
}

fn bandwidth(machine: &MemoryMachine, board: &Board) -> Vec<BandwidthPoint> {
    let line = machine.line_bytes;
    let point = |block: Bytes| {
        let [off, on] = both(machine, board, Program::Stream, block, line);
        let mb_per_s = |time: TimePerAccess| line.0 as f64 / time.total_ns() * 1e3;
        BandwidthPoint { block_bytes: block, off_mb_per_s: mb_per_s(off), on_mb_per_s: mb_per_s(on) }
    };
    blocks().map(point).collect()
}

fn surface(machine: &MemoryMachine, board: &Board) -> Vec<SurfaceCell> {
    let places = places(machine);
    let mut cells = Vec::new();
    for block in blocks() {
        // A chain of one load is no chain.
        for stride in STRIDES.into_iter().filter(|stride| block.0 / stride > 1).map(Bytes) {
            let [off, on] = both(machine, board, Program::LinearChase, block, stride);
            let slowest = (0..places.len()).max_by(|a, b| off.place_ns[*a].total_cmp(&off.place_ns[*b]));
            cells.push(SurfaceCell {
                block_bytes: block,
                stride_bytes: stride,
                off_ns: off.total_ns(),
                on_ns: on.total_ns(),
                level: places[slowest.unwrap_or(0)].clone(),
            });
        }
    }
    cells
}
