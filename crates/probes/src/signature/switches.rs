//! Signatures of switches: a byte to another process on the same CPU and back, and the same between two threads.
//!
//! Between processes the kernel changes the address space (CR3), and may put a barrier of indirect branches before the
//! next one runs; between threads of one process it does neither. A switch is half of a round trip. Chunks of all kinds
//! alternate, and a low quantile of chunks counts; involuntary switches tell nothing here, as a woken partner may cause
//! one.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::time::{Duration, Instant};

use clock::{TickRate, begin, end};
use host::live::{EchoProcess, EchoThread, Speculation, speculation, stop_speculation};
use record::Reading;

use super::judgement::{Held, Turns};
use super::{Readings, SignatureProbe, SignatureSetup};

/// Round trips before anything is timed: the first touch pages that the two processes share until then.
const WARM_UP_TRIPS: usize = 60;
/// Round trips of a chunk, 50 to 200 us.
const TRIPS_PER_CHUNK: usize = 12;
/// Turns of one chunk of each kind.
const TURNS: usize = 300;
/// Turns that are enough where time runs out.
const TURNS_MIN: usize = 30;
/// Longest time for all turns.
const TURNS_LIMIT: Duration = Duration::from_millis(700);
/// Others run between the two on a busy CPU, in most chunks: on a guest of load 9 the quarter was the same again within
/// 1.1 %, the mean within 27 %.
const QUANTILE: f64 = 0.25;
/// How far a byte through a pipe of one's own may differ before and after: a system call is less steady than a loop.
const OWN_PIPE: f64 = 0.1;

/// A pipe that this thread writes to and reads from itself.
struct OwnPipe {
    reader: PipeReader,
    writer: PipeWriter,
}

impl OwnPipe {
    fn open() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self { reader, writer })
    }

    fn round_trip(&mut self) -> io::Result<()> {
        self.writer.write_all(&[1])?;
        self.reader.read_exact(&mut [0])
    }
}

/// All that bytes are sent to.
struct Partners {
    own: OwnPipe,
    process: EchoProcess,
    thread: EchoThread,
    /// A process at which the kernel puts a barrier for indirect branches, where it lets itself be asked for that.
    behind_barrier: Option<EchoProcess>,
}

impl Partners {
    /// All on the CPU of the calling thread.
    fn start() -> io::Result<Self> {
        let behind_barrier = process_behind_barrier()?;
        Ok(Self {
            own: OwnPipe::open()?,
            process: EchoProcess::start()?,
            thread: EchoThread::start()?,
            behind_barrier,
        })
    }

    /// One chunk of each, in nanoseconds per round trip: own pipe, process, thread, process behind a barrier, own pipe.
    fn turn(&mut self, rate: TickRate) -> io::Result<Vec<f64>> {
        let mut chunks = vec![
            chunk(rate, || self.own.round_trip())?,
            chunk(rate, || self.process.round_trip())?,
            chunk(rate, || self.thread.round_trip())?,
        ];
        if let Some(process) = &mut self.behind_barrier {
            chunks.push(chunk(rate, || process.round_trip())?);
        }
        chunks.push(chunk(rate, || self.own.round_trip())?);
        Ok(chunks)
    }
}

/// Places of the chunks in a turn; the own pipe stands at both ends.
const PROCESS: usize = 1;
const THREAD: usize = 2;
const BEHIND_BARRIER: usize = 3;

/// A process that has asked for barriers. The calling thread has not, after this as before.
fn process_behind_barrier() -> io::Result<Option<EchoProcess>> {
    let branches = Speculation::IndirectBranch;
    let is_free = speculation(branches).is_ok_and(|state| state.switchable && !state.stopped);
    if !is_free || stop_speculation(branches, true).is_err() {
        return Ok(None);
    }
    let process = EchoProcess::start();
    stop_speculation(branches, false)?;
    process.map(Some)
}

/// What a switch costs between processes, what a barrier adds, and what the change of address space does.
///
/// # Errors
/// Why nothing could be measured.
pub(super) fn context_switch(setup: &SignatureSetup<'_>) -> Result<Readings, String> {
    let values = take_turns(setup).map_err(|error| format!("cannot bounce bytes: {error}"))?;
    if values.len() < TURNS_MIN {
        return Err(format!("the machine was too busy: {} of {TURNS_MIN} turns in time", values.len()));
    }
    let has_barrier = values[0].len() > BEHIND_BARRIER + 1;
    let turns = Turns { values, slowdown: 1.0, quantile: QUANTILE, seed: setup.seed };
    let held = Held {
        text: "a byte through a pipe of one's own, without a switch",
        ratio: |lows| lows[lows.len() - 1] / lows[0],
        bound: OWN_PIPE,
        level: None,
    };
    let values: [fn(&[f64]) -> f64; 3] = [
        |lows| lows[PROCESS] / 2.0,
        |lows| (lows[BEHIND_BARRIER] - lows[PROCESS]) / 2.0,
        |lows| (lows[PROCESS] - lows[THREAD]) / 2.0,
    ];
    let mut readings = turns.readings(SignatureProbe::ContextSwitch, &values, &held);
    if !has_barrier {
        let why = "the kernel lets no process ask for barriers of indirect branches".to_owned();
        readings.insert("ibpb_added_ns".to_owned(), Reading::Missing(why));
    }
    Ok(readings)
}

fn take_turns(setup: &SignatureSetup<'_>) -> io::Result<Vec<Vec<f64>>> {
    let rate = setup.rate;
    let mut partners = Partners::start()?;
    for _ in 0..WARM_UP_TRIPS.div_ceil(TRIPS_PER_CHUNK) {
        partners.turn(rate)?;
    }
    let started = Instant::now();
    let mut turns = Vec::with_capacity(TURNS);
    while turns.len() < TURNS && started.elapsed() < TURNS_LIMIT && !setup.is_over() {
        turns.push(partners.turn(rate)?);
    }
    Ok(turns)
}

fn chunk(rate: TickRate, mut round_trip: impl FnMut() -> io::Result<()>) -> io::Result<f64> {
    let start = begin();
    for _ in 0..TRIPS_PER_CHUNK {
        round_trip()?;
    }
    Ok(rate.nanoseconds(end().wrapping_sub(start)) / TRIPS_PER_CHUNK as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_a_chunk_of_each_partner_between_two_of_the_own_pipe() {
        let rate = TickRate { hz: 1e9, error_ppm: 1.0 };
        let mut partners = Partners::start().expect("pipes, a process and a thread");
        let chunks = 4 + usize::from(partners.behind_barrier.is_some());
        let turn = partners.turn(rate).expect("all answer");
        assert_eq!(turn.len(), chunks);
        assert!(turn.iter().all(|ns| *ns > 0.0));
    }

    #[test]
    fn asking_for_a_barrier_leaves_no_trace_in_the_thread_that_asks() {
        std::thread::spawn(|| {
            let before = speculation(Speculation::IndirectBranch).ok();
            let process = process_behind_barrier().expect("a process, or none");
            assert_eq!(speculation(Speculation::IndirectBranch).ok(), before);
            drop(process);
        })
        .join()
        .expect("the thread ends");
    }
}
