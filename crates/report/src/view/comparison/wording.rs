//! Averages and names as comparisons and experiments show them.

use record::ComparisonAverage;
use stats::text::{points, signed_ends};

/// Percentages are printed with two decimals at most: what is smaller would read as zero with a direction.
const SMALLEST_PERCENT: f64 = 0.005;

/// The name of a test in little room: calls of one family go without what they share.
pub(super) fn test_name(name: &str) -> String {
    name.replace("(CLOCK_", "(").replace("clock_gettime", "gettime")
}

/// What an average was taken over.
pub(super) fn average_of(average: &ComparisonAverage) -> String {
    let tests = machine::counted(average.rows, "test");
    match average.group.as_str() {
        "all" => format!("all {tests}"),
        other => match other.strip_prefix("without:") {
            Some(name) => format!("without {name}, {tests}"),
            None => format!("{other}, {tests}"),
        },
    }
}

/// The geometric mean in words, with its interval over the tests.
pub(super) fn geometric(average: &ComparisonAverage) -> String {
    let mean = average.geometric_percent;
    if mean.abs() < SMALLEST_PERCENT && average.geometric_interval.is_none() {
        return "no change".to_owned();
    }
    let word = if mean > 0.0 { "slower" } else { "faster" };
    let ends = average.geometric_interval.map(|ends| format!(" {}", signed_ends(ends)));
    format!("{} % {word}{}", points(mean.abs()), ends.unwrap_or_default())
}
