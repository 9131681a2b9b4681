//! Pictures of a placement: predicted against measured gains, and who shares memory with whom or wakes whom.

use record::{PlaceOutcome, SharedAmount, Sharing, SharingMatrix};

use super::{arm_name, names};
use crate::draw::{BarChart, BarGroup, BarRow, MatrixCell, MatrixChart, MatrixPanel};
use crate::figure::{DataTable, Drawn};
use crate::interactive;
use crate::page::{Block, Placed, Section};

/// Threads of a heat map; --json has all.
const THREADS_DRAWN: usize = 64;

/// What each placement was predicted to bring and brought; none if there is nothing to draw.
pub(super) fn gains(found: &PlaceOutcome) -> Option<Section> {
    let chart = gains_chart(found);
    if chart.is_empty() {
        return None;
    }
    let is_predicted = found.arms.iter().any(|arm| arm.predicted_percent.is_some());
    let foreseen = if is_predicted { "predicted before any run, and " } else { "" };
    let drawn = Drawn {
        svg: chart.draw("place-gains"),
        reading: format!(
            "{} of each placement in per cent of the kernel's own: {foreseen}measured with its 95 % interval. 100 is no difference.",
            found.metric
        ),
        table: DataTable::default(),
        interactive: Some(interactive::bars(&chart)),
        needs_webgl: false,
    };
    let heading = "Against the kernel's own placement".to_owned();
    let title = if is_predicted { "Predicted against measured" } else { "Measured" };
    let placed = Placed { name: "place-gains", heading, drawn };
    Some(Section::new("gains", title).with(Block::Figure(Box::new(placed))))
}

fn gains_chart(found: &PlaceOutcome) -> BarChart {
    let bar = |name: String, change: f64, ends: [f64; 2], doubtful: bool| BarRow {
        name,
        value: 100.0 + change,
        low: 100.0 + ends[0],
        high: 100.0 + ends[1],
        doubtful,
        told: format!("{change:+.1} %"),
    };
    let foreseen = found.arms.iter().filter_map(|arm| {
        let change = arm.predicted_percent?;
        let ends = arm.predicted_interval.map_or([change, change], |ends| [ends.low, ends.high]);
        Some(bar(arm_name(arm), change, ends, false))
    });
    let measured = found.arms.iter().filter_map(|arm| {
        let change = arm.change_percent?;
        let ends = arm.change_interval.map_or([change, change], |ends| [ends.low, ends.high]);
        Some(bar(arm_name(arm), change, ends, arm.verdict == stats::Verdict::Inconclusive))
    });
    let group =
        |title: &str, style: usize, rows: Vec<BarRow>| BarGroup { title: title.to_owned(), style, rows };
    let groups = [group("predicted", 0, foreseen.collect()), group("measured", 1, measured.collect())];
    BarChart {
        x_label: "per cent of the kernel's own placement",
        groups: groups.into_iter().filter(|group| !group.rows.is_empty()).collect(),
    }
}

/// Who shares memory, and who wakes whom.
pub(super) fn heat_maps(found: &PlaceOutcome, sharing: &Sharing) -> Option<Section> {
    let numbered = |(index, name): (usize, &String)| format!("{index} {name}");
    let names: Vec<String> =
        names(found, sharing).iter().take(THREADS_DRAWN).enumerate().map(numbered).collect();
    let shares = [("Written memory", &sharing.write_shared), ("Memory only read", &sharing.read_shared)];
    let wakes = sharing.wakes.as_ref().map(|wakes| ("Wake-ups per second, row wakes column", wakes));
    let shares = heat_map("place-sharing", "Who shares memory", " of accesses", &shares, &names);
    let wakes =
        wakes.and_then(|wakes| heat_map("place-wakes", "Who wakes whom", " per second", &[wakes], &names));
    let maps: Vec<Block> = shares.into_iter().chain(wakes).collect();
    (!maps.is_empty())
        .then(|| maps.into_iter().fold(Section::new("sharing-maps", "All pairs of threads"), Section::with))
}

fn heat_map(
    name: &'static str,
    heading: &str,
    unit: &'static str,
    matrices: &[(&str, &SharingMatrix)],
    names: &[String],
) -> Option<Block> {
    let cell = |row: usize, column: usize, amount: SharedAmount| MatrixCell {
        row,
        column,
        value: amount.value,
        doubtful: amount.interval.low <= 0.0 && amount.value > 0.0,
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
        logarithmic: false,
        least: Some(0.0),
        panels_per_row: 2,
        square: true,
        panels: matrices.iter().map(panel).collect(),
    };
    if chart.is_empty() {
        return None;
    }
    let drawn = Drawn {
        svg: chart.draw(name),
        reading: "Threads in the order of the profile. Hatched cells are not distinguishable from nothing."
            .to_owned(),
        table: DataTable::default(),
        interactive: Some(interactive::matrices(&chart)),
        needs_webgl: false,
    };
    Some(Block::Figure(Box::new(Placed { name, heading: heading.to_owned(), drawn })))
}
