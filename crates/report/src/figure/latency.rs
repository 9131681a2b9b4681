//! The latency surface, in perspective and as a heat map.

use std::collections::BTreeSet;

use machine::Bytes;
use record::{LatencyCell, Quality, Record};

use super::{DataTable, Drawn, Figure};
use crate::draw::{MatrixCell, MatrixChart, MatrixPanel, SurfaceCell, SurfaceChart};
use crate::{interactive, naming, number};

/// Which surface of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pages {
    Base,
    Huge,
}

/// What a cell is called whose level nobody found.
const NO_LEVEL: &str = "level unknown";

/// The page sizes of the record's surfaces, smallest first.
fn page_sizes(record: &Record) -> Vec<Bytes> {
    record.memory.latency.iter().map(|cell| cell.page_bytes).collect::<BTreeSet<_>>().into_iter().collect()
}

fn cells(record: &Record, page: Bytes) -> Vec<&LatencyCell> {
    record.memory.latency.iter().filter(|cell| cell.page_bytes == page).collect()
}

pub(super) fn surface(record: &Record, pages: Pages) -> Option<Drawn> {
    let sizes = page_sizes(record);
    let page = *match pages {
        Pages::Base => sizes.first()?,
        Pages::Huge => sizes.get(1)?,
    };
    let cells = cells(record, page);
    let chart = SurfaceChart {
        cells: cells
            .iter()
            .map(|cell| SurfaceCell {
                block_bytes: cell.block_bytes.0,
                stride_bytes: cell.stride_bytes.0,
                ns: cell.ns,
                level: cell.level.clone().unwrap_or_else(|| NO_LEVEL.to_owned()),
                doubtful: cell.spread.quality != Quality::Converged,
            })
            .collect(),
    };
    if chart.is_empty() {
        return None;
    }
    let figure = if pages == Pages::Base { Figure::LatencySurface } else { Figure::LatencySurfaceHuge };
    Some(Drawn {
        svg: chart.draw(figure.name()),
        reading: format!(
            "Load-to-use latency of a random chain with {}; height is logarithmic. Each face is coloured by the \
             slowest level of its corners, found from the surface itself, not from what the machine claims.",
            naming::pages(page)
        ),
        table: table(&cells),
        interactive: Some(interactive::surface(&chart)),
        needs_webgl: true,
    })
}

pub(super) fn heat_map(record: &Record) -> Option<Drawn> {
    let sizes = page_sizes(record);
    let panels: Vec<MatrixPanel> = sizes.iter().map(|page| panel(&cells(record, *page), *page)).collect();
    let chart = MatrixChart {
        row_label: "stride",
        column_label: "block size",
        unit: " ns",
        logarithmic: true,
        least: None,
        panels_per_row: 1,
        square: false,
        panels,
    };
    if chart.is_empty() {
        return None;
    }
    let rows = record.memory.orders.iter().map(|result| {
        vec![
            naming::words(naming::order(result.order)),
            result.block_bytes.to_string(),
            result.page_bytes.to_string(),
            format!(
                "{} {}",
                number::column(result.ns),
                number::uncertainty(result.ns, result.spread.interval)
            ),
        ]
    });
    Some(Drawn {
        svg: chart.draw(Figure::LatencyHeatmap.name()),
        reading:
            "The same measurements in nanoseconds. Knees run along lines of equal line count, not of equal \
                  bytes; large strides use few cache sets, so blocks seem to fit less well there."
                .to_owned(),
        table: DataTable {
            headers: ["order", "block", "page", "ns"].map(str::to_owned).to_vec(),
            rows: rows.collect(),
        },
        interactive: Some(interactive::matrices(&chart)),
        needs_webgl: false,
    })
}

fn axes(cells: &[&LatencyCell]) -> (Vec<u64>, Vec<u64>) {
    let of = |key: fn(&LatencyCell) -> u64| {
        cells.iter().map(|cell| key(cell)).collect::<BTreeSet<_>>().into_iter().collect()
    };
    (of(|cell| cell.block_bytes.0), of(|cell| cell.stride_bytes.0))
}

fn panel(cells: &[&LatencyCell], page: Bytes) -> MatrixPanel {
    let (blocks, strides) = axes(cells);
    let names = |values: &[u64]| values.iter().map(|value| Bytes(*value).to_string()).collect();
    MatrixPanel {
        title: naming::pages(page),
        rows: names(&strides),
        columns: names(&blocks),
        cells: cells
            .iter()
            .map(|cell| MatrixCell {
                row: strides.binary_search(&cell.stride_bytes.0).unwrap_or_default(),
                column: blocks.binary_search(&cell.block_bytes.0).unwrap_or_default(),
                value: cell.ns,
                doubtful: cell.spread.quality != Quality::Converged,
            })
            .collect(),
    }
}

/// Block by stride; the interval of each cell is in the CSV, the mark of a doubtful one is here.
fn table(cells: &[&LatencyCell]) -> DataTable {
    let (blocks, strides) = axes(cells);
    let mut headers = vec!["block".to_owned()];
    headers.extend(strides.iter().map(|stride| Bytes(*stride).to_string()));
    let mut rows = vec![vec![String::new(); strides.len() + 1]; blocks.len()];
    for (row, block) in rows.iter_mut().zip(&blocks) {
        row[0] = Bytes(*block).to_string();
    }
    for cell in cells {
        let places = (blocks.binary_search(&cell.block_bytes.0), strides.binary_search(&cell.stride_bytes.0));
        if let (Ok(row), Ok(column)) = places {
            let mark = number::quality_mark(cell.spread.quality);
            rows[row][column + 1] = format!("{}{mark}", number::column(cell.ns));
        }
    }
    DataTable { headers, rows }
}
