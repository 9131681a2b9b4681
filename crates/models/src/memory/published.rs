//! What others published, joined to predictions after these were made.

use serde::{Deserialize, Serialize};

/// Published numbers of one test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The test that predicts them.
    pub test: String,
    /// Without the workaround.
    pub off: Option<f64>,
    /// With it.
    pub on: Option<f64>,
    /// How near the model has to come; numbers without it are shown and not used by the fit.
    pub tolerance_percent: Option<f64>,
    /// The number with the workaround is the one that shows what a fit is worth that was not shown it.
    #[serde(default)]
    pub hold_out_on: bool,
    /// Who published them, of which machine.
    pub source: String,
}

/// By how much a prediction misses a published number, in per cent of the latter.
pub fn error_percent(predicted: f64, published: f64) -> f64 {
    (predicted / published - 1.0) * 100.0
}
