//! A check of clocks: the verdict, pairs of counters, reads that went back, the kernel's clocks, what to do.

use record::{
    BackwardsCount, ClockCheck, ClockFault, ClockPair, ClockVerdict, KernelClocks, RegimeVerdict, SystemClock,
};

use super::clock_cost::brief;
use crate::number;
use crate::page::{Block, Cell, Column, Page, Section, Statement, Table, Tone};

/// Pairs on a first screen; the worst come first.
const PAIRS_FIRST: usize = 4;
/// A counter that steps by one tick of a gigahertz or more is not worth a word.
const STEP_NAMED_NS: f64 = 1.0;

/// The page of a check.
pub fn clock_check_page(check: &ClockCheck) -> Page {
    let mut because: Vec<Statement> = check
        .injected
        .iter()
        .map(|injected| Statement::new(Tone::Doubt, format!("with an injected fault: {injected}")))
        .collect();
    because.extend(reasons(check));
    Page {
        subject: "Clocks of this machine".to_owned(),
        answer: answer(check),
        because,
        sections: sections(check),
        next: check.remedies.iter().map(|remedy| fix(remedy)).collect(),
        ..Page::default()
    }
}

/// One remedy; a second one may begin with "or".
fn fix(remedy: &str) -> String {
    remedy.strip_prefix("or ").map_or_else(|| format!("Fix: {remedy}"), |other| format!("Or {other}"))
}

/// The verdict in a sentence.
pub(crate) fn answer(check: &ClockCheck) -> Statement {
    match check.verdict {
        ClockVerdict::Safe => Statement::new(Tone::Good, "Time on this machine: safe"),
        ClockVerdict::Correctable => Statement::new(Tone::Look, "Time on this machine: correctable"),
        ClockVerdict::Unsafe => Statement::new(Tone::Look, "Time on this machine: unsafe"),
        ClockVerdict::CannotTell => Statement::new(Tone::Doubt, "Time on this machine: undetermined"),
    }
}

/// What the verdict rests on, and what would not have been detected.
pub(crate) fn reasons(check: &ClockCheck) -> impl Iterator<Item = Statement> {
    let limits = detection_limits(check).map(|line| Statement::new(Tone::Faint, line));
    check.because.iter().map(|reason| Statement::new(Tone::Plain, reason)).chain(limits)
}

/// What would have stayed undetected, and what not; `None` if nothing was measured.
fn detection_limits(check: &ClockCheck) -> Option<String> {
    let limit = check.blind_below_ns?;
    let step = check.counter_step_ns.filter(|step| *step > STEP_NAMED_NS);
    let parts = [
        Some(format!("detection limits: offset {limit:.0} ns")),
        check
            .would_have_seen
            .map(|drift| format!("drift {} ppb within {:.1} s", number::column(drift.ppb), drift.in_s)),
        step.map(|step| format!("the counter counts in steps of {step:.0} ns")),
    ];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

/// All but the verdict.
pub(crate) fn sections(check: &ClockCheck) -> Vec<Section> {
    let mut sections = Vec::new();
    if !check.pairs.is_empty() {
        sections.push(pairs(check));
    }
    if !check.regimes.is_empty() {
        sections.push(regimes(check));
    }
    if !check.backwards.is_empty() {
        sections.push(backwards(check));
    }
    if !check.system_clocks.is_empty() {
        let section = Section::detail("system-clocks", "The kernel's clocks");
        sections.push(section.with(Block::Table(system_clocks(&check.system_clocks))));
    }
    let facts = Block::Facts(kernel_facts(&check.kernel));
    sections.push(Section::detail("kernel-clocks", "What the kernel reports").with(facts));
    if !check.without.is_empty() {
        let section = Section::detail("not-checked", "Not measured");
        sections.push(section.with(Block::List(check.without.clone())));
    }
    sections
}

fn range(interval: Option<[f64; 2]>) -> Cell {
    Cell::text(
        interval.map_or_else(String::new, |[low, high]| format!("[{}, {}]", rounded(low), rounded(high))),
    )
}

fn rounded(value: f64) -> String {
    // The sum makes minus zero zero.
    let tenths = (value * 10.0).round() / 10.0 + 0.0;
    if value.abs() >= 100.0 { format!("{value:+.0}") } else { format!("{tenths:+.1}") }
}

fn with_error(value: Option<f64>, error: Option<f64>) -> Cell {
    let Some(value) = value else { return Cell::Empty };
    let error = error.map_or_else(String::new, |error| format!(" ±{}", number::column(error)));
    Cell::shown(rounded(value) + &error, value)
}

/// The worst first: those with a fault, then those never seen, then the widest intervals.
fn rank(pair: &ClockPair) -> (u8, f64) {
    let class = match (pair.fault, pair.usable) {
        (Some(_), _) => 0,
        (None, 0) => 1,
        (None, _) => 2,
    };
    (class, -pair.half_width_ns.unwrap_or(f64::INFINITY))
}

fn pairs(check: &ClockCheck) -> Section {
    let columns = vec![
        Column::word("CPUs"),
        Column::number("offset", "ns"),
        Column::number("guaranteed", "ns").priority(1),
        Column::number("drift", "ppb"),
        Column::number("guaranteed", "ppb").priority(2),
        Column::number("usable exchanges", "").priority(3),
        Column::word("fault"),
    ];
    let mut table = Table::new("pairs", columns);
    let mut sorted: Vec<&ClockPair> = check.pairs.iter().collect();
    sorted.sort_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal));
    for pair in sorted {
        table.row(vec![
            Cell::text(format!("{}-{}", pair.a, pair.b)),
            with_error(pair.estimate_ns, pair.sd_ns),
            range(pair.interval_ns),
            with_error(pair.rate_ppb, pair.rate_error_ppb),
            range(pair.rate_interval_ppb),
            Cell::text(format!("{}/{}", pair.usable, pair.exchanges)),
            pair.fault.map_or(Cell::Empty, |one| Cell::State(Tone::Look, fault(one).to_owned())),
        ]);
    }
    table.first_rows = Some(PAIRS_FIRST);
    table.legend =
        Some("guaranteed: by causality alone; offset: if a line takes as long in both directions".to_owned());
    let mut section = Section::new("pairs", "").with(Block::Table(table));
    if let Some(loops) = &check.loops {
        let [a, b, c] = loops.worst;
        section = section.saying(
            Tone::Plain,
            format!(
                "{} of three CPUs, {} inconsistent; worst {a}-{b}-{c}: {:.1} ns from zero",
                machine::counted(loops.count, "loop"),
                loops.broken,
                loops.worst_ns
            ),
        );
    }
    section
}

fn regimes(check: &ClockCheck) -> Section {
    let columns = vec![
        Column::word("CPUs are"),
        Column::word("counters"),
        Column::number("moving", ""),
        Column::number("pairs seen", "").priority(1),
        Column::number("largest drift", "ppb"),
        Column::word("of CPUs").priority(1),
    ];
    let mut table = Table::new("regimes", columns);
    for row in &check.regimes {
        let (tone, verdict) = match row.verdict {
            RegimeVerdict::Steady => (Tone::Good, "steady"),
            RegimeVerdict::Moving => (Tone::Look, "moving"),
            RegimeVerdict::CannotTell => (Tone::Doubt, "undetermined"),
        };
        let drift = row.drift.as_ref();
        table.row(vec![
            Cell::text(row.stress.replace('_', " ")),
            Cell::State(tone, verdict.to_owned()),
            Cell::count(row.moving),
            Cell::text(format!("{}/{}", row.seen, check.pairs.len())),
            with_error(drift.map(|drift| drift.rate_ppb), drift.map(|drift| drift.error_ppb)),
            Cell::text(drift.map_or_else(String::new, |drift| format!("{}-{}", drift.a, drift.b))),
        ]);
    }
    table.legend = Some("drift: of the pair that stands out most from its error".to_owned());
    Section::new("regimes", "").with(Block::Table(table))
}

fn fault(fault: ClockFault) -> &'static str {
    match fault {
        ClockFault::Offset => "offset",
        ClockFault::Slope => "drift",
        ClockFault::Step => "step",
        ClockFault::SlopeAtOneFrequency => "drift in some P-states",
        ClockFault::SlopeAfterIdle => "drift in idle",
        ClockFault::RateChanges => "changing drift",
        ClockFault::Moved => "moved",
    }
}

/// Reads that went back on the first screen, all of them behind it.
fn backwards(check: &ClockCheck) -> Section {
    let columns = vec![
        Column::word("read"),
        Column::word("ordered"),
        Column::word("CPUs").priority(2),
        Column::number("observations", "").priority(1),
        Column::number("backwards", ""),
        Column::number("at most", "ns"),
    ];
    let mut table = Table::new("backwards", columns);
    let mut sorted: Vec<&BackwardsCount> = check.backwards.iter().collect();
    sorted.sort_by_key(|count| std::cmp::Reverse(count.backwards > 0));
    for count in &sorted {
        table.row(vec![
            Cell::text(brief(&count.name)),
            Cell::text(if count.ordered { "yes" } else { "no" }),
            Cell::text(format!("{}-{}", count.a, count.b)),
            Cell::count(usize::try_from(count.fresh).unwrap_or(usize::MAX)),
            Cell::shown(share_back(count), count.backwards as f64),
            Cell::number(count.largest_ns),
        ]);
    }
    let back = sorted.iter().filter(|count| count.backwards > 0).count();
    table.first_rows = Some(back.max(1));
    table.legend = Some(
        "One thread reads a time after another thread has read it earlier: backwards if it is smaller."
            .to_owned(),
    );
    let never = sorted.len() - back;
    let text = format!(
        "{never} of {} never went backwards between two threads",
        machine::counted(sorted.len(), "clock read")
    );
    Section::new("backwards", "")
        .saying(if back > 0 { Tone::Plain } else { Tone::Good }, text)
        .with(Block::Table(table))
}

/// How often time went back, with its share.
fn share_back(count: &BackwardsCount) -> String {
    let share = count.backwards as f64 / count.fresh.max(1) as f64 * 100.0;
    if count.backwards == 0 { "0".to_owned() } else { format!("{} ({share:.2} %)", count.backwards) }
}

fn system_clocks(clocks: &[SystemClock]) -> Table {
    let columns =
        vec![Column::word("clock"), Column::number("rate", "ppm"), Column::prose("note").priority(1)];
    let mut table = Table::new("system_clocks", columns);
    for clock in clocks {
        table.row(vec![
            Cell::text(&clock.name),
            with_error(clock.rate_ppm, clock.error_ppm),
            Cell::text(clock.note.as_deref().unwrap_or_default()),
        ]);
    }
    table.legend = Some("rate: against CLOCK_MONOTONIC_RAW, which nothing disciplines".to_owned());
    table
}

/// All that the kernel says of its clocks, nothing where it says nothing.
fn kernel_facts(kernel: &KernelClocks) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, text: &str| facts.push((name.to_owned(), text.to_owned()));
    let source = kernel.clocksource.as_deref().unwrap_or("unknown");
    let available = if kernel.available.is_empty() {
        String::new()
    } else {
        format!("; available: {}", kernel.available.join(", "))
    };
    fact("clock source", &format!("{source}{available}"));
    fact("CPU flags", &kernel.flags.join(" "));
    fact("boot words", &kernel.boot_words.join(" "));
    fact("watchdog", kernel.watchdog.as_deref().unwrap_or_default());
    fact("hypervisor", kernel.hypervisor.as_deref().unwrap_or_default());
    fact("vmclock", kernel.vmclock.as_deref().unwrap_or_default());
    fact("C1 ramping", kernel.c1_ramping.as_deref().unwrap_or_default());
    if let Some(ntp) = &kernel.ntp {
        let state = if ntp.synchronised { "synchronised" } else { "not synchronised" };
        fact(
            "NTP",
            &format!("{state}, frequency {:+.3} ppm, offset {:+.1} µs", ntp.frequency_ppm, ntp.offset_us),
        );
    }
    match &kernel.messages {
        None => fact("kernel log", "not readable here"),
        Some(messages) => with_counts(messages).iter().for_each(|message| fact("kernel log", message)),
    }
    facts
}

/// Each message once, in the order of their first appearance, with how often it came.
fn with_counts(messages: &[String]) -> Vec<String> {
    let mut seen: Vec<(&String, usize)> = Vec::new();
    for message in messages {
        match seen.iter_mut().find(|(other, _)| *other == message) {
            Some((_, count)) => *count += 1,
            None => seen.push((message, 1)),
        }
    }
    let line = |(message, count): (&String, usize)| match count {
        1 => message.clone(),
        _ => format!("{message} ({count} times)"),
    };
    seen.into_iter().map(line).collect()
}
