//! The sockets section of the check-up's page: the verdict, the figures, then what the page of measured sockets holds.

use std::fmt::Write;

use machine::Machine;
use models::interconnect::SocketAccount;
use record::{Record, Sockets};

use super::{figures, links};
use crate::escape::markup;
use crate::figure::{Drawn, Figure, line_transfer};
use crate::html::markup::{Charts, placed, placed_figure};
use crate::page::html::{blocks, verdict};
use crate::page::{Section, Tone};
use crate::view::measured_sockets;
use crate::view::socket_account::words::sentences;
use crate::{machine_text, number, plan};

/// The section of the check-up's page.
pub(crate) fn section(record: &Record, account: Option<&SocketAccount>, charts: &mut Charts) -> String {
    let mut html = String::from("<section id=\"sockets\"><h2>Sockets and nodes</h2>\n");
    if let Some(sockets) = &record.sockets {
        html += &body(sockets, &record.machine, account, charts);
    } else {
        let why = markup(&plan::why_missing(record, &["sockets"]));
        let _ = writeln!(
            html,
            "<div class=\"missing\" data-missing=\"sockets\"><h3>Are the sockets alike?</h3><p>{why}</p></div>"
        );
    }
    html + "</section>\n"
}

/// The head of the page of sockets that were measured alone.
pub(crate) fn head(record: &Record) -> String {
    let origin = &record.provenance;
    let run = format!(
        "sidestep {}, started {}, took {} s, seed {}",
        origin.tool_version,
        origin.started_utc,
        number::short(record.elapsed_s),
        origin.seed
    );
    format!(
        "<header><p class=\"kicker\">sidestep sockets</p><h1>{}</h1><p class=\"run\">{}</p></header>\n",
        markup(&machine_text::headline(&record.machine)),
        markup(&run)
    )
}

/// All of it, below a heading.
pub(crate) fn body(
    sockets: &Sockets,
    machine: &Machine,
    account: Option<&SocketAccount>,
    charts: &mut Charts,
) -> String {
    let reasons = measured_sockets::because(sockets);
    let mut html =
        verdict("Are the CPUs alike, each in its own memory?", &measured_sockets::answer(sockets), &reasons);
    // With one node nothing is modelled that the verdict does not say.
    let account = account.filter(|_| !figures::is_one_node(sockets));
    let drawn: [(Figure, Option<Drawn>); 4] = [
        (Figure::SocketLinks, account.and_then(|account| figures::links(sockets, account))),
        (Figure::SocketLatency, figures::latency(sockets, account)),
        (Figure::SocketBandwidth, figures::bandwidth(sockets)),
        (Figure::SocketTogether, figures::together(sockets)),
    ];
    for (figure, drawn) in drawn {
        html += &drawn.map_or_else(String::new, |drawn| placed_figure(figure, drawn, charts));
    }
    let inference = account.and_then(|account| account.inference.as_ref());
    let mut sections = measured_sockets::sections(sockets, inference);
    if let Some(by_distance) = links::by_distance(sockets, machine).filter(|_| account.is_some()) {
        let text = format!("Measured latencies by the distance that ACPI SLIT gives: {by_distance}.");
        sections.push(Section::new("distances", "").saying(Tone::Plain, text));
    }
    if let Some(account) = account {
        let why = Section::new("why", "Why, by one model of all CPUs");
        sections.push(why.list(sentences(account, sockets)));
    }
    html += &blocks(&sections, charts);
    if let Some(drawn) = line_transfer(&sockets.line_transfer, "socket-lines") {
        html += &placed("socket-lines", "Moving a cache line between these CPUs", drawn, charts);
    }
    html
}
