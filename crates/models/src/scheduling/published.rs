//! What others published of a machine, joined to predictions after these were made.

use serde::{Deserialize, Serialize};

use super::policy::Policy;
use super::simulation::GainRow;

/// A gain that somebody measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PublishedGain {
    /// What ran.
    pub workload: String,
    /// How many threads; absent where nobody says.
    pub threads: Option<usize>,
    /// The placement that the gain is over.
    pub over: Policy,
    /// From and to, in per cent; a single number stands twice.
    pub gain_percent: [f64; 2],
    /// The number was used to choose one of the machine's: meeting it is no merit.
    #[serde(default)]
    pub fitted: bool,
    /// Who published it.
    pub source: String,
}

/// A published gain beside what was predicted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JoinedNumber {
    /// As published.
    #[serde(flatten)]
    pub published: PublishedGain,
    /// The prediction for that number of threads; none where the number is unknown or was not simulated.
    pub predicted_percent: Option<f64>,
    /// The smallest and the largest prediction over all numbers of threads that were simulated.
    pub predicted_range_percent: [f64; 2],
}

/// Puts what was published beside the rows.
pub fn join(published: &[PublishedGain], rows: &[GainRow]) -> Vec<JoinedNumber> {
    if rows.is_empty() {
        return Vec::new();
    }
    let one = |published: &PublishedGain| {
        let gains = || rows.iter().filter_map(|row| row.gain_over_percent(published.over));
        let at_count = rows.iter().find(|row| Some(row.threads) == published.threads);
        JoinedNumber {
            published: published.clone(),
            predicted_percent: at_count.and_then(|row| row.gain_over_percent(published.over)),
            predicted_range_percent: [
                gains().fold(f64::INFINITY, f64::min),
                gains().fold(f64::NEG_INFINITY, f64::max),
            ],
        }
    };
    published.iter().map(one).collect()
}
