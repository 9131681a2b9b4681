//! Threads that load memory while a switch is on, and count what they move.

use std::hint::{self, black_box};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::live::{MappingError, Pinned, pending_signal, start_on};
use kernels::{Arrays, StreamLoop};
use machine::{Bytes, CpuId, NodeId};

use crate::memory::MemoryError;
use crate::memory::mapped;
use crate::memory::worker_group::FILL_BYTE;
use crate::rendezvous::{Alone, RaiseOnDrop};

/// A loader sweeps this much between two looks at the switch: about 20 us.
const CHUNK_BYTES: usize = 256 << 10;
/// Loaders that have not moved after this time do not get a turn on their CPUs.
const PATIENCE: Duration = Duration::from_millis(50);

/// What each loader does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) kernel: StreamLoop,
    /// Its own memory.
    pub(super) part_bytes: usize,
    /// From this node, else from wherever it comes.
    pub(super) node: Option<NodeId>,
    /// When laying its memory is broken off.
    pub(super) until: Instant,
}

/// The loaders, seen by the one who measures.
pub(super) struct Loaders {
    /// How many of them, counted from the first, are to work.
    active: AtomicUsize,
    ready: AtomicUsize,
    ended: AtomicBool,
    moved: Vec<Alone<AtomicU64>>,
}

impl Loaders {
    fn new(count: usize) -> Self {
        Self {
            active: AtomicUsize::new(0),
            ready: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
            moved: (0..count).map(|_| Alone::default()).collect(),
        }
    }

    /// Bytes that each loader has moved so far.
    pub(super) fn bytes(&self) -> Vec<u64> {
        self.moved.iter().map(|beat| beat.0.load(Ordering::Relaxed)).collect()
    }

    /// Bytes that each loader has moved since.
    pub(super) fn moved_since(&self, before: &[u64]) -> Vec<u64> {
        self.bytes().iter().zip(before).map(|(now, then)| now - then).collect()
    }

    /// Lets the first `active` loaders work and the others rest; true once all that work have been seen to move.
    pub(super) fn switch_to(&self, active: usize) -> bool {
        self.active.store(active, Ordering::Relaxed);
        let (before, asked) = (self.bytes(), Instant::now());
        while asked.elapsed() < PATIENCE {
            if self.moved_since(&before).iter().take(active).all(|&bytes| bytes > 0) {
                return true;
            }
            hint::spin_loop();
        }
        false
    }

    fn work(&self, index: usize, cpu: CpuId, work: Work) -> Result<(), MemoryError> {
        let kernel = work.kernel;
        let part = (|| {
            let pinned = Pinned::to(cpu)?;
            let part = Bytes(work.part_bytes.max(CHUNK_BYTES) as u64);
            let goes_on = || pending_signal().is_none() && Instant::now() < work.until;
            let mut mapping = mapped(part, work.node, &goes_on)?;
            for slice in mapping.as_mut_slice().chunks_mut(CHUNK_BYTES) {
                let broken_off = MappingError::BrokenOff { bytes: part };
                goes_on().then(|| slice.fill(FILL_BYTE)).ok_or(broken_off)?;
            }
            Ok::<_, MemoryError>((pinned, mapping))
        })();
        // Ready or not: the one who measures waits for all, and sees later that this one never moves.
        self.ready.fetch_add(1, Ordering::Release);
        let (_pinned, mut mapping) = part?;
        let mut chunks: Vec<Arrays<'_>> = mapping
            .as_mut_slice()
            .chunks_exact_mut(CHUNK_BYTES)
            .map(|chunk| Arrays::from_block(chunk, kernel.kernel().operation))
            .collect();
        let counted = u64::from(kernel.kernel().counted_bytes());
        // A loader goes on where it was stopped: the start of its memory may still be in the caches.
        let mut next = 0;
        while !self.ended.load(Ordering::Relaxed) {
            if self.active.load(Ordering::Relaxed) <= index {
                hint::spin_loop();
                continue;
            }
            black_box(kernel.run(&mut chunks[next], 1));
            self.moved[index].0.fetch_add(chunks[next].elements() as u64 * counted, Ordering::Relaxed);
            next = (next + 1) % chunks.len();
        }
        Ok(())
    }
}

/// Starts a loader on each of the CPUs, with memory of its own that it touches first, and lets `measure` command them.
///
/// # Errors
/// If a loader gets no memory or may not use its CPU: `measure` is run nevertheless, and sees it stand still. If the thread of one
/// is not started, nothing is measured.
pub(super) fn with_loaders(
    cpus: &[CpuId],
    work: Work,
    measure: impl FnOnce(&Loaders),
) -> Result<(), MemoryError> {
    let loaders = &Loaders::new(cpus.len());
    thread::scope(|scope| {
        // However the measurement ends.
        let end = RaiseOnDrop(&loaders.ended);
        let threads: Vec<_> = cpus
            .iter()
            .enumerate()
            .map(|(index, &cpu)| start_on(scope, cpu, move || loaders.work(index, cpu, work)))
            .collect::<Result<_, _>>()?;
        while loaders.ready.load(Ordering::Acquire) < cpus.len() {
            thread::yield_now();
        }
        measure(loaders);
        drop(end);
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaders_of_which_one_is_not_started_end_without_a_measurement() {
        let cpu = host::live::allowed_cpus().first().expect("a CPU");
        let kernel = kernels::StreamKernel::widest(kernels::Operation::Read, kernels::Store::None)
            .expect("each CPU has one");
        let work = Work { kernel, part_bytes: CHUNK_BYTES, node: None, until: Instant::now() };
        let ended = host::live::with_threads_left(1, || {
            with_loaders(&[cpu, cpu], work, |_| panic!("one is missing"))
        });
        assert!(ended.is_err_and(|error| error.to_string().starts_with("cannot start a thread")));
    }

    #[test]
    fn loaders_that_never_move_are_not_taken_for_working() {
        let loaders = Loaders::new(1);
        assert!(loaders.switch_to(0), "nobody has to move");
        assert!(!loaders.switch_to(1));
        loaders.moved[0].0.store(7, Ordering::Relaxed);
        assert_eq!(loaders.moved_since(&[5]), [2]);
    }
}
