//! What comparisons and experiments share: numbers and words, cells of judged rows, pictures of differences.

pub(crate) mod cells;
pub(crate) mod curves;
pub(crate) mod effects;
pub(crate) mod surface;
pub(crate) mod wording;
