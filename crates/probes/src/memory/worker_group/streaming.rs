//! One visit of a bandwidth kernel on one CPU or on several at once.
//!
//! Every member sweeps its own part of the block, in memory that it has touched first. A part larger than a chunk is
//! swept chunk by chunk, round and round, so that a window stays near a millisecond however large the block is.

use std::hint::black_box;
use std::time::Instant;

use host::live::{AffinityError, Mapping, MappingError, Pages, pending_signal};
use kernels::random::SplitMix64;
use kernels::{ARRAY_GRANULE_BYTES, Arrays, Operation, StreamLoop};
use machine::{Bytes, CpuId, NodeId};

use super::{Member, PARTS, WindowReport, lockstep, on_each};
use crate::answers::{Answer, Known, Wrong};
use crate::memory::{MemoryError, mapped};
use crate::sampler::{Sampler, WINDOW_NS};
use crate::series::{ControlPair, PointVisit};
use crate::session::Session;

/// Chunks of a large part: four of them are a window of about a millisecond at 16 GB/s.
const CHUNK_BYTES: usize = 4 << 20;
/// Filled into fresh memory: as a double 4.8e-4. Some CPUs skip writing back zeros that overwrite zeros.
pub(in crate::memory) const FILL_BYTE: u8 = 0x3f;
/// The smallest part of a member: three arrays of the granule of the kernels, and some more.
pub(in crate::memory) const PART_BYTES_MIN: usize = 4096;

/// What a visit measures.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct StreamJob {
    pub(in crate::memory) kernel: StreamLoop,
    /// Bytes of one member's part, all its arrays together.
    pub(in crate::memory) part_bytes: usize,
    /// Where the part starts in each member's mapping, a multiple of 4096.
    pub(in crate::memory) offset_bytes: usize,
    /// Passes per part of a window, where it is known from an earlier visit.
    pub(in crate::memory) passes: Option<u64>,
    /// Windows to take.
    pub(in crate::memory) windows: usize,
    /// Parts up to this size are swept once before the first window.
    pub(in crate::memory) warm_bytes_max: usize,
    /// The chunk to begin with, modulo their number.
    pub(in crate::memory) first_chunk: usize,
}

/// What a visit brought.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::memory) struct StreamVisit {
    /// Bytes per second of all members together, as STREAM counts them: one value per window that counts.
    pub(in crate::memory) rates: Vec<f64>,
    /// Windows with a member pre-empted, or with members apart.
    pub(in crate::memory) dropped: usize,
    /// Those of the dropped ones in which members were apart.
    pub(in crate::memory) apart: usize,
    /// Passes per part of a window.
    pub(in crate::memory) passes: u64,
    /// Control loops of every member.
    pub(in crate::memory) control: Vec<ControlPair>,
}

impl StreamVisit {
    /// As a visit of a point, on the mapping of this number.
    pub(in crate::memory) fn into_point(self, mapping: u32) -> PointVisit {
        PointVisit { mapping, windows: self.rates, dropped: self.dropped, control: self.control }
    }
}

/// Memory of a group: one mapping per member, touched by it.
#[derive(Debug)]
pub(in crate::memory) struct GroupMemory {
    pub(in crate::memory) cpus: Vec<CpuId>,
    pub(in crate::memory) mappings: Vec<Mapping>,
    /// What the kernel gave to each.
    pub(in crate::memory) pages: Vec<Pages>,
}

/// Maps `part_bytes` of huge pages for every member, each touched by the member's own CPU, and bound to its node if there is one: a policy
/// that came with the process (numactl) may put what a CPU touches elsewhere.
///
/// # Errors
/// No memory, a node that may not be used, or a CPU that may not be used.
pub(in crate::memory) fn map_for_group(
    session: &Session<'_>,
    cpus: &[CpuId],
    nodes: Vec<Option<NodeId>>,
    part_bytes: usize,
) -> Result<GroupMemory, MemoryError> {
    let samplers: Vec<_> = cpus.iter().map(|&cpu| session.sampler(cpu)).collect();
    let deadline = session.deadline;
    let goes_on = || pending_signal().is_none() && Instant::now() < deadline;
    let mapped = on_each(samplers, nodes, session.deadline, |_, node| {
        let mut mapping = mapped(Bytes(part_bytes as u64), node, &goes_on)?;
        for slice in mapping.as_mut_slice().chunks_mut(CHUNK_BYTES) {
            if !goes_on() {
                return Err(MappingError::BrokenOff { bytes: Bytes(part_bytes as u64) }.into());
            }
            slice.fill(FILL_BYTE);
        }
        let pages = mapping.pages();
        Ok((mapping, pages))
    })?;
    let mapped: Result<Vec<(Mapping, Pages)>, MemoryError> = mapped.into_iter().collect();
    let (mappings, pages) = mapped?.into_iter().unzip();
    Ok(GroupMemory { cpus: cpus.to_vec(), mappings, pages })
}

/// Chunks that a part is swept in: equal, as few as keep each within `CHUNK_BYTES`.
fn chunk_bytes(part_bytes: usize) -> usize {
    let chunks = part_bytes.div_ceil(CHUNK_BYTES);
    part_bytes / chunks / ARRAY_GRANULE_BYTES * ARRAY_GRANULE_BYTES
}

/// Bytes counted for one pass over the arrays of one chunk.
fn counted_bytes(kernel: &StreamLoop, arrays: &Arrays<'_>) -> u64 {
    arrays.elements() as u64 * u64::from(kernel.kernel().counted_bytes())
}

/// What one member reports.
struct Share {
    windows: Vec<WindowReport>,
    bytes_per_window: u64,
    passes: u64,
    control: ControlPair,
    sampler: Sampler,
}

/// Makes one visit on all CPUs of the memory's group, for the raw series of this name.
///
/// # Errors
/// A CPU that may not be used any more.
pub(in crate::memory) fn stream_visit(
    session: &mut Session<'_>,
    memory: &mut GroupMemory,
    job: &StreamJob,
    series_name: impl Fn() -> String,
) -> Result<StreamVisit, AffinityError> {
    let mut samplers: Vec<_> = memory.cpus.iter().map(|&cpu| session.sampler(cpu)).collect();
    for sampler in &mut samplers {
        sampler.about(&series_name);
    }
    let parts = memory
        .mappings
        .iter_mut()
        .map(|mapping| &mut mapping.as_mut_slice()[job.offset_bytes..job.offset_bytes + job.part_bytes])
        .collect();
    let shares = on_each(samplers, parts, session.deadline, |member, part| work(member, part, job))?;
    let mut reports = Vec::with_capacity(shares.len());
    let mut visit = StreamVisit::default();
    let mut bytes = 0;
    for mut share in shares {
        session.absorb(&mut share.sampler);
        bytes += share.bytes_per_window;
        visit.passes = share.passes;
        visit.control.push(share.control);
        reports.push(share.windows);
    }
    let together = lockstep(&reports);
    visit.rates = together.slowest_ns.iter().map(|ns| bytes as f64 / ns * 1e9).collect();
    visit.apart = together.apart;
    visit.dropped = together.apart + together.preempted;
    Ok(visit)
}

/// What one member does in a visit.
fn work(member: &mut Member<'_>, part: &mut [u8], job: &StreamJob) -> Share {
    let chunk_bytes = chunk_bytes(part.len());
    let operation = job.kernel.kernel().operation;
    let mut chunks: Vec<Arrays<'_>> =
        part.chunks_exact_mut(chunk_bytes).map(|chunk| Arrays::from_block(chunk, operation)).collect();
    if job.part_bytes <= job.warm_bytes_max {
        for arrays in chunks.iter_mut().take_while(|_| !member.sampler.is_cut()) {
            black_box(job.kernel.run(arrays, 1));
        }
    }
    let before = member.sampler.control.read(member.sampler.rate);
    let passes = job.passes.map_or_else(
        || {
            member.agree(|sampler| match chunks.as_mut_slice() {
                [arrays] => sampler.rounds_for(WINDOW_NS / PARTS as f64, |rounds| {
                    black_box(job.kernel.run(arrays, rounds));
                }),
                _ => 1,
            })
        },
        Some,
    );
    let passes = passes.unwrap_or(1);
    let mut next = job.first_chunk % chunks.len();
    let mut swept = Swept { chunk: next, passes: 0, sum: 0 };
    let mut windows = Vec::with_capacity(job.windows);
    for _ in 0..job.windows {
        let report = member.window(|| {
            if chunks.len() == 1 {
                swept = Swept { chunk: 0, passes, sum: black_box(job.kernel.run(&mut chunks[0], passes)) };
            } else {
                for _ in 0..passes {
                    let sum = black_box(job.kernel.run(&mut chunks[next], 1));
                    swept = Swept { chunk: next, passes: 1, sum };
                    next = (next + 1) % chunks.len();
                }
            }
        });
        match report {
            Some(report) => windows.push(report),
            None => break,
        }
    }
    let readings = [before, member.sampler.control.read(member.sampler.rate)];
    check(&mut member.sampler, &job.kernel, &mut chunks[swept.chunk], swept, job.first_chunk);
    Share {
        windows,
        bytes_per_window: counted_bytes(&job.kernel, &chunks[0]) * passes * PARTS,
        passes,
        control: ControlPair { cpu: member.sampler.cpu, readings },
        sampler: member.sampler.clone(),
    }
}

/// Seconds that one visit takes at most on a machine that moves `bytes_per_s` in the part.
pub(in crate::memory) fn worst_case_visit_s(part: Bytes, members: usize, windows: usize) -> f64 {
    /// A member of a busy machine gets no less than this, in bytes per second.
    const SLOWEST_BYTES_PER_S: f64 = 1.0e9;
    let window_bytes = (part.0 as f64).min(CHUNK_BYTES as f64) * PARTS as f64;
    let window_s = (window_bytes / SLOWEST_BYTES_PER_S).max(2.0 * WINDOW_NS * 1e-9);
    windows as f64 * window_s + members as f64 * super::THREAD_START_S
}

/// The last sweeps of a visit: over which chunk, how often, and what they returned.
#[derive(Debug, Clone, Copy)]
struct Swept {
    chunk: usize,
    /// 0 if there was no sweep.
    passes: u64,
    sum: u64,
}

/// Elements that are checked of those swept last: 60 us, 2 % of the windows of a visit within the second level of cache, which are the
/// shortest.
const ELEMENTS_MAX: usize = 1 << 16;

/// The name of checked results.
const fn kernel_name(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "stream_read",
        Operation::Write => "stream_write",
        Operation::Copy => "stream_copy",
        Operation::Scale => "stream_scale",
        Operation::Add => "stream_add",
        Operation::Triad => "stream_triad",
    }
}

/// Checks a part of the chunk swept last, drawn by `turn`; of a read all of it.
fn check(sampler: &mut Sampler, sweep: &StreamLoop, arrays: &mut Arrays<'_>, swept: Swept, turn: usize) {
    let (kernel, elements) = (sweep.kernel(), arrays.elements());
    let name = kernel_name(kernel.operation);
    let known = |operations, answer| Known { kernel: name, isa: kernel.isa.name(), operations, answer };
    let passes = swept.passes;
    if passes == 0 {
        return;
    }
    if kernel.operation == Operation::Read {
        // A sum of doubles depends on its order.
        let Some(answer) = sweep.checksum(arrays, passes) else { return };
        let found = swept.sum ^ sampler.planted_bit(name);
        let answer = Answer::of(known(elements as u64 * passes, answer), found);
        let operands = || format!("{passes} sums of {elements} elements");
        return sampler.count(answer, operands, || sweep.run(arrays, passes));
    }
    let parts = elements.div_ceil(ELEMENTS_MAX) as u64;
    let first = SplitMix64::new(turn as u64).below(parts) as usize * ELEMENTS_MAX;
    let part = first..elements.min(first + ELEMENTS_MAX);
    let results = part.len() as u64;
    arrays.array_mut(0)[first] ^= sampler.planted_bit(name);
    let Some(wrong) = sweep.wrong_elements(arrays, part) else {
        return sampler.count(Answer { known: known(1, 0), results, wrong: None }, String::new, || 0);
    };
    let index = wrong.index;
    let bits: Vec<String> =
        (1..arrays.count()).map(|array| format!("{:#018x}", arrays.array(array)[index])).collect();
    let operands = || format!("{kernel}, element {index} of {elements}, from [{}]", bits.join(", "));
    let found = Some(Wrong { count: wrong.count, found: wrong.found });
    let answer = Answer { known: known(1, wrong.expected), results, wrong: found };
    sampler.count(answer, operands, || {
        sweep.run(arrays, 1);
        arrays.array(0)[index]
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::ControlLoops;
    use crate::fault_injection::WRONG;
    use clock::TickRate;
    use kernels::{Store, StreamKernel};
    use machine::CpuId;
    use record::{Cores, Planted};

    #[test]
    fn chunks_are_equal_granular_and_fill_the_part() {
        for part in [4096, 6 << 10, 4 << 20, 6 << 20, 100 << 20, (64 << 20) / 3] {
            let chunk = chunk_bytes(part);
            let count = part / chunk;
            assert!(chunk <= CHUNK_BYTES && chunk.is_multiple_of(ARRAY_GRANULE_BYTES), "{part}");
            assert!(part - count * chunk < count * ARRAY_GRANULE_BYTES + ARRAY_GRANULE_BYTES, "{part}");
        }
    }

    #[test]
    fn a_visit_of_a_large_block_takes_no_longer_than_its_windows() {
        let one_chunk = worst_case_visit_s(Bytes(4 << 20), 2, 10);
        assert!((worst_case_visit_s(Bytes(1 << 30), 2, 10) - one_chunk).abs() < 1e-12);
        assert!(worst_case_visit_s(Bytes(4096), 2, 10) < one_chunk);
    }

    #[repr(align(64))]
    struct Block([u8; 6144]);

    #[test]
    fn what_every_operation_makes_is_checked_and_a_planted_bit_is_found() {
        let rate = TickRate { hz: 1e9, error_ppm: 1.0 };
        let sampler = Sampler::new(CpuId(5), rate, ControlLoops { cycles_per_multiply: None });
        for operation in Operation::ALL {
            let store = if operation.stores() { Store::Plain } else { Store::None };
            let sweep = StreamKernel::widest(operation, store).expect("every CPU can");
            let name = kernel_name(operation);
            assert_eq!(name.strip_prefix("stream_"), Some(operation.name()));
            let planted = Planted { row: format!("{WRONG}{name}"), factor: 1.0 };
            for (mut sampler, wrong) in [(sampler.clone(), 0), (sampler.clone().planted(vec![planted]), 1)] {
                let mut block = Block([0x3f; 6144]);
                let mut arrays = Arrays::from_block(&mut block.0, operation);
                let elements = arrays.elements() as u64;
                let sum = sweep.run(&mut arrays, 2);
                check(&mut sampler, &sweep, &mut arrays, Swept { chunk: 0, passes: 2, sum }, 7);
                let mut cores = Cores::default();
                sampler.answers().hand_to(&mut cores);
                let one = &cores.checked[0];
                let passes = if operation.stores() { 1 } else { 2 };
                assert_eq!(
                    (one.kernel.as_str(), one.operations, one.wrong),
                    (name, elements * passes, wrong)
                );
                let right_again =
                    |one: &record::WrongResult| (one.wrong_repeats, one.expected ^ one.found) == (0, 1);
                assert!(cores.wrong.iter().all(right_again), "{:?}", cores.wrong);
                assert_eq!(cores.wrong.len() as u64, wrong);
            }
        }
    }
}
