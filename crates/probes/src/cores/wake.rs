//! Wake-up latency of an idle CPU against how long it was idle: knees are idle states that cost more to leave.
//!
//! A pinned thread sleeps in the kernel (`thread::park`, a futex); a spinning thread on another CPU waits for the idle
//! time, stamps the counter and wakes it; the sleeper stamps its first instruction. The counters of the two CPUs need
//! not agree: before each round the offset is measured by fast exchanges over one cache line, as (sent + received) / 2
//! of the fastest, which is off by less than half of that round trip (about 0.1 us).

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};

use clock::{TickRate, begin, end};
use host::live::{AffinityError, Pinned, ThreadUsage};
use kernels::random::SplitMix64;
use record::{WakePoint, metric};
use stats::quantile;

use super::CoresError;
use super::rounds::{Pace, in_rounds};
use crate::probe::CpuPair;
use crate::probe::{CheckUpProbe, Planned, Section, Subject, second_cpu_missing};
use crate::rendezvous::{Alone, Ended, Link, with_partner};
use crate::series::{PointVisit, Series};
use crate::session::Session;

/// Idle times in microseconds: three per two decades, 10 us to 100 ms.
pub const IDLE_US: [f64; 9] = [10.0, 32.0, 100.0, 316.0, 1e3, 3.16e3, 1e4, 3.16e4, 1e5];
/// Wake-ups of one idle time per round take about this long, at least one and at most `WAKES_MAX`.
const WAKES_US: f64 = 20_000.0;
/// Wake-ups of one idle time per round at most.
const WAKES_MAX: f64 = 12.0;
/// Exchanges that measure the offset of the counters.
const EXCHANGES: u64 = 100;
/// The sleeper was left alone longer than asked for by this factor: another idle state, set aside.
const IDLE_FACTOR: f64 = 1.3;
/// Spins between two looks at the deadline.
const SPINS_PER_CHECK: u32 = 1 << 12;
/// The last round may end this much after the budget: all idle times once, on a busy machine.
const ROUND_WORST_S: f64 = 0.5;

/// The probe in the check-up.
pub(crate) const PROBE: CheckUpProbe = CheckUpProbe {
    seconds: [Some(1.2), Some(4.0), Some(12.0)],
    least_s: 0.9,
    epoch_least_s: Some(0.35),
    rank: 140,
    // It needs two CPUs, one of them idle.
    disturbs: "core",
    missing: second_cpu_missing,
    ..CheckUpProbe::new("wake", Section::Cores, plan)
};

fn plan(subject: &Subject<'_>, seconds: f64) -> Planned {
    let (chosen, _) = subject.pairs(subject.by_depth([4, 4, 8]));
    let siblings = |pair: &CpuPair| subject.machine.topology.siblings(pair.a).contains(pair.b);
    let count = subject.by_depth([1, 1, 3]);
    // A sibling of a spinning CPU is not idle; where there is nothing else, it has to do.
    let (near, apart): (Vec<CpuPair>, Vec<CpuPair>) = chosen.pairs.into_iter().partition(siblings);
    let pairs: Vec<CpuPair> = apart.into_iter().chain(near).take(count).collect();
    let idle_us = subject.by_depth([&IDLE_US[..7], &IDLE_US[..], &IDLE_US[..]]);
    let reduced: Vec<String> = (idle_us.len() < IDLE_US.len())
        .then(|| "idle times up to 10 ms in place of 100 ms: --quick".to_owned())
        .into_iter()
        .collect();
    let rounds = subject.by_depth([10, 16, 40]);
    let settings = Settings { pairs, idle_us: idle_us.to_vec(), rounds, budget_s: 0.0 };
    let worst_case_s = |settings: &Settings| settings.budget_s + ROUND_WORST_S;
    Planned::within(seconds, settings, |settings| &mut settings.budget_s, worst_case_s, run).reduced(reduced)
}

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Waker `a` and sleeper `b`.
    pub pairs: Vec<CpuPair>,
    /// Idle times in microseconds.
    pub idle_us: Vec<f64>,
    /// Rounds over all pairs.
    pub rounds: u32,
    /// Time for all rounds in seconds.
    pub budget_s: f64,
}

/// Measures the wake-up latency of each pair and adds one point per idle time to the record.
///
/// # Errors
/// A CPU that may not be used; what was measured is in the record.
pub fn run(session: &mut Session<'_>, settings: &Settings) -> Result<(), CoresError> {
    let mut samples = vec![vec![Series::default(); settings.idle_us.len()]; settings.pairs.len()];
    let pace = Pace { budget_s: settings.budget_s, rounds: settings.rounds };
    let outcome = in_rounds(session, pace, settings.pairs.len(), |session, index, _| {
        round(session, settings.pairs[index], &settings.idle_us, &mut samples[index])?;
        Ok(())
    });
    for (pair, samples) in settings.pairs.iter().zip(&samples) {
        for (&idle_us, samples) in settings.idle_us.iter().zip(samples) {
            push(session, *pair, idle_us, samples);
        }
    }
    outcome
}

fn series_name(CpuPair { a: waker, b: sleeper }: CpuPair, idle_us: f64) -> String {
    format!("wake-up of CPU {sleeper} by CPU {waker} after {idle_us} us")
}

fn push(session: &mut Session<'_>, pair: CpuPair, idle_us: f64, samples: &Series) {
    let CpuPair { a: waker, b: sleeper } = pair;
    let Some(measured) = samples.measured(session, &metric::WAKE, series_name(pair, idle_us)) else { return };
    let p90_ns = quantile(&samples.windows(), 0.9).unwrap_or(measured.value);
    let (ns, spread) = (measured.value, measured.spread);
    session.result().cores.wake.push(WakePoint { waker, sleeper, idle_us, ns, p90_ns, spread });
}

/// What the two threads write for each other.
#[derive(Debug, Default)]
struct Board {
    /// Number of the call, rising from 1; the first `EXCHANGES` are answered by a spinning thread.
    call: Alone<AtomicU64>,
    /// The sleeper's counter at its answer.
    answer: Alone<AtomicU64>,
    /// The call that the sleeper waits for.
    awaiting: Alone<AtomicU64>,
}

impl Board {
    fn sleeper(&self, link: &Link) {
        for number in 1.. {
            self.awaiting.0.store(number, Ordering::Release);
            let mut stamp = 0;
            while self.call.0.load(Ordering::Acquire) != number {
                if link.aborted() {
                    return;
                }
                if number <= EXCHANGES {
                    std::hint::spin_loop();
                } else {
                    thread::park();
                }
                stamp = begin();
            }
            self.answer.0.store(if stamp == 0 { begin() } else { stamp }, Ordering::Release);
        }
    }
}

/// The spinning side.
struct Waker<'a, 's> {
    board: &'a Board,
    link: &'a Link,
    sleeper: &'a Thread,
    session: &'a Session<'s>,
    number: u64,
    last_answer: u64,
}

/// One call and its answer, in ticks of either CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Exchange {
    sent: u64,
    answered: u64,
    received: u64,
}

impl Exchange {
    /// Counter of the other CPU minus counter of this one, if both ways took equally long.
    fn offset(&self) -> i64 {
        let middle = self.sent.wrapping_add(self.received.wrapping_sub(self.sent) / 2);
        self.answered.wrapping_sub(middle).cast_signed()
    }

    /// From call to answer on one time scale; `None` if the clocks contradict each other.
    fn latency_ticks(&self, offset: i64) -> Option<u64> {
        let answered = self.answered.wrapping_sub(offset.cast_unsigned());
        u64::try_from(answered.wrapping_sub(self.sent).cast_signed()).ok()
    }
}

impl Waker<'_, '_> {
    /// Spins until the condition holds; false when the session has to stop first.
    fn wait(&self, condition: impl Fn() -> bool) -> bool {
        let mut spins = 0;
        while !condition() {
            spins += 1;
            if spins % SPINS_PER_CHECK == 0 && self.session.must_stop() {
                return false;
            }
            std::hint::spin_loop();
        }
        true
    }

    /// Waits until the other is ready for the next call.
    fn ready(&mut self) -> bool {
        self.number += 1;
        let is_awaited = || self.board.awaiting.0.load(Ordering::Acquire) == self.number;
        self.wait(|| is_awaited() || self.link.aborted()) && is_awaited()
    }

    /// Calls, wakes if asked to, and waits for the answer.
    fn call(&mut self, wake: bool) -> Option<Exchange> {
        let sent = begin();
        self.board.call.0.store(self.number, Ordering::Release);
        if wake {
            self.sleeper.unpark();
        }
        let last = self.last_answer;
        let answered = || self.board.answer.0.load(Ordering::Acquire);
        if !self.wait(|| answered() != last) {
            return None;
        }
        let received = end();
        self.last_answer = answered();
        Some(Exchange { sent, answered: self.last_answer, received })
    }

    /// Offset of the sleeper's counter by the fastest of many exchanges.
    fn offset(&mut self) -> Option<i64> {
        let mut best: Option<Exchange> = None;
        for _ in 0..EXCHANGES {
            if !self.ready() {
                return None;
            }
            let exchange = self.call(false)?;
            let width = |exchange: &Exchange| exchange.received.wrapping_sub(exchange.sent);
            if best.as_ref().is_none_or(|best| width(&exchange) < width(best)) {
                best = Some(exchange);
            }
        }
        best.map(|best| best.offset())
    }

    /// One wake-up after `idle_us` in nanoseconds; `None` is one to be set aside.
    fn wake(&mut self, idle_us: f64, offset: i64) -> Result<Option<f64>, Ended> {
        let rate: TickRate = self.session.rate;
        if !self.ready() {
            return Err(Ended);
        }
        let (idle_ticks, asleep) = (rate.ticks(idle_us * 1e3) as u64, begin());
        if !self.wait(|| begin().wrapping_sub(asleep) >= idle_ticks) {
            return Err(Ended);
        }
        let before = ThreadUsage::now().involuntary_switches;
        let exchange = self.call(true).ok_or(Ended)?;
        let stayed = ThreadUsage::now().involuntary_switches == before;
        let idle = exchange.sent.wrapping_sub(asleep) as f64;
        // Reading the switches and a look at the deadline add about a microsecond.
        let as_asked = idle <= idle_ticks as f64 * IDLE_FACTOR + rate.ticks(2_000.0);
        let ticks = exchange.latency_ticks(offset).filter(|_| stayed && as_asked);
        Ok(ticks.map(|ticks| rate.nanoseconds(ticks)))
    }
}

fn round(
    session: &mut Session<'_>,
    pair: CpuPair,
    idle_us: &[f64],
    samples: &mut [Series],
) -> Result<(), AffinityError> {
    let _pinned = Pinned::to(pair.a)?;
    let mut random = SplitMix64::new(session.random.next_u64());
    let mut order: Vec<usize> = (0..idle_us.len()).collect();
    random.shuffle(&mut order);
    let board = Board::default();
    let session = &*session;
    with_partner(
        pair.b,
        None,
        |link| board.sleeper(link),
        |link, sleeper| {
            let mut waker = Waker { board: &board, link, sleeper, session, number: 0, last_answer: 0 };
            all_gaps(&mut waker, pair, &order, idle_us, samples);
        },
    )
}

/// All idle times in the order given.
fn all_gaps(
    waker: &mut Waker<'_, '_>,
    pair: CpuPair,
    order: &[usize],
    idle_us: &[f64],
    samples: &mut [Series],
) {
    // It times nothing here: what is planted comes by it, too.
    let mut sampler = waker.session.sampler(pair.a);
    let Some(offset) = waker.offset() else { return };
    for &index in order {
        sampler.about(|| series_name(pair, idle_us[index]));
        let wakes = (WAKES_US / idle_us[index]).clamp(1.0, WAKES_MAX) as usize;
        let mut latencies = PointVisit::default();
        for _ in 0..wakes {
            match waker.wake(idle_us[index], offset) {
                Ok(ns) => latencies.add(ns.map(|ns| sampler.counted_ns(ns))),
                Err(Ended) => return samples[index].add(latencies),
            }
        }
        samples[index].add(latencies);
    }
}

#[cfg(test)]
mod tests {
    use machine::CpuId;

    use super::*;
    use crate::saved;

    #[test]
    fn saved_wake_ups_give_the_stored_points() {
        let mut session = saved::session();
        for series in saved::series("wake-up") {
            let mut samples = Series::default();
            for (_, windows) in series.visits {
                samples.add(PointVisit { windows, dropped: 1, ..PointVisit::default() });
            }
            push(&mut session, CpuPair { a: CpuId(0), b: CpuId(1) }, 10.0, &samples);
        }
        saved::check("wake", &session.record.cores.wake);
    }

    #[test]
    fn the_offset_of_the_counters_cancels() {
        // The other counter is 1000 ahead; ways of 50 ticks each.
        let exchange = Exchange { sent: 5_000, answered: 6_050, received: 5_100 };
        assert_eq!(exchange.offset(), 1_000);
        let wake = Exchange { sent: 9_000, answered: 22_000, received: 12_050 };
        assert_eq!(wake.latency_ticks(1_000), Some(12_000));
        let behind = Exchange { sent: 5_000, answered: 4_050, received: 5_100 };
        assert_eq!(behind.offset(), -1_000);
        assert_eq!(
            Exchange { sent: 9_000, answered: 20_000, received: 0 }.latency_ticks(-1_000),
            Some(12_000)
        );
    }

    #[test]
    fn an_answer_before_the_call_is_no_latency() {
        assert_eq!(Exchange { sent: 9_000, answered: 8_000, received: 9_100 }.latency_ticks(0), None);
    }
}
