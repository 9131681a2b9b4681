//! Answers of made-up records.

use machine::{Bytes, CoreKind, Cpu, CpuId};
use record::{AnswerVerdict, PlanEntry, PlanOutcome, QuestionAnswer, QuestionSample, Record};

use super::answers;

/// A record of a check-up of two CPUs that planned everything.
fn planned() -> Record {
    let mut record = Record::default();
    record.plan.entries = super::QUESTIONS
        .iter()
        .flat_map(|question| question.probes)
        .map(|probe| PlanEntry {
            probe: (*probe).to_owned(),
            planned_s: 1.0,
            disturbs: "core".to_owned(),
            reduced: Vec::new(),
            outcome: PlanOutcome::Done,
            elapsed_s: Some(1.0),
        })
        .collect();
    record.machine.topology.cpus = (0..2).map(cpu).collect();
    record
}

fn cpu(id: u32) -> Cpu {
    Cpu {
        id: CpuId(id),
        core_index: id as usize,
        package: 0,
        die: None,
        module: None,
        node: None,
        core_kind: CoreKind::Uniform,
        capacity: None,
    }
}

fn sample(question: &str, epoch: usize, value: f64, block: u64, page: u64) -> QuestionSample {
    QuestionSample {
        question: question.to_owned(),
        epoch,
        value,
        block_bytes: Some(Bytes(block)),
        page_bytes: Some(Bytes(page)),
        unit: "ns".to_owned(),
        alone_share: 1.0,
        windows: 100,
        ..QuestionSample::default()
    }
}

fn answer<'a>(all: &'a [QuestionAnswer], question: &str) -> &'a QuestionAnswer {
    all.iter().find(|answer| answer.question == question).expect("an answer to each")
}

#[test]
fn a_record_without_a_plan_has_no_answers_and_one_without_samples_says_why() {
    assert!(answers(&Record::default()).is_empty());
    let all = answers(&planned());
    assert_eq!(all.len(), super::QUESTIONS.len());
    let memory = answer(&all, "memory");
    assert_eq!((memory.verdict, memory.value), (AnswerVerdict::Undetermined, None));
    assert!(memory.reason.as_deref().is_some_and(|why| why.contains("--budget")), "{memory:?}");
    let mut failed = planned();
    for entry in &mut failed.plan.entries {
        entry.outcome = PlanOutcome::Failed("no memory".to_owned());
    }
    assert_eq!(answer(&answers(&failed), "memory").reason.as_deref(), Some("no memory"));
}

#[test]
fn memory_is_named_by_what_was_done_whatever_a_cache_claims() {
    let mut record = planned();
    for epoch in 1..=3 {
        record.samples.push(sample("memory", epoch, 190.0, 1 << 30, 2 << 20));
        record.samples.push(sample("memory-base", epoch, 240.0, 1 << 30, 4096));
    }
    let all = answers(&record);
    let memory = answer(&all, "memory");
    assert_eq!(memory.verdict, AnswerVerdict::Ok);
    assert!(
        memory.sentence.starts_with("190 ns [")
            && memory.sentence.contains("at random in 1 GiB, 2 MiB pages")
    );
    assert!(memory.sentence.ends_with("240 ns in base pages"), "{}", memory.sentence);
}

#[test]
fn a_gain_of_huge_pages_is_a_warning_only_where_they_are_off() {
    for (setting, verdict) in [("madvise", AnswerVerdict::Warn), ("always", AnswerVerdict::Ok)] {
        let mut record = planned();
        record.machine.environment.transparent_huge_pages.enabled = Some(setting.to_owned());
        record.samples.extend((1..=3).map(|epoch| sample("huge-pages", epoch, 1.2, 128 << 20, 2 << 20)));
        let all = answers(&record);
        let gain = answer(&all, "huge pages");
        assert_eq!(gain.verdict, verdict);
        assert!((gain.value.unwrap_or_default() - 0.2).abs() < 1e-9);
        assert!(gain.sentence.starts_with("random reads in 128 MiB gain 20 % ["), "{}", gain.sentence);
    }
}

#[test]
fn cpus_are_alike_within_what_was_seen_and_one_that_differs_is_named() {
    let contrast = |epoch, value| QuestionSample {
        cpu: CpuId(1),
        against: Some(CpuId(0)),
        ..sample("cpus-memory", epoch, value, 64 << 20, 2 << 20)
    };
    let mut record = planned();
    record.samples.extend((1..=3).map(|epoch| contrast(epoch, 1.005)));
    let all = answers(&record);
    assert_eq!(answer(&all, "CPUs").verdict, AnswerVerdict::Ok, "{all:?}");
    record.samples.clear();
    record.samples.extend((1..=3).map(|epoch| contrast(epoch, 1.3)));
    let all = answers(&record);
    let unlike = answer(&all, "CPUs");
    assert_eq!(unlike.verdict, AnswerVerdict::Warn);
    assert!(unlike.sentence.starts_with("CPU 1 reads memory 30 % slower than CPU 0"), "{}", unlike.sentence);
    record.guards.others_share = Some(0.37);
    assert_eq!(answer(&answers(&record), "CPUs").verdict, AnswerVerdict::Undetermined);
    record.samples.clear();
    record.provenance.cpus = [CpuId(0)].into_iter().collect();
    assert_eq!(answer(&answers(&record), "CPUs").verdict, AnswerVerdict::NotApplicable, "allowed one of two");
    record.provenance.cpus = machine::CpuSet::new();
    record.machine.topology.cpus.truncate(1);
    assert_eq!(answer(&answers(&record), "CPUs").verdict, AnswerVerdict::NotApplicable);
}
