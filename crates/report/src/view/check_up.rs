//! The check-up: five areas at a glance, the levels of memory, what to do; behind it all that was measured.

mod conditions;
mod cores;
mod findings;
mod glance;
mod memory;

use record::{ClockRead, Record};

use crate::machine_text::headline;
use crate::page::{Page, Section, Statement, Tone};
use crate::view::{clock_check, clock_cost, flaws};
use crate::{number, plan};

pub(crate) use conditions::{conditions, plan_table};
pub(crate) use cores::{clock_reads, lines, sharing, waking};
pub(crate) use findings::{METHOD, facts, ordered};
pub(crate) use memory::{beside_figures, kernel_of, stream};

/// The page of a record; `path` is where the record lies, for the commands that read it.
pub fn check_up_page(record: &Record, path: Option<&str>) -> Page {
    let mut subject = headline(&record.machine);
    if let Some(host) = &record.provenance.host_name {
        subject = format!("{host}: {subject}");
    }
    let mut answer = Statement::default();
    if let Some(planted) = plan::planted(record) {
        answer = Statement::plain(subject);
        subject = format!("! planted: {planted}");
    }
    let status = glance::areas(record);
    if status.is_empty() && answer.text.is_empty() {
        answer = Statement::doubt("not measured: this record holds no results");
    }
    Page {
        subject,
        answer,
        status,
        sections: memory::levels(record).into_iter().chain(details(record).map(Section::detailed)).collect(),
        next: findings::next(record, path.unwrap_or("RECORD")),
        more: path.map(|path| format!("sidestep show --long {path}")),
        about: vec![conditions::run(record)],
        ..Page::default()
    }
}

/// All that does not stand on the first screen.
fn details(record: &Record) -> impl Iterator<Item = Section> {
    let mut sections = Vec::new();
    sections.extend(findings::section(record));
    sections.push(conditions(record));
    sections.extend(flaws::sections(&record.flaws, false).into_iter().map(|part| titled(part, "Flaws")));
    sections.extend(memory::beside_figures(record));
    sections.extend(stream(record).section("STREAM bandwidth"));
    sections.extend(memory::sockets(record));
    let lines = lines(&record.cores.line_transfer);
    sections.extend(lines.under("line-transfer", "Moving a cache line between CPUs"));
    sections.extend(sharing(record).section("What CPUs cost each other"));
    sections.extend(waking(record).section("Waking an idle CPU"));
    sections.extend(beside_figures_of_cores(record));
    sections.extend(clocks(record));
    sections.extend(plan_table(record));
    sections.into_iter()
}

/// What no figure of cores shows: unlike loops, clocks of cores, compute loops.
pub(crate) fn beside_figures_of_cores(record: &Record) -> Vec<Section> {
    let unlike = cores::unlike(record).section("One kind of work beside another");
    unlike.into_iter().chain(cores::per_cpu(record)).collect()
}

/// The same under a title, if it has none.
fn titled(section: Section, title: &str) -> Section {
    let title = if section.title.is_empty() { title.to_owned() } else { section.title };
    Section { title, ..section }
}

/// Reading the time: its cost and whether counters agree.
fn clocks(record: &Record) -> Vec<Section> {
    let mut sections = Vec::new();
    let reads: Vec<&ClockRead> = record.clocks.iter().collect();
    if let Some(mut section) = clock_reads(&reads).under("clocks-read", "Cost of reading the time") {
        if let Some(gist) = record.clock_cost.as_ref().and_then(clock_cost::gist) {
            section = section.saying(Tone::Plain, gist);
        }
        sections.push(section);
    }
    sections.extend(record.clock_cost.iter().flat_map(clock_cost::around_reads));
    if let Some(check) = &record.clock_check {
        let said = [clock_check::answer(check)].into_iter().chain(clock_check::reasons(check));
        sections.push(Section::new("clock-check", "Counters of CPUs").stating(said));
        sections.extend(clock_check::sections(check));
    }
    sections
}

/// `±2 %` and the like behind a value, nothing where there is none.
fn with_interval(value: f64, interval: stats::Interval) -> String {
    format!("{} {}", number::column(value), number::plus_minus(value, interval)).trim_end().to_owned()
}
