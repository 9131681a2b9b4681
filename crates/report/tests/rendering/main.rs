//! Renderings of a full, an empty and a hostile record, and of comparisons: structure, widths, escaping, sizes.

mod comparison;
mod hostile;
mod markup;
mod page;
mod sample;
mod simulation;
mod sockets;
mod text;
