//! The order of the page after the machine: flaws, memory, sockets, cores, clocks.

use models::interconnect::SocketAccount;
use record::Record;

use super::{Charts, clock_cost, clocks, corun, figure, flaws, tables};
use crate::{figure::Figure, sockets};

pub(super) fn sections(
    body: &mut String,
    record: &Record,
    account: Option<&SocketAccount>,
    charts: &mut Charts,
) {
    *body += &flaws::section(record);
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
    *body += &tables::levels(record);
    *body += &tables::memory(record);
    *body += "</section>\n";
    *body += &sockets::section(record, account, charts);
    *body += "<section id=\"cores\"><h2>Cores</h2>\n";
    for one in [Figure::Stream, Figure::LineTransfer, Figure::Sharing, Figure::Wake] {
        *body += &figure(record, one, charts);
    }
    *body += &corun::tables(record);
    *body += &tables::cores(record);
    *body += "</section>\n<section id=\"clocks\"><h2>Clocks</h2>\n";
    *body += &clocks::verdict(record);
    for one in [Figure::ClockOffsets, Figure::ClockDrift, Figure::ClockPrices] {
        *body += &figure(record, one, charts);
    }
    *body += &clock_cost::details(record);
    *body += &clocks::details(record);
    *body += "</section>\n";
}
