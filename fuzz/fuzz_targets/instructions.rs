//! Code around a sample and the registers there: what it touches, in 64 and 32 bits.
#![cfg_attr(fuzzing, no_main)]

use fuzz::fuzz_target;
use host::live::Registers;
use sharing::{CODE_BEFORE_BYTES, Code, Run};

/// Registers are made of so many bytes, and stand in front of the code.
const HEAD_BYTES: usize = 16;

fuzz_target!(|bytes: &[u8]| {
    let Some((head, code)) = bytes.split_first_chunk::<HEAD_BYTES>() else { return };
    let (ip, spread) = head.split_at(8);
    let number = |bytes: &[u8]| bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    let (ip, spread) = (number(ip), number(spread));
    let read = |address: u64, into: &mut [u8]| {
        let part = if address == ip { code.get(CODE_BEFORE_BYTES..)? } else { code };
        let length = part.len().min(into.len());
        into[..length].copy_from_slice(&part[..length]);
        Some(length)
    };
    let Some(around) = Code::read(ip, read) else { return };
    for is_32_bit in [false, true] {
        let registers =
            Registers { general: std::array::from_fn(|at| spread.rotate_left(4 * at as u32)), is_32_bit };
        let Some(run) = Run::around(&around, ip, is_32_bit) else { continue };
        let _ = run.operands(&registers).count();
        let demand = run.demand();
        let sum = demand.integer + demand.floating + demand.front_end + demand.memory;
        assert!((sum - 1.0).abs() < 1e-9, "{demand:?}");
    }
});
