//! What all forms of a comparison say in the same words.

use std::fmt::Write;

use record::{
    Better, ComparisonAverage, ComparisonClass, ComparisonMemory, ComparisonRow, ComparisonTable,
    EarlierRuns, FactDifference,
};
use stats::{Interval, Knowledge, Verdict};

use crate::number;

/// Below this percentage a second decimal is needed to show anything: 0.04 %.
const SECOND_DECIMAL_BELOW: f64 = 0.05;

/// Digits of a value that stands alone: it is shown as it was given.
const GIVEN_DIGITS: i32 = 6;

/// A q value below this is shown as a bound.
const LEAST_Q: f64 = 0.001;

/// A q value above this is shown as 1.
const ONE_Q: f64 = 0.9995;

/// Sides of an interval that differ by more than this factor are told apart.
const LOPSIDED_FROM: f64 = 1.5;

/// A distance beyond this many points of percent says no more than that it is far.
const MOST_POINTS: f64 = 999.0;

/// Facts that are many and of one kind are told together beyond this number.
const MOST_FACTS: usize = 12;

/// One decimal, or two where one would show nothing.
pub(super) fn percent(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => number::UNKNOWN.to_owned(),
        v if v < SECOND_DECIMAL_BELOW => format!("{value:.2}"),
        _ => format!("{value:.1}"),
    }
}

/// The same with its sign; nothing is `0`.
pub(super) fn signed(value: f64) -> String {
    match percent(value) {
        text if text.trim_start_matches('-') == "0.00" => "0.00".to_owned(),
        text if value > 0.0 && value.is_finite() => format!("+{text}"),
        text => text,
    }
}

/// The name of a test in little room: calls of one family go without what they share.
pub(super) fn test_name(name: &str) -> String {
    name.replace("(CLOCK_", "(").replace("clock_gettime", "gettime")
}

/// A change with the distances to the ends of its interval: `-32.4 ±0.6`, or `+3.9 -3.8/+14` where it is lopsided.
pub(super) fn change(row: &ComparisonRow) -> String {
    with_distances(row.change_percent, row.interval)
}

/// The same of any change in percent.
pub(super) fn with_distances(change_percent: f64, interval: Option<Interval>) -> String {
    let change = signed(change_percent);
    let Some(interval) = interval else { return change };
    let (below, above) = (change_percent - interval.low, interval.high - change_percent);
    let (least, most) = (below.min(above), below.max(above));
    if most <= least * LOPSIDED_FROM || most < SECOND_DECIMAL_BELOW {
        format!("{change} ±{}", points(most))
    } else {
        format!("{change} -{}/+{}", points(below), points(above))
    }
}

/// A distance in points of percent, in little room.
fn points(points: f64) -> String {
    match points {
        p if !p.is_finite() => "?".to_owned(),
        p if p >= MOST_POINTS => format!(">{MOST_POINTS}"),
        p if p >= 10.0 => format!("{p:.0}"),
        p => percent(p.max(0.0)),
    }
}

/// An interval of percentages with its signs.
pub(super) fn interval(interval: Interval) -> String {
    format!("[{}, {}]", signed(interval.low), signed(interval.high))
}

/// A value: as it was given where it stands alone, else with the digits that mean something.
pub(super) fn value(value: f64, interval: Option<Interval>) -> String {
    match interval {
        None => number::significant(value, GIVEN_DIGITS),
        // Two decimals would leave less than three digits.
        Some(_) if value.abs() < 0.01 => number::significant(value, 3),
        Some(_) if value.abs() < 0.9995 => format!("{value:.3}"),
        Some(_) => number::column(value),
    }
}

/// A q value.
pub(super) fn q_value(q: Option<f64>) -> String {
    match q {
        None => String::new(),
        Some(q) if q < LEAST_Q => "<.001".to_owned(),
        Some(q) if q < ONE_Q => format!("{q:.3}").trim_start_matches('0').to_owned(),
        Some(_) => "1".to_owned(),
    }
}

/// The bare word, as it stands in the document.
pub(super) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
    }
}

/// The verdict of a row, and what an inconclusive one wants.
pub(super) fn verdict(row: &ComparisonRow) -> String {
    match (row.verdict, row.interval, row.further_runs) {
        (Verdict::Inconclusive, None, _) => "no interval".to_owned(),
        (Verdict::Inconclusive, _, Some(runs)) if is_one_run_each(row) => {
            format!("one run each: cannot tell; about {}", runs_wanted(runs, " more"))
        }
        (Verdict::Inconclusive, _, Some(runs)) => {
            let about = if runs > RUNS_MAX { "" } else { "about " };
            format!("inconclusive: {about}{}", runs_wanted(runs, " more"))
        }
        (verdict, ..) => verdict_word(verdict).to_owned(),
    }
}

/// True if all that is known of the spread between runs is the shipped table.
fn is_one_run_each(row: &ComparisonRow) -> bool {
    row.samples == [1, 1] && row.knowledge == Knowledge::Prior
}

/// Nobody runs more; the forecast only says that it is too many.
const RUNS_MAX: usize = 1000;

/// `12 more runs`, with any word between; a forecast of many is no better than one digit.
fn runs_wanted(runs: usize, word: &str) -> String {
    match runs {
        1 => format!("1{word} run"),
        ..20 => format!("{runs}{word} runs"),
        runs if runs > RUNS_MAX => format!(">{RUNS_MAX}{word} runs"),
        _ => format!("{:.0}{word} runs", round_to_one_digit(runs as f64)),
    }
}

fn round_to_one_digit(value: f64) -> f64 {
    let step = 10_f64.powf(value.log10().floor());
    (value / step).round() * step
}

/// The verdict in the least space.
pub(super) fn verdict_short(row: &ComparisonRow) -> String {
    match (row.verdict, row.interval, row.further_runs) {
        (Verdict::Inconclusive, Some(_), Some(runs)) => format!("? {}", runs_wanted(runs, "")),
        (Verdict::Inconclusive, Some(_), None) => "?".to_owned(),
        _ => verdict(row),
    }
}

/// The verdict as one sign.
pub(super) fn mark(row: &ComparisonRow) -> &'static str {
    match row.verdict {
        Verdict::Slower => "!",
        Verdict::Faster => "+",
        Verdict::Equivalent => "=",
        Verdict::Inconclusive if row.interval.is_none() => "",
        Verdict::Inconclusive => "?",
    }
}

/// `higher` or `lower`.
pub(super) fn better(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher",
        Better::Lower => "lower",
    }
}

/// What an average was taken over.
pub(super) fn average_of(average: &ComparisonAverage) -> String {
    let tests = if average.rows == 1 { "1 test".to_owned() } else { format!("{} tests", average.rows) };
    match average.group.as_str() {
        "all" => format!("all {tests}"),
        other => match other.strip_prefix("without:") {
            Some(name) => format!("without {name}, {tests}"),
            None => format!("{other}, {tests}"),
        },
    }
}

/// What an average would show if nothing differed.
pub(super) fn floor(average: &ComparisonAverage) -> String {
    average.floor_percent.map_or_else(|| "unknown".to_owned(), |floor| format!("{} %", percent(floor)))
}

/// Percentages are printed with two decimals at most: what is smaller would read as zero with a direction.
const SMALLEST_PERCENT: f64 = 0.005;

/// The geometric mean in words, with its interval over the tests.
pub(super) fn geometric(average: &ComparisonAverage) -> String {
    let mean = average.geometric_percent;
    if mean.abs() < SMALLEST_PERCENT && average.geometric_interval.is_none() {
        return "no change".to_owned();
    }
    let word = if mean > 0.0 { "slower" } else { "faster" };
    let ends = average.geometric_interval.map_or_else(String::new, |ends| format!(" {}", interval(ends)));
    format!("{} % {word}{ends}", percent(mean.abs()))
}

/// One sentence per candidate that sums it up.
pub(super) fn sentences(table: &ComparisonTable) -> Vec<String> {
    let baseline = table.configurations.get(table.baseline).map_or("", |one| one.name.as_str());
    let candidates = table.configurations.iter().enumerate().filter(|(index, _)| *index != table.baseline);
    // Doubt is said first, then what classes of rows did together, then the rows.
    let first = drift(table).filter(|_| table.drift.doubtful);
    first
        .into_iter()
        .chain(memory(table))
        .chain(classes(table))
        .chain(candidates.map(|(_, candidate)| {
            let rows: Vec<&ComparisonRow> =
                table.rows.iter().filter(|row| row.candidate == candidate.name).collect();
            let of = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
            let mut text = format!("{} against {baseline}: ", candidate.name);
            if rows.iter().all(|row| row.interval.is_none()) {
                let _ = write!(text, "{} tests, single runs that carry no interval", rows.len());
            } else {
                let (slower, faster) = (of(Verdict::Slower), of(Verdict::Faster));
                let (equivalent, unclear) = (of(Verdict::Equivalent), of(Verdict::Inconclusive));
                let claims = match (slower, faster) {
                    (0, 0) => "no test differs detectably".to_owned(),
                    _ => format!("{slower} slower, {faster} faster"),
                };
                let _ = write!(
                    text,
                    "{claims}, {equivalent} equivalent, {unclear} undetermined of {} tests",
                    rows.len()
                );
            }
            let all = table.averages.iter().find(|one| one.candidate == candidate.name && one.group == "all");
            if let Some(all) = all {
                let floor = all
                    .floor_percent
                    .map_or_else(String::new, |floor| format!(" (A/A floor {} %)", percent(floor)));
                let _ = write!(text, "; average difference {} %{floor}", percent(all.symmetric_percent));
            }
            text
        }))
        .collect()
}

/// What memory as a whole did, one sentence for each candidate of which that can be claimed.
fn memory(table: &ComparisonTable) -> impl Iterator<Item = String> {
    let several = table.configurations.len() > 2;
    let is_claimed = |one: &&ComparisonMemory| matches!(one.verdict, Verdict::Faster | Verdict::Slower);
    table.memory.iter().filter(is_claimed).map(move |one| {
        let who = if several { format!("{}, ", one.candidate) } else { String::new() };
        let (change, word) = (percent(one.change_percent.abs()), verdict_word(one.verdict));
        format!("{who}memory as a whole: {change} % {word} {} over {} rows", interval(one.interval), one.rows)
    })
}

/// What classes of rows did together, one sentence each; the candidate is named where there are several.
pub(super) fn classes(table: &ComparisonTable) -> Vec<String> {
    let claimed = |class: &&ComparisonClass| matches!(class.verdict, Verdict::Faster | Verdict::Slower);
    let several = table.configurations.len() > 2;
    table
        .classes
        .iter()
        .filter(claimed)
        .map(|class| {
            let who = if several { format!("{}, ", class.candidate) } else { String::new() };
            let word = verdict_word(class.verdict);
            // A cost that falls to a half is 50 % less: said of the cost, whichever way the unit goes.
            let change = percent(class.change_percent.abs());
            let rows = match class.rows.len() {
                all if all == class.moved_along => format!("all {all}"),
                all => format!("{} of {all}", class.moved_along),
            };
            let ends = interval(class.interval);
            format!("{who}{}: {change} % {word} {ends} in {rows} rows", class.class.name())
        })
        .collect()
}

/// Where the spread between runs that a verdict rests on is from.
pub(super) fn knowledge(knowledge: Knowledge) -> &'static str {
    match knowledge {
        Knowledge::History => "history",
        Knowledge::Replicates => "replicates",
        Knowledge::Prior => "prior",
        Knowledge::None => "none",
    }
}

fn earlier_runs(earlier: EarlierRuns) -> String {
    let whose = if earlier.own_history { "this machine's own history" } else { "earlier records" };
    format!("{whose}: {} runs", earlier.runs)
}

/// How many rows rest on which knowledge of the spread between runs; `None` where none does.
pub(super) fn spread_from(table: &ComparisonTable) -> Option<String> {
    let counted: Vec<String> = [Knowledge::History, Knowledge::Replicates, Knowledge::Prior]
        .into_iter()
        .map(|one| (one, table.rows.iter().filter(|row| row.knowledge == one).count()))
        .filter(|(_, rows)| *rows > 0)
        .map(|(one, rows)| match table.earlier_runs.filter(|_| one == Knowledge::History) {
            Some(earlier) => format!("{} ({rows} rows)", earlier_runs(earlier)),
            None => format!("{} ({rows} rows)", knowledge(one)),
        })
        .collect();
    (!counted.is_empty()).then(|| format!("between runs, from {}", counted.join(", ")))
}

/// What the controls say, if there are any.
pub(super) fn drift(table: &ComparisonTable) -> Option<String> {
    let drift = &table.drift;
    if drift.controls.is_empty() {
        return None;
    }
    Some(if drift.doubtful {
        format!(
            "doubtful: the controls moved by up to {} % ({}), more than they do between runs; nothing is claimed",
            percent(drift.moved_percent),
            drift.moved.join(", ")
        )
    } else if drift.moved.is_empty() {
        format!(
            "controls stayed: {} moved by at most {} %",
            drift.controls.join(", "),
            percent(drift.stayed_percent)
        )
    } else {
        format!(
            "THE CONTROLS MOVED by up to {} % ({}): the machine itself ran differently; smaller differences are called \
             inconclusive",
            percent(drift.moved_percent),
            drift.moved.join(", ")
        )
    })
}

/// A fact with its values, `kernel: 6.1 -> 6.2`; long values are told by the words that differ.
pub(super) fn fact(difference: &FactDifference) -> String {
    let values: Vec<Vec<&str>> = difference
        .values
        .iter()
        .map(|value| value.as_deref().unwrap_or("unknown").split(' ').collect())
        .collect();
    let shown: Vec<String> = values
        .iter()
        .map(|words| {
            let is_long = values.iter().all(|words| words.len() > 4);
            let differs = |word: &&&str| !values.iter().all(|other| other.contains(*word));
            let kept: Vec<&str> = words.iter().filter(|word| !is_long || differs(word)).copied().collect();
            if kept.is_empty() { "(the same words)".to_owned() } else { kept.join(" ") }
        })
        .collect();
    format!("{}: {}", difference.fact, shown.join(" -> "))
}

/// What differs, for a place where there is little room: the first dozen, and how many more.
pub(super) fn facts(table: &ComparisonTable) -> Vec<String> {
    let mut lines: Vec<String> = table.differences.iter().take(MOST_FACTS).map(fact).collect();
    let more = table.differences.len().saturating_sub(MOST_FACTS);
    if more > 0 {
        lines.push(format!("{more} more, in --json and --html"));
    }
    lines
}

/// Tests that not all hold, by who holds them.
pub(super) fn unmatched(table: &ComparisonTable) -> Vec<String> {
    let mut by_holder: Vec<(String, Vec<&str>)> = Vec::new();
    for test in &table.unmatched {
        let holders = test.present_in.join(", ");
        match by_holder.iter_mut().find(|(have, _)| *have == holders) {
            Some((_, tests)) => tests.push(&test.name),
            None => by_holder.push((holders, vec![&test.name])),
        }
    }
    by_holder.into_iter().map(|(holders, tests)| format!("only in {holders}: {}", tests.join("; "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_printed_as_the_article_prints_them() {
        for (value, expected) in
            [(9.5513, "9.6"), (11.9658, "12.0"), (0.0375, "0.04"), (0.036, "0.04"), (f64::NAN, "unknown")]
        {
            assert_eq!(percent(value), expected);
        }
        assert_eq!(
            (signed(3.0).as_str(), signed(-3.04).as_str(), signed(-0.001).as_str()),
            ("+3.0", "-3.0", "0.00")
        );
    }

    #[test]
    fn only_the_words_that_differ_are_told_of_a_long_command_line() {
        let line = |end: &str| Some(format!("console=ttyS0 quiet panic=1 ro {end}"));
        let difference = FactDifference {
            fact: "command line".to_owned(),
            values: vec![line("mitigations=off"), line("nosmt")],
        };
        assert_eq!(fact(&difference), "command line: mitigations=off -> nosmt");
    }
}
