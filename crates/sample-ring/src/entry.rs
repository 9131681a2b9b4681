//! What stands in a slot: a sample, or what became of a thread or a process.

use crate::ring::SLOT_WORDS;

/// Code in front of a sample.
pub const CODE_BEFORE_BYTES: usize = 64;
/// Code from a sample on.
pub const CODE_BYTES: usize = 64;
/// The longest name of a thread, its end included; prctl(2), PR_GET_NAME.
pub const NAME_BYTES: usize = 16;

/// One entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// What there is to tell.
    pub event: Event,
}

/// What there is to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is made in a signal handler, where nothing may be allocated"
)]
pub enum Event {
    /// A thread has used another period of CPU time.
    Sample(Sample),
    /// A program has begun and is watched, under this name.
    Loaded([u8; NAME_BYTES]),
    /// The process was forked from this one, and is watched.
    Forked(u32),
    /// A thread ends, under this name.
    Ended([u8; NAME_BYTES]),
    /// The process is not sampled any more.
    Stopped(StopReason),
}

/// The thread at that instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The instruction that comes next.
    pub ip: u64,
    /// The CPU.
    pub cpu: u32,
    /// RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 to R15.
    pub registers: [u64; 16],
    /// Code around `ip`, which is at `CODE_BEFORE_BYTES`.
    pub code: [u8; CODE_BEFORE_BYTES + CODE_BYTES],
    /// The first byte of it that was readable, and the one behind the last.
    pub readable: [u8; 2],
}

/// Why a process is not sampled any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopReason {
    /// It handles SIGPROF itself.
    OwnHandler,
    /// It has set ITIMER_PROF, which ends in SIGPROF.
    OwnTimer,
    /// Somebody has put another handler in place, unseen.
    HandlerReplaced,
}

const SAMPLE: u64 = 1;
const LOADED: u64 = 2;
const FORKED: u64 = 3;
const ENDED: u64 = 4;
const STOPPED: u64 = 5;

// Words of a slot: kind, process and thread, time, then what belongs to the kind.
const IP: usize = 3;
const CPU_AND_READABLE: usize = 4;
const REGISTERS: usize = 5;
const CODE: usize = REGISTERS + 16;
const CODE_WORDS: usize = (CODE_BEFORE_BYTES + CODE_BYTES) / 8;
const NAME: usize = 3;
const _: () = assert!(CODE + CODE_WORDS <= SLOT_WORDS);

impl Entry {
    /// As words of a slot.
    pub fn to_words(&self) -> [u64; SLOT_WORDS] {
        let mut words = [0; SLOT_WORDS];
        words[1] = u64::from(self.pid) << 32 | u64::from(self.tid);
        words[2] = self.time_ns;
        words[0] = match &self.event {
            Event::Sample(sample) => {
                sample.write(&mut words);
                SAMPLE
            }
            Event::Loaded(name) => {
                write_bytes(&mut words[NAME..], name);
                LOADED
            }
            Event::Ended(name) => {
                write_bytes(&mut words[NAME..], name);
                ENDED
            }
            Event::Forked(parent) => {
                words[NAME] = u64::from(*parent);
                FORKED
            }
            Event::Stopped(reason) => {
                words[NAME] = *reason as u64;
                STOPPED
            }
        };
        words
    }

    /// From words that anybody may have written; `None` if they are no entry.
    pub fn from_words(words: &[u64; SLOT_WORDS]) -> Option<Self> {
        let event = match words[0] {
            SAMPLE => Event::Sample(Sample::read(words)),
            LOADED => Event::Loaded(name(words)),
            ENDED => Event::Ended(name(words)),
            FORKED => Event::Forked(u32::try_from(words[NAME]).ok()?),
            STOPPED => {
                let all = [StopReason::OwnHandler, StopReason::OwnTimer, StopReason::HandlerReplaced];
                Event::Stopped(all.into_iter().find(|reason| *reason as u64 == words[NAME])?)
            }
            _ => return None,
        };
        Some(Self { pid: (words[1] >> 32) as u32, tid: words[1] as u32, time_ns: words[2], event })
    }
}

impl Sample {
    fn write(&self, words: &mut [u64; SLOT_WORDS]) {
        words[IP] = self.ip;
        let [first, end] = self.readable;
        words[CPU_AND_READABLE] = u64::from(self.cpu) | u64::from(first) << 32 | u64::from(end) << 40;
        words[REGISTERS..CODE].copy_from_slice(&self.registers);
        write_bytes(&mut words[CODE..], &self.code);
    }

    fn read(words: &[u64; SLOT_WORDS]) -> Self {
        let mut registers = [0; 16];
        registers.copy_from_slice(&words[REGISTERS..CODE]);
        let mut code = [0; CODE_BEFORE_BYTES + CODE_BYTES];
        read_bytes(&words[CODE..], &mut code);
        let packed = words[CPU_AND_READABLE];
        Self {
            ip: words[IP],
            cpu: packed as u32,
            registers,
            code,
            readable: [(packed >> 32) as u8, (packed >> 40) as u8],
        }
    }

    /// The readable bytes before and from the sample on, whatever the bounds say.
    pub fn code_parts(&self) -> (&[u8], &[u8]) {
        let [first, end] = self.readable.map(usize::from);
        let before = self.code.get(first..CODE_BEFORE_BYTES).unwrap_or_default();
        let after = self.code.get(CODE_BEFORE_BYTES..end).unwrap_or_default();
        (before, after)
    }
}

fn name(words: &[u64; SLOT_WORDS]) -> [u8; NAME_BYTES] {
    let mut bytes = [0; NAME_BYTES];
    read_bytes(&words[NAME..], &mut bytes);
    bytes
}

fn write_bytes(words: &mut [u64], bytes: &[u8]) {
    for (word, eight) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*eight);
    }
}

fn read_bytes(words: &[u64], bytes: &mut [u8]) {
    for (word, eight) in words.iter().zip(bytes.as_chunks_mut::<8>().0) {
        *eight = word.to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    fn check(event: &Event) {
        let entry = Entry { pid: 7, tid: u32::MAX, time_ns: 1 << 60, event: *event };
        assert_eq!(Entry::from_words(&entry.to_words()), Some(entry));
    }

    #[test]
    fn every_event_comes_out_as_it_went_in() {
        let code = std::array::from_fn(|byte| byte as u8);
        let registers = std::array::from_fn(|number| u64::MAX - number as u64);
        check(&Event::Sample(Sample { ip: 1 << 47, cpu: 300, registers, code, readable: [3, 128] }));
        check(&Event::Loaded(*b"a name of 15 by\0"));
        check(&Event::Ended([0xff; NAME_BYTES]));
        check(&Event::Forked(12));
        check(&Event::Stopped(StopReason::OwnHandler));
        check(&Event::Stopped(StopReason::OwnTimer));
        check(&Event::Stopped(StopReason::HandlerReplaced));
    }

    #[test]
    fn what_is_no_entry_is_none() {
        let mut words = [0; SLOT_WORDS];
        assert_eq!(Entry::from_words(&words), None, "an empty slot");
        (words[0], words[NAME]) = (STOPPED, 9);
        assert_eq!(Entry::from_words(&words), None, "no such reason");
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(11), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_words_are_survived(kind in 0_u64..8, rest in prop::collection::vec(any::<u64>(), SLOT_WORDS)) {
            let mut words: [u64; SLOT_WORDS] = rest.try_into().expect("as many");
            words[0] = kind;
            if let Some(Entry { event: Event::Sample(sample), .. }) = Entry::from_words(&words) {
                let (before, after) = sample.code_parts();
                prop_assert!(before.len() <= CODE_BEFORE_BYTES && after.len() <= CODE_BYTES);
            }
        }
    }
}
