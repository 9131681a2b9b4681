//! Samples the registers of the program it is loaded into: `LD_PRELOAD=libsidestep_sampler_preload.so`, for `sidestep place` where
//! `perf_event_open` is forbidden.
//!
//! Each thread has a timer on its own CPU time, which ends in SIGPROF; the handler writes the registers that the signal found and the
//! code around them into memory that sidestep shares with the program ([`sample_ring`]). Nothing is allocated, locked or
//! waited for there, and there are no system calls. Without the variable that names the memory the library does nothing at all.
//!
//! SIGPROF belongs to the program first: once it installs a handler or sets `ITIMER_PROF`, sampling ends for good and says so, and
//! what arrives goes to the program. Until then the program is shown the signal as if nobody used it.
//!
//! Besides, if the environment names a socket for it, the library hands over the right to watch which threads write to which pages, and
//! keeps no part of it. One can be had without the other.
//!
//! Limits:
//! - CPU timers are looked at when the kernel ticks: no more samples come than that (`CONFIG_HZ`, 100 to 1000 per second).
//! - A system call that waits may end with `EINTR` as by any signal, although `SA_RESTART` is set: signal(7) lists which do.
//! - SIGPROF is unblocked where a thread begins: some libraries block all signals in theirs. Threads that block it later, and such as
//!   are started otherwise than by `pthread_create`, are not sampled.
//! - A child of `fork` is sampled, also behind an `exec` that keeps the environment; one of `vfork` from its `exec` on.
//! - Code that may be executed and not read (memory protection keys) ends the program when it is sampled.
//! - What is done for a child of `fork` here takes system calls: a filter that the program has set itself, and that ends who makes a
//!   call it does not know (seccomp), ends the child.
//! - Nothing can be done for static programs, those of another C library or of 32 bits, and those that gain privileges: the
//!   loader never asks.

mod arch;
mod begin;
mod handler;
mod next;
mod own_use;
mod state;
mod threads;
mod timer;
mod waiting;
mod write_watch;

pub use own_use::{__sysv_signal, setitimer, sigaction, signal};
pub use threads::pthread_create;
pub use waiting::{signalfd, sigtimedwait, sigwait, sigwaitinfo};
