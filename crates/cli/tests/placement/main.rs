//! Placement of running programs, apart from tests that keep all CPUs busy: it judges which threads are.

mod place;
mod place_pid;
mod processes;
