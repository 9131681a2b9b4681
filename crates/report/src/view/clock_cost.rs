//! Costs of reading the time: the verdict, each read, clock sources, threads, and what others measured.

use record::{
    ClockCost, ClockRead, CostControl, CostVerdict, PublishedCost, RoundsSeen, RoundsVerdict, ScalingVerdict,
    SourceCosts, ThreadCost,
};

use crate::number;
use crate::page::{Block, Cell, Column, Page, Section, Statement, Table, Tone};

/// Reads on a first screen.
const READS_FIRST: usize = 9;
/// The read that the published figures are of.
const PUBLISHED_READ: &str = "gettimeofday";
/// The read of whose clock sources a sentence is made.
pub(crate) const USUAL_READ: &str = "clock_gettime(CLOCK_MONOTONIC)";
/// The reads that programs use most; they stand first.
const COMMON_READS: [&str; 9] = [
    USUAL_READ,
    "clock_gettime(CLOCK_REALTIME)",
    "clock_gettime(CLOCK_MONOTONIC_COARSE)",
    PUBLISHED_READ,
    "clock_gettime system call",
    "std Instant::now",
    "Clock::now",
    "rdtsc",
    "rdtscp",
];

/// The page of costs.
pub fn clock_cost_page(cost: &ClockCost) -> Page {
    Page {
        subject: "Cost of reading the time".to_owned(),
        answer: answer(cost),
        because: reasons(cost),
        sections: sections(cost),
        next: cost.without.clone(),
        ..Page::default()
    }
}

/// What the usual read costs, and whether that would come out again.
pub(crate) fn answer(cost: &ClockCost) -> Statement {
    let (tone, repeatable) = match cost.verdict {
        CostVerdict::Repeatable => (Tone::Good, "costs reproduce within 2 %"),
        CostVerdict::PartlyRepeatable => (Tone::Doubt, "most costs reproduce within 2 %"),
        CostVerdict::Refused => (Tone::Doubt, "refused: costs may not reproduce"),
        CostVerdict::CannotTell => (Tone::Doubt, "undetermined"),
    };
    let usual = cost.reads.iter().find(|read| read.name == USUAL_READ);
    let text = match usual {
        Some(read) => format!("{USUAL_READ} costs {} ns; {repeatable}", number::column(read.ns)),
        None => format!("Verdict: {repeatable}"),
    };
    Statement::new(tone, text)
}

/// What the verdict rests on, and what others measured.
pub(crate) fn reasons(cost: &ClockCost) -> Vec<Statement> {
    let plain = |text: String| Statement::new(Tone::Plain, text);
    let mut reasons: Vec<Statement> = cost.because.iter().cloned().map(plain).collect();
    let source = cost.kernel.clocksource.as_deref().map(|source| format!("clock source {source}"));
    let parts: Vec<String> = cost.control.as_ref().map(control).into_iter().chain(source).collect();
    if !parts.is_empty() {
        reasons.push(Statement::new(Tone::Faint, parts.join("; ")));
    }
    let doubts = refusals(&cost.reads);
    reasons.extend(
        doubts
            .into_iter()
            .map(|(why, names)| Statement::new(Tone::Doubt, format!("{}: {why}", names.join(", ")))),
    );
    reasons.extend(beside_published(cost).map(|text| Statement::new(Tone::Faint, text)));
    reasons
}

/// All but the verdict.
pub(crate) fn sections(cost: &ClockCost) -> Vec<Section> {
    let mut sections = Vec::new();
    if !cost.reads.is_empty() {
        sections.push(reads(&cost.reads));
    }
    if let Some(sources) = &cost.clock_sources {
        sections.push(clock_sources(sources));
    }
    sections.extend(around_reads(cost));
    sections
}

/// Threads, rounds and what was not measured: for a page that draws the reads as bars.
pub(crate) fn around_reads(cost: &ClockCost) -> Vec<Section> {
    let mut sections = Vec::new();
    if !cost.threads.is_empty() {
        sections.push(threads(&cost.threads));
    }
    if !cost.rounds.is_empty() {
        sections.push(rounds(&cost.rounds));
    }
    if !cost.failed.is_empty() {
        let failed = cost.failed.iter().map(|failed| (brief(&failed.name), failed.reason.clone()));
        sections.push(Section::detail("failed", "Not measured").with(Block::Facts(failed.collect())));
    }
    sections
}

/// The control loops beside the reads.
fn control(control: &CostControl) -> String {
    let frequency = control.core_hz.map_or_else(
        || format!("{} ns a multiply", number::column(control.multiply_ns)),
        |hz| format!("{:.2} GHz", hz / 1e9),
    );
    let adds = control.adds_per_cycle.map_or_else(
        || format!("{} ns an addition", number::column(control.port_ns)),
        |adds| format!("{adds:.2} additions a cycle"),
    );
    format!("control loops on CPU {}: {frequency}, {adds}", control.cpu)
}

/// `CLOCK_MONOTONIC` of `clock_gettime(CLOCK_MONOTONIC)`.
pub(crate) fn brief(name: &str) -> String {
    let name = name.strip_prefix("clock_gettime(").map_or(name, |rest| rest.trim_end_matches(')'));
    name.replace("clock_gettime system call", "system call")
}

/// Order means nothing where no time is read.
fn ordered(read: &ClockRead) -> &'static str {
    match (read.ordered, read.resolution_ns) {
        (true, _) => "yes",
        (false, Some(_)) => "no",
        (false, None) => "",
    }
}

fn reads(reads: &[ClockRead]) -> Section {
    let columns = vec![
        Column::word("read"),
        Column::number("cost", "ns"),
        Column::number("core cycles", "").priority(1),
        Column::number("TSC cycles", "").priority(3),
        Column::word("ordered").priority(2),
        Column::number("resolution", "").priority(4),
        Column::number("core shared", "ns").priority(5),
        Column::bar(),
    ];
    let mut table = Table::new("reads", columns);
    let longest = reads.iter().map(|read| read.ns).fold(0.0, f64::max);
    let mut sorted: Vec<&ClockRead> = reads.iter().collect();
    let place = |read: &&ClockRead| COMMON_READS.iter().position(|name| *name == read.name);
    sorted.sort_by_key(|read| place(read).unwrap_or(COMMON_READS.len()));
    for read in sorted {
        let cycles = read.core_cycles.zip(read.core_cycles_interval).map(|(cycles, interval)| {
            let share = interval.half_width() / cycles * 100.0;
            Cell::within(format!("{} ±{share:.1} %", number::column(cycles)), cycles, interval)
        });
        let of = |value: Option<f64>| value.map_or(Cell::Empty, Cell::number);
        table.row(vec![
            Cell::text(format!("{}{}", brief(&read.name), if read.refused.is_some() { " ?" } else { "" })),
            Cell::number(read.ns),
            cycles.unwrap_or_default(),
            of(read.tsc_cycles),
            Cell::text(ordered(read)),
            read.resolution_ns.map_or(Cell::Empty, |ns| Cell::shown(number::duration_ns(ns), ns)),
            of(read.slow.filter(|slow| slow.ns > read.ns).map(|slow| slow.ns)),
            Cell::Share(read.ns / longest),
        ]);
    }
    table.first_rows = Some(READS_FIRST);
    table.legend =
        Some("ordered: waits for earlier loads; core shared: while a neighbour uses the core too".to_owned());
    Section::new("reads", "").with(Block::Table(table))
}

/// Why costs are doubtful, in the order of their first read, with the names of all.
fn refusals(reads: &[ClockRead]) -> Vec<(&str, Vec<String>)> {
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for read in reads {
        let Some(why) = read.refused.as_deref() else { continue };
        match found.iter_mut().find(|(other, _)| *other == why) {
            Some((_, names)) => names.push(brief(&read.name)),
            None => found.push((why, vec![brief(&read.name)])),
        }
    }
    found
}

fn clock_sources(costs: &SourceCosts) -> Section {
    let mut section = Section::new("clock-sources", format!("Clock sources against {}", costs.current));
    if costs.rows.is_empty() {
        return section.saying(
            Tone::Doubt,
            "undetermined: too few samples while the core was not shared; give more time with --budget",
        );
    }
    for row in costs.rows.iter().filter(|row| row.read == USUAL_READ) {
        let (low, high) = (row.interval.low, row.interval.high);
        section = section.saying(
            Tone::Plain,
            format!(
                "{} adds {:+.2} ns [{low:+.2}, {high:+.2}] to {USUAL_READ}, {:+.0} %",
                row.source, row.extra_ns, row.extra_percent
            ),
        );
    }
    let columns = vec![
        Column::word("read"),
        Column::word("clock source"),
        Column::number("cost", "ns"),
        Column::number("extra", "ns"),
        Column::number("interval", "ns").priority(1),
        Column::number("extra", "%").priority(2),
    ];
    let mut table = Table::new("clock_sources", columns);
    for row in &costs.rows {
        let extra = format!("{:+.2}", row.extra_ns);
        table.row(vec![
            Cell::text(brief(&row.read)),
            Cell::text(&row.source),
            Cell::number(row.ns),
            Cell::within(extra, row.extra_ns, row.interval),
            Cell::text(format!("[{:+.2}, {:+.2}]", row.interval.low, row.interval.high)),
            Cell::shown(format!("{:+.1}", row.extra_percent), row.extra_percent),
        ]);
    }
    table.legend = Some(format!("interleaved, {} turns of each clock source", costs.turns));
    section.with(Block::Table(table))
}

/// Costs by number of threads: the verdict on each read first, every number behind it.
fn threads(rows: &[ThreadCost]) -> Section {
    let mut names: Vec<&str> = rows.iter().map(|row| row.read.as_str()).collect();
    names.dedup();
    let columns = vec![
        Column::word("read"),
        Column::number("one thread", "ns"),
        Column::number("most threads", "ns"),
        Column::word("scaling"),
    ];
    let mut verdicts = Table::new("scaling", columns);
    for name in names {
        let of: Vec<&ThreadCost> = rows.iter().filter(|row| row.read == name).collect();
        let ns = |row: Option<&&ThreadCost>| row.map_or(Cell::Empty, |row| Cell::number(row.ns));
        verdicts.row(vec![
            Cell::text(brief(name)),
            ns(of.first()),
            ns(of.last()),
            Cell::text(scaling(of.iter().copied())),
        ]);
    }
    let columns = vec![
        Column::word("read"),
        Column::number("threads", ""),
        Column::number("cost", "ns"),
        Column::number("ratio", ""),
        Column::number("all at once", "%").priority(1),
    ];
    let mut table = Table::new("threads", columns);
    table.first_rows = Some(0);
    for row in rows {
        let overlap = row.overlap * 100.0;
        table.row(vec![
            Cell::text(brief(&row.read)),
            Cell::count(row.threads),
            Cell::number(row.ns),
            Cell::number(row.ratio),
            Cell::shown(format!("{overlap:.0}"), overlap),
        ]);
    }
    table.legend = Some("all at once: batches during which all threads ran".to_owned());
    Section::detail("threads", "Cost by number of threads")
        .with(Block::Table(verdicts))
        .with(Block::Table(table))
}

/// The verdict on all numbers of threads of one read.
fn scaling<'a>(rows: impl Iterator<Item = &'a ThreadCost>) -> String {
    let several: Vec<&ThreadCost> = rows.filter(|row| row.threads > 1).collect();
    let grows = several.iter().filter(|row| row.verdict == ScalingVerdict::Grows);
    if let Some(row) = grows.max_by(|a, b| a.ratio.total_cmp(&b.ratio)) {
        return format!("grows, {:.1}x in {} threads", row.ratio, row.threads);
    }
    let unknown = several.iter().any(|row| row.verdict == ScalingVerdict::CannotTell);
    match several.last() {
        None => String::new(),
        Some(_) if unknown => "undetermined".to_owned(),
        Some(last) => format!("flat to {} threads", last.threads),
    }
}

fn rounds(rows: &[RoundsSeen]) -> Section {
    let columns = vec![
        Column::word("read"),
        Column::number("threads", ""),
        Column::number("rounds at once", "").priority(2),
        Column::number("largest difference", "").priority(1),
        Column::number("bound", "").priority(1),
        Column::number("outside", ""),
        Column::word("order"),
    ];
    let mut table = Table::new("rounds", columns);
    for row in rows {
        let (tone, order) = match row.verdict {
            RoundsVerdict::InOrder => (Tone::Good, "in order"),
            RoundsVerdict::Backwards => (Tone::Look, "backwards"),
            RoundsVerdict::CannotTell => (Tone::Doubt, "undetermined"),
        };
        table.row(vec![
            Cell::text(brief(&row.read)),
            Cell::count(row.threads),
            Cell::text(if row.overlapping > 0 {
                format!("{}/{}", row.overlapping, row.rounds)
            } else {
                String::new()
            }),
            Cell::shown(number::duration_ns(row.largest_ns), row.largest_ns),
            Cell::shown(number::duration_ns(row.bound_ns), row.bound_ns),
            Cell::shown(row.outside.to_string(), row.outside as f64),
            Cell::State(tone, order.to_owned()),
        ]);
    }
    table.legend = Some(
        "All threads read once when released. bound: from the release to the arrival of all; outside: values before the one or after the other".to_owned(),
    );
    Section::detail("rounds", "Order between threads").with(Block::Table(table))
}

/// What others measured, and the same read here.
fn beside_published(cost: &ClockCost) -> Option<String> {
    let read = cost.reads.iter().find(|read| read.name == PUBLISHED_READ)?;
    let figure = |published: &PublishedCost| format!("{} {:.0}", published.name, published.cycles);
    let figures: Vec<String> = cost.published.iter().map(figure).collect();
    let first = cost.published.first()?;
    let by_counter = read.tsc_cycles.map(|cycles| format!("{} TSC cycles", number::column(cycles)));
    let by_core = read.core_cycles.map(|cycles| format!("{} core cycles", number::column(cycles)));
    let ours: Vec<String> = by_counter.into_iter().chain(by_core).collect();
    Some(format!(
        "{PUBLISHED_READ}: {} here; published: {} cycles ({})",
        ours.join(", "),
        figures.join(", "),
        first.source
    ))
}

/// The published read here and elsewhere, and how its cost grows with threads where it does, in a few words.
pub(crate) fn gist(cost: &ClockCost) -> Option<String> {
    let cycles = cost.reads.iter().find(|read| read.name == PUBLISHED_READ)?.tsc_cycles?;
    let others: Vec<String> = cost.published.iter().map(|row| format!("{:.0}", row.cycles)).collect();
    let mut threads = cost.threads.iter().filter(|row| row.read == PUBLISHED_READ);
    let does_grow = threads.clone().any(|row| row.verdict == ScalingVerdict::Grows);
    let grows = if does_grow { format!(", {}", scaling(&mut threads)) } else { String::new() };
    Some(format!(
        "{PUBLISHED_READ} {} cycles (published {}){grows}",
        number::column(cycles),
        others.join(", ")
    ))
}
