//! Renderings of a full, an empty and a hostile record: structure, widths, escaping, sizes.

mod hostile;
mod markup;
mod page;
mod sample;
mod text;
