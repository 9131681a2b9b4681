//! Sockets and nodes of a check-up: the verdict, and in the report the figures and what the page of measured sockets holds.

use models::interconnect::SocketAccount;
use record::{Record, Sockets};
use stats::text::span;

use crate::page::{Block, Placed, Section, Statement};
use crate::view::measured_sockets;
use crate::view::socket_account::words;
use crate::{figure, plan};

/// All of it, or why there is nothing; `account` is what the models make of it.
pub(super) fn sections(record: &Record, account: Option<&SocketAccount>) -> Vec<Section> {
    let Some(measured) = &record.sockets else {
        let drawn = Err(plan::why_missing(record, &["sockets"]));
        let heading = "Are the sockets alike?".to_owned();
        let missing = Placed { name: "sockets", heading, drawn };
        return vec![Section::new("sockets", "").with(Block::Figure(Box::new(missing)))];
    };
    // With one node nothing is modelled.
    let account = account.filter(|_| !figure::sockets::is_one_node(measured));
    let is_shown = |part: &Section| is_judged(record, measured) || !["alike", "reasons"].contains(&part.id);
    let tables = measured_sockets::sections(measured, account).into_iter().filter(is_shown);
    let by_distance = account.and_then(|_| figure::sockets::by_distance(measured, &record.machine));
    let by_distance = by_distance.map(|by| {
        Statement::plain(format!("Measured latencies by the distance that ACPI SLIT gives: {by}."))
    });
    let distances = Section::new("distances", "").stating(by_distance);
    let why = account
        .into_iter()
        .flat_map(|account| [words::why(account)].into_iter().chain(words::details(account)));
    let why = Section::new("why", "Why, by one model of all CPUs").list(why);
    let more = [distances.filled(), why.filled()].into_iter().flatten();
    tables.chain(more).collect()
}

/// Whether there are sockets to compare: with one node a check-up asks whether CPUs are alike, and does not say it again.
fn is_judged(record: &Record, sockets: &Sockets) -> bool {
    let is_one_node = figure::sockets::is_one_node(sockets) && sockets.machine_nodes.len() < 2;
    record.plan.entries.is_empty() || (sockets.subjects.len() > 1 && !is_one_node)
}

/// Whether sockets are alike, why, and what memory of other nodes costs; `None` where there is nothing to compare.
pub(super) fn in_brief(record: &Record) -> Option<Section> {
    let sockets = record.sockets.as_ref()?;
    let said = [measured_sockets::answer(sockets)].into_iter().chain(measured_sockets::because(sockets));
    let nodes = near_and_far(sockets).map(|text| ("nodes", text));
    Section::new("sockets-in-brief", "Sockets")
        .stating(said.filter(|_| is_judged(record, sockets)))
        .facts(nodes)
        .filled()
}

/// `own memory 102 to 138 ns, other nodes 120 to 146 ns`; none with one node.
fn near_and_far(sockets: &Sockets) -> Option<String> {
    let span = |is_own: bool| {
        let of = |one: &&record::NodeLatency| {
            let subject = sockets.subjects.iter().find(|subject| subject.cpu == one.cpu);
            one.ns.is_finite() && subject.is_some_and(|subject| (subject.node == Some(one.node)) == is_own)
        };
        let values = sockets.latency.iter().filter(of).map(|one| one.ns);
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), ns| (low.min(ns), high.max(ns)));
        (low <= high).then(|| span(low, high))
    };
    let largest = sockets.nodes.iter().map(|node| node.block_bytes).max();
    let how = largest.map_or_else(String::new, |bytes| format!(", random in {bytes}"));
    Some(format!("own memory {} ns, other nodes {} ns{how}", span(true)?, span(false)?))
}
