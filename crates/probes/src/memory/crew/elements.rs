//! What a sweep left in the arrays, or read from them, held against the naive twin of its kernel.

use kernels::random::SplitMix64;
use kernels::{Arrays, Operation, StreamLoop};

use crate::answers::{Answer, Known, Wrong};
use crate::sampler::Sampler;

/// The last sweeps of a visit: over which chunk, how often, and what they returned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Swept {
    pub(super) chunk: usize,
    /// 0 if there was no sweep.
    pub(super) passes: u64,
    pub(super) sum: u64,
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
pub(super) fn check(
    sampler: &mut Sampler,
    sweep: &StreamLoop,
    arrays: &mut Arrays<'_>,
    swept: Swept,
    turn: usize,
) {
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
    use clock::TickRate;
    use kernels::{Store, StreamKernel};
    use machine::CpuId;
    use record::{Cores, Planted};

    use super::*;
    use crate::control::ControlLoops;
    use crate::fault_injection::WRONG;

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
                let mut arrays = Arrays::from_block(&mut block.0, operation).expect("aligned");
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
