//! The check-up: its questions at a glance, what to do; behind it each question with what belongs to it, then the findings that none
//! says, in chapters, with figures where a page can show them.

mod conditions;
mod cores;
mod findings;
mod glance;
mod memory;
mod questions;
mod sockets;

use models::interconnect::SocketAccount;
use record::{ClockRead, Record};

use crate::figure::{self, Figure, Source};
use crate::page::{Block, Chapter, Depth, Page, Placed, Section, Statement, Table, Tone};
use crate::plan;
use crate::view::cells::lines;
use crate::view::machine::headline;
use crate::view::{clock_check, clock_cost, flaws, machine_page};

const fn chapter(id: &'static str, title: &'static str) -> Chapter {
    Chapter { id, title, is_folded: false }
}

const NOISE: Chapter = chapter("noise", "Noise");
const MEMORY: Chapter = chapter("memory", "Caches and memory");
const CORES: Chapter = chapter("cores", "Cores");
const SOCKETS: Chapter = chapter("sockets", "Sockets and nodes");
const CLOCKS: Chapter = chapter("clocks", "Clocks");
const FINDINGS: Chapter = chapter("findings", "Findings");
const FLAWS: Chapter = chapter("flaws", "Flaws");
const MACHINE: Chapter = chapter("machine", "Machine");
const PLAN: Chapter = Chapter { is_folded: true, ..chapter("plan", "Plan") };
const DATA: Chapter = chapter("data", "Data");

/// The page of a record; `path` is where the record lies, for the commands that read it, and `account` what the models make of its
/// measured sockets.
pub fn check_up_page(record: &Record, path: Option<&str>, account: Option<&SocketAccount>) -> Page {
    let mut subject = headline(&record.machine);
    if let Some(host) = &record.provenance.host_name {
        subject = format!("{host}: {subject}");
    }
    let mut answer = Statement::default();
    if let Some(planted) = plan::planted(record) {
        answer = Statement::plain(subject);
        subject = format!("! planted: {planted}");
    }
    let status = glance::questions(record);
    if status.is_empty() && answer.text.is_empty() {
        answer = Statement::doubt("not measured: this record holds no results");
    }
    // Sockets that were measured alone leave nothing else to show, or to miss.
    let is_alone = record.plan.entries.is_empty() && record.sockets.is_some();
    let is_kept = |part: &Section| {
        !is_alone || part.depth != Depth::Report || [Some(&SOCKETS), Some(&DATA)].contains(&part.chapter)
    };
    Page {
        kind: if is_alone { "sockets" } else { "check-up" },
        subject,
        answer,
        status,
        sections: chapters(record, path, account).filter(is_kept).collect(),
        next: findings::next(record, path.unwrap_or("RECORD")),
        more: path.map(|path| format!("sidestep show --long {path}")),
        about: vec![conditions::run(record)],
        ..Page::default()
    }
}

/// All that does not stand on the first screen.
fn chapters<'a>(
    record: &'a Record,
    path: Option<&str>,
    account: Option<&'a SocketAccount>,
) -> impl Iterator<Item = Section> {
    let source = (record, account);
    let in_full = [
        (&NOISE, noise(record)),
        (&MEMORY, memory(source)),
        (&CORES, cores(source)),
        (&SOCKETS, sockets::in_brief(record).into_iter().collect()),
        (&SOCKETS, sockets::sections(record, account).into_iter().map(Section::of_report).collect()),
        (&CLOCKS, clocks(source)),
        (&FINDINGS, findings_and_method(record)),
        (&FLAWS, flaws(record)),
        (&MACHINE, machine(record)),
        (&PLAN, plan::section(&record.plan).into_iter().collect()),
        (&DATA, vec![conditions::repeat(record, path)]),
    ];
    let detailed = |part: Section| if part.depth == Depth::First { part.detailed() } else { part };
    in_full
        .into_iter()
        .flat_map(move |(chapter, parts)| parts.into_iter().map(move |part| detailed(part).within(chapter)))
}

/// A figure of a record, or why there is none.
fn drawn(source: Source<'_>, name: &'static str) -> Block {
    let figure = Figure::named(name);
    let (heading, drawn) = (figure.title.to_owned(), figure::draw(source, figure));
    Block::Figure(Box::new(Placed { name, heading, drawn }))
}

/// Figures without words of their own.
fn figures(source: Source<'_>, of: &[&'static str]) -> Section {
    of.iter().fold(Section::new("figures", ""), |section, name| section.with(drawn(source, name))).of_report()
}

/// A figure and the table that says the same in words, which stands alone where there is no figure.
fn figure_of(source: Source<'_>, name: &'static str, title: &str, table: Table) -> Section {
    let section = Section::new(name, title).with(drawn(source, name));
    if table.rows.is_empty() { section.of_report() } else { section.table(table) }
}

fn findings_and_method(record: &Record) -> Vec<Section> {
    let note = if record.findings.is_empty() {
        "None: nothing was judged, or nothing stood out.".to_owned()
    } else {
        format!("How each was judged, unless a source is named: {}.", questions::METHOD)
    };
    let note = Section::new("method", "").saying(Tone::Faint, note).of_report();
    findings::section(record).into_iter().chain([note]).collect()
}

/// What the machine says it is.
fn machine(record: &Record) -> Vec<Section> {
    let page = machine_page(&record.machine);
    let because = Section::new("disagreements", "").stating(page.because).filled();
    because.into_iter().chain(page.sections).map(Section::of_report).collect()
}

fn flaws(record: &Record) -> Vec<Section> {
    if record.flaws.is_empty() {
        return Vec::new();
    }
    let uneven = record.model_made_up.iter().chain(&record.flaws_uneven).map(Statement::look);
    let answer = [flaws::answer_of(&record.flaws)].into_iter().chain(uneven);
    let answer = Section::new("flaws-here", "Flaws of this machine").stating(answer).of_report();
    let parts = flaws::sections(&record.flaws, false).into_iter().map(|part| titled(part, "Flaws"));
    [answer].into_iter().chain(parts).collect()
}

fn noise(record: &Record) -> Vec<Section> {
    let answer = questions::section(record, "noise");
    answer.into_iter().chain([conditions::conditions(record)]).chain(cores::control(record)).collect()
}

fn memory(source: Source<'_>) -> Vec<Section> {
    let record = source.0;
    let question = |id| questions::section(record, id);
    let mut sections = Vec::new();
    sections.extend(question("L1"));
    sections.extend(question("L2"));
    sections.extend(question("L3"));
    sections.extend(question("memory"));
    sections.extend(questions::legend(record));
    sections.extend(questions::by_level(record));
    sections.push(figures(source, &["latency-surface"]));
    sections.extend(memory::beside_latency(record));
    sections.extend(question("bandwidth"));
    sections.push(figures(source, &["bandwidth"]));
    sections.push(figure_of(source, "stream", "STREAM bandwidth", memory::stream(record)));
    sections.extend(question("huge-pages"));
    sections.push(figures(source, &["walks"]));
    sections.extend(memory::beside_walks(record));
    sections
}

fn cores(source: Source<'_>) -> Vec<Section> {
    let record = source.0;
    let (lines, sharing) = (lines(&record.cores.line_transfer), cores::sharing(record));
    let mut sections = Vec::new();
    sections.extend(questions::section(record, "CPUs"));
    sections.extend(questions::section(record, "siblings"));
    sections.push(figure_of(source, "sharing", "What CPUs cost each other", sharing));
    sections.extend(cores::unlike(record).section("One kind of work beside another"));
    sections.extend(questions::section(record, "wake-up"));
    sections.push(figure_of(source, "line-transfer", "Moving a cache line between CPUs", lines));
    sections.extend(cores::waking(record).section("Waking an idle CPU"));
    sections.extend(cores::computing(record));
    sections
}

/// The same under a title, if it has none.
fn titled(section: Section, title: &str) -> Section {
    let title = if section.title.is_empty() { title.to_owned() } else { section.title };
    Section { title, ..section }
}

/// Reading the time: its cost and whether counters agree.
fn clocks(source: Source<'_>) -> Vec<Section> {
    let record = source.0;
    // Of the same CPU those count that were measured for their cost.
    let of_cost = record.clock_cost.as_ref().map_or(&[][..], |cost| &cost.reads);
    let is_new = |read: &&ClockRead| of_cost.iter().all(|one| (&one.name, one.cpu) != (&read.name, read.cpu));
    let reads = clock_cost::reads(of_cost.iter().chain(record.clocks.iter().filter(is_new)));
    let [agree, costs] = ["clocks", "clock-read"].map(|id| questions::section(record, id));
    // What is answered is not said again.
    let (is_agreed, is_priced) = (agree.is_some(), costs.is_some());
    let said = |cost| {
        let answer = (!is_priced).then(|| clock_cost::answer(cost));
        answer.into_iter().chain(clock_cost::reasons(cost))
    };
    let price = Section::new("clock-cost", "Cost of reading the time");
    let price = price.stating(record.clock_cost.iter().flat_map(said));
    let price = if reads.rows.is_empty() { price } else { price.table(reads) };
    let mut sections: Vec<Section> = agree.into_iter().collect();
    if let Some(check) = &record.clock_check {
        let answer = (!is_agreed).then(|| clock_check::answer(check));
        let said = answer.into_iter().chain(clock_check::reasons(check));
        sections.push(Section::new("clock-check", "Counters of CPUs").stating(said));
    }
    sections.push(figures(source, &["clock-drift"]));
    sections.extend(record.clock_check.iter().flat_map(clock_check::sections));
    sections.extend(costs.into_iter().chain(price.filled()));
    sections.extend(record.clock_cost.iter().flat_map(clock_cost::around_reads));
    sections
}
