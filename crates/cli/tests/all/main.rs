//! The program, started as people start it. Beside it: tests that count the tasks of a user, who must have no others.

mod across_reboot;
mod bill;
mod census;
mod clocks;
mod field;
mod flaw_gate;
mod fleet;
mod guard_state;
mod kill_toggles;
mod lost_output;
mod no_perf;
mod options;
mod other_cpu;
mod own_documents;
mod prepared_paths;
mod quoting;
mod recorded_machines;
mod schemas;
mod simulated_sockets;
mod sockets;
mod two_users;
