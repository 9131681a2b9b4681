//! Pinning the calling thread to one CPU, and undoing it.

use std::io;
use std::thread::{Scope, ScopedJoinHandle};

use machine::{CpuId, CpuSet};

use super::threads::{ThreadError, start_thread};
use crate::answer::done;

/// Why a thread is not on its CPU.
#[derive(Debug, thiserror::Error)]
pub enum AffinityError {
    /// The kernel refused: offline, outside the cgroup or cpuset, or no such CPU.
    #[error("cannot run on CPU {cpu}: {source}; choose among CPUs {allowed}")]
    Refused {
        /// The CPU asked for.
        cpu: CpuId,
        /// The CPUs this process may use.
        allowed: CpuSet,
        /// What the kernel said.
        source: io::Error,
    },
    /// The thread that was to be there was not started.
    #[error(transparent)]
    NoThread(#[from] ThreadError),
}

/// Bits of a word of a mask of CPUs.
const WORD_BITS: u32 = usize::BITS;
/// A mask of all CPUs that a [`CpuSet`] can hold: the 1024 of a `cpu_set_t` are too few for some machines.
type Mask = [usize; (machine::CPU_NUMBER_LIMIT / WORD_BITS) as usize];

/// The CPUs the calling thread may run on now.
pub fn allowed_cpus() -> CpuSet {
    let mut mask: Mask = [0; _];
    // SAFETY: pid 0 is the calling thread, the mask is valid for the size given. A refusal leaves the empty set.
    unsafe { libc::sched_getaffinity(0, size_of::<Mask>(), mask.as_mut_ptr().cast()) };
    let of_word = |(index, word): (usize, usize)| {
        (0..WORD_BITS)
            .filter(move |bit| word >> bit & 1 == 1)
            .map(move |bit| CpuId(index as u32 * WORD_BITS + bit))
    };
    mask.into_iter().enumerate().filter(|(_, word)| *word != 0).flat_map(of_word).collect()
}

/// The CPU the calling thread runs on at this moment.
pub fn current_cpu() -> Option<CpuId> {
    // SAFETY: no arguments, no memory.
    let cpu = unsafe { libc::sched_getcpu() };
    u32::try_from(cpu).ok().map(CpuId)
}

/// Starts a thread that will pin itself to a CPU and ends within the scope.
///
/// # Errors
/// The kernel has no room for one more.
pub fn start_on<'scope, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    cpu: CpuId,
    work: impl FnOnce() -> R + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, R>, AffinityError> {
    Ok(start_thread(scope, format_args!("a thread for CPU {cpu}"), work)?)
}

/// The calling thread stays on one CPU until this is dropped; then it may run where it could before.
#[derive(Debug)]
pub struct Pinned {
    before: CpuSet,
    cpu: CpuId,
    // Affinity belongs to a thread: dropping it elsewhere would restore the wrong one.
    _not_send: std::marker::PhantomData<*const ()>,
}

/// Binds the calling thread to CPUs; allocates nothing.
pub(super) fn set_affinity(cpus: &CpuSet) -> io::Result<()> {
    set_task_affinity(0, cpus)
}

/// Binds any thread of the machine to CPUs; 0 is the calling thread. Allocates nothing.
///
/// # Errors
/// What the kernel said: no such thread, not allowed, or none of the CPUs is one it may use.
pub fn set_task_affinity(thread: u32, cpus: &CpuSet) -> io::Result<()> {
    let mut mask: Mask = [0; _];
    for cpu in cpus.iter() {
        *mask.get_mut((cpu.0 / WORD_BITS) as usize).ok_or(io::ErrorKind::InvalidInput)? |=
            1 << (cpu.0 % WORD_BITS);
    }
    let thread = libc::pid_t::try_from(thread).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the kernel reads as many bytes as the mask has, and writes none.
    done(unsafe { libc::sched_setaffinity(thread, size_of::<Mask>(), mask.as_ptr().cast()) })
}

impl Pinned {
    /// Pins the calling thread.
    ///
    /// # Errors
    /// `Refused` if the kernel does not let this thread run there.
    pub fn to(cpu: CpuId) -> Result<Self, AffinityError> {
        let before = allowed_cpus();
        set_affinity(&[cpu].into_iter().collect()).map_err(|source| AffinityError::Refused {
            cpu,
            allowed: before.clone(),
            source,
        })?;
        Ok(Self { before, cpu, _not_send: std::marker::PhantomData })
    }

    /// Where the thread is held.
    pub fn cpu(&self) -> CpuId {
        self.cpu
    }

    /// Whether the thread is still held: a CPU that goes offline lets it go, and does not take it back when it returns.
    pub fn holds(&self) -> bool {
        allowed_cpus() == [self.cpu].into_iter().collect()
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // A CPU that went offline meanwhile makes this fail; the thread then stays where the kernel moved it.
        let _ = set_affinity(&self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_runs_there_and_is_free_again_afterwards() {
        let before = allowed_cpus();
        let cpu = before.first().expect("at least one CPU");
        {
            let pinned = Pinned::to(cpu).expect("an allowed CPU");
            assert_eq!(current_cpu(), Some(pinned.cpu()));
            assert_eq!(allowed_cpus().len(), 1);
            assert!(pinned.holds());
            set_affinity(&before).expect("what was allowed is allowed");
            assert_eq!(pinned.holds(), before.len() == 1);
        }
        assert_eq!(allowed_cpus(), before);
    }

    #[test]
    fn another_thread_is_bound_by_its_number_and_a_missing_one_is_an_error() {
        let before = allowed_cpus();
        let one: CpuSet = before.first().into_iter().collect();
        set_task_affinity(0, &one).expect("an allowed CPU");
        assert_eq!(allowed_cpus(), one);
        set_task_affinity(0, &before).expect("allowed before");
        assert_eq!(allowed_cpus(), before);
        assert!(set_task_affinity(u32::MAX, &one).is_err());
        assert!(set_task_affinity(0, &CpuSet::new()).is_err(), "no CPU at all");
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused_with_the_ones_that_do() {
        let error = Pinned::to(CpuId(1023)).expect_err("no machine of ours has 1024 CPUs");
        assert!(error.to_string().contains("choose among CPUs"));
    }
}
