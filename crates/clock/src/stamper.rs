//! A stamp: the counter and the CPU it was read on, as one.
//!
//! The counter alone means nothing where CPUs disagree. RDTSCP gives both in one instruction, after all earlier loads have
//! their values; Linux keeps `node << 12 | cpu` in TSC_AUX for it. A restartable sequence gives both as well: the kernel takes
//! a thread that it interrupts between the CPU's number and the counter back to the start. Which is faster depends on the
//! CPU, so both are timed. Where neither is there, or a hypervisor keeps the wrong TSC_AUX, the CPU's number is read before
//! and after the counter, and both again if the thread moved between; only a thread that moved there and back within these
//! three instructions goes unseen.

use crate::arch;
use crate::platform::{MaskedSignals, allowed_cpus, pin};
use crate::stamp::{CPU_MASK, Stamp, StampMethod, kernel_cpu};
use crate::stamp::{Counter, Features};

/// Reads stamps; holding one proves that this CPU has the instructions and that this process may read the counter.
#[derive(Debug, Clone, Copy)]
pub struct Stamper {
    method: StampMethod,
    lfence_waits: bool,
    /// Distance from the thread pointer to the kernel's restartable-sequence area.
    sequence_offset: isize,
}

/// Methods that no interruption can deceive.
const EXACT: [StampMethod; 2] = [StampMethod::Rdtscp, StampMethod::RestartableSequence];

/// Comparisons of a method's CPU numbers with the kernel's before it is believed.
const COMPARISONS: u32 = 10_000;

impl Stamper {
    /// The fastest exact method whose CPU numbers are those of the kernel, or the first other one; `None` if none is, or
    /// on other CPUs than x86-64 and arm64.
    ///
    /// The caller has made sure that reads of the counter raise no signal. It takes some milliseconds.
    pub fn new() -> Option<Self> {
        Self::chosen(Features::of_this_machine(), Self::names_cpus_rightly)
    }

    /// The same on a CPU with these features, which has no fewer, for those methods that `is_right` believes.
    pub(crate) fn chosen(features: Features, is_right: impl Fn(&Self) -> bool) -> Option<Self> {
        let right = |method| Self::with_features(method, features).filter(&is_right);
        let exact = EXACT.into_iter().filter_map(right).min_by_key(Self::ticks_of_a_batch);
        exact.or_else(|| [StampMethod::Rdpid, StampMethod::SegmentLimit].into_iter().find_map(right))
    }

    /// The fastest exact method, for readers to whom a wrong CPU number does no harm: a twentieth of a millisecond.
    pub fn fastest() -> Option<Self> {
        EXACT.into_iter().filter_map(Self::with).min_by_key(Self::ticks_of_a_batch)
    }

    /// The least time of some batches.
    fn ticks_of_a_batch(&self) -> u64 {
        /// Enough for one that nothing interrupts.
        const BATCHES: u32 = 20;
        /// Long against the first and last read, short against a time slice.
        const READS: u32 = 100;
        let batch = |_| {
            let start = self.stamp().ticks;
            (0..READS).for_each(|_| {
                std::hint::black_box(self.stamp());
            });
            self.stamp().ticks.wrapping_sub(start)
        };
        (0..BATCHES).map(batch).min().unwrap_or(u64::MAX)
    }

    /// A given method, if this CPU, kernel and C library have it. It is not compared with the kernel.
    pub fn with(method: StampMethod) -> Option<Self> {
        Self::with_features(method, Features::of_this_machine())
    }

    fn with_features(method: StampMethod, features: Features) -> Option<Self> {
        let (is_there, sequence_offset) = match method {
            _ if Counter::of_this_machine() == Counter::MonotonicRaw => (false, 0),
            StampMethod::Rdtscp => (features.has_rdtscp, 0),
            StampMethod::Rdpid => (features.has_rdpid, 0),
            StampMethod::SegmentLimit => (arch::segment_limit().is_some(), 0),
            StampMethod::RestartableSequence => {
                let offset = sequence_offset();
                (offset.is_some() && features.lfence_waits, offset.unwrap_or(0))
            }
        };
        is_there.then_some(Self { method, lfence_waits: features.lfence_waits, sequence_offset })
    }

    /// The method in use.
    pub fn method(&self) -> StampMethod {
        self.method
    }

    /// Whether the CPU numbers are those that the kernel gives, over so many comparisons in which the thread stayed.
    pub fn agrees_with_kernel(&self, comparisons: u32) -> bool {
        agrees(comparisons, kernel_cpu, || self.stamp().cpu)
    }

    /// The same here and, where this process may use another CPU, there: a number that is the same on all CPUs is right on one.
    fn names_cpus_rightly(&self) -> bool {
        self.agrees_with_kernel(COMPARISONS) && self.agrees_elsewhere().unwrap_or(true)
    }

    /// Whether a thread on another CPU finds the number right; `None` if there is no other, or none may be used.
    fn agrees_elsewhere(&self) -> Option<bool> {
        /// A number that is the same everywhere is wrong at once.
        const COMPARISONS_ELSEWHERE: u32 = 100;
        let here = kernel_cpu()?;
        let elsewhere = allowed_cpus().into_iter().find(|&cpu| cpu != here)?;
        let look = || pin(elsewhere).then(|| self.agrees_with_kernel(COMPARISONS_ELSEWHERE));
        let _masked = MaskedSignals::all();
        std::thread::scope(|scope| {
            let looking = std::thread::Builder::new().spawn_scoped(scope, look);
            looking.ok()?.join().ok().flatten()
        })
    }

    /// Ticks and CPU, after all earlier loads of this thread.
    #[inline(always)]
    pub fn stamp(&self) -> Stamp {
        self.with_stamp(|stamp| stamp)
    }

    /// What `use_of` makes of a stamp. It is compiled once for each method: where the methods met again, the two halves in
    /// which the counter comes would have to be put together first.
    #[inline(always)]
    pub fn with_stamp<R>(&self, use_of: impl Fn(Stamp) -> R) -> R {
        if self.method == StampMethod::RestartableSequence {
            let stamp = arch::restartable(self.sequence_offset);
            // A thread that the C library did not start has no number there.
            if stamp.cpu <= CPU_MASK {
                return use_of(stamp);
            }
        } else if self.method == StampMethod::Rdtscp {
            return use_of(arch::at_once());
        }
        self.use_bracketed(use_of)
    }

    #[cold]
    #[inline(never)]
    fn use_bracketed<R>(&self, use_of: impl Fn(Stamp) -> R) -> R {
        use_of(self.bracketed())
    }

    /// The CPU, the counter, the CPU: again until the thread did not move.
    fn bracketed(&self) -> Stamp {
        loop {
            let before = arch::cpu_by(self.method);
            let ticks = arch::ordered_ticks(self.lfence_waits);
            // The second number must not be read before the counter.
            arch::hold_back_later();
            if before == arch::cpu_by(self.method) {
                return Stamp { ticks, cpu: before & CPU_MASK };
            }
        }
    }

    /// The CPU the thread is on, without its counter, but for RDTSCP, which knows no other way.
    #[inline(always)]
    pub fn cpu_number(&self) -> u32 {
        let number = match self.method {
            StampMethod::Rdtscp => return self.stamp().cpu,
            StampMethod::RestartableSequence => arch::registered_cpu(self.sequence_offset),
            StampMethod::Rdpid | StampMethod::SegmentLimit => arch::cpu_by(self.method),
        };
        number & CPU_MASK
    }
}

/// Whether two ways to name the CPU agree, over so many comparisons in which the thread stayed, as far as the first knows.
fn agrees(comparisons: u32, kernel: impl Fn() -> Option<u32>, named: impl Fn() -> u32) -> bool {
    (0..comparisons).all(|_| {
        let before = kernel();
        let named = named();
        before != kernel() || before.is_none_or(|cpu| cpu == named)
    })
}

/// Where the C library has registered the area of restartable sequences, relative to the thread pointer.
fn sequence_offset() -> Option<isize> {
    // SAFETY: the name is a C string; a symbol that is not there gives null.
    let offset = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()) };
    // SAFETY: as above.
    let size = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()) };
    if offset.is_null() || size.is_null() {
        return None;
    }
    // SAFETY: glibc documents `__rseq_size` as an unsigned int, set before main; 0 where nothing is registered.
    let size = unsafe { size.cast::<libc::c_uint>().read() };
    // SAFETY: glibc documents `__rseq_offset` as a ptrdiff_t, set before main.
    let offset = unsafe { offset.cast::<isize>().read() };
    (size != 0).then_some(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_that_is_here_names_the_cpu_as_the_kernel_does() {
        for method in [
            StampMethod::Rdtscp,
            StampMethod::RestartableSequence,
            StampMethod::Rdpid,
            StampMethod::SegmentLimit,
        ] {
            let Some(stamper) = Stamper::with(method) else {
                println!("skipped: {method:?} is not here");
                continue;
            };
            // A hypervisor may keep a wrong TSC_AUX: then the two methods that read it are wrong alike.
            if !stamper.agrees_with_kernel(1_000) {
                assert!(matches!(method, StampMethod::Rdtscp | StampMethod::Rdpid), "{method:?}");
            }
            // The thread may be moved between the two, but not each time.
            let agrees = |_| stamper.cpu_number() == stamper.stamp().cpu;
            assert!((0..1_000).any(agrees), "{method:?}");
        }
    }

    #[test]
    fn a_restartable_sequence_is_not_used_where_lfence_may_not_wait() {
        let features = Features { lfence_waits: false, ..Features::of_this_machine() };
        assert!(Stamper::with_features(StampMethod::RestartableSequence, features).is_none());
        let chosen = Stamper::chosen(features, |_| true);
        assert!(chosen.is_none_or(|stamper| stamper.method() != StampMethod::RestartableSequence));
    }

    #[test]
    fn the_chosen_method_agrees_with_the_kernel() {
        let Some(stamper) = Stamper::new() else {
            println!("skipped: no way to read counter and CPU as one");
            return;
        };
        assert!(stamper.agrees_with_kernel(1_000), "{:?}", stamper.method());
    }

    #[test]
    fn a_number_that_is_wrong_somewhere_is_not_believed() {
        use std::cell::Cell;
        let turn = Cell::new(0_u32);
        // The thread is on CPU 0, then on CPU 1 for good.
        let kernel = || {
            turn.set(turn.get() + 1);
            Some(u32::from(turn.get() > 1_000))
        };
        let is_believed = |named: &dyn Fn() -> u32| {
            turn.set(0);
            agrees(2_000, kernel, named)
        };
        assert!(is_believed(&|| u32::from(turn.get() > 1_000)));
        for wrong in [0, 1, 7] {
            assert!(!is_believed(&|| wrong), "{wrong}");
        }
        assert!(agrees(100, || None, || 7), "a kernel that says nothing contradicts nothing");
    }

    #[test]
    fn without_rdtscp_or_with_a_wrong_number_beside_it_another_way_is_taken() {
        let Some(StampMethod::Rdtscp | StampMethod::RestartableSequence) =
            Stamper::new().map(|chosen| chosen.method())
        else {
            println!("skipped: no exact way to read counter and CPU as one");
            return;
        };
        let features = Features::of_this_machine();
        let reads_aux =
            |stamper: &Stamper| matches!(stamper.method, StampMethod::Rdtscp | StampMethod::Rdpid);
        // RDTSCP and RDPID give what a hypervisor keeps in TSC_AUX.
        let wrong_aux = Stamper::chosen(features, |stamper| !reads_aux(stamper));
        let without = Features { has_rdtscp: false, has_rdpid: false, ..features };
        for stamper in
            [wrong_aux, Stamper::chosen(without, Stamper::names_cpus_rightly)].into_iter().flatten()
        {
            assert!(!reads_aux(&stamper), "{:?}", stamper.method());
            assert!(stamper.agrees_with_kernel(1_000), "{:?}", stamper.method());
        }
        // An old C library registers no restartable sequences: what every CPU can is left.
        let only_limit =
            |stamper: &Stamper| stamper.method == StampMethod::SegmentLimit && stamper.names_cpus_rightly();
        let limit = Stamper::chosen(without, only_limit);
        assert_eq!(limit.is_some(), arch::segment_limit().is_some());
        assert!(Stamper::chosen(features, |_| false).is_none());
    }
}
