//! Pictures of a placement: who shares memory with whom, and who wakes whom.

use record::{PlaceOutcome, SharedAmount, Sharing, SharingMatrix};

use super::names;
use crate::draw::{Colours, MatrixCell, MatrixChart, MatrixPanel, Measure};
use crate::page::{Drawn, Section, Table};

/// Threads of a heat map; --json has all.
const THREADS_DRAWN: usize = 64;

/// Who shares memory, and who wakes whom.
pub(super) fn heat_maps(found: &PlaceOutcome, sharing: &Sharing) -> Option<Section> {
    let numbered = |(index, name): (usize, &String)| format!("{index} {name}");
    let names: Vec<String> =
        names(found, sharing).iter().take(THREADS_DRAWN).enumerate().map(numbered).collect();
    let shares = [("Written memory", &sharing.write_shared), ("Memory only read", &sharing.read_shared)];
    let wakes = sharing.wakes.as_ref().map(|wakes| ("Wake-ups per second, row wakes column", wakes));
    let sharing = heat_map("place-sharing", " of accesses", &shares, &names);
    let wakes = wakes.and_then(|wakes| heat_map("place-wakes", " per second", &[wakes], &names));
    Section::new("sharing-maps", "All pairs of threads")
        .figure("place-sharing", "Who shares memory", sharing)
        .figure("place-wakes", "Who wakes whom", wakes)
        .filled()
}

fn heat_map(
    name: &'static str,
    unit: &'static str,
    matrices: &[(&str, &SharingMatrix)],
    names: &[String],
) -> Option<Drawn> {
    let cell = |row: usize, column: usize, amount: SharedAmount| MatrixCell {
        row,
        column,
        measure: Measure {
            ends: Some(amount.interval),
            doubtful: amount.interval.low <= 0.0 && amount.value > 0.0,
            ..Measure::exact(amount.value)
        },
    };
    let panel = |(title, matrix): &(&str, &SharingMatrix)| {
        let places = (0..names.len()).flat_map(|row| (0..names.len()).map(move |column| (row, column)));
        let cells = places.filter_map(|(row, column)| Some(cell(row, column, matrix.get(row, column)?)));
        MatrixPanel {
            title: (*title).to_owned(),
            rows: names.to_vec(),
            columns: (0..names.len()).map(|index| index.to_string()).collect(),
            cells: cells.collect(),
        }
    };
    let chart = MatrixChart {
        row_label: "thread",
        column_label: "thread",
        unit,
        colours: Colours::Size { least: Some(0.0) },
        panels: matrices.iter().map(panel).collect(),
        ..MatrixChart::default()
    };
    let reading = "Threads in the order of the profile. Hatched cells are not distinguishable from nothing.";
    Drawn::of(&chart, name, reading, Table::default())
}
