//! A check of clocks as text: the verdict first, then pairs, reads that went back, the kernel's clocks, what can be done.

use record::{
    BackwardsCount, ClockCheck, ClockFault, ClockPair, ClockRegime, ClockVerdict, KernelClocks,
    RegimeVerdict, SystemClock,
};

use crate::clock_cost::brief;
use crate::escape::plain;
use crate::terminal::{Ink, Paper, Terminal, table_of};

/// Pairs shown; the worst come first, and --json has all.
const PAIRS_SHOWN: usize = 12;
/// Width of the names in front of lines.
const NAME_COLUMNS: usize = 13;

/// The page of a check.
pub fn clock_check_terminal(check: &ClockCheck, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    opening(&mut paper, check);
    if !check.pairs.is_empty() {
        pairs(&mut paper, check);
    }
    if !check.regimes.is_empty() {
        regimes(&mut paper, check);
    }
    if !check.backwards.is_empty() {
        backwards(&mut paper, check);
    }
    if !check.system_clocks.is_empty() {
        system_clocks(&mut paper, &check.system_clocks);
    }
    kernel(&mut paper, &check.kernel);
    for remedy in &check.remedies {
        named(&mut paper, "to do", remedy);
    }
    for line in &check.without {
        paper.wrapped_inked(Ink::Doubt, "? ", &plain(line));
    }
    paper.finish()
}

fn opening(paper: &mut Paper, check: &ClockCheck) {
    let (ink, verdict) = match check.verdict {
        ClockVerdict::Safe => (Ink::Good, "safe"),
        ClockVerdict::Correctable => (Ink::Warning, "correctable"),
        ClockVerdict::Unsafe => (Ink::Warning, "unsafe"),
        ClockVerdict::CannotTell => (Ink::Doubt, "cannot tell"),
    };
    paper.inked(ink, &format!("Time on this machine: {verdict}"));
    if let Some(injected) = &check.injected {
        paper.wrapped_inked(
            Ink::Doubt,
            "  ",
            &format!("with a fault put in on purpose: {}", plain(injected)),
        );
    }
    for reason in &check.because {
        paper.wrapped("  ", &plain(reason));
    }
    if let Some(line) = sharpness(check) {
        paper.wrapped_inked(Ink::Faint, "  ", &line);
    }
    paper.blank();
}

/// What would have stayed unseen, and what not; `None` if nothing was measured.
pub(crate) fn sharpness(check: &ClockCheck) -> Option<String> {
    let blind = check.blind_below_ns?;
    let step = check.counter_step_ns.filter(|step| *step > 1.0);
    let parts = [
        Some(format!("blind below {blind:.0} ns of offset")),
        check
            .would_have_seen
            .map(|drift| format!("would have seen {} ppb of drift in {:.1} s", short(drift.ppb), drift.in_s)),
        step.map(|step| format!("the counter counts in steps of {step:.0} ns")),
    ];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

fn named(paper: &mut Paper, name: &str, text: &str) {
    paper.wrapped(&format!("{name:<NAME_COLUMNS$}"), &plain(text));
}

/// Three digits that count.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn range(interval: Option<[f64; 2]>) -> String {
    interval.map_or_else(|| "-".to_owned(), |[low, high]| format!("[{}, {}]", rounded(low), rounded(high)))
}

fn rounded(value: f64) -> String {
    // The sum makes minus zero zero.
    let tenths = (value * 10.0).round() / 10.0 + 0.0;
    if value.abs() >= 100.0 { format!("{value:+.0}") } else { format!("{tenths:+.1}") }
}

pub(crate) fn spread(value: Option<f64>, error: Option<f64>) -> String {
    match (value, error) {
        (Some(value), Some(error)) => format!("{} ±{}", rounded(value), short(error)),
        (Some(value), None) => rounded(value),
        _ => "-".to_owned(),
    }
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

fn pairs(paper: &mut Paper, check: &ClockCheck) {
    let headers = ["CPUs", "guaranteed ns", "estimate ns", "drift ppb", "certain ppb", "seen", ""];
    let mut table = table_of(&headers.map(str::to_owned));
    let mut sorted: Vec<&ClockPair> = check.pairs.iter().collect();
    sorted.sort_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal));
    for pair in sorted.iter().take(PAIRS_SHOWN) {
        table.add_row(vec![
            format!("{}-{}", pair.a, pair.b),
            range(pair.interval_ns),
            spread(pair.estimate_ns, pair.sd_ns),
            spread(pair.rate_ppb, pair.rate_error_ppb),
            range(pair.rate_interval_ppb),
            format!("{}/{}", pair.usable, pair.exchanges),
            pair.fault.map_or("", fault).to_owned(),
        ]);
    }
    paper.table(table);
    if sorted.len() > PAIRS_SHOWN {
        paper
            .faint(&format!("{}: --json has all", machine::counted(sorted.len() - PAIRS_SHOWN, "more pair")));
    }
    if let Some(loops) = &check.loops {
        let [a, b, c] = loops.worst;
        named(
            paper,
            "loops",
            &format!(
                "{} round three CPUs, {} broken; worst {a}-{b}-{c} misses zero by {:.1} ns",
                machine::counted(loops.count, "way"),
                loops.broken,
                loops.worst_ns
            ),
        );
    }
    paper.faint("guaranteed: by causality alone; estimate: if both directions take equally long");
    paper.blank();
}

fn regimes(paper: &mut Paper, check: &ClockCheck) {
    let mut table = table_of(&REGIME_HEADERS.map(str::to_owned));
    for row in &check.regimes {
        table.add_row(regime_cells(row, check.pairs.len()));
    }
    paper.table(table);
    paper.blank();
}

/// Columns of the table of regimes.
pub(crate) const REGIME_HEADERS: [&str; 6] = ["CPUs", "counters", "moving", "seen", "drift ppb", "of"];

/// One regime, in those columns.
pub(crate) fn regime_cells(row: &ClockRegime, pairs: usize) -> Vec<String> {
    let verdict = match row.verdict {
        RegimeVerdict::Steady => "steady",
        RegimeVerdict::Moving => "moving",
        RegimeVerdict::CannotTell => "cannot tell",
    };
    let drift = row.drift.as_ref();
    vec![
        plain(&row.stress).replace('_', " "),
        verdict.to_owned(),
        row.moving.to_string(),
        format!("{}/{pairs}", row.seen),
        spread(drift.map(|drift| drift.rate_ppb), drift.map(|drift| drift.error_ppb)),
        drift.map_or_else(String::new, |drift| format!("{}-{}", drift.a, drift.b)),
    ]
}

fn fault(fault: ClockFault) -> &'static str {
    match fault {
        ClockFault::Offset => "offset",
        ClockFault::Slope => "drift",
        ClockFault::Step => "step",
        ClockFault::SlopeAtOneFrequency => "drift in some P-states",
        ClockFault::SlopeAfterIdle => "drift asleep",
        ClockFault::RateChanges => "drift that changes",
        ClockFault::Moved => "moved",
    }
}

fn backwards(paper: &mut Paper, check: &ClockCheck) {
    let headers = ["read", "ordered", "CPUs", "observations", "backwards", "largest ns"];
    let mut table = table_of(&headers.map(str::to_owned));
    for count in &check.backwards {
        table.add_row(vec![
            brief(&count.name),
            if count.ordered { "yes" } else { "no" }.to_owned(),
            format!("{}-{}", count.a, count.b),
            count.fresh.to_string(),
            share_back(count),
            short(count.largest_ns),
        ]);
    }
    paper.table(table);
    paper.blank();
}

/// How often time went back, with its share.
pub(crate) fn share_back(count: &BackwardsCount) -> String {
    let share = count.backwards as f64 / count.fresh.max(1) as f64 * 100.0;
    if count.backwards == 0 { "0".to_owned() } else { format!("{} ({share:.2} %)", count.backwards) }
}

fn system_clocks(paper: &mut Paper, clocks: &[SystemClock]) {
    let mut table = table_of(&["clock", "against MONOTONIC_RAW, ppm", ""].map(str::to_owned));
    for clock in clocks {
        let rate = spread(clock.rate_ppm, clock.error_ppm);
        table.add_row(vec![clock.name.clone(), rate, plain(clock.note.as_deref().unwrap_or_default())]);
    }
    paper.table(table);
    paper.blank();
}

fn kernel(paper: &mut Paper, kernel: &KernelClocks) {
    for KernelFact { name, text } in kernel_facts(kernel) {
        named(paper, name, &text);
    }
}

/// One thing that the kernel says of its clocks.
pub(crate) struct KernelFact {
    pub(crate) name: &'static str,
    pub(crate) text: String,
}

/// All that the kernel says of its clocks, nothing where it says nothing.
pub(crate) fn kernel_facts(kernel: &KernelClocks) -> Vec<KernelFact> {
    let mut facts = Vec::new();
    let mut fact = |name: &'static str, text: &str| {
        if !text.is_empty() {
            facts.push(KernelFact { name, text: text.to_owned() });
        }
    };
    let source = kernel.clocksource.as_deref().unwrap_or("unknown");
    let available = if kernel.available.is_empty() {
        String::new()
    } else {
        format!("; available: {}", kernel.available.join(", "))
    };
    fact("clocksource", &format!("{source}{available}"));
    fact("flags", &kernel.flags.join(" "));
    fact("boot", &kernel.boot_words.join(" "));
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
        None => fact("messages", "the kernel's log may not be read here"),
        Some(messages) => counted(messages).iter().for_each(|message| fact("message", message)),
    }
    facts
}

/// Each message once, in the order of their first appearance, with how often it came.
fn counted(messages: &[String]) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use machine::CpuId;
    use record::{ClockLoops, NtpState, RegimeDrift, VisibleDrift};

    fn widest_pair() -> ClockPair {
        ClockPair {
            a: CpuId(1_000),
            b: CpuId(1_001),
            interval_ns: Some([-1_234_567_890.0, 1_234_567_890.0]),
            estimate_ns: Some(-123_456_789.0),
            sd_ns: Some(123.0),
            standard_error_ns: Some(1.0),
            rate_ppb: Some(-50_000.0),
            rate_error_ppb: Some(0.12),
            rate_interval_ppb: Some([-50_010.0, -49_990.0]),
            moves_for_certain: true,
            contradiction: None,
            step: None,
            seen_after_s: Some(0.3),
            fault: Some(ClockFault::SlopeAtOneFrequency),
            rate_ppb_by_stress: [("idle".to_owned(), 3.0), ("load".to_owned(), -0.1)].into(),
            half_width_ns: Some(45.0),
            exchanges: 10_000,
            usable: 9_999,
            overlap_share: 0.9,
            best_after_ms: Some(1.0),
            watched_s: 6.0,
            centres: Vec::new(),
        }
    }

    #[test]
    fn the_page_keeps_to_80_columns_and_begins_with_the_verdict() {
        let check = ClockCheck {
            verdict: ClockVerdict::Unsafe,
            because: vec!["a reason ".repeat(20)],
            blind_below_ns: Some(51.0),
            would_have_seen: Some(VisibleDrift { ppb: 8.0, in_s: 6.0 }),
            pairs: vec![widest_pair(); 20],
            regimes: vec![ClockRegime {
                stress: "mixed_speeds".to_owned(),
                verdict: RegimeVerdict::CannotTell,
                moving: 1_000,
                seen: 100_000,
                usable: 1_000_000,
                drift: Some(RegimeDrift {
                    a: CpuId(1_000),
                    b: CpuId(1_001),
                    rate_ppb: -123_456.0,
                    error_ppb: 12_345.0,
                }),
            }],
            loops: Some(ClockLoops {
                count: 1,
                broken: 0,
                worst: [CpuId(0), CpuId(1), CpuId(2)],
                worst_ns: 1.0,
            }),
            backwards: vec![BackwardsCount {
                name: "clock_gettime(CLOCK_MONOTONIC_COARSE)".to_owned(),
                a: CpuId(0),
                b: CpuId(1),
                ordered: true,
                fresh: 1_000_000,
                backwards: 3,
                largest_ns: 12.0,
            }],
            kernel: KernelClocks {
                messages: Some(vec!["word ".repeat(40)]),
                ntp: Some(NtpState {
                    synchronised: true,
                    frequency_ppm: -12.3,
                    offset_us: 5.0,
                    estimated_error_us: 1.0,
                    maximum_error_us: 2.0,
                }),
                ..KernelClocks::default()
            },
            counter_step_ns: Some(10.0),
            ..ClockCheck::default()
        };
        let text = clock_check_terminal(&check, Terminal::default());
        assert!(text.starts_with("Time on this machine: unsafe\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("8 more pairs"), "{text}");
        assert!(text.contains("mixed speeds"), "{text}");
    }
}
