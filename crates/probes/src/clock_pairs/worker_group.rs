//! One thread per CPU for the whole run: each sleeps or works by its regime, and exchanges when its turn comes.
//!
//! A thread that works between exchanges spins on the number of the round, which is its load; one that does not waits in
//! the kernel, so that its CPU may sleep. A thread says before and after an exchange on which CPU it was: a CPU that was
//! unplugged leaves its thread elsewhere, and what that saw is thrown away. Once the CPU is back, so is its thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, RwLock};

use clock::{CounterSource, Exchange, ExchangeLimits, Regime, Side, SideView};
use host::live::{AffinityError, Pinned, current_cpu, start_on};
use machine::CpuId;

use crate::probe::CpuPair;

/// One exchange of one thread.
#[derive(Debug, Clone)]
struct Turn {
    exchange: Arc<Exchange>,
    side: Side,
}

/// Thread and conductor share this, one per CPU.
#[derive(Debug, Default)]
struct Slot {
    works: AtomicBool,
    /// The regime of the CPU between exchanges, which a double of the counters follows; `None` is work at full speed.
    regime: Mutex<Option<Regime>>,
    turn: Mutex<Option<Turn>>,
    view: Mutex<Option<Result<SideView, String>>>,
}

/// What all threads share.
#[derive(Debug, Default)]
struct Board {
    round: AtomicU64,
    is_over: AtomicBool,
    /// Guards nothing but the waiting.
    waiting: Mutex<()>,
    changed: Condvar,
    /// Threads that are done with the round.
    done: Mutex<usize>,
    all_done: Condvar,
}

/// Threads on CPUs, for as long as the closure of [`WorkerGroup::with`] runs.
pub(super) struct WorkerGroup<'a, S> {
    cpus: &'a [CpuId],
    source: &'a RwLock<S>,
    slots: &'a [Slot],
    board: &'a Board,
}

/// What both sides of a pair saw, or which CPU was lost and how.
#[derive(Debug)]
pub(super) struct PairViews {
    pub(super) pair: CpuPair,
    pub(super) views: Result<[SideView; 2], (CpuId, String)>,
}

/// Ends the threads when the conductor leaves, also by a panic.
struct OverOnDrop<'a>(&'a Board);

impl Drop for OverOnDrop<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
        self.0.next_round();
    }
}

impl Board {
    fn next_round(&self) {
        // Under the lock, so that nobody who has seen the old number goes to sleep after the call.
        let _guard = self.waiting.lock();
        self.round.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_all();
    }

    /// Waits for a round after `last`, spinning while `works` holds.
    fn wait(&self, last: u64, works: &AtomicBool) -> u64 {
        loop {
            let round = self.round.load(Ordering::Acquire);
            if round != last {
                return round;
            }
            if works.load(Ordering::Relaxed) {
                std::hint::spin_loop();
                continue;
            }
            let guard = self.waiting.lock().expect("nothing panics under this lock");
            if self.round.load(Ordering::Acquire) == last {
                // Woken for any reason, the loop looks again.
                drop(self.changed.wait(guard));
            }
        }
    }
}

impl<'a, S: CounterSource + Send> WorkerGroup<'a, S> {
    /// Runs `conduct` with a thread on each CPU.
    ///
    /// # Errors
    /// A CPU that may not be used, or a thread that is not started; those that were are released.
    pub(super) fn with<R>(
        cpus: &'a [CpuId],
        source: &'a RwLock<S>,
        limits: ExchangeLimits,
        conduct: impl FnOnce(&WorkerGroup<'_, S>) -> R,
    ) -> Result<R, AffinityError> {
        let board = Board::default();
        let slots: Vec<Slot> = cpus.iter().map(|_| Slot::default()).collect();
        for &cpu in cpus {
            // Tried here, where an error can be reported; the threads pin themselves.
            drop(Pinned::to(cpu)?);
        }
        std::thread::scope(|scope| {
            // First, so that those that were started do not wait for ever if another is not.
            let _over = OverOnDrop(&board);
            for (&cpu, slot) in cpus.iter().zip(&slots) {
                let board = &board;
                start_on(scope, cpu, move || serve(cpu, slot, board, source, limits))?;
            }
            Ok(conduct(&WorkerGroup { cpus, source, slots: &slots, board: &board }))
        })
    }

    /// Says for each CPU, by its index, what it does between exchanges.
    pub(super) fn behave(&self, regime: impl Fn(usize) -> Regime) {
        for (index, slot) in self.slots.iter().enumerate() {
            let regime = regime(index);
            slot.works.store(regime != Regime::Idle, Ordering::Relaxed);
            *slot.regime.lock().expect("no thread panics") = Some(regime);
        }
    }

    /// One exchange of each pair, all at the same time; no CPU occurs twice.
    pub(super) fn exchange(&self, round: &[CpuPair]) -> Vec<PairViews> {
        let index_of = |cpu: CpuId| self.cpus.binary_search(&cpu).expect("pairs are of these CPUs");
        for pair in round {
            let exchange = Arc::new(Exchange::new());
            for (cpu, side) in [(pair.a, Side::First), (pair.b, Side::Second)] {
                let turn = Turn { exchange: Arc::clone(&exchange), side };
                *self.slots[index_of(cpu)].turn.lock().expect("no thread panics") = Some(turn);
            }
        }
        // Whoever sleeps between exchanges works during one; a frequency that is held stays.
        self.set_regimes(|regime| if regime == Regime::Idle { Regime::Load } else { regime });
        *self.board.done.lock().expect("no thread panics") = 0;
        self.board.next_round();
        let mut done = self.board.done.lock().expect("no thread panics");
        while *done < self.cpus.len() {
            done = self.board.all_done.wait(done).expect("no thread panics");
        }
        drop(done);
        self.set_regimes(|regime| regime);
        let view = |cpu: CpuId| {
            let view = self.slots[index_of(cpu)].view.lock().expect("no thread panics").take();
            view.unwrap_or_else(|| Err("its thread saw nothing".to_owned())).map_err(|why| (cpu, why))
        };
        let meet = |pair: &CpuPair| PairViews {
            pair: *pair,
            views: view(pair.a).and_then(|first| Ok([first, view(pair.b)?])),
        };
        round.iter().map(meet).collect()
    }

    /// Sets what each CPU does from now on in a double, if the counters are one.
    fn set_regimes(&self, of: impl Fn(Regime) -> Regime) {
        let mut source = self.source.write().expect("no thread panics with the counters in hand");
        for (cpu, slot) in self.cpus.iter().zip(self.slots) {
            let regime = slot.regime.lock().expect("no thread panics").unwrap_or(Regime::Load);
            source.enter(cpu.0, of(regime));
        }
    }
}

/// The thread of one CPU.
fn serve<S: CounterSource>(
    cpu: CpuId,
    slot: &Slot,
    board: &Board,
    source: &RwLock<S>,
    limits: ExchangeLimits,
) {
    let mut pinned = Pinned::to(cpu);
    let mut round = 0;
    loop {
        round = board.wait(round, &slot.works);
        if board.is_over.load(Ordering::Acquire) {
            return;
        }
        let turn = slot.turn.lock().expect("no thread panics").take();
        if let Some(turn) = turn {
            if !pinned.as_ref().is_ok_and(Pinned::holds) {
                drop(pinned);
                pinned = Pinned::to(cpu);
            }
            let view = match &pinned {
                Ok(_) => one_side(cpu, turn.side, &turn.exchange, source, &limits),
                Err(error) => Err(error.to_string()),
            };
            *slot.view.lock().expect("no thread panics") = Some(view);
        }
        let mut done = board.done.lock().expect("no thread panics");
        *done += 1;
        board.all_done.notify_one();
    }
}

/// One side of an exchange by the calling thread, which is pinned to the CPU.
///
/// # Errors
/// That the thread was elsewhere before or after it.
pub(crate) fn one_side<S: CounterSource>(
    cpu: CpuId,
    side: Side,
    exchange: &Exchange,
    source: &RwLock<S>,
    limits: &ExchangeLimits,
) -> Result<SideView, String> {
    let elsewhere = || current_cpu().filter(|&now| now != cpu);
    let source = source.read().expect("no thread panics with the counters in hand");
    let before = elsewhere();
    let view = exchange.run(side, cpu.0, &*source, limits);
    match before.or_else(elsewhere) {
        Some(now) => {
            Err(format!("its thread was moved to CPU {now}; the CPU went offline, or others pinned it"))
        }
        None => Ok(view),
    }
}
