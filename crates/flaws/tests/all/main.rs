//! The catalogue and its judge.

mod catalogue;
mod detectors;
mod gate;
mod verdicts;
