//! What is switched and put back. Beside it: a journal that another user finds, whose test starts a copy of its own program.

mod affinities;
mod engine;
mod faults;
mod flaws;
mod journal_formats;
mod micro_guest;
mod pins;
mod registers;
mod smt;
mod this_machine;
