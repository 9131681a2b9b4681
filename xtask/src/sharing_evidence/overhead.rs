//! What being watched costs a program: CPU time of the same work in one process, by turns watched by nobody, clock and preload.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use anyhow::Context;
use sharing::{ClockRegisters, ProfileOptions, RATE_HZ, SignalRegisters, Source, watch_while};
use stats::{Random, hodges_lehmann, median};

use super::{Hidden, start, subject_command};
use crate::table::head;
use crate::totals::Totals;

/// As many threads as the smallest machine has CPUs, so that they need not wait for each other.
const HIDDEN: Hidden = Hidden { threads: 2, percent: 10, seed: 1 };
/// Of each thread and piece: some 75 ms of CPU time, so that a piece is over before the machine changes its speed, and has twenty
/// samples beside what the beginning of a thread costs more where it is watched.
const ROUNDS: u64 = 20_000_000;
/// What it may take longer.
const PROMISED_PERCENT: f64 = 1.0;
/// Of the intervals.
const CONFIDENCE: f64 = 0.95;
const ARMS: [&str; 4] = ["nobody", "nobody again", "clock", "preload"];

/// One process that works a piece when it is told to, and what watches it.
struct Subject {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    preload: SignalRegisters,
    samples: [u64; ARMS.len()],
}

/// Has a piece worked under each arm so often, in an order by chance each time, and prints a row for each arm.
pub(super) fn run(turns: usize) -> anyhow::Result<Totals> {
    let mut subject = Subject::start()?;
    let mut random = Random::new(1);
    // One of each first: memory comes and frequencies settle.
    let mut times: Vec<[f64; ARMS.len()]> = Vec::new();
    for turn in 0..=turns {
        let mut order: Vec<usize> = (0..ARMS.len()).collect();
        random.shuffle(&mut order);
        let mut row = [0.0; ARMS.len()];
        for arm in order {
            row[arm] = subject.piece(arm)?;
        }
        if turn == 0 {
            subject.samples = [0; ARMS.len()];
        } else {
            times.push(row);
        }
    }
    let samples = subject.end()?;
    show(&times, samples)
}

fn show(times: &[[f64; ARMS.len()]], samples: [u64; ARMS.len()]) -> anyhow::Result<Totals> {
    head("watched by | CPU time, ms, median | samples | more, % | 95 % | turns | at most 1 %");
    let mut totals = Totals::default();
    for (arm, name) in ARMS.iter().enumerate() {
        let of_arm: Vec<f64> = times.iter().map(|row| row[arm] / 1e6).collect();
        let typical_ms = median(&of_arm).context("give --overhead at least 1")?;
        let (samples, turns) = (samples[arm], times.len());
        if arm == 0 {
            println!("| {name} | {typical_ms:.2} | {samples} | | | {turns} | |");
            continue;
        }
        let ratios: Vec<f64> = times.iter().map(|row| (row[arm] / row[0]).ln()).collect();
        let shift = hodges_lehmann(&ratios, CONFIDENCE).context("a piece took no time")?;
        let interval = shift.interval.context("too few turns for an interval; give --overhead at least 6")?;
        let [value, low, high] = [shift.value, interval.low, interval.high].map(|log| 100.0 * log.exp_m1());
        let verdict = match (low, high) {
            _ if high <= PROMISED_PERCENT => "shown",
            _ if low > PROMISED_PERCENT => "refuted",
            _ => "not told",
        };
        println!(
            "| {name} | {typical_ms:.2} | {samples} | {value:+.2} | [{low:+.2}, {high:+.2}] | {turns} | {verdict} |"
        );
        totals.add(Totals::one(
            low <= PROMISED_PERCENT,
            format!("sharing-evidence: {name} costs at least {low:.2} %"),
        ));
    }
    Ok(totals)
}

impl Subject {
    /// With the library in it, which takes no sample yet.
    fn start() -> anyhow::Result<Self> {
        let period = Duration::from_secs_f64(1.0 / RATE_HZ);
        let preload = SignalRegisters::new(period, None)?;
        let mut command = subject_command(&HIDDEN, Some(ROUNDS))?;
        preload.prepare(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = start(&mut command)?;
        let orders = child.stdin.take().context("it was asked for")?;
        let answers = BufReader::new(child.stdout.take().context("it was asked for")?);
        let mut subject = Self { child, orders, answers, preload, samples: [0; ARMS.len()] };
        // A closed ring is left alone for good by a program that begins.
        subject.work()?;
        subject.preload.pause();
        Ok(subject)
    }

    /// A piece of work by new threads; their CPU time in nanoseconds.
    fn work(&mut self) -> anyhow::Result<f64> {
        work(&mut self.orders, &mut self.answers)
    }

    fn piece(&mut self, arm: usize) -> anyhow::Result<f64> {
        let options = ProfileOptions::default();
        let Self { orders, answers, preload, child, samples } = self;
        let work = || work(orders, answers);
        let (used, sharing) = match ARMS[arm] {
            "clock" => {
                let mut clock =
                    ClockRegisters::of_process(child.id(), Duration::from_secs_f64(1.0 / RATE_HZ))?;
                watch_while(&mut clock, options, work)
            }
            "preload" => {
                preload.resume();
                let watched = watch_while(preload, options, work);
                preload.pause();
                watched
            }
            // Looked at as the others are, without a sample: what follows a look, such as a rest, must not tell the arms apart.
            _ => watch_while(preload, options, work),
        }?;
        samples[arm] += sharing.samples;
        used
    }

    fn end(mut self) -> anyhow::Result<[u64; ARMS.len()]> {
        drop(self.orders);
        self.child.wait().context("cannot wait for the subject")?;
        Ok(self.samples)
    }
}

fn work(orders: &mut ChildStdin, answers: &mut BufReader<ChildStdout>) -> anyhow::Result<f64> {
    writeln!(orders).context("the subject has ended")?;
    let mut answer = String::new();
    answers.read_line(&mut answer)?;
    answer.trim().parse().with_context(|| format!("the subject answers {answer:?}"))
}
