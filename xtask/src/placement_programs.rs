//! Programs with threads that belong together, and with threads that do not.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::thread;

use host::live::Event;
use kernels::multiply_chain;

use crate::flags::BadUse;
use crate::totals::Totals;

/// The rest of `cargo xtask threads --help`.
pub const HELP: &str = "  pairs N ROUNDS  N pairs of threads that wake each other by eventfd, so many times
  free N ROUNDS   N threads that multiply so many times, and know nothing of each other
";

/// `cargo xtask threads`.
pub fn run(arguments: &[String]) -> anyhow::Result<Totals> {
    let numbers: Vec<u64> = arguments.iter().skip(1).filter_map(|text| text.parse().ok()).collect();
    match (arguments.first().map(String::as_str), numbers.as_slice()) {
        (Some("pairs"), [count, rounds]) => pairs(*count, *rounds)?,
        (Some("free"), [count, rounds]) => free(*count, *rounds),
        _ => {
            return Err(BadUse("threads takes pairs or free, a number of them, and rounds".to_owned()).into());
        }
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
