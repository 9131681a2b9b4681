//! The questions in full: each with its answer, what that rests on, and the samples behind it.

use machine::{Bytes, CpuId};
use record::{AnswerVerdict, Finding, QuestionAnswer, QuestionSample, Record, Severity};
use stats::Order;
use stats::text::capital;

use crate::naming;
use crate::number;
use crate::page::{Cell, Section, Statement, Table, Tone};

/// The source of what needs no other.
pub(super) const METHOD: &str = "METHODOLOGY.md";

/// Findings of a question: beside an answer they are what it rests on, and not said again.
const FOUND_FOR: [(&str, &str); 8] = [
    ("busy-machine", "noise"),
    ("busy-sibling", "noise"),
    ("steal-high", "noise"),
    ("thp-off-cost", "huge pages"),
    ("hidden-siblings", "siblings"),
    ("wake-slow", "wake-up"),
    ("clock-counters", "clocks"),
    ("clock-slow", "clock read"),
];

/// The answer that says what a finding says.
pub(super) fn said_by<'r>(record: &'r Record, finding: &Finding) -> Option<&'r QuestionAnswer> {
    let (_, question) = FOUND_FOR.iter().find(|(id, _)| *id == finding.id)?;
    record.answers.iter().find(|answer| answer.question == *question)
}

/// Whether a finding explains its answer: one that leaves open what is answered explains nothing.
pub(super) fn explains(finding: &Finding, answer: &QuestionAnswer) -> bool {
    finding.severity != Severity::Inconclusive || answer.verdict == AnswerVerdict::Undetermined
}

/// What a finding rests on, what explains it, what to do; the name of the evidence stands before its first line.
pub(super) fn facts(finding: &Finding) -> Vec<(String, String)> {
    let names = ["evidence"].into_iter().chain(std::iter::repeat(""));
    let evidence = names.zip(&finding.evidence);
    let source = finding.source.as_ref().filter(|source| *source != METHOD);
    let parts = [
        ("cause", finding.mechanism.as_ref()),
        ("expected", finding.prediction.as_ref()),
        ("fix", finding.remedy.as_ref()),
        ("source", source),
    ];
    let parts = parts.into_iter().filter_map(|(name, text)| Some((name, text?)));
    evidence.chain(parts).map(|(name, text)| (name.to_owned(), text.clone())).collect()
}

/// The tone of an answer, and its verdict in a word of a first screen.
pub(super) fn tone(answer: &QuestionAnswer) -> (Tone, &'static str) {
    match answer.verdict {
        AnswerVerdict::Warn | AnswerVerdict::Noisy => (Tone::Look, answer.verdict.name()),
        AnswerVerdict::Ok => (Tone::Good, answer.verdict.name()),
        // Its sentence begins with it.
        AnswerVerdict::Undetermined => (Tone::Doubt, "?"),
        AnswerVerdict::NotApplicable => (Tone::Faint, "?"),
    }
}

/// A question with its answer, what that rests on, and its samples; `None` where it has no answer. `id` is the question's
/// name with a hyphen for a space.
pub(super) fn section(record: &Record, id: &'static str) -> Option<Section> {
    let is_it = |answer: &&QuestionAnswer| answer.question.replace(' ', "-") == id;
    let answer = record.answers.iter().find(is_it)?;
    let rests_on = record.findings.iter().filter(|finding| {
        explains(finding, answer) && said_by(record, finding).is_some_and(|by| by.question == answer.question)
    });
    let statement = Statement::new(tone(answer).0, &answer.sentence);
    let section =
        Section::new(id, capital(&answer.question)).stating([statement]).facts(rests_on.flat_map(facts));
    let samples = samples(record, id, &answer.question);
    Some(if samples.rows.is_empty() { section } else { section.table(samples) })
}

/// What is alike in samples: name, CPU, the one it is compared with, block, pages, unit.
type Kind<'r> = (&'r str, CpuId, Option<CpuId>, Option<Bytes>, Option<Bytes>, &'r str);

/// Samples of a question, those of one kind together: their medians, and the states of their windows.
fn samples(record: &Record, id: &'static str, question: &str) -> Table {
    let samples = record.samples.iter().filter(|sample| sample.is_of(question));
    let kind = |one: &QuestionSample| (one.cpu, one.against, one.block_bytes, one.page_bytes);
    let keyed = samples.map(|one| {
        let (cpu, against, block, page) = kind(one);
        let key: Kind<'_> = (&one.question, cpu, against, block, page, &one.unit);
        (key, one)
    });
    let mut rows = naming::grouped(keyed);
    rows.order_by_key(|(kind, _)| *kind);
    let middle = |samples: &[&QuestionSample], of: fn(&QuestionSample) -> Option<f64>| {
        let values: Vec<f64> = samples.iter().filter_map(|one| of(one)).collect();
        stats::median(&values).map(|value| Cell::shown(number::column(value), value))
    };
    let unit = match rows.first().map(|(kind, _)| kind.5) {
        Some("core cycles") => "cycles",
        Some("ns") => "ns",
        _ => "",
    };
    Table::of(id, rows)
        .word("CPU", |(kind, _)| {
            let against = kind.2.map(|cpu| format!(" against {cpu}"));
            format!("{}{}", kind.1, against.unwrap_or_default())
        })
        .word("reads", |(kind, _)| match kind.0 {
            "cpus-core" => Some("L2"),
            "cpus-memory" => Some("memory"),
            _ => None,
        })
        .number("block", |(kind, _)| kind.3)
        .number(("pages", 3), |(kind, _)| kind.4)
        .number(("samples", 2), |(_, samples)| samples.len())
        .number(("median", unit), |(_, samples)| middle(samples, |one| Some(one.value)))
        .number(("alone", unit, 1), |(_, samples)| middle(samples, |one| one.alone))
        .number(("shared", unit, 1), |(_, samples)| middle(samples, |one| one.shared))
        .number("windows alone", |(_, samples)| {
            let shares: Vec<f64> = samples.iter().map(|one| one.alone_share).collect();
            Cell::percent(stats::mean(&shares))
        })
        .table()
}

/// What the words of those tables mean, once.
pub(super) fn legend(record: &Record) -> Option<Section> {
    let words = "A sample is a fresh mapping, or a visit to a pair of CPUs. Alone: windows in which the control loops had the core to \
                 themselves; shared: the others.";
    let is_needed = !record.samples.is_empty();
    is_needed.then(|| Section::new("samples", "").saying(Tone::Faint, words))
}

/// What the surface shows of each level, of a record without samples of the questions.
pub(super) fn by_level(record: &Record) -> Option<Section> {
    let is_line = |one: &&record::LatencyCell| one.stride_bytes == Bytes(64) && one.ns.is_finite();
    let cells = record.memory.latency.iter().filter(|_| record.samples.is_empty()).filter(is_line);
    let by_level = naming::grouped(cells.map(|one| (one.level.as_deref().unwrap_or(number::UNKNOWN), one)));
    let span = |values: &[f64]| {
        let sorted = stats::sorted(values);
        let ends = sorted.first().zip(sorted.last()).map(|(low, high)| [*low, *high].into());
        Some(Cell::between(stats::median(&sorted)?, ends))
    };
    Table::of("levels", by_level)
        .word("level", |(level, _)| *level)
        .number("smallest block", |(_, cells)| cells.iter().map(|one| one.block_bytes).min())
        .number("largest block", |(_, cells)| cells.iter().map(|one| one.block_bytes).max())
        .number(("latency", "ns"), |(_, cells)| span(&cells.iter().map(|one| one.ns).collect::<Vec<_>>()))
        .number(("cycles", 1), |(_, cells)| {
            let cycles: Vec<f64> = cells.iter().filter_map(|one| one.core_cycles).collect();
            stats::median(&cycles).map(|value| Cell::shown(number::column(value), value))
        })
        .legend("Cells of the latency surface at a stride of a cache line: their median, and the fastest and slowest.")
        .section("Latency by level")
}
