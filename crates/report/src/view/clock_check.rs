//! A check of clocks: the verdict, pairs of counters, reads that went back, the kernel's clocks, what to do.

use record::{
    BackwardsCount, ClockCheck, ClockFault, ClockPair, ClockVerdict, KernelClocks, RegimeVerdict, SystemClock,
};
use stats::Order;

use super::clock_cost::{brief, rates};
use crate::page::{Cell, Page, Section, Statement, Table, Tone};
use crate::{naming, number};

/// Pairs on a first screen; the worst come first.
const PAIRS_FIRST: usize = 4;
/// A counter that steps by one tick of a gigahertz or more is not worth a word.
const STEP_NAMED_NS: f64 = 1.0;

/// The page of a check.
pub fn clock_check_page(check: &ClockCheck) -> Page {
    let injected = check.injected.iter().map(|fault| format!("with an injected fault: {fault}"));
    Page {
        subject: "Clocks of this machine".to_owned(),
        answer: answer(check),
        because: injected.map(Statement::doubt).chain(reasons(check)).chain(wall_clock(check)).collect(),
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
    let (tone, word) = match check.verdict {
        ClockVerdict::Safe => (Tone::Good, "safe"),
        ClockVerdict::Correctable => (Tone::Look, "correctable"),
        ClockVerdict::Unsafe => (Tone::Look, "unsafe"),
        ClockVerdict::CannotTell => (Tone::Doubt, "undetermined"),
    };
    Statement::new(tone, format!("Time on this machine: {word}"))
}

/// What is said of dates, which the verdict on counters does not cover.
fn wall_clock(check: &ClockCheck) -> Option<Statement> {
    let is_free = check.kernel.ntp.as_ref().is_some_and(|ntp| !ntp.synchronised);
    is_free.then(|| {
        Statement::faint("wall clock: not synchronised (NTP), so dates may be wrong; durations are not")
    })
}

/// What the verdict rests on, and what would not have been detected.
pub(crate) fn reasons(check: &ClockCheck) -> impl Iterator<Item = Statement> {
    check.because.iter().map(Statement::plain).chain(detection_limits(check).map(Statement::faint))
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
    Some(number::joined(parts.into_iter().flatten(), "; "))
}

/// All but the verdict.
pub(crate) fn sections(check: &ClockCheck) -> Vec<Section> {
    let kernel = Section::new("kernel-clocks", "What the kernel reports");
    let details = [
        system_clocks(&check.system_clocks).under("system-clocks", "The kernel's clocks"),
        Some(kernel.facts(kernel_facts(&check.kernel).chain(counter_rate(check)))),
        Section::new("not-checked", "Not measured").list(check.without.clone()).filled(),
    ];
    let details = details.into_iter().flatten().map(Section::detailed);
    [pairs(check), regimes(check), backwards(check)].into_iter().flatten().chain(details).collect()
}

fn range(interval: Option<[f64; 2]>) -> Option<String> {
    interval.map(|[low, high]| format!("[{}, {}]", rounded(low), rounded(high)))
}

fn rounded(value: f64) -> String {
    // The sum makes minus zero zero.
    let tenths = (value * 10.0).round() / 10.0 + 0.0;
    if value.abs() >= 100.0 { format!("{value:+.0}") } else { format!("{tenths:+.1}") }
}

fn with_error(value: Option<f64>, error: Option<f64>) -> Option<Cell> {
    let error = error.map(|error| format!(" ±{}", number::column(error))).unwrap_or_default();
    value.map(|value| Cell::shown(rounded(value) + &error, value))
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

fn pairs(check: &ClockCheck) -> Option<Section> {
    let mut sorted: Vec<&ClockPair> = check.pairs.iter().collect();
    sorted.order_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal));
    let loops = check.loops.as_ref().map(|loops| {
        let [a, b, c] = loops.worst;
        let (all, broken, ns) = (machine::counted(loops.count, "loop"), loops.broken, loops.worst_ns);
        format!("{all} of three CPUs, {broken} inconsistent; worst {a}-{b}-{c}: {ns:.1} ns from zero")
    });
    let table = Table::of("pairs", sorted)
        .word("CPUs", |pair| format!("{}-{}", pair.a, pair.b))
        .number(("offset", "ns"), |pair| with_error(pair.estimate_ns, pair.sd_ns))
        .number(("guaranteed", "ns", 1), |pair| range(pair.interval_ns))
        .number(("drift", "ppb"), |pair| with_error(pair.rate_ppb, pair.rate_error_ppb))
        .number(("guaranteed", "ppb", 2), |pair| range(pair.rate_interval_ppb))
        .number(("usable exchanges", 3), |pair| format!("{}/{}", pair.usable, pair.exchanges))
        .word("fault", |pair| pair.fault.map(|one| (Tone::Look, fault(one))))
        .first(PAIRS_FIRST)
        .legend("guaranteed: by causality alone; offset: if a line takes as long in both directions");
    Some(table.section("")?.stating(loops.map(Statement::plain)))
}

fn regimes(check: &ClockCheck) -> Option<Section> {
    let verdict = |verdict: RegimeVerdict| match verdict {
        RegimeVerdict::Steady => (Tone::Good, "steady"),
        RegimeVerdict::Moving => (Tone::Look, "moving"),
        RegimeVerdict::CannotTell => (Tone::Doubt, "undetermined"),
    };
    Table::of("regimes", &check.regimes)
        .word("CPUs are", |row| row.stress.replace('_', " "))
        .word("counters", |row| verdict(row.verdict))
        .number("moving", |row| row.moving)
        .number(("pairs seen", 1), |row| format!("{}/{}", row.seen, check.pairs.len()))
        .number(("largest drift", "ppb"), |row| {
            row.drift.as_ref().map(|drift| with_error(Some(drift.rate_ppb), Some(drift.error_ppb)))
        })
        .word(("of CPUs", 1), |row| row.drift.as_ref().map(|drift| format!("{}-{}", drift.a, drift.b)))
        .legend("drift: of the pair that stands out most from its error")
        .section("")
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
fn backwards(check: &ClockCheck) -> Option<Section> {
    let mut sorted: Vec<&BackwardsCount> = check.backwards.iter().collect();
    sorted.order_by_key(|count| std::cmp::Reverse(count.backwards > 0));
    let (all, back) = (sorted.len(), sorted.iter().filter(|count| count.backwards > 0).count());
    let kinds = machine::counted(all, "way");
    let text = match back {
        0 => format!("Read in {kinds}, time never went backwards between two threads"),
        _ => format!("Read in {back} of {kinds}, time went backwards between two threads"),
    };
    let table = Table::of("backwards", sorted)
        .word("read", |count| brief(&count.name))
        .word("ordered", |count| count.ordered)
        .word(("CPUs", 2), |count| format!("{}-{}", count.a, count.b))
        .number(("observations", 1), |count| count.fresh)
        .number("backwards", |count| Cell::shown(share_back(count), count.backwards as f64))
        .number(("at most", "ns"), |count| count.largest_ns)
        .first(back.max(1))
        .legend(
            "One thread reads a time after another thread has read it earlier: backwards if it is smaller.",
        );
    let tone = if back > 0 { Tone::Plain } else { Tone::Good };
    (all > 0).then(|| Section::new("backwards", "").saying(tone, text).table(table))
}

/// How often time went back, with its share.
fn share_back(count: &BackwardsCount) -> String {
    let share = count.backwards as f64 / count.fresh.max(1) as f64 * 100.0;
    if count.backwards == 0 { "0".to_owned() } else { format!("{} ({share:.2} %)", count.backwards) }
}

fn system_clocks(clocks: &[SystemClock]) -> Table {
    Table::of("system_clocks", clocks)
        .word("clock", |clock| &clock.name)
        .number(("rate", "ppm"), |clock| with_error(clock.rate_ppm, clock.error_ppm))
        .prose(("note", 1), |clock| clock.note.as_ref())
        .legend("rate: against CLOCK_MONOTONIC_RAW, which nothing disciplines")
}

/// All that the kernel says of its clocks, nothing where it says nothing.
fn kernel_facts(kernel: &KernelClocks) -> impl Iterator<Item = (&'static str, String)> {
    let source = kernel.clocksource.as_deref().unwrap_or("unknown");
    let available = match kernel.available.as_slice() {
        [] => String::new(),
        some => format!("; available: {}", some.join(", ")),
    };
    let ntp = kernel.ntp.as_ref().map(|ntp| {
        let state = if ntp.synchronised { "synchronised" } else { "not synchronised" };
        format!("{state}, frequency {:+.3} ppm, offset {:+.1} µs", ntp.frequency_ppm, ntp.offset_us)
    });
    let messages = match &kernel.messages {
        None => vec!["not readable here".to_owned()],
        Some(messages) => with_counts(messages),
    };
    let facts = [
        ("clock source", Some(source.to_owned() + &available)),
        ("CPU flags", Some(kernel.flags.join(" "))),
        ("boot words", Some(kernel.boot_words.join(" "))),
        ("watchdog", kernel.watchdog.clone()),
        ("hypervisor", kernel.hypervisor.clone()),
        ("vmclock", kernel.vmclock.clone()),
        ("C1 ramping", kernel.c1_ramping.clone()),
        ("NTP", ntp),
    ];
    let facts = facts.into_iter().map(|(name, text)| (name, text.unwrap_or_default()));
    facts.chain(messages.into_iter().map(|message| ("kernel log", message)))
}

/// The counter's rate as it was measured and as firmware states it, where it does.
fn counter_rate(check: &ClockCheck) -> Option<(&'static str, String)> {
    let rates = rates(check.counter_hz?, check.counter_stated_hz?);
    let error = check.counter_error_ppm.map(|ppm| format!(", measured ±{} ppm", number::short(ppm)));
    Some(("counter rate", rates + &error.unwrap_or_default()))
}

/// Each message once, in the order of their first appearance, with how often it came.
fn with_counts(messages: &[String]) -> Vec<String> {
    let line = |(message, all): (&String, Vec<()>)| match all.len() {
        1 => message.clone(),
        count => format!("{message} ({count} times)"),
    };
    naming::grouped(messages.iter().map(|message| (message, ()))).into_iter().map(line).collect()
}
