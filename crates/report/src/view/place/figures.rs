//! Pictures of a placement: predicted against measured gains, and who shares memory with whom or wakes whom.

use record::{PlaceArm, PlaceOutcome, SharedAmount, Sharing, SharingMatrix};
use stats::{Interval, Verdict};

use super::{arm_name, names};
use crate::draw::{BarChart, BarGroup, BarRow, Colours, MatrixCell, MatrixChart, MatrixPanel, Measure};
use crate::page::{Drawn, Section, Table};

/// Threads of a heat map; --json has all.
const THREADS_DRAWN: usize = 64;

/// What each placement was predicted to bring and brought; none if there is nothing to draw.
pub(super) fn gains(found: &PlaceOutcome) -> Option<Section> {
    let is_predicted = found.arms.iter().any(|arm| arm.predicted_percent.is_some());
    let foreseen = if is_predicted { "predicted before any run, and " } else { "" };
    let reading = format!(
        "{} of each placement in per cent of the kernel's own: {foreseen}measured with its 95 % interval. 100 is no difference.",
        found.metric
    );
    let drawn = Drawn::of(&gains_chart(found), "place-gains", reading, Table::default());
    let title = if is_predicted { "Predicted against measured" } else { "Measured" };
    Section::new("gains", title).figure("place-gains", "Against the kernel's own placement", drawn).filled()
}

fn gains_chart(found: &PlaceOutcome) -> BarChart {
    let bar = |arm: &PlaceArm, change: Option<f64>, ends: Option<Interval>, doubtful: bool| {
        let change = change?;
        Some(BarRow {
            name: arm_name(arm),
            measure: Measure {
                ends: ends.map(|ends| ends.map(|end| 100.0 + end)),
                doubtful,
                ..Measure::exact(100.0 + change)
            },
            label: format!("{change:+.1} %"),
        })
    };
    let arms = || found.arms.iter();
    let foreseen = arms().filter_map(|arm| bar(arm, arm.predicted_percent, arm.predicted_interval, false));
    let measured = arms().filter_map(|arm| {
        bar(arm, arm.change_percent, arm.change_interval, arm.verdict == Verdict::Inconclusive)
    });
    let group =
        |title: &str, style: usize, rows: Vec<BarRow>| BarGroup { title: title.to_owned(), style, rows };
    let mut groups =
        vec![group("predicted", 0, foreseen.collect()), group("measured", 1, measured.collect())];
    groups.retain(|group| !group.rows.is_empty());
    BarChart { x_label: "per cent of the kernel's own placement", unit: " %", groups }
}

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
