//! The program, started as people start it. Tests beside this one need a process, or a user, for themselves.

mod across_reboot;
mod census;
mod clocks;
mod flaw_gate;
mod fleet;
mod guard_state;
mod kill_toggles;
mod lost_output;
mod other_cpu;
mod recorded_machines;
mod schemas;
mod simulated_sockets;
mod sockets;
mod two_users;
