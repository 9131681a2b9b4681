//! Numbers of the questions: one of all samples that asked the same of the same, epoch by epoch.

use std::borrow::Cow;

use stats::{Interval, grouped_level};

use super::metric::{self, Metric};
use super::{LabelValue, Measurement, Place};
use crate::{Quality, QuestionSample, Record, Spread};

/// Share of the windows of a sample that a statement about hardware rests on.
const MOSTLY_ALONE: f64 = 0.5;

/// Whether a sample had the core alone for most of its windows.
pub fn has_core_alone(sample: &QuestionSample) -> bool {
    sample.alone_share >= MOSTLY_ALONE
}

/// What samples of one epoch are one number by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    /// The least of those that mostly had the core alone: pages of a mapping that lie badly, and others, only add cycles to a cache's.
    Cache,
    /// The median of those that mostly had the core alone.
    Core,
    /// The median of all: memory as a program gets it.
    Memory,
}

/// What a question is a number of.
fn about(sample: &QuestionSample) -> (&'static Metric, Of) {
    match sample.question.as_str() {
        "l1" | "l2" if sample.unit == "ns" => (&metric::CACHE_READ, Of::Cache),
        "l1" => (&metric::CACHE_READ_CYCLES, Of::Cache),
        "l2" => (&metric::SECOND_READ_CYCLES, Of::Cache),
        "blocks" => (&metric::PART_READ, Of::Memory),
        "memory-base" => (&metric::SMALL_PAGE_READ, Of::Memory),
        "huge-pages" => (&metric::HUGE_PAGE_GAIN, Of::Memory),
        question if question.starts_with("cpus-") => (&metric::CPU_OVER_CPU, Of::Core),
        _ => (&metric::RANDOM_READ, Of::Memory),
    }
}

/// Samples of one question as one number.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionLevel {
    /// The median of its epochs, in the unit of the samples.
    pub value: f64,
    /// Where the numbers of 95 % of further runs are expected.
    pub interval: Interval,
    /// The medians of the epochs.
    pub epochs: Vec<f64>,
    /// Samples that count.
    pub samples: usize,
    /// Their windows.
    pub windows: usize,
}

impl QuestionLevel {
    /// Of samples that asked the same of the same; `None` without any. A number of the hardware is made of samples that mostly had the
    /// core alone, and of all where there is none.
    pub fn of<'r>(samples: impl IntoIterator<Item = &'r QuestionSample>) -> Option<Self> {
        let samples: Vec<&QuestionSample> = samples.into_iter().collect();
        let (metric, of) = about(samples.first()?);
        let of_hardware = of != Of::Memory && samples.iter().any(|sample| has_core_alone(sample));
        let mut groups: Vec<(usize, Vec<f64>)> = Vec::new();
        let (mut counted, mut windows) = (0, 0);
        for sample in samples.into_iter().filter(|sample| !of_hardware || has_core_alone(sample)) {
            let value = sample.alone.filter(|_| of_hardware).unwrap_or(sample.value);
            if !(value.is_finite() && value > 0.0) {
                continue;
            }
            counted += 1;
            windows += sample.windows;
            match groups.iter_mut().find(|(epoch, _)| *epoch == sample.epoch) {
                Some((_, values)) => values.push(value.ln()),
                None => groups.push((sample.epoch, vec![value.ln()])),
            }
        }
        let least = |values: Vec<f64>| vec![values.into_iter().fold(f64::INFINITY, f64::min)];
        let groups =
            groups.into_iter().map(|(_, values)| if of == Of::Cache { least(values) } else { values });
        let groups: Vec<Vec<f64>> = groups.collect();
        let (level, interval) = grouped_level(&groups, metric.classes[0].variance())?;
        let epochs = groups.iter().filter_map(|group| stats::median(group)).map(f64::exp).collect();
        let (value, interval) = (level.exp(), interval.map(f64::exp));
        Some(Self { value, interval, epochs, samples: counted, windows })
    }
}

/// The numbers of all questions of a record, in the order in which they were first asked.
pub fn sampled(record: &Record) -> Vec<Measurement<'_>> {
    let key = |sample: &QuestionSample| {
        (sample.question.clone(), sample.cpu, sample.against, sample.block_bytes, sample.unit.clone())
    };
    let mut asked: Vec<(_, Vec<&QuestionSample>)> = Vec::new();
    for sample in &record.samples {
        match asked.iter_mut().find(|(own, _)| *own == key(sample)) {
            Some((_, samples)) => samples.push(sample),
            None => asked.push((key(sample), vec![sample])),
        }
    }
    asked.into_iter().filter_map(|(_, samples)| one(&samples)).collect()
}

fn one<'r>(samples: &[&'r QuestionSample]) -> Option<Measurement<'r>> {
    let first: &'r QuestionSample = samples.first()?;
    let level = QuestionLevel::of(samples.iter().copied())?;
    let mut parameters = vec![("question", LabelValue::Text(&first.question))];
    parameters.extend(first.block_bytes.map(|block| ("block_bytes", LabelValue::Size(block))));
    let labels = parameters.len();
    parameters.extend(first.page_bytes.map(|page| ("page_bytes", LabelValue::Size(page))));
    let spread = Spread {
        interval: level.interval,
        mappings: level.samples,
        windows: level.windows,
        quality: Quality::Converged,
        epochs: level.epochs,
        ..Spread::default()
    };
    let place =
        first.against.as_ref().map_or(Place::One(&first.cpu), |against| Place::Pair(&first.cpu, against));
    let measurement = Measurement::of(about(first).0, level.value, Cow::Owned(spread));
    Some(Measurement { place, parameters, labels, ..measurement })
}

#[cfg(test)]
mod tests {
    use machine::{Bytes, CpuId};

    use super::*;

    fn sample(question: &str, epoch: usize, value: f64, alone: Option<f64>) -> QuestionSample {
        QuestionSample {
            question: question.to_owned(),
            epoch,
            value,
            alone,
            alone_share: if alone.is_some() { 0.9 } else { 0.1 },
            block_bytes: Some(Bytes(1 << 20)),
            unit: "core cycles".to_owned(),
            windows: 10,
            ..QuestionSample::default()
        }
    }

    #[test]
    fn hardware_is_measured_alone_and_memory_as_a_program_gets_it() {
        let two = |question| [sample(question, 1, 5.5, Some(5.0)), sample(question, 2, 8.0, None)];
        let mut cache = two("l1").to_vec();
        cache.push(sample("l1", 1, 5.6, Some(5.3)));
        let cache = QuestionLevel::of(&cache).expect("samples");
        assert!((cache.value - 5.0).abs() < 1e-12 && cache.epochs.len() == 1, "{cache:?}");
        let memory = QuestionLevel::of(&two("memory")).expect("samples");
        assert!((memory.value - (5.5_f64 * 8.0).sqrt()).abs() < 1e-9, "{memory:?}");
        assert_eq!((memory.samples, memory.windows, memory.epochs.len()), (2, 20, 2));
        let shared = [sample("l1", 1, 8.0, None)];
        assert!((QuestionLevel::of(&shared).expect("a sample").value - 8.0).abs() < 1e-9);
        assert_eq!(QuestionLevel::of(&[sample("l1", 1, f64::NAN, None)]), None);
    }

    #[test]
    fn what_was_asked_of_one_thing_is_one_number() {
        let mut record = Record::default();
        let pair = |epoch| QuestionSample {
            cpu: CpuId(1),
            against: Some(CpuId(0)),
            ..sample("cpus-core", epoch, 1.0, Some(1.0))
        };
        record.samples = vec![sample("l1", 1, 5.0, None), pair(1), sample("l1", 2, 5.0, None), pair(2)];
        let found = sampled(&record);
        let said: Vec<(&str, String, Place<'_>, usize)> = found
            .iter()
            .map(|one| (one.metric.name, one.label_text(), one.place, one.spread.epochs.len()))
            .collect();
        let text = |question| format!("question={question},block_bytes=1048576");
        let expected = [
            ("cache_read_core_cycles", text("l1"), Place::One(&CpuId(0)), 2),
            ("cpu_over_cpu_ratio", text("cpus-core"), Place::Pair(&CpuId(1), &CpuId(0)), 2),
        ];
        assert_eq!(said, expected);
    }
}
