//! All ways to read the time, and those that fail here with the reason.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use clock::{Clock, StampMethod, Stamper, TickRate, TimeStampCounter, resolution_ticks};
use host::live::TimeSource;
use kernels::ticks::{TickLoop, TickRead};

/// One way to read the time, or what belongs beside it.
#[derive(Debug, Clone)]
pub struct Read {
    /// Stable name, as it stands in records.
    pub name: &'static str,
    /// No earlier load of the thread is done after it.
    pub ordered: bool,
    /// Steps in which it tells the time, in nanoseconds; `None` if it tells none, or nobody says.
    pub resolution_ns: Option<f64>,
    way: Way,
}

#[derive(Debug, Clone)]
enum Way {
    /// The turn of the loop that all others stand in.
    Nothing,
    /// The counter itself.
    Ticks(TickLoop),
    /// The CPU that the thread is on, without a time.
    CpuNumber(Stamper),
    /// Through the kernel or its page in user space.
    Kernel(TimeSource),
    /// `std::time::Instant`.
    Instant,
    /// `std::time::SystemTime`.
    SystemTime,
    /// This project's clock.
    Clock(Clock),
    /// The same, with the bound for other threads.
    Ordered(Clock),
    /// The counter, raised above all that other threads have read, in one word.
    SharedWord,
}

/// What there is, and what is not.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// Ways that work.
    pub reads: Vec<Read>,
    /// Names of the others, with the reason.
    pub failed: Vec<(&'static str, String)>,
}

/// Which ways are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Those that tell of the machine and its kernel.
    Machine,
    /// CPU numbers, coarse clocks, the standard library and this project's clock as well, which starts a thread that keeps it.
    All,
}

/// Name of the ordered read of the counter that stands beside other clocks.
pub const COUNTER: &str = TickRead::USUAL.name();
/// Name of the empty loop.
pub const NOTHING: &str = "loop alone";
/// Name of the kernel's monotonic clock.
pub const MONOTONIC: &str = "clock_gettime(CLOCK_MONOTONIC)";
/// Name of the call that the article measured.
pub const TIME_OF_DAY: &str = "gettimeofday";
/// Name of the bare system call.
pub const SYSTEM_CALL: &str = "clock_gettime system call";
/// Name of this project's clock.
pub const CLOCK_NOW: &str = "Clock::now";
/// Name of the clock that cannot scale.
pub const SHARED_WORD: &str = "one shared word";

/// The clock that the standard library's `Instant` reads. Linux, include/uapi/linux/time.h.
const CLOCK_MONOTONIC: i32 = 1;
/// This project's clock is calibrated after about 0.1 s; on a loaded machine later.
pub const CLOCK_PATIENCE: Duration = Duration::from_secs(3);

impl Catalogue {
    /// Looks for all ways of the scope; this project's clock is waited for as long as `patience`.
    pub fn find(scope: Scope, rate: TickRate, patience: Duration) -> Self {
        let mut found = Self::default();
        let tick_ns = resolution_ns(rate);
        if scope == Scope::All {
            found.reads.push(Read::of(NOTHING, Way::Nothing));
        }
        found.ticks(tick_ns);
        if scope == Scope::All {
            found.cpu_numbers();
        }
        found.kernel(scope, TimeSource::system_call_denied().as_ref());
        if scope == Scope::All {
            let fine = TimeSource::Clock(CLOCK_MONOTONIC).resolution_ns().map(|ns| ns as f64);
            let library = |name, way| Read { ordered: true, resolution_ns: fine, ..Read::of(name, way) };
            found.reads.push(library("std Instant::now", Way::Instant));
            found.reads.push(library("std SystemTime::now", Way::SystemTime));
            found.own(tick_ns, patience);
        }
        found
    }

    fn ticks(&mut self, resolution_ns: Option<f64>) {
        for read in TickRead::ALL {
            let Some(ticks) = read.available() else {
                if read == TickRead::USUAL {
                    self.failed.push((read.name(), "this CPU lacks the instruction".to_owned()));
                }
                continue;
            };
            let way = Way::Ticks(ticks);
            self.reads.push(Read { ordered: read.is_ordered(), resolution_ns, ..Read::of(read.name(), way) });
        }
    }

    fn cpu_numbers(&mut self) {
        for (method, name, absence) in [
            (StampMethod::Rdpid, "rdpid", "this CPU lacks the instruction"),
            (StampMethod::RestartableSequence, "rseq CPU number", "no rseq area of the C library is found"),
            (StampMethod::SegmentLimit, "lsl CPU number", "the kernel keeps no CPU number in a segment"),
        ] {
            match Stamper::with(method) {
                Some(stamper) => self.reads.push(Read::of(name, Way::CpuNumber(stamper))),
                None => self.failed.push((name, absence.to_owned())),
            }
        }
    }

    /// All of the kernel's are ordered: the vDSO reads the counter behind a fence, a system call is one, and coarse clocks
    /// only load, which x86 keeps in order, and arm64 behind a barrier. Linux, `rdtsc_ordered` and `__arch_get_hw_counter`.
    fn kernel(&mut self, scope: Scope, denied: Option<&String>) {
        let coarse = TimeSource::COARSE.into_iter().filter(|_| scope == Scope::All);
        for (source, name) in TimeSource::ALL.into_iter().chain(coarse) {
            if let Some(reason) = denied.filter(|_| source.is_system_call()) {
                self.failed.push((name, reason.clone()));
            } else if source.read_many(1) {
                let resolution_ns = source.resolution_ns().map(|ns| ns as f64);
                self.reads.push(Read { ordered: true, resolution_ns, ..Read::of(name, Way::Kernel(source)) });
            } else {
                self.failed.push((name, format!("the kernel refuses: {}", std::io::Error::last_os_error())));
            }
        }
    }

    fn own(&mut self, resolution_ns: Option<f64>, patience: Duration) {
        match own_clock(patience) {
            Ok(clock) => {
                let read = |name, way| Read { ordered: true, resolution_ns, ..Read::of(name, way) };
                self.reads.push(read(CLOCK_NOW, Way::Clock(clock.clone())));
                self.reads.push(read("Clock::ordered", Way::Ordered(clock)));
            }
            Err(reason) => self.failed.push((CLOCK_NOW, reason)),
        }
    }

    /// The reads of these names, in this order.
    pub fn chosen(&self, names: &[&str]) -> Vec<Read> {
        let find = |name: &&str| self.reads.iter().find(|read| read.name == *name).cloned();
        names.iter().filter_map(find).collect()
    }
}

/// Whether a read of this name is one of [`Scope::Machine`].
pub(crate) fn is_of_the_machine(name: &str) -> bool {
    if TickRead::ALL.iter().any(|read| read.name() == name) {
        return true;
    }
    TimeSource::ALL.iter().any(|(_, other)| *other == name)
}

/// Steps of the counter.
fn resolution_ns(rate: TickRate) -> Option<f64> {
    let counter = TimeStampCounter::new().ok()?;
    Some(rate.nanoseconds(resolution_ticks(&counter, 0)))
}

fn own_clock(patience: Duration) -> Result<Clock, String> {
    let clock = Clock::new().map_err(|error| error.to_string())?;
    if clock.wait_for_counter(patience) {
        return Ok(clock);
    }
    let reason = clock.no_counter().map(|reason| reason.to_string());
    Err(reason.unwrap_or_else(|| "its counters were not calibrated in time".to_owned()))
}

/// What [`Way::SharedWord`] shares.
static SHARED: AtomicU64 = AtomicU64::new(0);

impl Read {
    fn of(name: &'static str, way: Way) -> Self {
        Self { name, ordered: false, resolution_ns: None, way }
    }

    /// A clock that keeps time in one word for all threads: known to cost more the more of them read it.
    pub fn shared_word() -> Self {
        Self { ordered: true, ..Self::of(SHARED_WORD, Way::SharedWord) }
    }

    /// Reads so many times; allocates nothing.
    pub fn read_many(&self, count: u64) {
        match &self.way {
            Way::Nothing => repeat(count, || 0_u64),
            Way::Ticks(ticks) => _ = black_box(ticks.read_many(count)),
            Way::CpuNumber(stamper) => repeat(count, || stamper.cpu_number()),
            Way::Kernel(source) => {
                black_box(source.read_many(u32::try_from(count).unwrap_or(u32::MAX)));
            }
            Way::Instant => repeat(count, Instant::now),
            Way::SystemTime => repeat(count, SystemTime::now),
            Way::Clock(clock) => repeat(count, || clock.now()),
            Way::Ordered(clock) => repeat(count, || clock.ordered()),
            Way::SharedWord => repeat(count, shared_word),
        }
    }

    /// What it shows now, in nanoseconds or ticks; `None` if it tells no time.
    #[inline]
    pub fn now(&self) -> Option<u64> {
        match &self.way {
            Way::Ticks(ticks) => Some(ticks.read_once()),
            Way::Kernel(source) => source.read_ns(),
            Way::Clock(clock) => Some(clock.now().as_nanos()),
            Way::SharedWord => Some(shared_word()),
            _ => None,
        }
    }

    /// Whether [`Self::now`] counts ticks of the counter.
    pub fn is_in_ticks(&self) -> bool {
        matches!(&self.way, Way::Ticks(_) | Way::SharedWord)
    }
}

#[inline(always)]
fn shared_word() -> u64 {
    let ticks = clock::end();
    SHARED.fetch_max(ticks, Ordering::Relaxed).max(ticks)
}

#[inline(always)]
fn repeat<T>(count: u64, read: impl Fn() -> T) {
    for _ in 0..count {
        black_box(read());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(scope: Scope) -> Catalogue {
        let rate = TickRate::calibrate(2_000_000).expect("a counter that counts");
        Catalogue::find(scope, rate, CLOCK_PATIENCE)
    }

    #[test]
    fn every_way_has_a_name_of_its_own_and_works_or_says_why_not() {
        for scope in [Scope::Machine, Scope::All] {
            let Catalogue { reads, failed } = found(scope);
            let mut names: Vec<&str> = reads.iter().map(|read| read.name).collect();
            names.extend(failed.iter().map(|(name, _)| *name));
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{names:?}");
            assert!(names.contains(&MONOTONIC) && names.contains(&TIME_OF_DAY), "{names:?}");
            for read in &reads {
                read.read_many(3);
            }
            assert!(failed.iter().all(|(_, reason)| !reason.is_empty()));
            let of_the_machine = reads.iter().filter(|read| is_of_the_machine(read.name)).count();
            assert_eq!(of_the_machine == reads.len(), scope == Scope::Machine);
        }
    }

    #[test]
    fn of_all_that_show_the_time_only_the_bare_counter_is_unordered() {
        let reads = found(Scope::All).reads;
        let unordered = reads.iter().filter(|read| read.now().is_some() && !read.ordered);
        let names: Vec<&str> = unordered.map(|read| read.name).collect();
        assert_eq!(names, [TickRead::BARE.name()]);
    }

    #[test]
    fn a_filter_that_kills_for_the_system_call_leaves_the_clocks_that_need_none() {
        let mut catalogue = Catalogue::default();
        catalogue.kernel(Scope::Machine, Some(&"a filter".to_owned()));
        let failed: Vec<&str> = catalogue.failed.iter().map(|(name, _)| *name).collect();
        for name in
            [SYSTEM_CALL, "clock_gettime(CLOCK_THREAD_CPUTIME_ID)", "clock_gettime(CLOCK_PROCESS_CPUTIME_ID)"]
        {
            assert!(failed.contains(&name), "{name} in {failed:?}");
        }
        assert!(catalogue.reads.iter().any(|read| read.name == MONOTONIC));
    }

    #[test]
    fn what_a_machine_lacks_is_not_chosen() {
        let catalogue = found(Scope::Machine);
        let chosen = catalogue.chosen(&[TIME_OF_DAY, "no such clock", MONOTONIC]);
        assert_eq!(chosen.iter().map(|read| read.name).collect::<Vec<_>>(), [TIME_OF_DAY, MONOTONIC]);
    }
}
