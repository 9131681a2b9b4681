//! Renderings of a full, an empty and a hostile record: structure, widths, escaping, sizes.

mod sample;
mod text;
