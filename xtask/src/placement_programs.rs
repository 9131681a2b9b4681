//! Programs with threads that belong together, and with threads that do not.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::thread;

use host::live::Event;
use kernels::multiply_chain;

use crate::totals::Totals;

/// Which program.
#[derive(Debug, Clone, Copy, clap::Subcommand)]
pub enum Programs {
    /// Pairs of threads that wake each other by eventfd, so many times
    Pairs {
        /// Pairs.
        count: u64,
        /// Round trips of each.
        rounds: u64,
    },
    /// Threads that multiply so many times, and know nothing of each other
    Free {
        /// Threads.
        count: u64,
        /// Multiplications of each.
        rounds: u64,
    },
}

/// `cargo xtask threads`.
pub fn run(programs: &Programs) -> anyhow::Result<Totals> {
    match *programs {
        Programs::Pairs { count, rounds } => pairs(count, rounds)?,
        Programs::Free { count, rounds } => free(count, rounds),
    }
    Ok(Totals::default())
}

fn pairs(count: u64, rounds: u64) -> io::Result<()> {
    let mut threads = Vec::new();
    for _ in 0..count {
        let (there, back) = (Arc::new(Event::new()?), Arc::new(Event::new()?));
        let (heard, answer) = (there.clone(), back.clone());
        threads.push(thread::spawn(move || {
            (0..rounds).try_for_each(|_| there.signal().and_then(|()| back.wait()))
        }));
        threads.push(thread::spawn(move || {
            (0..rounds).try_for_each(|_| heard.wait().and_then(|()| answer.signal()))
        }));
    }
    threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
}

fn free(count: u64, rounds: u64) {
    let threads: Vec<_> =
        (0..count).map(|_| thread::spawn(move || _ = black_box(multiply_chain(black_box(rounds))))).collect();
    for thread in threads {
        thread.join().expect("it does not panic");
    }
}
