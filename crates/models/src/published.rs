//! What others published beside what a model predicts: joined after the predictions were made, so that none can know it.

use serde::Serialize;

/// By how much a prediction misses a published or measured number, in per cent of the latter.
pub fn error_percent(predicted: f64, published: f64) -> f64 {
    (predicted / published - 1.0) * 100.0
}

/// The same where either may be unknown.
pub(crate) fn missed_percent(predicted: Option<f64>, published: Option<f64>) -> Option<f64> {
    predicted.zip(published).map(|(predicted, published)| error_percent(predicted, published))
}

/// How far predictions are from what was published or measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Misses {
    /// Numbers that were predicted.
    pub count: usize,
    /// Root mean square, in per cent.
    pub rms_percent: f64,
    /// The largest, in per cent.
    pub max_percent: f64,
}

impl Misses {
    /// Of these errors in per cent, those of numbers that nobody published left out; none without any.
    pub fn of(errors: impl IntoIterator<Item = Option<f64>>) -> Option<Self> {
        let errors: Vec<f64> = errors.into_iter().flatten().collect();
        let squares: f64 = errors.iter().map(|error| error * error).sum();
        (!errors.is_empty()).then(|| Self {
            count: errors.len(),
            rms_percent: (squares / errors.len() as f64).sqrt(),
            max_percent: errors.iter().map(|error| error.abs()).fold(0.0, f64::max),
        })
    }
}
