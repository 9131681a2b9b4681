//! The questions of a check-up: what each asks, and what a record answers to it.
//!
//! A number is a statement about further runs: its interval is made of what varies between them, which are epochs, and of what is known of
//! such quantities on unchanged machines. No rule over a whole run withholds an answer: little quiet time widens it.

mod last_cache;
mod rows;
mod sampled;

use machine::CpuId;
use record::{AnswerVerdict, Guards, QuestionAnswer, QuestionLevel, QuestionSample, Record};
use stats::Interval;

pub(crate) use self::sampled::{MATTERS, huge_page_gain};

/// One question: its name in records, and how a record answers it; `None` where the record has nothing of it and was not to.
struct Question {
    name: &'static str,
    /// The probes of the plan that it rests on.
    probes: &'static [&'static str],
    answer: fn(&Record) -> Outcome,
}

const fn question(
    name: &'static str,
    probes: &'static [&'static str],
    answer: fn(&Record) -> Outcome,
) -> Question {
    Question { name, probes, answer }
}

impl Question {
    /// Time of its samples and of its other probes, in seconds.
    fn spent_s(&self, record: &Record) -> f64 {
        let of_samples = record.samples.iter().filter(|one| one.is_of(self.name));
        let is_own = |probe: &str| probe != "questions" && self.probes.contains(&probe);
        let of_probes = record.plan.entries.iter().filter(|entry| is_own(&entry.probe));
        of_samples.map(|one| one.seconds).sum::<f64>()
            + of_probes.filter_map(|one| one.elapsed_s).sum::<f64>()
    }
}

/// In the order of the first screen.
const QUESTIONS: [Question; 12] = [
    question("noise", &["control", "questions"], rows::noise),
    question("L1", &["questions"], |record| sampled::cache(record, "l1", 1)),
    question("L2", &["questions"], |record| sampled::cache(record, "l2", 2)),
    question("L3", &["questions"], last_cache::usable),
    question("memory", &["questions"], sampled::memory),
    question("bandwidth", &["stream"], rows::bandwidth),
    question("huge pages", &["questions"], sampled::huge_pages),
    question("CPUs", &["questions"], sampled::cpus),
    question("siblings", &["sharing"], rows::siblings),
    question("wake-up", &["transfer", "wake"], rows::waking),
    question("clocks", &["clock-pairs"], rows::clocks),
    question("clock read", &["clock-reads"], rows::clock_read),
];

/// What a question comes to.
struct Outcome {
    verdict: AnswerVerdict,
    sentence: String,
    number: Option<(f64, Interval, &'static str)>,
    reason: Option<String>,
}

impl Outcome {
    /// An answer with nothing to look at.
    fn ok(sentence: impl Into<String>) -> Self {
        Self { verdict: AnswerVerdict::Ok, sentence: sentence.into(), number: None, reason: None }
    }

    /// The same, where it deserves a look if so.
    fn warning_if(self, deserves_a_look: bool) -> Self {
        if deserves_a_look { Self { verdict: AnswerVerdict::Warn, ..self } } else { self }
    }

    /// The same with the number behind it.
    fn of(self, value: f64, interval: Interval, unit: &'static str) -> Self {
        Self { number: Some((value, interval, unit)), ..self }
    }

    /// The measurement does not decide: why, and what would.
    fn undetermined(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        let sentence = format!("undetermined: {reason}");
        Self { verdict: AnswerVerdict::Undetermined, sentence, number: None, reason: Some(reason) }
    }

    /// It does not arise here.
    fn not_applicable(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        let sentence = format!("not applicable: {reason}");
        Self { verdict: AnswerVerdict::NotApplicable, sentence, number: None, reason: Some(reason) }
    }
}

/// The answers of a record: of a check-up to all questions whose probes were planned; of one that planned none of them, as those of earlier
/// versions, to those that its rows answer.
pub fn answers(record: &Record) -> Vec<QuestionAnswer> {
    let planned = record.plan.entries.iter().filter(|entry| entry.planned_s > 0.0);
    let planned: Vec<&str> = planned.map(|entry| entry.probe.as_str()).collect();
    let is_check_up = !record.memory.latency.is_empty() || !record.cores.control.is_empty();
    let answered = QUESTIONS.iter().filter_map(|question| {
        let is_planned = question.probes.iter().any(|probe| planned.contains(probe));
        let outcome = (is_planned || is_check_up).then(|| (question.answer)(record))?;
        let is_answered =
            !matches!(outcome.verdict, AnswerVerdict::Undetermined | AnswerVerdict::NotApplicable);
        let finite = outcome.number.filter(|(value, interval, _)| {
            [*value, interval.low, interval.high].iter().all(|number| number.is_finite())
        });
        (is_planned || is_answered).then(|| QuestionAnswer {
            question: question.name.to_owned(),
            verdict: outcome.verdict,
            sentence: outcome.sentence,
            value: finite.map(|(value, ..)| value),
            low: finite.map(|(_, interval, _)| interval.low),
            high: finite.map(|(_, interval, _)| interval.high),
            unit: finite.map_or("", |(.., unit)| unit).to_owned(),
            spent_s: question.spent_s(record),
            reason: outcome.reason,
        })
    });
    answered.collect()
}

/// The level of samples of one question with its interval; `None` without any.
fn level<'r>(samples: impl IntoIterator<Item = &'r QuestionSample>) -> Option<(f64, Interval)> {
    QuestionLevel::of(samples).map(|level| (level.value, level.interval))
}

/// The samples of a question.
fn samples<'r>(record: &'r Record, question: &'r str) -> impl Iterator<Item = &'r QuestionSample> + Clone {
    record.samples.iter().filter(move |sample| sample.question == question)
}

/// The other CPUs of contrasts, ascending.
fn compared(record: &Record) -> Vec<CpuId> {
    let mut cpus: Vec<CpuId> =
        record.samples.iter().filter(|sample| sample.against.is_some()).map(|sample| sample.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// What others took of the CPU time, and from where on that is noise.
fn taken(record: &Record) -> [(&'static str, Option<f64>, f64); 2] {
    let guards = &record.guards;
    [
        ("stolen", guards.steal_share, Guards::STEAL_DOUBTFUL),
        ("other programs", guards.others_share, Guards::OTHERS_DOUBTFUL),
    ]
}

/// Whether others took so much CPU time that a CPU may be slow for it.
fn is_noisy(record: &Record) -> bool {
    taken(record).into_iter().any(|(_, share, limit)| share.is_some_and(|share| share > limit))
}

/// What a record says of its probes where it has no sample: that it had no time, or why it failed.
fn nothing_measured(record: &Record) -> Outcome {
    let entry = record.plan.entries.iter().find(|entry| entry.probe == "questions");
    let reason = match entry.map(|entry| &entry.outcome) {
        Some(record::PlanOutcome::Failed(why)) => why.clone(),
        _ => "too little time for one sample; give more with --budget".to_owned(),
    };
    Outcome::undetermined(reason)
}

#[cfg(test)]
mod tests;
