//! One template of a profile: finds its number in a log.

use std::collections::BTreeMap;

use record::Better;
use roxmltree::Node;

use super::line::Place;
use super::number::Cleaning;
use super::{better, text_at};

/// What stands for the number in a template.
const KEY: &str = "#_RESULT_#";
/// Elements that are read; another may change what a template means.
const KNOWN: &str = "OutputTemplate MatchToTestArguments ResultKey LineHint LineBeforeHint LineAfterHint \
    ResultBeforeString ResultAfterString StripFromResult StripResultPostfix MultiMatch DivideResultBy DivideResultDivisor \
    MultiplyResultBy ResultScale ResultProportion ResultPrecision ArgumentsDescription AppendToArgumentsDescription \
    FileFormat TurnCharsToSpace DeleteOutputBefore DeleteOutputAfter DisplayFormat Importance";
/// Elements whose value is one of few words, and those that are understood.
const WORDS: [(&str, &[&str]); 4] = [
    ("MultiMatch", &["NONE", "AVERAGE", "MEAN", "GEOMETRIC_MEAN"]),
    ("ResultKey", &["PTS_TEST_ARGUMENTS", "PTS_USER_SET_ARGUMENTS"]),
    ("FileFormat", &["CSV"]),
    ("DisplayFormat", &["BAR_GRAPH"]),
];

/// A `ResultsParser` element: the texts of its children that have one, as they stand.
#[derive(Debug, Clone, Default)]
pub(super) struct ResultsParser(BTreeMap<String, String>);

impl ResultsParser {
    pub(super) fn of(node: Node<'_, '_>) -> Self {
        let texts = node.children().filter(Node::is_element);
        let texts = texts.map(|child| (child.tag_name().name().to_owned(), text_at(child, &[])));
        Self(texts.filter(|(_, text)| !text.is_empty()).collect())
    }

    /// The text of an element.
    pub(super) fn text(&self, element: &str) -> Option<&str> {
        self.0.get(element).map(String::as_str)
    }

    pub(super) fn better(&self) -> Option<Better> {
        self.text("ResultProportion").and_then(better)
    }

    pub(super) fn is_secondary(&self) -> bool {
        self.text("Importance").is_some_and(|word| word.eq_ignore_ascii_case("secondary"))
    }

    /// Whether the numbers of all lines count, and not that of the last.
    pub(super) fn is_mean(&self) -> bool {
        self.text("MultiMatch").is_some_and(|word| word != "NONE")
    }

    /// Why it cannot find a number; `None` if it can.
    pub(super) fn complaint(&self) -> Option<String> {
        let unknown = self.0.keys().find(|name| !KNOWN.split(' ').any(|known| known == *name));
        let of_word = |(name, known): &(&str, &[&str])| {
            self.text(name).filter(|word| !known.contains(word)).map(|word| format!("{name} {word}"))
        };
        let finds = ["ResultKey", "ResultBeforeString", "ResultAfterString"]
            .iter()
            .any(|name| self.text(name).is_some());
        unknown.map(|name| format!("the element {name}")).or_else(|| WORDS.iter().find_map(of_word)).or_else(
            || {
                (!finds && self.place(KEY).position.is_none())
                    .then(|| "its template shows no number".to_owned())
            },
        )
    }

    /// True if it holds for a run with these arguments.
    pub(super) fn is_for(&self, arguments: &str) -> bool {
        self.text("MatchToTestArguments").is_none_or(|part| arguments.contains(part))
    }

    /// What stands for the number in its template, for these arguments, of which the user chose a part.
    pub(super) fn key(&self, arguments: &str, chosen: &str) -> String {
        let words = match self.text("ResultKey") {
            None => return KEY.to_owned(),
            Some("PTS_TEST_ARGUMENTS") => arguments,
            Some(_) => chosen,
        };
        format!("#_{}_#", words.replace(' ', ""))
    }

    /// Where the number stands in the template.
    pub(super) fn place(&self, key: &str) -> Place {
        Place::of(self.text("OutputTemplate").unwrap_or_default(), key, self.text("FileFormat").is_some())
    }

    /// The number of a log, in the unit of the result.
    pub(super) fn value(&self, log: &str, arguments: &str, chosen: &str) -> Option<f64> {
        if self.complaint().is_some() {
            return None;
        }
        let place = self.place(&self.key(arguments, chosen));
        let log =
            self.text("DeleteOutputBefore").and_then(|text| log.find(text)).map_or(log, |at| &log[at..]);
        let log = self.text("DeleteOutputAfter").and_then(|text| log.find(text)).map_or(log, |at| &log[..at]);
        let lines = self.candidates(log, &place);
        // Of several lines in a row each counts; what stands before a line without a number belongs to another table.
        let numbers = lines.into_iter().map(|line| self.number(line, &place));
        let mut numbers =
            numbers.skip_while(Option::is_none).map_while(|number| number).map(|number| self.scaled(number));
        let value = if self.is_mean() {
            let numbers: Vec<f64> = numbers.collect();
            let mean =
                |of: fn(f64) -> f64| numbers.iter().copied().map(of).sum::<f64>() / numbers.len() as f64;
            if self.text("MultiMatch") == Some("GEOMETRIC_MEAN") {
                mean(f64::ln).exp()
            } else {
                mean(|it| it)
            }
        } else {
            numbers.next()?
        };
        value.is_finite().then_some(value)
    }

    /// A printed number in the unit of the result.
    pub(super) fn scaled(&self, number: f64) -> f64 {
        let factor = |name: &str| self.text(name)?.trim().parse::<f64>().ok().filter(|factor| *factor != 0.0);
        let divided = number / factor("DivideResultBy").unwrap_or(1.0);
        let divisor = factor("DivideResultDivisor").filter(|_| divided != 0.0);
        divisor.map_or(divided, |divisor| divisor / divided) * factor("MultiplyResultBy").unwrap_or(1.0)
    }

    /// Lines on which the number may stand, the likeliest first.
    fn candidates<'l>(&self, log: &'l str, place: &Place) -> Vec<&'l str> {
        let lines: Vec<&str> = log.lines().collect();
        if let Some(hint) = self.text("LineBeforeHint") {
            let following = lines.windows(2).rev().filter(|pair| pair[0].contains(hint)).map(|pair| pair[1]);
            // What follows the last hint is the result: an earlier one does not stand in for it.
            return following.take(if self.is_mean() { usize::MAX } else { 1 }).collect();
        }
        if let Some(hint) = self.text("LineAfterHint") {
            let is_there = lines.iter().any(|line| line.contains(hint));
            return lines.last().copied().filter(|_| is_there).into_iter().collect();
        }
        match self.search_key(log, place) {
            Some(key) => lines.into_iter().rev().filter(|line| line.contains(key)).collect(),
            // The number is the first word of all, and nothing else helps to find it.
            None if place.position == Some(0) => vec![log.trim()],
            None => Vec::new(),
        }
    }

    /// The text by which the line of the number is found.
    fn search_key<'a>(&'a self, log: &str, place: &'a Place) -> Option<&'a str> {
        let hint = self.text("LineHint").filter(|hint| place.line.contains(hint));
        let before = Some(place.before.as_str()).filter(|before| !before.is_empty());
        let label =
            || place.words.iter().map(String::as_str).find(|word| word.len() > 1 && word.contains(':'));
        let key = hint.or(before.filter(|before| log.contains(before))).or_else(label).or(before)?;
        Some(if key.trim().is_empty() { key } else { key.trim() })
    }

    /// The number of a line.
    fn number(&self, line: &str, place: &Place) -> Option<f64> {
        let line = self.text("TurnCharsToSpace").map_or(line.to_owned(), |text| line.replace(text, " "));
        let words = place.separators.words(&line);
        let mark = |name: &str| self.text(name).map(|mark| words.iter().position(|word| word == mark));
        let word = if let Some(behind) = mark("ResultBeforeString") {
            words.get(behind?.checked_sub(1)?).cloned()
        } else if let Some(before) = mark("ResultAfterString") {
            words[before? + 1..].iter().find(|word| ![":", ",", "-", "="].contains(&word.as_str())).cloned()
        } else {
            // A label may touch its number: `Score:12`.
            let parted = || place.separators.words(&line.replace(':', ": "));
            words.get(place.position?).cloned().or_else(|| parted().get(place.position?).cloned())
        };
        let anywhere = self.text("StripFromResult");
        Cleaning { anywhere, postfix: self.text("StripResultPostfix") }.number(&word?, &line)
    }
}
