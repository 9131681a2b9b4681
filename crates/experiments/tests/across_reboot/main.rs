//! Experiments across reboots that lose power, are killed, see wrong boots and damaged journals, and still count each
//! boot once.

mod disk;
mod kills;
mod simulation;
mod world;
