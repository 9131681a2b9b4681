//! The order of the page after the machine: flaws, memory, sockets, cores, clocks.

use models::interconnect::SocketAccount;
use record::Record;

use super::markup::{Charts, figure, section};
use crate::figure::Figure;
use crate::page::html::{blocks, verdict};
use crate::page::{Section, Statement, Tone};
use crate::sockets;
use crate::view::{check_up, clock_check, clock_cost, flaws};

pub(super) fn sections(
    body: &mut String,
    record: &Record,
    account: Option<&SocketAccount>,
    charts: &mut Charts,
) {
    if !record.flaws.is_empty() {
        *body += "<section id=\"flaws\"><h2>Flaws</h2>\n";
        let uneven = record.flaws_uneven.iter().map(|line| Statement::new(Tone::Look, line));
        *body +=
            &verdict("Flaws of this machine", &flaws::answer_of(&record.flaws), &uneven.collect::<Vec<_>>());
        *body += &blocks(&flaws::sections(&record.flaws, false), charts);
        *body += "</section>\n";
    }
    *body += "<section id=\"levels\"><h2>Memory hierarchy</h2>\n";
    for one in [
        Figure::Levels,
        Figure::LatencySurface,
        Figure::LatencySurfaceHuge,
        Figure::LatencyHeatmap,
        Figure::Bandwidth,
        Figure::Walks,
    ] {
        *body += &figure(record, one, charts);
    }
    *body += &blocks(&check_up::beside_figures(record), charts);
    *body += "</section>\n";
    *body += &sockets::section(record, account, charts);
    *body += "<section id=\"cores\"><h2>Cores</h2>\n";
    for one in [Figure::Stream, Figure::LineTransfer, Figure::Sharing, Figure::Wake] {
        *body += &figure(record, one, charts);
    }
    *body += &blocks(&check_up::pairs(record), charts);
    *body += &blocks(&check_up::per_cpu(record), charts);
    *body += "</section>\n<section id=\"clocks\"><h2>Clocks</h2>\n";
    if let Some(check) = &record.clock_check {
        let reasons: Vec<Statement> = clock_check::reasons(check).collect();
        *body += &verdict("Is time safe here?", &clock_check::answer(check), &reasons);
    }
    for one in [Figure::ClockOffsets, Figure::ClockDrift, Figure::ClockPrices] {
        *body += &figure(record, one, charts);
    }
    if let Some(cost) = &record.clock_cost {
        *body += &verdict(
            "What does reading the time cost?",
            &clock_cost::answer(cost),
            &clock_cost::reasons(cost),
        );
        *body += &blocks(&clock_cost::around_reads(cost), charts);
    }
    if let Some(check) = &record.clock_check {
        // The pairs are in the figure above.
        let sections: Vec<Section> =
            clock_check::sections(check).into_iter().filter(|part| part.id != "pairs").collect();
        *body += &blocks(&sections, charts);
    }
    *body += "</section>\n";
    if let Some(plan) = check_up::plan_table(record) {
        let untitled = Section { title: String::new(), ..plan };
        *body += &section("plan", "Plan", &blocks(&[untitled], charts));
    }
}
