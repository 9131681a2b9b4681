//! The sockets section of the page: the verdict, the links, heat maps, bandwidth of several CPUs, and what cannot be told.

use std::fmt::Write;

use machine::Machine;
use models::interconnect::{SocketAccount, Verdict};
use record::{GateVerdict, NodeLoadedLatency, Record, SocketGate, SocketVerdict, Sockets, SubjectRow};

use super::{figures, links};
use crate::escape::markup;
use crate::figure::{DataTable, Figure, line_transfer};
use crate::html::markup::{Charts, list, placed, placed_figure, table, terms};
use crate::interconnect::verdict_words;
use crate::number::{self, told};
use crate::view::inferred_links::inference_facts;
use crate::view::socket_account::words::sentences as account_sentences;
use crate::{machine_text, naming, plan};

/// Rows of the table of CPUs; more are in the data.
const CPUS_SHOWN: usize = 64;

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
    let mut html = verdict(sockets);
    html += &sockets.gate.as_ref().map_or_else(String::new, gate);
    html += &linked(sockets, machine, account, charts);
    if let Some(drawn) = figures::latency(sockets, account) {
        html += &placed_figure(Figure::SocketLatency, drawn, charts);
    }
    if let Some(drawn) = figures::bandwidth(sockets) {
        html += &placed_figure(Figure::SocketBandwidth, drawn, charts);
    }
    if let Some(drawn) = figures::together(sockets) {
        html += &placed_figure(Figure::SocketTogether, drawn, charts);
    } else {
        let numbers = table(&figures::together_table(sockets));
        html += &block(Figure::SocketTogether.title(), "Triad, every CPU in memory of its own.", &numbers);
    }
    let doubts = super::flight_doubts(sockets);
    let by_cpu = table(&cpus(sockets)) + &if doubts.is_empty() { String::new() } else { list(&doubts) };
    html += &block("CPU by CPU, each in its own memory", CPUS_NOTE, &by_cpu);
    html += &block(
        "Latency under load",
        "One CPU reads while others stream to and from the same node's memory.",
        &table(&loaded(sockets)),
    );
    if let Some(drawn) = line_transfer(&sockets.line_transfer, "socket-lines") {
        html += &placed("socket-lines", "Moving a cache line between these CPUs", drawn, charts);
    }
    if !sockets.without.is_empty() {
        html += &block("Not measured", "", &list(&sockets.without));
    }
    html
}

const CPUS_NOTE: &str = "Vs others: how much more time this CPU takes than the others, with its 95 % interval; ! \
                         where that is beyond doubt. Lines: those of 64 bytes that the CPU and its prefetchers keep on their way, \
                         traffic times latency over 64 bytes (Little's law).";

fn block(title: &str, note: &str, body: &str) -> String {
    if body.is_empty() {
        return String::new();
    }
    let note = if note.is_empty() { String::new() } else { format!("<p class=\"note\">{note}</p>") };
    format!("<div class=\"block\"><h3>{title}</h3>{note}{body}</div>\n")
}

fn verdict(sockets: &Sockets) -> String {
    let (class, word) = match sockets.verdict {
        SocketVerdict::Alike => ("fine", "alike"),
        SocketVerdict::Asymmetric => ("bad", "asymmetric"),
        SocketVerdict::Inconclusive => ("doubt", "inconclusive"),
    };
    let told = match sockets.verdict {
        SocketVerdict::Alike => super::likeness_words(sockets),
        SocketVerdict::Asymmetric => super::asymmetry_words(sockets),
        SocketVerdict::Inconclusive => String::new(),
    };
    let colon = if told.is_empty() { "" } else { ": " };
    let reasons = list(&sockets.because);
    // What is said of each CPU stands folded below what is said of all.
    let reasons = if sockets.verdict == SocketVerdict::Asymmetric && sockets.because.len() > 1 {
        format!("<details><summary>Each CPU</summary>{reasons}</details>")
    } else {
        reasons
    };
    let nodes =
        super::nodes_words(sockets).map_or_else(String::new, |told| format!("<p class=\"note\">{told}</p>"));
    format!(
        "<div class=\"block\"><h3>Are the CPUs alike, each in its own memory?</h3><p class=\"lead\"><b class=\"{class}\">{word}</b>{colon}{}</p>{reasons}{nodes}</div>\n",
        markup(&told)
    )
}

/// Each socket against what is expected of it.
fn gate(gate: &SocketGate) -> String {
    let class = match gate.verdict {
        GateVerdict::Within => "fine",
        GateVerdict::Outside => "bad",
        GateVerdict::Inconclusive => "doubt",
    };
    let word = verdict_words(gate.verdict);
    let mut html = format!(
        "<div class=\"block\"><h3>Does each socket get what is expected?</h3><p class=\"lead\"><b class=\"{class}\">{word}</b>, against {}</p>",
        markup(&gate.expected_from)
    );
    for cause in &gate.causes {
        let _ = write!(html, "<p>{}</p>{}", markup(&cause.text), list(&cause.reasoning));
    }
    if !gate.because.is_empty() {
        html += &list(&gate.because);
    }
    html + "</div>\n"
}

/// Idle latency of each node, and what it becomes.
fn loaded(sockets: &Sockets) -> DataTable {
    let row = |one: &NodeLoadedLatency| {
        let point = &one.point;
        let (rate, interval) = (point.load_bytes_per_s, point.load_interval);
        vec![
            format!("CPU {}", point.cpu),
            format!("node {}", one.node),
            if point.loading.is_empty() { "idle".to_owned() } else { format!("CPUs {}", point.loading) },
            if point.loading.is_empty() {
                "-".to_owned()
            } else {
                let told = number::uncertainty(number::gigabytes(rate), interval.map(number::gigabytes));
                format!("{} {told}", number::column(number::gigabytes(rate)))
            },
            told(point.ns, &point.spread),
        ]
    };
    DataTable {
        headers: ["reads", "memory of", "beside", "their traffic, GB/s", "ns"].map(str::to_owned).to_vec(),
        rows: sockets.loaded.iter().take(2 * CPUS_SHOWN).map(row).collect(),
    }
}

/// The graph where it is known, or in words that it is not; then why each CPU gets what it gets.
fn linked(
    sockets: &Sockets,
    machine: &Machine,
    account: Option<&SocketAccount>,
    charts: &mut Charts,
) -> String {
    // With one node nothing is modelled that the verdict does not say.
    let Some(account) = account.filter(|_| !figures::is_one_node(sockets)) else { return String::new() };
    let mut html = String::new();
    if let Some(drawn) = figures::links(sockets, account) {
        html += &placed_figure(Figure::SocketLinks, drawn, charts);
    }
    if let Some(inference) = &account.inference {
        let class = if inference.verdict == Verdict::Identified { "fine" } else { "doubt" };
        let mut facts = inference_facts(inference);
        if let Some(told) = links::by_distance(sockets, machine) {
            facts.push((
                "firmware",
                format!("measured latencies by the distance that ACPI SLIT gives: {told}"),
            ));
        }
        let _ = writeln!(
            html,
            "<div class=\"block\"><h3>What the latencies tell of the links</h3><p class=\"lead\"><b class=\"{class}\">{}</b>: {}</p>{}</div>",
            inference.verdict.name(),
            markup(&inference.reason),
            terms(&facts)
        );
    }
    html + &block("Why, by one model of all CPUs", "", &list(&account_sentences(account, sockets)))
}

/// A row per CPU: what it reaches in its own memory, and how it compares.
fn cpus(sockets: &Sockets) -> DataTable {
    // Columns that say the same of every CPU say nothing.
    let stand = sockets.subjects.iter().any(|subject| subject.stands_for.len() > 1);
    let mut headers: Vec<String> = vec!["CPU".to_owned()];
    headers.extend(stand.then(|| "stands for".to_owned()));
    headers.push("latency, ns".to_owned());
    let with_node = !figures::is_one_node(sockets);
    let kernels = super::kernels(sockets);
    headers.extend(
        kernels
            .iter()
            .map(|(kernel, store)| format!("{}, GB/s", naming::series_short(kernel, "", store, false))),
    );
    headers.extend(sockets.equality.iter().map(|of| format!("{} vs others", of.quantity)));
    let flying = flying_kernels(sockets);
    headers.extend(flying.iter().map(|kernel| format!("lines, {kernel}")));
    let row = |subject: &record::SocketSubject| {
        let own = super::own_node(sockets, subject);
        let is_own = |cpu, node| cpu == subject.cpu && Some(node) == own;
        let none = || "-".to_owned();
        let name = own
            .filter(|_| with_node)
            .map_or_else(|| subject.cpu.to_string(), |node| format!("{} (node\u{a0}{node})", subject.cpu));
        let mut cells = vec![name];
        cells.extend(stand.then(|| subject.stands_for.to_string()));
        let latency = sockets.latency.iter().find(|one| is_own(one.cpu, one.node));
        cells.push(latency.map_or_else(none, |one| told(one.ns, &one.spread)));
        cells.extend(kernels.iter().map(|(kernel, store)| {
            let of = sockets
                .bandwidth
                .iter()
                .find(|one| is_own(one.cpu, one.node) && one.kernel == *kernel && one.store == *store);
            of.map_or_else(none, super::rate)
        }));
        cells.extend(
            sockets
                .equality
                .iter()
                .map(|of| of.rows.iter().find(|row| row.cpu == subject.cpu).map_or_else(none, compared)),
        );
        cells.extend(flying.iter().map(|kernel| {
            let of =
                sockets.concurrency.iter().find(|one| is_own(one.cpu, one.node) && one.kernel == *kernel);
            of.map_or_else(none, |one| {
                let mark = if one.doubt.is_some() { "?" } else { "" };
                format!("{}{mark} {}", number::short(one.lines), number::uncertainty(one.lines, one.interval))
            })
        }));
        cells
    };
    let mut rows: Vec<Vec<String>> = sockets.subjects.iter().take(CPUS_SHOWN).map(row).collect();
    if sockets.subjects.len() > CPUS_SHOWN {
        let mut last = vec![String::new(); headers.len()];
        last[0] = format!("{} more", sockets.subjects.len() - CPUS_SHOWN);
        rows.push(last);
    }
    rows.extend(noise(sockets, 2 + usize::from(stand) + kernels.len(), headers.len()));
    for cell in rows.iter_mut().flatten() {
        // A wide table breaks its cells before an interval, not within one.
        *cell = cell.replace(" %", "\u{a0}%").replace(", ", ",\u{a0}");
    }
    DataTable { headers, rows }
}

/// Kernels of which lines in flight are known.
fn flying_kernels(sockets: &Sockets) -> Vec<&str> {
    let mut kernels: Vec<&str> = Vec::new();
    for one in &sockets.concurrency {
        if !kernels.contains(&one.kernel.as_str()) {
            kernels.push(&one.kernel);
        }
    }
    kernels
}

/// `+16.0 ±0.9 % !`: how much more time than the others it takes.
fn compared(row: &SubjectRow) -> String {
    let mark = if row.differs { " !" } else { "" };
    format!("{:+.1} ±{:.1} %{mark}", 100.0 * (row.ratio - 1.0), 100.0 * row.interval.half_width())
}

/// What a CPU differs from itself by, below the CPUs; the comparisons begin at the column `first`.
fn noise(sockets: &Sockets, first: usize, columns: usize) -> Option<Vec<String>> {
    if sockets.equality.is_empty() {
        return None;
    }
    let mut cells = vec![String::new(); columns];
    "against itself".clone_into(&mut cells[0]);
    for (index, of) in sockets.equality.iter().enumerate() {
        cells[first + index] = format!("±{}, {} rounds", number::percent(of.aa_half_width), of.rounds);
    }
    Some(cells)
}
