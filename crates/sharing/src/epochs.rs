//! Epochs: shared pages are protected, the first who writes to each is named and let through, and after a while all begins anew.
//!
//! One thread keeps all rights to watch and does nothing but answer, so that a write waits no longer than it must. If it ends, by
//! whatever cause, the kernel lifts all protection. Another thread says which pages, and what may be spent.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use host::live::{OwnPage, WriteFault, WritePost, WriteWatch, is_running, run_at_once, wait_for_any};
use stats::Random;

use crate::page_choice::SharedPage;
use crate::writers::{FirstWrite, WritesSeen};

/// The length of an epoch, drawn anew for each so that it is in step with nothing. Threads that take turns on a CPU have some of
/// them in it (3 ms each, `sched_base_slice` of Linux), and a second has dozens.
const EPOCH_MS: std::ops::Range<usize> = 10..30;
/// Pages that are protected before who waits meanwhile is answered.
const PAGES_AT_ONCE: usize = 8;
/// Rights that are held at once; each takes a file.
const PROCESSES_MAX: usize = 256;
/// First writes that are kept: 16 bytes each, and no pair needs as many.
const WRITES_MAX: usize = 1 << 20;
/// How often a price is taken: some of each second, and far below what the program's own writes wait.
const PRICE_EVERY: Duration = Duration::from_millis(40);
/// Prices without which nothing is protected: one alone may have met an idle CPU.
const PRICES_MIN: usize = 8;

/// What both threads know.
#[derive(Debug, Default)]
struct Common {
    is_over: AtomicBool,
    /// What all writes that wait may cost, from the beginning on.
    allowance_ns: AtomicU64,
    /// What one costs; 0 while that is not known.
    price_ns: AtomicU64,
    pages: Mutex<Vec<SharedPage>>,
    /// When the last write of our own was let through.
    let_through_at: Mutex<Option<Instant>>,
}

impl Common {
    // A list or a time is as good after a panic as before.

    fn pages(&self) -> MutexGuard<'_, Vec<SharedPage>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn let_through_at(&self) -> MutexGuard<'_, Option<Instant>> {
        self.let_through_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Epochs that go on until this is dropped.
#[derive(Debug)]
pub(super) struct Epochs {
    common: Arc<Common>,
    keeper: Option<JoinHandle<WritesSeen>>,
    /// The right to watch this process itself; the keeper's, so that nobody waits for one who has ended.
    own: Weak<WriteWatch>,
    own_page: OwnPage,
    prices_us: Vec<f64>,
    priced_at: Instant,
}

impl Epochs {
    /// Begins without a page; `own` is the right to watch this process.
    pub(super) fn begin(post: WritePost, own: WriteWatch) -> std::io::Result<Self> {
        let own_page = OwnPage::new(&own)?;
        let own = Arc::new(own);
        let held = Arc::downgrade(&own);
        let common = Arc::new(Common::default());
        let keeper = Keeper::new(post, own);
        let known = common.clone();
        let keeper =
            std::thread::Builder::new().name("write-watch".to_owned()).spawn(move || keeper.keep(&known))?;
        Ok(Self {
            common,
            keeper: Some(keeper),
            own: held,
            own_page,
            prices_us: Vec::new(),
            priced_at: Instant::now(),
        })
    }

    /// For how long a write waits now, from before its page is protected until it is let through. When the thread is run again is not
    /// counted: where others want its CPU they have got it meanwhile.
    fn price_us(&self) -> Option<f64> {
        let begun = self.own_page.wait(self.own.upgrade()?).ok()?;
        let ended = *self.common.let_through_at();
        Some(ended?.checked_duration_since(begun)?.as_secs_f64() * 1e6)
    }

    /// Says what all writes that wait may cost from the beginning on, and looks what one costs.
    pub(super) fn allow(&mut self, seconds: f64) {
        if self.priced_at.elapsed() >= PRICE_EVERY {
            self.prices_us.extend(self.price_us());
            self.priced_at = Instant::now();
        }
        if self.prices_us.len() >= PRICES_MIN {
            let mean_us = self.prices_us.iter().sum::<f64>() / self.prices_us.len() as f64;
            self.common.price_ns.store((mean_us * 1e3) as u64, Ordering::Relaxed);
        }
        self.common.allowance_ns.store((seconds * 1e9) as u64, Ordering::Relaxed);
    }

    /// Says which pages, instead of those before.
    pub(super) fn ask_for(&self, pages: Vec<SharedPage>) {
        *self.common.pages() = pages;
    }

    /// Ends, and says what was seen; nothing the second time.
    pub(super) fn end(&mut self) -> WritesSeen {
        self.common.is_over.store(true, Ordering::Release);
        let Some(keeper) = self.keeper.take() else { return WritesSeen::default() };
        let seen = keeper.join().expect("keeping pages does not panic");
        WritesSeen { prices_us: std::mem::take(&mut self.prices_us), ..seen }
    }
}

impl Drop for Epochs {
    fn drop(&mut self) {
        self.end();
    }
}

/// A process whose pages may be protected.
#[derive(Debug)]
struct Watched {
    watch: WriteWatch,
    /// Mappings that are taken in.
    covered: BTreeSet<(u64, u64)>,
    /// Mappings that cannot be.
    refused: BTreeSet<(u64, u64)>,
}

impl Watched {
    fn covers(&mut self, page: &SharedPage) -> bool {
        let mapping = (page.start, page.end);
        if self.covered.contains(&mapping) || self.refused.contains(&mapping) {
            return self.covered.contains(&mapping);
        }
        let covered = self.watch.cover(page.start, page.end - page.start).is_ok();
        let list = if covered { &mut self.covered } else { &mut self.refused };
        list.insert(mapping);
        covered
    }
}

/// The thread that answers.
struct Keeper {
    post: WritePost,
    own: Arc<WriteWatch>,
    watched: BTreeMap<u32, Watched>,
    /// Process and page, with a number that rises: what was protected first has the least.
    protected: BTreeMap<(u32, u64), u64>,
    number: u64,
    ever: BTreeSet<(u32, u64)>,
    /// Where among the pages the next epoch goes on.
    next: usize,
    seen: WritesSeen,
    random: Random,
}

impl Keeper {
    fn new(post: WritePost, own: Arc<WriteWatch>) -> Self {
        Self {
            post,
            own,
            watched: BTreeMap::new(),
            protected: BTreeMap::new(),
            number: 0,
            ever: BTreeSet::new(),
            next: 0,
            seen: WritesSeen::default(),
            // Any seed serves: epochs are to be in step with nothing, and times are not repeatable anyway.
            random: Random::new(1),
        }
    }

    fn keep(mut self, common: &Common) -> WritesSeen {
        // A program that keeps all CPUs busy would wait for its own threads. Where that is refused the price says so.
        let _ = run_at_once();
        let mut epoch_at = Instant::now();
        while !common.is_over.load(Ordering::Acquire) && self.wait(epoch_at).is_ok() {
            self.receive();
            self.answer(common);
            if epoch_at <= Instant::now() {
                self.begin_epoch(common);
                let length_ms = EPOCH_MS.start + self.random.below(EPOCH_MS.len());
                epoch_at = Instant::now() + Duration::from_millis(length_ms as u64);
            }
        }
        self.seen.pages = self.ever.len() as u64;
        self.seen
    }

    fn wait(&self, until: Instant) -> std::io::Result<()> {
        let rights = self.watched.values().map(|watched| watched.watch.as_fd());
        let files: Vec<_> = [self.own.as_fd(), self.post.as_fd()].into_iter().chain(rights).collect();
        wait_for_any(&files, Some(until.saturating_duration_since(Instant::now()))).map(drop)
    }

    /// Takes what programs hand over. A process that has become another program hands over anew.
    fn receive(&mut self) {
        while let Some(given) = self.post.receive() {
            if self.watched.len() >= PROCESSES_MAX {
                self.watched.retain(|process, _| is_running(*process));
            }
            self.forget(given.process);
            if self.watched.len() < PROCESSES_MAX {
                let watched =
                    Watched { watch: given.watch, covered: BTreeSet::new(), refused: BTreeSet::new() };
                self.watched.insert(given.process, watched);
            }
        }
    }

    fn forget(&mut self, process: u32) {
        self.watched.remove(&process);
        self.protected.retain(|(of, _), _| *of != process);
    }

    /// Lets all who wait through, and notes who was the first.
    fn answer(&mut self, common: &Common) {
        // Its end would be that of this process.
        let _ = self.own.take(|fault| {
            // Noted behind it and before who waits can ask: the lock is held over both.
            let mut ended = common.let_through_at();
            self.own.let_through(fault.page);
            *ended = Some(Instant::now());
        });
        let mut faults: Vec<(u32, WriteFault)> = Vec::new();
        let mut dead = Vec::new();
        for (process, watched) in &self.watched {
            let watch = &watched.watch;
            let taken = watch.take(|fault| {
                watch.let_through(fault.page);
                faults.push((*process, fault));
            });
            if taken.is_err() {
                dead.push(*process);
            }
        }
        for (pid, WriteFault { tid, page }) in faults {
            self.seen.faults += 1;
            // A thread whose wait a signal has ended comes again, and several may wait for one page.
            let is_first = self.protected.remove(&(pid, page)).is_some();
            if is_first && self.seen.first_writes.len() < WRITES_MAX {
                self.seen.first_writes.push(FirstWrite { pid, tid, page });
            }
        }
        for process in dead {
            self.forget(process);
        }
    }

    /// Protects the next pages, as many as may be paid for if all of them are written to at once.
    fn begin_epoch(&mut self, common: &Common) {
        let pages = common.pages().clone();
        let allowed =
            common.allowance_ns.load(Ordering::Relaxed).checked_div(common.price_ns.load(Ordering::Relaxed));
        let most = allowed.map_or(0, |writes| writes.saturating_sub(self.seen.faults) as usize);
        self.lift_idle(&pages, most / 2);
        let mut fresh = 0;
        for _ in 0..pages.len() {
            if self.protected.len() >= most {
                break;
            }
            self.next = (self.next + 1) % pages.len();
            if self.protect(&pages[self.next]) {
                fresh += 1;
                if fresh % PAGES_AT_ONCE == 0 {
                    self.answer(common);
                }
            }
        }
        self.seen.epochs += u64::from(fresh > 0);
    }

    /// Pages that nobody writes to may hold no more than a part of what can be spent, nor such as nobody asks for any more.
    fn lift_idle(&mut self, pages: &[SharedPage], most: usize) {
        let mut numbers: Vec<u64> = self.protected.values().copied().collect();
        numbers.sort_unstable();
        let kept_from = numbers.len().checked_sub(most + 1).map_or(0, |last_lifted| numbers[last_lifted] + 1);
        let watched = &self.watched;
        self.protected.retain(|(pid, page), number| {
            let is_asked =
                pages.binary_search_by_key(&(*pid, *page), |asked| (asked.pid, asked.page)).is_ok();
            let is_kept = is_asked && *number >= kept_from;
            if let (false, Some(watched)) = (is_kept, watched.get(pid)) {
                watched.watch.let_through(*page);
            }
            is_kept
        });
    }

    /// True if the page was not protected, and is now.
    fn protect(&mut self, page: &SharedPage) -> bool {
        let place = (page.pid, page.page);
        if self.protected.contains_key(&place) {
            return false;
        }
        let Some(watched) = self.watched.get_mut(&page.pid) else { return false };
        if !watched.covers(page) {
            return false;
        }
        if watched.watch.protect(page.page).is_err() {
            // Unmapped, perhaps to be mapped anew, or the process is gone.
            watched.covered.remove(&(page.start, page.end));
            return false;
        }
        self.protected.insert(place, self.number);
        self.number += 1;
        self.ever.insert(place);
        true
    }
}
