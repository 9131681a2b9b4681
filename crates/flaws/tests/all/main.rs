//! The catalogue and its judge.

mod catalogue;
mod causes;
mod detectors;
mod gate;
mod verdicts;
