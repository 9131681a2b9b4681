//! What every setting costs a program: many states against one baseline in randomised blocks, confirmed with fresh runs, then all
//! recommended changes at once.
//!
//! [`Course`] decides what runs next and when to stop; it is a function of its rules and of the runs so far, so that a bill that was
//! killed goes on from its journal. [`program_bill`] says what it amounts to. Both are pure.

mod course;
mod outcome;
#[cfg(test)]
mod tests;

pub use course::{Affordable, Course, Planned, Rules, Step, Suspect};
pub use outcome::{averages, headline, program_bill, setting_averages};
