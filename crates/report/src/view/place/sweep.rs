//! A sweep over numbers of threads: the answer, and for each number the largest change that was found.

use record::{PlaceArm, PlaceSweep, PlaceSweepArm, PlaceSweepRow};

use super::{KERNEL, arm_name, change, predicted, verdict};
use crate::page::{Cell, Page, Section, Statement, Table};

/// The sweep as a page.
pub fn place_sweep_page(found: &PlaceSweep) -> Page {
    let largest = |row: &PlaceSweepRow| {
        let arms = row.outcome.arms.iter().zip(&row.arms);
        let is_tried = |(arm, _): &(&PlaceArm, &PlaceSweepArm)| {
            arm.change_percent.is_some() && !KERNEL.contains(&arm.name.as_str())
        };
        let largest = arms.filter(is_tried).max_by(|(a, _), (b, _)| size(a).total_cmp(&size(b)));
        largest.map(|(arm, judged)| (arm.clone(), *judged))
    };
    let table = Table::of("sweep", found.rows.iter().map(|row| (row, largest(row))))
        .number("threads", |(row, _)| row.threads)
        .word("placement", |(_, most)| most.as_ref().map(|(arm, _)| arm_name(arm)))
        .word("verdict", |(_, most)| {
            most.as_ref().and_then(|(arm, judged)| verdict(arm.change_percent, judged.verdict))
        })
        .number(("measured", "%"), |(_, most)| most.as_ref().and_then(|(arm, _)| change(arm)))
        .number(("predicted", "%", 1), |(_, most)| most.as_ref().and_then(|(arm, _)| predicted(arm)))
        .number(("q", 2), |(_, most)| most.as_ref().map(|(_, judged)| Cell::q(judged.q)))
        .detail(|(row, _)| row.outcome.arms.is_empty().then(|| row.outcome.sentence.clone()))
        .legend(
            "for each number of threads the placement that differs most from the kernel's; q: over all placements of all numbers",
        );
    Page {
        subject: "Placement by number of threads".to_owned(),
        answer: Statement::plain(&found.sentence),
        sections: vec![Section::new("sweep", "").table(table)],
        ..Page::default()
    }
}

fn size(arm: &PlaceArm) -> f64 {
    arm.change_percent.map_or(0.0, f64::abs)
}
