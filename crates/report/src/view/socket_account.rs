//! Measured sockets beside one model of all of them: whether each is as expected, why, and with which error.

pub(crate) mod words;

use models::interconnect::SocketAccount;
use record::{GateVerdict, SocketGate, Sockets};
use stats::text::capital;

use super::socket_words::{flight_doubts, node_links, verdict_words};
use crate::page::{Cell, Page, Section, Statement, Table, Tone};
use crate::{naming, number};

/// CPUs on a first screen.
const CPUS_FIRST: usize = 8;

/// The account as a page; `from` names the record.
pub fn socket_account_page(
    account: &SocketAccount,
    gate: &SocketGate,
    sockets: &Sockets,
    from: &str,
) -> Page {
    let cpus = number::count(account.rows.len(), "CPU");
    let links = account.graph.as_ref().map_or_else(
        || "not identifiable".to_owned(),
        |graph| format!("{}, from {}", node_links(&graph.edges), graph.source),
    );
    let mut because = more_causes(gate);
    because.push(Statement::plain(words::why(account)));
    because.extend(flight_doubts(sockets).into_iter().map(Statement::doubt));
    because.push(Statement::faint(format!("Links: {links}.")));
    let details = Section::new("details", "What the model says besides").list(words::details(account));
    Page {
        subject: format!("{cpus} of {from}, measured and predicted"),
        answer: gate_answer(gate),
        because,
        sections: [Section::new("cpus", "").table(rows(account))]
            .into_iter()
            .chain(reasons(gate))
            .chain(details.filled().map(Section::detailed))
            .collect(),
        ..Page::default()
    }
}

/// Whether every socket is as expected; of causes the first.
pub(super) fn gate_answer(gate: &SocketGate) -> Statement {
    let cpus = naming::distinct(gate.bands.iter().map(|band| band.cpu));
    let (cpus, from) = (number::count(cpus.len(), "CPU"), &gate.expected_from);
    let tone = match gate.verdict {
        GateVerdict::Within => Tone::Good,
        GateVerdict::Outside => Tone::Look,
        GateVerdict::Inconclusive => Tone::Doubt,
    };
    let verdict = verdict_words(gate.verdict);
    let first = match gate.verdict {
        GateVerdict::Inconclusive => gate.because.first(),
        _ => gate.causes.first().map(|cause| &cause.text),
    };
    let text = match first {
        Some(first) => format!("{}: {first}.", capital(verdict)),
        None => format!("{cpus} against {from}: {verdict}."),
    };
    Statement::new(tone, text)
}

/// The causes after the first, and what the verdict is in doubt for.
pub(super) fn more_causes(gate: &SocketGate) -> Vec<Statement> {
    let is_answered = usize::from(gate.verdict == GateVerdict::Inconclusive);
    let causes = gate.causes.iter().skip(1 - is_answered).map(|cause| Statement::look(&cause.text));
    causes.chain(gate.because.iter().skip(is_answered).map(Statement::doubt)).collect()
}

/// How each cause was found, and what to do about it; of several with `--long`.
pub(super) fn reasons(gate: &SocketGate) -> Vec<Section> {
    let is_alone = gate.causes.len() == 1;
    let section = |cause: &record::SocketCause| {
        let title = if is_alone { "Reasons".to_owned() } else { capital(&cause.text) };
        let section = Section::new("reasons", title).list(cause.reasoning.clone());
        section.detailed_if(!is_alone)
    };
    gate.causes.iter().map(section).collect()
}

fn rows(account: &SocketAccount) -> Table {
    Table::of("cpus", &account.rows)
        .number("CPU", |row| row.cpu)
        .number(("node", 2), |row| row.node)
        .number(("links to farthest", 3), |row| row.eccentricity)
        .number(("latency", "ns"), |row| Cell::known(row.latency_ns))
        .number(("model latency", "ns", 1), |row| Cell::known(row.latency_predicted_ns))
        .number(("latency error", 1), |row| Cell::change(row.latency_error_percent))
        .number(("triad", "MB/s"), |row| Cell::whole(row.triad_mb_per_s))
        .number(("model triad", "MB/s", 1), |row| Cell::whole(row.triad_predicted_mb_per_s))
        .number(("triad error", 1), |row| Cell::change(row.triad_error_percent))
        .first(CPUS_FIRST)
        .legend("latency, triad: in the CPU's own memory; the model is fitted to these numbers")
}
