//! Measured sockets beside one model of all of them: whether each is as expected, why, and with which error.

pub(crate) mod words;

use models::interconnect::SocketAccount;
use record::{GateVerdict, SocketGate, Sockets};

use crate::interconnect::{capital, node_links, verdict_words};
use crate::number;
use crate::page::{Block, Cell, Column, Page, Section, Statement, Table, Tone};
use crate::sockets::flight_doubts;

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
    let doubts = flight_doubts(sockets);
    let mut because = more_causes(gate);
    because.push(Statement::new(Tone::Plain, words::why(account)));
    because.extend(doubts.into_iter().map(|doubt| Statement::new(Tone::Doubt, doubt)));
    because.push(Statement::new(Tone::Faint, format!("Links: {links}.")));
    let mut sections = vec![Section::new("cpus", "").with(Block::Table(rows(account)))];
    sections.extend(reasons(gate));
    let details = words::details(account, sockets);
    sections.push(Section::detail("details", "What the model says besides").with(Block::List(details)));
    Page {
        subject: format!("{cpus} of {from}, measured and predicted"),
        answer: gate_answer(gate),
        because,
        sections,
        ..Page::default()
    }
}

/// Whether every socket is as expected; of causes the first.
pub(super) fn gate_answer(gate: &SocketGate) -> Statement {
    let mut cpus: Vec<_> = gate.bands.iter().map(|band| band.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
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
    let of = |tone: Tone, text: &str| Statement::new(tone, text);
    let is_answered = usize::from(gate.verdict == GateVerdict::Inconclusive);
    let causes = gate.causes.iter().skip(1 - is_answered).map(|cause| of(Tone::Look, &cause.text));
    causes.chain(gate.because.iter().skip(is_answered).map(|doubt| of(Tone::Doubt, doubt))).collect()
}

/// How each cause was found, and what to do about it; of several with `--long`.
pub(super) fn reasons(gate: &SocketGate) -> Vec<Section> {
    let is_alone = gate.causes.len() == 1;
    let section = |cause: &record::SocketCause| {
        let title = if is_alone { "Reasons".to_owned() } else { capital(&cause.text) };
        let section = Section::new("reasons", title).with(Block::List(cause.reasoning.clone()));
        Section { is_detail: !is_alone, ..section }
    };
    gate.causes.iter().map(section).collect()
}

fn rows(account: &SocketAccount) -> Table {
    let columns = vec![
        Column::number("CPU", ""),
        Column::number("node", "").priority(2),
        Column::number("links to farthest", "").priority(3),
        Column::number("latency", "ns"),
        Column::number("model latency", "ns").priority(1),
        Column::number("latency error", "").priority(1),
        Column::number("triad", "MB/s"),
        Column::number("model triad", "MB/s").priority(1),
        Column::number("triad error", "").priority(1),
    ];
    let mut table = Table { first_rows: Some(CPUS_FIRST), ..Table::new("cpus", columns) };
    let whole =
        |value: Option<f64>| value.map_or(Cell::Empty, |value| Cell::shown(format!("{value:.0}"), value));
    let count = |value: Option<u32>| value.map_or(Cell::Empty, |value| Cell::count(value as usize));
    for row in &account.rows {
        table.row(vec![
            Cell::text(row.cpu.to_string()),
            count(row.node),
            count(row.eccentricity),
            Cell::known(row.latency_ns),
            Cell::known(row.latency_predicted_ns),
            Cell::change(row.latency_error_percent),
            whole(row.triad_mb_per_s),
            whole(row.triad_predicted_mb_per_s),
            Cell::change(row.triad_error_percent),
        ]);
    }
    table.legend =
        Some("latency, triad: in the CPU's own memory; the model is fitted to these numbers".to_owned());
    table
}
