//! What stands beside every measured number: interval, counts, states, doubt, and where its raw chunks are.

use serde::{Deserialize, Serialize};
use stats::{Estimate, Interval, Mode};

/// Whether a measurement reached the width it aimed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Quality {
    /// The interval is as narrow as asked for.
    #[default]
    Converged,
    /// The budget ran out first; the interval says how far it got.
    Wide,
    /// Several states, or mappings that disagree by more than their own intervals: no single value.
    Unstable,
}

/// Spread and origin of one measured number, in the unit of that number.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// 95 % interval.
    pub interval: Interval,
    /// Fresh mappings (or independent repeats) behind the number.
    pub mappings: usize,
    /// Windows that count.
    pub windows: usize,
    /// Windows set aside: pre-empted, moved to another CPU, or a control loop moved.
    pub dropped: usize,
    /// Whether the interval is as narrow as asked for.
    pub quality: Quality,
    /// Separate states of the windows, when there is more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<Mode>,
    /// Index into `Record::raw`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<usize>,
    /// The value by epoch, in the order of the epochs that have it; empty where there was one epoch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub epochs: Vec<f64>,
    /// How the epochs became the value: the quantile of the windows of each, and what joins them, such as
    /// `p5_best_of_epochs`; empty where there was one epoch.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub estimator: String,
}

/// Rows of lists of results: what is written here, and the spread of its number.
macro_rules! measured_rows {
    ($($(#[$doc:meta])* pub struct $name:ident { $($(#[$about:meta])* pub $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name {
            $($(#[$about])* pub $field: $type,)*
            /// Spread of the number.
            #[serde(flatten)]
            pub spread: Spread,
        }
    )*};
}
pub(crate) use measured_rows;

impl Spread {
    /// The spread of an estimate.
    pub fn of(estimate: &Estimate, dropped: usize, quality: Quality, raw: Option<usize>) -> Self {
        Self {
            interval: estimate.interval,
            mappings: estimate.mappings,
            windows: estimate.windows,
            dropped,
            quality,
            modes: if estimate.modes.len() > 1 { estimate.modes.clone() } else { Vec::new() },
            raw,
            epochs: Vec::new(),
            estimator: String::new(),
        }
    }
}
