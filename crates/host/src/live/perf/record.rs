//! The records of a ring, from bytes: include/uapi/linux/perf_event.h, `enum perf_event_type`.

use super::attributes::{PerfWatch, SAMPLE_TYPE, SWITCH_SAMPLE_TYPE, WAKE_SAMPLE_TYPE};
use super::tracepoint::WakeTracepoint;
use crate::arch::SAMPLED_REGISTERS;

/// How many registers of x86 are sampled.
const REGISTER_COUNT: usize = 17;

const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const MMAP2: u32 = 10;
const LOST_SAMPLES: u32 = 13;
const SWITCH: u32 = 14;
/// PERF_RECORD_MISC_SWITCH_OUT: the thread leaves its CPU.
const MISC_OUT: u16 = 1 << 13;
/// PERF_RECORD_MISC_SWITCH_OUT_PREEMPT: it could have gone on.
const MISC_PREEMPTED: u16 = 1 << 14;
/// PERF_RECORD_MISC_COMM_EXEC: the name is new as another program was begun.
const MISC_EXEC: u16 = 1 << 13;
/// PERF_SAMPLE_REGS_ABI_32.
const ABI_32: u64 = 1;
/// PERF_SAMPLE_REGS_ABI_64.
const ABI_64: u64 = 2;

/// The general registers of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Registers {
    /// RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 to R15: the order in which instructions number them.
    pub general: [u64; 16],
    /// True in a program of 32 bits.
    pub is_32_bit: bool,
}

impl Registers {
    pub fn stack_pointer(&self) -> u64 {
        self.general[4]
    }
}

/// One sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterSample {
    /// Its process.
    pub pid: u32,
    /// Its thread.
    pub tid: u32,
    /// The instruction that comes next.
    pub ip: u64,
    /// Nanoseconds of the kernel's `local_clock`.
    pub time_ns: u64,
    /// `None` for a thread without user mode, and where sidestep decodes no instructions.
    pub registers: Option<Registers>,
}

/// What is seen of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    Sample(RegisterSample),
    /// A thread has a name; with `exec` its process is another program from now on.
    Named {
        /// Its process.
        pid: u32,
        /// The thread.
        tid: u32,
        name: String,
        /// The program is new.
        exec: bool,
    },
    /// A thread or process was started.
    Started {
        /// Its process.
        pid: u32,
        /// The thread.
        tid: u32,
        /// The process that did it.
        parent: u32,
    },
    /// A thread has ended.
    Ended {
        /// Its process.
        pid: u32,
        /// The thread.
        tid: u32,
    },
    /// Code was mapped.
    Mapped {
        /// The process.
        pid: u32,
        /// First address.
        start: u64,
        /// Length in bytes.
        bytes: u64,
        /// Where in the file that begins.
        file_offset: u64,
        /// The file, or a name in brackets.
        path: String,
    },
    /// A thread woke another, or an interrupt did while it ran and `waker` is `None`.
    Woke {
        /// Who was running and did it.
        waker: Option<u32>,
        /// Who was asleep.
        woken: u32,
    },
    /// A thread left its CPU or came to one.
    Switched {
        /// Its process.
        pid: u32,
        /// The thread.
        tid: u32,
        /// Nanoseconds of the kernel's `local_clock`.
        time_ns: u64,
        /// Which.
        what: Switch,
    },
    /// So many samples or records of threads were dropped.
    Lost(u64),
    /// So many switches or wakes were dropped.
    LostSwitches(u64),
}

/// How a thread and a CPU meet or part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// It runs from now on.
    In,
    /// It waits for something.
    Asleep,
    /// It could go on, and another runs.
    Preempted,
}

/// Hands over each record that is whole and known, of events that were asked to watch this; returns how many bytes at the end
/// belong to no whole record.
pub fn parse_records(mut bytes: &[u8], watch: PerfWatch, mut take: impl FnMut(Observation)) -> usize {
    const HEADER_BYTES: usize = 8;
    while let Some((header, _)) = bytes.split_first_chunk::<HEADER_BYTES>() {
        let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
        let misc = u16::from_ne_bytes([header[4], header[5]]);
        let record_bytes = usize::from(u16::from_ne_bytes([header[6], header[7]]));
        if record_bytes < HEADER_BYTES || record_bytes > bytes.len() {
            break;
        }
        let (record, rest) = bytes.split_at(record_bytes);
        if let Some(record) = parse_body(kind, misc, watch, Words { left: &record[HEADER_BYTES..] }) {
            take(record);
        }
        bytes = rest;
    }
    bytes.len()
}

fn parse_body(kind: u32, misc: u16, watch: PerfWatch, mut words: Words<'_>) -> Option<Observation> {
    Some(match kind {
        SAMPLE => match watch {
            PerfWatch::Registers(_) => Observation::Sample(sample(words)?),
            PerfWatch::Wakes(tracepoint) => wake(words, tracepoint)?,
            PerfWatch::Switches => return None,
        },
        SWITCH if watch == PerfWatch::Switches => switch(misc, words)?,
        LOST => {
            words.u64()?;
            lost(watch, words.u64()?)
        }
        LOST_SAMPLES => lost(watch, words.u64()?),
        COMM => Observation::Named {
            pid: words.u32()?,
            tid: words.u32()?,
            name: words.text(),
            exec: misc & MISC_EXEC != 0,
        },
        FORK => {
            let (pid, parent) = (words.u32()?, words.u32()?);
            Observation::Started { pid, tid: words.u32()?, parent }
        }
        EXIT => {
            let (pid, _parent) = (words.u32()?, words.u32()?);
            Observation::Ended { pid, tid: words.u32()? }
        }
        MMAP2 => {
            let (pid, _tid) = (words.u32()?, words.u32()?);
            let (start, bytes, file_offset) = (words.u64()?, words.u64()?, words.u64()?);
            // Device, inode and its generation, protection and flags.
            for _ in 0..4 {
                words.u64()?;
            }
            Observation::Mapped { pid, start, bytes, file_offset, path: words.text() }
        }
        _ => return None,
    })
}

fn lost(watch: PerfWatch, count: u64) -> Observation {
    match watch {
        PerfWatch::Registers(_) => Observation::Lost(count),
        PerfWatch::Switches | PerfWatch::Wakes(_) => Observation::LostSwitches(count),
    }
}

/// The parts that `SAMPLE_TYPE` asks for, in the kernel's order.
fn sample(mut words: Words<'_>) -> Option<RegisterSample> {
    const {
        assert!(SAMPLE_TYPE & !(1 << 12) == 0x7, "instruction, thread, time, and registers or not");
        let count =
            if let Some(mask) = SAMPLED_REGISTERS { mask.count_ones() as usize } else { REGISTER_COUNT };
        assert!(count == REGISTER_COUNT, "the registers that are taken apart below");
    }
    let ip = words.u64()?;
    let (pid, tid) = (words.u32()?, words.u32()?);
    let time_ns = words.u64()?;
    let abi = if SAMPLED_REGISTERS.is_some() { words.u64()? } else { 0 };
    let registers = match abi {
        ABI_32 | ABI_64 => {
            let mut sampled = [0; REGISTER_COUNT];
            for word in &mut sampled {
                *word = words.u64()?;
            }
            // The kernel's order is AX BX CX DX SI DI BP SP IP, that of instructions AX CX DX BX SP BP SI DI.
            let [ax, bx, cx, dx, si, di, bp, sp, _, rest @ ..] = sampled;
            let mut general = [ax, cx, dx, bx, sp, bp, si, di, 0, 0, 0, 0, 0, 0, 0, 0];
            general[8..].copy_from_slice(&rest);
            Some(Registers { general, is_32_bit: abi == ABI_32 })
        }
        _ => None,
    };
    Some(RegisterSample { pid, tid, ip, time_ns, registers })
}

/// The parts that `WAKE_SAMPLE_TYPE` asks for.
fn wake(mut words: Words<'_>, tracepoint: WakeTracepoint) -> Option<Observation> {
    const { assert!(WAKE_SAMPLE_TYPE == 0x406, "thread, time, what the tracepoint tells") };
    let (_pid, tid) = (words.u32()?, words.u32()?);
    let _time_ns = words.u64()?;
    let length = words.u32()? as usize;
    let (woken, by_interrupt) = tracepoint.read(words.left.get(..length)?)?;
    Some(Observation::Woke { waker: (!by_interrupt).then_some(tid), woken })
}

/// The parts that `SWITCH_SAMPLE_TYPE` puts at the end of a record, which holds nothing else.
fn switch(misc: u16, mut words: Words<'_>) -> Option<Observation> {
    const { assert!(SWITCH_SAMPLE_TYPE == 0x6, "thread, time") };
    let (pid, tid) = (words.u32()?, words.u32()?);
    let what = match (misc & MISC_OUT != 0, misc & MISC_PREEMPTED != 0) {
        (false, _) => Switch::In,
        (true, false) => Switch::Asleep,
        (true, true) => Switch::Preempted,
    };
    Some(Observation::Switched { pid, tid, time_ns: words.u64()?, what })
}

/// Reads numbers off the front.
struct Words<'a> {
    left: &'a [u8],
}

impl Words<'_> {
    fn u32(&mut self) -> Option<u32> {
        let (word, rest) = self.left.split_first_chunk()?;
        self.left = rest;
        Some(u32::from_ne_bytes(*word))
    }

    fn u64(&mut self) -> Option<u64> {
        let (word, rest) = self.left.split_first_chunk()?;
        self.left = rest;
        Some(u64::from_ne_bytes(*word))
    }

    /// Up to the first NUL byte.
    fn text(&self) -> String {
        let end = self.left.iter().position(|byte| *byte == 0).unwrap_or(self.left.len());
        String::from_utf8_lossy(&self.left[..end]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(misc.to_ne_bytes());
        bytes.extend(u16::try_from(8 + body.len()).expect("short").to_ne_bytes());
        bytes.extend(body);
        bytes
    }

    const REGISTERS: PerfWatch = PerfWatch::Registers(Duration::from_millis(4));
    const TRACEPOINT: WakeTracepoint = WakeTracepoint { id: 375, flags_offset: 2, woken_offset: 24 };

    fn parsed(bytes: &[u8]) -> (Vec<Observation>, usize) {
        parsed_as(REGISTERS, bytes)
    }

    fn parsed_as(watch: PerfWatch, bytes: &[u8]) -> (Vec<Observation>, usize) {
        let mut records = Vec::new();
        let unread = parse_records(bytes, watch, |record| records.push(record));
        (records, unread)
    }

    #[test]
    fn a_wake_names_who_did_it_unless_an_interrupt_did() {
        let mut body: Vec<u8> = [7_u32, 8].iter().flat_map(|word| word.to_ne_bytes()).collect();
        body.extend(99_u64.to_ne_bytes());
        body.extend(36_u32.to_ne_bytes());
        let start = body.len();
        body.extend([0; 36]);
        body[start + 24] = 9;
        let wakes = PerfWatch::Wakes(TRACEPOINT);
        let whole = record(SAMPLE, 2, &body);
        assert_eq!(parsed_as(wakes, &whole).0, vec![Observation::Woke { waker: Some(8), woken: 9 }]);
        assert_eq!(parsed_as(PerfWatch::Switches, &whole).0, vec![]);
        // In a hard interrupt.
        body[start + 2] = 8;
        let whole = record(SAMPLE, 2, &body);
        assert_eq!(parsed_as(wakes, &whole).0, vec![Observation::Woke { waker: None, woken: 9 }]);
    }

    #[test]
    fn a_switch_tells_who_sleeps_and_who_was_driven_out() {
        let mut body: Vec<u8> = [7_u32, 8].iter().flat_map(|word| word.to_ne_bytes()).collect();
        body.extend(99_u64.to_ne_bytes());
        let seen = |misc| parsed_as(PerfWatch::Switches, &record(SWITCH, misc, &body)).0;
        let is = |what| vec![Observation::Switched { pid: 7, tid: 8, time_ns: 99, what }];
        assert_eq!(seen(0), is(Switch::In));
        assert_eq!(seen(MISC_OUT), is(Switch::Asleep));
        assert_eq!(seen(MISC_OUT | MISC_PREEMPTED), is(Switch::Preempted));
    }

    #[test]
    fn a_sample_has_the_registers_in_the_order_of_instructions() {
        if SAMPLED_REGISTERS.is_none() {
            println!(
                "skipped a_sample_has_the_registers_in_the_order_of_instructions: none are sampled here"
            );
            return;
        }
        let mut body = 0x40_1000_u64.to_ne_bytes().to_vec();
        body.extend([7_u32, 8].iter().flat_map(|word| word.to_ne_bytes()));
        body.extend([99, ABI_64].iter().flat_map(|word: &u64| word.to_ne_bytes()));
        body.extend((1..=17_u64).flat_map(u64::to_ne_bytes));
        let (records, unread) = parsed(&record(SAMPLE, 2, &body));
        let [Observation::Sample(sample)] = records.as_slice() else { panic!("{records:?}") };
        assert_eq!((sample.pid, sample.tid, sample.ip, sample.time_ns, unread), (7, 8, 0x40_1000, 99, 0));
        let registers = sample.registers.expect("a thread of a program");
        assert_eq!(registers.general, [1, 3, 4, 2, 8, 7, 5, 6, 10, 11, 12, 13, 14, 15, 16, 17]);
        assert_eq!(registers.stack_pointer(), 8);
        // One register short.
        assert_eq!(parsed(&record(SAMPLE, 2, &body[..body.len() - 8])), (vec![], 0));
    }

    #[test]
    fn a_name_ends_at_its_nul_and_a_torn_record_is_left() {
        let mut bytes = record(COMM, MISC_EXEC, b"\x05\0\0\0\x06\0\0\0worker\0\0");
        let whole = bytes.len();
        bytes.extend(record(LOST, 0, &[0; 16]));
        let name = Observation::Named { pid: 5, tid: 6, name: "worker".to_owned(), exec: true };
        assert_eq!(parsed(&bytes), (vec![name.clone(), Observation::Lost(0)], 0));
        assert_eq!(parsed(&bytes[..whole + 9]), (vec![name], 9));
        // A record shorter than its own header would never end.
        assert_eq!(parsed(&[0; 64]), (vec![], 64));
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_bytes_make_it_panic_and_none_are_read_twice(
            kinds in prop::collection::vec((0_u32..16, any::<u16>(), prop::collection::vec(any::<u8>(), 0..200)), 0..8),
            cut in any::<prop::sample::Index>(),
        ) {
            let bytes: Vec<u8> = kinds.iter().flat_map(|(kind, misc, body)| record(*kind, *misc, body)).collect();
            let torn = &bytes[..cut.index(bytes.len() + 1)];
            for watch in [REGISTERS, PerfWatch::Switches, PerfWatch::Wakes(TRACEPOINT)] {
                let (records, unread) = parsed_as(watch, torn);
                prop_assert!(records.len() <= kinds.len() && unread <= torn.len());
            }
        }

        #[test]
        fn garbage_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..4096)) {
            let (_, unread) = parsed(&bytes);
            prop_assert!(unread <= bytes.len());
        }
    }
}
