//! Costs of reading the time as text: the verdict, a bar for each read, clock sources, threads, what others measured.

use record::{
    ClockCost, ClockRead, CostControl, CostVerdict, PublishedCost, RoundsSeen, RoundsVerdict, ScalingVerdict,
    SourceCosts, ThreadCost,
};

use crate::escape::plain;
use crate::terminal::{Ink, Paper, Terminal, bar, table_of};

/// Columns of the longest bar.
const BAR_COLUMNS: usize = 9;
/// Numbers of threads shown; --json has all.
const COUNTS_SHOWN: usize = 5;
/// The read that the published figures are of.
const PUBLISHED_READ: &str = "gettimeofday";
/// The read of whose clock sources a sentence is made.
const USUAL_READ: &str = "clock_gettime(CLOCK_MONOTONIC)";

/// The page of costs.
pub fn clock_cost_terminal(cost: &ClockCost, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    opening(&mut paper, cost);
    if !cost.reads.is_empty() {
        reads(&mut paper, &cost.reads);
    }
    if let Some(sources) = &cost.clock_sources {
        clock_sources(&mut paper, sources);
    }
    if !cost.threads.is_empty() {
        threads(&mut paper, &cost.threads);
    }
    if !cost.rounds.is_empty() {
        rounds(&mut paper, &cost.rounds);
    }
    published(&mut paper, cost);
    for failed in &cost.failed {
        paper.wrapped_inked(Ink::Faint, "- ", &format!("{}: {}", plain(&failed.name), plain(&failed.reason)));
    }
    for line in &cost.without {
        paper.wrapped_inked(Ink::Doubt, "? ", &plain(line));
    }
    paper.finish()
}

/// Whether costs would come out again, in words.
pub(crate) fn verdict_words(verdict: CostVerdict) -> &'static str {
    match verdict {
        CostVerdict::Repeatable => "repeatable within 2 %",
        CostVerdict::PartlyRepeatable => "most costs are repeatable within 2 %",
        CostVerdict::Refused => "refused, these costs may not come out again",
        CostVerdict::CannotTell => "cannot tell",
    }
}

fn opening(paper: &mut Paper, cost: &ClockCost) {
    let ink = if cost.verdict == CostVerdict::Repeatable { Ink::Good } else { Ink::Doubt };
    paper.inked(ink, &format!("Cost of reading the time: {}", verdict_words(cost.verdict)));
    for reason in &cost.because {
        paper.wrapped("  ", &plain(reason));
    }
    let source = cost.kernel.clocksource.as_deref().map(|source| format!("clock source {}", plain(source)));
    let parts: Vec<String> = cost.control.as_ref().map(control).into_iter().chain(source).collect();
    if !parts.is_empty() {
        paper.wrapped_inked(Ink::Faint, "  ", &parts.join("; "));
    }
    paper.blank();
}

/// The control loops beside the reads.
pub(crate) fn control(control: &CostControl) -> String {
    let frequency = control.core_hz.map_or_else(
        || format!("{} ns a multiply", short(control.multiply_ns)),
        |hz| format!("{:.2} GHz", hz / 1e9),
    );
    let adds = control.adds_per_cycle.map_or_else(
        || format!("{} ns an addition", short(control.port_ns)),
        |adds| format!("{adds:.2} additions a cycle"),
    );
    format!("control loops on CPU {}: {frequency}, {adds}", control.cpu)
}

/// Three digits that count.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// `CLOCK_MONOTONIC` of `clock_gettime(CLOCK_MONOTONIC)`.
pub(crate) fn brief(name: &str) -> String {
    let name = name.strip_prefix("clock_gettime(").map_or(name, |rest| rest.trim_end_matches(')'));
    plain(name).replace("clock_gettime system call", "system call")
}

/// `1 ns`, `4 ms`, `1 s`.
pub(crate) fn span(ns: f64) -> String {
    match ns {
        ns if ns >= 1e9 => format!("{} s", digits(ns / 1e9)),
        ns if ns >= 1e6 => format!("{} ms", digits(ns / 1e6)),
        ns if ns >= 1e3 => format!("{} µs", digits(ns / 1e3)),
        ns => format!("{} ns", digits(ns)),
    }
}

fn digits(value: f64) -> String {
    if (value - value.round()).abs() < 0.05 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// Order means nothing where no time is told.
fn ordered(read: &ClockRead) -> &'static str {
    match (read.ordered, read.resolution_ns) {
        (true, _) => "yes",
        (false, Some(_)) => "no",
        (false, None) => "",
    }
}

fn reads(paper: &mut Paper, reads: &[ClockRead]) {
    let headers = ["read", "ns", "TSC", "core cycles", "ordered", "step", ""];
    let mut table = table_of(&headers.map(str::to_owned));
    let longest = reads.iter().map(|read| read.ns).fold(0.0, f64::max);
    for read in reads {
        let half_width = read.core_cycles.zip(read.core_cycles_interval).map(|(cycles, interval)| {
            format!("{} ±{:.1}%", short(cycles), interval.half_width() / cycles * 100.0)
        });
        table.add_row(vec![
            format!("{}{}", brief(&read.name), if read.refused.is_some() { " ?" } else { "" }),
            short(read.ns),
            read.tsc_cycles.map_or_else(|| "-".to_owned(), short),
            half_width.unwrap_or_else(|| "-".to_owned()),
            ordered(read).to_owned(),
            read.resolution_ns.map(span).unwrap_or_default(),
            bar(read.ns / longest, BAR_COLUMNS),
        ]);
    }
    if let Some(column) = table.column_mut(headers.len() - 1) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    paper.table(table);
    let dearer = |read: &&ClockRead| read.slow.is_some_and(|slow| slow.ns > read.ns);
    let slow: Vec<String> = reads
        .iter()
        .filter(dearer)
        .filter_map(|read| Some(format!("{} {}", brief(&read.name), short(read.slow?.ns))))
        .collect();
    if !slow.is_empty() {
        paper.wrapped("", &format!("beside a core that others use too, ns: {}", slow.join(", ")));
    }
    for (why, names) in refusals(reads) {
        paper.wrapped_inked(Ink::Doubt, "? ", &format!("{}: {}", names.join(", "), plain(why)));
    }
    paper.blank();
}

/// Why costs are not vouched for, in the order of their first read, with the names of all.
pub(crate) fn refusals(reads: &[ClockRead]) -> Vec<(&str, Vec<String>)> {
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

fn clock_sources(paper: &mut Paper, costs: &SourceCosts) {
    let usual = costs.rows.iter().filter(|row| row.read == USUAL_READ);
    for row in usual {
        let interval = format!("[{:+.2}, {:+.2}]", row.interval.low, row.interval.high);
        let text = format!(
            "{} costs {:+.2} ns {interval} per {USUAL_READ} against {}, {:+.0} %",
            plain(&row.source),
            row.extra_ns,
            plain(&costs.current),
            row.extra_percent
        );
        paper.wrapped("", &text);
    }
    let headers = ["read", "by", "ns", "extra ns", "interval", "%"];
    let mut table = table_of(&headers.map(str::to_owned));
    for row in &costs.rows {
        table.add_row(vec![
            brief(&row.read),
            plain(&row.source),
            short(row.ns),
            format!("{:+.2}", row.extra_ns),
            format!("[{:+.2}, {:+.2}]", row.interval.low, row.interval.high),
            format!("{:+.1}", row.extra_percent),
        ]);
    }
    if costs.rows.is_empty() {
        paper.wrapped_inked(
            Ink::Doubt,
            "? ",
            "clock sources: too few turns beside a core that was ours alone",
        );
    } else {
        paper.table(table);
        paper.faint(&format!("{} turns of each clock source, side by side", costs.turns));
    }
    paper.blank();
}

/// Costs by number of threads: a row for each read, a column for each number.
pub(crate) struct ByThreads {
    pub(crate) headers: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// The numbers that have a column.
    counts: Vec<usize>,
    /// How many have none.
    hidden: usize,
}

pub(crate) fn by_threads(rows: &[ThreadCost]) -> ByThreads {
    let mut counts: Vec<usize> = rows.iter().map(|row| row.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    let hidden = counts.len().saturating_sub(COUNTS_SHOWN);
    if hidden > 0 {
        // The first and the last ones: growth shows at the end.
        counts.drain(1..=hidden);
    }
    let mut headers = vec!["ns, by threads".to_owned()];
    headers.extend(counts.iter().map(usize::to_string));
    headers.push("scaling".to_owned());
    let mut names: Vec<&str> = rows.iter().map(|row| row.read.as_str()).collect();
    names.dedup();
    let row = |name: &str| {
        let of = |count: &usize| rows.iter().find(|row| row.read == name && row.threads == *count);
        let cost = |count| of(count).map_or_else(|| "-".to_owned(), |row| short(row.ns));
        let verdict = scaling(rows.iter().filter(|row| row.read == name));
        [brief(name)].into_iter().chain(counts.iter().map(cost)).chain([verdict]).collect()
    };
    ByThreads { headers, rows: names.into_iter().map(row).collect(), counts, hidden }
}

fn threads(paper: &mut Paper, rows: &[ThreadCost]) {
    let ByThreads { headers, rows: cells, counts, hidden } = by_threads(rows);
    let mut table = table_of(&headers);
    table.add_rows(cells);
    paper.table(table);
    let overlap = |count: &usize| {
        let of: Vec<&ThreadCost> = rows.iter().filter(|row| row.threads == *count).collect();
        let share = of.iter().map(|row| row.overlap).sum::<f64>() / of.len().max(1) as f64;
        format!("{count}: {:.0} %", share * 100.0)
    };
    let several = counts.iter().filter(|count| **count > 1).map(overlap).collect::<Vec<_>>().join(", ");
    if !several.is_empty() {
        let more = if hidden > 0 { format!("; {hidden} more counts: --json has all") } else { String::new() };
        paper.wrapped_inked(
            Ink::Faint,
            "",
            &format!("batches beside which all CPUs were at work, by threads: {several}{more}"),
        );
    }
    paper.blank();
}

/// The verdict on all numbers of threads of one read.
fn scaling<'a>(rows: impl Iterator<Item = &'a ThreadCost>) -> String {
    let several: Vec<&ThreadCost> = rows.filter(|row| row.threads > 1).collect();
    let grows = several.iter().filter(|row| row.verdict == ScalingVerdict::Grows);
    if let Some(row) = grows.max_by(|a, b| a.ratio.total_cmp(&b.ratio)) {
        return format!("grows, {:.1}x in {}", row.ratio, row.threads);
    }
    let unknown = several.iter().any(|row| row.verdict == ScalingVerdict::CannotTell);
    match several.last() {
        None => String::new(),
        Some(_) if unknown => "cannot tell".to_owned(),
        Some(last) => format!("flat to {}", last.threads),
    }
}

/// For each read the fewest threads and the most, and whichever are not in order.
pub(crate) fn shown_rounds(rows: &[RoundsSeen]) -> impl Iterator<Item = &RoundsSeen> {
    let is_end = |index: usize, row: &RoundsSeen| {
        let differs = |other: Option<&RoundsSeen>| other.is_none_or(|other| other.read != row.read);
        differs(index.checked_sub(1).and_then(|before| rows.get(before))) || differs(rows.get(index + 1))
    };
    let is_shown = move |(index, row): &(usize, &RoundsSeen)| {
        row.verdict == RoundsVerdict::Backwards || is_end(*index, row)
    };
    rows.iter().enumerate().filter(is_shown).map(|(_, row)| row)
}

/// Whether the values of rounds are in order, in words.
pub(crate) fn order_words(verdict: RoundsVerdict) -> &'static str {
    match verdict {
        RoundsVerdict::InOrder => "in order",
        RoundsVerdict::Backwards => "backwards",
        RoundsVerdict::CannotTell => "cannot tell",
    }
}

fn rounds(paper: &mut Paper, rows: &[RoundsSeen]) {
    let headers = ["in one round", "threads", "together", "largest", "bound", "outside", ""];
    let mut table = table_of(&headers.map(str::to_owned));
    for row in shown_rounds(rows) {
        table.add_row(vec![
            brief(&row.read),
            row.threads.to_string(),
            if row.overlapping > 0 { format!("{}/{}", row.overlapping, row.rounds) } else { "-".to_owned() },
            span(row.largest_ns),
            span(row.bound_ns),
            row.outside.to_string(),
            order_words(row.verdict).to_owned(),
        ]);
    }
    paper.table(table);
    paper.wrapped_inked(
        Ink::Faint,
        "",
        "largest: difference of two values of a round; bound: from its release to the arrival of all; outside: values \
         before the one or after the other; together: rounds in which all ran at once",
    );
    paper.blank();
}

fn published(paper: &mut Paper, cost: &ClockCost) {
    if let Some(told) = beside_published(cost) {
        paper.wrapped("published  ", &told);
    }
}

/// What others measured, and the same read here.
pub(crate) fn beside_published(cost: &ClockCost) -> Option<String> {
    let read = cost.reads.iter().find(|read| read.name == PUBLISHED_READ)?;
    let figure = |published: &PublishedCost| format!("{} {:.0}", plain(&published.name), published.cycles);
    let figures: Vec<String> = cost.published.iter().map(figure).collect();
    let first = cost.published.first()?;
    let by_counter = read.tsc_cycles.map(|cycles| format!("{} cycles of the counter", short(cycles)));
    let by_core = read.core_cycles.map(|cycles| format!("{} of the core", short(cycles)));
    let ours: Vec<String> = by_counter.into_iter().chain(by_core).collect();
    Some(format!(
        "{} cycles ({}); here {PUBLISHED_READ} takes {}",
        figures.join(", "),
        plain(&first.source),
        ours.join(", ")
    ))
}

/// The published read here and elsewhere, and how its cost grows with threads where it does, in a few words.
pub(crate) fn gist(cost: &ClockCost) -> Option<String> {
    let cycles = cost.reads.iter().find(|read| read.name == PUBLISHED_READ)?.tsc_cycles?;
    let others: Vec<String> = cost.published.iter().map(|row| format!("{:.0}", row.cycles)).collect();
    let mut threads = cost.threads.iter().filter(|row| row.read == PUBLISHED_READ);
    let does_grow = threads.clone().any(|row| row.verdict == ScalingVerdict::Grows);
    let grows = if does_grow { format!(", {} threads", scaling(&mut threads)) } else { String::new() };
    Some(format!("{PUBLISHED_READ} {} cycles (published {}){grows}", short(cycles), others.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::CpuId;
    use record::{FailedRead, SlowRead, SourceCost, Spread};
    use stats::Interval;

    fn read_rows() -> Vec<ClockRead> {
        let read = |name: &str, ns: f64| ClockRead {
            name: name.to_owned(),
            ns,
            tsc_cycles: Some(ns * 2.5),
            core_cycles: Some(ns * 3.7),
            core_cycles_interval: Some(Interval { low: ns * 3.69, high: ns * 3.71 }),
            ordered: name != "rdtsc",
            resolution_ns: Some(4e6),
            slow: Some(SlowRead { ns: ns * 1.2, core_cycles: None, windows: 100 }),
            spread: Spread::default(),
            ..ClockRead::default()
        };
        let names =
            ["rdtsc", "clock_gettime(CLOCK_PROCESS_CPUTIME_ID)", "gettimeofday", "clock_gettime system call"];
        let mut reads: Vec<ClockRead> =
            names.into_iter().zip([8.7, 250.0, 22.0, 130.0]).map(|(name, ns)| read(name, ns)).collect();
        reads[1].refused = Some("two states: ".repeat(10));
        reads
    }

    fn sample() -> ClockCost {
        let source = SourceCost {
            source: "kvm-clock".to_owned(),
            read: USUAL_READ.to_owned(),
            ns: 45.0,
            current_ns: 33.2,
            extra_ns: 11.8,
            interval: Interval { low: 11.2, high: 12.3 },
            extra_percent: 36.0,
            pairs: 30,
        };
        let thread = |threads: usize| ThreadCost {
            read: "gettimeofday".to_owned(),
            threads,
            ns: 22.0 * threads as f64,
            ratio: threads as f64,
            interval: None,
            core_share: 1.0,
            overlap: 0.9,
            rounds: 12,
            verdict: if threads > 4 { ScalingVerdict::Grows } else { ScalingVerdict::Flat },
        };
        ClockCost {
            verdict: CostVerdict::PartlyRepeatable,
            because: vec!["a reason ".repeat(20)],
            reads: read_rows(),
            failed: vec![FailedRead { name: "rdtscp".to_owned(), reason: "no ".repeat(40) }],
            control: Some(CostControl {
                cpu: CpuId(0),
                multiply_ns: 0.8,
                port_ns: 0.05,
                core_hz: Some(3.7e9),
                adds_per_cycle: Some(5.2),
                near_share: 0.6,
                plateau_share: 0.8,
                readings: 10_000,
            }),
            clock_sources: Some(SourceCosts { current: "tsc".to_owned(), turns: 30, rows: vec![source] }),
            threads: (1..=9).map(thread).collect(),
            rounds: vec![RoundsSeen {
                read: "clock_gettime(CLOCK_MONOTONIC)".to_owned(),
                threads: 1_024,
                rounds: 4_000,
                overlapping: 3_999,
                largest_ns: 123_456_789.0,
                bound_ns: 234_567_890.0,
                typical_ns: 40.0,
                outside: 0,
                verdict: RoundsVerdict::InOrder,
            }],
            published: vec![PublishedCost {
                name: "gettimeofday with RDTSCP".to_owned(),
                cycles: 221.0,
                source: "article".to_owned(),
            }],
            without: vec!["word ".repeat(40)],
            ..ClockCost::default()
        }
    }

    #[test]
    fn the_page_keeps_to_80_columns_and_tells_every_part() {
        let text = clock_cost_terminal(&sample(), Terminal::default());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for part in [
            "Cost of reading the time: most costs are repeatable within 2 %",
            "kvm-clock costs +11.80 ns [+11.20, +12.30]",
            "grows, 9.0x in 9",
            "4 more counts",
            "in order",
            "gettimeofday with RDTSCP 221 cycles",
            "? CLOCK_PROCESS_CPUTIME_ID: two states",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }

    #[test]
    fn nothing_measured_makes_a_short_page() {
        let text = clock_cost_terminal(&ClockCost::default(), Terminal::default());
        assert_eq!(text, "Cost of reading the time: cannot tell\n\n");
    }

    #[test]
    fn spans_are_told_in_the_unit_of_people() {
        for (ns, expected) in
            [(1.0, "1 ns"), (0.4, "0.4 ns"), (10.015, "10 ns"), (1e3, "1 µs"), (4e6, "4 ms"), (1e9, "1 s")]
        {
            assert_eq!(span(ns), expected);
        }
    }
}
