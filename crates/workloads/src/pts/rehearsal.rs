//! Does a profile find the number in its own templates? Each is a log in itself: a number in place of its key.

use super::PtsProfile;
use super::results_parser::ResultsParser;

/// The number that is put into a template, and another that stands in an earlier line and must not count.
const PLANTED: f64 = 512.25;
const EARLIER: f64 = 511.5;

impl PtsProfile {
    /// What does not find its number in its own template, one sentence each, after what is not understood at all.
    pub fn rehearse(&self) -> Vec<String> {
        let mut failed = self.not_understood.clone();
        for (index, parser) in self.parsers.iter().enumerate().filter(|(_, one)| one.complaint().is_none()) {
            let arguments = self.arguments_for(parser);
            let chosen = self.chosen_part(&arguments);
            let log = parser.sample(&parser.key(&arguments, &chosen));
            let expected = parser.scaled(PLANTED);
            let found = parser.value(&log, &arguments, &chosen);
            if !found.is_some_and(|found| (found - expected).abs() <= expected.abs() * 1e-9) {
                let what = format!("its own template gives {found:?} in place of {expected}");
                failed.push(format!("ResultsParser {}: {what}", index + 1));
            }
        }
        failed
    }

    /// Arguments for which a template holds: of the default choice, of one with another entry, or those that it asks for.
    fn arguments_for(&self, parser: &ResultsParser) -> String {
        let of = |option: &super::PtsOption, entry: &super::PtsEntry| {
            self.arguments(&[(&option.identifier, &entry.name)]).unwrap_or_default()
        };
        let others =
            self.options.iter().flat_map(|option| option.entries.iter().map(move |entry| of(option, entry)));
        let all: Vec<String> =
            std::iter::once(self.arguments(&[]).unwrap_or_default()).chain(others).collect();
        let shows = |arguments: &&String| {
            parser.is_for(arguments)
                && parser.place(&parser.key(arguments, &self.chosen_part(arguments))).position.is_some()
        };
        let fitting =
            all.iter().find(shows).or_else(|| all.iter().find(|arguments| parser.is_for(arguments)));
        fitting.cloned().unwrap_or_else(|| parser.text("MatchToTestArguments").unwrap_or_default().to_owned())
    }
}

impl ResultsParser {
    /// A log as its template shows it.
    fn sample(&self, key: &str) -> String {
        let place = self.place(key);
        let shown = place.position.map(|index| &place.words[index]);
        // A misspelt key is found as it is spelt.
        let key = shown.filter(|word| !word.contains(key)).map_or(key, String::as_str);
        let template = self.text("OutputTemplate").unwrap_or_default();
        let mut lines: Vec<String> = Vec::new();
        let mut add = |text: Option<&str>| lines.extend(text.map(str::to_owned));
        add(self.text("DeleteOutputBefore"));
        add(self.text("LineAfterHint"));
        let (is_before, is_after) =
            (self.text("LineBeforeHint").is_some(), self.text("LineAfterHint").is_some());
        let is_searched = place.position != Some(0) || self.text("LineHint").is_some();
        if is_searched && !self.is_mean() && !is_before && !is_after {
            add(Some(&template.replace(key, &EARLIER.to_string())));
        }
        add(self.text("LineBeforeHint"));
        let shown = if is_before { place.line.trim_start_matches('\n') } else { template };
        add(Some(&shown.replace(key, &PLANTED.to_string())));
        add(self.text("DeleteOutputAfter"));
        lines.join("\n") + "\n"
    }
}
