//! A sweep over numbers of threads: the answer, and for each number the largest change that was found.

use record::{PlaceArm, PlaceSweep};

use super::{KERNEL, arm_name, change, predicted, q, verdict};
use crate::page::{Block, Cell, Column, Page, Section, Statement, Table, Tone};

/// The sweep as a page.
pub fn place_sweep_page(found: &PlaceSweep) -> Page {
    let columns = vec![
        Column::number("threads", ""),
        Column::word("placement"),
        Column::word("verdict"),
        Column::number("measured", "%"),
        Column::number("predicted", "%").priority(1),
        Column::number("q", "").priority(2),
    ];
    let mut table = Table::new("sweep", columns);
    for row in &found.rows {
        let arms = row.outcome.arms.iter().zip(&row.arms);
        let arms =
            arms.filter(|(arm, _)| arm.change_percent.is_some() && !KERNEL.contains(&arm.name.as_str()));
        let threads = Cell::count(row.threads);
        table.row(match arms.max_by(|(a, _), (b, _)| size(a).total_cmp(&size(b))) {
            None => vec![threads, Cell::Empty, Cell::Empty, Cell::Empty, Cell::Empty, Cell::Empty],
            Some((arm, judged)) => vec![
                threads,
                Cell::text(arm_name(arm)),
                verdict(arm.change_percent, judged.verdict),
                change(arm),
                predicted(arm),
                q(judged.q),
            ],
        });
        if row.outcome.arms.is_empty()
            && let Some(last) = table.rows.last_mut()
        {
            last.detail = Some(row.outcome.sentence.clone());
        }
    }
    table.legend = Some(
        "for each number of threads the placement that differs most from the kernel's; q: over all placements of all numbers"
            .to_owned(),
    );
    Page {
        subject: "Placement by number of threads".to_owned(),
        answer: Statement::new(Tone::Plain, &found.sentence),
        sections: vec![Section::new("sweep", "").with(Block::Table(table))],
        ..Page::default()
    }
}

fn size(arm: &PlaceArm) -> f64 {
    arm.change_percent.map_or(0.0, f64::abs)
}
