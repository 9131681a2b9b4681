//! A chase walked on to the end of its cycle, where it must be back at its start.

use kernels::{Chain, Cursor, Isa, LOADS_PER_ROUND};

use crate::answers::{Answer, Known};
use crate::sampler::Sampler;

const CHASE: &str = "chase";
/// Longer cycles are not walked to their end. Half of one, as is left in the mean, takes 40 us from memory, 3 % of the windows of a visit.
const NODES_MAX: u64 = 2048;

/// Checks that a cursor which has made so many rounds from the start is back there when the cycle is full. A load that went astray leads
/// to another node, and all further loads with it.
pub(super) fn close(sampler: &mut Sampler, chain: &Chain<'_>, cursor: Cursor<'_>, rounds: u64) {
    let nodes = chain.nodes() as u64;
    if nodes > NODES_MAX {
        return;
    }
    let loads = (rounds * LOADS_PER_ROUND).next_multiple_of(nodes);
    let end = cursor.steps(loads - rounds * LOADS_PER_ROUND);
    let offset = |cursor| chain.offset_of(cursor) as u64;
    let known =
        Known { kernel: CHASE, isa: Isa::ScalarU64.name(), operations: loads, answer: offset(chain.start()) };
    let found = offset(end) ^ sampler.planted_bit(CHASE);
    let operands =
        || format!("{loads} loads in a cycle of {nodes} nodes, {} bytes apart", chain.layout().stride_bytes);
    sampler.count(Answer::of(known, found), operands, || offset(chain.start().steps(nodes)));
}

#[cfg(test)]
mod tests {
    use clock::TickRate;
    use kernels::{Layout, Order, Position};
    use machine::CpuId;
    use record::{Cores, Planted};

    use super::*;
    use crate::control::ControlLoops;
    use crate::fault_injection::WRONG;

    #[repr(align(64))]
    struct Block([u8; 64 * 100]);

    #[test]
    fn a_cycle_is_closed_wherever_the_last_window_ended_and_a_load_astray_is_seen() {
        let rate = TickRate { hz: 1e9, error_ppm: 1.0 };
        let sampler = Sampler::new(CpuId(5), rate, ControlLoops { cycles_per_multiply: None });
        let planted = sampler.clone().planted(vec![Planted { row: format!("{WRONG}{CHASE}"), factor: 1.0 }]);
        let mut block = Block([0; 64 * 100]);
        let chain = Chain::build_while(&mut block.0, Layout::random(64, 3), &|| true).expect("there is time");
        // A step too many is what a load that went to the wrong node leaves.
        for (mut sampler, rounds, astray, wrong) in
            [(sampler.clone(), 0, 0, 0), (sampler.clone(), 7, 0, 0), (sampler, 7, 1, 1), (planted, 50, 0, 1)]
        {
            close(&mut sampler, &chain, chain.start().walk(rounds).steps(astray), rounds);
            let mut cores = Cores::default();
            sampler.answers().hand_to(&mut cores);
            let one = &cores.checked[0];
            assert_eq!((one.kernel.as_str(), one.wrong), (CHASE, wrong), "{rounds} rounds");
            assert_eq!(one.operations, (rounds * LOADS_PER_ROUND).next_multiple_of(100));
            assert!(cores.wrong.iter().all(|wrong| wrong.wrong_repeats == 0), "{:?}", cores.wrong);
        }
    }
}
