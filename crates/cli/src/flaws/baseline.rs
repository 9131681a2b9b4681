//! The machine that is taken as the norm: verdicts of `flaws --json`, or of a record.

use std::path::Path;

use ::flaws::Norm;
use anyhow::Context;

use crate::store;

/// Reads the norm from a document, a record or the folder of a run.
pub(super) fn load(path: &Path) -> anyhow::Result<Norm> {
    let (file, bytes) = store::read(path)?;
    // A record may be compressed; the document of flaws is JSON.
    let baseline = match record::decode(&bytes) {
        Ok(record) => Norm::of_verdicts(&record.flaws),
        Err(_) => Norm::parse(&bytes),
    };
    baseline.with_context(|| {
        format!("cannot use {} as the norm; make one with sidestep flaws --json > FILE", file.display())
    })
}
