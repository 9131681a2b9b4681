//! Numbers, verdicts and names as comparisons and experiments show them.

use record::{Better, ComparisonAverage};
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

/// Sides of an interval that differ by more than this factor are shown one by one.
const LOPSIDED_FROM: f64 = 1.5;

/// A distance beyond this many points of percent says no more than that it is far.
const MOST_POINTS: f64 = 999.0;

/// One decimal, or two where one would show nothing.
pub(crate) fn percent(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => number::UNKNOWN.to_owned(),
        v if v < SECOND_DECIMAL_BELOW => format!("{value:.2}"),
        _ => format!("{value:.1}"),
    }
}

/// The same with its sign; nothing is `0`.
pub(crate) fn signed(value: f64) -> String {
    match percent(value) {
        text if text.trim_start_matches('-') == "0.00" => "0.00".to_owned(),
        text if value > 0.0 && value.is_finite() => format!("+{text}"),
        text => text,
    }
}

/// The name of a test in little room: calls of one family go without what they share.
pub(crate) fn test_name(name: &str) -> String {
    name.replace("(CLOCK_", "(").replace("clock_gettime", "gettime")
}

/// A change with the distances to the ends of its interval: `-32.4 ±0.6`, or `+3.9 -3.8/+14` where it is lopsided.
pub(crate) fn with_distances(change_percent: f64, interval: Option<Interval>) -> String {
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
pub(crate) fn interval(interval: Interval) -> String {
    format!("[{}, {}]", signed(interval.low), signed(interval.high))
}

/// A value: as it was given where it stands alone, else with the digits that mean something.
pub(crate) fn value(value: f64, interval: Option<Interval>) -> String {
    match interval {
        None => number::significant(value, GIVEN_DIGITS),
        // Two decimals would leave less than three digits.
        Some(_) if value.abs() < 0.01 => number::significant(value, 3),
        Some(_) if value.abs() < 0.9995 => format!("{value:.3}"),
        Some(_) => number::column(value),
    }
}

/// A q value.
pub(crate) fn q_value(q: f64) -> String {
    match q {
        q if q < LEAST_Q => "<.001".to_owned(),
        q if q < ONE_Q => format!("{q:.3}").trim_start_matches('0').to_owned(),
        _ => "1".to_owned(),
    }
}

/// The bare word, as it stands in the document.
pub(crate) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
    }
}

/// The word for people.
pub(crate) fn shown_verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Inconclusive => "undetermined",
        other => verdict_word(other),
    }
}

/// A forecast beyond this only says that it is too many.
const RUNS_MAX: usize = 1000;

/// How many more runs; a forecast of many is no better than one digit.
pub(crate) fn runs(runs: usize) -> String {
    match runs {
        ..20 => runs.to_string(),
        runs if runs > RUNS_MAX => format!(">{RUNS_MAX}"),
        _ => format!("{:.0}", round_to_one_digit(runs as f64)),
    }
}

fn round_to_one_digit(value: f64) -> f64 {
    let step = 10_f64.powf(value.log10().floor());
    (value / step).round() * step
}

/// `higher` or `lower`.
pub(crate) fn better(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher",
        Better::Lower => "lower",
    }
}

/// What an average was taken over.
pub(crate) fn average_of(average: &ComparisonAverage) -> String {
    let tests = if average.rows == 1 { "1 test".to_owned() } else { format!("{} tests", average.rows) };
    match average.group.as_str() {
        "all" => format!("all {tests}"),
        other => match other.strip_prefix("without:") {
            Some(name) => format!("without {name}, {tests}"),
            None => format!("{other}, {tests}"),
        },
    }
}

/// Percentages are printed with two decimals at most: what is smaller would read as zero with a direction.
const SMALLEST_PERCENT: f64 = 0.005;

/// The geometric mean in words, with its interval over the tests.
pub(crate) fn geometric(average: &ComparisonAverage) -> String {
    let mean = average.geometric_percent;
    if mean.abs() < SMALLEST_PERCENT && average.geometric_interval.is_none() {
        return "no change".to_owned();
    }
    let word = if mean > 0.0 { "slower" } else { "faster" };
    let ends = average.geometric_interval.map_or_else(String::new, |ends| format!(" {}", interval(ends)));
    format!("{} % {word}{ends}", percent(mean.abs()))
}

/// Where the spread between runs that a verdict rests on is from; nothing where it rests on none.
pub(crate) fn knowledge(knowledge: Knowledge) -> &'static str {
    match knowledge {
        Knowledge::History => "history",
        Knowledge::Replicates => "replicates",
        Knowledge::Prior => "prior",
        Knowledge::None => "",
    }
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
}
