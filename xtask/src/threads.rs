//! Programs with threads that belong together, and with threads that do not: for the lab, the browser check and claims about `place`.

use std::hint::black_box;
use std::io::{self, Read, Write, pipe};
use std::thread;

/// Which program.
#[derive(Debug, Clone, Copy, clap::Subcommand)]
pub enum Programs {
    /// Pairs of threads that wake each other through pipes, so many times
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
///
/// # Errors
/// There is no pipe or no thread to be had.
pub fn run(programs: &Programs) -> anyhow::Result<()> {
    match *programs {
        Programs::Pairs { count, rounds } => Ok(pairs(count, rounds)?),
        Programs::Free { count, rounds } => {
            free(count, rounds);
            Ok(())
        }
    }
}

fn pairs(count: u64, rounds: u64) -> io::Result<()> {
    let mut threads = Vec::new();
    for _ in 0..count {
        let ((mut asked, mut ask), (mut answered, mut answer)) = (pipe()?, pipe()?);
        threads.push(thread::spawn(move || {
            (0..rounds).try_for_each(|_| ask.write_all(&[1]).and_then(|()| answered.read_exact(&mut [0])))
        }));
        threads.push(thread::spawn(move || {
            (0..rounds).try_for_each(|_| asked.read_exact(&mut [0]).and_then(|()| answer.write_all(&[1])))
        }));
    }
    threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
}

fn free(count: u64, rounds: u64) {
    let multiply = move || {
        // A chain: each multiplication waits for the one before.
        (0..rounds).fold(black_box(3_u64), |product, _| black_box(product.wrapping_mul(5)))
    };
    let threads: Vec<_> = (0..count).map(|_| thread::spawn(multiply)).collect();
    for thread in threads {
        thread.join().expect("it does not panic");
    }
}
