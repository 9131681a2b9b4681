//! Costs of reading the time: the verdict, each read, threads, and what others measured.

use machine::Hertz;
use record::{
    ClockCost, ClockRead, CostControl, CostVerdict, PublishedCost, RoundsSeen, RoundsVerdict, ScalingVerdict,
    ThreadCost,
};
use stats::Order;

use super::cells::measured;
use crate::page::{Cell, Page, Section, Statement, Table, Tone};
use crate::{naming, number};

/// Reads on a first screen.
const READS_FIRST: usize = 9;
/// The read that the published figures are of.
const PUBLISHED_READ: &str = "gettimeofday";
/// The read that the answer is of.
pub(crate) const USUAL_READ: &str = "clock_gettime(CLOCK_MONOTONIC)";
/// The reads that programs use most; they stand first.
const COMMON_READS: [&str; 11] = [
    USUAL_READ,
    "clock_gettime(CLOCK_REALTIME)",
    "clock_gettime(CLOCK_MONOTONIC_COARSE)",
    PUBLISHED_READ,
    "clock_gettime system call",
    "std Instant::now",
    "Clock::now",
    "rdtsc",
    "rdtscp",
    "cntvct",
    "isb_cntvct",
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
    let source = cost.kernel.clocksource.as_deref().map(|source| format!("clock source {source}"));
    let rates = cost.counter_hz.zip(cost.counter_stated_hz).map(|(hz, stated_hz)| rates(hz, stated_hz));
    let rates = rates.map(|rates| format!("counter {rates}"));
    let parts = [cost.control.as_ref().map(control), source, rates].into_iter().flatten();
    let parts = number::joined(parts, "; ");
    let refused = cost.reads.iter().filter_map(|read| Some((read.refused.as_deref()?, brief(&read.name))));
    let doubts =
        naming::grouped(refused).into_iter().map(|(why, names)| format!("{}: {why}", names.join(", ")));
    (cost.because.iter().map(Statement::plain))
        .chain((!parts.is_empty()).then(|| Statement::faint(parts)))
        .chain(doubts.map(Statement::doubt))
        .chain(beside_published(cost).map(Statement::faint))
        .collect()
}

/// All but the verdict.
pub(crate) fn sections(cost: &ClockCost) -> Vec<Section> {
    reads(&cost.reads).section("").into_iter().chain(around_reads(cost)).collect()
}

/// Threads, rounds and what was not measured.
pub(crate) fn around_reads(cost: &ClockCost) -> Vec<Section> {
    let failed = cost.failed.iter().map(|failed| (brief(&failed.name), failed.reason.clone()));
    let failed = Section::new("failed", "Not measured").facts(failed).filled();
    let sections = [threads(&cost.threads), rounds(&cost.rounds), failed];
    sections.into_iter().flatten().map(Section::detailed).collect()
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

/// The rate of the counter behind the clock by the kernel's clock, and as firmware states it.
pub(crate) fn rates(hz: f64, stated_hz: f64) -> String {
    let [measured, stated] = [hz, stated_hz].map(|hz| number::frequency(Hertz(hz)));
    format!("{measured} by the kernel's clock, {stated} by firmware")
}

/// `CLOCK_MONOTONIC` of `clock_gettime(CLOCK_MONOTONIC)`.
pub(super) fn brief(name: &str) -> String {
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

/// The place of a read among those that programs use most; the others come behind them.
fn usual_first(name: &str) -> usize {
    COMMON_READS.iter().position(|one| *one == name).unwrap_or(COMMON_READS.len())
}

/// Each way to read the time once, those that programs use most first: of several CPUs the cheapest and the most expensive.
pub(crate) fn reads<'r>(reads: impl IntoIterator<Item = &'r ClockRead>) -> Table {
    let reads: Vec<&ClockRead> = reads.into_iter().collect();
    let longest = reads.iter().map(|read| read.ns).fold(0.0, f64::max);
    let counter_cycles = counter_cycles_name(reads.iter().copied());
    let mut by_name = naming::grouped(reads.iter().map(|read| (read.name.as_str(), *read)));
    by_name.order_by_key(|(name, _)| usual_first(name));
    let ends = by_name.into_iter().map(|(_, mut of)| {
        of.order_by(|a, b| a.ns.total_cmp(&b.ns));
        (of[0], of[1..].last().copied())
    });
    let cycles = |read: &ClockRead| {
        let cycles = read.core_cycles?;
        let share = read.core_cycles_interval.map(|interval| interval.half_width() / cycles * 100.0);
        let share = share.map_or_else(String::new, |share| format!(" ±{share:.1} %"));
        Some(Cell::within(number::column(cycles) + &share, cycles, read.core_cycles_interval))
    };
    let doubt = |read: &ClockRead| if read.refused.is_some() { " ?" } else { "" };
    Table::of("reads", ends)
        .word("read", |(low, _)| brief(&low.name) + doubt(low))
        .number(("cost", "ns"), |(low, _)| measured(low.ns, &low.spread))
        .number(("at most", "ns", 1), |(_, high)| high.map(|high| high.ns))
        .word(("on CPUs", 2), |(low, high)| high.map(|high| format!("{} and {}", low.cpu, high.cpu)))
        .number(("core cycles", 1), |(low, _)| cycles(low))
        .number((counter_cycles, 3), |(low, _)| low.counter_cycles)
        .word(("ordered", 2), |(low, _)| ordered(low))
        .number(("resolution", 4), |(low, _)| low.resolution_ns.map(Cell::duration))
        .number(("core shared", "ns", 5), |(low, _)| {
            low.slow.filter(|slow| slow.ns > low.ns).map(|slow| slow.ns)
        })
        .bar(|(low, _)| Cell::Share(low.ns / longest))
        .first(READS_FIRST)
        .legend("ordered: waits for earlier loads; core shared: while a neighbour uses the core too")
}

/// What cycles of the counter behind the clock are called: only x86 has a time-stamp counter.
fn counter_cycles_name<'r>(reads: impl IntoIterator<Item = &'r ClockRead>) -> &'static str {
    let is_arm64 = reads.into_iter().any(|read| read.name.contains("cntvct"));
    if is_arm64 { "counter cycles" } else { "TSC cycles" }
}

/// Costs by number of threads: the verdict on each read first, every number behind it.
fn threads(rows: &[ThreadCost]) -> Option<Section> {
    let by_read: Vec<&[ThreadCost]> = rows.chunk_by(|one, next| one.read == next.read).collect();
    let verdicts = Table::of("scaling", by_read)
        .word("read", |of| brief(&of[0].read))
        .number(("one thread", "ns"), |of| of[0].ns)
        .number(("most threads", "ns"), |of| of[of.len() - 1].ns)
        .word("scaling", |of| scaling(of.iter()))
        .table();
    let table = Table::of("threads", rows)
        .word("read", |row| brief(&row.read))
        .number("threads", |row| row.threads)
        .number(("cost", "ns"), |row| row.ns)
        .number("ratio", |row| row.ratio)
        .number(("all at once", "%", 1), |row| Cell::whole(Some(row.overlap * 100.0)))
        .first(0)
        .legend("all at once: batches during which all threads ran");
    let section = Section::new("threads", "Cost by number of threads");
    (!rows.is_empty()).then(|| section.table(verdicts).table(table))
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

fn rounds(rows: &[RoundsSeen]) -> Option<Section> {
    let order = |verdict: RoundsVerdict| match verdict {
        RoundsVerdict::InOrder => (Tone::Good, "in order"),
        RoundsVerdict::Backwards => (Tone::Look, "backwards"),
        RoundsVerdict::CannotTell => (Tone::Doubt, "undetermined"),
    };
    Table::of("rounds", rows)
        .word("read", |row| brief(&row.read))
        .number("threads", |row| row.threads)
        .number(("rounds at once", 2), |row| {
            (row.overlapping > 0).then(|| format!("{}/{}", row.overlapping, row.rounds))
        })
        .number(("largest difference", 1), |row| Cell::duration(row.largest_ns))
        .number(("bound", 1), |row| Cell::duration(row.bound_ns))
        .number("outside", |row| row.outside)
        .word("order", |row| order(row.verdict))
        .legend(
            "All threads read once when released. bound: from the release to the arrival of all; outside: values before the one or after the other",
        )
        .section("Order between threads")
}

/// What others measured, and the same read here.
fn beside_published(cost: &ClockCost) -> Option<String> {
    let read = cost.reads.iter().find(|read| read.name == PUBLISHED_READ)?;
    let figure = |published: &PublishedCost| format!("{} {:.0}", published.name, published.cycles);
    let first = cost.published.first()?;
    let counted_in = counter_cycles_name(&cost.reads);
    let by_counter = read.counter_cycles.map(|cycles| format!("{} {counted_in}", number::column(cycles)));
    let by_core = read.core_cycles.map(|cycles| format!("{} core cycles", number::column(cycles)));
    Some(format!(
        "{PUBLISHED_READ}: {} here; published: {} cycles ({})",
        number::joined(by_counter.into_iter().chain(by_core), ", "),
        number::joined(cost.published.iter().map(figure), ", "),
        first.source
    ))
}
