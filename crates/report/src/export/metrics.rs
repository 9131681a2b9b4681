//! Families of metrics as text in Prometheus' format 0.0.4, which node_exporter's textfile collector and every scraper read.
//!
//! The format knows no type `info`, and a whole file is refused for it (prometheus/common, expfmt/text_parse.go, `readingType`), so that
//! there is no such family here.

use std::fmt::Write;

use crate::escape::plain;

/// A family: what its samples are of.
#[derive(Debug, Clone)]
pub struct Family {
    /// Without the prefix, and without `_total`; ends in the unit, such as `seconds`.
    pub name: &'static str,
    /// A counter only grows, and its samples are named with `_total`; a gauge goes up and down.
    pub is_counter: bool,
    /// One sentence.
    pub help: &'static str,
    /// A family without samples is not written.
    pub samples: Vec<Sample>,
}

impl Family {
    /// A family of a gauge.
    pub fn gauge(name: &'static str, help: &'static str) -> Self {
        Self { name, is_counter: false, help, samples: Vec::new() }
    }

    /// A family of a counter.
    pub fn counter(name: &'static str, help: &'static str) -> Self {
        Self { is_counter: true, ..Self::gauge(name, help) }
    }

    /// The same with these samples.
    #[must_use]
    pub fn of(self, samples: impl IntoIterator<Item = Sample>) -> Self {
        Self { samples: samples.into_iter().collect(), ..self }
    }
}

/// One sample; a value that is no number is not written.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Names of ours and values of anybody's.
    pub labels: Vec<(&'static str, String)>,
    /// In the unit of the family.
    pub value: f64,
}

impl Sample {
    /// A sample with these labels.
    pub fn new<const N: usize>(labels: [(&'static str, &str); N], value: f64) -> Self {
        Self { labels: labels.map(|(name, text)| (name, text.to_owned())).into(), value }
    }

    /// A sample without labels.
    pub fn alone(value: f64) -> Self {
        Self { labels: Vec::new(), value }
    }
}

/// The families as text, each name behind the prefix.
pub fn metrics(prefix: &str, families: impl IntoIterator<Item = Family>) -> String {
    let mut text = String::new();
    for Family { name, is_counter, help, samples } in families {
        let samples: Vec<Sample> = samples.into_iter().filter(|sample| sample.value.is_finite()).collect();
        if samples.is_empty() {
            continue;
        }
        let (word, total) = if is_counter { ("counter", "_total") } else { ("gauge", "") };
        let family = format!("{prefix}{name}{total}");
        let _ = writeln!(text, "# HELP {family} {help}\n# TYPE {family} {word}");
        for Sample { labels, value } in samples {
            let labels: Vec<String> =
                labels.iter().map(|(name, text)| format!("{name}=\"{}\"", label(text))).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(text, "{family}{labels} {value}");
        }
    }
    text
}

/// A label's value with what would end it made harmless.
fn label(value: &str) -> String {
    plain(value).replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules for which a scraper refuses or misreads a text: names of families, their types and help.
    fn check(text: &str) {
        let (mut family, mut kind) = ("", "");
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').expect("a name and help");
                assert!(help.ends_with('.'), "{line}");
                family = name;
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, word) = rest.split_once(' ').expect("a name and a type");
                assert!(name == family && ["counter", "gauge"].contains(&word), "{line}");
                kind = word;
            } else {
                let (name, value) = line.rsplit_once(' ').expect("a sample");
                assert_eq!(name.split('{').next(), Some(family), "{line}");
                assert_eq!(family.ends_with("_total"), kind == "counter", "{line}");
                assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
            }
        }
    }

    #[test]
    fn the_text_obeys_its_format_and_hostile_names_stay_labels() {
        let families = [
            Family::counter("events", "What happened.").of([Sample::new([("kind", "step")], 2.0)]),
            Family::gauge("offset_seconds", "How far.")
                .of([Sample::new([("cpu", "1"), ("of", "x\"} 1\n\\")], -1.5e-9)]),
            Family::gauge("nothing", "Never written.").of([Sample::alone(f64::NAN)]),
        ];
        let text = metrics("sidestep_", families);
        check(&text);
        assert!(text.contains("sidestep_events_total{kind=\"step\"} 2\n"), "{text}");
        assert!(text.contains("sidestep_offset_seconds{cpu=\"1\",of=\"x\\\"} 1 \\\\\"} -"), "{text}");
        assert!(!text.contains("nothing"), "{text}");
    }
}
