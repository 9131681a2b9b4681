//! The latency surface, in perspective and as a heat map.

use std::collections::BTreeSet;

use machine::Bytes;
use record::{LatencyCell, Record};

use super::Figure;
use crate::draw::{MatrixCell, MatrixChart, MatrixPanel, Measure, SurfaceCell, SurfaceChart};
use crate::page::{Drawn, Table};
use crate::{naming, number};

/// What a cell is called whose level nobody found.
const NO_LEVEL: &str = "level unknown";

/// The cells of each page size, the smallest first.
fn by_page(record: &Record) -> Vec<(Bytes, Vec<&LatencyCell>)> {
    let sizes: BTreeSet<Bytes> = record.memory.latency.iter().map(|cell| cell.page_bytes).collect();
    let of = |page| record.memory.latency.iter().filter(|cell| cell.page_bytes == page).collect();
    sizes.into_iter().map(|page| (page, of(page))).collect()
}

/// The surface of the smallest page size.
pub(super) fn surface(record: &Record) -> Option<Drawn> {
    let (page, cells) = by_page(record).into_iter().next()?;
    let drawn = cells.iter().map(|cell| SurfaceCell {
        block_bytes: cell.block_bytes.0,
        stride_bytes: cell.stride_bytes.0,
        measure: Measure::of(cell.ns, &cell.spread, |ns| ns),
        level: cell.level.clone().unwrap_or_else(|| NO_LEVEL.to_owned()),
    });
    let reading = format!(
        "Load-to-use latency of a random chain with {}; height is logarithmic. Each face is coloured by the \
         slowest level of its corners, found from the surface itself, not from what the machine claims.",
        naming::pages(page)
    );
    Drawn::of(&SurfaceChart { cells: drawn.collect() }, Figure::LatencySurface.name(), reading, table(&cells))
}

pub(super) fn heat_map(record: &Record) -> Option<Drawn> {
    let chart = MatrixChart {
        row_label: "stride",
        column_label: "block size",
        unit: " ns",
        logarithmic: true,
        panels_per_row: 1,
        square: false,
        panels: by_page(record).iter().map(|(page, cells)| panel(cells, *page)).collect(),
        ..MatrixChart::default()
    };
    let table = Table::of("orders", &record.memory.orders)
        .word("order", |result| naming::words(&naming::word(&result.order)))
        .number("block", |result| result.block_bytes)
        .number("page", |result| result.page_bytes)
        .number("ns", |result| number::with_ends(result.ns, result.spread.interval))
        .table();
    let reading = "The same measurements in nanoseconds. Knees run along lines of equal line count, not of equal bytes; large \
                   strides use few cache sets, so blocks seem to fit less well there.";
    Drawn::of(&chart, Figure::LatencyHeatmap.name(), reading, table)
}

fn axes(cells: &[&LatencyCell]) -> [Vec<Bytes>; 2] {
    let of = |key: fn(&LatencyCell) -> Bytes| {
        cells.iter().map(|cell| key(cell)).collect::<BTreeSet<_>>().into_iter().collect()
    };
    [of(|cell| cell.block_bytes), of(|cell| cell.stride_bytes)]
}

fn panel(cells: &[&LatencyCell], page: Bytes) -> MatrixPanel {
    let [blocks, strides] = axes(cells);
    let names = |values: &[Bytes]| values.iter().map(ToString::to_string).collect();
    let cell = |cell: &&LatencyCell| MatrixCell {
        row: strides.binary_search(&cell.stride_bytes).unwrap_or_default(),
        column: blocks.binary_search(&cell.block_bytes).unwrap_or_default(),
        measure: Measure::of(cell.ns, &cell.spread, |ns| ns),
    };
    let (rows, columns) = (names(&strides), names(&blocks));
    MatrixPanel { title: naming::pages(page), rows, columns, cells: cells.iter().map(cell).collect() }
}

/// Block by stride; the interval of each cell is in the CSV, the mark of a doubtful one is here.
fn table(cells: &[&LatencyCell]) -> Table {
    let [blocks, strides] = axes(cells);
    let rows = Table::of("latency", blocks).number("block", |block| *block);
    let columns = strides.into_iter().fold(rows, |rows, stride| {
        rows.number(stride.to_string(), |block| {
            let is_it = |cell: &&&LatencyCell| (cell.block_bytes, cell.stride_bytes) == (*block, stride);
            let text =
                |cell: &&LatencyCell| number::column(cell.ns) + number::quality_mark(cell.spread.quality);
            // Of several the last, as in the document's order.
            cells.iter().rfind(is_it).map(text)
        })
    });
    columns.table()
}
