//! What the kernel tells of a write that waits; `struct uffd_msg` in include/uapi/linux/userfaultfd.h of Linux.

use crate::live::page_bytes;

/// The length of a message.
pub const MESSAGE_BYTES: usize = 32;
/// UFFD_EVENT_PAGEFAULT.
const PAGE_FAULT: u8 = 0x12;
/// UFFD_PAGEFAULT_FLAG_WP.
const PROTECTED: u64 = 1 << 1;

/// A write that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteFault {
    /// The thread that waits, by its number in its own namespace.
    pub tid: u32,
    /// The first address of the page.
    pub page: u64,
}

/// Hands over what is a write to a protected page; other events and what is cut short are left out.
pub fn parse_write_faults(bytes: &[u8], mut take: impl FnMut(WriteFault)) {
    let page_bytes = page_bytes() as u64;
    for message in bytes.as_chunks::<MESSAGE_BYTES>().0 {
        let word = |at: usize| {
            message[at..at + 8].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        let (flags, address, thread) = (word(8), word(16), word(24));
        if message[0] == PAGE_FAULT && flags & PROTECTED != 0 {
            take(WriteFault { tid: thread as u32, page: address & !(page_bytes - 1) });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    fn message(event: u8, flags: u64, address: u64, thread: u32) -> [u8; MESSAGE_BYTES] {
        let mut bytes = [0; MESSAGE_BYTES];
        bytes[0] = event;
        bytes[8..16].copy_from_slice(&flags.to_le_bytes());
        bytes[16..24].copy_from_slice(&address.to_le_bytes());
        bytes[24..28].copy_from_slice(&thread.to_le_bytes());
        bytes
    }

    fn parsed(bytes: &[u8]) -> Vec<WriteFault> {
        let mut found = Vec::new();
        parse_write_faults(bytes, |fault| found.push(fault));
        found
    }

    #[test]
    fn only_writes_to_protected_pages_are_told() {
        let write = message(PAGE_FAULT, 0b11, 0x7000_1234, 7);
        let fault = WriteFault { tid: 7, page: 0x7000_1234 & !(page_bytes() as u64 - 1) };
        let missing = message(PAGE_FAULT, 0b01, 0x7000_1234, 7);
        let fork = message(0x13, 0b11, 0x7000_1234, 7);
        assert_eq!(parsed(&[write, missing, fork, write].concat()), [fault, fault]);
        assert_eq!(parsed(&write[..31]), [], "cut short");
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(12), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_bytes_are_survived_and_no_fault_is_invented(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let found = parsed(&bytes);
            prop_assert!(found.len() <= bytes.len() / MESSAGE_BYTES);
            prop_assert!(found.iter().all(|fault| fault.page % page_bytes() as u64 == 0));
        }

        #[test]
        fn what_was_written_is_read(thread in any::<u32>(), address in any::<u64>()) {
            let found = parsed(&message(PAGE_FAULT, PROTECTED, address, thread));
            let page_bytes = page_bytes() as u64;
            prop_assert_eq!(found, [WriteFault { tid: thread, page: address / page_bytes * page_bytes }]);
        }
    }
}
