//! The cells of a row that was judged: change, verdict, q, what it would need.

use record::ComparisonRow;
use stats::Verdict;

use super::wording;
use crate::page::{Cell, Tone};

/// Whether a row is called slower or faster.
pub(crate) fn is_claim(row: &ComparisonRow) -> bool {
    matches!(row.verdict, Verdict::Slower | Verdict::Faster)
}

/// How a verdict is meant.
pub(crate) fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Slower => Tone::Look,
        Verdict::Faster => Tone::Good,
        Verdict::Equivalent => Tone::Plain,
        Verdict::Inconclusive => Tone::Doubt,
    }
}

/// A verdict in a word.
pub(crate) fn verdict(verdict: Verdict) -> Cell {
    Cell::State(tone(verdict), wording::shown_verdict(verdict).to_owned())
}

/// The verdict of a row.
pub(crate) fn verdict_of(row: &ComparisonRow) -> Cell {
    match (row.verdict, row.interval) {
        (Verdict::Inconclusive, None) => Cell::State(Tone::Faint, "no interval".to_owned()),
        (known, _) => verdict(known),
    }
}

/// How many more runs, pairs or boots an undetermined row needs.
pub(crate) fn needed(row: &ComparisonRow) -> Cell {
    match row.further_runs.filter(|_| row.verdict == Verdict::Inconclusive && row.interval.is_some()) {
        Some(runs) => Cell::shown(wording::runs(runs), runs as f64),
        None => Cell::Empty,
    }
}

/// A change with its interval.
pub(crate) fn change(row: &ComparisonRow) -> Cell {
    let text = wording::with_distances(row.change_percent, row.interval);
    Cell::Number { text, value: row.change_percent, interval: row.interval }
}

/// The same, but a ratio where that reads better.
pub(crate) fn change_or_ratio(row: &ComparisonRow, ratio: f64) -> Cell {
    /// From this ratio on, "2.10x" reads better than percent.
    const TIMES_FROM: f64 = 2.0;
    match change(row) {
        Cell::Number { value, interval, .. } if ratio >= TIMES_FROM => {
            Cell::Number { text: format!("{ratio:.2}x"), value, interval }
        }
        cell => cell,
    }
}

/// A q value; rows without an interval have none.
pub(crate) fn q_value(q: Option<f64>) -> Cell {
    q.map_or(Cell::Empty, |q| Cell::shown(wording::q_value(q), q))
}
