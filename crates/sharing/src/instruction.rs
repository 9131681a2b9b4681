//! The instructions at a sample: which memory they touch, and which units the first needs.

use host::live::Registers;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfo, InstructionInfoFactory, OpAccess,
    Register, UsedMemory,
};
use record::UnitDemand;

/// A thread's own stack is within this distance of its stack pointer, for all that is worth telling: what lies there is its
/// frames. The most that one sample costs by that is a stack buffer that another thread fills.
const STACK_BYTES: u64 = 64 << 10;

/// Instructions are followed so far: a straight run between branches is seldom longer.
const RUN_MAX: usize = 16;

/// Code that is looked at before a sample: some 8 instructions of 4 bytes, and as much again to find where they begin.
pub const CODE_BEFORE_BYTES: usize = 64;
/// Code that is looked at from a sample on: some 16 instructions of 4 bytes. One alone has at most 15; Intel SDM vol. 2, section 2.3.11.
const CODE_BYTES: usize = 64;

/// The code around a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    bytes: [u8; CODE_BEFORE_BYTES + CODE_BYTES],
    /// The bytes that could be read; the instruction that comes next begins at `CODE_BEFORE_BYTES`.
    readable: [usize; 2],
}

impl Code {
    /// By a reader of an address into a buffer, which says how many bytes were there; `None` if there is not one at the sample.
    pub fn read(ip: u64, mut reader: impl FnMut(u64, &mut [u8]) -> Option<usize>) -> Option<Self> {
        let mut bytes = [0; CODE_BEFORE_BYTES + CODE_BYTES];
        let (before, after) = bytes.split_at_mut(CODE_BEFORE_BYTES);
        let length = reader(ip, after).filter(|length| *length > 0)?;
        let whole = ip.checked_sub(CODE_BEFORE_BYTES as u64).and_then(|start| reader(start, before));
        let first = if whole == Some(CODE_BEFORE_BYTES) { 0 } else { CODE_BEFORE_BYTES };
        Some(Self { bytes, readable: [first, CODE_BEFORE_BYTES + length.min(CODE_BYTES)] })
    }

    /// From the sample on.
    pub fn after(&self) -> &[u8] {
        &self.bytes[CODE_BEFORE_BYTES..self.readable[1]]
    }

    /// Up to the sample; empty if that could not be read.
    pub fn before(&self) -> &[u8] {
        &self.bytes[self.readable[0]..CODE_BEFORE_BYTES]
    }
}

/// The instruction that comes next, the one before, and those that are certain to follow: up to the first branch.
///
/// An interrupt waits for the current instruction: a sample by a clock names the one behind that which took the time.
/// So the one before is what the thread waited for, if it came straight on. A store is hardly ever waited for, but what is
/// about to be executed is known from the code. Addresses are known as long as no instruction between has changed their
/// registers.
#[derive(Debug, Clone)]
pub struct Run {
    memory: Vec<Reference>,
    units: Units,
    /// The instruction that was waited for touches memory other than the stack.
    waited_touches: bool,
}

/// An operand in memory whose address the registers of now give.
#[derive(Debug, Clone, Copy)]
struct Reference {
    used: UsedMemory,
    /// Of an operand whose own length is not told, as with `rep`.
    element_bytes: usize,
    /// Through the stack pointer, which may have changed since: where exactly does not matter.
    is_stack: bool,
}

/// Which units an instruction needs besides memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Units {
    Integer,
    Floating,
    FrontEnd,
}

/// One access to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Its first byte.
    pub address: u64,
    /// How many bytes.
    pub bytes: u32,
    /// It reads.
    pub reads: bool,
    /// It writes.
    pub writes: bool,
}

/// What an operand of memory is to a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// Memory that other threads could touch.
    Access(Access),
    /// The thread's own stack.
    Stack,
    /// Through FS or GS: the thread's own variables.
    ThreadLocal,
    /// A gather or scatter: its addresses are in vector registers, which are not sampled.
    VectorIndex,
}

impl Run {
    /// Decodes the code around a sample at `ip`; `None` if there is no instruction at it.
    pub fn around(code: &Code, ip: u64, is_32_bit: bool) -> Option<Self> {
        let mut run = Self::decode(code.after(), ip, is_32_bit)?;
        if let Some(behind) = behind(code.before(), ip, is_32_bit) {
            run.units = behind.units;
            run.waited_touches = behind.waited_touches;
            run.memory.extend(behind.memory);
        }
        Some(run)
    }

    /// Decodes `code`, which stands at `ip`, as far as it is certain to be executed; `None` if its first bytes are no
    /// instruction.
    pub fn decode(code: &[u8], ip: u64, is_32_bit: bool) -> Option<Self> {
        let mut decoder = Decoder::with_ip(if is_32_bit { 32 } else { 64 }, code, ip, DecoderOptions::NONE);
        let mut factory = InstructionInfoFactory::new();
        let mut run: Option<Self> = None;
        let mut changed: Vec<Register> = Vec::new();
        for _ in 0..RUN_MAX {
            let Some(instruction) = decoder.can_decode().then(|| decoder.decode()) else { break };
            if instruction.is_invalid() {
                break;
            }
            let info = factory.info(&instruction);
            let references = references(info, instruction.memory_size().size(), &changed);
            if let Some(run) = &mut run {
                run.memory.extend(references);
            } else {
                let memory: Vec<Reference> = references.collect();
                let waited_touches = memory.iter().any(|reference| !reference.is_stack);
                run = Some(Self { memory, units: units(&instruction, info), waited_touches });
            }
            if instruction.flow_control() != FlowControl::Next {
                break;
            }
            changed.extend(written(info));
        }
        run
    }

    /// What it touches with these registers, the first instruction's operands first.
    pub fn operands(&self, registers: &Registers) -> impl Iterator<Item = Operand> {
        self.memory.iter().map(|reference| operand(reference, registers))
    }

    /// Which units the instruction needs that was waited for: one, or memory and another by halves.
    pub fn demand(&self) -> UnitDemand {
        let mut demand = UnitDemand::default();
        let share = match (self.waited_touches, self.units) {
            // A plain load or store asks nothing of the integer units that a shared one would feel.
            (true, Units::Integer) => 0.0,
            (true, _) => 0.5,
            (false, _) => 1.0,
        };
        demand.memory = 1.0 - share;
        match self.units {
            Units::Integer => demand.integer = share,
            Units::Floating => demand.floating = share,
            Units::FrontEnd => demand.front_end = share,
        }
        demand
    }
}

/// What the instruction that ends where `code` ends has touched, but for operands whose registers it has changed itself.
///
/// Instructions of x86 cannot be read backwards. But reading forwards from nearly any byte soon falls into step with the true
/// ones: so it is tried from each byte, and the last instruction before the end that most readings agree on is taken.
fn behind(code: &[u8], ip: u64, is_32_bit: bool) -> Option<Run> {
    let bits = if is_32_bit { 32 } else { 64 };
    let mut votes = vec![0_usize; code.len()];
    // A reading that begins later has not had the time to fall into step.
    let starts = code.len() / 2;
    for start in 0..starts {
        let mut decoder = Decoder::new(bits, &code[start..], DecoderOptions::NONE);
        while decoder.can_decode() {
            let last = start + decoder.position();
            if decoder.decode().is_invalid() {
                break;
            }
            if start + decoder.position() == code.len() {
                votes[last] += 1;
            }
        }
    }
    let (first, agree) = votes.iter().enumerate().max_by_key(|vote| *vote.1)?;
    if agree * 2 <= starts {
        return None;
    }
    let address = ip.wrapping_sub((code.len() - first) as u64);
    let mut decoder = Decoder::with_ip(bits, &code[first..], address, DecoderOptions::NONE);
    let instruction = decoder.decode();
    if instruction.flow_control() != FlowControl::Next {
        return None;
    }
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(&instruction);
    let touches = |used: &&UsedMemory| {
        !matches!(used.access(), OpAccess::NoMemAccess | OpAccess::None) && !is_stack(used)
    };
    let waited_touches = info.used_memory().iter().any(|used| touches(&used));
    let changed: Vec<Register> = written(info).collect();
    let memory = references(info, instruction.memory_size().size(), &changed).collect();
    Some(Run { memory, units: units(&instruction, info), waited_touches })
}

/// Through the stack pointer.
fn is_stack(used: &UsedMemory) -> bool {
    used.base().full_register() == Register::RSP && used.index() == Register::None
}

/// The registers that an instruction changes, whole.
fn written(info: &InstructionInfo) -> impl Iterator<Item = Register> {
    let written = info.used_registers().iter().filter(|used| changes(used.access()));
    written.map(|used| used.register().full_register())
}

fn units(instruction: &Instruction, info: &InstructionInfo) -> Units {
    let is_floating = |register: Register| {
        register.is_vector_register() || register.is_mm() || register.is_st() || register.is_k()
    };
    let floating = info.used_registers().iter().any(|used| is_floating(used.register()))
        || instruction.fpu_stack_increment_info().writes_top();
    match instruction.flow_control() {
        FlowControl::Next if floating => Units::Floating,
        FlowControl::Next => Units::Integer,
        _ => Units::FrontEnd,
    }
}

fn changes(access: OpAccess) -> bool {
    !matches!(access, OpAccess::None | OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess)
}

/// The operands in memory of one instruction, but for those whose registers have changed.
fn references(
    info: &InstructionInfo,
    element_bytes: usize,
    changed: &[Register],
) -> impl Iterator<Item = Reference> {
    info.used_memory().iter().filter_map(move |used| {
        if matches!(used.access(), OpAccess::NoMemAccess | OpAccess::None) {
            return None;
        }
        let is_stack = is_stack(used);
        let has_changed = |register: Register| changed.contains(&register.full_register());
        let is_known = is_stack || !has_changed(used.base()) && !has_changed(used.index());
        is_known.then_some(Reference { used: *used, element_bytes, is_stack })
    })
}

fn operand(reference: &Reference, registers: &Registers) -> Operand {
    let used = &reference.used;
    if reference.is_stack {
        return Operand::Stack;
    }
    if matches!(used.segment(), Register::FS | Register::GS) {
        return Operand::ThreadLocal;
    }
    let value = |register: Register, _element: usize, _bytes: usize| value_of(register, registers);
    let Some(address) = used.virtual_address(0, value) else { return Operand::VectorIndex };
    let address = if registers.is_32_bit { address & u64::from(u32::MAX) } else { address };
    if address.abs_diff(registers.stack_pointer()) < STACK_BYTES {
        return Operand::Stack;
    }
    let (reads, writes) = match used.access() {
        OpAccess::Write | OpAccess::CondWrite => (false, true),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
        _ => (true, false),
    };
    let bytes = match used.memory_size().size() {
        0 => reference.element_bytes,
        bytes => bytes,
    };
    Operand::Access(Access { address, bytes: u32::try_from(bytes).unwrap_or(u32::MAX), reads, writes })
}

/// `None` for what is not sampled.
fn value_of(register: Register, registers: &Registers) -> Option<u64> {
    /// AH, CH, DH and BH are the second bytes of the first four.
    const HIGH_BYTES: [Register; 4] = [Register::AH, Register::CH, Register::DH, Register::BH];
    if matches!(register, Register::CS | Register::DS | Register::ES | Register::SS) {
        // Flat in every program that Linux runs, but for segments made by modify_ldt(2).
        return Some(0);
    }
    if !register.is_gpr() {
        return None;
    }
    let whole = registers.general.get(register.full_register().number())?;
    let value = if HIGH_BYTES.contains(&register) { whole >> 8 } else { *whole };
    Some(match register.size() {
        1 => value & 0xff,
        2 => value & 0xffff,
        4 => value & u64::from(u32::MAX),
        _ => value,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    fn registers() -> Registers {
        let mut general = [0; 16];
        for (number, value) in general.iter_mut().enumerate() {
            *value = 0x10_0000 * (number as u64 + 1);
        }
        general[4] = 0x7fff_0000_0000;
        Registers { general, is_32_bit: false }
    }

    fn operands(code: &[u8], registers: &Registers) -> Vec<Operand> {
        let decoded = Run::decode(code, 0x40_0000, registers.is_32_bit).expect("an instruction");
        decoded.operands(registers).collect()
    }

    fn read(address: u64, bytes: u32) -> Operand {
        Operand::Access(Access { address, bytes, reads: true, writes: false })
    }

    fn write(address: u64, bytes: u32) -> Operand {
        Operand::Access(Access { address, bytes, reads: false, writes: true })
    }

    /// Encodings by GNU as.
    #[test]
    fn every_way_of_addressing_names_what_it_touches() {
        let both = |address, bytes| Operand::Access(Access { address, bytes, reads: true, writes: true });
        let cases: &[(&str, &[u8], &[Operand])] = &[
            ("mov rax, [rbx]", &[0x48, 0x8b, 0x03], &[read(0x40_0000, 8)]),
            ("mov [rax+rcx*8+16], edx", &[0x89, 0x54, 0xc8, 0x10], &[write(0x110_0010, 4)]),
            ("lock add qword [r15], 1", &[0xf0, 0x49, 0x83, 0x07, 0x01], &[both(0x100_0000, 8)]),
            ("mov eax, [rip+0x100]", &[0x8b, 0x05, 0, 1, 0, 0], &[read(0x40_0106, 4)]),
            ("mov eax, [ebx]", &[0x67, 0x8b, 0x03], &[read(0x40_0000, 4)]),
            ("mov rax, fs:[0x28]", &[0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0], &[Operand::ThreadLocal]),
            ("push rax", &[0x50], &[Operand::Stack]),
            ("mov rax, [rsp+8]", &[0x48, 0x8b, 0x44, 0x24, 0x08], &[Operand::Stack]),
            ("xlatb", &[0xd7], &[read(0x40_0000, 1)]),
            ("lea rax, [rbx]", &[0x48, 0x8d, 0x03], &[]),
            ("nop [rax]", &[0x0f, 0x1f, 0x00], &[]),
            (
                "vpgatherdd ymm0, [rax+ymm1*4], ymm2",
                &[0xc4, 0xe2, 0x6d, 0x90, 0x04, 0x88],
                &[Operand::VectorIndex],
            ),
            ("add eax, ebx", &[0x01, 0xd8], &[]),
        ];
        for (name, code, expected) in cases {
            assert_eq!(operands(code, &registers()), *expected, "{name}");
        }
    }

    #[test]
    fn a_repeated_move_is_where_it_has_come_to() {
        // rep movsq: from RSI to RDI.
        let found = operands(&[0xf3, 0x48, 0xa5], &registers());
        assert!(found.contains(&read(0x70_0000, 8)) && found.contains(&write(0x80_0000, 8)), "{found:?}");
    }

    #[test]
    fn the_store_behind_a_load_is_seen_until_a_register_changes_or_a_branch_comes() {
        // mov rdx, [rbx]; add rdx, rax; mov [rbx], rdx; mov rbx, [rcx]; mov [rbx], rax; jmp; mov [rdi], rax
        let code = [
            [0x48, 0x8b, 0x13],
            [0x48, 0x01, 0xc2],
            [0x48, 0x89, 0x13],
            [0x48, 0x8b, 0x19],
            [0x48, 0x89, 0x03],
            [0xeb, 0x00, 0x48],
            [0x89, 0x07, 0x90],
        ];
        let expected = [read(0x40_0000, 8), write(0x40_0000, 8), read(0x20_0000, 8)];
        assert_eq!(operands(code.as_flattened(), &registers()), expected);
        // push rbx; mov [rsp+8], rax; pop rcx; mov [rcx], rax: the stack stays the stack, the rest is unknown.
        let code = [0x53, 0x48, 0x89, 0x44, 0x24, 0x08, 0x59, 0x48, 0x89, 0x01];
        assert_eq!(operands(&code, &registers()), [Operand::Stack; 3]);
    }

    #[test]
    fn the_load_before_a_sample_is_what_it_waited_for() {
        let around = |last: &[u8]| {
            let mut code = [0x90; 256];
            code[128 - last.len()..128].copy_from_slice(last);
            let read = |address: u64, into: &mut [u8]| {
                let first = usize::try_from(address).ok()?;
                into.copy_from_slice(&code[first..first + into.len()]);
                Some(into.len())
            };
            let code = Code::read(128, read).expect("it can be read");
            let run = Run::around(&code, 128, false).expect("nop");
            run.operands(&registers()).collect::<Vec<_>>()
        };
        assert_eq!(around(&[0x48, 0x8b, 0x13]), [read(0x40_0000, 8)], "mov rdx, [rbx]");
        assert_eq!(around(&[0x48, 0x89, 0x13]), [write(0x40_0000, 8)], "mov [rbx], rdx");
        assert_eq!(around(&[0x48, 0x8b, 0x1b]), [], "mov rbx, [rbx]: where it was is lost");
        assert_eq!(around(&[0xff, 0x13]), [], "call [rbx] does not come straight on");
        assert_eq!(around(&[0x8b, 0x05, 0, 1, 0, 0]), [read(0x180, 4)], "mov eax, [rip+0x100]");
    }

    #[test]
    fn a_program_of_32_bits_wraps_at_4_gib() {
        let mut registers = Registers { is_32_bit: true, ..registers() };
        registers.general[0] = 0xffff_fff0;
        // mov eax, [eax+0x100020]
        assert_eq!(operands(&[0x8b, 0x80, 0x20, 0, 0x10, 0], &registers), [read(0x10_0010, 4)]);
    }

    #[test]
    fn units_are_those_of_the_instruction_and_memory_takes_its_part() {
        let cases: [(&str, &[u8], [f64; 4]); 7] = [
            ("add eax, ebx", &[0x01, 0xd8], [1.0, 0.0, 0.0, 0.0]),
            ("mov rax, [rbx]", &[0x48, 0x8b, 0x03], [0.0, 0.0, 0.0, 1.0]),
            ("vaddps ymm0, ymm1, ymm2", &[0xc5, 0xf4, 0x58, 0xc2], [0.0, 1.0, 0.0, 0.0]),
            ("addps xmm0, [rbx]", &[0x0f, 0x58, 0x03], [0.0, 0.5, 0.0, 0.5]),
            ("fadd st, st(1)", &[0xd8, 0xc1], [0.0, 1.0, 0.0, 0.0]),
            ("jne", &[0x75, 0x10], [0.0, 0.0, 1.0, 0.0]),
            ("ret", &[0xc3], [0.0, 0.0, 1.0, 0.0]),
        ];
        for (name, code, [integer, floating, front_end, memory]) in cases {
            let run = Run::decode(code, 0, false).expect("an instruction");
            assert_eq!(run.demand(), UnitDemand { integer, floating, front_end, memory }, "{name}");
        }
    }

    #[test]
    fn bytes_that_are_no_instruction_are_said() {
        assert!(Run::decode(&[], 0, false).is_none());
        assert!(Run::decode(&[0x06], 0, false).is_none(), "push es is none in 64 bits");
        assert!(Run::decode(&[0x48, 0x8b], 0, false).is_none(), "cut short");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, rng_seed: RngSeed::Fixed(11), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_bytes_and_no_registers_make_it_panic(
            code in prop::collection::vec(any::<u8>(), 0..20),
            ip in any::<u64>(),
            general in any::<[u64; 16]>(),
            is_32_bit in any::<bool>(),
        ) {
            let registers = Registers { general, is_32_bit };
            for run in [Run::decode(&code, ip, is_32_bit), behind(&code, ip, is_32_bit)].into_iter().flatten() {
                for operand in run.operands(&registers) {
                    if let Operand::Access(access) = operand {
                        prop_assert!(access.reads || access.writes);
                        prop_assert!(!is_32_bit || u32::try_from(access.address).is_ok());
                    }
                }
                let demand = run.demand();
                let sum = demand.integer + demand.floating + demand.front_end + demand.memory;
                prop_assert!((sum - 1.0).abs() < 1e-12);
            }
        }
    }
}
