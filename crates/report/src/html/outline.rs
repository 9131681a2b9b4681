//! The order of the page after the machine: flaws, memory, sockets, cores, clocks, plan. Each part folds.

use models::interconnect::SocketAccount;
use record::Record;

use super::markup::{Charts, figure, folded};
use crate::figure::Figure;
use crate::page::html::{blocks, verdict};
use crate::page::{Section, Statement};
use crate::sockets;
use crate::view::{check_up, clock_check, clock_cost, flaws};

pub(super) fn sections(record: &Record, account: Option<&SocketAccount>, charts: &mut Charts) -> String {
    let mut html = String::new();
    if !record.flaws.is_empty() {
        let uneven = record.flaws_uneven.iter().map(Statement::look);
        let answer = flaws::answer_of(&record.flaws);
        let inner = verdict("Flaws of this machine", &answer, &uneven.collect::<Vec<_>>())
            + &blocks(&flaws::sections(&record.flaws, false), charts);
        html += &folded("flaws", "Flaws", true, &inner);
    }
    let of_memory = [
        Figure::Levels,
        Figure::LatencySurface,
        Figure::LatencySurfaceHuge,
        Figure::LatencyHeatmap,
        Figure::Bandwidth,
        Figure::Walks,
    ];
    let memory = figures(record, &of_memory, charts) + &blocks(&check_up::beside_figures(record), charts);
    html += &folded("levels", "Memory hierarchy", true, &memory);
    html += &sockets::section(record, account, charts);
    let of_cores = [Figure::Stream, Figure::LineTransfer, Figure::Sharing, Figure::Wake];
    let tables = check_up::beside_figures_of_cores(record);
    let cores = figures(record, &of_cores, charts) + &blocks(&tables, charts);
    html += &folded("cores", "Cores", true, &cores);
    html += &folded("clocks", "Clocks", true, &clocks(record, charts));
    if let Some(plan) = check_up::plan_table(record) {
        let untitled = Section { title: String::new(), ..plan };
        html += &folded("plan", "Plan", false, &blocks(&[untitled], charts));
    }
    html
}

fn figures(record: &Record, wanted: &[Figure], charts: &mut Charts) -> String {
    wanted.iter().map(|one| figure(record, *one, charts)).collect()
}

fn clocks(record: &Record, charts: &mut Charts) -> String {
    let mut html = String::new();
    if let Some(check) = &record.clock_check {
        let reasons: Vec<Statement> = clock_check::reasons(check).collect();
        html += &verdict("Is time safe here?", &clock_check::answer(check), &reasons);
    }
    html += &figures(record, &[Figure::ClockOffsets, Figure::ClockDrift, Figure::ClockPrices], charts);
    if let Some(cost) = &record.clock_cost {
        let heading = "What does reading the time cost?";
        html += &verdict(heading, &clock_cost::answer(cost), &clock_cost::reasons(cost));
        html += &blocks(&clock_cost::around_reads(cost), charts);
    }
    if let Some(check) = &record.clock_check {
        // The pairs are in the figure above.
        let beside = clock_check::sections(check).into_iter().filter(|part| part.id != "pairs");
        html += &blocks(&beside.collect::<Vec<_>>(), charts);
    }
    html
}
