//! Messages of a userfaultfd.
#![cfg_attr(fuzzing, no_main)]

use fuzz::fuzz_target;
use host::live::{MESSAGE_BYTES, page_bytes, parse_write_faults};

fuzz_target!(|bytes: &[u8]| {
    let mut count = 0;
    parse_write_faults(bytes, |fault| {
        assert_eq!(fault.page % page_bytes() as u64, 0);
        count += 1;
    });
    assert!(count <= bytes.len() / MESSAGE_BYTES);
});
