//! Areas at a glance: flaws, memory, cores, clocks and noise, each with its verdict, its number, and why it deserves a look.

use record::{Area, ClockVerdict, Finding, Record, Scope, Severity};
use stats::Order;

use super::{findings, memory};
use crate::number;
use crate::page::{Status, Tone};
use crate::view::clock_cost::USUAL_READ;
use crate::view::flaws;

/// Clocks of CPUs within this ratio are shown as one.
const ONE_FREQUENCY: f64 = 1.02;

/// In the order of the page, with their names; the run itself stands above them.
const AREAS: [(Area, &str); 5] = [
    (Area::Flaws, "flaws"),
    (Area::Memory, "memory"),
    (Area::Cores, "cores"),
    (Area::Clocks, "clocks"),
    (Area::Noise, "noise"),
];

/// A line for each area; of a record that is no check-up, for those that it has something of.
pub(super) fn areas(record: &Record) -> Vec<Status> {
    let is_check_up = !record.plan.entries.is_empty();
    let partial = record.partial.as_ref().map(|why| Status {
        tone: Tone::Look,
        area: "run",
        text: format!("partial: {why}; what was done until then follows"),
    });
    let is_narrowed = record.provenance.arguments.iter().any(|word| word.starts_with("--only"));
    let missing = |area: &'static str| {
        let (tone, text) = if is_narrowed {
            (Tone::Faint, "left out with --only")
        } else {
            (Tone::Doubt, "not measured in this run")
        };
        Status { tone, area, text: text.to_owned() }
    };
    let areas = AREAS
        .into_iter()
        .filter_map(|(area, name)| status(record, area, name).or_else(|| is_check_up.then(|| missing(name))));
    partial.into_iter().chain(areas).collect()
}

fn status(record: &Record, area: Area, name: &'static str) -> Option<Status> {
    let found: Vec<&Finding> = record.findings.iter().filter(|finding| finding.area == Some(area)).collect();
    if area == Area::Flaws && !record.flaws.is_empty() {
        let sum = flaws::sum(&record.flaws, |here| format!("{here} here"));
        let uneven = found.iter().filter(|finding| finding.id == "flaws-uneven");
        let clauses: Vec<String> = uneven.map(|one| one.text.clone()).chain([sum.text]).collect();
        let tone = if clauses.len() > 1 { Tone::Look } else { sum.tone };
        return Some(Status { tone, area: name, text: clauses.join("; ") });
    }
    let mut numbers = match area {
        Area::Run | Area::Flaws => Vec::new(),
        Area::Memory => of_memory(record),
        Area::Cores => cores(record),
        Area::Clocks => clocks(record),
        Area::Noise => noise(record),
    };
    let mut toned: Vec<(Tone, &Finding)> = found.iter().map(|finding| (tone(finding), *finding)).collect();
    toned.order_by_key(|(_, finding)| finding.severity);
    let of = |asked: Tone| {
        let of = toned.iter().filter(move |(tone, _)| *tone == asked);
        of.map(|(_, finding)| phrase(record, finding))
    };
    let (looks, doubts) = (of(Tone::Look).collect::<Vec<_>>(), of(Tone::Doubt).collect::<Vec<_>>());
    numbers.retain(|number| !looks.contains(number));
    let (tone, clauses) = match (looks.is_empty(), doubts.is_empty()) {
        (true, true) if numbers.is_empty() && found.is_empty() => return None,
        (true, true) => (Tone::Good, [praise(&found), numbers].concat()),
        (true, false) => (Tone::Doubt, [numbers, doubts].concat()),
        (false, _) => (Tone::Look, [looks, numbers, doubts].concat()),
    };
    let clauses =
        if clauses.is_empty() { found.iter().map(|one| one.text.clone()).collect() } else { clauses };
    Some(Status { tone, area: name, text: clauses.join("; ") })
}

/// What a finding makes of its area. Others at work deserve a look as soon as they show.
fn tone(finding: &Finding) -> Tone {
    let shows = ["busy-machine", "neighbours"].contains(&finding.id.as_str());
    match findings::tone(finding.severity) {
        Tone::Plain if shows => Tone::Look,
        Tone::Plain => Tone::Good,
        other => other,
    }
}

/// What was checked and is as it should be, in a word each.
fn praise(found: &[&Finding]) -> Vec<String> {
    let words = [("clock-counters", "safe"), ("cpus-unequal", "alike"), ("cache-sizes", "caches as claimed")];
    let is_good = |id: &str| found.iter().any(|one| one.id == id && one.severity == Severity::Good);
    words.iter().filter(|(id, _)| is_good(id)).map(|(_, word)| (*word).to_owned()).collect()
}

fn of_memory(record: &Record) -> Vec<String> {
    let farthest = record.levels.caches.last().filter(|level| level.ns.is_finite());
    let latency = farthest.map(|level| {
        let whose = if level.name == "memory" { String::new() } else { format!("{} ", level.name) };
        format!("{whose}{}", duration(level.ns, level.ns_interval))
    });
    let all = record.memory.stream.iter().filter(|result| result.scope == Scope::Machine);
    let best = all.map(|result| result.bytes_per_s).filter(|rate| rate.is_finite()).max_by(f64::total_cmp);
    let rate = best.map(|rate| format!("{} GB/s on all CPUs", number::short(number::gigabytes(rate))));
    latency.into_iter().chain(rate).collect()
}

fn duration(ns: f64, interval: stats::Interval) -> String {
    format!("{} {}", number::duration_ns(ns), number::plus_minus(ns, interval)).trim_end().to_owned()
}

fn cores(record: &Record) -> Vec<String> {
    let frequency = record.core_clocks().map(|[low, high]| match high.0 / low.0 {
        ratio if ratio > ONE_FREQUENCY => {
            format!("{} to {}", number::frequency(low), number::frequency(high))
        }
        _ => number::frequency(high),
    });
    if frequency.is_none() && record.cores.control.is_empty() && record.cores.sharing.is_empty() {
        return Vec::new();
    }
    let (cpus, cores) = (record.machine.topology.cpus.len(), record.machine.topology.cores.len());
    let count = match (cpus, cores) {
        (0, _) => None,
        (cpus, cores) if cores > 0 && cores < cpus => {
            Some(format!("{} on {}", number::count(cpus, "CPU"), number::count(cores, "core")))
        }
        (cpus, _) => Some(number::count(cpus, "core")),
    };
    count.into_iter().chain(frequency).collect()
}

fn clocks(record: &Record) -> Vec<String> {
    let usual = record.clocks.iter().filter(|read| read.name == USUAL_READ && read.ns.is_finite());
    let cheapest = usual.min_by(|a, b| a.ns.total_cmp(&b.ns));
    let cost = cheapest.map(|read| format!("{} a read", duration(read.ns, read.spread.interval)));
    let safe = record.clock_check.as_ref().is_some_and(|check| check.verdict == ClockVerdict::Safe);
    let unknown = record.clock_check.is_none() && cost.is_some();
    let counters = unknown.then(|| "counters not compared".to_owned());
    // Of a record without findings the verdict itself has to do.
    let is_judged = record.findings.iter().any(|finding| finding.id == "clock-counters");
    let safe = (safe && !is_judged).then(|| "safe".to_owned());
    safe.into_iter().chain(cost).chain(counters).collect()
}

fn noise(record: &Record) -> Vec<String> {
    let withheld = record.levels.withheld.iter().filter(|one| one.value.is_some()).count();
    let withheld = (withheld > 0).then(|| format!("{} withheld", number::count(withheld, "result")));
    [others(record), steal(record), withheld].into_iter().flatten().collect()
}

fn others(record: &Record) -> Option<String> {
    let share = record.guards.others_share.filter(|share| share.is_finite())?;
    Some(format!("other programs used {} of CPU time", number::percent(share)))
}

fn steal(record: &Record) -> Option<String> {
    let share = record.guards.steal_share.filter(|share| share.is_finite())?;
    Some(format!("steal {}", number::percent(share)))
}

/// A finding in few words with its number, where its sentence says more than a line holds.
fn phrase(record: &Record, finding: &Finding) -> String {
    let is_open = finding.severity == Severity::Inconclusive;
    let short = match finding.id.as_str() {
        "thp-off-cost" => memory::huge_page_gain(&record.levels)
            .map(|gain| format!("random access pays {gain} without huge pages")),
        "huge-page-gain" if is_open => Some(
            memory::huge_page_gain(&record.levels)
                .map_or("gain of huge pages not measured".to_owned(), |gain| {
                    format!("gain of huge pages undetermined: {gain}")
                }),
        ),
        "busy-machine" => others(record),
        "steal-high" => steal(record),
        "clock-counters" if is_open => {
            finding.text.split_once(": ").map(|(_, reason)| format!("undetermined: {reason}"))
        }
        "cpus-unequal" if is_open => Some("equality of CPUs undetermined".to_owned()),
        "sockets-unequal" if is_open => Some("equality of sockets undetermined".to_owned()),
        "wake-slow" if is_open => Some("slow wake-ups undetermined".to_owned()),
        id if is_open => {
            id.strip_prefix("effective-").map(|level| format!("usable {} undetermined", level.to_uppercase()))
        }
        _ => None,
    };
    short.unwrap_or_else(|| finding.text.clone())
}
