//! Judgement across crates: records of simulated machines in, levels and findings out.

mod coherence;
mod hostile;
mod levels;
mod simulation;
mod translation;
mod verdicts;
